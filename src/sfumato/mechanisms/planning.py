"""Plan before spending: the error to expect, and the ε or n that a given error needs.  Touches no data."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import Fix, Refusal
from ..laws.privacy import Privacy, as_privacy
from ..regions import Ball, Region
from ..regions.look import SHARE
from .choice import Forecast, forecast, plans
from .plan import smaller_questions
from .tangent import TangentKNorm

TOLERANCE = 3e-3  # of powers of ten: 0.7%
MOST_RECORDS = 9.0  # as a power of ten
MOST = float(np.finfo(float).max)  # the error that is wanted where any will do that is of use


def best_error(region: Region, n: int, privacy: float | Privacy, useful: bool = False, **how: Any) -> float:
    """Return the smallest predicted 95% error of any mechanism; infinite if none can be used, or none is ``useful``."""
    best = forecast(region, n, privacy, **how)[0]
    return np.inf if best.error_95 is None or (useful and best.useless) else best.error_95


def _some_error(region: Region, n: int, privacy: Privacy, wanted: float, how: dict[str, Any]) -> float:
    """Return the same; where any error of use will do, that of the ball's chart if it is one, as that is found at once."""
    if wanted == MOST and region.is_ball and not how.keys() - {"check"}:
        try:
            chart = TangentKNorm(region, privacy).plan(n)
            if not chart.useless and not chart.is_far_from_the_mean:
                return chart.error_95
        except Refusal:
            pass
    return best_error(region, n, privacy, wanted == MOST, **how)


def needed_epsilon(
    region: Region, n: int, error: float | None = None, privacy: float | Privacy = 1.0, **how: Any
) -> float | None:
    """Return the smallest ε at which n records give this 95% error, to within 1%; None if no ε up to 100 is enough.

    It is the first number of a promise like ``privacy``: ρ or μ, or the ε that goes with its δ.

    Without an ``error``, which is a distance, any will do with which a release is of use.  ``how`` are ``check``, ``inference``
    and ``find`` as of :func:`sfumato.private_mean`; with ``find`` the region is a prior.  Touches no data.

    >>> from sfumato import Sphere
    >>> ball = Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4)
    >>> round(needed_epsilon(ball, n=100, error=0.04), 1)
    1.0
    """
    wanted = MOST if error is None else error
    kind = as_privacy(privacy)
    found = _least(lambda x: _some_error(region, n, kind.sized(10.0**x), wanted, how), wanted, -4.0, 2.0)
    return None if found is None else 10.0**found


def needed_n(region: Region, epsilon: float | Privacy, error: float | None = None, **how: Any) -> int | None:
    """Return the smallest number of records that gives this 95% error, to within 1%; None if 10⁹ are not enough.

    All else is as of :func:`needed_epsilon`.

    >>> from sfumato import Sphere
    >>> ball = Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4)
    >>> needed_n(ball, epsilon=1.0, error=0.004) > 900
    True
    """
    wanted = MOST if error is None else error
    privacy = as_privacy(epsilon)
    found = _least(lambda x: _some_error(region, round(10.0**x), privacy, wanted, how), wanted, 0.0, MOST_RECORDS)
    return None if found is None else round(10.0**found)


def instead(
    region: Region, n: int, epsilon: float | Privacy, check: float = SHARE, say: Callable[[Fix], str] = str
) -> list[dict[str, Any]]:
    """Return what else could be asked of the same records, in balls of the same radius.  Touches no data.

    Each comes with the error at this n and ε, if it is of use, else with the number of records from which on it is; and at the
    end stands what else would make the noise smaller, with fixes as a front says them.

    >>> from sfumato import SPD
    >>> ways = instead(Ball(SPD(size=16), np.eye(16), radius=2.0), n=60, epsilon=1.0)
    >>> [(way["question"], way["n"]) for way in ways[:2]]
    [('the variance of each channel alone', 60), ('the correlations alone', 278)]
    >>> ways[-1]["question"]
    'noise shaped by a public sample of such records (Ellipsoid.from_sample)'
    """
    privacy = as_privacy(epsilon)
    useful = smaller_questions(region, lambda ball: best_error(ball, n, privacy, useful=True, check=check))
    answered = {words: (space, n, error) for words, space, error in useful}
    rows = []
    for words, spaces in region.space.smaller().items():
        space, records, error = answered.get(words, (spaces[0], None, None))
        if error is None:
            records = needed_n(Ball(space, space.present(space.origin()), region.radius), privacy, check=check)
        rows.append({"question": words, "space": space.typed, "n": records, "error_95": error})
    for _, plan in plans(region, n, privacy, check):
        more = [] if isinstance(plan, Refusal) else plan.remedies
        for way in more:
            row: dict[str, Any] = {"question": Refusal(*way).say(say), "space": None, "n": n, "error_95": None}
            if row not in rows:
                rows.append(row)
    return rows


def aim(
    region: Region, n: int, privacy: Privacy, best: Forecast, error: float | None = None, **how: Any
) -> dict[str, float | None]:
    """Return what an error needs: the one that is wanted, or half of the best; where that is of no use, any that is.

    Errors depend on n·ε almost alone, and so does which mechanism is the best: so ε is searched for with the best one at this n
    and ε, one forecast of all says whether another would do with less, and n follows from n·ε.
    """
    if error is None and best.error_95 is not None and not best.useless:
        error = best.error_95 / 2
    wanted = MOST if error is None else error
    alone = how if best.error_95 is None else {**how, "mechanism": best.mechanism}
    enough = needed_epsilon(region, n, error, privacy, **alone)
    if enough is None or best_error(region, n, privacy.sized(0.97 * enough), wanted == MOST, **how) <= wanted:
        alone = how
        enough = needed_epsilon(region, n, error, privacy, **how)

    def error_at(x: float) -> float:
        return _some_error(region, round(10.0**x), privacy, wanted, alone)

    near = None if enough is None else _near(error_at, wanted, np.log10(n * enough / privacy.numbers[0]))
    records = needed_n(region, privacy, error, **alone) if near is None else round(10.0**near)
    return {"error_95": error, "epsilon_at_n": enough, "n_at_epsilon": records}


def _near(function: Callable[[float], float], wanted: float, start: float) -> float | None:
    """Return the smallest argument near a start at which a function is at ``wanted`` or below; None if it is not there."""
    low = max(start - 0.03, 0.0)
    high = max(start + 0.03, 0.0)
    if high > MOST_RECORDS or function(high) > wanted or function(low) <= wanted:
        return None
    return _halved(function, wanted, low, high)


def _least(function: Callable[[float], float], wanted: float, low: float, high: float) -> float | None:
    """Return the smallest argument from which on a function stays at ``wanted`` or below.

    It falls but for steps up, where more directions of a chart become worth their noise; and a mechanism may be refused again
    at the large end, where rounding matters: that does not count.
    """
    grid = np.linspace(low, high, round(high - low) + 1)
    values = [function(float(x)) for x in grid]
    while values and np.isinf(values[-1]):
        values.pop()
    above = [i for i, value in enumerate(values) if value > wanted]
    reached = above[-1] + 1 if above else 0
    if reached == len(values):
        return None
    return _halved(function, wanted, float(grid[max(reached - 1, 0)]), float(grid[reached]))


def _halved(function: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return where between two arguments a function comes down to ``wanted``, by halving, to within TOLERANCE above."""
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        if function(middle) <= wanted:
            high = middle
        else:
            low = middle
    return high


def by_records(region: Region, n: int, privacy: float | Privacy, **how: Any) -> dict[int, list[Forecast]]:
    """Return forecasts for n and for numbers of records from a tenth of n to ten times n, as a picture shows them."""
    sizes = np.unique(np.round(np.geomspace(max(5, n / 10), 10 * n, 9)).astype(int))
    return {int(size): forecast(region, int(size), privacy, **how) for size in {*sizes.tolist(), n}}
