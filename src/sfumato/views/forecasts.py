"""A plan in plain words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..files.people import RECORD
from ..laws.privacy import Privacy
from ..mechanisms import Forecast
from ..mechanisms.plan import Plan
from ..regions import Region
from ..release import Guarantee, Release
from ..release.terms import Purpose
from .figures import LINES, QUIET, figure, plain
from .page import Grid, Paragraph
from .plots import write_picture
from .words import RELATED, in_short, powers

SPENT_ON: dict[str, str] = {  # in words
    Purpose.LOOK: "a look at whether the public sample fits",
    Purpose.FIRST: "a first release",
    Purpose.CENTER: "finding its centre",
    Purpose.RADIUS: "finding its radius",
    Purpose.SPREAD: "the spread of the records",
}
FOUND = {Purpose.CENTER, Purpose.RADIUS}
AS_IF = "That is as if the records filled the whole of the prior; where they fill a part of it, the error is smaller."


def at_centre(plan: Plan) -> Release:
    """Return what a plan would release of records whose mean is the public centre, without noise."""
    value = plan.space.present(plan.region.center)
    return replace(plan.record, spread=None).released(value, Guarantee.of(plan.facts, RECORD), True)


def plan_in_short(plan: Plan) -> list[str]:
    """Return what would be released, how far off it would be, and what the region that is yet to be found means for that."""
    what, far, *_ = in_short(at_centre(plan))
    lines = [f"Planned:{what.removeprefix('Released')}", far]
    lines += ["It would be useless, and is refused: it says no more than what is public."] if plan.useless else []
    return lines + ([AS_IF] if FOUND & plan.spending.keys() else [])


def plan_table(rows: Sequence[Forecast]) -> list[tuple[str, ...]]:
    """Return what each mechanism would do, after a header."""
    names = {"error_95": "95% error"} | ({} if rows[0].gain is None else {"noise_95": "95% noise", "gain": "gain"})
    table = [("mechanism", *names.values(), "")]
    for row in rows:
        numbers = ("" if (x := getattr(row, name)) is None else f"{x:.3g}" for name in names)
        table.append((row.mechanism, *numbers, _verdict(row, rows[0])))
    return table


def _verdict(row: Forecast, best: Forecast) -> str:
    if row.refusal or row.useless:
        return "cannot be used" if row.refusal else "useless"
    if row is best:
        return "auto takes this one"
    nearer = row.error_95 is not None and best.error_95 is not None and row.error_95 < best.error_95
    return "to the mean as it looks from the centre" if nearer else ""


def plan_in_detail(region: Region, rows: Sequence[Forecast]) -> list[str]:
    """Return what the best plan rests on, what it leaves out and spends, and why a mechanism cannot be used."""
    best = rows[0]
    lines = [f"{row.mechanism} cannot be used: {row.refusal}" for row in rows if row.refusal]
    if best.gain is not None and region.related_as:
        lines.append(f"All this is so if {RELATED[region.related_as]}.")
    if best.fallback_95 is not None:
        lines.append(f"If a look says that the sample does not fit, the error is up to {best.fallback_95:.3g}.")
    if best.directions not in (None, region.space.dim):
        counts = "the error counts what that leaves out" if best.gain is not None else "their part is not in the error"
        made = f"It is made in {best.directions} of {region.space.dim} directions"
        lines.append(f"{made}; nothing is learned about the others, and {counts}.")
    if best.spending:
        shares = [f"{100 * share:.3g}% on {SPENT_ON[what]}" for what, share in best.spending.items()]
        rest = 1 - sum(best.spending.values())
        lines.append(f"Of epsilon, {', '.join(shares)} and {100 * rest:.3g}% on the mean.")
    return lines


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
    'For a 95% error of 0.1: ε = 2 with 50 records; no number of records is enough with ε = 1.'
    """
    goal = f"For a 95% error of {needs['error_95']:.3g}" if needs["error_95"] else "For a release of use"
    symbol = privacy.symbols[0]
    enough = [f"{symbol} = {needs['epsilon_at_n']:.3g} with {n} records"] if needs["epsilon_at_n"] else []
    enough += [f"{needs['n_at_epsilon']} records with {privacy}"] if needs["n_at_epsilon"] else []
    never = [] if needs["epsilon_at_n"] else [f"no {symbol} up to 100 is enough with {n} records"]
    never += [] if needs["n_at_epsilon"] else [f"no number of records is enough with {privacy}"]
    return f"{goal}: {'; '.join(filter(None, [', or '.join(enough), ', and '.join(never)]))}."


def html(rows: Sequence[Forecast]) -> str:
    """Return the forecasts as a table, for notebooks."""
    header, *lines = plan_table(rows)
    whys = [Paragraph(f"{row.mechanism} cannot be used: {row.refusal}").html("") for row in rows if row.refusal]
    return "".join([Grid(lines, header, numeric=True).html(""), *whys])


def plot_plan(region: Region, n: int, privacy: Privacy, rows: Mapping[int, Sequence[Forecast]], path: Path) -> None:
    """Draw the predicted 95% error of every mechanism against the number of records, with n marked."""
    sizes = sorted(rows)
    curves: dict[str, list[tuple[int, float]]] = {}
    for size in sizes:
        for row in rows[size]:
            if row.error_95 is not None:
                curves.setdefault(row.mechanism, []).append((size, row.error_95))
    drawn = figure(7, 4.8)
    axes = drawn.add_subplot()
    for (name, points), (color, style) in zip(sorted(curves.items()), LINES, strict=False):
        axes.loglog(*zip(*points, strict=True), color=color, ls=style, label=name)
    axes.axvline(n, color=QUIET, lw=0.8, ls=":", label=f"n = {n}")
    limit = rows[n][0].to_beat
    if limit is not None:
        words = "the public radius" if limit == region.radius else "the public centre alone"
        axes.axhline(limit, color=QUIET, lw=0.8, ls="--", label=words)
    axes.set(xlabel=f"records, with {powers(str(privacy))}", ylabel="error at 95%")
    plain(axes)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9, frameon=False)
    ends = [f"{name} from {points[0][1]:.3g} to {points[-1][1]:.3g}" for name, points in sorted(curves.items())]
    about = f"{region.space}, radius {region.radius:.3g}, {privacy}"
    seen = f"Error at 95% against the number of records, from {sizes[0]} to {sizes[-1]}: {'; '.join(ends)}. {about}."
    write_picture(drawn, path, seen)
