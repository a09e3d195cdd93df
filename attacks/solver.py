"""``python -m attacks --only solver``: attacks on the computed mean that the noise of the manifold Laplace is centred at.

The Laplace draws about the point that a solver returns, so its promise is that of the solver: the computed centres of
neighbours must lie within ε·σ of each other, and each within a public allowance of the true mean.  Data sets that are hard
for a solver are tried (two clusters at opposite ends in every split, three clusters, records that nearly coincide, random
clusters at the edge), up to the largest radius that is accepted.  Each computed centre is compared with one that is certain:
gradient steps no longer than the inverse of the largest Hessian, which from the public centre stay in the ball and lower the
mean squared distance until they are at its only stationary point there (theory, Result 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from unittest.mock import patch

import numpy as np

from attacks import broken
from attacks.accounts import radial
from attacks.arenas import SPACES, largest_radius
from attacks.checks import Case, Found, Settings, by_verdict, seed_of
from attacks.walks import jump, walks
from sfumato.audit import audit
from sfumato.audit.blackbox import sampler
from sfumato.audit.exact import center_loss
from sfumato.audit.verdict import Counts
from sfumato.laws.bounds import bounds_of, has_bounds
from sfumato.mechanisms import ManifoldLaplace
from sfumato.numerics.arrays import Array, Points
from sfumato.records import Records
from sfumato.regions.ball import Ball
from sfumato.spaces import GLOBE, SPD, ElasticCurves, PlanarShapes, Simplex, Space, Sphere, rays, spd, sphere

STEPS = 20_000  # most gradient steps of the certain solver
LONGEST = {0.5: (), 0.9: (), 0.999: (1000,)}  # the most records in every split, by the share of the largest radius
SIZE = 40  # records in data sets of random clusters
PROVEN = [name for name, (space, _) in SPACES.items() if has_bounds(space)]  # where there is a Laplace
OTHERWISE = (Simplex, ElasticCurves)  # the square roots of parts are directions, open curves are CP^m
LARGER: list[Space] = [Sphere(dim=9), PlanarShapes(landmarks=3), PlanarShapes(landmarks=5), SPD(size=3)]
# sums over so few records are NumPy's; over many they are made in compiled loops, which are attacked with few as well
COMPILED: list[Space] = [
    GLOBE,
    Sphere(dim=9),
    PlanarShapes(landmarks=5),
    SPD(size=2),
    SPD(size=3),
    SPD(size=4),
    SPD(size=9),
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
    shown = space.present(clusters.reshape(-1, *space.point_shape))  # as records come: that rounds
    clusters = ball.clip(shown).reshape(clusters.shape)
    for points, count in zip(clusters, counts, strict=True):
        try:
            records = Records(space, np.repeat(points, count, axis=0))
            centers.append(mechanism.at(records.n).center(records))
        except RuntimeError:
            return Excess(name, len(counts), np.inf, np.inf)
    found, scale = np.stack(centers), mechanism.at(int(counts[0].sum())).scale
    means, doubt = certain_means(ball, clusters, counts)
    off = np.maximum(space.distance(means, found) - doubt, 0.0)
    loss = (
        float(np.max(space.distance(found[1:], found[:-1])) / scale.sigma) / mechanism.privacy.pure
        if neighbours
        else 0.0
    )
    return Excess(name, len(counts), float(np.max(off)) / (scale.numbers["solver"] / 2), loss)


def at(ball: Ball, coordinates: Array) -> Points:
    """The points of tangent coordinates (…, d) at the centre."""
    space, flat = ball.space, coordinates.reshape(-1, ball.space.dim)
    points = space.exp(ball.center, space.from_coordinates(ball.center, flat))
    return points.reshape(*coordinates.shape[:-1], *space.point_shape)


def in_every_split(mechanism: ManifoldLaplace, sizes: Sequence[int]) -> Iterator[Excess]:
    """Clusters at opposite ends of the ball, or at its centre and one end, in every split, of two axes."""
    for n in sizes:
        for walk in walks(mechanism.ball, n):
            several = np.broadcast_to(walk.points, (len(walk.counts), *walk.points.shape))
            yield probe(mechanism, walk.kind, several, walk.counts, True)


def nearly_coincident(mechanism: ManifoldLaplace) -> Iterator[Excess]:
    """Two clusters that come together, and one record across the ball."""
    ball, dim = mechanism.ball, mechanism.space.dim
    edge = ball.radius * np.eye(dim)[0]
    apart = np.array([0.0, *np.geomspace(1e-16, 0.3, 40)])[:, None] * ball.radius * np.eye(dim)[-1]
    near = [np.broadcast_to(0.95 * edge, apart.shape), 0.9 * edge + apart, np.broadcast_to(-edge, apart.shape)]
    for rest in ((19, 1, 0), (10, 10, 0), (18, 1, 1)):
        counts = np.broadcast_to(np.array(rest), (len(apart), 3))
        name = f"nearly coincident, {rest[2]} of 20 across the ball"
        yield probe(mechanism, name, at(ball, np.stack(near, axis=1)), counts, False)


def at_random(mechanism: ManifoldLaplace, sets: int, rng: np.random.Generator, size: int = SIZE) -> Iterator[Excess]:
    """Up to four clusters, most of them at the edge, many of them along one or two axes, of random numbers of records."""
    ball, dim, parts = mechanism.ball, mechanism.space.dim, 4
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
        yield probe(mechanism, f"random clusters, {size} records", at(ball, coordinates), counts, False)


def probes(mechanism: ManifoldLaplace, sets: int, rng: np.random.Generator) -> Iterator[Excess]:
    """All of them, with ``sets`` data sets of random clusters."""
    yield from in_every_split(mechanism, [n for n in (2, 3, 10, 100, 1000) if n <= max(10, sets)])
    yield from nearly_coincident(mechanism)
    yield from at_random(mechanism, sets, rng)


def worst(findings: Iterable[Excess]) -> list[Excess]:
    """The worst of each name."""
    found: dict[str, Excess] = {}
    for one in findings:
        other = found.get(one.name, Excess(one.name, 0, 0.0, 0.0))
        found[one.name] = Excess(
            one.name, one.sets + other.sets, max(one.error, other.error), max(one.loss, other.loss)
        )
    return list(found.values())


# -- the section of the audit ----------------------------------------------------------------------------------------------
def laplace_at(space: Space, fraction: float) -> ManifoldLaplace:
    """The Laplace in a ball of a fraction of the largest radius that it takes."""
    epsilon = 1.0 if np.isfinite(bounds_of(space).mean_radius_limit) else 1000.0  # without a limit it needs a large n·ε
    radius = fraction * largest_radius(ManifoldLaplace, space, 1000)
    return ManifoldLaplace(Ball(space, space.present(space.origin()), radius), epsilon)


def attacked(
    mechanism: Callable[[], ManifoldLaplace],
    attack: Callable[[ManifoldLaplace], Iterable[Excess]],
    compiled: bool = False,
) -> Found:
    """The worst of an attack, in words; if ``compiled``, on the loops that are made for many records."""
    one = mechanism()
    with ExitStack() as stack:
        stack.enter_context(
            patch("sfumato.regions.mean.STEADY", 1)
        )  # the steps of a release, but none that only hide the time
        for module in (rays, spd, sphere) if compiled else ():
            stack.enter_context(patch.object(module, "MANY", 1))
        found = worst(attack(one))
    words = [
        f"{each.name}: {each.sets} data sets, error of the centre {each.error:.3g} of its allowance"
        + (f", loss of neighbours {each.loss:.4f} of ε" if each.loss else "")
        for each in found
    ]
    sound = bool(found) and all(each.sound for each in found)
    most = max((max(each.error, each.loss) for each in found), default=0.0)
    known = {"sets": sum(each.sets for each in found), "found": most, "power": 1.0}  # held against what is certain
    return Found(sound, f"radius {one.ball.radius:.4f}; {'; '.join(words)}", known)


def by_draws(mechanism: ManifoldLaplace, n: int, draws: int, seed: int) -> Found:
    """What neighbours give away, where one record makes outputs jump the farthest: clusters at opposite ends, in any split."""
    ball, draw = mechanism.ball, sampler(mechanism)
    pairs = [walk.pair(ball, jump(draw, ball, walk, size=4)) for walk in walks(ball, n)]
    losses = [center_loss(mechanism, ball.clip(pair.first), ball.clip(pair.second)) for pair in pairs]
    pair = pairs[int(np.argmax(losses))]
    verdict = audit(draw, mechanism.privacy.pure, pair, region=mechanism.ball, draws=draws, seed=seed)
    words = f"ε ≥ {verdict.lower:.2f}, claimed {verdict.claimed:g}, by {verdict.draws} draws; by the centres "
    words += f"{max(losses):.4g}; {pair.name}"
    told = radial(mechanism.space.dim, mechanism.privacy.pure)
    return replace(by_verdict(verdict, told), words=words)


def cases(settings: Settings) -> list[Case]:
    """For each space 20,000 data sets of random clusters in all, and every split; old solvers beside today's.  Where a mean is
    a plain average, in more dimensions, and on what is a sphere or planar shapes by another name, a tenth of that."""
    found, proven = [], [SPACES[name][0] for name in PROVEN]
    for space in [*proven, *LARGER]:
        share = 0.1 if space in LARGER or isinstance(space, OTHERWISE) or bounds_of(space).is_flat else 1.0
        for fraction, each in ((0.5, 8000), (0.9, 8000), (0.999, 4000)):
            made = partial(laplace_at, space, fraction)
            where = f"{space}, {fraction:g} of the largest radius"
            sizes = (2, 3, 10) if settings.quick else (2, 3, 10, 100, *LONGEST[fraction]) if share == 1 else (10, 100)
            found.append(Case(f"{where}: every split", partial(attacked, made, partial(in_every_split, sizes=sizes))))
            found.append(Case(f"{where}: nearly coincident", partial(attacked, made, nearly_coincident)))
            name = f"{where}: random clusters"
            rng, sets = np.random.default_rng(seed_of(settings, name)), 100 if settings.quick else int(share * each)
            found.append(Case(name, partial(attacked, made, partial(at_random, sets=sets, rng=rng))))
    for space in COMPILED:
        for fraction in (0.5, 0.9, 0.999):
            made = partial(laplace_at, space, fraction)
            where = f"{space}, {fraction:g} of the largest radius, compiled"
            sizes = (2, 3, 10) if settings.quick else (3, 100)
            rng, sets = np.random.default_rng(seed_of(settings, where)), 100 if settings.quick else 1000
            attacks: dict[str, Callable[[ManifoldLaplace], Iterable[Excess]]] = {
                "every split": partial(in_every_split, sizes=sizes),
                "nearly coincident": nearly_coincident,
                "random clusters": partial(at_random, sets=sets, rng=rng),
            }
            for name, attack in attacks.items():
                found.append(Case(f"{where}: {name}", partial(attacked, made, attack, compiled=True)))
    wide, narrow = (Ball(GLOBE, GLOBE.origin(), radius) for radius in (0.92 * np.pi / 2, np.pi / 8))
    old = {
        "an old solver, which walks out of the ball": broken.Misplaced(wide, 1.0, place=broken.straying),
        **{
            f"a solver that stops at {share:g} of the spread": broken.Misplaced(narrow, 1.0, place=broken.hasty(share))
            for share in (0.3, 0.1, 0.02)
        },
    }
    draws, seed = 40_000 if settings.quick else 200_000, settings.seed
    for ball, words in ((wide, "r = 0.92·π/2"), (narrow, "r = π/8")):
        one = ManifoldLaplace(ball, 1.0)
        found.append(Case(f"by draws: this solver on S², {words}, n = 100", partial(by_draws, one, 100, draws, seed)))
    for name, mechanism in old.items():
        n = 1000 if "0.02" in name or "0.1" in name else 100
        found.append(Case(f"by draws: {name}, n = {n}", partial(by_draws, mechanism, n, draws, seed), True))
        everything = partial(probes, sets=100, rng=np.random.default_rng(seed))
        found.append(
            Case(f"against certain means: {name}", partial(attacked, partial(_same, mechanism), everything), True)
        )
    return found


def _same(mechanism: ManifoldLaplace) -> ManifoldLaplace:
    return mechanism
