"""Every wish is one field: in the help, in what the page may send, and in the words of a fix."""

import re
import sys
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import sfumato as sf
from sfumato.app import cli
from sfumato.app.options import Grouped, taking
from sfumato.app.recipes import as_command
from sfumato.app.request import GROUPS, Request, as_option, from_page, wish, wish_of
from sfumato.errors import Fix, Refusal
from sfumato.views import plots


@dataclass(frozen=True)
class Wider(Request):
    colour: str = wish("", "Output", "release", "the colour", "Colour of the mean in pictures.")


def test_a_new_wish_is_one_field():
    app, seen = typer.Typer(rich_markup_mode=None), []

    @app.command(cls=Grouped)
    @taking("release", Wider)
    def release(request: Wider) -> None:
        seen.append(request)

    told = CliRunner().invoke(app, ["--help"]).output
    section = told[told.index("Output:") : told.index("More:")]
    assert "--colour TEXT" in section
    assert "Colour of the mean in pictures." in section
    result = CliRunner().invoke(app, ["wings.tps", "--epsilon", "1", "--colour", "blue"])
    assert result.exit_code == 0, result.output
    assert (seen[0].colour, seen[0].files, seen[0].epsilon) == ("blue", ("wings.tps",), 1.0)
    assert from_page({"colour": "blue"}, Wider).colour == "blue"
    assert "--colour blue" in as_command(from_page({"files": "wings.tps", "colour": "blue"}, Wider))
    with pytest.raises(ValueError, match="not known here: colour"):
        from_page({"colour": "blue"}, Request)


def test_the_help_lists_every_wish_in_its_group():
    for name in ("release", "compare", "plan", "inspect", "audit"):
        told = CliRunner().invoke(cli.app, [name, "--help"]).output
        told = told[re.search(rf"\n({'|'.join(GROUPS)}):\n", told).start() :]  # without the examples
        places = [told.find(f"\n{group}:\n") for group in GROUPS]
        assert [at for at in places if at >= 0] == sorted(at for at in places if at >= 0)
        for part in fields(Request):
            if name in wish_of(part).commands and part.name != "files":
                option = as_option(Fix(part.name, ...))
                listed = re.search(rf"\n  {option}\b(?!-)", told)
                assert listed is not None, (name, option)
                heads = re.findall(r"\n(\S.*):\n", told[: listed.start() + 1])
                assert heads[-1] == ("More" if wish_of(part).rare else wish_of(part).group), (name, option)
        few = told[: told.index("\nMore:\n")]
        assert len(re.findall(r"\n  (-v, )?--", few)) <= (16 if name == "release" else 18), name  # most people need few


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"public": "a", "center": "b"}, "leave out --center and --radius, or leave out --public"),
        ({"smooth": True, "open": True}, "--smooth and --open say different things"),
        ({"prior": "2", "steps": 2, "center": "b"}, "--steps 2 moves a region that is known"),
        ({"steps": 3}, "--steps 3 must be 1 or 2"),
    ],
)
def test_wishes_that_do_not_go_together(given, words):
    with pytest.raises(Refusal) as refused:
        Request(**given)
    assert words in refused.value.say(as_option)


@pytest.fixture
def wings(tmp_path):
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(8, 2))
    for name, n in (("wings.tps", 300), ("public.tps", 60)):
        shapes = (reference + rng.normal(0, 0.02, (n, 8, 2))).tolist()
        rows = ("".join(f"{x!r} {y!r}\n" for x, y in shape) for shape in shapes)
        (tmp_path / name).write_text("".join(f"LM=8\n{lines}ID={name}{i}\n" for i, lines in enumerate(rows)))
    sf.Ledger.create(tmp_path / "study.ledger", 10)
    return ("release", "wings.tps", "--public", "public.tps", "--ledger", "study.ledger", "--epsilon", "1")


@pytest.mark.parametrize("more", [[], ["--landmarks", "8"], ["--space", "shapes"]], ids=str)
def test_each_file_is_read_once_and_the_picture_drawn_once(sfumato, wings, monkeypatch, more):
    read, drawn = Counter(), []
    read_bytes, draw = Path.read_bytes, plots.draw

    def noted(path):
        read[path.name] += 1
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    monkeypatch.setattr(plots, "draw", lambda *told: (drawn.append(1), draw(*told))[1])
    code, _, err = sfumato(*wings, *more, "--plot", "mean.png", "--report", "mean.html", "--even-if-useless")
    assert code == 0, err
    assert (read["wings.tps"], read["public.tps"], len(drawn)) == (1, 1, 1)


def test_steps_are_reached_from_the_command_line(sfumato, wings):
    options = ("--steps", "2", "--even-if-useless")
    code, _, err = sfumato(*wings, *options)
    assert code == 0, err
    assert sf.Release.load("mean.json").chart.source.endswith("moved to a first release")
    code, out, err = sfumato("plan", *wings[2:4], "--n", "4000", "--epsilon", "1", "--steps", "2")
    assert code == 0, err
    assert "95% error" in out


def test_a_release_from_files_is_few_calls_between_modules(sfumato, wings):
    """Also with 360 specimens: what is done for each of them is done within one module."""
    count, home = 0, str(Path(sf.__file__).parent)
    sfumato(*wings, "--even-if-useless")  # everything is imported

    def look(frame, event, _):
        nonlocal count
        here, there = frame.f_code.co_filename, frame.f_back.f_code.co_filename if frame.f_back else ""
        count += event == "call" and here != there and here.startswith(home) and there.startswith(home)

    sys.setprofile(look)
    try:
        code, _, err = sfumato(*wings, "--even-if-useless", "--out", "again.json")
    finally:
        sys.setprofile(None)
    assert code == 0, err
    assert 100 < count <= 3000
