"""A plan in plain words."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..laws.privacy import Privacy
from ..mechanisms import Forecast
from ..regions import Region
from ..release.terms import Purpose
from .figures import LINES, QUIET, figure, plain
from .page import Grid, Paragraph
from .plots import write_picture
from .words import RELATED, nearer

SPENT_ON: dict[str, str] = {  # in words
    Purpose.LOOK: "a look at whether the public sample fits",
    Purpose.FIRST: "a first release",
    Purpose.CENTER: "finding its centre",
    Purpose.RADIUS: "finding its radius",
    Purpose.SPREAD: "the spread of the records",
}


def plan_in_words(
    region: Region, n: int, privacy: Privacy, rows: list[Forecast], others: Iterable[tuple[int, Forecast]] = ()
) -> str:
    """Return what each mechanism would do, as a table; and the best one for ``others``, as for fewer and more records."""
    lines = [
        f"{region.space}, n = {n}, radius {region.radius:.4g}, {privacy}\n",
        f"{'mechanism':14s}{'95% error':>12s}{'median error':>15s}{'95% noise':>12s}{'scale':>12s}{'gain':>8s}{'to beat':>10s}",
    ]
    for row in rows:
        numbers = f"  cannot be used: {row.refusal}"
        if row.refusal is None:
            verdict = _verdict(row, rows[0])
            gain = "" if row.gain is None else f"{row.gain:.2g}"
            numbers = f"{row.error_95:12.4g}{row.median_error:15.4g}{row.noise_95:12.4g}{row.scale:12.4g}{gain:>8s}"
            numbers += f"{row.to_beat:10.4g}"
            numbers += f"   {'<- ' if row is rows[0] and not row.useless else ''}{verdict}" if verdict else ""
        lines.append(f"{row.mechanism:14s}{numbers}")
    return "\n".join([*lines, *_judged(region, rows[0], others), *_spent(rows[0])])


def _verdict(row: Forecast, best: Forecast) -> str:
    if row.useless:
        return "useless"
    return "auto takes this one" if row is best else ""


def _spent(best: Forecast) -> list[str]:
    """Return what else ε is spent on, and what that means for the error."""
    if not best.spending:
        return []
    shares = [f"{100 * share:.3g}% on {SPENT_ON[what]}" for what, share in best.spending.items()]
    rest = 1 - sum(best.spending.values())
    lines = [f"Of epsilon, {', '.join(shares)} and {100 * rest:.3g}% on the mean."]
    if best.spending.keys() & {Purpose.CENTER, Purpose.RADIUS}:
        lines.append(
            "These errors are as if the records filled the whole of the prior. Where they fill a part of it only, the region "
            "that is found is smaller, and the error nearly in proportion."
        )
    return lines


def _judged(region: Region, best: Forecast, others: Iterable[tuple[int, Forecast]]) -> list[str]:
    """Return what the best row means."""
    if best.error_95 is None or best.to_beat is None:
        return ["\nNothing can be released so: no mechanism can be used."]
    words = _worth(region, best, best.error_95, best.to_beat)
    if best.fallback_95 is not None:
        words += f" If a look says that the sample does not fit, the error is up to {best.fallback_95:.3g}."
    if best.directions is None or best.directions == region.space.dim:
        return [f"\n{words}"]
    others_part = "their part of the mean is not in the error"
    if best.gain is not None:
        others_part = "the error counts what that leaves out"
    made = f"It is made in {best.directions} of {region.space.dim} directions"
    counted = f"{made}; nothing is learned about the others, and {others_part}."
    known_too = [(n, row) for n, row in others if row.error_95 is not None]
    said = [f"{n} records in {row.directions or 'all'}, error up to {row.error_95:.3g}" for n, row in known_too]
    return [f"\n{words}", counted, *([f"With {'; with '.join(said)}."] if said else [])]


def _worth(region: Region, best: Forecast, error: float, to_beat: float) -> str:
    """Return what a release is worth beside what is known beforehand."""
    if best.gain is not None:
        known = f"The public centre alone is expected to be some {to_beat:.3g} from the mean"
        resting = f", if {RELATED[region.related_as]}" if region.related_as else ""
        if best.useless:
            return f"{known}: this release would be no nearer, and is refused as useless{resting}."
        return f"{known}: this release is {nearer(best.gain)}, with an error up to {error:.3g}{resting}."
    ball = to_beat == region.radius
    distance = f"within {to_beat:.3g} of" if ball else f"some {to_beat:.3g} from"
    known = f"The mean is known beforehand to be {distance} the public centre"
    if best.useless:
        return "This release would be useless, and is refused: its error is not below the size of the region."
    if error >= to_beat:
        return f"{known}: this release may say little beyond the public centre."
    return f"{known}: this release says more, with an error up to {error:.3g}."


def instead_in_words(n: int, privacy: Privacy, ways: Iterable[Mapping[str, Any]]) -> str:
    """Return what else could be asked of the same records.

    >>> from ..laws.privacy import PureDP
    >>> way = {"question": "the variance of each channel alone", "space": "diagonal-spd(size=9)", "n": 50, "error_95": 0.5}
    >>> print(instead_in_words(50, PureDP(1.0), [way, {**way, "n": 80, "error_95": None}]))
    What 50 records and ε = 1 could say instead, with a region of the same radius:
      the variance of each channel alone, in the space 'diagonal-spd(size=9)': error up to 0.5
      the variance of each channel alone, in the space 'diagonal-spd(size=9)': not yet, but from 80 records on
    """
    lines = [f"What {n} records and {privacy} could say instead, with a region of the same radius:"]
    for way in ways:
        if way["space"] is None:
            lines.append(f"  {way['question']}")
            continue
        needs = f"not yet, but from {way['n']} records on" if way["n"] else "not with any number of records"
        words = needs if way["error_95"] is None else f"error up to {way['error_95']:.3g}"
        lines.append(f"  {way['question']}, in the space '{way['space']}': {words}")
    return "\n".join(lines)


def needs_in_words(n: int, privacy: Privacy, needs: Mapping[str, float | None]) -> str:
    """Return the ε, or the number of records, that a 95% error needs.

    >>> from ..laws.privacy import PureDP
    >>> needs_in_words(50, PureDP(1.0), {"error_95": 0.1, "epsilon_at_n": 2.0, "n_at_epsilon": None})
    'For a 95% error of 0.1: ε = 2 with 50 records, and no n with ε = 1.'
    """
    goal = f"For a 95% error of {needs['error_95']:.3g}" if needs["error_95"] else "For a release of use"
    symbol = privacy.symbols[0]
    first = f"{symbol} = {needs['epsilon_at_n']:.3g}" if needs["epsilon_at_n"] else f"no {symbol} up to 100"
    second = f"or {needs['n_at_epsilon']} records" if needs["n_at_epsilon"] else "and no n"
    return f"{goal}: {first} with {n} records, {second} with {privacy}."


def html(rows: Sequence[Forecast]) -> str:
    """Return the forecasts as a table, for notebooks."""

    def shown(number: float | None) -> str:
        return "" if number is None else f"{number:.3g}"

    header = ("Mechanism", "Error at 95%", "Median error", "Noise at 95%", "Gain", "To beat", "Directions", "")
    lines = []
    for row in rows:
        numbers = map(shown, (row.error_95, row.median_error, row.noise_95, row.gain, row.to_beat))
        directions = "" if row.directions is None else str(row.directions)
        lines.append((row.mechanism, *numbers, directions, row.refusal or _verdict(row, rows[0])))
    words = Paragraph("To beat: how far the mean is known to lie from the public centre beforehand.")
    return Grid(lines, header, numeric=True).html("") + words.html("")


def plot_plan(region: Region, n: int, privacy: Privacy, rows: Mapping[int, Sequence[Forecast]], path: Path) -> None:
    """Draw the predicted 95% error of every mechanism against the number of records, with n marked."""
    sizes = sorted(rows)
    curves: dict[str, list[tuple[int, float]]] = {}
    directions = set[int | None]()
    for size in sizes:
        for row in rows[size]:
            if row.error_95 is not None:
                curves.setdefault(row.mechanism, []).append((size, row.error_95))
                directions.add(row.directions)
    drawn = figure(7, 4.8)
    axes = drawn.add_subplot()
    for (name, points), (color, style) in zip(sorted(curves.items()), LINES, strict=False):
        axes.loglog(*zip(*points, strict=True), color=color, ls=style, label=name)
    axes.axvline(n, color=QUIET, lw=0.8, ls=":", label=f"n = {n}")
    limit = rows[n][0].to_beat
    in_ball = limit == region.radius
    if limit is not None:
        words = "radius of the ball" if in_ball else "known beforehand: distance of the mean"
        axes.axhline(limit, color=QUIET, lw=0.8, ls="--", label=words)
    axes.set(xlabel="records n", ylabel="error at 95%")
    plain(axes)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9, frameon=False)
    said = [f"{region.space}, radius {region.radius:.3g}, {privacy}"]
    if len(directions) > 1 and not in_ball:
        left_out = "not counted" if rows[n][0].gain is None else "in the error"
        said.append(f"More records pay for more directions, each with noise of its own; what is left out is {left_out}")
    ends = [f"{name} from {points[0][1]:.3g} to {points[-1][1]:.3g}" for name, points in sorted(curves.items())]
    seen = f"Error at 95% against the number of records, from {sizes[0]} to {sizes[-1]}: {'; '.join(ends)}."
    write_picture(drawn, path, f"{seen} {'. '.join(said)}.")
