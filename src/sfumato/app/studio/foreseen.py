"""What the pictures of a plan show where they cannot show the release itself: one of several groups, a region that is yet to
be found or moved.  From public numbers alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...findings.components import foreseen_components
from ...findings.groups import plan_group
from ...findings.regression import CHART, Line
from ...findings.scalar import variance_plan
from ...laws.calibration.population import variance_bound
from ...mechanisms.choice import choose
from ...mechanisms.find import NARROW
from ...mechanisms.inference import MOST_SHARE, SHARE
from ...mechanisms.plan import Plan
from ...mechanisms.stages import FIRST
from ...regions import Ball, Region
from ...release import Release
from ...views.forecasts import SPENT_ON, plan_in_short
from ..request import Request

POWER = 0.8
TRIES = 40_000
SPREAD = 0.5  # of the records, as a share of the region
planned = lru_cache(maxsize=128)(choose)  # the same public question is answered once
Planned = Callable[[float], Plan]  # the plan of a plain release with the same noise, at any ε (and the δ that is given)
Foreseen = tuple[Planned, dict[str, Any]]  # such a plan, and what there is to say beside it


def foreseen(region: Region, request: Request) -> Foreseen:
    """Return the plan that stands in the pictures for what is asked for, and what else there is to say."""
    of = {"compare": of_groups, "regress": of_change, "components": of_components, "variance": of_variance}
    if request.command in of:
        return of[request.command](region, request)
    if request.find is not None:
        return of_found(region, request)
    if request.steps == 2:
        return of_steps(region, request)
    return plain(region, request, request.inference or 0.0, request.mechanism, request.share), {}


def plain(region: Region, request: Request, spent: float, mechanism: str = "tangent", check: float = 0.0) -> Planned:
    """Return the plan of a release without a stage of its own before it, for any ε, of which a share is spent otherwise."""
    return lambda epsilon: planned(region, request.n, request.privacy.sized(epsilon), mechanism, check, inference=spent)


def of_groups(region: Region, request: Request) -> Foreseen:
    """Return the plan of one of two groups, the smallest, and what there is to say of both."""
    share = request.inference or SHARE
    privacy = request.privacy
    n = request.smallest or max(1, request.n // 2)
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
    shown = plain(region, replace(request, n=n), share)
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
    """Return the plan in a region that is found, if the records lie within NARROW of the public one; and what to say of it."""
    plan = planned(region, request.n, request.privacy, request.mechanism, **request.how)
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
    return plain(narrow, request, min(sum(plan.spending.values()), MOST_SHARE)), more


def of_steps(region: Region, request: Request) -> Foreseen:
    """Return the plan of the second of two steps, with the ε that is left for it; and what to say of both."""
    plan = planned(region, request.n, request.privacy, request.mechanism, **request.how)
    words = f"{FIRST:.0%} of ε is for a first release, which the region is then moved to; the rest is for the mean."
    more = {"says": plan_in_short(plan)[1], "also": [words], "error": plan.error_95, "useless": plan.useless}
    spent = FIRST * (1 - (request.inference or 0.0)) + (request.inference or 0.0)
    return plain(region, request, spent), more


def of_change(region: Region, request: Request) -> Foreseen:
    """Return the plan of a mean with the noise of both halves of a regression, and the change that it would see."""
    n = request.n
    privacy = request.privacy
    chart = region.settle(n, privacy.split(CHART)[0]).as_chart()
    limits = request.within_limits or (0.0, 1.0)
    line = Line(request.on, limits, request.number_is_public, request.test_only, chart, privacy, None, n)
    sigma = line.halves.scale.sigma
    apart = 2 * chart.radius * detectable(len(chart.axes), sigma, n, SPREAD**2)
    words = (
        f"A change is seen in {POWER * 10:g} of 10 studies if the means of the upper and the lower half of the records are "
        f"{apart:.2g} apart, if records fill about half of the region."
    )
    spent = min(1 - 2**-0.5 * (1 - sum(map(float, line.split[0].values())) / privacy.pure), MOST_SHARE)
    shown = plain(chart, request, spent)
    said = plan_in_short(shown(privacy.numbers[0]))[1]
    return shown, {"says": f"The mean at a value in the middle: {said[0].lower()}{said[1:]}", "also": [words]}


def of_components(region: Region, request: Request) -> Foreseen:
    """Return the plan of a mean in the same region, and what would be known of the directions."""
    words = foreseen_components(region, request.n, request.privacy, request.components, request.modes)
    also = ["The picture is of a mean with the same ε, not of directions."]
    return plain(region, request, 0.0), {"says": words, "also": also}


def of_variance(region: Region, request: Request) -> Foreseen:
    """Return the plan of the variance about a released mean."""
    how = (request.reach, request.inference or SHARE)
    mean = Release.load(request.about)
    return lambda epsilon: variance_plan(mean, request.n, request.privacy.sized(epsilon), *how), {}
