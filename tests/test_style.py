"""Rules of the house that a linter does not know: size and complexity of functions, one statement a line, no words as data."""

import ast
import re
from pathlib import Path

import pytest
from radon.complexity import cc_visit

import sfumato

PACKAGE = Path(sfumato.__file__).parent
FILES = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
MOST_LINES = 37_078  # may only be lowered
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+\b")
REGIONS = {"Ball", "Ellipsoid", "FoundBall", "ModelSketch", "SampleSketch", "Region"}


def functions(source):
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function):
    """Return the number of lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def complex_functions(source):
    blocks = [inner for block in cc_visit(source) for inner in (getattr(block, "methods", None) or [block])]
    return sorted({block.name for block in blocks if block.complexity > 15})


def tuple_assignments(source):
    """Return the lines that assign a tuple to a tuple: several statements in one."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assign)]
    return [n.lineno for n in nodes if isinstance(n.value, ast.Tuple) and isinstance(n.targets[0], ast.Tuple)]


def region_switches(source):
    """Return the lines that ask which kind of region something is."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    asked = [call for call in calls if getattr(call.func, "id", "") == "isinstance"]
    return [
        c.lineno for c in asked if {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(c.args[1])} & REGIONS
    ]


def options(source):
    """Return the options of the command line that a source names, in code, words and comments; not CSS."""
    return OPTION.findall(re.sub(r"var\(--\w+\)|--\w+: #", "", source))


def everywhere(rule, but=()):
    return {name: bad for name, text in FILES.items() if not name.startswith(tuple(but)) and (bad := rule(text))}


def test_the_rules_see_what_they_forbid():
    assert complex_functions("def f(x):\n" + "    if x: pass\n" * 16) == ["f"]
    assert complex_functions("class A:\n  def f(self, x):\n" + "    if x: pass\n" * 16) == ["f"]
    assert [length(f) for f in functions('def f():\n    """Words\n\n    more."""\n    a = 1\n    return a\n')] == [2]
    assert tuple_assignments("a, b = f()\nc, d = 1, 2\n") == [2]
    assert region_switches("isinstance(x, Space)\nisinstance(x, Ball | Ellipsoid)\nisinstance(x, sf.Ball)") == [2, 3]
    assert options("give --unit-column subject  # --force\n# -- a line ---\nvar(--paper) --paper: #fff") == [
        "--unit-column",
        "--force",
    ]


def test_no_function_is_complex():
    assert everywhere(complex_functions) == {}


def test_no_function_is_long():
    assert everywhere(lambda text: [f.name for f in functions(text) if length(f) > 60]) == {}


def test_one_statement_a_line():
    assert everywhere(tuple_assignments) == {}


def test_only_regions_ask_which_kind_a_region_is():
    assert everywhere(region_switches, but=["regions/"]) == {}


def test_only_the_fronts_name_options():
    assert everywhere(options, but=["app/"]) == {}


def test_the_package_stays_small():
    lines = sum(text.count("\n") for text in FILES.values()) + (PACKAGE / "__init__.pyi").read_text().count("\n")
    if lines > MOST_LINES:
        pytest.fail(f"src/sfumato has {lines} lines, above {MOST_LINES}: look for what is said twice")
