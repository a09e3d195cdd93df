"""What the pictures of a plan show where they cannot show the release itself: one of several groups, a region that is yet to
be found or moved.  From public numbers alone."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...findings.groups import plan_group
from ...laws.calibration.population import variance_bound
from ...laws.privacy import Privacy, as_privacy
from ...mechanisms.choice import choose
from ...mechanisms.find import NARROW
from ...mechanisms.inference import MOST_SHARE, SHARE
from ...mechanisms.plan import Plan
from ...mechanisms.stages import FIRST
from ...regions import Ball, Region
from ...views.forecasts import SPENT_ON, plan_in_short
from ..request import Request

POWER = 0.8
TRIES = 40_000
SPREAD = 0.5  # of the records, as a share of the region
planned = lru_cache(maxsize=128)(choose)  # the same public question is answered once
Planned = Callable[[float], Plan]  # the plan of a plain release with the same noise, at any ε (and the δ that is given)
Foreseen = tuple[Planned, dict[str, Any]]  # such a plan, and what there is to say beside it


def plain(region: Region, n: int, privacy: Privacy, mechanism: str, check: float, inference: float) -> Planned:
    """Return the plan of a release without a stage of its own before it, for any ε."""
    return lambda epsilon: planned(region, n, privacy.sized(epsilon), mechanism, check, inference=inference)


def of_groups(region: Region, n: int, epsilon: float | Privacy, inference: float | None) -> Foreseen:
    """Return the plan of one of two groups, the smallest, with n records, and what there is to say of both.

    >>> from sfumato import Euclidean
    >>> plan, more = of_groups(Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0), 400, 1.0, None)
    >>> plan(1.0).spending, 0.05 < more["detectable"] < 0.2
    ({<Purpose.SPREAD: 'spread'>: 0.1}, True)
    """
    share = inference or SHARE
    privacy = as_privacy(epsilon)
    chart = region.settle(n, privacy.aside(share)[1])
    plan = plan_group(chart, n, privacy, share, allow=True, known=region)
    p = len(plan.chart.chart.axes)
    sigma = plan.scale.sigma
    wide = float(plan.width / n)
    bound = variance_bound(0.95, n, plan.facts.epsilon, p, sigma, SPREAD**2, wide, 0.0)
    apart = chart.radius * detectable(p, sigma, n, bound)
    words = (
        f"Two groups of {n} would be told apart in {POWER * 10:g} of 10 studies if their means are {apart:.2g} apart, if "
        "records fill about half of the region."
    )
    if apart > 2 * chart.radius:
        words = f"Groups of {n} could not be told apart however far in the region they differ: a larger ε or more records help."
    shown = plain(region, n, privacy, "tangent", 0.0, share)
    said = plan_in_short(shown(privacy.numbers[0]))[1]
    return shown, {"says": f"Each group: {said[0].lower()}{said[1:]}", "also": [words], "detectable": apart}


def detectable(p: int, sigma: float, n: int, bound: float) -> float:
    """Return how far apart two means are that the test of equal means tells apart with probability POWER.

    In a chart of p directions in which the region has size 1: groups of n, noise of scale σ each, spread SPREAD in the worst
    direction, of which the square is released as ``bound`` (Result 6).

    >>> round(detectable(1, 1e-9, 100, 0.25) / (0.5 * 0.02**0.5), 1)  # without noise, of a normal law: 1.96 + 0.84
    2.8
    """
    rng = np.random.default_rng(0)
    # a noise of scale σ is σ·χ_{p+1}·g: given τ², its difference has τ²·χ²_{p-1} across the direction of the spread
    tau = sigma**2 * rng.chisquare(p + 1, (2, TRIES)).sum(axis=0)
    across = tau * rng.chisquare(p - 1, TRIES) if p > 1 else np.zeros(TRIES)
    along = rng.normal(size=TRIES)
    square = across + (tau + 2 * bound / n) * along**2  # of the released difference of equal means
    reject = np.quantile(square, 0.95)
    needed = np.sqrt(np.maximum(reject - across, 0.0)) - np.sqrt(tau + 2 * SPREAD**2 / n) * along
    return float(np.quantile(needed, POWER))


def of_found(region: Region, request: Request) -> Foreseen:
    """Return the plan in a region that is found, if the records lie within NARROW of the public one; and what to say of it.

    >>> from sfumato import Euclidean
    >>> request = Request(prior="20", center="origin", n=4000, epsilon=1.0)
    >>> plan, more = of_found(Ball(Euclidean(dim=2), [0.0, 0.0], radius=20.0), request)
    >>> plan(1.0).region.radius, more["says"][:52]
    (5.0, 'If your records lie within 5 of some point: noise up')
    """
    plan = _planned(region, request)
    narrow = Ball(region.space, region.space.present(region.center), NARROW * region.radius)
    costs = " and ".join(f"{share:.0%} of ε for {SPENT_ON[what]}" for what, share in plan.spending.items())
    where = "some point" if request.find == "ball" else "the centre"
    error = NARROW * plan.error_95
    more = {
        "says": f"If your records lie within {narrow.radius:.3g} of {where}: noise up to {error:.3g} in 95 of 100 releases.",
        "also": [
            f"If they fill all of it, up to {region.radius:.3g} away: {plan.error_95:.3g}. In between, in proportion.",
            f"That takes {costs}; the rest is for the mean.",
            "Beside the noise, what is released may lie a little off the Fréchet mean: the release says by how much at most.",
        ],
        "error": error,
        "useless": plan.useless,
    }
    return plain(narrow, request.n, request.privacy, "tangent", 0.0, min(sum(plan.spending.values()), MOST_SHARE)), more


def of_steps(region: Region, request: Request) -> Foreseen:
    """Return the plan of the second of two steps, with the ε that is left for it; and what to say of both.

    >>> from sfumato import Euclidean
    >>> request = Request(radius=2.0, center="origin", n=400, epsilon=1.0, steps=2)
    >>> of_steps(Ball(Euclidean(dim=2), [0.0, 0.0], radius=2.0), request)[1]["also"]
    ['25% of ε is for a first release, which the region is then moved to; the rest is for the mean.']
    """
    plan = _planned(region, request)
    words = f"{FIRST:.0%} of ε is for a first release, which the region is then moved to; the rest is for the mean."
    more = {"says": plan_in_short(plan)[1], "also": [words], "error": plan.error_95, "useless": plan.useless}
    spent = FIRST * (1 - (request.inference or 0.0)) + (request.inference or 0.0)
    return plain(region, request.n, request.privacy, "tangent", 0.0, spent), more


def _planned(region: Region, request: Request) -> Plan:
    """Return the plan of the release itself."""
    return planned(region, request.n, request.privacy, request.mechanism, **request.how)
