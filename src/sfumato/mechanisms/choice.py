"""Which mechanism to use, and the one call that most users need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..calibration.scale import Scale
from ..errors import Refusal
from ..files import Dataset, as_data
from ..privacy import PureDP
from ..records import MEMORY, Progress
from ..regions.ball import Ball
from ..release import Release
from ..spaces import Space, space_from
from .ambient import AmbientLaplace
from .base import PERSON, Mechanism, gather
from .exponential import Exponential
from .kng import KNG
from .laplace import ManifoldLaplace
from .plan import Budget, Plan, Problem
from .pointwise import PointwiseLaplace

MECHANISMS: dict[str, type[Mechanism]] = {
    m.name: m for m in (KNG, ManifoldLaplace, Exponential, AmbientLaplace, PointwiseLaplace)
}
INTRINSIC: tuple[type[Mechanism], ...] = (
    KNG,
    ManifoldLaplace,
    Exponential,
)  # release the Fréchet mean, on the manifold


@dataclass(frozen=True)
class Forecast:
    """What a mechanism would do with n records: its scale and error, or why it cannot be used.

    Attributes
    ----------
    mechanism : str
        The name of the mechanism.
    scale : float or None
        The noise scale.
    median_error, error_95 : float or None
        Distances that the error exceeds with probability at most 50% and 5%.
    refusal : str or None
        Why the mechanism cannot be used; None if it can.

    Examples
    --------
    >>> from sfumato import Euclidean, plan
    >>> best = plan(Euclidean(dim=2), radius=1.0, n=1000, epsilon=1.0)[0]
    >>> best.median_error < best.error_95, best.refusal is None
    (True, True)
    """

    mechanism: str
    scale: float | None
    median_error: float | None
    error_95: float | None
    refusal: str | None = None


def plans(problem: Problem) -> list[tuple[str, Plan | Refusal]]:
    """What each mechanism that releases the Fréchet mean on the manifold would do, the most accurate first.  Sees no data."""
    found: list[tuple[str, Plan | Refusal]] = []
    for kind in INTRINSIC:
        try:
            found.append((kind.name, kind(problem.region, problem.privacy.epsilon).plan(problem.n)))
        except Refusal as refusal:
            found.append((kind.name, refusal))
    return sorted(found, key=lambda row: np.inf if isinstance(row[1], Refusal) else row[1].likely_error)


def forecast(ball: Ball, n: int, epsilon: float) -> list[Forecast]:
    """Forecasts for the mechanisms that release the Fréchet mean on the manifold, best first; from public numbers only."""
    return [
        Forecast(name, None, None, None, str(found))
        if isinstance(found, Refusal)
        else Forecast(name, found.scale.sigma, found.release_error(0.5), found.likely_error)
        for name, found in plans(Problem(ball, n, PureDP(epsilon)))
    ]


def plan(space: Space, radius: float, n: int, epsilon: float) -> list[Forecast]:
    """Predict each mechanism's error before any budget is spent.  Touches no data.

    Parameters
    ----------
    space : Space
        The space of the records.
    radius : float
        The radius of the public ball.
    n : int
        The number of records.
    epsilon : float
        The privacy loss.

    Returns
    -------
    list of Forecast
        One for each mechanism, the most accurate first.

    Examples
    --------
    >>> from sfumato import PlanarShapes
    >>> rows = plan(PlanarShapes(landmarks=50), 0.125, n=409, epsilon=1.0)
    >>> [(row.mechanism, round(row.error_95, 4)) for row in rows if row.refusal is None]
    [('laplace', 0.0704), ('kng', 0.0738)]
    >>> rows[2].mechanism, rows[2].refusal[:55]
    ('exponential', 'the noise of exponential on PlanarShapes(landmarks=50) ')
    """
    return forecast(Ball(space, space.present(space.origin()), radius), n, epsilon)


def choose(problem: Problem, mechanism: str = "auto") -> Plan:
    """The plan of the mechanism with this name; "auto" takes the one with the smallest predicted 95% error."""
    if mechanism == "auto":
        rows = plans(problem)
        if isinstance(rows[0][1], Refusal):
            raise Refusal("no mechanism can release this mean:\n" + "\n".join(f"- {name}: {why}" for name, why in rows))
        return rows[0][1]
    mechanism = {kind.__name__: name for name, kind in MECHANISMS.items()}.get(mechanism, mechanism)
    if mechanism not in MECHANISMS:
        raise ValueError(f"unknown mechanism {mechanism!r}; known: auto, {', '.join(MECHANISMS)}")
    return MECHANISMS[mechanism](problem.region, problem.privacy.epsilon).plan(problem.n)


def private_mean(
    points: ArrayLike | Dataset,
    ball: Ball,
    epsilon: float,
    mechanism: str = "auto",
    *,
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    invalid: str = "raise",
    budget: Budget | None = None,
    force: bool = False,
    workers: int = 1,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> Release:
    """Release the Fréchet mean of the points, clipped to a public ball, with ε-differential privacy.

    Parameters
    ----------
    points : array_like, Dataset or data on disk
        Records, one in each row; or what :func:`sfumato.read` returns (records in degrees are then released in degrees
        too).  A ``numpy.memmap``, an HDF5 or Zarr array, an Arrow table or dataset, or a Dask array, bag or list of delayed
        partitions is read in chunks, once in each pass.
    ball : Ball
        Public knowledge about where the records lie.  Records outside are moved to its edge.
    epsilon : float
        The privacy loss: one unit changes the probability of any outcome by a factor of at most e^ε.
    mechanism : str
        A name, or ``"auto"``: the mechanism with the smallest predicted 95% error among those that are proven, stay on the
        manifold and release the Fréchet mean.  That choice depends on public numbers only (space, radius, n, ε).
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
        Number of threads that share each pass over the data.
    memory : int
        About how many bytes of chunked data to hold at a time.
    progress : callable, optional
        Called as ``progress(pass, parts done, parts in all)``.

    Returns
    -------
    Release
        The private value with its guarantee, its error and every public number behind it.

    Raises
    ------
    InvalidPointError
        If a record is not a point of the space and ``invalid`` is ``"raise"``.  For the curator's eyes only.
    BudgetExceeded
        If the budget does not have ε left.
    ValueError
        If no mechanism can make this release; the message says why, and how to fix it.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Ball, Sphere
    >>> points = Sphere(dim=2).exp(np.array([0.0, 0.0, 1.0]), np.random.default_rng(0).normal(0, 0.1, (200, 3)) * [1, 1, 0])
    >>> release = private_mean(points, Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.5), epsilon=1.0)
    >>> release.value.shape, release.guarantee.epsilon, release.error(0.95) < 0.03
    ((3,), 1.0, True)
    """
    if not isinstance(ball, Ball):
        raise TypeError(f"the second argument of private_mean is a sfumato.Ball, not {ball!r}")
    privacy = PureDP(epsilon).check(force)
    points = as_data(points, ball.space)
    records, words = gather(ball, points, unit, unit_name, invalid, workers, memory, progress)
    degrees = getattr(points, "degrees", None)  # of a data set that came in degrees
    return choose(Problem(ball, records.n, privacy), mechanism).release(records, words, budget, degrees)


def plan_from(record: Mapping[str, Any]) -> Plan:
    """The plan that a record describes, with the scale that stands there: ready to predict its error again."""
    name, options = record["mechanism"]["name"], dict(record["mechanism"]["options"])
    if "objective" in options:
        raise ValueError(
            f"the error of {options['objective']!r} cannot be predicted: nothing public is known about its growth"
        )
    space, found = space_from(record["space"]["name"], record["space"]["parameters"]), record["calibration"]
    ball = Ball(space, record["ball"]["center"], record["ball"]["radius"])
    mechanism = MECHANISMS[name](ball, found["epsilon"], found["name"], **options)
    region = np.inf if found["region"] is None else found["region"]
    scale = Scale(found["sigma"], found["formula"], dict(found["numbers"]), region)
    return mechanism.with_scale(record["n"], found["epsilon"], scale)
