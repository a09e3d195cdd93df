"""A page of plain blocks.  Each block writes itself in HTML and in Markdown, so that the two always say the same."""

import base64
import json
import re
from collections.abc import Sequence
from hashlib import sha256
from html import escape as html_escape
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from ..atomic import write_atomically
from ..errors import printable

PNG = "data:image/png;base64,"
SCRIPT = files(__package__).joinpath("turning.js").read_text(encoding="utf-8")  # turns landmarks in space
STYLE = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
HOW = "Drag it, or press the arrow keys, to turn it."
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"  # a browser then loads nothing from the network


def escape(text: str) -> str:
    """Return text as HTML and SVG may hold it: without signs of theirs, and without control characters."""
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
        plain = "" if self.header else "glance"
        kind = "numbers" if self.numeric else plain
        head = "".join(f'<th scope="col">{_html(cell)}</th>' for cell in self.header)
        top = f"<thead><tr>{head}</tr></thead>\n" if head else ""
        rows = "\n".join(
            f'<tr><th scope="row">{_html(first)}</th>{"".join(f"<td>{_html(cell)}</td>" for cell in rest)}</tr>'
            for first, *rest in self.rows
        )
        table = f'<table class="{kind}">\n{top}<tbody>\n{rows}\n</tbody>\n</table>'
        return f'<div class="scroll" tabindex="0">{table}</div>'

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
        dots = int.from_bytes(base64.b64decode(image.removeprefix(PNG)[:32])[16:20])  # two a pixel, from its head
        drawn = f'<img src="{image}" alt="{escape(self.words)}" width="{dots // 2}">'
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
        text = escape(self.description)
        data = escape(json.dumps(self.solid, separators=(",", ":")))
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


class Page(NamedTuple):
    """What is said about a result: beside its picture, and below."""

    title: str
    caption: str  # what the picture shows by what
    opening: Sequence[Block]
    sections: Sequence[Section]


def _html(text: str) -> str:
    """Return text with nothing in it that HTML would take for its own; equations stay on one line."""
    if isinstance(text, Code):
        return f"<code>{escape(text)}</code>"
    return escape(text).replace(" = ", "\u00a0=\u00a0").replace("e^ε", "e<sup>ε</sup>")


def _markdown(text: str) -> str:
    """Return text in which no sign means anything to Markdown, on one line."""
    if isinstance(text, Code):
        return f"`{printable(text)}`"
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", printable(" ".join(text.split())))


def to_markdown(title: str, sections: Sequence[Section], image: str) -> str:
    """Return the page in Markdown; ``image`` is where the picture lies."""
    parts = [f"# {_markdown(title)}"]
    for heading, blocks in sections:
        texts = [text for block in blocks if (text := block.markdown(image))]
        parts += [f"## {_markdown(heading)}", *texts] if heading and texts else texts
    return "\n\n".join(parts) + "\n"


def to_html(title: str, sections: Sequence[Section], picture: bytes) -> str:
    """Return the page in HTML, with its picture and style inside; what has a heading is folded."""
    image = PNG + base64.b64encode(picture).decode("ascii")
    body = ""
    policy = POLICY
    if any(isinstance(block, Turning) for _, blocks in sections for block in blocks):
        policy += f"; script-src 'sha256-{base64.b64encode(sha256(SCRIPT.encode()).digest()).decode('ascii')}'"
    for heading, blocks in sections:
        inside = "\n".join(block.html(image) for block in blocks)
        folded = f"<details>\n<summary><h2>{_html(heading)}</h2></summary>\n{inside}\n</details>\n"
        body += folded if heading else f"{inside}\n"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def write_page(path: Path, title: str, sections: Sequence[Section], image: bytes) -> None:
    """Write a page as .html with its picture inside, or as .md with it beside; each whole or not at all."""
    if path.suffix.lower() not in (".html", ".md"):
        raise ValueError(f"reports are written as .html or .md, not {path.suffix or 'without an ending'!r}: {path}")
    if path.suffix.lower() == ".html":
        write_atomically(path, to_html(title, sections, image))
        return
    beside = path.with_suffix(".png")
    text = to_markdown(title, sections, beside.name)
    write_atomically(beside, image)
    write_atomically(path, text)


# -- notebooks ---------------------------------------------------------------------------------------------------------------
def notebook(picture: bytes, seen: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return a picture, what it shows for those who do not see it, and paragraphs that open with what they are about."""
    source = f"{PNG}{base64.b64encode(picture).decode()}"
    image = f'<img alt="{escape(seen)}" style="max-width:min(100%,60rem)" src="{source}">'
    paragraphs = (f"<p>{f'<b>{escape(about)}:</b> ' if about else ''}{escape(text)}</p>" for about, text in facts)
    return f'<div style="max-width:60rem">{image}{"".join(paragraphs)}</div>'
