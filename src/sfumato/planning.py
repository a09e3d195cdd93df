"""Plan before spending: the error to expect, and the ε or n that a given error needs.  Touches no data."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .mechanisms.choice import forecast
from .regions.ball import Ball
from .release import write_atomically


def best_error(ball: Ball, n: int, epsilon: float) -> float:
    """The smallest predicted 95% error of any mechanism; infinite if none can be used."""
    error = forecast(ball, n, epsilon)[0].error_95
    return np.inf if error is None else error


def needed_epsilon(ball: Ball, n: int, error: float) -> float | None:
    """The smallest ε at which n records give this 95% error.  Touches no data.

    Parameters
    ----------
    ball : Ball
        The public ball.
    n : int
        The number of records.
    error : float
        The 95% error that you want, as a distance.

    Returns
    -------
    float or None
        ε to within 1%; None if no ε up to 100 is enough.

    Examples
    --------
    >>> from sfumato import Sphere
    >>> ball = Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4)
    >>> round(needed_epsilon(ball, n=100, error=0.04), 1)
    1.0
    """
    found = _least(lambda exponent: best_error(ball, n, 10.0**exponent), error, -4.0, 2.0, 3e-3)
    return None if found is None else 10.0**found


def needed_n(ball: Ball, epsilon: float, error: float) -> int | None:
    """The smallest number of records that gives this 95% error.  Touches no data.

    Parameters
    ----------
    ball : Ball
        The public ball.
    epsilon : float
        The privacy loss.
    error : float
        The 95% error that you want, as a distance.

    Returns
    -------
    int or None
        The number of records to within 1%; None if 10⁹ are not enough.

    Examples
    --------
    >>> from sfumato import Sphere
    >>> ball = Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4)
    >>> needed_n(ball, epsilon=1.0, error=0.004) > 900
    True
    """
    found = _least(lambda exponent: best_error(ball, round(10.0**exponent), epsilon), error, 0.0, 9.0, 3e-3)
    return None if found is None else round(10.0**found)


def _least(
    function: Callable[[float], float], wanted: float, low: float, high: float, tolerance: float
) -> float | None:
    """The smallest argument at which a decreasing function reaches ``wanted``.  The search starts at the small end, because a
    mechanism may be refused again at the large end, where rounding matters."""
    grid = np.linspace(low, high, round(high - low) + 1)
    reached = next((i for i, x in enumerate(grid) if function(float(x)) <= wanted), None)
    if reached is None:
        return None
    low, high = float(grid[max(reached - 1, 0)]), float(grid[reached])
    while high - low > tolerance:
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) <= wanted else (middle, high)
    return high


def plot_plan(ball: Ball, n: int, epsilon: float, path: Path) -> None:
    """Draw the predicted 95% error of every mechanism against the number of records, with n marked."""
    from .views.figures import figure

    sizes = np.unique(np.round(np.geomspace(max(5, n / 10), 10 * n, 9)).astype(int))
    curves: dict[str, list[tuple[int, float]]] = {}
    for size in sizes:
        for row in forecast(ball, int(size), epsilon):
            if row.error_95 is not None:
                curves.setdefault(row.mechanism, []).append((int(size), row.error_95))
    drawn = figure(7, 4.4)
    axes = drawn.add_subplot()
    for name, points in sorted(curves.items()):
        axes.loglog(*zip(*points, strict=True), label=name)
    axes.axvline(n, color="grey", lw=0.8, ls=":")
    axes.axhline(ball.radius, color="grey", lw=0.8, ls="--", label="radius of the ball")
    axes.set(xlabel="records n", ylabel="error at 95%", title=f"{ball.space}, radius {ball.radius:g}, ε = {epsilon:g}")
    axes.legend(frameon=False)
    image = io.BytesIO()
    drawn.savefig(image, dpi=150, format=path.suffix.lower().lstrip(".") or "png")
    write_atomically(path, image.getvalue())
