"""Groups beside each other: a picture of two, a table of all pairs, a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import printable
from ..findings.groups import Comparison, Difference
from ..release import Release
from ..release.population import no_region
from . import view_of
from .curator import some
from .figures import draw
from .page import Grid, Paragraph, Picture, Points, Section, notebook, write_page
from .plots import render, write_picture
from .scene import Scene
from .subject import Links, Subject
from .words import of_what, powers, region, telling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAIRS = ("Groups", "Distance of the released means", "p", "At the level of 5%")
LIMITS = [
    ("The groups themselves.", "Who is in which group, and how many are, is public, and not protected."),
    ("The means of the records as they were.", "Records outside the public region were moved to its edge first."),
    (
        "A cause.",
        "The test takes the records as independent draws from two populations, and says whether their means differ.",
    ),
]


def scene(comparison: Comparison, links: Links | None = None, channels: Sequence[str] = ()) -> Scene:
    """Return the two groups that differ most, as the view of their space draws two releases."""
    first, *_ = comparison.groups.values()
    view = view_of(first)
    if channels:
        view.check_names(channels, first.value.shape)
    pair = _most_different(comparison)
    both = {name: comparison.groups[name] for name in (pair.first, pair.second)}
    subjects = {printable(name): Subject.of(release, 0.95, links, channels) for name, release in both.items()}
    return view.pair(subjects, pair.chart_radius)


def _most_different(comparison: Comparison) -> Difference:
    """Return the pair with the smallest p-value, the first of several: what a picture shows."""
    return min(comparison.differences, key=lambda pair: pair.p_value)


def plot(
    comparison: Comparison,
    path: str | os.PathLike[str] | None = None,
    *,
    links: Links | None = None,
    channels: Sequence[str] = (),
) -> Figure:
    """Return the picture of the two groups that differ most; write it, whole or not at all, if a file that ends in .png or
    .svg is named."""
    drawn = draw(scene(comparison, links, channels))
    if path is not None:
        write_picture(drawn, path, comparison_in_words(comparison))
    return drawn


def comparison_in_words(comparison: Comparison) -> str:
    """Return what the picture of a comparison shows, for those who do not see it."""
    first, *_ = comparison.groups.values()
    pair = _most_different(comparison)
    both = printable(f"{pair.first} and {pair.second}, {view_of(first).things(Subject.of(first))}")
    return f"The released means of {both}, over or beside each other. {pair.words}"


def describe(comparison: Comparison) -> str:
    """Return the groups and what their differences say, in plain words."""
    sizes = ", ".join(f"{printable(name)} ({release.n})" for name, release in comparison.groups.items())
    pairs = comparison.differences
    many = f" These are {len(pairs)} tests: one in twenty would reject by chance." if len(pairs) > 1 else ""
    words = "\n".join(difference.words for difference in pairs)
    unit = printable(next(iter(comparison.groups.values())).guarantee.unit)
    bias = [release.bias if telling(release, release.bias) else None for release in comparison.groups.values()]
    known = [bound for bound in bias if bound is not None]
    near = f" Fréchet means may differ from these by up to {max(known):.2g}." if known == bias else ""
    return (
        f"Compared: {sizes}, whose groups and sizes are public; {powers(str(comparison.privacy))} in all, as each unit "
        f"({unit}) is in one group.\n{words}{many}\nThe means are those in a chart about the public "
        f"centre, of populations as they are clipped to the public region.{near}"
    )


def in_short(comparison: Comparison) -> list[str]:
    """Return whose means were released, how far off they are, and which of them differ: a short sentence each."""
    each = comparison.groups
    first = next(iter(each.values()))
    names = ", ".join(f"{name} ({release.n})" for name, release in each.items())
    error = max(_error(release) for release in each.values())
    pairs = comparison.differences
    differ = [f"{one.first} and {one.second} ({one.p})" for one in pairs if one.differs]
    which = f": {', '.join(some(differ, 3))}" if differ else ""
    found = f"{len(differ) or 'None'} of {len(pairs)} pairs differ at the level of 5%{which}."
    records = "clipped records" if first.gain is None else "records"
    sentences = [
        f"Released the means of {names if len(each) < 7 else f'{len(each)} groups'}; {powers(str(comparison.privacy))} "
        f"for all together protects {first.guarantee.unit}.",
        f"Each is within {error:.3g} ({of_what(first, error)}) of the mean of its {records} in 95 of 100 releases.",
        pairs[0].words if len(pairs) == 1 else found,
    ]
    return [printable(sentence) for sentence in sentences]


def _error(release: Release) -> float:
    """Return the whole error, or the noise where no more is known, as a release says it in short."""
    return release.noise(0.95) if release.gain is None else release.error(0.95)


def html(comparison: Comparison) -> str:
    """Return the picture and the words, as a notebook shows them."""
    lines = [("", line) for line in describe(comparison).splitlines()]
    return notebook(render(plot(comparison)), comparison_in_words(comparison), lines)


def pairs(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return a row for each pair of groups, as PAIRS says."""
    rows: list[tuple[str, ...]] = []
    for difference in comparison.differences:
        one, two = (comparison.groups[name] for name in (difference.first, difference.second))
        space = one.space.known
        away = "" if space is None else f"{float(space.distance(*space.validate([one.value, two.value]))):.4g}"
        names = printable(f"{difference.first}, {difference.second}")
        verdict = "differ" if difference.differs else "may be the same"
        rows.append((names, away, difference.p.removeprefix("p ").removeprefix("= "), verdict))
    return rows


def write_comparison_report(comparison: Comparison, path: str | os.PathLike[str], image: bytes | None = None) -> None:
    """Write a page that shows the groups, how they differ and what is promised: as .html with its picture inside, or as .md
    with the picture beside it; ``image`` is the picture as PNG, if it is drawn already."""
    title = f"Private means of {len(comparison.groups)} groups: {', '.join(comparison.groups)}"
    words = comparison_in_words(comparison)
    if image is None:
        image = render(plot(comparison), words=words)
    write_page(Path(path), title, _sections(comparison, words), image)


def _sections(comparison: Comparison, words: str) -> list[Section]:
    first, *others = comparison.groups.values()
    g = first.guarantee
    groups = []
    for name, release in comparison.groups.items():
        size = "none" if no_region(release) else release.region(0.95).size
        groups.append((name, str(release.n), f"{_error(release):.4g}", size))
    each = Grid(
        groups,
        (
            "Group",
            "n",
            f"{'Noise' if first.gain is None else 'Whole error'}, at 95%",
            "Population's mean, at 95%: within",
        ),
    )
    units = f"Neighbours are {g.neighbours}. One unit is {g.unit}."
    promised = f"All releases together are {comparison.privacy.words}. {units}"
    some = f"the two of {len(others) + 1} groups that differ most" if others[1:] else "both groups"
    drawn = Picture(f"The released means of {some}, over or beside each other.", words)
    return [
        ("", [drawn, Paragraph(" ".join(in_short(comparison))), Grid(pairs(comparison), PAIRS), each]),
        ("How the groups differ", [*map(Paragraph, comparison.describe().split("\n"))]),
        ("What was done first", [Paragraph(f"Every record was first clipped to {region(first)}.")]),
        ("What is promised", [Paragraph(promised), Paragraph("Not promised:"), Points(LIMITS)]),
    ]
