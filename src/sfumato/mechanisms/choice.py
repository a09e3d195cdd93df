"""Which mechanism to use, and the one call that most users need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ..ball import Ball
from ..calibration.scale import check_request
from ..data.files import Dataset
from ..data.lazy import MEMORY, Progress
from ..release import Release
from ..spaces import Space, space_from
from .ambient import AmbientLaplace
from .base import PERSON, PREDICTED, Budget, Mechanism, check_promise, gather
from .exponential import Exponential
from .kng import KNG
from .laplace import ManifoldLaplace
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
    """What a mechanism would do with n records: its scale and error, or why it cannot be used."""

    mechanism: str
    scale: float | None
    median_error: float | None
    error_95: float | None
    refusal: str | None = None


def forecast(ball: Ball, n: int, epsilon: float) -> list[Forecast]:
    """The mechanisms that release the Fréchet mean on the manifold, best first; from public numbers only."""
    check_request(n, epsilon)
    rows = []
    for kind in INTRINSIC:
        try:
            m = kind(ball, epsilon)
            m.check(n)
            rows.append(Forecast(kind.name, m.scale(n), m.release_error(n, 0.5), m.release_error(n, PREDICTED)))
        except ValueError as error:
            rows.append(Forecast(kind.name, None, None, None, str(error)))
    return sorted(rows, key=lambda row: (row.error_95 is None, row.error_95))


def plan(space: Space, radius: float, n: int, epsilon: float) -> list[Forecast]:
    """What each mechanism's error would be, before any budget is spent: touches no data.

    >>> from sfumato import PlanarShapes
    >>> rows = plan(PlanarShapes(landmarks=50), 0.125, n=409, epsilon=1.0)
    >>> [(row.mechanism, round(row.error_95, 4)) for row in rows if row.refusal is None]
    [('laplace', 0.0704), ('kng', 0.0738)]
    >>> rows[2].mechanism, rows[2].refusal[:55]
    ('exponential', 'the noise of exponential on PlanarShapes(landmarks=50) ')
    """
    return forecast(Ball(space, space.present(space.origin()), radius), n, epsilon)


def choose(ball: Ball, n: int, epsilon: float, mechanism: str = "auto") -> Mechanism:
    """The mechanism by its name; "auto" takes the one with the smallest predicted 95% error."""
    if mechanism == "auto":
        rows = forecast(ball, n, epsilon)
        if rows[0].refusal is not None:
            raise ValueError(
                "no mechanism can release this mean:\n" + "\n".join(f"- {r.mechanism}: {r.refusal}" for r in rows)
            )
        mechanism = rows[0].mechanism
    mechanism = {kind.__name__: name for name, kind in MECHANISMS.items()}.get(mechanism, mechanism)
    if mechanism not in MECHANISMS:
        raise ValueError(f"unknown mechanism {mechanism!r}; known: auto, {', '.join(MECHANISMS)}")
    return MECHANISMS[mechanism](ball, epsilon)


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

    "auto" takes the mechanism with the smallest predicted 95% error among those that are proven, stay on the manifold and
    release the Fréchet mean: a choice made of public numbers (space, radius, n, ε).  The points may be what
    :func:`sfumato.read` gives; what came in degrees is then released in degrees too, beside the value.  The other arguments are
    as in :meth:`Mechanism.release`.

    >>> import numpy as np
    >>> from sfumato import Ball, Sphere
    >>> points = Sphere(dim=2).exp(np.array([0.0, 0.0, 1.0]), np.random.default_rng(0).normal(0, 0.1, (200, 3)) * [1, 1, 0])
    >>> release = private_mean(points, Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.5), epsilon=1.0)
    >>> release.value.shape, release.guarantee.epsilon, release.error(0.95) < 0.03
    ((3,), 1.0, True)
    """
    if not isinstance(ball, Ball):
        raise TypeError(f"the second argument of private_mean is a sfumato.Ball, not {ball!r}")
    check_promise(epsilon, force)
    records, words = gather(ball, points, unit, unit_name, invalid, workers, memory, progress)
    degrees = getattr(points, "degrees", None)  # of a data set that came in degrees
    return choose(ball, records.n, epsilon, mechanism)._release(records, words, budget, degrees)


def mechanism_from(record: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a release record describes."""
    name, options = record["mechanism"]["name"], dict(record["mechanism"]["options"])
    if "objective" in options:
        raise ValueError(
            f"the error of {options['objective']!r} cannot be predicted: nothing public is known of its growth"
        )
    space = space_from(record["space"]["name"], record["space"]["parameters"])
    ball = Ball(space, record["ball"]["center"], record["ball"]["radius"])
    epsilon = record["calibration"]["epsilon"]
    return MECHANISMS[name](ball, epsilon, record["calibration"]["name"], **options)
