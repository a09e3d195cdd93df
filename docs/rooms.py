"""For MkDocs: the reference, made from the package at build, a page a room and one of the commands; folders in the navigation;
results of the proofs as links."""

import ast
import re
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "src" / "sfumato"
GIVEN = {  # what public functions give, and no room hands on
    "findings": [
        "sfumato.findings.groups.Difference",
        "sfumato.findings.classes.ClassMeans",
        "sfumato.findings.sites.Part",
    ],
    "regions": ["sfumato.regions.ball.FoundBall"],
    "release": ["sfumato.release.population.PopulationRegion"],
}
MENTION = re.compile(r"^#.*?$|(?<!\[)\bResult\s(\d+[a-z]?)\b", re.MULTILINE)
CODE = re.compile(r"(^```.*?^```|`[^`]*`)", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(
    r"([_^])(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\{[^{}]*\}|\|\w+\||[⊥∂Ω∞]+|−?[\d½]+|[^\W_¹²³⁴⁵⁶⁷⁸⁹⁰ᵀ]+'?)"
)
LETTERS = "*What the letters mean, and all results in a line each: [Proofs](index.md).*"


def exported(file: Path) -> list[tuple[str, str]]:
    """Return the names that a file hands on, each with the module that it comes from."""
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []
    listed = [ast.literal_eval(n.value) for n in body if isinstance(n, ast.Assign) and "__all__" in ast.unparse(n)]
    taken = [(one, n.module or "") for n in body if isinstance(n, ast.ImportFrom) and n.level == 1 for one in n.names]
    return [(one.name, home) for one, home in taken if (one.name in listed[0] if listed else one.asname)]


def rooms() -> dict[str, tuple[list[str], list[str]]]:
    """Return the names of each room: those of sfumato itself, functions first, and those that only the room hands on."""
    ours: dict[str, list[str]] = {}
    for name, home in exported(PACKAGE / "__init__.pyi"):
        ours.setdefault(home.split(".")[0], []).append(name)
    found = {}
    for room in sorted(path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_")):
        public = sorted(ours.get(room, []), key=lambda name: not name.islower())
        inner = [name for name, _ in exported(PACKAGE / room / "__init__.py") if not name.isupper()]
        more = [f"sfumato.{room}.{name}" for name in inner if name not in public] + GIVEN.get(room, [])
        if public or more:
            found[room] = [f"sfumato.{name}" for name in public], more
    return found


def said(room: str) -> str:
    """Return what the docstring of a room says, without its examples; drawings as they are."""
    file = next(path for path in (PACKAGE / f"{room}.py", PACKAGE / room / "__init__.py") if path.exists())
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    parts = [part for part in text.replace("``", "`").split("\n\n") if not part.startswith(">>>")]
    return "\n\n".join(f"```tree\n{part}\n```" if "├" in part else part for part in parts)


def room_page(room: str, public: list[str], more: list[str]) -> str:
    """Return the page of a room."""
    parts = [f"# {room}", said(room), *(f"::: {name}" for name in public)]
    if more:
        parts += [
            "## In the room itself",
            "Given back by functions, or for code of your own: import them from where they are.",
        ]
    return "\n\n".join([*parts, *(f"::: {name}" for name in more)])


def overview() -> str:
    """Return the first page of the reference: rooms and their names."""
    lead = (
        "What you can type after `import sfumato as sf`, room by room. Commands have [a page of their own][commands]."
    )
    lines = ["# Reference", "", lead, "", "| room | what is in it | names |", "| --- | --- | --- |"]
    for room, (public, more) in rooms().items():
        names = ", ".join(f"[`{name.split('.')[-1]}`][{name}]" for name in public or more)
        first = " ".join(said(room).partition("\n\n")[0].split())
        lines.append(f"| [{room}]({room}.md) | {first} | {names} |")
    return "\n".join(lines)


def described(command: Any, name: str) -> list[str]:
    """Return what a command says with ``--help``, its options as tables, and then the commands below it."""
    words = [part.replace("\n", " ") for part in (command.help or "").split("\n\n")]
    examples = [part.removeprefix("Example: ") for part in words if part.startswith("Example")]
    parts = [f"## {name}", *(part for part in words if not part.startswith("Example"))]
    parts += ["```\n" + "\n".join(examples) + "\n```"] if examples else []
    panels: dict[str, list[str]] = {}
    for one in command.params:
        if shown := one.get_help_record(typer.Context(command)):
            panel = getattr(one, "rich_help_panel", None) or "Options"
            taken, use = (cell.replace("|", "\\|") for cell in shown)
            rows = panels.setdefault(panel, [f"| {panel} | |", "| --- | --- |"])
            rows.append(f"| `{re.sub(' *<.*?>', '', taken)}` | {use} |")
    parts += ["\n".join(rows) for rows in panels.values()]
    parts += [command.epilog] if command.epilog else []
    below = getattr(command, "commands", {}).items()
    return parts + [part for deeper, one in below for part in described(one, f"{name} {deeper}")]


def opened(entries: list[Any]) -> list[Any]:
    """Return entries of the navigation with the pages of each folder in its place, in the order in which its index has them."""
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [{title: opened(below) if isinstance(below, list) else below} for title, below in entry.items()]
        elif entry.endswith("/"):
            index = overview() if entry == "reference/" else (DOCS / entry / "index.md").read_text(encoding="utf-8")
            found += dict.fromkeys(
                entry + name for name in ["index.md", *re.findall(r"\]\(([\w-]+\.(?:md|ipynb))\)", index)]
            )
        else:
            found.append(entry)
    return found


def on_config(config: MkDocsConfig) -> None:
    """Open the folders of the navigation."""
    config.nav = opened(config.nav or [])


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages of the reference."""
    from sfumato.app.cli import app

    pages = {room: room_page(room, *names) for room, names in rooms().items()}
    pages["index"] = overview()
    pages["commands"] = "\n\n".join(["# Commands", *described(typer.main.get_command(app), "sfumato")])
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))


def on_page_markdown(markdown: str, page: Page, **kwargs: Any) -> str:
    """Make mentions of results links; give each proof its formulas and an anchor by which it is found from everywhere."""
    place = Path(page.file.src_uri)
    parts = CODE.split(markdown)
    words = [MENTION.sub(lambda one: f"[{one[0]}][result-{one[1]}]" if one[1] else one[0], part) for part in parts[::2]]
    proof = place.parent.name == "proofs"
    parts[::2] = [scripts(part) for part in words] if proof or str(place) == "spaces.md" else words
    title, _, rest = "".join(parts).partition("\n")
    return (
        f"{title} {{ #{place.stem} }}\n\n{LETTERS}\n{rest}" if proof and place.stem != "index" else f"{title}\n{rest}"
    )


def scripts(text: str) -> str:
    """Return text in which what follows _ and ^ stands below and above the line."""

    def one(found: re.Match[str]) -> str:
        tag = "sub" if found[1] == "_" else "sup"
        inner = found[2][1:-1] if found[2][0] in "({" else found[2]
        return f"<{tag}>{scripts(inner).replace('<q', '&lt;q')}</{tag}>"

    return SCRIPT.sub(one, text)
