"""A page of plain blocks.  Each block writes itself in HTML and in Markdown, so that the two always say the same."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from hashlib import sha256
from html import escape as html_escape
from typing import NamedTuple

from ..errors import printable


def escape(text: str) -> str:
    """Text as HTML and SVG may hold it: without signs of theirs, and without control characters."""
    return html_escape(printable(text, "\n"))


class Code(str):
    """Text that a reader would type, or find in a file."""


class Paragraph(NamedTuple):
    text: str

    def html(self, image: str) -> str:
        return f"<p>{_html(self.text)}</p>"

    def markdown(self, image: str) -> str:
        return _markdown(self.text)


class Points(NamedTuple):
    """A list; each point opens with a few words that say what it is about."""

    items: Sequence[tuple[str, str]]

    def html(self, image: str) -> str:
        return "<ul>\n" + "\n".join(f"<li><b>{_html(a)}</b> {_html(b)}</li>" for a, b in self.items) + "\n</ul>"

    def markdown(self, image: str) -> str:
        return "\n".join(f"- **{_markdown(a)}** {_markdown(b)}" for a, b in self.items)


class Grid(NamedTuple):
    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()
    numeric: bool = False  # all columns but the first are numbers

    def html(self, image: str) -> str:
        kind = "numbers" if self.numeric else "" if self.header else "glance"
        head = "".join(f'<th scope="col">{_html(cell)}</th>' for cell in self.header)
        top = f"<thead><tr>{head}</tr></thead>\n" if head else ""
        rows = "\n".join(
            f'<tr><th scope="row">{_html(first)}</th>{"".join(f"<td>{_html(cell)}</td>" for cell in rest)}</tr>'
            for first, *rest in self.rows
        )
        return f'<div class="scroll"><table class="{kind}">\n{top}<tbody>\n{rows}\n</tbody>\n</table></div>'

    def markdown(self, image: str) -> str:
        header = self.header or [""] * len(self.rows[0])
        rules = [":--", *("--:" if self.numeric else ":--" for _ in header[1:])]
        rows = [[_markdown(cell) for cell in row] for row in (header, *self.rows)]
        return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:]))


class Picture(NamedTuple):
    """The picture, what it shows by what, and what it shows for those who do not see it."""

    description: str
    words: str

    def html(self, image: str) -> str:
        caption = f"<figcaption>{escape(self.description)}</figcaption>"
        drawn = f'<div class="picture"><img src="{image}" alt="{escape(self.words)}"></div>'
        return f"<figure>\n{drawn}\n{caption}\n</figure>"

    def markdown(self, image: str) -> str:
        return f"![{_markdown(self.words)}](<{image}>)\n\n*{_markdown(self.description)}*"


class Turning(NamedTuple):
    """Landmarks in space that a reader turns by hand: for each the reference, the release, and xx, xy, xz, yy, yz, zz of the
    matrix of the ellipsoid about it.  Where scripts are off it is not there: the picture shows the same."""

    description: str
    solid: Sequence[Sequence[float]]
    links: Sequence[Sequence[int]] = ()  # pairs of landmarks that lines join

    def html(self, image: str) -> str:
        text, data = escape(self.description), escape(json.dumps(self.solid, separators=(",", ":")))
        look = f'data-solid="{data}" data-links="{json.dumps(self.links, separators=(",", ":"))}"'
        drawn = f'<svg viewBox="-130 -110 260 220" tabindex="0" role="img" aria-label="{text} {HOW}" {look}></svg>'
        caption = f"<figcaption>{text} {HOW}</figcaption>"
        return f"<figure hidden>\n{drawn}\n{caption}\n</figure>\n<script>{SCRIPT}</script>"

    def markdown(self, image: str) -> str:
        return ""


class Listing(NamedTuple):
    text: str

    def html(self, image: str) -> str:
        return f"<pre>{escape(self.text)}</pre>"

    def markdown(self, image: str) -> str:
        return f"```\n{printable(self.text, chr(10))}\n```"


Block = Paragraph | Points | Grid | Picture | Turning | Listing
Section = tuple[str, Sequence[Block]]  # a heading, or none, and what stands under it


def _html(text: str) -> str:
    """Text with nothing in it that HTML would take for its own; equations stay on one line."""
    if isinstance(text, Code):
        return f"<code>{escape(text)}</code>"
    return escape(text).replace(" = ", "\u00a0=\u00a0").replace("e^ε", "e<sup>ε</sup>")


def _markdown(text: str) -> str:
    """Text in which no sign means anything to Markdown, on one line."""
    if isinstance(text, Code):
        return f"`{printable(text)}`"
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", printable(" ".join(text.split())))


def to_markdown(title: str, sections: Sequence[Section], image: str) -> str:
    """The page in Markdown; ``image`` is where the picture lies."""
    parts = [f"# {_markdown(title)}"]
    for heading, blocks in sections:
        parts += [f"## {_markdown(heading)}"] if heading else []
        parts += [text for block in blocks if (text := block.markdown(image))]
    return "\n\n".join(parts) + "\n"


def to_html(title: str, sections: Sequence[Section], picture: bytes) -> str:
    """The page in HTML, with its picture and style inside."""
    image = "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
    body, policy = "", POLICY
    if any(isinstance(block, Turning) for _, blocks in sections for block in blocks):
        policy += f"; script-src 'sha256-{base64.b64encode(sha256(SCRIPT.encode()).digest()).decode('ascii')}'"
    for heading, blocks in sections:
        top = f"<h2>{_html(heading)}</h2>\n" if heading else ""
        body += f"<section>\n{top}" + "\n".join(block.html(image) for block in blocks) + "\n</section>\n"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


HOW = "Drag it, or press the arrow keys, to turn it."
SCRIPT = """
for (const svg of document.querySelectorAll("svg[data-solid]")) {
  const solid = JSON.parse(svg.dataset.solid), pairs = JSON.parse(svg.dataset.links);
  const layer = (tag, look, of = solid) => of.map((_, i) => {
    const made = document.createElementNS(svg.namespaceURI, tag);
    for (const name in look) made.setAttribute(name, look[name]);
    if (tag == "text") made.textContent = i + 1;
    return svg.appendChild(made);
  });
  const soft = layer("ellipse", {fill: "#c9a66b", "fill-opacity": .25, stroke: "#c9a66b", "stroke-width": .4});
  const link = layer("line", {stroke: "#8a8a8a", "stroke-width": .5});
  const old = layer("line", {stroke: "#8a8a8a", "stroke-width": .6, "stroke-dasharray": "1 1.5"}, pairs);
  const line = layer("line", {stroke: "#6b3f1d", "stroke-width": .8}, pairs);
  const before = layer("circle", {r: 1.6, fill: "#fff", stroke: "#8a8a8a", "stroke-width": .6});
  const dot = layer("circle", {r: 1.6, fill: "#6b3f1d"});
  const label = layer("text", {fill: "#6b3f1d", "font-size": 6, "font-family": "sans-serif"});
  const set = (made, values) => { for (const name in values) made.setAttribute(name, values[name].toFixed(3)); };
  let yaw = -.5, pitch = .35;
  const turn = () => {
    const s = Math.sin(yaw), c = Math.cos(yaw), t = Math.sin(pitch), d = Math.cos(pitch);
    const right = [c, 0, s], down = [-t * s, -d, t * c];
    const dots = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    solid.forEach((n, i) => {
      const a = n.slice(0, 3), b = n.slice(3, 6), x = dots(right, b), y = dots(down, b);
      const times = v => [[n[6], n[7], n[8]], [n[7], n[9], n[10]], [n[8], n[10], n[11]]].map(row => dots(row, v));
      const p = dots(right, times(right)), q = dots(right, times(down)), r = dots(down, times(down));
      const root = Math.hypot((p - r) / 2, q), half = sign => Math.sqrt(Math.max((p + r) / 2 + sign * root, 0));
      set(soft[i], {cx: x, cy: y, rx: half(1), ry: half(-1)});
      soft[i].setAttribute("transform", `rotate(${Math.atan2(2 * q, p - r) * 90 / Math.PI} ${x} ${y})`);
      set(link[i], {x1: dots(right, a), y1: dots(down, a), x2: x, y2: y});
      set(before[i], {cx: dots(right, a), cy: dots(down, a)});
      set(dot[i], {cx: x, cy: y});
      set(label[i], {x: x + 2.5, y: y - 2.5});
    });
    pairs.forEach((pair, i) => [old[i], line[i]].forEach((made, late) => {
      const [a, b] = pair.map(k => solid[k].slice(3 * late, 3 * late + 3));
      set(made, {x1: dots(right, a), y1: dots(down, a), x2: dots(right, b), y2: dots(down, b)});
    }));
  };
  let from = [0, 0];
  svg.addEventListener("pointerdown", event => {
    from = [event.clientX, event.clientY];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", event => {
    if (!event.buttons) return;
    yaw += (event.clientX - from[0]) / 100;
    pitch += (event.clientY - from[1]) / 100;
    from = [event.clientX, event.clientY];
    turn();
  });
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1], ArrowDown: [0, .1]}[event.key];
    if (step) { yaw += step[0]; pitch += step[1]; turn(); event.preventDefault(); }
  });
  turn();
  svg.parentElement.hidden = false;
}
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"  # a browser then loads nothing from the network
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
p, ul { margin: .7rem 0; } ul { padding-left: 1.2rem; } li { margin: .35rem 0; } sup { line-height: 0; font-size: .75em; }
figure { margin: 1.6rem 0; }
figure img { display: block; width: 100%; background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: 10px; }
figure svg { display: block; width: 100%; background: #fff; border: 1px solid var(--line); border-radius: 6px;
  cursor: grab; touch-action: none; user-select: none; }
.picture { overflow-x: auto; } @media (max-width: 36rem) { .picture img { width: 42rem; max-width: none; } }
figcaption { color: var(--quiet); font-size: .88rem; margin-top: .5rem; }
.scroll { overflow-x: auto; margin: .9rem 0; }
table { border-collapse: collapse; font-size: .92rem; width: 100%; font-variant-numeric: tabular-nums; }
table.numbers { width: auto; min-width: 50%; }
th, td { text-align: left; vertical-align: top; padding: .36rem .9rem .36rem 0; border-bottom: 1px solid var(--line); }
thead th, table.glance tbody th { color: var(--quiet); } th { font-weight: 400; } tbody th { white-space: nowrap; }
table.glance tbody th { width: 8rem; }
table.numbers td, table.numbers thead th + th { text-align: right; white-space: nowrap; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .86em; }
pre { background: var(--wash); border-radius: 6px; padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { :root { --paper: #fff; --ink: #000; --quiet: #555; --line: #ccc; --accent: #6b3f1d; --wash: #f5f5f5; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; } .scroll { overflow: visible; } @page { margin: 2cm; }
  h2 { break-after: avoid; } figure, tr, li, pre { break-inside: avoid; } figure img { max-height: 60vh; width: auto; } }
""".strip()


# -- notebooks ---------------------------------------------------------------------------------------------------------------
def notebook(picture: bytes, seen: str, words: str) -> str:
    """A picture, what it shows for those who do not see it, and paragraphs, as a notebook shows them."""
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    image = f'<img alt="{escape(seen)}" style="max-width:min(100%,60rem)" src="{source}">'
    return f'<div style="max-width:60rem">{image}{"".join(map(_told, filter(str.strip, words.splitlines())))}</div>'


def _told(line: str) -> str:
    """A paragraph whose first words, up to a colon, say what it is about."""
    about, colon, rest = line.partition(": ")
    short = colon and len(about) < 20
    return f"<p><b>{escape(about)}:</b> {escape(rest)}</p>" if short else f"<p>{escape(line)}</p>"


def notebook_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: str = "") -> str:
    """A table whose first column names the rows, with words below, as a notebook shows them.

    >>> notebook_table(("a",), [("1 < 2",)])
    '<table><tr><th style="text-align:left">a</th></tr><tr><td style="text-align:left">1 &lt; 2</td></tr></table>'
    """

    def row(cells: Sequence[str], tag: str) -> str:
        sides = (
            ["left"] + ["right"] * (len(cells) - 2) + ["left"]
        )  # numbers between what is named and what is said of it
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=False)
        )

    lines = [row(header, "th"), *(row(cells, "td") for cells in rows)]
    table = "".join(f"<tr>{line}</tr>" for line in lines if line)
    return f"<table>{table}</table>" + (f"<p>{escape(words)}</p>" if words else "")
