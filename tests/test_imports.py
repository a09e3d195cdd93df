"""Imports between rooms go down only, lazy ones included."""

import ast
from pathlib import Path

import sfumato

PACKAGE = Path(sfumato.__file__).parent
# From the bottom to the top.  A room may import from itself and from the lines above its own here.
ROOMS = [
    {"errors", "atomic", "shown", "_version"},
    {"numerics"},
    {"landmarks", "spaces"},
    {"files"},
    {"records"},
    {"means"},
    {"laws"},
    {"regions"},
    {"release"},
    {"mechanisms"},
    {"findings", "adapters"},
    {"sklearn"},
    {"views"},
    {"audit", "studies"},
    {"app"},
    {"__main__"},
]
LEVELS = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, anywhere in it, by their names below the package."""
    here = path.relative_to(PACKAGE).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
            names = [".".join(filter(None, base))]
            found |= {name or alias.name for name in names for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sfumato":
            found |= {alias.name for alias in node.names} if node.module == "sfumato" else {node.module[8:]}
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.partition(".")[2] or "" for alias in node.names if alias.name.split(".")[0] == "sfumato"
            }
    return found


def upward() -> set[tuple[str, str]]:
    """Return the pairs of a module and a room above its own, or beside it on the same line, that it imports from."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        room = module.partition(".")[0]
        if room == "__init__":  # the public names, each imported when it is first used
            continue
        for name in imports(path):
            other = sfumato._HOMES.get(name, f".{name}").split(".")[1]  # a public name is where it is defined
            if other and other != room and LEVELS.get(other, len(ROOMS)) >= LEVELS[room]:
                found.add((module, other))
    return found


def test_every_module_has_a_room():
    rooms = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__pycache__"} <= set(LEVELS)


def test_imports_go_down_only():
    assert upward() == set(), "these imports go up: move what they need to a lower room"


def test_the_guard_sees_lazy_and_relative_imports(tmp_path, monkeypatch):
    monkeypatch.setattr("test_imports.PACKAGE", tmp_path)
    (tmp_path / "spaces").mkdir()
    (tmp_path / "spaces" / "odd.py").write_text(
        "def f():\n    from ..views.words import x\n    from sfumato import cli\n"
    )
    assert upward() == {("spaces.odd", "views"), ("spaces.odd", "cli")}
