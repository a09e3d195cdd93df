"""What the pictures of a plan show where they cannot show the release itself: one of several groups, or a region that is yet to
be found.  From public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...findings.groups import one_chart, plan_group
from ...laws.calibration.population import variance_bound
from ...laws.privacy import PureDP
from ...mechanisms.choice import choose
from ...mechanisms.find import NARROW
from ...mechanisms.inference import MOST_SHARE, SHARE
from ...mechanisms.plan import Problem
from ...regions import Ball, Region

if TYPE_CHECKING:
    from ..known import Known

POWER, TRIES, SPREAD = 0.8, 40_000, 0.5  # SPREAD: of the records, as a share of the region


@dataclass(frozen=True)
class Foreseen:
    """A plain release with the same noise: its arguments, and what else there is to say of the true one."""

    region: Region
    n: int
    mechanism: str
    check: float
    inference: float
    more: dict[str, Any]

    @property
    def how(self) -> tuple[str, float, float]:
        return self.mechanism, self.check, self.inference


def of_groups(region: Region, n: int, epsilon: float, inference: float | None) -> Foreseen:
    """One of two groups, the smallest, with n records.

    >>> from sfumato import Euclidean
    >>> found = of_groups(Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0), 400, 1.0, None)
    >>> found.how, 0.05 < found.more["detectable"] < 0.2
    (('tangent', 0.0, 0.1), True)
    """
    share = inference or SHARE
    chart = one_chart(region, n, epsilon * (1 - share))
    plan = plan_group(chart, n, PureDP(epsilon), share, allow=True)
    p, sigma, wide = len(plan.chart.chart.axes), plan.scale.sigma, float(plan.width / n)
    apart = chart.radius * detectable(p, sigma, n, variance_bound(0.95, n, epsilon, p, sigma, SPREAD**2, wide, 0.0))
    words = (
        f"Two groups of {n} would be told apart in {POWER * 10:g} of 10 studies if their means are {apart:.2g} apart"
    )
    words += ", if records fill about half of the region."
    if apart > 2 * chart.radius:
        words = f"Groups of {n} could not be told apart however far in the region they differ: a larger ε or more records help."
    more = {"first": "The mean of each group: ", "also": [words], "detectable": apart}
    return Foreseen(region, n, "tangent", 0.0, share, more)


def detectable(p: int, sigma: float, n: int, bound: float) -> float:
    """How far apart, in a chart of p directions in which the region has size 1, two means are that the test of equal means
    tells apart with probability POWER: groups of n, noise of scale σ each, spread SPREAD in the worst direction, of which the
    square is released as ``bound`` (Result 6).

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


def of_found(region: Region, n: int, epsilon: float, known: Known) -> Foreseen:
    """A region that is found, if the records lie within NARROW of the public one.

    >>> from sfumato import Euclidean
    >>> from sfumato.app.known import Known
    >>> found = of_found(Ball(Euclidean(dim=2), [0.0, 0.0], radius=20.0), 4000, 1.0, Known(wide="20", center="origin"))
    >>> found.region.radius, found.mechanism, found.more["first"]
    (5.0, 'tangent', 'If your records lie within 5 of some point: ')
    """
    find: Literal["ball", "radius"] | None = known.find
    plan = choose(Problem(region, n, PureDP(epsilon)), inference=known.inference or 0.0, find=find)
    narrow = Ball(region.space, region.space.present(region.center), NARROW * region.radius)
    costs = " and ".join(f"{share:.0%} of ε for {what.words}" for what, share in plan.spending.items())
    where = "some point" if find == "ball" else "the centre"
    more = {
        "first": f"If your records lie within {narrow.radius:.3g} of {where}: ",
        "also": [
            f"If they fill all of it, up to {region.radius:.3g} away: {plan.likely_error:.3g}. In between, in proportion.",
            f"That takes {costs}; the rest is for the mean.",
            "Beside the noise, what is released may lie a little off the Fréchet mean: the release says by how much at most.",
        ],
        "what": "noise",
        "error": NARROW * plan.likely_error,
        "useless": plan.useless,
        "to_beat": None,
    }
    return Foreseen(narrow, n, "tangent", 0.0, min(sum(plan.spending.values()), MOST_SHARE), more)
