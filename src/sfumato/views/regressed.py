"""Regressions: the mean at a low and a high value, the change along the covariate with its band, words and a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import printable
from ..findings.groups import p_in_words
from ..findings.regression import LOG_SIZE, Regression, Regressions
from ..numerics.arrays import Array
from ..regions import Ellipsoid
from . import view_of
from .page import Grid, Page, Paragraph, Section
from .plots import html as html
from .plots import plot_release as plot  # noqa: F401
from .report import promised
from .scene import Dots, Line, Mark, Panel, Role, Scales, Scene, Soft
from .subject import Links, Noise, Subject
from .words import prepared, protects

STEPS = 17  # values of the covariate at which the band is computed
MOST = 4  # groups that are drawn
LIMITS = {
    "A cause.": "The mean changes with the covariate, or may not; why it does is not known.",
    "A line.": "Where the mean does not follow one, the slope is that from the lower to the upper half of the records.",
    "The records as they were.": "Those outside the public region, and covariates outside the limits, were moved there.",
}
Result = Regression | Regressions


def scene(done: Result, links: Links | None = None, channels: Sequence[str] = ()) -> Scene:
    """Return two means over each other as the space draws them, and the change along the covariate below; beside it in a row
    for each of several groups, at the same values."""
    every = [*groups(done).items()][:MOST]
    known = [one.values for _, one in every if one.slope is not None]
    rows: list[Sequence[Panel]] = []
    for name, one in every:
        pair = _pair(one, known[0], links, channels) if one.slope is not None else []
        change = _change(one)
        if len(every) == 1:
            rows = [*pair, [change]]
        else:
            first = [replace(pair[0][0], title=printable(name), size=(3.2, 2.6))] if pair else []
            rows.append([*first, replace(change, title="" if first else printable(name), size=(3.2, 2.6))])
    return Scene(rows)


def _pair(
    one: Regression, values: tuple[float, float], links: Links | None, channels: Sequence[str]
) -> Sequence[Sequence[Panel]]:
    """Return the mean at two values, as the space draws two groups."""
    view = view_of(one)
    if channels:
        view.check_names(channels, one.center.shape)
    name = one.covariate.removeprefix("log ") if one.covariate == LOG_SIZE else one.covariate
    both = {printable(f"{name} {_value(one, value)}"): _subject(one, value, links, channels) for value in values}
    return view.pair(both, (values[1] - values[0]) * one.region().chart_radius).rows


def groups(done: Result) -> Mapping[str, Regression]:
    """Return the regressions by their groups; of one without groups, under no name."""
    return done.groups if isinstance(done, Regressions) else {"": done}


def _subject(one: Regression, value: float, links: Links | None, channels: Sequence[str]) -> Subject:
    """Return the mean at a value, with its region, as a view draws a release."""
    chart = Ellipsoid(one.space.required, one.center, one.axes, one.basis)
    reach = one.region(at=value)
    point = one.at(value)
    region = Noise(chart, chart.nearest(reach.w), 0.0, reach.level, reach.chart_radius)
    where = Subject(one.space, one.center, chart.radius, point, point, reach.level, chart=chart, given_by_axes=True)
    return replace(where, region=region, region_radius=reach.radius, links=links, names=tuple(channels))


def _change(one: Regression) -> Panel:
    """Return how far the mean moves along its slope, with the band of its region at each value, and the public slope beside
    it; where the slope is not known, along the difference of the halves, without a band."""
    low, high = one.values if one.slope is not None else one.limits
    values = np.linspace(low, high, STEPS)
    along = one.axes * one.difference
    unit = along / max(float(np.linalg.norm(along)), 1e-300)
    marks: list[Mark] = []
    ends = [np.zeros(1)]
    if one.chart_slope is not None:
        moved = (values - one.mean) * float(unit @ (one.axes * one.chart_slope))
        wide = np.linalg.norm(one.axes * unit) * np.array([one.region(at=value).chart_radius for value in values])
        under, core, over = (_across(values, moved + side * wide) for side in (-1, 0, 1))
        edge = np.concatenate([under, over[::-1]])
        marks.append(Soft([edge], [np.concatenate([core, core[::-1]])], "95% region for the population's mean"))
        marks += [Line(core, Role.VALUE), Dots(core[[0, -1]], Role.VALUE, "released mean at a value")]
        ends += [moved - wide, moved + wide]
    if one.baseline is not None:
        public = (values - one.mean) * float(unit @ (one.axes * one.baseline))
        marks.append(Line(_across(values, public), Role.CENTRE, "slope of the public specimens"))
        ends.append(public)
    if len(marks) == 0:
        marks.append(Line(_across(values, 0 * values), Role.FRAME, "the slope is not known"))
    most = 1.08 * max(float(np.abs(np.concatenate(ends)).max()), 1e-9)
    margin = 0.03 * (high - low)
    corners = (np.array([low - margin, -most]), np.array([high + margin, most]))
    scales = Scales(printable(one.covariate), "change along the slope")
    return Panel(marks, *corners, size=(6.5, 2.6), scales=scales, equal=False)


def _across(values: Array, heights: Array) -> Array:
    return np.stack([values, heights], axis=1)


# -- words -------------------------------------------------------------------------------------------------------------------
def in_short(done: Result) -> list[str]:
    """Return what was released, whether the mean changes, and how far: a short sentence each."""
    one = next(iter(groups(done).values()))
    n = sum(each.n for each in groups(done).values())
    things = view_of(one).things(Subject(one.space, one.center, float(one.axes.max())))
    of = f" in {len(done.groups)} groups" if isinstance(done, Regressions) else ""
    first = f"Released how the mean of {n} {things}{of} changes with {one.covariate}; {protects(one.guarantee)}."
    found = [f"{name}: {line}" if name else line for name, each in groups(done).items() for line in _found(each)]
    if isinstance(done, Regressions):
        found += [difference.words for difference in done.differences[:3]]
    return [printable(line) for line in (first, *found)]


def _found(one: Regression) -> list[str]:
    """Return the verdict of the test, and the slope."""
    along = ""
    if one.p_along is not None:
        along = f" Along the change that public specimens show: {p_in_words(one.p_along)}."
    if one.slope is None:
        why = "Only this test was asked for." if one.product is None else "The slope is too noisy to be known."
        return [f"{one.words}{along} {why}"]
    low, high = one.values
    moved = (high - low) * float(np.linalg.norm(one.slope))
    off = (high - low) * one.region().radius
    public = ""
    if one.baseline_error is not None:
        public = f"; by public specimens alone it would be off by some {(high - low) * one.baseline_error:.2g}"
    return [
        f"{one.words}{along}",
        f"From {_value(one, low)} to {_value(one, high)} it moves by {moved:.3g}, known to within {off:.2g} (95%){public}.",
    ]


def _value(one: Regression, value: float) -> str:
    """Return a value of the covariate; of a logarithm of sizes, the size."""
    return f"{float(f'{np.exp(value) if one.covariate == LOG_SIZE else value:.3g}'):g}"  # 1030, not 1.03e+03


def describe(done: Result) -> str:
    """Return what was found and what it rests on, in plain words."""
    one = next(iter(groups(done).values()))
    low, high = one.limits
    kept = "is public, and not protected" if one.public else "is private"
    p = len(one.axes)
    frozen = one.center.size and one.space.known is not None and one.space.known.dim - p
    rest = f"; the other {frozen} stay as in the public centre" if frozen else ""
    return "\n".join(
        [
            *in_short(done),
            *(f"Prepared: {words}" for words in prepared(one.halves)),
            f"{one.covariate.capitalize()} {kept}; it counts within {low:g} to {high:g}. Change was looked for in {p} public "
            f"directions{rest}.",
            "The regions count noise and sampling error, for the population as it is clipped to the public region. It is the "
            "regression of the records as they look from the public centre.",
        ]
    )


def in_words(done: Result, channels: Sequence[str] = ()) -> str:
    """Return what the picture shows, for those who do not see it."""
    return f"The mean at a low and a high value, and how it changes between them. {' '.join(in_short(done)[1:])}"


def page(done: Result, links: Links | None, channels: Sequence[str]) -> Page:
    """Return what a page about regressions says: the numbers, what they rest on and what is promised."""
    one = next(iter(groups(done).values()))
    rows = [row for name, each in groups(done).items() for row in _rows(name, each)]
    sections: list[Section] = [
        ("The numbers", [Grid(rows, ("", "Value", "Known to within (95%)"))]),
        ("What it rests on", [Paragraph(line) for line in describe(done).splitlines()[len(in_short(done)) :]]),
        promised("All of it together is", one.guarantee, LIMITS),
    ]
    caption = "The mean at a low and a high value of the covariate, and the change between them."
    return Page(f"How the mean changes with {one.covariate}", caption, [Paragraph(" ".join(in_short(done)))], sections)


def _rows(name: str, one: Regression) -> list[tuple[str, str, str]]:
    """Return the rows of a table for one group: its test, slope and means, as distances."""
    start = f"{name}: " if name else ""
    rows = [(f"{start}test of no change", p_in_words(one.p_value), "")]
    if one.slope is None:
        return rows
    rows.append((f"{start}slope", f"{float(np.linalg.norm(one.slope)):.3g}", f"{one.region().radius:.2g}"))
    for value in one.values:
        away = float(np.linalg.norm(one.axes * one.region(at=value).w))
        words = f"{start}mean at {_value(one, value)}, from the public centre"
        rows.append((words, f"{away:.3g}", f"{one.region(at=value).radius:.2g}"))
    return rows
