"""``python -m attacks.solver``: attacks on the computed mean that the noise of the manifold Laplace is centred at.

The Laplace draws about the point that a solver returns, so its promise is that of the solver: the computed centres of
neighbours must lie within ε·σ of each other, and each within a public allowance of the true mean.  Data sets that are hard
for a solver are tried (two clusters at opposite ends in every split, three clusters, records that nearly coincide, random
clusters at the edge), up to the largest radius that is accepted.  Each computed centre is compared with one that is certain:
gradient steps no longer than the inverse of the largest Hessian, which from the public centre stay in the ball and lower the
mean squared distance until they are at its only stationary point there (theory, Result 2).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from attacks.checks import Check, Settings, tell
from attacks.walks import walks
from sfumato.audit.threshold import Counts
from sfumato.bounds import bounds_of
from sfumato.mechanisms import ManifoldLaplace, Mechanism
from sfumato.records import Records
from sfumato.regions.ball import Ball
from sfumato.spaces import SPD, Euclidean, PlanarShapes, Space, Sphere
from sfumato.spaces.base import Array, Points

STEPS = 20_000  # most gradient steps of the certain solver
FRACTIONS = (0.5, 0.9, 0.999)  # of the largest admitted radius
SPACES: list[Space] = [
    Sphere(dim=2),
    Sphere(dim=9),
    PlanarShapes(landmarks=3),
    PlanarShapes(landmarks=5),
    SPD(size=2),
    SPD(size=3),
]


def certain_means(ball: Ball, clusters: Points, counts: Counts) -> tuple[Points, Array]:
    """The Fréchet means of B data sets, ``counts`` (B, K) records at ``clusters`` (B, K, …) each, and bounds on their errors.

    Gradient steps of length t‖∇F‖ from the centre, t = 1/(largest Hessian): slow and certain.

    >>> import sfumato as sf
    >>> ball = sf.Ball(sf.Euclidean(dim=1), [0.0], radius=1.0)
    >>> means, errors = certain_means(ball, np.array([[[1.0], [-1.0]]]), np.array([[3, 1]]))
    >>> means.round(9).tolist(), bool(errors.max() < 1e-12)
    ([[0.5]], True)
    """
    space, ones = ball.space, (1,) * len(ball.space.point_shape)
    step = 1 / float(bounds_of(space).hessian_bounds(2 * ball.radius)[1])
    least = float(
        bounds_of(space).hessian_bounds(ball.radius)[0]
    )  # of the mean Hessian at the mean (proof of Result 2)
    weights = (counts / counts.sum(axis=1, keepdims=True)).reshape(*counts.shape, *ones)
    rest = 1e-14 * ball.radius + 0.03 * space.rounding_error(ball.center, 2 * ball.radius)
    x = np.repeat(ball.center[None], len(clusters), axis=0)
    norms, left = np.full(len(x), np.inf), np.arange(len(x))
    for _ in range(STEPS):
        pull = np.sum(weights[left] * space.log(x[left, None], clusters[left]), axis=1)
        before, norms[left] = norms[left], space.norm(x[left], pull)
        at_rest = (norms[left] < rest) | ((norms[left] >= before) & (norms[left] < 30 * rest))
        x[left] = np.where(at_rest.reshape(-1, *ones), x[left], space.exp(x[left], step * pull))
        left = left[~at_rest]
        if not len(left):
            break
    if not (ball.distances(x) <= ball.radius * (1 + 1e-9)).all():
        raise RuntimeError(
            "steps that should stay in the ball left it"
        )  # only in the ball is a stationary point the mean
    return x, norms / least


@dataclass(frozen=True)
class Excess:
    """The largest error of a computed centre over its allowance, and the largest loss of neighbours over ε."""

    name: str
    sets: int
    error: float
    loss: float

    @property
    def sound(self) -> bool:
        return self.error <= 1 and self.loss <= 1


def probe(mechanism: ManifoldLaplace, name: str, clusters: Points, counts: Counts, neighbours: bool) -> Excess:
    """Held against the certain means, data set by data set; if ``neighbours``, each also against the one before it.  A centre
    that is refused for the data's sake counts as infinitely wrong."""
    ball, space = mechanism.ball, mechanism.space
    centers = []
    for points, count in zip(clusters, counts, strict=True):
        clipped = ball.clip(space.present(np.repeat(points, count, axis=0)))
        try:
            centers.append(mechanism.center(Records(space, clipped)))
        except RuntimeError:
            return Excess(name, len(counts), np.inf, np.inf)
    found, scale = np.stack(centers), mechanism.calibrate(int(counts[0].sum()))
    means, doubt = certain_means(ball, clusters, counts)
    off = np.maximum(space.distance(means, found) - doubt, 0.0)
    loss = float(np.max(space.distance(found[1:], found[:-1])) / scale.sigma) / mechanism.epsilon if neighbours else 0.0
    return Excess(name, len(counts), float(np.max(off)) / (scale.numbers["solver"] / 2), loss)


def probes(mechanism: ManifoldLaplace, sets: int, rng: np.random.Generator) -> Iterator[Excess]:
    """All of them, with about ``sets`` data sets of random clusters and as many of the others as that allows."""
    ball, space, dim = mechanism.ball, mechanism.space, mechanism.space.dim
    for n in (2, 3, 10, 100, 1000):
        if n <= max(10, sets):
            for walk in walks(ball, n):
                several = np.broadcast_to(walk.points, (len(walk.counts), *walk.points.shape))
                yield probe(mechanism, walk.kind, several, walk.counts, True)

    def at(coordinates: Array) -> Points:
        flat = coordinates.reshape(-1, dim)
        return space.exp(ball.center, space.from_coordinates(ball.center, flat)).reshape(
            *coordinates.shape[:-1], *space.point_shape
        )

    edge = ball.radius * np.eye(dim)[0]
    apart = np.array([0.0, *np.geomspace(1e-16, 0.3, 40)])[:, None] * ball.radius * np.eye(dim)[-1]
    near = np.stack(
        [np.broadcast_to(0.95 * edge, apart.shape), 0.9 * edge + apart, np.broadcast_to(-edge, apart.shape)], axis=1
    )
    for rest in ((19, 1, 0), (10, 10, 0), (18, 1, 1)):
        counts = np.broadcast_to(np.array(rest), (len(near), 3))
        yield probe(mechanism, f"nearly coincident, {rest[2]} of 20 across the ball", at(near), counts, False)
    size, parts = 200, 4
    for start in range(0, sets, 2000):
        count = min(2000, sets - start)
        directions = rng.normal(size=(count, parts, dim))
        flat = rng.random(count) < 0.6  # in a plane, along its axes or nearly
        axes = np.eye(dim)[rng.integers(min(2, dim), size=(count, parts))] * rng.choice([-1.0, 1.0], (count, parts, 1))
        directions[flat] = (axes + rng.choice([0, 0.02, 0.2], (count, 1, 1)) * directions)[flat]
        lengths = ball.radius * np.where(rng.random((count, parts, 1)) < 0.7, 1.0, rng.random((count, parts, 1)))
        coordinates = lengths * directions / np.linalg.norm(directions, axis=-1, keepdims=True)
        shares = np.stack([rng.dirichlet(np.full(parts, rng.choice([0.5, 1, 3]))) for _ in range(count)])
        counts = np.stack([rng.multinomial(size, share) for share in shares])
        yield probe(mechanism, f"random clusters, {size} records", at(coordinates), counts, False)


def largest_radius(kind: Callable[[Ball, float], Mechanism], space: Space, n: int, most: float = 16.0) -> float:
    """The largest radius, up to ``most``, at which a mechanism is admitted for n records and ε = 1, by bisection.

    >>> 1.0 < largest_radius(ManifoldLaplace, Sphere(dim=2), 100) <= np.pi / 2
    True
    """

    def admitted(radius: float) -> bool:
        try:
            kind(Ball(space, space.present(space.origin()), radius), 1.0).plan(n)
        except ValueError:
            return False
        return True

    low, high = 0.0, min(most, bounds_of(space).mean_radius_limit)
    if admitted(high):
        return high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if admitted(middle) else (low, middle)
    return low


def worst(findings: Iterator[Excess]) -> list[Excess]:
    """The worst of each name."""
    found: dict[str, Excess] = {}
    for one in findings:
        other = found.get(one.name, Excess(one.name, 0, 0.0, 0.0))
        found[one.name] = Excess(
            one.name, one.sets + other.sets, max(one.error, other.error), max(one.loss, other.loss)
        )
    return list(found.values())


def checks(sets: int, seed: int = 0, only: str = "") -> Iterator[Check]:
    """One row for each space, radius and kind of data."""
    for space in [*SPACES, Euclidean(dim=3)]:
        if only not in str(space):
            continue
        limit = largest_radius(ManifoldLaplace, space, 1000)
        for fraction in FRACTIONS:
            rng = np.random.default_rng(seed)
            epsilon = (
                1.0 if np.isfinite(bounds_of(space).mean_radius_limit) else 1000.0
            )  # on SPD the Laplace needs a large n·ε
            mechanism = ManifoldLaplace(Ball(space, space.present(space.origin()), fraction * limit), epsilon)
            for one in worst(probes(mechanism, sets, rng)):
                words = f"{one.sets} data sets: error of the centre {one.error:.3g} of its allowance"
                words += f", loss of neighbours {one.loss:.4f} of ε" if one.loss else ""
                name = f"{space}, radius {mechanism.ball.radius:.4f}: {one.name}"
                yield Check("solver", name, "pass" if one.sound else "fail", words)


def section(settings: Settings) -> Iterator[Check]:
    """What the whole audit asks: a hundred thousand data sets of random clusters at each space and radius."""
    return checks(300 if settings.quick else 100_000, settings.seed)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m attacks.solver", description="Attack the computed means that noise is centred at."
    )
    parser.add_argument(
        "--sets", type=int, default=100_000, help="data sets of random clusters a space and radius (default: 100000)"
    )
    parser.add_argument("--only", default="", help="spaces whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random clusters (default: 0)")
    arguments = parser.parse_args()
    return tell(checks(arguments.sets, arguments.seed, arguments.only))


if __name__ == "__main__":
    raise SystemExit(main())
