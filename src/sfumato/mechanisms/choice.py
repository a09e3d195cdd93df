"""Which mechanism to use, and the one call that most users need."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Fix, RadiusError, Refusal
from ..files import Dataset
from ..laws.calibration.scale import check_records
from ..laws.privacy import Privacy, as_privacy
from ..records import MEMORY, Progress
from ..regions import Ball, Look, Region, check_region
from ..regions.look import MOST_SHARE, SHARE
from ..release import Release
from ..release.terms import Purpose
from ..shown import Shown
from ..spaces import Space
from .ambient import AmbientLaplace
from .base import PERSON, Mechanism, release_by
from .exponential import Exponential
from .find import Find
from .inference import Spread, check_share
from .kng import KNG
from .laplace import ManifoldLaplace
from .paying import Budget
from .plan import Plan
from .pointwise import PointwiseLaplace
from .stages import Composition, FirstStep, Looked, Stage
from .staircase import ManifoldStaircase
from .tangent import TangentKNorm

What = Literal["ball", "radius"]  # is to be found within a prior
KINDS = (KNG, ManifoldLaplace, ManifoldStaircase, Exponential, TangentKNorm, AmbientLaplace, PointwiseLaplace)
MECHANISMS: dict[str, type[Mechanism]] = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True)
class Forecast:
    """What a mechanism would do with n records, by the names of :class:`Plan`; or why it cannot be used: ``refusal``.

    ``median_error`` and ``error_95`` are distances that the whole error exceeds with probability 50% and 5% (noise, clipping,
    what is left out and curvature, as far as public knowledge tells), ``noise_95`` is one that the noise alone exceeds with at
    most 5%, and ``fallback_95`` is ``error_95`` where a look says that the public sample does not fit.  ``gain`` says how many
    times nearer to the mean a release is expected to be than the public centre, ``to_beat`` how far that is known to be from
    the mean.  A release is ``useless``, and refused unless wanted, if the gain is not above 1; or, where there is none, the
    error not below the size of the region.  ``directions`` counts those in which a chart learns anything, and ``spending`` has
    the shares of ε for other things than the mean, by their purpose.  None: there is no such number, or nothing tells it.

    >>> from sfumato import Euclidean, plan
    >>> best = plan(Euclidean(dim=2), radius=1.0, n=1000, epsilon=1.0)[0]
    >>> best.median_error < best.error_95, best.refusal is None
    (True, True)
    """

    mechanism: str
    refusal: str | None = None
    scale: float | None = None
    median_error: float | None = None
    error_95: float | None = None
    noise_95: float | None = None
    gain: float | None = None
    fallback_95: float | None = None
    to_beat: float | None = None
    directions: int | None = None
    useless: bool = False
    spending: Mapping[Purpose, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, plan: Plan | Refusal) -> Self:
        """Return what a plan says, or why there is none."""
        if isinstance(plan, Refusal):
            return cls(name, str(plan))
        same = {part.name: getattr(plan, part.name) for part in fields(cls)[4:]}
        return cls(name, None, plan.scale.sigma, plan.whole_error(0.5), **same)


class Forecasts(list[Forecast], Shown):
    """Forecasts of several mechanisms, the most accurate first; a table in notebooks."""

    shown_by = "forecasts"


@lru_cache(maxsize=64)
def plans(region: Region, n: int, privacy: Privacy, check: float = SHARE) -> tuple[tuple[str, Plan | Refusal], ...]:
    """Return what each mechanism that releases the Fréchet mean on the manifold would do, the most accurate first.

    In a ball these are all that are proven for its space; in any other region those that work in its chart.  Sees no data, and
    the same public question is answered once.
    """
    check_records(n)
    look = _looked(region, n, privacy, check)
    if look is not None:
        return ((look.chart.name, Composition(region, n, privacy, look.chart, look)),)
    rows: list[tuple[str, Plan | Refusal]] = []
    for kind in MECHANISMS.values():
        # records were clipped by the region that was asked for: only charts clip what a sketch let through
        takes = region.is_ball or kind.takes_charts
        if not kind.auto or not takes or privacy.pure < kind.worth_from[region.space.dim > 3]:
            continue
        try:
            plan = kind(region, privacy).plan(n)
            if region.is_ball and plan.is_far_from_the_mean:
                raise RadiusError(
                    "in so wide a ball nothing is proven of how far a mean in the tangent space is from the Fréchet mean; it "
                    "is released if asked for by name: ",
                    Fix("mechanism", kind.name),
                )
            rows.append((kind.name, plan))
        except Refusal as refusal:
            rows.append((kind.name, refusal.with_traceback(None)))  # which would keep the frames of callers

    def order(row: tuple[str, Plan | Refusal]) -> tuple[bool, float]:
        return (True, np.inf) if isinstance(row[1], Refusal) else (row[1].useless, row[1].compared_by)

    return tuple(sorted(rows, key=order))


def forecast(region: Region, n: int, privacy: float | Privacy, mechanism: str = "auto", **how: Any) -> list[Forecast]:
    """Return forecasts for the mechanisms that release the Fréchet mean on the manifold, best first; from public numbers only.

    The wishes are those of :func:`choose`: a mechanism by its name, steps, inference and what is to be found give one forecast.
    The error within a ball that is yet to be found is that in the whole prior.
    """
    if mechanism == "auto" and how.get("steps", 1) == 1 and not how.get("inference") and how.get("find") is None:
        return [Forecast.of(*row) for row in plans(region, n, as_privacy(privacy), how.get("check", SHARE))]
    plan: Plan | Refusal
    try:
        plan = choose(region, n, privacy, mechanism, **how)
    except Refusal as refusal:
        plan = refusal
    return [Forecast.of(TangentKNorm.name if mechanism == "auto" else mechanism, plan)]


def plan(
    region: Region | Space | None = None,
    radius: float | None = None,
    n: int | None = None,
    epsilon: float | None = None,
    mechanism: str = "auto",
    *,
    check: float = SHARE,
    steps: int = 1,
    inference: float = 0.0,
    prior: Ball | None = None,
    find: What = "ball",
    privacy: Privacy | None = None,
) -> list[Forecast]:
    """Predict each mechanism's error before any budget is spent.  Touches no data.

    The region is public; for a space it is the ball of this ``radius`` about its origin.  The other arguments are those of
    :func:`private_mean`, with the number of records n in their place.  There is a forecast for each mechanism, the most
    accurate first; one alone for a mechanism by its name, and with ``steps``, ``inference`` or a ``prior``.

    >>> from sfumato import PlanarShapes
    >>> space = PlanarShapes(landmarks=50)
    >>> rows = plan(Ball(space, space.present(space.origin()), radius=0.125), n=409, epsilon=1.0)
    >>> [(row.mechanism, round(row.error_95, 4)) for row in rows if row.refusal is None]
    [('tangent', 0.0692), ('laplace', 0.0704), ('kng', 0.0738)]
    >>> rows[3].mechanism, rows[3].refusal[:55]
    ('exponential', 'the noise of exponential on PlanarShapes(landmarks=50) ')
    """
    if isinstance(region, Space):
        if radius is None:
            raise TypeError("plan needs a radius for a space; or give a sfumato.Ball in place of both")
        region = Ball(region, region.present(region.origin()), radius)
    promise = as_privacy(epsilon, privacy, "plan")
    if n is None:
        raise TypeError("plan needs the number of records n")
    if (region is None) == (prior is None):
        raise TypeError("plan takes a region or a prior, and not both")
    asked = check_region(prior if region is None else region, "the first argument of plan is")
    how = {"check": check, "steps": steps, "inference": inference, "find": None if prior is None else find}
    return Forecasts(forecast(asked, n, promise, mechanism, **how))


def choose(
    region: Region,
    n: int,
    privacy: float | Privacy,
    mechanism: str = "auto",
    check: float = SHARE,
    steps: int = 1,
    inference: float = 0.0,
    find: What | None = None,
) -> Plan:
    """Return the plan of the mechanism with this name; "auto" takes the one that is expected to be nearest to the mean."""
    privacy = privacy if isinstance(privacy, Privacy) else as_privacy(privacy)
    kind = _kind(mechanism)
    share = check_share(inference) if inference else 0.0
    in_chart = kind in (None, TangentKNorm)
    wishes = {"inference": share, "a prior": find, "a second step": steps == 2}
    _check_wishes({} if in_chart else wishes, mechanism, check, 1 if find else steps)
    if share or find or (in_chart and (steps == 2 or kind is not None)):
        return _by_chart(region, n, privacy, check, steps, share, find)
    if kind is not None:
        return kind(region, privacy).plan(n)
    rows = plans(region, n, privacy, check)
    best = rows[0][1]
    if isinstance(best, Refusal):
        raise _refused([(name, why) for name, why in rows if isinstance(why, Refusal)])
    return best


def _refused(whys: list[tuple[str, Refusal]]) -> Refusal:
    """Return why no mechanism can be used: the largest radius that one takes, where all want a smaller one; or every reason."""
    wide = [why for _, why in whys if isinstance(why, RadiusError)]
    if len(wide) == len(whys):
        first = max(wide, key=lambda why: why.limit)
        return RadiusError(first.parts[0], *(part for why in wide if not why.limit for part in ("; ", *why.parts)))
    reasons = [(f"\n- {name}: ", *why.parts) for name, why in whys]
    return Refusal("no mechanism can release this mean:", *chain.from_iterable(reasons))


def _check_wishes(in_charts: Mapping[str, object], mechanism: str, check: float, steps: int) -> None:
    """Raise an error for what only releases by chart have, and for a look or a number of steps that do not exist."""
    for what, wanted in in_charts.items():
        if wanted:
            raise Refusal(f"{what} goes with releases by chart (mechanism 'tangent'), not with {mechanism!r}")
    if not (isinstance(check, int | float) and (check == 0 or 0 < check < MOST_SHARE)):
        raise ValueError(f"a look takes between 0 and a sixth of epsilon, or none with check=0, not {check!r}")
    if steps not in (1, 2):
        raise ValueError(f"steps must be 1 or 2, not {steps!r}")


def _by_chart(
    region: Region, n: int, whole: Privacy, check: float, steps: int, share: float, find: What | None
) -> Plan:
    """Return the plan of a release by chart, with the stage before it and a share of ε for the spread of the records."""
    privacy = whole.aside(share)[1] if share else whole
    first: Stage | None = None
    if find is not None:
        first = Find.of(region, n, privacy, find == "radius")
    elif steps == 2:
        first = FirstStep.of(region, n, privacy)
    else:
        first = _looked(region, n, privacy, check, always=share > 0)
    if share and first is None and region.related_as not in ("", "same"):  # no region would come of it
        return _by_chart(region, n, whole, check, steps, 0.0, find)
    chart = TangentKNorm(region, privacy).plan(n) if first is None else first.chart
    if first is None and not share:
        return chart
    return Composition(region, n, whole, chart, first, Spread.of(whole, share) if share else None)


def _looked(region: Region, n: int, privacy: Privacy, check: float, always: bool = False) -> Looked | None:
    """Return the look that decides on the region to use, if one is worth its share of ε."""
    look = region.looked(n, privacy, check, always) if check else None
    return Looked.of(look, n, privacy, region) if isinstance(look, Look) else None


def _kind(mechanism: str) -> type[Mechanism] | None:
    """Return the mechanism of this name or class; None for "auto"."""
    if mechanism == "auto":
        return None
    for kind in MECHANISMS.values():
        if mechanism in (kind.name, kind.__name__):
            return kind
    raise ValueError(f"unknown mechanism {mechanism!r}; known: auto, {', '.join(MECHANISMS)}")


def private_mean(
    points: ArrayLike | Dataset,
    region: Region | None = None,
    epsilon: float | None = None,
    mechanism: str = "auto",
    *,
    check: float = SHARE,
    steps: int = 1,
    inference: float = 0.0,
    prior: Ball | None = None,
    find: What = "ball",
    allow_useless: bool = False,
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    invalid: str = "raise",
    budget: Budget | None = None,
    force: bool = False,
    workers: int = 1,
    memory: int = MEMORY,
    progress: Progress | None = None,
    privacy: Privacy | None = None,
) -> Release:
    """Release the Fréchet mean of the points, clipped to a public ball, with ε-differential privacy or another kind.

    Parameters
    ----------
    points : array_like, Dataset or data on disk
        Records, one in each row; or what :func:`sfumato.read` returns (records in degrees are then released in degrees
        too).  A ``numpy.memmap``, an HDF5 or Zarr array, an Arrow table or dataset, or a Dask array, bag or list of delayed
        partitions is read in chunks, once in each pass.
    region : Ball, Ellipsoid, or what the makers of ellipsoids give
        Public knowledge about where the records lie.  Records outside are moved to its edge.
    epsilon : float
        The privacy loss: one unit changes the probability of any outcome by a factor of at most e^ε.
    mechanism : str
        A name, or ``"auto"``: the mechanism that is expected to be nearest to the mean among those that are proven, stay on the
        manifold and release the Fréchet mean.  That choice depends on public numbers only (space, radius, n, ε).
    check : float
        Share of ε that is spent on a look at whether a public sample fits the records, where the region is made from one
        (``Ellipsoid.from_sample``) that is not said to be the "same" population, and a look can tell.  If it does not fit,
        the ball about it is used.  0: no look.
    steps : {1, 2}
        With 2, a quarter of ε is spent on a first release by chart, and the region is moved there for the second: for a public
        centre so far from the mean that many records are clipped.
    inference : float
        Share of ε that is spent on the spread of the records, such as 0.1; the release then has a region for the mean of the
        population that they are a sample of (:meth:`Release.region`).  0: none.
    prior : Ball, optional
        In place of ``region``: a ball that surely holds the records, however wide.  A share of ε, chosen from public numbers,
        then finds a smaller one, in which the rest releases the mean; all of it is charged as one (:func:`find_region`).
    find : {"ball", "radius"}
        What to find within the prior: a centre and a radius, or a radius about the centre of the prior.
    allow_useless : bool
        Release also if the noise is as large as what is known beforehand.
    unit : str or array_like, optional
        What one row stands for, in words (``"one record"`` by default); or a label for each row, which says whom it belongs
        to.  Rows with the same label are first reduced to their own Fréchet mean.  Required if a column of the data, such
        as "subject", repeats.
    unit_name : str
        What a label stands for, in words.
    invalid : {"raise", "center"}
        What to do with a record that is not a point of the space: raise an error, or replace it by the public centre.
    budget : Ledger, optional
        Charged, durably, after the records were checked and before anything is computed from them.
    force : bool
        Allow an ε above 100, which protects nobody.
    workers : int
        Number of threads that share each pass over the data, where these are many: a million numbers in most spaces.
    memory : int
        About how many bytes of chunked data to hold at a time.
    progress : callable, optional
        Called as ``progress(pass, parts done, parts in all)``.
    privacy : PureDP, ApproxDP, ZCDP or GDP, optional
        In place of ``epsilon``: what is to be promised.  ``ApproxDP(1.0, 1e-6)`` takes far less noise in many directions.

    Raises
    ------
    ValueError
        If a record is not a point of the space (an InvalidPointError, for the curator's eyes only), the budget does not have ε
        left (a BudgetExceeded), or no mechanism can make this release: the message says why, and how to fix it.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Ball, Sphere
    >>> points = Sphere(dim=2).exp(np.array([0.0, 0.0, 1.0]), np.random.default_rng(0).normal(0, 0.1, (200, 3)) * [1, 1, 0])
    >>> release = private_mean(points, Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.5), epsilon=1.0)
    >>> release.value.shape, release.guarantee.epsilon, release.error(0.95) < 0.03
    ((3,), 1.0, True)
    """
    if prior is not None and region is not None:
        raise TypeError("private_mean takes a region or a prior: a prior is for records of which no region is known")
    region = check_region(prior if region is None else region, "the second argument of private_mean is")
    promise = as_privacy(epsilon, privacy, "private_mean").check(force)
    if steps == 2:
        region = region.unclipped()
    asked = (mechanism, check, steps, inference, None if prior is None else find)
    how: dict[str, Any] = {"unit": unit, "unit_name": unit_name, "invalid": invalid, "budget": budget}
    how |= {"allow_useless": allow_useless, "workers": workers, "memory": memory, "progress": progress}
    return release_by(lambda r, n, e: choose(r, n, e, *asked), points, region, promise, **how)
