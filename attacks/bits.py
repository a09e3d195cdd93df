"""``python -m attacks --only bits``: attacks on the bits of releases.

An attacker who knows both neighbouring data sets, and so both means, looks for an event in the doubles of a release that is
likelier under one than ε allows: how far a value is from the manifold (norm, symmetry, centring), which bits are set, whether
a mean could have produced these doubles at all, or what a classifier learns from all of these.  An event is chosen on one half
of the draws and counted on the other, so the bound holds whatever was tried.  Textbook samplers break, and so do this
package's own draws before the lattice; releases do not.  All numbers of every other type of release are looked at in the same
way, and what replay shows beside it (:mod:`attacks.replay`) is that neighbours give the same doubles for the same outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import fsum

import numpy as np

from attacks import compound
from attacks.accounts import reach, two_points
from attacks.arenas import ball_on
from attacks.checks import Case, Found, Settings, seed_of
from attacks.replay import replaced
from sfumato.audit import epsilon_bound
from sfumato.audit.blackbox import boost
from sfumato.audit.trial import clock_pairs
from sfumato.laws.privacy import PureDP
from sfumato.laws.sampling import secure_generator
from sfumato.means.frechet import solve
from sfumato.mechanisms import KNG, AmbientLaplace, Exponential, ManifoldLaplace, PointwiseLaplace, TangentKNorm
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.manifold import ManifoldMechanism
from sfumato.numerics.arrays import Array, Points
from sfumato.records import Records
from sfumato.regions import Ball, Ellipsoid, Region, Settled, check_settled
from sfumato.spaces import SPD, Euclidean, PlanarShapes, Sphere
from sfumato.spaces.base import Space

ALPHA = 1e-6  # a bound is wrong with at most this probability
SOME = 800  # releases of each data set, of every type
CANDIDATES = 64  # thresholds tried for a feature


# -- what an attacker looks at -------------------------------------------------------------------------------------------
def bit_statistics(values: Array) -> Array:
    """For each number: the place of its last set bit, how many bits it uses, and its last three bits.

    >>> bit_statistics(np.array([[0.75], [0.1]])).tolist()
    [[-2.0, 2.0, 0.0], [-55.0, 52.0, 2.0]]
    """
    flat = values.reshape(len(values), -1)
    mantissa, exponent = np.frexp(flat)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    last = np.where(whole > 0, np.frexp((whole & -whole).astype(np.float64))[1] - 1, 2000)
    place = np.where(whole > 0, exponent - 53 + last, 2000)
    return np.concatenate([place, exponent - place, whole & 7], axis=1, dtype=np.float64)


def norm_residuals(space: Space, values: Array) -> Array:
    """‖x‖² − 1/κ on spheres, ‖x‖² − 1 on shapes and elsewhere, with no rounding before the last step."""
    flat = values.reshape(len(values), -1)
    high = flat * flat
    split = flat * 134217729.0  # Veltkamp: 26 bits each, whose products are exact
    top = split - (split - flat)
    low = flat - top
    rest = ((top * top - high) + 2 * top * low) + low * low
    target = 1 / space.curvature if isinstance(space, Sphere) else 1.0
    return np.array([[fsum([*a, *b, -target])] for a, b in zip(high.tolist(), rest.tolist(), strict=True)])


def symmetry_residuals(space: Space, values: Array) -> Array:
    """Matrices: the entries of x − xᵀ.  Shapes: the sums of the coordinates, zero if centred."""
    if isinstance(space, SPD):
        return np.asarray((values - np.swapaxes(values, 1, 2)).reshape(len(values), -1))
    if isinstance(space, PlanarShapes):
        return np.array([[fsum(column) for column in value.T.tolist()] for value in values])
    return np.zeros((len(values), 1))


def reachability(values: Array, center: Array) -> Array:
    """Could a sum with this centre have produced these doubles?  For each number much smaller than the centre's: −1 if it has
    bits finer than such a sum can have, otherwise how many bits were cancelled.  Zero for all other numbers.

    >>> reachability(np.array([[0.1], [2.0**-20], [2.0**-20 + 2.0**-70]]), np.array([0.125])).tolist()
    [[0.0], [17.0], [-1.0]]
    """
    c = np.abs(center)
    small = np.abs(values) < c / 4
    coarse = np.remainder(values, np.where(c > 0, np.spacing(c) / 4, 1.0)) == 0
    cancelled = np.log2(np.where(small, c, 1.0)) - np.log2(np.where(small, np.maximum(np.abs(values), 1e-300), 1.0))
    return np.where(small, np.where(coarse, cancelled, -1.0), 0.0).reshape(len(values), -1)


def round_trip(space: Space, values: Array, center: Points) -> Array:
    """log and exp from a centre that produced these doubles should return them: how many come back bit by bit, and how far
    off the others are, in units of the last place."""
    back = space.present(space.exp(center, space.log(center, _canonical(space, values))))
    off = ((back - values) / np.spacing(np.maximum(np.abs(values), 1e-20))).reshape(len(values), -1)
    return np.column_stack([(off == 0).sum(axis=1), np.abs(off).max(axis=1), off])


def lattice_residuals(space: Space, values: Array, center: Points, spacing: float) -> Array:
    """How far the tangent coordinates at a centre are from multiples of the public spacing: zero if the lattice is there."""
    coordinates = space.coordinates(center, space.log(center, _canonical(space, values))) / spacing
    return np.asarray(np.abs(coordinates - np.rint(coordinates)).max(axis=1, keepdims=True).round(6))


def chart_residuals(chart: Ellipsoid, values: Array, center: Points, spacing: float) -> Array:
    """The same in a chart, about the place of a mean there."""
    space = chart.space
    w, mean = (
        space.coordinates(chart.center, space.log(chart.center, points)) @ chart.basis.T / chart.axes
        for points in (_canonical(space, values), center)
    )
    whole = (w - mean) / spacing
    return np.asarray(np.abs(whole - np.rint(whole)).max(axis=1, keepdims=True).round(6))


def _canonical(space: Space, values: Array) -> Points:
    """The doubles as they stand: validating would already change their bits."""
    return values[..., 0] + 1j * values[..., 1] if isinstance(space, PlanarShapes) else values


def features(
    space: Space,
    values: Array,
    centers: list[Points],
    on_manifold: bool = True,
    spacing: float | None = None,
    chart: Ellipsoid | None = None,
) -> dict[str, Array]:
    """All of these, (m, …) each, by name; ``centers`` are what noise may have been added to, ``spacing`` that of a lattice."""
    found = {
        "last bits": bit_statistics(values),
        "norm": norm_residuals(space, values),
        "symmetry": symmetry_residuals(space, values),
        "reachability": np.concatenate([reachability(values, space.present(c)) for c in centers], axis=1),
    }
    if on_manifold:
        found["round trip"] = np.concatenate([round_trip(space, values, c) for c in centers], axis=1)
        if spacing is not None and chart is not None:
            found["lattice"] = np.concatenate([chart_residuals(chart, values, c, spacing) for c in centers], axis=1)
        elif spacing is not None:
            found["lattice"] = np.concatenate([lattice_residuals(space, values, c, spacing) for c in centers], axis=1)
    return found


# -- from features to a bound ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Bound:
    """A lower bound on ε, and the event that shows it."""

    epsilon: float
    event: str


Indicator = Callable[[Array], Array]


def _events(pooled: Array) -> Iterator[tuple[str, Indicator]]:
    """Below or above a threshold, or equal to a frequent value, in each column."""
    for column in range(pooled.shape[1]):
        values, counts = np.unique(pooled[:, column], return_counts=True)
        frequent = values[np.argsort(counts)[-CANDIDATES:]]
        if len(values) > CANDIDATES:
            values = np.unique(np.quantile(pooled[:, column], np.linspace(0, 1, CANDIDATES), method="nearest"))
        for t in values[:-1]:
            yield f"[{column}] ≤ {t:.6g}", lambda f, c=column, t=t: f[:, c] <= t  # type: ignore[misc]
            yield f"[{column}] > {t:.6g}", lambda f, c=column, t=t: f[:, c] > t  # type: ignore[misc]
        for t in frequent[counts[np.argsort(counts)[-CANDIDATES:]] > 1]:
            yield f"[{column}] = {t:.6g}", lambda f, c=column, t=t: f[:, c] == t  # type: ignore[misc]


def attack(first: dict[str, Array], second: dict[str, Array]) -> Bound:
    """The best event of the first halves of two samples of features, and the bound that the second halves give for it.

    >>> rng = np.random.default_rng(0)
    >>> one, two = ({"x": rng.normal(m, 1, (4000, 1))} for m in (0, 3))
    >>> attack(one, two).epsilon > 2
    True
    """
    names: list[tuple[str, str, Indicator, bool]] = []
    counts: list[tuple[int, int]] = []
    half = len(next(iter(first.values()))) // 2
    for name, a in first.items():
        b = second[name]
        for text, event in _events(np.concatenate([a[:half], b[:half]])):
            k = int(event(a[:half]).sum()), int(event(b[:half]).sum())
            for swap in (False, True):
                names.append((name, text, event, swap))
                counts.append(k[::-1] if swap else k)
    if not names:
        return Bound(0.0, "none: all doubles are alike")
    k1, k0 = np.array(counts).T
    name, text, event, swap = names[int(np.argmax(epsilon_bound(k1, k0, half, ALPHA)))]
    k1, k0 = (int(event(sample[name][half:]).sum()) for sample in ((second, first) if swap else (first, second)))
    total = len(first[name]) - half
    return Bound(float(epsilon_bound(k1, k0, total, ALPHA)), name + text)


def learned(first: dict[str, Array], second: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The score of a gradient-boosted classifier over all features, trained on the first halves (needs scikit-learn)."""
    joined = (np.concatenate(list(sample.values()), axis=1) for sample in (first, second))
    a, b = (np.clip(np.nan_to_num(sample), -1e300, 1e300) for sample in joined)
    model = boost(a[: len(a) // 2], b[: len(b) // 2])
    one, two = ({"classifier": model.decision_function(sample)[:, None]} for sample in (a, b))
    return one, two


# -- samplers under attack -------------------------------------------------------------------------------------------------
def textbook_laplace(center: Array, sigma: float, size: int, rng: np.random.Generator) -> Array:
    """The Laplace on S² as one would write it: cos(ρ)·c + sin(ρ)·u, u a normalised tangent vector; never a release."""
    rho: list[float] = []
    while len(rho) < size:
        proposal = sigma * rng.standard_gamma(2, size)
        keep = (proposal < np.pi) & (rng.random(size) * proposal < np.sin(np.minimum(proposal, np.pi)))
        rho.extend(proposal[keep].tolist())
    radius = np.array(rho[:size])[:, None]
    u = rng.standard_normal((size, 3))
    u -= (u @ center)[:, None] * center
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return np.asarray(np.cos(radius) * center + np.sin(radius) * u)


def one_moved(region: Settled, n: int) -> tuple[Points, Points]:
    """All records at the public centre, and one of them moved to the edge of the region."""
    chart = region.as_chart()
    first = np.repeat(chart.center[None], n, axis=0)
    second = first.copy()
    second[0] = chart.point(0.999 * np.eye(len(chart.axes))[-1])
    return first, second


def released_values(mechanism: Mechanism, points: Points, size: int, rng: np.random.Generator | None = None) -> Array:
    """Values as they would be released, one after the other, each with a fresh generator; what the data alone decide (the
    mean and the density about it) is computed once."""
    plan, records = mechanism.at(len(points)), Records(mechanism.space, points)
    if isinstance(plan, ManifoldMechanism):
        target = plan.target(records)
        return mechanism.space.present(np.stack([plan.rounded(target, rng or secure_generator()) for _ in range(size)]))
    if isinstance(plan, TangentKNorm):
        mean = plan.mean(records)
        return np.stack([plan.about(mean, rng or secure_generator()).raw for _ in range(size)])
    return np.stack([plan.draw(records, rng or secure_generator()).raw for _ in range(size)])


def audit_bits(
    mechanism: Mechanism,
    n: int,
    size: int,
    rng: np.random.Generator,
    *,
    released: bool,
    classifier: bool = False,
    secure: bool = True,
) -> Bound:
    """The best attack on ``size`` draws from each of two neighbouring data sets: releases, or the sampler's own doubles."""
    region, chart = check_settled(mechanism.region, "attack the mechanism with"), None
    space, pair = mechanism.space, one_moved(region, n)
    on_manifold = isinstance(mechanism, ManifoldMechanism | TangentKNorm)
    if isinstance(mechanism, TangentKNorm):
        chart = region.as_chart()
        means = [chart.point(chart.chart(points).mean(axis=0)) for points in pair]
    elif on_manifold:
        means = [solve(Records(space, points)).point for points in pair]
    else:
        means = [points.mean(axis=0) for points in pair]
    if released:
        values = [released_values(mechanism, points, size, None if secure else rng) for points in pair]
    else:
        values = [mechanism.sample(space.present(points), size, rng) for points in pair]
    spacing = mechanism.at(n).spacing if released else None
    first, second = (features(space, v, means, on_manifold, spacing, chart) for v in values)
    best = attack(first, second)
    if classifier:
        best = max(best, attack(*learned(first, second)), key=lambda bound: bound.epsilon)
    return best


ARENAS: list[tuple[Space, float, int]] = [
    (Sphere(dim=2), np.pi / 8, 50),
    (Sphere(dim=9), np.pi / 8, 50),
    (SPD(size=2), 1.5, 50),
    (SPD(size=3), 0.5, 30),
    (PlanarShapes(landmarks=5), 0.2, 50),
    (Euclidean(dim=3), 1.0, 50),
]
CASES: list[tuple[type[Mechanism], Space, float, int]] = [
    *((ManifoldLaplace, *case) for case in ARENAS),
    *((KNG, *case) for case in ARENAS),
    *((AmbientLaplace, *case) for case in ARENAS if not isinstance(case[0], PlanarShapes)),
    *((PointwiseLaplace, *case) for case in ARENAS if isinstance(case[0], PlanarShapes)),
    *((Exponential, *case) for case in ARENAS[:1]),
    *((TangentKNorm, *case) for case in ARENAS),
]


def region_for(kind: type[Mechanism], space: Space, radius: float) -> Region:
    """A ball; for charts an ellipsoid with half its directions frozen, and the axes of the others falling by halves."""
    center = space.present(space.origin())
    if kind is not TangentKNorm:
        return Ball(space, center, radius)
    return Ellipsoid(space, center, radius * 0.5 ** np.arange((space.dim + 1) // 2))


def textbook(size: int, seed: int) -> Found:
    """Draws of a textbook sampler about two means a scale apart."""
    rng, pole, sigma = np.random.default_rng(seed), np.array([0.0, 0.0, 1.0]), 0.02
    away = np.array([np.sin(sigma), 0.0, np.cos(sigma)])
    both = (features(Sphere(dim=2), textbook_laplace(c, sigma, size, rng), [pole, away]) for c in (pole, away))
    return judged(attack(*both), size)


def judged(bound: Bound, size: int) -> Found:
    words = f"ε ≥ {bound.epsilon:.2f}, claimed 1 ({bound.event})"
    power = max(bound.epsilon, reach(two_points(1.0), PureDP(1.0), size // 2, ALPHA))
    return Found(bound.epsilon <= 1, words, {"epsilon": bound.epsilon, "found": bound.epsilon, "power": power})


def examined(mechanism: Mechanism, n: int, size: int, released: bool, seed: int) -> Found:
    rng = np.random.default_rng(seed)
    return judged(audit_bits(mechanism, n, size, rng, released=released, classifier=released), size)


def every_number(make: compound.Make, size: int, about_the_mean: bool = False) -> Found:
    """The bits of all numbers of a type of release, in the plane, where nothing is rounded after the noise."""
    plane = ball_on("euclidean")
    pair = clock_pairs(plane, 20)[0]
    with replaced([(TangentKNorm, "lattice_point", _about_the_mean)] if about_the_mean else []):
        first, second = ([compound.numbers(make(data)) for _ in range(size)] for data in (pair.first, pair.second))
    places = sorted({place for row in (*first, *second) for place in row})
    tables = (np.array([[row.get(place, 0.0) for place in places] for row in rows]) for rows in (first, second))
    looked = [{"last bits": bit_statistics(table)} for table in tables]
    best = max(attack(*looked), attack(*learned(*looked)), key=lambda bound: bound.epsilon)
    return judged(best, size)


def _about_the_mean(plan: TangentKNorm, mean: list[Fraction], rng: np.random.Generator) -> Array:
    """A lattice about the mean: the noise is rounded, and the mean added to it as it is."""
    noise = np.rint(plan.sampled_noise(1, rng)[0] / plan.spacing) * plan.spacing
    return np.asarray(np.array([float(x) for x in mean]) + noise)


def cases(settings: Settings) -> list[Case]:
    """Every case as released, which must hold; and before its draws were put on the lattice, which must not, with five times as
    many draws, as they are quick.  The doubles of a chart tell of its sum only where nothing is rounded after it: in flat
    space."""
    size = 4000 if settings.quick else 8000
    found = [Case("textbook Laplace on S²", partial(textbook, size, settings.seed), True)]
    for kind, space, radius, n in CASES:
        if settings.quick and space != ARENAS[0][0]:
            continue
        mechanism = kind(region_for(kind, space, radius), 1.0)
        name = f"{mechanism.name} on {space}"
        one = partial(examined, mechanism, n, seed=seed_of(settings, name))
        found.append(Case(f"{name}, as released", partial(one, size, released=True)))
        if kind is not TangentKNorm or isinstance(space, Euclidean):
            found.append(Case(f"{name}, not on the lattice", partial(one, 5 * size, released=False), True))
    kinds = compound.releases(ball_on("euclidean"))
    for name in list(kinds)[:: 3 if settings.quick else 1]:
        found.append(Case(f"every number of: {name}", partial(every_number, kinds[name], SOME)))
    tangent = partial(every_number, kinds["mean by chart"], SOME, about_the_mean=True)
    return [*found, Case("every number of: mean by chart, on a lattice about the mean", tangent, True)]
