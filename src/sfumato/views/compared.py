"""Groups beside each other: a picture of all and of two, tables of groups and pairs, a page."""

from collections.abc import Sequence
from dataclasses import replace

from ..errors import printable
from ..findings.groups import Comparison, p_in_words
from ..release import Release
from ..release.population import no_region
from . import view_of
from .curator import some
from .many import MOST, plane
from .page import Block, Grid, Page, Paragraph, Section
from .plots import html as html
from .plots import plot_release as plot  # noqa: F401
from .report import promised
from .scene import Scene
from .subject import Links, Subject
from .words import ROBUST, of_what, powers, prepared, region, telling

PAIRS = ("Groups", "Distance of the released means", "p", "p, corrected", "At the level of 5%")
LIMITS = {
    "The groups themselves.": "Who is in which group, and how many are, is public, and not protected.",
    "The means of the records as they were.": "Records outside the public region were moved to its edge first.",
    "A cause.": "The test takes the records as independent draws from two populations, and says whether their means differ.",
}


def scene(comparison: Comparison, links: Links | None = None, channels: Sequence[str] = ()) -> Scene:
    """Return all groups in a plane, where there are more than two; and the two that differ most, as their space draws these."""
    first, *_ = comparison.groups.values()
    view = view_of(first)
    if channels:
        view.check_names(channels, first.value.shape)
    pair = comparison.differences[0]
    both = {name: comparison.groups[name] for name in (pair.first, pair.second)}
    subjects = {printable(name): Subject.of(release, 0.95, links, channels) for name, release in both.items()}
    two = view.pair(subjects, pair.chart_radius)
    if len(comparison.groups) == 2:
        return two
    smaller = [[replace(one, size=(0.6 * one.size[0], 0.6 * one.size[1])) for one in row] for row in two.rows]
    return Scene([[plane(comparison)], *smaller])


def in_words(comparison: Comparison, channels: Sequence[str] = ()) -> str:
    """Return what the picture of a comparison shows, for those who do not see it."""
    first, *_ = comparison.groups.values()
    pair = comparison.differences[0]
    both = printable(f"{pair.first} and {pair.second}, {view_of(first).things(Subject.of(first))}")
    along = "the directions in which they differ most, as lengths in the tangent space at the public centre"
    count = len(comparison.groups)
    every = f"The released means of {min(MOST, count)} of {count} groups along {along}. " if count > 2 else ""
    return f"{every}The released means of {both}, over or beside each other. {pair.words}"


def describe(comparison: Comparison) -> str:
    """Return the groups and what their differences say, in plain words."""
    sizes = ", ".join(f"{printable(name)} ({release.n})" for name, release in comparison.groups.items())
    pairs = comparison.differences
    lines = in_short(comparison)[2:-1] + [difference.words for difference in pairs[:MOST]]
    holm = "corrected for their number (Holm): 5 of 100 studies would find one or more that are none"
    lines += [f"p-values of all {len(pairs)} pairs are {holm}."] if len(pairs) > 1 else []
    words = "\n".join(lines)
    g = comparison.guarantee
    bias = [release.bias if telling(release, release.bias) else None for release in comparison.groups.values()]
    known = [bound for bound in bias if bound is not None]
    ready = "".join(f"\nPrepared: {words}" for words in prepared(next(iter(comparison.groups.values()))))
    near = f" Fréchet means may differ from these by up to {max(known):.2g}." if known == bias else ""
    return (
        f"Compared: {sizes}, whose groups and sizes are public; {powers(str(g.privacy))} in all, as each unit "
        f"({printable(g.unit)}) is in one group.\n{words}\nThe means are those in a chart about the public "
        f"centre, of populations as they are clipped to the public region.{near}{ready}"
    )


def in_short(comparison: Comparison) -> list[str]:
    """Return whose means were released, how far off they are, and which of them differ: a short sentence each."""
    each = comparison.groups
    first = next(iter(each.values()))
    g = comparison.guarantee
    names = ", ".join(f"{name} ({release.n})" for name, release in each.items())
    error = max(_error(release) for release in each.values())
    pairs = comparison.differences
    differ = [f"{one.first} and {one.second} ({p_in_words(one.adjusted)})" for one in pairs if one.differs]
    which = f": {', '.join(some(differ, 3))}" if differ else ""
    found = f"{len(differ) or 'None'} of {len(pairs)} pairs differ, corrected for all, at the level of 5%{which}."
    same = "may be the same" if comparison.omnibus > 0.05 else "are not all the same"
    records = "clipped records" if first.gain is None else "records"
    overall = f"The means of all {len(each)} groups {same} ({p_in_words(comparison.omnibus)})."
    sentences = [
        f"Released the means of {names if len(each) < 7 else f'{len(each)} groups'}; {powers(str(g.privacy))} "
        f"for all together protects {g.unit}.",
        f"Each is within {error:.3g} ({of_what(first, error)}) of the mean of its {records} in 95 of 100 releases.",
        *([overall] if len(each) > 2 else []),
        pairs[0].words if len(pairs) == 1 else found,
    ]
    return [printable(sentence) for sentence in sentences]


def _error(release: Release) -> float:
    """Return the whole error, or the noise where no more is known, as a release says it in short."""
    return release.noise(0.95) if release.gain is None else release.error(0.95)


def pairs(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return a row for each pair of groups, as PAIRS says, the smallest p-value first; of very many for the first twenty."""
    rows: list[tuple[str, ...]] = []
    for difference in comparison.differences[:MOST]:
        one, two = (comparison.groups[name] for name in (difference.first, difference.second))
        space = one.space.known
        away = "" if space is None else f"{float(space.distance(*space.validate([one.value, two.value]))):.4g}"
        names = printable(f"{difference.first}, {difference.second}")
        verdict = "differ" if difference.differs else "may be the same"
        p = (p_in_words(p).removeprefix("p ").removeprefix("= ") for p in (difference.p_value, difference.adjusted))
        rows.append((names, away, *p, verdict))
    return rows


def page(comparison: Comparison, links: Links | None, channels: Sequence[str]) -> Page:
    """Return what a page about groups says: how they differ, and what is promised."""
    first, *_ = comparison.groups.values()
    groups = []
    for name, release in comparison.groups.items():
        size = "none" if no_region(release) else release.region(0.95).size
        groups.append((name, str(release.n), f"{_error(release):.4g}", size))
    error = "Noise" if first.gain is None else "Whole error"
    each = Grid(groups, ("Group", "n", f"{error}, at 95%", "Population's mean, at 95%: within"))
    moved = ROBUST.format(2 * first.ball.radius / min(release.n for release in comparison.groups.values()))
    sections: list[Section] = [
        ("How the groups differ", [*map(Paragraph, comparison.describe().split("\n"))]),
        ("What was done first", [Paragraph(f"Every record was first clipped to {region(first)}. {moved}")]),
        promised("All releases together are", first.guarantee, LIMITS),
    ]
    title = f"Private means of {len(comparison.groups)} groups: {', '.join(comparison.groups)}"
    opening: list[Block] = [Paragraph(" ".join(in_short(comparison))), Grid(pairs(comparison), PAIRS), each]
    return Page(title, in_words(comparison), opening, sections)
