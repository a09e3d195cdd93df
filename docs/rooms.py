"""For MkDocs: the reference, made from the package at build, a page a room and one of the commands; folders in the navigation;
results of the proofs as links."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PACKAGE = Path(__file__).parents[1] / "src" / "sfumato"
GIVEN = {  # what public functions give, and no room hands on
    "findings": ["sfumato.findings.groups.Difference", "sfumato.findings.classes.ClassMeans"],
    "regions": ["sfumato.regions.ball.FoundBall"],
    "release": ["sfumato.release.population.PopulationRegion"],
}
MENTION = re.compile(r"(?<![\[\w])Result (\d+[a-z]?)\b(?!\])")
HERE = "*What the letters mean, and all results in a line each: [Proofs](index.md).*"


def exported(file: Path) -> list[tuple[str, str]]:
    """Return the names that a file hands on, each with the module that it comes from."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    listed = [
        ast.literal_eval(n.value)
        for n in tree.body
        if isinstance(n, ast.Assign) and "__all__" in ast.unparse(n.targets)
    ]
    taken = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.level == 1 and n.module]
    every = [(alias, node.module or "") for node in taken for alias in node.names]
    return [(a.name, home) for a, home in every if a.name in (listed[0] if listed else [a.asname])]


def rooms() -> dict[str, tuple[list[str], list[str]]]:
    """Return the names of each room: those of sfumato itself, and those that only the room hands on."""
    ours: dict[str, list[str]] = {}
    for name, home in exported(PACKAGE / "__init__.pyi"):
        ours.setdefault(home.split(".")[0], []).append(name)
    found = {}
    for path in sorted(PACKAGE.iterdir()):
        public = sorted(ours.get(path.stem, []), key=lambda name: not name.islower())  # functions, then classes
        inner = (
            [name for name, _ in exported(path / "__init__.py")] if path.is_dir() and path.name != "__pycache__" else []
        )
        more = [f"sfumato.{path.stem}.{name}" for name in inner if name not in public and not name.isupper()]
        if path.stem[0] != "_" and (public or more):
            found[path.stem] = [f"sfumato.{name}" for name in public], more + GIVEN.get(path.stem, [])
    return found


def said(room: str) -> str:
    """Return what the docstring of a room says, without its examples; drawings as they are."""
    file = PACKAGE / f"{room}.py"
    text = ast.get_docstring(
        ast.parse((file if file.exists() else PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    )
    parts = [part for part in (text or "").replace("``", "`").split("\n\n") if not part.startswith(">>>")]
    return "\n\n".join(f"```\n{part}\n```" if "├" in part else part for part in parts)


def room_page(room: str, public: list[str], more: list[str]) -> str:
    """Return the page of a room."""
    where = "`import sfumato as sf`: each name below is `sf.` and the name." if public else ""
    parts = [f"# {room}", said(room), where, *(f"::: {name}" for name in public)]
    if more:
        parts += [
            "## In the room itself",
            "Given back by functions, or for code of your own: import them from where they are.",
        ]
        parts += [f"::: {name}" for name in more]
    return "\n\n".join(part for part in parts if part)


def overview() -> str:
    """Return the first page of the reference: rooms and their names."""
    rows = ["| room | what is in it | names |", "| --- | --- | --- |"]
    for room, (public, more) in rooms().items():
        links = ", ".join(f"[`{name.split('.')[-1]}`][{name}]" for name in public or more)
        first = " ".join(said(room).partition("\n\n")[0].split())
        rows.append(f"| [{room}]({room}.md) | {first} | {links} |")
    lead = "What you can type after `import sfumato as sf`, room by room; and [the commands](commands.md)."
    return "\n".join(["# Reference", "", lead, "", *rows])


def command_page() -> str:
    """Return what every command says with ``--help``, as tables."""
    from sfumato.app.cli import app

    return "\n\n".join(["# Commands", *described(typer.main.get_command(app), "sfumato")])


def described(command: Any, name: str) -> list[str]:
    """Return a command, its options in their groups, and the commands below it."""
    words = [part.replace("\n", " ") for part in (command.help or "").split("\n\n")]
    parts = [f"## {name}" if name != "sfumato" else "", *(part for part in words if not part.startswith("Example"))]
    examples = [part.removeprefix("Example: ") for part in words if part.startswith("Example")]
    parts.append("```\n{}\n```".format("\n".join(examples)) if examples else "")
    panels: dict[str, list[str]] = {}
    for one in command.params:
        if shown := one.get_help_record(typer.Context(command)):
            panel = getattr(one, "rich_help_panel", None) or "Options"
            taken, words = (cell.replace("|", "\\|") for cell in shown)
            rows = panels.setdefault(panel, [f"| {panel} | |", "| --- | --- |"])
            rows.append(f"| `{re.sub(' *<.*?>', '', taken)}` | {words} |")
    parts += ["\n".join(rows) for rows in panels.values()]
    parts.append(command.epilog or "")
    for deeper, one in getattr(command, "commands", {}).items():
        parts += described(one, f"{name} {deeper}")
    return [part for part in parts if part]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder where the navigation names it: in the order in which its index names them."""
    folder = Path(config.docs_dir)
    made = [f"reference/{room}.md" for room in rooms()]

    def opened(entry: Any) -> list[Any]:
        if isinstance(entry, dict):
            return [{title: spread(inner) if isinstance(inner, list) else inner} for title, inner in entry.items()]
        if entry == "reference/":
            return ["reference/index.md", *made]
        if not entry.endswith("/"):
            return [entry]
        text = (folder / entry / "index.md").read_text(encoding="utf-8")
        return [
            f"{entry}index.md",
            *dict.fromkeys(f"{entry}{name}" for name in re.findall(r"\]\(([\w-]+\.(?:md|ipynb))\)", text)),
        ]

    def spread(entries: list[Any]) -> list[Any]:
        return [each for entry in entries for each in opened(entry)]

    config.nav = spread(config.nav or [])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    pages = {room: room_page(room, *names) for room, names in rooms().items()}
    for name, text in {"index": overview(), "commands": command_page(), **pages}.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **kwargs: Any) -> str:
    """Make mentions of results links, and give each proof an anchor by which it is found from everywhere."""
    place = Path(page.file.src_uri)
    lines = markdown.split("\n")
    if place.parent.name == "proofs" and place.stem != "index":
        lines[0] += f" {{ #{place.stem} }}"
        lines[1:1] = ["", HERE]
    link = r"[Result \1][result-\1]"
    return "\n".join(line if line.startswith(("#", "    ")) else MENTION.sub(link, line) for line in lines)
