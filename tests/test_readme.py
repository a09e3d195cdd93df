"""The README's code and commands, as a reader types them."""

import math
import re
import shlex
import sys

import pytest

import sfumato as sf
from sfumato.app import cli, demo
from sfumato.views.words import guesses


@pytest.fixture
def blocks(pytestconfig):
    """The code blocks of the README: what language, and the text."""
    text = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)


@pytest.fixture
def demonstrated(tmp_path, monkeypatch):
    """Work where the demo has written its heads."""
    demo.run(tmp_path, 1.0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_of_the_readme_runs(blocks, demonstrated, capsys):
    names = {}
    for code in (text for language, text in blocks if language == "python"):
        exec(code, names)
    assert names["release"].value.shape == (88, 2)
    assert (demonstrated / "again.png").exists()
    rows = names["sf"].plan(sf.PlanarShapes(landmarks=50), radius=0.125, n=409, epsilon=1.0)
    said = dict(re.findall(r"(\w+) (0\.\d{4}),", next(text for _, text in blocks if "to beat 0.125" in text)))
    assert {row.mechanism: f"{row.error_95:.4f}" for row in rows if not row.refusal} == said


def test_the_commands_of_the_readme_run(blocks, demonstrated, monkeypatch, capsys):
    text = "".join(text for language, text in blocks if not language).replace("\\\n", " ")
    commands = [line for line in text.splitlines() if line.startswith("sfumato ")]
    assert len(commands) >= 5
    for command in commands:
        monkeypatch.setattr(sys, "argv", shlex.split(command, comments=True))
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        assert code == 0, (command, capsys.readouterr().err)
    for name in ("heads.json", "heads.png", "heads.html", "again.json"):
        assert (demonstrated / name).exists()


def test_a_guess_is_right_as_often_as_the_readme_says(pytestconfig, demonstrated):
    """By e^ε/(1 + e^ε) for any mechanism, and as the demo's own release says."""
    text = " ".join((pytestconfig.rootpath / "README.md").read_text(encoding="utf-8").split())
    for epsilon in (1.0, 0.1):
        right = math.ceil(100 / (1 + math.exp(-epsilon)))
        assert re.search(rf"{right}( of 100 cases)? with ε = {epsilon:g}\b", text)
    mu = sf.Release.load("demo.json").guarantee.mu
    assert f"the noise of the release above lets at most {guesses(mu)} be right." in text


def test_the_figures_below_the_picture_are_those_of_the_demo(pytestconfig):
    text = " ".join((pytestconfig.rootpath / "README.md").read_text(encoding="utf-8").split())
    (caption,) = re.findall(r"\*The mean of 265 [^*]*\*", text)
    private, public = demo.plates(demo.heads())
    region = sf.Ellipsoid.from_sample(sf.PlanarShapes(landmarks=88), public, relation="same")
    row = sf.plan(region, n=len(private), epsilon=1.0)[0]
    assert f"within {row.error_95:.2g} of the release" in caption
    assert f"expected to be {row.gain:.2g} times nearer" in caption
    assert "Serra et al. 2023" in caption


def test_the_readme_is_short(pytestconfig):
    assert len((pytestconfig.rootpath / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
