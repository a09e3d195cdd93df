"""A page of plain blocks, set in HTML or in Markdown, so that the two always say the same."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape


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


def to_html(title: str, sections: Sequence[Section], picture: bytes) -> str:
    """A page that is whole in itself."""
    image = "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
    body = "\n".join(_html_section(section, image) for section in sections)
    heading = escape(title)
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
def to_markdown(title: str, sections: Sequence[Section], image: str) -> str:
    """The same in Markdown; ``image`` is where the picture lies."""
    parts = [f"# {_plain(title)}"]
    for section in sections:
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
