"""What is public about the records before n and ε are known.  Only with these it is settled which directions are worth their
noise, and so the axes: ``settle(n, epsilon)`` of a sketch gives the :class:`Ellipsoid` (proofs, Result 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidPointError
from ..numerics.arrays import Array, Points
from ..spaces.base import Space
from .ball import Ball
from .base import Region, Settled
from .ellipsoid import Ellipsoid, public_point, tangent_coordinates
from .landmarks import bending_moment, smooth_moment
from .look import DULL, WORST, Look, rms_noise

Prior = Literal["ball", "smooth", "open", "bending"]
WORDS: dict[str, str] = {
    "ball": "all directions alike",
    "smooth": "smoothness along the closed outline",
    "open": "smoothness along the open curve",
    "bending": "the bending energy of the thin-plate spline",
}
SHIFT = 0.2  # the means of two populations may differ by so much of each way in which their members do
DRIFT = 0.11  # assumed shift of the mean under the prior, in units of the spread
TYPICAL = 0.8  # distance of a record from the centre, in radii, where a radius is all that is known
OFFSET = 0.5  # and that of the mean, if the centre is a specimen
WEIGHTS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # of the prior, for shrink="auto"
FOLDS = 10  # of the held-out criterion
COVER = 0.97  # the share of the sample in the ball to fall back to
FLOOR = 1e-12  # least eigenvalue, in parts of the largest; least spread, of a part of the sample
IN_ORDER = "smoothness along the landmarks in their order"  # where nobody said that they are an outline
LEAST = 1e-3  # and size, where most points of a sample are the same; sizes are near one


@dataclass(frozen=True, eq=False)
class _AboutBall(Region):
    """A sketch about the centre of a ball."""

    ball: Ball  # of the same centre, for comparison and to fall back to

    @property
    def space(self) -> Space:
        """The space that the records are points of."""
        return self.ball.space

    @property
    def center(self) -> Points:
        """The public centre, canonical."""
        return self.ball.center

    @property
    def radius(self) -> float:
        """The radius of the ball."""
        return self.ball.radius


@dataclass(frozen=True, eq=False)
class ModelSketch(_AboutBall):
    """Directions from the landmarks of one public shape: what :meth:`Ellipsoid.smooth` and :meth:`Ellipsoid.bending` give.

    The second moment has eigenvalues lⱼ, Σlⱼ = (TYPICAL·radius)².  In p directions with the best axes aⱼ² = √lⱼ·Σ√l the noise
    has mean square (2/nε)²·(p + 1)·(Σ√l)²; freezing the others costs their share of (OFFSET·radius)², the squared distance of
    the mean.  p is where the sum is least.
    """

    source: str
    roots: Array = field(repr=False)  # √lⱼ, falling
    basis: Array = field(repr=False)
    modes: int | None = None  # p, where it is given

    def settle(self, n: int, epsilon: float) -> Ellipsoid:
        """Return the ellipsoid for n records and this ε."""
        sums = np.cumsum(self.roots)
        spread = OFFSET * self.ball.radius
        frozen = 1 - np.cumsum(self.roots**2) / np.sum(self.roots**2)
        p = self.modes or int(np.argmin(_noise(n, epsilon, sums) + spread**2 * frozen)) + 1
        axes = np.sqrt(self.roots[:p] * sums[p - 1])
        return _ellipsoid(self.ball, axes, self.basis[:p], self.source, spread)

    def left_out(self, chart: Ellipsoid, n: int) -> float:
        """Return how much of the mean an ellipsoid of this sketch is expected to leave out, as a root mean square: its
        share in the frozen directions."""
        kept = np.sum(self.roots[: len(chart.axes)] ** 2) / np.sum(self.roots**2)
        return float(OFFSET * self.ball.radius * np.sqrt(max(0.0, 1 - kept)))


@dataclass(frozen=True, eq=False)
class SampleSketch(_AboutBall):
    """Directions from a public sample: what :meth:`Ellipsoid.from_sample` gives.

    The sample's second moment Ĉ at its mean is shrunk to a prior, (1 − w)·Ĉ + w·C₀, with eigenvalues lⱼ.  In p directions the
    axes are aⱼ = s·√(√lⱼ·Σ√l), where s makes the ellipsoid hold the share ``coverage`` of held-out points, times 1 + 1/m
    against the luck of small samples.  Prior, w and p minimise one sum, by folds of the sample:

    noise² + (1/m + 1/n + SHIFT²)·(mean square of what clipping and freezing take from held-out points)
    + DRIFT²·(frozen part of a difference of means as long as the spread, that follows the last of the priors).
    """

    coverage: float
    modes: int | None
    weights: tuple[float, ...]
    priors: tuple[Prior, ...]
    tangents: Array = field(repr=False)  # of the sample, less their mean

    def settle(self, n: int, epsilon: float) -> Ellipsoid:
        """Return the ellipsoid for n records and this ε; the same question is answered once."""
        return _settled(self, n, float(epsilon))

    def looked(self, n: int, epsilon: float, share: float) -> Look | Settled:
        """Return the chart with its look; the chart alone where the ball's own noise exceeds its radius so far that no chart
        can be much worse; the ball where a look would tell nothing.

        >>> from sfumato import Euclidean
        >>> sample = np.random.default_rng(0).normal(size=(60, 20)) / np.arange(1, 21) ** 2
        >>> look = Ellipsoid.from_sample(Euclidean(dim=20), sample).looked(n=400, epsilon=1.0, share=0.1)
        >>> type(look).__name__, look.share, 0 < look.limit(400, 1.0) < look.ball.radius
        ('Look', 0.1, True)
        """
        error = rms_noise(self.ball.as_chart().axes, n, epsilon)
        if error**2 * (WORST**2 - 1) >= self.radius**2:
            return self.settle(n, epsilon)
        look = Look(self.settle(n, (1 - share) * epsilon), self.ball, share)
        worth = rms_noise(look.chart.axes, n, (1 - share) * epsilon) < error
        return look if worth and look.limit(n, epsilon) > DULL * error else self.ball

    def _settle(self, n: int, epsilon: float) -> Ellipsoid:
        m = len(self.tangents)
        best = np.inf
        for source, size, lost, drift, roots, rows in self._candidates:
            sums = np.cumsum(roots)
            bias = self._bias(lost, drift, n)
            cost = size**2 * _noise(n, epsilon, sums) + bias
            p = self.modes or int(np.argmin(cost)) + 1
            if cost[p - 1] < best or best == np.inf:  # with next to no ε every noise is infinite
                best = cost[p - 1]
                words = source
                basis = rows[:p]
                axes = size[p - 1] * np.sqrt(roots[:p] * sums[p - 1])
        spread = np.sqrt((1 / m + SHIFT**2 + DRIFT**2) * self._variance)
        return _ellipsoid(self.ball, axes, basis, words, float(spread))

    def left_out(self, chart: Ellipsoid, n: int) -> float:
        """Return how much of the mean an ellipsoid of this sketch is expected to leave out, as a root mean square: by
        clipping, and in the frozen directions.  0 for any other region, such as the ball."""
        for source, _, lost, drift, _, _ in self._candidates:
            if source == chart.source:
                return float(np.sqrt(max(0.0, self._bias(lost, drift, n)[len(chart.axes) - 1])))
        return 0.0

    def _bias(self, lost: Array, drift: Array, n: int) -> Array:
        """Return what is left out, squared, for p = 1 … d."""
        return np.asarray((1 / len(self.tangents) + 1 / n + SHIFT**2) * lost + DRIFT**2 * self._variance * drift)

    @property
    def _variance(self) -> float:
        return float(np.mean(np.sum(self.tangents**2, axis=1)))

    @cached_property
    def _candidates(self) -> list[tuple[str, Array, Array, Array, Array, Array]]:
        """For each prior and weight what does not depend on n and ε: its words; for p = 1 … d the size, what held-out points
        lose and the frozen part of a difference of means; roots of the eigenvalues and their directions."""
        m = len(self.tangents)
        candidates = []
        targets = [_unit_moment(self.space, self.center, prior) for prior in self.priors]
        for prior, target in zip(self.priors, targets, strict=True):
            for weight in self.weights:
                gauge, inside, total = self._held_out(weight, target)
                size = np.maximum(LEAST, np.quantile(gauge, self.coverage, axis=0) * (1 + 1 / m))
                clipped = np.maximum(0.0, 1 - size / np.maximum(gauge, 1e-300)) ** 2
                lost = np.mean(total - inside + inside * clipped, axis=0)
                roots, rows = _shrunk(self.tangents, weight, target)
                drift = 1 - np.cumsum(np.sum(rows @ targets[-1] * rows, axis=1))
                target_words = IN_ORDER if prior == "smooth" and len(self.priors) > 1 else WORDS[prior]
                source = f"from {m} public points, shrunk by {weight:g} to {target_words}"
                candidates.append((source, size, lost, drift, roots, rows))
        return candidates

    def _held_out(self, weight: float, target: Array) -> tuple[Array, Array, Array]:
        """Return for held-out points and p = 1 … d: ‖w‖ in the chart of size 1, the squared length in its directions, and
        in all."""
        m, d = self.tangents.shape
        gauge = np.empty((m, d))
        inside = np.empty((m, d))
        total = np.empty((m, 1))
        fold = np.arange(m) % min(m, FOLDS)
        for test in (fold == f for f in range(fold.max() + 1)):
            rest = self.tangents[~test]
            middle = rest.mean(axis=0)
            varied = np.sum((rest - middle) ** 2) > FLOOR * np.sum(self.tangents**2)  # not one point, or one many times
            roots, basis = _shrunk(rest - middle if varied else self.tangents, weight, target)
            square = ((self.tangents[test] - middle) @ basis.T) ** 2
            gauge[test] = np.sqrt(np.cumsum(square / roots, axis=1) / np.cumsum(roots))
            inside[test] = np.cumsum(square, axis=1)
            total[test] = square.sum(axis=1, keepdims=True)
        return gauge, inside, total


@lru_cache(maxsize=64)
def _settled(sketch: SampleSketch, n: int, epsilon: float) -> Ellipsoid:
    return sketch._settle(n, epsilon)


Sketch = ModelSketch | SampleSketch


def from_landmarks(space: Space, center: ArrayLike, radius: float, prior: Prior, order: float = 1.0) -> ModelSketch:
    """See :meth:`Ellipsoid.smooth` and :meth:`Ellipsoid.bending`."""
    if not (isinstance(order, Real) and 0 <= float(order) <= 16):
        raise ValueError(f"the order of smoothness must be a number between 0 and 16, not {order!r}")
    point = public_point(space, center, "centre of the ellipsoid")
    roots, basis = _spectrum(_unit_moment(space, point, prior, float(order)))
    degree = "" if prior == "bending" else f" of order {float(order):g}"
    source = f"from {WORDS[prior]}{degree} at a public shape"
    ball = Ball(space, center, radius)
    return ModelSketch(ball, source, roots * (TYPICAL * ball.radius / np.linalg.norm(roots)), basis)


def from_sample(
    space: Space,
    public_points: ArrayLike,
    coverage: float = 0.9,
    modes: int | Literal["auto"] = "auto",
    shrink: float | Literal["auto"] = "auto",
    prior: Prior | Literal["auto"] = "auto",
) -> SampleSketch:
    """See :meth:`Ellipsoid.from_sample`."""
    if not (isinstance(coverage, Real) and 0 < float(coverage) <= 1):
        raise ValueError(f"coverage is a share of the records, above 0 and at most 1, not {coverage!r}")
    if modes != "auto" and not (isinstance(modes, (int, np.integer)) and 1 <= modes <= space.dim):
        raise ValueError(f"{space}: modes must be 'auto' or a whole number from 1 to {space.dim}, not {modes!r}")
    if shrink != "auto" and not (isinstance(shrink, Real) and 0 <= float(shrink) <= 1):
        raise ValueError(f"shrink must be 'auto' or a number between 0 and 1, not {shrink!r}")
    center, tangents = _sample(space, public_points)
    m = len(tangents)
    lengths = np.linalg.norm(tangents, axis=1) * (m / (m - 1))  # about the mean of the others
    radius = max(float(np.quantile(lengths, COVER)), float(np.sqrt(np.mean(lengths**2)))) * (1 + 1 / m)
    ball = Ball(space, space.present(center), radius)
    every: tuple[Prior, ...] = ("ball",) if space.landmark_dim is None else ("ball", "smooth")
    priors = every if prior == "auto" else (prior,)
    for each in priors:
        _unit_moment(space, center, each)  # refuses now what the space does not have
    weights = WEIGHTS if shrink == "auto" else (float(shrink),)
    return SampleSketch(ball, float(coverage), None if modes == "auto" else int(modes), weights, priors, tangents)


def _sample(space: Space, public_points: ArrayLike) -> tuple[Points, Array]:
    """Return the Fréchet mean of a public sample, and the points' tangent coordinates there, less their mean."""
    from ..means.frechet import frechet_mean  # which knows balls

    try:
        points = space.validate(public_points)
    except InvalidPointError as error:
        raise ValueError(f"the public sample: {error}") from None
    instead = "give a centre and a radius instead, to Ball, Ellipsoid.smooth or Ellipsoid.bending"
    if len(points) < 2:
        raise ValueError(f"a public sample of {len(points)} says nothing about how far records spread: {instead}")
    center = space.validate(frechet_mean(space, space.present(points)).point[None])[0]
    tangents = tangent_coordinates(space, center, points)
    for row in np.flatnonzero(~np.isfinite(tangents).all(axis=1)):
        raise ValueError(f"the public sample: record {row} is so far from the others that no direction leads to it")
    tangents = tangents - tangents.mean(axis=0)
    if not np.abs(tangents).max() > 100 * space.rounding_error(center, 0.0):
        raise ValueError(
            f"the public points are all the same: they say nothing about how far records spread; {instead}"
        )
    return center, tangents


def _unit_moment(space: Space, center: Points, prior: str, order: float = 1.0) -> Array:
    """Return the second moment that a prior stands for at a public point, of trace one."""
    if prior not in WORDS:
        raise ValueError(f"prior must be 'auto' or one of {', '.join(WORDS)}, not {prior!r}")
    if prior == "ball":
        return np.eye(space.dim) / space.dim
    bends = prior == "bending"
    moment = bending_moment(space, center) if bends else smooth_moment(space, center, order, prior == "smooth")
    return np.asarray(moment / np.trace(moment))


def _shrunk(tangents: Array, weight: float, target: Array) -> tuple[Array, Array]:
    """Return the spectrum of (1 − w)·C + w·C₀, C₀ with the trace of C."""
    moment = tangents.T @ tangents / max(len(tangents) - 1, 1)
    return _spectrum((1 - weight) * moment + weight * np.trace(moment) * target)


def _spectrum(moment: Array) -> tuple[Array, Array]:
    """Return the roots of the eigenvalues, falling, and eigenvectors in rows."""
    values, vectors = np.linalg.eigh(moment)
    return np.sqrt(np.maximum(values[::-1], FLOOR * values[-1])), np.ascontiguousarray(vectors[:, ::-1].T)


def _noise(n: int, epsilon: float, sums: Array) -> Array:
    """Return the mean square of the noise in p = 1 … d directions with the best axes, from Σ√l over them."""
    return np.asarray((2 / (n * epsilon)) ** 2 * np.arange(2, len(sums) + 2) * sums**2)


def _ellipsoid(ball: Ball, axes: Array, basis: Array, source: str, spread: float) -> Ellipsoid:
    center = ball.space.present(ball.center)
    reach = ball.radius
    return Ellipsoid(ball.space, center, axes, basis, source=source, spread=spread, reach=reach)
