"""``make audit`` as a whole: it goes on where it was stopped, says whether it is complete, and covers what there is."""

import json
import os
import signal
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from attacks import __main__ as audit
from attacks import adversary, arenas, matrix, published, replay
from attacks.accounts import CLAIMS
from attacks.checks import ROWS, Case, Found, Row, Settings, judged, kept
from attacks.report import wrong_with
from sfumato.audit.trial import mechanisms
from sfumato.laws.bounds import bounds_of, has_bounds
from sfumato.laws.privacy import GDP
from sfumato.laws.sampling import secure_generator
from sfumato.mechanisms import MECHANISMS
from sfumato.spaces import all_spaces

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@pytest.fixture
def diary(tmp_path):
    """Where cases, which run in processes of their own, note that they ran."""
    return tmp_path / "diary"


@pytest.fixture
def sections(diary, monkeypatch):
    """Two sections; a case of the second kills its process."""

    def noted(name, held, words="as it should be"):
        def run():
            with diary.open("a") as file:
                file.write(f"{name}\n")
            if words == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            return Found(held, words)

        return run

    def fine(settings):
        return [
            Case("one", noted("one", True)),
            Case("two | three", noted("two", None, "no such thing here")),
            Case("half the noise", noted("half", False, "epsilon at least 2"), control=True),
        ]

    def bad(settings):
        return [
            Case("a finding", noted("finding", False)),
            Case("a blind eye", noted("blind", True), control=True),
            Case("dies", noted("dies", True, "dies")),
        ]

    monkeypatch.setattr(audit, "SECTIONS", {"fine": fine, "bad": bad})


def text(folder):
    return (folder / "REPORT.md").read_text()


@pytest.mark.usefixtures("sections")
def test_a_stopped_audit_goes_on_and_runs_no_case_twice(diary, tmp_path, capsys):
    assert audit.main(["--out", str(tmp_path), "--only", "fine"]) == 0
    assert "Not complete: 3 of bad to come" in text(tmp_path)
    with (tmp_path / ROWS).open("a") as file:  # killed in the middle of a line
        file.write('{"section": "bad", "na')
    assert audit.main(["--out", str(tmp_path), "--jobs", "1"]) == 1
    assert sorted(diary.read_text().split()) == ["blind", "dies", "finding", "half", "one", "two"]
    assert "**Complete.** 6 of 6 cases, 3 failed" in text(tmp_path)
    assert audit.main(["--out", str(tmp_path)]) == 1
    assert "6 cases, 6 of them done before; 0 to run." in capsys.readouterr().out
    assert len(diary.read_text().split()) == len((tmp_path / ROWS).read_text().splitlines()) == 6
    audit.main(["--out", str(tmp_path), "--cases", "one", "--again"])
    assert diary.read_text().split().count("one") == 2
    audit.main(["--out", str(tmp_path), "--cases", "one", "--seed", "7"])  # another seed: another row
    assert diary.read_text().split().count("one") == 3
    assert "Not complete: 2 of fine, 3 of bad to come" in text(tmp_path)


@pytest.mark.usefixtures("sections")
def test_the_report_says_what_was_found_by_which_code(tmp_path, capsys):
    audit.main(["--out", str(tmp_path), "--report", str(tmp_path / "REPORT.md")])
    assert "FAILED: bad: a finding; bad: a blind eye; bad: dies" in capsys.readouterr().out
    found = {row.name: row for row in kept(tmp_path)}
    assert found["dies"].words == "its process ended with code -9"
    assert [found[name].mark for name in ("one", "half the noise", "a blind eye")] == [
        "PASS",
        "CONVICTED",
        "FAIL: cleared",
    ]
    assert found["one"].commit == audit.commit()
    for line in (
        "| two \\| three | does not apply |  |  | no such thing here |",
        "| half the noise | CONVICTED |  |  | epsilon at least 2 |",
        "- bad: a blind eye: as it should be",
        "| [fine](#fine) | 3 | 3 | 1 | 0 | 1 | 1 of 1 | 0 | 0 | by controls |",
        "Seed 0, full strength.",
    ):
        assert line in text(tmp_path)
    with pytest.raises(SystemExit):
        audit.main(["--only", "nothing"])


@pytest.mark.usefixtures("sections")
def test_rows_of_other_code_are_dropped(diary, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(audit, "commit", lambda: "abc")
    audit.main(["--out", str(tmp_path), "--only", "fine"])
    audit.main(["--out", str(tmp_path), "--only", "fine"])
    assert diary.read_text().split().count("one") == 1
    monkeypatch.setattr(audit, "commit", lambda: "def")
    audit.main(["--out", str(tmp_path), "--only", "fine", "--cases", "one"])
    assert "3 rows of other code are dropped" in capsys.readouterr().out
    assert [(row.name, row.commit) for row in kept(tmp_path)] == [("one", "def")]
    assert "Not complete: 2 of fine, 3 of bad to come" in text(tmp_path)


def test_a_report_is_complete_of_the_code_that_it_names():
    """Also the one that is committed."""
    said = "**Complete.** 2 of 2 cases, 0 failed; 2 of them by the code `abc`; 1 minutes of a processor."
    rows = [Row("fine", name, False, "pass", "", commit="abc") for name in ("one", "two")]
    assert wrong_with(said, rows) == ""
    assert wrong_with(said, rows[:1]) == "it has 1 rows, and says 2 of 2"
    assert "1 of 2 rows are of other code" in wrong_with(said, [rows[0], replace(rows[1], commit="def")])
    dirty = [replace(row, commit="abc+12") for row in rows]
    assert wrong_with(said.replace("abc", "abc+12"), dirty) == "the code `abc+12` is not committed"
    folder = Path(__file__).parents[2] / "docs" / "audit"
    assert wrong_with(text(folder), kept(folder)) == ""


def test_what_could_not_have_been_convicted_does_not_pass():
    marks = [Row("draws", "x", False, "pass", "", {"power": power}).mark for power in (0.2, 0.5)]
    assert marks == ["no power", "PASS"]


def test_an_error_is_a_failure_also_of_a_control():
    for control in (False, True):
        row = judged("draws", Case("broken", lambda: 1 / 0, control))
        assert (row.outcome, row.words) == ("fail", "stopped by ZeroDivisionError: division by zero")
    assert json.loads(json.dumps(asdict(row)))["name"] == "broken"


# -- what is covered -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("quick", [False, True])
def test_every_section_has_cases_of_different_names_and_a_control(quick):
    for name, section in audit.SECTIONS.items():
        cases = section(Settings(quick))
        assert len({case.name for case in cases}) == len(cases), name
        assert any(case.control for case in cases), name
        assert not all(case.control for case in cases), name


def test_every_space_and_mechanism_is_attacked():
    """By draws all of them; the solver wherever there is a Laplace, and in nearly the largest ball."""
    ours = {kind.name for kind in all_spaces() if kind.__module__.startswith("sfumato.")}
    assert ours == set(arenas.SPACES)
    for quick in (False, True):
        drawn = {case.name for case in audit.SECTIONS["draws"](Settings(quick))}
        solved = {case.name for case in audit.SECTIONS["solver"](Settings(quick))}
        seen = set()
        for name, (space, _) in arenas.SPACES.items():
            assert space.name == name
            for mechanism in mechanisms(arenas.ball_on(name), 1.0):
                assert f"by draws: {mechanism.name} on {space}" in drawn
                seen.add(mechanism.name)
            if has_bounds(space):
                assert {
                    f"{space}, {part} of the largest radius: every split" for part in ("0.5", "0.9", "0.999")
                } <= solved
            if has_bounds(space) and not bounds_of(space).is_flat:
                wide = {
                    f"by draws: {kind} on {space}, nearly the largest ball"
                    for kind in ("kng", "laplace", "exponential")
                }
                assert wide <= drawn
        assert seen == set(MECHANISMS)


def test_every_finding_is_attacked_as_one_output():
    named = {
        "compare_groups": "both groups",
        "private_components": "components",
        "private_regression": "regression",
        "private_variance": "variance with spread",
        "private_size": "mean and variance of sizes",
        "PrivateMDM": "means of classes, units with both",
        "find_region": "region, then mean",
        "private_radius": "radius",
    }
    released = {name for name in sf.__all__ if name.startswith(("private_", "compare_", "find_"))} - {"private_mean"}
    assert released <= set(named)
    assert all(hasattr(sf, name) for name in named)
    assert set(named.values()) <= {case.name for case in audit.SECTIONS["joint"](Settings())}


def test_every_mechanism_space_and_public_function_is_replayed_for_every_kind_of_privacy():
    assert [claim.symbols for claim in CLAIMS] == [kind for kind in ("ε", "εδ", "ρ", "μ") for _ in range(3)]
    replayed = {case.name for case in audit.SECTIONS["matrix"](Settings())}
    for name, (space, _) in arenas.SPACES.items():
        for mechanism in mechanisms(arenas.ball_on(name), 1.0):
            assert (f"{mechanism.name} on {space}" in replayed) == matrix.has_formula(mechanism)
    source = Path(replay.__file__).read_text()
    released = {name for name in sf.__all__ if name.startswith(("private_", "compare_", "find_"))}
    for name in {*released, "combine", "PrivateMDM", "Study"} - {"private_scalar"}:
        assert f"sf.{name}" in source, name


# -- sections that have no test file of their own -------------------------------------------------------------------------
def test_the_adversary_is_judged_by_its_ratio():
    assert adversary.ratio(lambda: 1 + 1e-9).held
    assert not adversary.ratio(lambda: 1.01).held
    controls = [case.name for case in adversary.cases(Settings()) if case.control]
    assert controls == [name for name in controls if "as run" in name] != []


def test_published_mechanisms_are_convicted_and_the_page_says_so():
    """The worst of them, by few draws; `make audit` does all."""
    names = {entry.name: entry for entry in published.ENTRIES}
    assert not published.tried(names["radius from the data"], 4000, seed=2).held
    assert not published.tried(names["Reimherr 2021: reach of the data"], 4000, seed=2).held
    assert published.tried(names["Jiang 2026: wrapped normal noise"], 20_000, seed=2).held
    assert published.gaussian_sigma(1.0, 0.1, wrong=False) / published.gaussian_sigma(1.0, 0.1, wrong=True) > 4
    assert GDP(published.simulated_mu(0.2, 0.2, secure_generator())).profile(1.0) > 0.05
    numbers = {
        "lower": 8.8, "convicted": True, "power": 8.8, "pair": "one record", "event": "above", "hits": 9, "misses": 1,
        "draws": 10,
    }  # fmt: skip
    rows = {name: Row("published", name, True, "pass", "", numbers, commit="abc") for name in names}
    text = published.verdicts(rows)
    assert all(f"| {name} |" in text for name in names)
    assert "None of this is a claim about a package" in text
    assert published.picture(rows)[:4] == b"\x89PNG"
    page = (Path(__file__).parents[2] / "docs" / "field.md").read_text()
    assert all(f"| {name} |" in page for name in names)  # what `python -m attacks.published` wrote


def test_the_noise_for_records_1_apart_is_too_small_for_records_2_apart():
    """Exactly: the descent ends as a normal number, whose shift and spread are formulas."""
    promise = published.PROMISED
    assert GDP(published.descent_mu(20)).profile(promise.epsilon) > 3 * promise.delta
    assert GDP(published.descent_mu(300)).profile(promise.epsilon) > promise.delta
    assert GDP(published.descent_mu(300, published.ENOUGH)) <= promise
    rng = np.random.default_rng(1)
    (pair,) = published.on_the_line()
    first, second = (published.descent(data, 400_000, rng) for data in (pair.first, pair.second))
    found = (first.mean() - second.mean()) / np.sqrt((first.var() + second.var()) / 2)
    assert found == pytest.approx(published.descent_mu(20), abs=6 * np.sqrt(2 / 400_000))
    assert abs(found - published.descent_mu(20, published.ENOUGH)) > 6 * np.sqrt(2 / 400_000)


def test_seven_of_ten_starts_lie_outside_a_ball_of_diameter_1():
    logs = np.log(1 + np.random.default_rng(2).random((100_000, 2)))
    assert np.mean(np.linalg.norm(logs, axis=1) > 0.5) == pytest.approx(0.7, abs=0.01)


def test_tables_go_into_the_page(tmp_path):
    (tmp_path / "x.png").write_bytes(b"picture")
    (tmp_path / "REPORT.md").write_text("# Title\n\nWords.\n\nMade by `me`.\n\n## Paper\n\n![Paper](x.png)\n\n| a |\n")
    figures = tmp_path / "field"
    figures.mkdir()
    parts = published.tables(tmp_path, figures)
    assert parts == {"origin": "Made by `me`.", "x": "![Paper](field/x.png)\n\n| a |"}
    assert (figures / "x.png").read_bytes() == b"picture"
    page = "<!-- origin --><!-- end of origin -->\nprose\n<!-- x -->old<!-- end of x -->\n"
    again = published.filled(published.filled(page, parts), parts)
    assert again == published.filled(page, parts)
    assert "old" not in again
    assert "prose" in again
    with pytest.raises(ValueError, match="no place for y"):
        published.filled(page, {"y": "new"})
