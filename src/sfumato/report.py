"""A release explained on one page: what was released, what is promised, how accurate it is, and why.

Everything on the page comes from the release; no data enter here.  The page is written once, as sections of plain blocks, and
set twice, as HTML and as Markdown, so that the two always say the same.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .bounds import bounds_of
from .plots import cap_angle, error_or_none, picture
from .release import FORMAT, UNCHECKED, Release, write_atomically
from .spaces import SPD, PlanarShapes, Sphere, space_from

PROBABILITIES = (0.5, 0.9, 0.95, 0.99)


def write_report(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a report of a release: whole or not at all.

    A path that ends in .html gets one self-contained page, picture and style inside, which asks nothing of the network.  One
    that ends in .md gets the same in Markdown, with the picture beside it under the same name as .png.

    >>> import tempfile
    >>> import sfumato as sf
    >>> ball = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], radius=1.0)
    >>> release = sf.private_mean(np.zeros((100, 2)), ball, epsilon=1.0, unit="one person")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(release, Path(folder) / "mean.md")
    ...     print((Path(folder) / "mean.md").read_text(encoding="utf-8").splitlines()[0])
    ...     sorted(file.name for file in Path(folder).iterdir())
    # The private Fréchet mean of 100 vectors of 2 numbers
    ['mean.md', 'mean.png']
    """
    path = Path(path)
    if path.suffix.lower() == ".html":
        write_atomically(path, to_html(release))
    elif path.suffix.lower() == ".md":
        image = path.with_suffix(".png")
        text = to_markdown(release, image.name)
        write_atomically(image, picture(release))
        write_atomically(path, text)
    else:
        raise ValueError(f"reports are written as .html or .md, not {path.suffix or 'without an ending'!r}: {path}")


# -- what a page is made of --------------------------------------------------------------------------------------------
class Code(str):
    """Text that a reader would type, or find in a file."""


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Points:
    """A list; each point opens with a few words that say what it is about."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()
    numeric: bool = False  # all columns but the first are numbers


@dataclass(frozen=True)
class Picture:
    description: str


@dataclass(frozen=True)
class Listing:
    text: str


Block = Paragraph | Points | Table | Picture | Listing


@dataclass(frozen=True)
class Section:
    heading: str
    blocks: Sequence[Block]


# -- what it says ------------------------------------------------------------------------------------------------------
def title(release: Release) -> str:
    """What was released, in one line."""
    r, g = release.record, release.guarantee
    return f"The {'private ' if g.private else ''}{r['statistic']} of {r['n']} {_things(release)}"


def sections(release: Release) -> list[Section]:
    """The report, before it is set in any language."""
    return [
        Section("", [_glance(release), _picture(release)]),
        Section("What is promised", _promise(release)),
        Section("How accurate it is", _accuracy(release)),
        Section("The numbers behind the noise", _scale(release)),
        Section("The released value", _value(release)),
        Section("How to cite it", _citation(release)),
        Section("How to read the record", _keys(release)),
    ]


def _things(release: Release) -> str:
    space = space_from(release.record["space"]["name"], release.record["space"]["parameters"])
    if isinstance(space, PlanarShapes):
        return f"planar shapes of {space.landmarks} landmarks"
    if isinstance(space, Sphere):
        return f"directions in {space.dim + 1} dimensions"
    if isinstance(space, SPD):
        return f"positive definite {space.size}×{space.size} matrices"
    return f"vectors of {space.dim} numbers"


def _glance(release: Release) -> Table:
    r, g = release.record, release.guarantee
    error = error_or_none(release, 0.95)
    stated = (
        "not predicted"
        if error is None
        else f"within {_short(error)} of {release.estimate} with probability 95% ({r['predicted_error']['distance']})"
    )
    promised = f"ε = {g.epsilon:g}, for replacing {g.unit}" + (f", {g.condition}" if g.condition else "")
    return Table(
        [
            ("Privacy", promised if g.private or g.condition else "none: made for study"),
            ("Error", stated),
            ("Mechanism", f"{r['mechanism']['name']}, scale σ = {r['calibration']['sigma']:.6g}"),
            ("Made", f"{r['time'].replace('T', ' ').replace('+00:00', ' UTC')} with sfumato {r['version']}"),
        ]
    )


def _picture(release: Release) -> Picture:
    error = error_or_none(release, 0.95)
    soft = "" if error is None else ", and how far off it may be (soft)"
    return Picture(f"What was released (dark), what was public before (grey){soft}.")


def _promise(release: Release) -> list[Block]:
    g, r = release.guarantee, release.record
    if not (g.private or g.condition):
        return [Paragraph("Nothing: this value was made for study, with a known seed. It is not a private release.")]
    factor = float(np.exp(min(g.epsilon, 700.0)))
    sure = f"{1 / (1 + 1 / factor):.0%}" if factor < 200 else "all but wholly"
    start = f"The release is ε-differentially private with ε = {g.epsilon:g}."
    if g.condition:
        start = f"What follows holds {g.condition}. {UNCHECKED} If it holds, then with ε = {g.epsilon:g}:"
    return [
        Paragraph(
            f"{start} Replacing one unit's value by any other changes "
            f"the probability of any outcome by a factor of at most e^ε = {_short(factor)}, whatever else is known or becomes "
            f"known. So the release can shift nobody's odds about one unit by more than that: someone who knows all the other "
            f"records, and held two guesses about this one to be equally likely, can afterwards be at most {sure} sure."
        ),
        Points(
            [
                ("One unit", f"is {g.unit}."),
                ("Neighbours", f"are {g.neighbours}."),
                ("The number of units,", f"{r['n']}, is public: it is not protected."),
                ("Rounding in the draw", f"{_delta(g.numerical_delta)}."),
                ("Rounding in the density", f"adds at most {_tiny(g.numerical_epsilon)} to ε."),
                ("The clock", f"{_clock(g.clock_delta)}."),
            ]
        ),
        Paragraph("Not promised:"),
        Points(
            [
                (
                    "The mean of the records as they were.",
                    f"Every record was first clipped to the public ball of radius {r['ball']['radius']:g}: one that lay "
                    "outside was moved to its edge. What is released is the statistic of the clipped records.",
                ),
                (
                    "Anything at all, if the ball came from the data.",
                    "The centre and the radius must have been public before: a template, an atlas, an earlier study.",
                ),
                (
                    "A fresh budget for every release.",
                    "Releases about the same units add up their ε.",
                ),
                (
                    "Ignorance of the whole.",
                    "What is true of the group can be learnt from the release, and may say something of its members.",
                ),
            ]
        ),
    ]


def _delta(delta: float) -> str:
    return f"can put it on another lattice point with probability at most {_tiny(delta)}; the promise then has no proof"


def _clock(delta: float | None) -> str:
    if delta is None:
        return "may tell of the data: the running time of the sampler may depend on them"
    before = "The time to read and average the records is not hidden"
    if delta == 0:
        return f"tells nothing through the sampler, whose number of proposals does not depend on the data. {before}"
    return f"tells nothing through the sampler, except with probability at most {_tiny(delta)}. {before}"


def _accuracy(release: Release) -> list[Block]:
    predicted = release.record["predicted_error"]
    if predicted is None:
        return [Paragraph("Nothing public is known of the error of this statistic, so none is stated.")]
    blocks: list[Block] = [
        Paragraph(
            f"{release.estimate.capitalize()}, without noise, lies within these distances of the released value. They come "
            f"from public numbers only, so reading them costs no privacy; the distance is: {predicted['distance']}. How far "
            f"clipping itself moved the result is not among them: where many records lay outside the ball, it may be much more."
        )
    ]
    errors = [release.error(p) for p in PROBABILITIES]
    meanings = [_meaning_of_error(release, error) for error in errors]
    rows = [
        (f"{p:.0%}", _short(error), *([meaning] if meaning else []))
        for p, error, meaning in zip(PROBABILITIES, errors, meanings, strict=True)
    ]
    header = ("With probability", "the error is at most", *(["that is"] if meanings[0] else []))
    blocks.append(Table(rows, header, numeric=not meanings[0]))
    if release.record["mechanism"]["name"] == "laplace":
        exact = "The law of this noise is known, so these are its own quantiles"
        size = release.record["space"]["parameters"].get("size", 0)
        beyond = " (an upper bound on them, for matrices of this size)" if size > 3 else ""
        blocks.append(Paragraph(f"{exact}{beyond}, plus what the lattice can move a point."))
    else:
        blocks.append(Paragraph("These are proven upper bounds: the error may well be smaller."))
    if not release.record["on_manifold"]:
        blocks.append(Paragraph("The released value is not a point of the space: the noise has carried it off."))
    return blocks


def _meaning_of_error(release: Release, error: float) -> str:
    """A distance in words that the space understands; empty where it needs none."""
    space = space_from(release.record["space"]["name"], release.record["space"]["parameters"])
    geodesic = release.record["predicted_error"]["distance"] == "geodesic distance"
    if isinstance(space, Sphere) and np.linalg.norm(release.value) > 0:
        return f"an angle of {np.degrees(cap_angle(release, error)):.3g}°"
    if isinstance(space, SPD) and geodesic:
        return f"every variance within a factor of {_short(float(np.exp(min(error, 700.0))))}"
    if isinstance(space, PlanarShapes):
        return f"{error / np.sqrt(space.landmarks):.3g} a landmark if all share it, in shapes of size one"
    return ""


MECHANISM_QUANTITY = {
    "kng": "the gradient of half the mean squared distance",
    "laplace": "the Fréchet mean",
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
    "bound": "half-width of the range that each coordinate was clipped to",
    "coordinates": "how many coordinates share ε (2k for k landmarks)",
}


def _scale(release: Release) -> list[Block]:
    r = release.record
    c = r["calibration"]
    curvature = bounds_of(space_from(r["space"]["name"], r["space"]["parameters"])).curvature[1]
    quantity = MECHANISM_QUANTITY.get(r["mechanism"]["name"], "what the noise is added to")
    if "objective" in r["mechanism"]["options"]:
        quantity = "the gradient of the objective"
    rows = [
        (Code("n"), str(r["n"]), "number of units"),
        (Code("ε"), f"{c['epsilon']:g}", "privacy budget of this release"),
        (Code("r"), f"{r['ball']['radius']:g}", "radius of the public ball"),
    ]
    if "κ" in c["formula"] or "h(" in c["formula"]:
        rows.append((Code("κ"), f"{curvature:g}", "largest curvature of the space"))
    if "h(" in c["formula"]:
        rows.append(
            (Code("h(s)"), "√κ·s·cot(√κ·s)", "how convex half the squared distance is at distance s; 1 if κ ≤ 0")
        )
    for key, number in c["numbers"].items():
        meaning = NUMBERS.get(key, "see the formula").format(quantity=quantity)
        rows.append((Code(key), _exact(number), meaning))
    rows.append((Code("σ"), _exact(c["sigma"]), "the scale of the noise"))
    spacing, exponent = r["lattice_spacing"], round(np.log2(r["lattice_spacing"]))
    size = f"{_exact(spacing)} = {_powers(f'2^{exponent}')}"
    rows.append((Code("lattice"), size, "spacing of the public lattice that the draw was rounded to"))
    by_hand = _by_hand(release)
    check: list[Block] = []
    if by_hand:
        check = [Paragraph("With the numbers below it can be checked by hand:"), Listing(by_hand)]
    confined = (
        "The noise may reach anywhere in the space."
        if c["region"] is None
        else f"Draws are confined to the ball of radius {c['region']:.6g} about the public centre."
    )
    return [
        Paragraph(
            f"The mechanism is {r['mechanism']['name']}, calibrated as {c['name']!r}. Its scale is σ = {c['formula']}. It "
            f"depends on nothing but public numbers."
        ),
        *check,
        Table(rows, ("Symbol", "Value", "Meaning")),
        Paragraph(f"{confined} Sampler: {r['sampler']}. Randomness: {r['generator']}."),
    ]


def _by_hand(release: Release) -> str:
    """The formula with its numbers filled in; empty if it is none that this page knows, or does not give σ."""
    c, n = release.record["calibration"], release.record["n"]
    v, epsilon, sigma = c["numbers"], c["epsilon"], c["sigma"]
    e = f"{epsilon:g}"
    known: list[tuple[float, str]] = []  # what a formula gives, and how it is written
    if {"A", "B", "flux", "tail"} <= v.keys():
        taken = f"{_exact(v['B'])} − {_exact(v['flux'])} − {_exact(v['tail'])}"
        rest = n * epsilon - v["B"] - v["flux"] - v["tail"]
        known.append((v["A"] / rest if rest else np.inf, f"{_exact(v['A'])} / ({n}·{e} − {taken})"))
    elif "A" in v:
        known.append((v["A"] / (n * epsilon), f"{_exact(v['A'])} / ({n}·{e})"))
        known.append((2 * v["A"] / (n * epsilon), f"2·{_exact(v['A'])} / ({n}·{e})"))
    if "delta" in v:
        total = v["delta"] + v.get("solver", 0.0)
        text = f"({_exact(v['delta'])} + {_exact(v['solver'])})" if "solver" in v else _exact(v["delta"])
        known += [(total / epsilon, f"{text} / {e}"), (2 * total / epsilon, f"2·{text} / {e}")]
    if {"bound", "coordinates"} <= v.keys():
        share = f"({e} / {v['coordinates']:g})"
        known.append((2 * v["bound"] / n * v["coordinates"] / epsilon, f"(2·{_exact(v['bound'])} / {n}) / {share}"))
    for result, text in known:
        if abs(result - sigma) <= 1e-6 * sigma:  # a proven scale is rounded up a little
            return f"σ = {text} = {_exact(sigma)}"
    return ""


def _value(release: Release) -> list[Block]:
    space = space_from(release.record["space"]["name"], release.record["space"]["parameters"])
    value = release.value
    note = Paragraph(
        "To six digits; the record has them all. The digits are those of a public lattice, not of the data."
    )
    if isinstance(space, PlanarShapes):
        return [note, Table(_numbered(value), ("Landmark", "x", "y"), numeric=True)]
    if isinstance(space, SPD):
        header = ("", *(str(j + 1) for j in range(space.size)))
        return [note, Table(_numbered(value), header, numeric=True)]
    blocks: list[Block] = [note, Table(_numbered(value.reshape(-1, 1)), ("Coordinate", "Value"), numeric=True)]
    if "degrees" in release.record:
        angles = ", ".join(f"{name} {angle:.6g}" for name, angle in release.record["degrees"].items())
        blocks.append(Paragraph(f"In degrees, computed from this value: {angles}."))
    return blocks


def _numbered(rows: Any) -> list[tuple[str, ...]]:
    return [(str(i), *(_signed(x) for x in row)) for i, row in enumerate(rows, start=1)]


PAPERS = {
    "kng": "C. Soto, K. Bharath, M. Reimherr and A. Slavković (2022). Shape and structure preserving differential privacy. "
    "Advances in Neural Information Processing Systems 35.",
    "laplace": "M. Reimherr, K. Bharath and C. Soto (2021). Differential privacy over Riemannian manifolds. Advances in "
    "Neural Information Processing Systems 34.",
    "exponential": "F. McSherry and K. Talwar (2007). Mechanism design via differential privacy. 48th IEEE Symposium on "
    "Foundations of Computer Science.",
}


def _citation(release: Release) -> list[Block]:
    r = release.record
    items = [
        (
            "The software:",
            f"sfumato, version {r['version']}. Differentially private means of shapes, covariance matrices and directions.",
        ),
        ("The method began with", PAPERS["kng"]),
    ]
    if r["mechanism"]["name"] in PAPERS and r["mechanism"]["name"] != "kng":
        items.append(("This mechanism:", PAPERS[r["mechanism"]["name"]]))
    return [Points(items)]


KEYS = {
    "format": f"what the file is: {FORMAT!r}",
    "value": "the released value, in full precision: the only entry that depends on the data beyond their number",
    "guarantee": "the promise",
    "guarantee.epsilon": "ε",
    "guarantee.unit": "what is protected, in words",
    "guarantee.neighbours": "which data sets are told apart by at most ε",
    "guarantee.private": "false for draws made for study, and where the promise has a condition",
    "guarantee.condition": "what the promise rests on and nobody checked; mostly empty",
    "guarantee.numerical_delta": "the chance that rounding moved the draw to another lattice point",
    "guarantee.numerical_epsilon": "what rounding in the density can add to ε",
    "guarantee.clock_delta": "the chance that the sampler's running time depends on the data (null: not bounded)",
    "statistic": "what the value estimates",
    "space": "the space: its name, parameters and metric",
    "ball": "the public ball: centre and radius",
    "n": "number of units: public",
    "mechanism": "the mechanism: its name and options",
    "calibration": "the noise scale σ, its formula, and every number in it",
    "sampler": "how the draw was made",
    "lattice_spacing": "spacing of the public lattice",
    "generator": "where the randomness came from",
    "on_manifold": "whether the value, as it is, is a point of the space",
    "degrees": "the value as two angles in degrees, where the records came so: computed from the value alone",
    "predicted_error": "a radius that holds the statistic of the clipped records with the probability stated (null: nothing "
    "public is known)",
    "version": "version of sfumato",
    "time": "when the release was made (UTC)",
}


def _keys(release: Release) -> list[Block]:
    present = ["format", "value", "guarantee", *(key for key in KEYS if key.startswith("guarantee.")), *release.record]
    rows = [(Code(key), KEYS.get(key, "an addition to this record")) for key in present]
    return [
        Paragraph("The release itself is a JSON file. This reads it back, and asks it for an error:"),
        Listing('import sfumato as sf\nrelease = sf.Release.load("mean.json")\nrelease.value, release.error(0.95)'),
        Table(rows, ("Key", "Meaning")),
    ]


# -- numbers in words --------------------------------------------------------------------------------------------------
def _exact(x: float) -> str:
    """Enough digits to repeat a calculation with."""
    return _powers(f"{x:.10g}")


def _short(x: float) -> str:
    return _powers(f"{x:.4g}")


def _tiny(x: float) -> str:
    return "0" if x == 0 else _powers(f"{x:.1e}")


def _signed(x: float) -> str:
    return _powers(f"{x:.6g}").replace("-", "−")


def _powers(text: str) -> str:
    """1.2e-09 as people write it, 1.2·10⁻⁹; likewise 2^-9."""
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    text = re.sub(r"e([+-]\d+)", lambda m: f"·10^{int(m[1])}", text)
    return re.sub(r"\^(-?\d+)", lambda m: m[1].translate(digits), text)


# -- as HTML -----------------------------------------------------------------------------------------------------------
STYLE = """
:root { color-scheme: light dark; --paper: #fffdfa; --ink: #2a2622; --quiet: #736b63; --line: #e4dcd2; --accent: #6b3f1d;
  --wash: #f7f2ea; }
@media (prefers-color-scheme: dark) { :root { --paper: #1b1917; --ink: #e8e2da; --quiet: #a39a90; --line: #3b3630;
  --accent: #d9b27c; --wash: #25221f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.55; font-size: 17px;
  font-family: "Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, "DejaVu Serif", serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; font-weight: 600; margin: 0 0 1.2rem; text-wrap: balance; }
h2 { font-size: 1.25rem; font-weight: 600; color: var(--accent); margin: 2.6rem 0 .6rem; }
p { margin: .7rem 0; }
sup { line-height: 0; font-size: .75em; }
ul { margin: .7rem 0; padding-left: 1.2rem; }
li { margin: .35rem 0; }
figure { margin: 1.6rem 0; }
figure img { display: block; width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 6px;
  padding: 10px; }
figcaption { color: var(--quiet); font-size: .88rem; margin-top: .5rem; }
.scroll { overflow-x: auto; margin: .9rem 0; }
table { border-collapse: collapse; font-size: .92rem; width: 100%; font-variant-numeric: tabular-nums; }
table.numbers { width: auto; min-width: 50%; }
th, td { text-align: left; vertical-align: top; padding: .36rem .9rem .36rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
thead th { color: var(--quiet); font-weight: 400; border-bottom-color: var(--quiet); }
tbody th { font-weight: 400; white-space: nowrap; }
table.glance tbody th { color: var(--quiet); width: 8rem; }
table.numbers td, table.numbers thead th + th { text-align: right; white-space: nowrap; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .86em; }
pre { background: var(--wash); border-radius: 6px; padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { :root { --paper: #fff; --ink: #000; --quiet: #555; --line: #ccc; --accent: #6b3f1d; --wash: #f5f5f5; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; } .scroll { overflow: visible; }
  h2 { break-after: avoid; } figure, tr, li, pre { break-inside: avoid; } figure img { max-height: 60vh; width: auto;
  max-width: 100%; margin: 0 auto; } @page { margin: 2cm; } }
""".strip()
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"  # a browser that heeds it asks nothing of the network


def to_html(release: Release) -> str:
    """The report as one self-contained page."""
    image = "data:image/png;base64," + base64.b64encode(picture(release)).decode("ascii")
    body = "\n".join(_html_section(section, image) for section in sections(release))
    heading = escape(title(release))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n{body}\n"
        f"</main>\n</body>\n</html>\n"
    )


def _html_section(section: Section, image: str) -> str:
    heading = f"<h2>{_html_text(section.heading)}</h2>\n" if section.heading else ""
    return f"<section>\n{heading}" + "\n".join(_html_block(block, image) for block in section.blocks) + "\n</section>"


def _html_block(block: Block, image: str) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{_html_text(text)}</p>"
        case Points(items):
            return (
                "<ul>\n" + "\n".join(f"<li><b>{_html_text(a)}</b> {_html_text(b)}</li>" for a, b in items) + "\n</ul>"
            )
        case Picture(description):
            text = escape(description)
            return f'<figure>\n<img src="{image}" alt="{text}">\n<figcaption>{text}</figcaption>\n</figure>'
        case Listing(text):
            return f"<pre>{escape(text)}</pre>"
        case Table():
            return _html_table(block)


def _html_table(table: Table) -> str:
    kind = "numbers" if table.numeric else "" if table.header else "glance"
    head = "".join(f'<th scope="col">{_html_cell(cell)}</th>' for cell in table.header)
    rows = "\n".join(
        f'<tr><th scope="row">{_html_cell(first)}</th>{"".join(f"<td>{_html_cell(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in table.rows
    )
    top = f"<thead><tr>{head}</tr></thead>\n" if head else ""
    return f'<div class="scroll"><table class="{kind}">\n{top}<tbody>\n{rows}\n</tbody>\n</table></div>'


def _html_cell(text: str) -> str:
    return f"<code>{escape(text)}</code>" if isinstance(text, Code) else _html_text(text)


def _html_text(text: str) -> str:
    """Text with nothing in it that HTML would take for its own; equations stay on one line."""
    return escape(text).replace(" = ", "\u00a0=\u00a0").replace("e^ε", "e<sup>ε</sup>")


# -- as Markdown -------------------------------------------------------------------------------------------------------
def to_markdown(release: Release, image: str) -> str:
    """The report in Markdown; ``image`` is where its picture lies."""
    parts = [f"# {_plain(title(release))}"]
    for section in sections(release):
        parts += [f"## {_plain(section.heading)}"] if section.heading else []
        parts += _markdown_blocks(section, image)
    return "\n\n".join(parts) + "\n"


def _markdown_blocks(section: Section, image: str) -> Iterator[str]:
    for block in section.blocks:
        match block:
            case Paragraph(text):
                yield _plain(text)
            case Points(items):
                yield "\n".join(f"- **{_plain(a)}** {_plain(b)}" for a, b in items)
            case Picture(description):
                yield f"![{_plain(description)}](<{image}>)\n\n*{_plain(description)}*"
            case Listing(text):
                yield f"```\n{text}\n```"
            case Table():
                header = block.header or [""] * len(block.rows[0])
                rules = [":--", *("--:" if block.numeric else ":--" for _ in header[1:])]
                rows = [[_markdown_cell(cell) for cell in row] for row in (header, *block.rows)]
                yield "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:]))


def _markdown_cell(text: str) -> str:
    return f"`{text}`" if isinstance(text, Code) else _plain(text)


def _plain(text: str) -> str:
    """Text in which no sign means anything to Markdown, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", " ".join(text.split()))
