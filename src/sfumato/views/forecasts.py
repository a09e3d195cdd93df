"""A plan in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..mechanisms import Forecast
    from ..regions import Region


def plan_in_words(
    region: Region, n: int, epsilon: float, rows: list[Forecast], others: Iterable[tuple[int, Forecast]] = ()
) -> str:
    """What each mechanism would do, as a table; and the best one for ``others``, as for fewer and more records."""
    lines = [
        f"{region.space}, n = {n}, radius {region.radius:.4g}, ε = {epsilon:g}\n",
        f"{'mechanism':14s}{'scale':>12s}{'median error':>15s}{'95% error':>12s}{'to beat':>10s}",
    ]
    for row in rows:
        mark = "   <- auto takes this one" if row is rows[0] else ""
        mark = "   useless" if row.useless else mark
        numbers = "" if row.refusal is not None else f"{row.scale:12.4g}{row.median_error:15.4g}{row.error_95:12.4g}"
        numbers += f"{row.to_beat:10.4g}{mark}" if numbers else f"  cannot be used: {row.refusal}"
        lines.append(f"{row.mechanism:14s}{numbers}")
    return "\n".join([*lines, *_judged(region, rows[0], others), *_spent(rows[0])])


def _spent(best: Forecast) -> list[str]:
    """What else ε is spent on, and what that means for the error."""
    if not best.spending:
        return []
    shares = [f"{share:.0%} on {what}" for what, share in best.spending.items()]
    rest = 1 - sum(best.spending.values())
    lines = [f"Of epsilon, {', '.join(shares)} and {rest:.0%} on the mean."]
    if any("finding" in what for what in best.spending):
        lines.append(
            "These errors are as if the records filled the whole of the prior. Where they fill a part of it only, the region "
            "that is found is smaller, and the error nearly in proportion."
        )
    return lines


def _judged(region: Region, best: Forecast, others: Iterable[tuple[int, Forecast]]) -> list[str]:
    """What the best row means."""
    if best.error_95 is None or best.to_beat is None:
        return ["\nNothing can be released so: no mechanism can be used."]
    ball = best.to_beat == region.radius
    distance = f"within {best.to_beat:.3g} of" if ball else f"some {best.to_beat:.3g} from"
    known = f"The mean is known beforehand to be {distance} the public centre"
    if best.useless:
        words = "This release would be useless, and is refused: its error is not below the size of the region."
    elif best.error_95 >= best.to_beat:
        words = f"{known}: this release may say little beyond the public centre."
    else:
        words = f"{known}: this release says more, with an error up to {best.error_95:.3g}."
    if best.directions is None or best.directions == region.space.dim:
        return [f"\n{words}"]
    counted = (
        f"It is made in {best.directions} of {region.space.dim} directions; nothing is learned about the others, and "
    )
    counted += "their part of the mean is not in the error."
    less_more = "; ".join(
        f"with {n} records in {row.directions or 'all'}, error up to {row.error_95:.3g}"
        for n, row in others
        if row.error_95 is not None
    )
    return [f"\n{words}", counted, *([f"{less_more[0].upper()}{less_more[1:]}."] if less_more else [])]


def instead_in_words(n: int, epsilon: float, ways: Iterable[Mapping[str, Any]]) -> str:
    """What else could be asked of the same records.

    >>> way = {"question": "the variance of each channel alone", "space": "diagonal-spd(size=9)", "n": 50, "error_95": 0.5}
    >>> print(instead_in_words(50, 1.0, [way, {**way, "n": 80, "error_95": None}]))
    What 50 records and ε = 1 could say instead, with a region of the same radius:
      the variance of each channel alone, --space 'diagonal-spd(size=9)': error up to 0.5
      the variance of each channel alone, --space 'diagonal-spd(size=9)': not yet, but from 80 records on
    """
    lines = [f"What {n} records and ε = {epsilon:g} could say instead, with a region of the same radius:"]
    for way in ways:
        if way["space"] is None:
            lines.append(f"  {way['question']}")
            continue
        needs = f"not yet, but from {way['n']} records on" if way["n"] else "not with any number of records"
        words = needs if way["error_95"] is None else f"error up to {way['error_95']:.3g}"
        lines.append(f"  {way['question']}, --space '{way['space']}': {words}")
    return "\n".join(lines)


def needs_in_words(n: int, epsilon: float, needs: Mapping[str, float | None]) -> str:
    """The ε, or the number of records, that a 95% error needs.

    >>> needs_in_words(50, 1.0, {"error_95": 0.1, "epsilon_at_n": 2.0, "n_at_epsilon": None})
    'For a 95% error of 0.1: ε = 2 with 50 records, and no n with ε = 1.'
    """
    error, epsilon_at_n, n_at_epsilon = needs["error_95"], needs["epsilon_at_n"], needs["n_at_epsilon"]
    goal = f"For a 95% error of {error:.3g}" if error else "For a release of use"
    first = f"ε = {epsilon_at_n:.3g}" if epsilon_at_n else "no ε up to 100"
    second = f"or {n_at_epsilon} records" if n_at_epsilon else "and no n"
    return f"{goal}: {first} with {n} records, {second} with ε = {epsilon:g}."
