"""The README's code and commands, as a reader types them."""

import re
import shlex
import sys

import pytest

import sfumato as sf
from sfumato.app import cli, demo


@pytest.fixture
def blocks(pytestconfig):
    """The code blocks of the README: what language, and the text."""
    text = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)


def test_the_python_of_the_readme_runs(blocks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in (text for language, text in blocks if language == "python"):
        exec(code, names)
    assert sf.Release.load("mean.json").value.shape == (5, 2)
    ball, region = (float(line) for line in capsys.readouterr().out.splitlines()[:2])
    assert region < ball / 2
    rows = names["sf"].plan(sf.PlanarShapes(landmarks=50), radius=0.125, n=409, epsilon=1.0)
    said = dict(re.findall(r"(\w+) (0\.\d{4}),", next(text for _, text in blocks if "to beat 0.125" in text)))
    assert {row.mechanism: f"{row.error_95:.4f}" for row in rows if not row.refusal} == said


def test_the_commands_of_the_readme_run(blocks, tmp_path, monkeypatch, capsys):
    """Where the demo has written its wings."""
    monkeypatch.chdir(tmp_path)
    demo.run(tmp_path, 1.0)
    text = "".join(text for language, text in blocks if not language).replace("\\\n", " ")
    commands = [line for line in text.splitlines() if line.startswith("sfumato ")]
    assert len(commands) >= 5
    for command in commands:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        assert code == 0, (command, capsys.readouterr().err)
    for name in ("wings.json", "wings.png", "wings.html", "ball-wings.json"):
        assert (tmp_path / name).exists()
