"""A plan in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..mechanisms import Forecast
    from ..regions.ball import Ball


def plan_in_words(ball: Ball, n: int, epsilon: float, rows: list[Forecast]) -> str:
    """What each mechanism would do, as a table."""
    lines = [
        f"{ball.space}, n = {n}, radius {ball.radius:g}, ε = {epsilon:g}\n",
        f"{'mechanism':14s}{'scale':>12s}{'median error':>15s}{'95% error':>12s}",
    ]
    for row in rows:
        mark = "   <- auto takes this one" if row is rows[0] else ""
        numbers = f"{row.scale:12.4g}{row.median_error:15.4g}{row.error_95:12.4g}{mark}" if row.refusal is None else ""
        lines.append(f"{row.mechanism:14s}" + (numbers or f"  cannot be used: {row.refusal}"))
    best = rows[0].error_95
    if best is None:
        lines.append("\nNothing can be released so: no mechanism can be used.")
    elif best >= ball.radius:
        lines.append("\nAn error as large as the radius says little beyond the public centre.")
    return "\n".join(lines)


def needs_in_words(goal: str, n: int, epsilon: float, enough_epsilon: float | None, enough_n: int | None) -> str:
    """The ε, or the number of records, that a goal needs.

    >>> needs_in_words("For an error of 0.1", 50, 1.0, 2.0, None)
    'For an error of 0.1: ε = 2 with 50 records, and no n with ε = 1.'
    """
    first = f"ε = {enough_epsilon:.3g}" if enough_epsilon else "no ε up to 100"
    second = f"or {enough_n} records" if enough_n else "and no n"
    return f"{goal}: {first} with {n} records, {second} with ε = {epsilon:g}."
