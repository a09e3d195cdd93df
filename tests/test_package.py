"""The frame: names, imports, rooms, the demo."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import sfumato as sf
from sfumato.app.cli import main
from sfumato.spaces import SPACES


def test_every_public_name_is_there():
    for name in sf.__all__:
        assert getattr(sf, name) is not None
    assert set(sf.__all__) <= set(dir(sf))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sf.nothing  # noqa: B018


@pytest.fixture
def pyproject(pytestconfig):
    return tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text(encoding="utf-8"))


def test_extras_with_geomstats_exclude_a_numpy_without_trapz(pyproject):
    extras = {
        name: [Requirement(x) for x in needs] for name, needs in pyproject["project"]["optional-dependencies"].items()
    }
    (bound,) = (need.specifier for need in extras["peers"] if need.name == "numpy")
    assert bound.contains("2.3.5")
    assert not bound.contains("2.4.0")
    assert any("peers" in need.extras for need in extras["test"])


def test_the_licence_of_the_coastlines_is_beside_them_and_goes_into_the_wheel(pyproject, pytestconfig):
    """The build writes every file of license-files into the wheel's metadata."""
    named = [pytestconfig.rootpath / name for name in pyproject["project"]["license-files"]]
    (beside,) = (path for path in named if path.parent == pytestconfig.rootpath / "src" / "sfumato" / "views")
    assert "Permission to use, copy, modify, and/or distribute" in beside.read_text(encoding="utf-8")
    assert beside.with_suffix(".csv").read_text(encoding="utf-8").startswith("# Coastlines")
    assert "ISC" in pyproject["project"]["license"]


def test_the_page_of_an_index_has_no_picture_or_link_that_leads_nowhere(pyproject, pytestconfig):
    readme = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    assert "](docs/" in readme
    for change in pyproject["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        readme = re.sub(change["pattern"], change["replacement"], readme)
    assert re.findall(r"\]\((?!https:)", readme) == []
    assert "docs/trilobites.png" not in readme
    assert "*The mean of 265 private trilobite heads" not in readme
    assert "The documentation starts with installing it" in " ".join(readme.split())


def test_nobody_is_told_to_install_sfumato_from_an_index(pytestconfig):
    """It is on none: what stands there under this name one day would be another's."""
    root = pytestconfig.rootpath
    texts = [
        root / "README.md",
        *(root / "docs").rglob("*.md"),
        *(root / "src").rglob("*.py"),
        *(root / "attacks").rglob("*.py"),
    ]
    told = re.compile(r"pip install [^`\n]*\bsfumato\b")
    assert told.search("pip install 'sfumato[studio]'")
    assert [path.name for path in texts if told.search(path.read_text(encoding="utf-8"))] == []


def test_import_is_light():
    """No numerical library is loaded before it is needed."""
    code = "import sys, sfumato; print([m for m in ('scipy', 'matplotlib', 'randomgen', 'numba', 'ktch') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


PACKAGE = Path(sf.__file__).parent
MAY_KNOW_SPACES = ("spaces/", "laws/bounds/", "views/", "adapters/")


def switches(source):
    """Where code, not its documentation, names a class of a space or compares a space's name: line numbers."""
    ours = {kind.__name__ for kind in SPACES.values() if kind.__module__.startswith("sfumato.")}
    found = []
    for node in ast.walk(ast.parse(source)):
        names = {getattr(node, field, None) for field in ("id", "attr")}
        names |= {alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)}
        if isinstance(node, ast.Compare) and any(getattr(side, "attr", "") == "name" for side in ast.walk(node)):
            names |= {kind.__name__ for kind in SPACES.values() if repr(kind.name) in ast.unparse(node)}
        if names & ours:
            found.append(node.lineno)
    return found


def test_no_room_switches_on_a_space():
    """A new space is one file: elsewhere the package asks a space, and never which one it is."""
    assert switches("from sfumato import Sphere") == [1]
    assert switches("x = 1\nisinstance(space, sf.SPD)") == [2]
    assert switches("if space.name == 'sphere': pass") == [1]
    assert switches("if space.name in ('a', 'spd'): pass") == [1]
    assert switches("'isinstance(space, Sphere)'  # Sphere\nif study == 'sphere': pass") == []
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    known = {
        name: lines
        for name, path in files.items()
        if not name.startswith(MAY_KNOW_SPACES) and (lines := switches(path.read_text(encoding="utf-8")))
    }
    assert known == {}


def test_only_their_rooms_name_the_spaces_that_came_later():
    """Not even in words: the first four are examples everywhere, the others come and go with their files."""
    ours = {kind.__name__ for kind in SPACES.values() if kind.__module__.startswith("sfumato.")}
    later = re.compile(rf"\b({'|'.join(sorted(ours - {'Euclidean', 'Sphere', 'SPD', 'PlanarShapes'}))})\b")
    assert later.search("# as sf.Product does")
    assert not later.search("Products, a product, sf.Sphere")
    rooms = ("spaces/", "laws/bounds/", "views/")
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    elsewhere = {name: path.read_text(encoding="utf-8") for name, path in files.items() if not name.startswith(rooms)}
    assert [name for name, text in elsewhere.items() if later.search(text)] == []


def test_no_picture_touches_the_backend():
    """A user's own backend and figures are left alone."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "matplotlib.use" not in text, path
        assert "pyplot" not in text.replace("figures are made without pyplot", ""), path


def test_plan_touches_no_data_and_ranks():
    rows = sf.plan(sf.PlanarShapes(landmarks=50), radius=0.125, n=409, epsilon=1.0)
    assert [r.mechanism for r in rows] == ["tangent", "laplace", "kng", "exponential"]  # only the first is shrunk
    assert all(r.median_error < r.error_95 < r.to_beat for r in rows[:3])
    assert "as wide as the ball" in rows[3].refusal


def demo_output(capsys, monkeypatch, *words):
    """Run the demo; return what it prints."""
    monkeypatch.setattr(sys, "argv", ["sfumato", "demo", *words])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0
    return capsys.readouterr().out


def test_demo_writes_its_record_report_and_picture(tmp_path, capsys, monkeypatch):
    from sfumato.app import demo

    monkeypatch.chdir(tmp_path)
    said = demo_output(capsys, monkeypatch, "--epsilon", "2", "--out", "out")
    release = sf.Release.load("out/demo.json")
    assert (release.n, release.guarantee.epsilon, release.chart.look) == (265, 2.0, None)
    assert "Released the mean of 265 planar shapes of 88 landmarks; ε = 2 protects one trilobite." in said
    assert f"Within {release.error(0.95):.3g} (Procrustes distance at size 1) of the mean of the records" in said
    assert f"{release.gain:.2g} times nearer" in said
    assert "Serra et al. 2023" in said
    assert (tmp_path / "out" / "demo.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "out" / "demo.html").read_text(encoding="utf-8")
    assert "20 public heads and their mean (blue)" in page
    assert "CC BY 4.0" in page
    for name, heads in zip(("heads.tps", "public.tps"), demo.plates(demo.heads()), strict=True):
        assert np.array_equal(sf.read(tmp_path / "out" / name).points, heads)
    assert (tmp_path / "out" / "lines.txt").read_text().splitlines()[0] == "13-49"


def test_demo_has_wings_as_a_second_example(tmp_path, capsys, monkeypatch):
    from sfumato.app import demo

    monkeypatch.chdir(tmp_path)
    said = demo_output(capsys, monkeypatch, "--wings", "--epsilon", "2")
    assert "Released the mean of 100 planar shapes of 18 landmarks; ε = 2 protects one mosquito." in said
    record = json.loads((tmp_path / "demo-wings" / "demo.json").read_text())
    assert (record["n"], record["chart"]["look"]["share"]) == (100, 0.1)
    assert (tmp_path / "demo-wings" / "demo.png").read_bytes()[:4] == b"\x89PNG"
    data, reference = demo.wings()
    for name, wings in zip(("wings.tps", "public.tps"), demo.shared(data), strict=True):
        assert np.array_equal(sf.read(tmp_path / "demo-wings" / name).points, wings)
    assert np.array_equal(sf.read(tmp_path / "demo-wings" / "reference.tps").points, [reference])


def test_the_demo_s_public_heads_are_not_among_its_private_ones():
    from sfumato.app import demo

    data = demo.heads()
    private, public = demo.plates(data)
    assert (data.shape, len(private), len(public)) == ((285, 88, 2), 265, 20)
    assert len(np.unique(np.concatenate([private, public]).reshape(285, -1), axis=0)) == 285


def test_the_head_of_the_picture_is_upright_and_its_lines_cross_the_midline():
    from sfumato.app import demo

    half = demo.heads().mean(axis=0)
    turned, turn = demo._upright(half @ np.array([[0.6, 0.8], [-0.8, 0.6]]))
    assert np.allclose(turn @ turn.T, np.eye(2))
    assert np.linalg.det(turn) > 0
    assert np.abs(turned[demo.MIDLINE, 0]).max() < 0.02 * np.ptp(turned)
    assert turned[demo.MIDLINE[0], 1] > turned[demo.MIDLINE[-1], 1]
    assert turned[:, 0].max() > 10 * abs(turned[:, 0].min())  # a right half
    outline, *others = demo._mirrored(88)
    assert outline[0] == outline[-1]
    assert {i % 88 for line in (outline, *others) for i in line} == {i for pair in demo.LINKS for i in pair}


def test_the_reference_wing_is_not_among_the_data():
    from sfumato.app import demo

    data, reference = demo.wings()
    assert data.shape == (126, 18, 2)
    assert not (data == reference).all(axis=(1, 2)).any()


def test_demo_refuses_a_bad_budget_in_words(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["sfumato", "demo", "--out", str(tmp_path / "out"), "--epsilon", "-1"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "epsilon must be a positive number, between 1e-100 and 1e100, not -1.0" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_version_is_the_same_everywhere(pytestconfig):
    root = pytestconfig.rootpath
    assert metadata.version("sfumato") == sf.__version__  # as it was installed, from the same file
    assert f"\nversion: {sf.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {sf.__version__} - " in (root / "CHANGELOG.md").read_text(encoding="utf-8")
