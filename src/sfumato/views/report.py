"""A result explained on one page, from nothing but itself: what was released, what is promised, how accurate it is, and why."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..laws.bounds import bounds_of
from ..mechanisms import KNG
from ..mechanisms.choice import MECHANISMS
from ..release import Guarantee, Release
from ..release.terms import Kind, filled, is_lowered, symbols_in
from ..shown import Shown
from . import view_of
from .directions import in_degrees
from .page import Block, Code, Grid, Listing, Page, Paragraph, Picture, Points, Section, write_page
from .plots import render
from .subject import Links, Subject
from .words import first, guesses, in_short, notes, powers, promise, rounding, running_time, whole

PROBABILITIES = (0.5, 0.9, 0.95, 0.99)
READ = "The record of the release, a JSON file, is read by sfumato.Release.load; the documentation explains its keys."
EXACT = ".10g"  # digits enough to repeat a calculation with
PROVEN = "These are quantiles of this noise, or proven bounds on them, rounded up, plus what the lattice moves a point."
QUANTITIES = {  # what the noise of a mechanism is scaled to
    "kng": "the gradient of half the mean squared distance",
    "laplace": "the Fréchet mean",
    "staircase": "the Fréchet mean",
    "exponential": "half the mean squared distance",
    "ambient-laplace": "the arithmetic mean in the ambient space",
}
NUMBERS = {
    "A": "how far apart two records of the ball can at most look from a point of the output region; replacing one record "
    "moves the gradient by at most A/n",
    "B": "how much the normalising constant of the density can depend on one record (times n): the divergence part",
    "flux": "the part of that which passes through the rim of the region where B was computed",
    "tail": "the part of that which comes from beyond the rim",
    "R": "radius of the output region, a ball about the public centre",
    "delta": "Δ, the most that replacing one record can move {quantity}",
    "solver": "room for the error of the computed mean, added to Δ",
    "gamma": "γ, the length of the first step in parts of Δ",
    "jump": "how much the log density falls at each step: ε, less what rounding may add",
    "bound": "half-width of the range that each coordinate was clipped to",
    "coordinates": "how many coordinates share ε (2k for k landmarks, 3k in space)",
}


def write_report(
    done: Shown,
    path: str | os.PathLike[str],
    links: Links | None = None,
    channels: Sequence[str] = (),
    *,
    image: bytes | None = None,
    caption: str = "",
) -> None:
    """Write a page that explains a release, or another result: whole or not at all.

    Parameters
    ----------
    done : Release, Comparison, Regression, Regressions or Components
        Everything on the page comes from it.
    path : path
        A path that ends in .html gets one self-contained page, picture and style inside, which loads nothing from the network.
        One that ends in .md gets the same in Markdown, with the picture beside it as .png; a ValueError is raised for others.
    links, channels : sequence, optional
        As of :func:`plot_release`.
    image : bytes, optional
        The picture as PNG, if it is drawn already.
    caption : str, optional
        What that picture shows, where it is another than :func:`plot_release` draws.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> ball = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], radius=1.0)
    >>> release = sf.private_mean(np.zeros((100, 2)), ball, epsilon=1.0, unit="one person")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(release, Path(folder) / "mean.md")
    ...     print((Path(folder) / "mean.md").read_text(encoding="utf-8").splitlines()[0])
    ...     sorted(file.name for file in Path(folder).iterdir())
    # The private mean of 100 vectors of 2 numbers
    ['mean.md', 'mean.png']
    """
    words = done.view.in_words(done, channels)
    if image is None:
        image = render(done.plot(links=links, channels=channels), words=words)
    title, below, opening, sections = done.view.page(done, links, channels)
    every = [("", [Picture(caption or below, words), *opening]), *sections]
    write_page(Path(path), title, [section for section in every if section[1]], image)


def promised(what: str, g: Guarantee, limits: Mapping[str, str]) -> Section:
    """Return what is promised of several releases, after words that say of which, and what is not."""
    start = Paragraph(f"{what} {g.privacy.words}. Neighbours are {g.neighbours}. One unit is {g.unit}.")
    rest: list[Block] = [Paragraph("Not promised:"), Points([*limits.items()])] if limits else []
    return "What is promised", [start, *rest]


def page(release: Release, links: Links | None, channels: Sequence[str]) -> Page:
    """Return what the page about a release says."""
    s = Subject.of(release, 0.95, links, channels)
    view = view_of(release)
    private = "private " if release.guarantee.private else ""
    things = "units" if release.scalar is not None else view.things(s)
    name = "mean" if release.kind is Kind.MEAN else release.statistic
    sections: list[Section] = [
        ("In space, to turn by hand", view.more(s)),
        ("What is promised", _promise(release)),
        ("How accurate it is", _accuracy(release, s)),
        ("The numbers behind the noise", _scale(release)),
        ("The released value", _value(release, s)),
        ("How to cite and read it", _citation(release)),
    ]
    return Page(f"The {private}{name} of {release.n} {things}", view.caption(s), _glance(release), sections)


def _glance(release: Release) -> list[Block]:
    """Return what was released, how private and how accurate it is, in three sentences and a table."""
    g = release.guarantee
    made = release.time.replace("T", " ").replace("+00:00", " UTC")
    promised = f"{powers(str(g.privacy))}, for replacing {g.unit}" + (f", {g.condition}" if g.condition else "")
    rows = [("Privacy", promised if g.private or g.condition else "none: made for study")]
    if release.gain is not None:
        far = f"within {_digits(release.error(0.95))} of the mean of the records with probability 95%"
        rows.append(("Whole error", far))
    if release.predicted_error is not None:
        noise = f"within {_digits(release.noise(0.95))} of {release.estimate} with probability 95%"
        rows.append(("Of the noise", noise))
    rows.append(("Mechanism", f"{release.mechanism.name}, scale σ = {release.calibration.sigma:.6g}"))
    rows.append(("Made", f"{made} with sfumato {release.version}"))
    what, *others = in_short(release)
    if g.mu is not None:
        others.insert(0, f"Of 100 guesses whether one unit is in, at most {guesses(g.mu)} are right instead of 50.")
    return [Paragraph(" ".join([what, *others])), Grid(rows)]


def _promise(release: Release) -> list[Block]:
    g = release.guarantee
    if not (g.private or g.condition):
        return [Paragraph("Nothing: this value was made for study, with a known seed. It is not a private release.")]
    hidden = f"{powers(running_time(release))} The time to read and average the records is not hidden."
    terms = [
        ("One unit", f"is {g.unit}."),
        ("Neighbours", f"are {g.neighbours}."),
        ("The number of units,", f"{release.n}, is public: it is not protected."),
        ("Rounding:", rounding(release)),
        ("The running time:", hidden),
    ]
    public = "Its centre and its size must have been public before: a template, an atlas, an earlier study."
    group = "What is true of the group can be learnt from the release, and may say something of its members."
    limits = [
        ("The mean of the records as they were.", f"{first(release)}."),
        ("Anything at all, if the public region came from the data.", public),
        ("A fresh budget for every release.", "Releases about the same units add up their ε."),
        ("Secrecy about the group.", group),
    ]
    return [Paragraph(str(promise(release))), Points(terms), Paragraph("Not promised:"), Points(limits)]


def _accuracy(release: Release, s: Subject) -> list[Block]:
    view = view_of(release)
    if release.predicted_error is None:
        return [Paragraph("Nothing public is known of the error of this statistic, so none is stated.")]
    foreword = [Paragraph(f"{words} Of the noise alone:")] if (words := whole(release)) else []
    start = (
        f"{release.estimate.capitalize()}, without noise, lies within these distances of the released value. They come from "
        f"public numbers only, so reading them costs no privacy; the distance is: {release.predicted_error.distance}. How far "
        f"clipping itself moved the result is not among them: where many records lay outside the region, it may be much more."
    )
    errors = {p: release.noise(p) for p in PROBABILITIES}
    length = replace(s, whole=False)
    rows = [[f"{p:.0%}", _digits(error), view.meaning(length, error)] for p, error in errors.items()]
    header = ["With probability", "the error is at most", "that is"]
    columns = 3 if rows[0][2] else 2
    table = Grid([row[:columns] for row in rows], header[:columns], numeric=columns == 2)
    blocks: list[Block] = [*foreword, Paragraph(start), table, Paragraph(PROVEN)]
    if several := notes(release):
        blocks.append(Points([(f"{fact.about}:", fact.text) for fact in several]))
    if not release.on_manifold:
        blocks.append(Paragraph("The released value is not a point of the space: the noise has carried it off."))
    return blocks


def _scale(release: Release) -> list[Block]:
    c = release.calibration
    made = f"The mechanism is {release.mechanism.name}, calibrated as {c.name!r}. Its scale is σ = {c.formula}."
    check = list[Block]()
    if by_hand := _by_hand(release):
        check = [Paragraph("With the numbers below it can be checked by hand:"), Listing(by_hand)]
    confined = "The noise may reach anywhere in the space."
    if c.region is not None:
        confined = f"Draws are confined to the ball of radius {c.region:.6g} about the public centre."
    return [
        Paragraph(f"{made} It depends on nothing but public numbers."),
        *check,
        Grid(_symbols(release), ("Symbol", "Value", "Meaning")),
        Paragraph(f"{confined} Sampler: {release.sampler}. Randomness: {release.generator}."),
    ]


def _symbols(release: Release) -> list[tuple[str, str, str]]:
    """Return every symbol of the formula, its number and what it means."""
    c = release.calibration
    space = release.space.known
    known = QUANTITIES.get(release.mechanism.name, "what the noise is added to")
    quantity = "the gradient of the objective" if release.kind is Kind.OBJECTIVE else known
    rows: list[tuple[str, str, str]] = [
        (Code("n"), str(release.n), "number of units"),
        (Code("ε"), f"{c.epsilon:g}", "pure privacy loss of all parts of this release"),
        (Code("r"), f"{release.ball.radius:g}", "radius of the ball, or the longest semi-axis of an ellipsoid"),
    ]
    symbols = symbols_in(c.formula)
    if space is not None and symbols & {"κ", "h"}:
        rows.append((Code("κ"), f"{bounds_of(space).curvature[1]:g}", "largest curvature of the space"))
    if "h" in symbols:
        convex = "how convex half the squared distance is at distance s; 1 if κ ≤ 0"
        rows.append((Code("h(s)"), "√κ·s·cot(√κ·s)", convex))
    for key, number in c.numbers.items():
        rows.append((Code(key), _digits(number, EXACT), NUMBERS.get(key, "see the formula").format(quantity=quantity)))
    spacing = release.lattice_spacing
    size = f"{_digits(spacing, EXACT)} = {powers(f'2^{round(np.log2(spacing))}')}"
    return [
        *rows,
        (Code("σ"), _digits(c.sigma, EXACT), "the scale of the noise"),
        (Code("lattice"), size, "spacing of the public lattice that the draw was rounded to"),
    ]


def _by_hand(release: Release) -> str:
    """Return the record's formula with its numbers; empty where one is not in the record, or another ε was asked for."""
    c = release.calibration
    v = {name: _digits(number, EXACT) for name, number in c.numbers.items()}
    if "delta" in v:
        v["Δ"] = f"({v['delta']} + {v['solver']})" if "solver" in v else v["delta"]
    if "A" in v:
        v |= {"A(r,r)": v["A"], "A(r,R)": v["A"]}
    if "coordinates" in v:
        v |= {"2k": v["coordinates"], "3k": v["coordinates"]}
    rest = 1 - sum(release.shares.values())  # what was not spent on something else
    v |= {"n": str(release.n), "ε": f"{c.epsilon:.10g}" if rest == 1 else f"{rest:.10g}·{c.epsilon:.10g}"}
    other = is_lowered(c.formula) or release.guarantee.asked is not None
    product = None if other else filled(c.formula, v)
    return "" if product is None else f"σ = {product.replace('/', ' / ')} = {_digits(c.sigma, EXACT)}"


def _value(release: Release, s: Subject) -> list[Block]:
    note = "To six digits; the record has them all. The digits are those of a public lattice, not of the data."
    header, rows = view_of(release).table(s)
    signed = [(name, *(powers(number).replace("-", "−") for number in rest)) for name, *rest in rows]
    blocks: list[Block] = [Paragraph(note), Grid(signed, header, numeric=True)]
    if release.degrees is not None:
        blocks.append(Paragraph(f"In degrees, computed from this value: {in_degrees(release.degrees)}."))
    return blocks


def _citation(release: Release) -> list[Block]:
    software = "Differentially private means of shapes, covariance matrices and directions."
    items = [("The software:", f"sfumato, version {release.version}. {software}"), ("The method began with", KNG.paper)]
    kind = MECHANISMS.get(release.mechanism.name, KNG)
    if kind.paper not in ("", KNG.paper):
        items.append(("This mechanism:", kind.paper))
    return [Points(items), Paragraph(READ)]


# -- numbers in words --------------------------------------------------------------------------------------------------
def _digits(x: float, form: str = ".4g") -> str:
    """Return a number for the page."""
    return "0" if x == 0 else powers(f"{x:{form}}")
