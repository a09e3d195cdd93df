"""Groups beside each other: a picture of two, a table of all pairs, a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..release import write_atomically
from . import view_of
from .page import Block, Grid, Paragraph, Picture, Points, Section, to_html, to_markdown
from .plots import captioned, render
from .words import region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..findings.groups import Comparison

PAIRS = ("Groups", "Distance of the released means", "p", "At the level of 5%")
LIMITS = [
    ("The groups themselves.", "Who is in which group, and how many are, is public, and not protected."),
    ("The means of the records as they were.", "Records outside the public region were moved to its edge first."),
    (
        "A cause.",
        "The test takes the records as independent draws from two populations, and says whether their means differ.",
    ),
]


def draw_comparison(comparison: Comparison) -> Figure:
    """The first two groups, as the view of their space draws two releases, and what their difference says."""
    (one, first), (two, second), *more = comparison.groups.items()
    difference = comparison.difference()
    drawn = view_of(first).draw_pair({one: first, two: second}, difference.chart_radius)
    others = [f"The first two of {len(more) + 2} groups are drawn."] if more else []
    promised = f"ε = {comparison.epsilon:g} for all groups together; n = {first.n} and {second.n}"
    return captioned(drawn, [difference.words, promised, *others])


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str] | None = None) -> Figure:
    """The same; written to a file that ends in .png or .svg, whole or not at all, if one is named."""
    drawn = draw_comparison(comparison)
    if path is not None:
        file = Path(path)
        if (form := file.suffix.lower().removeprefix(".")) not in ("png", "svg"):
            raise ValueError(
                f"pictures are written as .png or .svg, not {file.suffix or 'without an ending'!r}: {file}"
            )
        write_atomically(file, render(drawn, form))
    return drawn


def pairs(comparison: Comparison) -> list[tuple[str, ...]]:
    """A row for each pair of groups, as PAIRS says."""
    rows: list[tuple[str, ...]] = []
    for found in comparison.differences:
        one, two = (comparison.groups[name] for name in (found.first, found.second))
        space = one.space.known
        away = "" if space is None else f"{float(space.distance(*space.validate([one.value, two.value]))):.4g}"
        rows.append(
            (
                f"{found.first}, {found.second}",
                away,
                found.p.removeprefix("p ").removeprefix("= "),
                "differ" if found.differs else "may be the same",
            )
        )
    return rows


def pairs_in_words(comparison: Comparison) -> str:
    """The table of pairs for the screen."""
    rows: list[tuple[str, ...]] = [PAIRS, *pairs(comparison)]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    return "\n".join("".join(text.ljust(wide) for text, wide in zip(row, widths, strict=True)).rstrip() for row in rows)


def write_comparison_report(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a page that shows the groups, how they differ and what is promised: as .html with its picture inside, or as .md
    with the picture beside it."""
    file = Path(path)
    title = f"Private means of {len(comparison.groups)} groups: {', '.join(comparison.groups)}"
    image, sections = render(draw_comparison(comparison)), _sections(comparison)
    if file.suffix.lower() == ".html":
        write_atomically(file, to_html(title, sections, image))
    elif file.suffix.lower() == ".md":
        write_atomically(file.with_suffix(".png"), image)
        write_atomically(file, to_markdown(title, sections, file.with_suffix(".png").name))
    else:
        raise ValueError(f"reports are written as .html or .md, not {file.suffix or 'without an ending'!r}: {file}")


def _sections(comparison: Comparison) -> list[Section]:
    first = next(iter(comparison.groups.values()))
    glance = [("Privacy", f"ε = {comparison.epsilon:g} for all groups together, for replacing {first.guarantee.unit}")]
    glance += [("Groups", ", ".join(f"{name} (n = {release.n})" for name, release in comparison.groups.items()))]
    groups = [
        (name, str(release.n), f"{release.error(0.95):.4g}", release.region(0.95).size)
        for name, release in comparison.groups.items()
    ]
    table: list[Block] = [
        Grid(pairs(comparison), PAIRS),
        *(Paragraph(line) for line in comparison.describe().split("\n")),
    ]
    return [
        ("", [Grid(glance), Picture("Two released means and how they differ.")]),
        ("How the groups differ", table),
        (
            "Each group",
            [
                Grid(groups, ("Group", "n", "Error of the noise, at 95%", "Population's mean, at 95%: within")),
                Paragraph(f"Every record was first clipped to {region(first)}."),
            ],
        ),
        (
            "What is promised",
            [
                Paragraph(
                    f"All releases together are ε-differentially private with ε = {comparison.epsilon:g}. Neighbours are "
                    f"{first.guarantee.neighbours}. One unit is {first.guarantee.unit}."
                ),
                Paragraph("Not promised:"),
                Points(LIMITS),
            ],
        ),
    ]
