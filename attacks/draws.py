"""``python -m attacks --only draws``: every mechanism on every space, and broken ones, by draws alone.

Exact losses are those of :mod:`attacks.matrix`; draws know no formula, and so they see what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from attacks import broken, looks
from attacks.accounts import Losses, radial, together
from attacks.arenas import ball_on, largest_radius, small_balls
from attacks.checks import Case, Found, Settings, by_verdict, seed_of
from attacks.walks import LONG, suspicious
from sfumato.audit import Pair, audit, neighbours
from sfumato.audit.blackbox import Draw, admitted, region_of
from sfumato.audit.broken import broken_charts, broken_variants, wrong_volume
from sfumato.audit.pairs import SIZES
from sfumato.audit.trial import mechanisms, save
from sfumato.laws.bounds import bounds_of, has_bounds
from sfumato.mechanisms import (
    KNG,
    AmbientLaplace,
    Exponential,
    ManifoldLaplace,
    Mechanism,
    PointwiseLaplace,
    TangentKNorm,
)
from sfumato.mechanisms.manifold import ManifoldMechanism
from sfumato.mechanisms.stages import Looked
from sfumato.regions import Ball, Ellipsoid, Settled

EPSILON = 1.0
# draws from each data set: quick; of every mechanism on every space; on four kinds of spaces; of what is broken
FEW, MANY, MUCH, MOST_DRAWS = 20_000, 60_000, 120_000, 400_000
OFTEN = ("sphere", "shapes", "spd", "euclidean")
IN_CHARTS = (1, 2, 10)  # records
Pairs = Callable[[], Sequence[Pair]]


def charts() -> list[Ellipsoid]:
    """Ellipsoids: two axes, one axis and one frozen, three of four directions."""
    sphere, shapes = ball_on("sphere"), ball_on("shapes")
    return [
        Ellipsoid(ball.space, ball.space.present(ball.center), ball.radius * np.array(axes))
        for ball, axes in ((sphere, [1.0, 0.25]), (sphere, [1.0]), (shapes, [1.0, 0.5, 0.25]))
    ]


# -- what a case does ------------------------------------------------------------------------------------------------------
def by_draws(
    name: str, suspect: Mechanism | Draw, pairs: Pairs, region: Settled, draws: int, settings: Settings
) -> Found:
    """A verdict, with its picture."""
    seed = seed_of(settings, name)
    verdict = audit(suspect, EPSILON, pairs(), region=region, draws=draws, seed=seed, name=name)
    save(verdict, settings.out)
    return by_verdict(verdict, told_apart(suspect, region))


def told_apart(suspect: Mechanism | Draw, region: Settled) -> Losses:
    """The losses of a mechanism of this kind that loses all of ε: noise in as many numbers, moved by ε; in all of them for one
    that has noise of its own for each."""
    if isinstance(suspect, PointwiseLaplace):
        count = suspect.half_widths.size
        return together([radial(1, EPSILON / count)] * count)
    return radial(suspect.dim if isinstance(suspect, AmbientLaplace) else region.space.dim, EPSILON)


def wide(kind: type[ManifoldMechanism], ball: Ball, draws: int, name: str, settings: Settings) -> Found:
    """A mechanism in a ball of nearly the largest radius that it takes for fifty records: the other end of what is admitted."""
    radius = 0.99 * largest_radius(kind, ball.space, max(SIZES), most=3.0)
    mechanism = kind(Ball(ball.space, ball.space.present(ball.center), radius), EPSILON)
    sizes, long = ((max(SIZES),), ()) if settings.quick else (SIZES, (10, 100))
    pairs = partial(suspicious, mechanism, mechanism.ball, sizes=sizes, long=long)
    found = by_draws(name, mechanism, pairs, mechanism.ball, draws, settings)
    return Found(found.held, f"radius {radius:.4f}; {found.words}", found.numbers)


# -- the cases -------------------------------------------------------------------------------------------------------------
def cases(settings: Settings) -> list[Case]:
    """Every mechanism of ours on every space, and what is broken."""
    return [*_our_cases(settings), *_broken_cases(settings)]


def _our_cases(settings: Settings) -> list[Case]:
    found, often = [], [ball_on(name).space for name in OFTEN]
    for ball in small_balls():
        much = ball.space in often and not settings.quick
        for mechanism in mechanisms(ball, EPSILON):
            name = f"{mechanism.name} on {ball.space}"
            pairs: Pairs = partial(_pairs, mechanism, ball, much)
            draws = FEW if settings.quick else MUCH if much else MANY
            if isinstance(
                mechanism, PointwiseLaplace
            ):  # whose ε is divided among all coordinates: few draws tell nothing
                pairs, draws = partial(_ends, ball), FEW if settings.quick else MUCH
            run = partial(by_draws, name, mechanism, pairs, region_of(mechanism), draws, settings)
            found.append(Case(f"by draws: {name}", run))
        if has_bounds(ball.space) and not bounds_of(ball.space).is_flat:
            for kind in (KNG, ManifoldLaplace, Exponential):
                name = f"{kind.name} on {ball.space}, nearly the largest ball"
                run = partial(wide, kind, ball, FEW if settings.quick else MANY, name, settings)
                found.append(Case(f"by draws: {name}", run))
    for chart in charts():
        name = f"tangent on {chart.space}, {len(chart.axes)} axes"
        pairs = partial(neighbours, chart, IN_CHARTS)
        draws = FEW if settings.quick else MUCH
        run = partial(by_draws, name, TangentKNorm(chart, EPSILON), pairs, chart, draws, settings)
        found.append(Case(f"by draws: {name}", run))
    for name, how in {"look and chart": Looked, "look without noise, and chart": looks.Certain}.items():
        looked = looks.LookedAt(EPSILON, how)
        run = partial(by_draws, name, looked, looks.pairs, looked.region, FEW if settings.quick else MANY, settings)
        found.append(Case(f"by draws: {name}", run, how is looks.Certain))
    return found


def _ends(ball: Ball) -> list[Pair]:
    return [neighbours(ball, 10)[3]]


def _pairs(mechanism: Mechanism, ball: Ball, much: bool) -> list[Pair]:
    if not much:
        return neighbours(ball, admitted(mechanism, (2, 10)))
    return suspicious(mechanism, ball, long=LONG if isinstance(mechanism, ManifoldLaplace) else LONG[:-1])


def _broken_cases(settings: Settings) -> list[Case]:
    """Those by which the attack is tried always get all draws."""
    sphere, spd, chart = ball_on("sphere"), ball_on("spd"), charts()[0]
    suspects: list[tuple[str, Draw, Settled, Sequence[int]]] = [
        *((name, draw, sphere, SIZES) for name, draw in broken_variants(sphere, EPSILON).items()),
        ("KNG at the scale that the paper ran", broken.paper_scale(sphere, EPSILON), sphere, (10,)),
        ("Markov chain stopped after 50 steps", broken.short_chain(sphere, EPSILON), sphere, SIZES),
        # seen where the noise is wide: at two records
        ("Laplace on SPD, flat volume element", wrong_volume(spd, EPSILON, spd.space.dim - 1), spd, (2,)),
        *((name, draw, chart, IN_CHARTS) for name, draw in broken_charts(chart, EPSILON).items()),
    ]
    found = []
    for name, draw, region, sizes in suspects:
        pairs = partial(neighbours, region, sizes)
        found.append(Case(f"broken: {name}", partial(by_draws, name, draw, pairs, region, MOST_DRAWS, settings), True))
    return found
