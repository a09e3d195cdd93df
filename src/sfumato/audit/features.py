"""Features of an output: numbers by which data set D and its neighbour D' may differ."""

from collections.abc import Iterator, Sequence

import numpy as np

from ..laws.sampling import Target
from ..means.frechet import solve
from ..numerics.arrays import Array, Points
from ..records import Records
from ..regions import Settled
from ..spaces.base import Space
from .exact import energies
from .pairs import Pair


class Features:
    """One column of numbers for each feature of the outputs; ``names`` says what they are.

    On the manifold: coordinates at the centre, distances to the centre, to both means and to both places of the moved record,
    the differences of these, and the log likelihood ratio where the density is known, the lengths of both gradients where
    it is not; for an ellipsoid, distances in its chart, and the means are those there.  In the numbers as released: the
    coordinates, distances in them, a fingerprint that is equal for equal outputs only, and the trailing zero ``bits``.
    """

    def __init__(self, region: Settled, pair: Pair, targets: Sequence[Target] = (), bits: bool = False) -> None:
        self.region = region
        self.targets = targets
        self.bits = bits
        self.names = [""]
        self.clipped = [region.admit(points) for points in (pair.first, pair.second)]
        self.chart = None if region.is_ball else region.as_chart()
        if self.chart is not None:
            self.places = [self.chart.chart(points).mean(axis=0) for points in self.clipped]
            self.means = [self.chart.point(place) for place in self.places]
            self.clipped = [self.chart.clip(points) for points in self.clipped]
        else:
            self.means = [solve(Records(region.space, points)).point for points in self.clipped]
        self.record = [points[pair.moved] for points in self.clipped]
        shown = [flat(facing(region, points), region.space) for points in self.clipped]
        self.marks = {
            "the mean": [points.mean(axis=0) for points in shown],
            "the record": [points[pair.moved] for points in shown],
        }
        self.grid = float(2.0 ** np.floor(np.log2(region.radius) - 32))
        self.fingerprint = np.random.default_rng(0).normal(size=shown[0].shape[1])
        self.on_manifold: bool | None = None  # known from the first outputs on

    def __call__(self, outputs: Array) -> Array:
        outputs = np.asarray(outputs, dtype=np.float64)
        if not self.bits:  # rounded, as the last bits of doubles are another attack
            outputs = np.asarray(np.rint(outputs / self.grid) * self.grid, dtype=np.float64)
        columns = dict(self._released(flat(outputs, self.region.space)))
        space = self.region.space
        center = self.region.center
        if outputs.shape[1:] == space.present(center).shape and self.on_manifold is not False:
            x, bad = space.diagnose(outputs)
            if self.on_manifold is None:
                self.on_manifold = len(bad) < len(x) / 10
            if self.on_manifold:
                x[list(bad)] = center
                columns |= dict(self._intrinsic(x))
                columns["is a point of the space"] = np.where(np.isin(np.arange(len(x)), list(bad)), 0.0, 1.0)
        self.names = list(columns)
        return np.nan_to_num(np.stack(list(columns.values()), axis=1), nan=1e300, posinf=1e300, neginf=-1e300)

    def _released(self, numbers: Array) -> Iterator[tuple[str, Array]]:
        yield from ((f"number {i + 1} of the output", column) for i, column in enumerate(numbers.T))
        for what, marks in self.marks.items():
            for order, kind in ((2, "Euclidean"), (1, "absolute")):
                a, b = (np.linalg.norm(numbers - mark, ord=order, axis=1) for mark in marks)
                yield from _compared(f"{kind} distance from {what}", a, b)
        yield "fingerprint of the output", numbers @ self.fingerprint
        if self.bits:
            whole = np.ldexp(np.frexp(np.nan_to_num(numbers))[0], 53).astype(np.int64)
            yield "trailing zero bits", np.min(np.log2(np.maximum(whole & -whole, 1)), axis=1)

    def _intrinsic(self, x: Points) -> Iterator[tuple[str, Array]]:
        space = self.region.space
        center = self.region.center
        yield "distance from the centre", space.distance(center, x)
        tangents = space.coordinates(center, space.log(center, x))
        for i, column in enumerate(tangents.T):
            yield f"coordinate {i + 1} at the centre", column
        yield from _compared("distance from the mean", *(space.distance(mean, x) for mean in self.means))
        a, b = (space.distance(record, x) for record in self.record)
        yield from _compared("distance from the record", a, b)
        yield "squared distance from the record of D′ less that of D", b**2 - a**2
        if self.chart is not None:
            w = tangents @ self.chart.basis.T / self.chart.axes
            a, b = (np.linalg.norm(w - place, axis=1) for place in self.places)
            yield from _compared("distance in the chart from the mean", a, b)
        elif self.targets:
            a, b = (energies(target, x) for target in self.targets)
            with np.errstate(invalid="ignore"):
                yield "log likelihood ratio", b - a
        else:
            yield from _compared("gradient", *(space.norm(x, space.mean_log(x, points)) for points in self.clipped))


def _compared(what: str, a: Array, b: Array) -> Iterator[tuple[str, Array]]:
    yield f"{what} of D", a
    yield f"{what} of D′", b
    yield f"{what} of D′ less that of D", b - a


def flat(outputs: Array, space: Space) -> Array:
    """Return a row of numbers for each output; of a space of symmetric matrices each number once."""
    base = space.origin()
    one = space.present(space.exp(base, space.from_coordinates(base, np.linspace(0.1, 0.2, space.dim))))
    if outputs.ndim == 3 and outputs.shape[1:] == one.shape and np.array_equal(one, one.T):
        rows, columns = np.triu_indices(outputs.shape[1])
        return np.asarray(outputs[:, rows, columns])
    return outputs.reshape(len(outputs), -1)


def facing(region: Settled, points: Points) -> Array:
    """Return canonical points as a release would show them: seen from the public centre (shapes are turned towards it)."""
    space = region.space
    center = region.center
    return space.present(space.exp(center, space.log(center, points)))
