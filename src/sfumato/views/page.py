"""A page of plain blocks.  Each block writes itself in HTML and in Markdown, so that the two always say the same."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple


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
    description: str

    def html(self, image: str) -> str:
        text = escape(self.description)
        return f'<figure>\n<img src="{image}" alt="{text}">\n<figcaption>{text}</figcaption>\n</figure>'

    def markdown(self, image: str) -> str:
        return f"![{_markdown(self.description)}](<{image}>)\n\n*{_markdown(self.description)}*"


class Listing(NamedTuple):
    text: str

    def html(self, image: str) -> str:
        return f"<pre>{escape(self.text)}</pre>"

    def markdown(self, image: str) -> str:
        return f"```\n{self.text}\n```"


Block = Paragraph | Points | Grid | Picture | Listing
Section = tuple[str, Sequence[Block]]  # a heading, or none, and what stands under it


def _html(text: str) -> str:
    """Text with nothing in it that HTML would take for its own; equations stay on one line."""
    if isinstance(text, Code):
        return f"<code>{escape(text)}</code>"
    return escape(text).replace(" = ", "\u00a0=\u00a0").replace("e^ε", "e<sup>ε</sup>")


def _markdown(text: str) -> str:
    """Text in which no sign means anything to Markdown, on one line."""
    if isinstance(text, Code):
        return f"`{text}`"
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", " ".join(text.split()))


def to_markdown(title: str, sections: Sequence[Section], image: str) -> str:
    """The page in Markdown; ``image`` is where the picture lies."""
    parts = [f"# {_markdown(title)}"]
    for heading, blocks in sections:
        parts += [f"## {_markdown(heading)}"] if heading else []
        parts += [block.markdown(image) for block in blocks]
    return "\n\n".join(parts) + "\n"


def to_html(title: str, sections: Sequence[Section], picture: bytes) -> str:
    """The page in HTML, with its picture and style inside."""
    image = "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
    body = ""
    for heading, blocks in sections:
        top = f"<h2>{_html(heading)}</h2>\n" if heading else ""
        body += f"<section>\n{top}" + "\n".join(block.html(image) for block in blocks) + "\n</section>\n"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


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
