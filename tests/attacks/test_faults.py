"""A fast part of ``make audit``: hostile files, faults and randomness, each with a check that it would find a fault."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from attacks import Broken, broken, faults, fuzz, randomness
from sfumato.atomic import check_writable, write_atomically

# -- files ---------------------------------------------------------------------------------------------------------------
FILES = {"mat73": 100, "r": 150}


@pytest.mark.parametrize("name", fuzz.READERS)
def test_hostile_files_are_read_or_refused(name, tmp_path):
    files = FILES.get(name, 200)
    outcome = fuzz.run(fuzz.READERS[name], files, seed=1, out=tmp_path)
    assert [finding.what for finding in outcome.findings] == []
    assert outcome.read + outcome.refused == files
    assert outcome.refused > files / 2
    assert outcome.read > 0
    assert outcome.megabytes < 400


def careless(path, index):
    if index % 5 == 4:
        while True:
            pass
    broken.read_carelessly(path, index % 5)


def test_the_fuzzer_finds_what_is_wrong(tmp_path, monkeypatch):
    """A reader that raises, crashes, takes all memory, speaks unprintably and hangs is convicted of each."""
    monkeypatch.setattr(fuzz, "CPU_SECONDS", 0.2)
    reader = replace(fuzz.READERS["tps"], open=careless)
    outcome = fuzz.run(reader, 10, seed=1, out=tmp_path)
    words = ["KeyError", "ends the process (-11)", "MemoryError", "cannot be printed", "hangs"]
    assert all(word in finding.what for word, finding in zip(2 * words, outcome.findings, strict=True))
    assert outcome.files == 10
    assert all(finding.file.exists() for finding in outcome.findings)
    assert fuzz.mutant(reader, 1, 30) == fuzz.mutant(reader, 1, 30) != fuzz.mutant(reader, 2, 30)


def test_what_the_fuzzer_requires_of_a_record(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b,c,d\n1,2,3,4\n")
    fuzz._open_data(tmp_path / "a.csv", 0)
    whole = sf.read(tmp_path / "a.csv")
    broken = sf.Dataset(whole.points, "vectors", "CSV", {"id": np.array(["a", "b"])}, whole.path)
    monkeypatch.setattr("sfumato.files.read", lambda *arguments, **options: broken)
    with pytest.raises(Broken, match="label 'id'"):
        fuzz._open_data(tmp_path / "a.csv", 0)


def test_the_fuzzer_as_a_command(tmp_path, capsys):
    assert fuzz.main(["--reader", "npy,nts", "--files", "50", "--out", str(tmp_path)]) == 0
    assert "npy           50 files: " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        fuzz.main(["--reader", "docx"])


def test_a_missing_engine_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "has_atheris", lambda: False)
    with pytest.raises(SystemExit, match="pip install atheris"):
        fuzz.run_atheris(fuzz.READERS["npy"], 1, 0, tmp_path)


# -- faults ----------------------------------------------------------------------------------------------------------------
LIGHT = ["ledger charge", "ledger create", "release.save"]
ONCE = {
    "sfumato release": ("second writer", "no room: size limit"),
    "report, Markdown": ("read-only folder",),
    "study store": ("kill -9 at each step", "cut file", "flipped bit"),
}


@pytest.mark.parametrize("name", [*LIGHT, *ONCE])
def test_faults_leave_old_or_new(name):
    operation = next(one for one in faults.operations() if one.name == name)
    for fault in ONCE.get(name, faults.FAULTS):
        found = faults.cell(operation, fault, seed=1, quick=True)
        assert found.held is not False, f"{fault}: {found.words}"


WRONG = {
    ("a writer in place", "kill -9 at each step"): "neither the old nor the new",
    ("a writer in place", "no room: size limit"): "neither the old",
    ("a ledger that forgets", "second writer"): "the charges do not add up",
    ("a ledger that forgets", "flipped bit"): "no damage was noticed",
    ("a ledger that forgets", "read-only folder"): "it wrote to a folder that is read-only",
}


@pytest.mark.parametrize(("name", "fault"), WRONG)
def test_the_matrix_finds_what_is_not_kept(name, fault):
    operation = next(one for one in faults.controls() if one.name == name)
    found = faults.cell(operation, fault, seed=1, quick=True)
    assert found.held is False
    assert WRONG[name, fault] in found.words


def test_a_killed_writer_is_tidied_up_after(tmp_path):
    release = faults._release()
    (tmp_path / "mean.json12345678.part").write_text("left by a killed process")
    (tmp_path / "other.json12345678.part").write_text("of another file")
    release.save(tmp_path / "mean.json")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mean.json", "other.json12345678.part"]
    with pytest.raises(FileExistsError):
        release.save(tmp_path / "mean.json", overwrite=False)
    assert len(list(tmp_path.iterdir())) == 2


def test_an_altered_record_is_refused_from_a_file(tmp_path):
    path = tmp_path / "mean.json"
    faults._release().save(path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document))  # laid out otherwise: the same record
    assert sf.Release.load(path).record["n"] == 50
    lost = {**document, "sha257": document["sha256"]}
    del lost["sha256"]  # a bit was flipped in the name of the sum
    for altered in ({**document, "n": 51}, lost):
        path.write_text(json.dumps(altered))
        with pytest.raises(
            ValueError, match=r"mean.json: this release record was altered since it was saved; take another copy"
        ):
            sf.Release.load(path)
    del lost["sha257"]  # a record without a sum, as to_json gives it
    path.write_text(json.dumps(lost))
    assert sf.Release.load(path).record["n"] == 50


@pytest.mark.parametrize("name", fuzz._hostile_release())
def test_hostile_records_are_refused(name, tmp_path):
    path = tmp_path / "mean.json"
    path.write_bytes(fuzz._hostile_release()[name])
    with pytest.raises(ValueError, match=r"mean\.json: "):
        sf.Release.load(path)


# -- randomness --------------------------------------------------------------------------------------------------------------
def test_no_release_uses_a_generator_of_numpy(monkeypatch):
    done = randomness.forbidden()
    assert len(done) >= 20
    for name in ("KNG", "ManifoldLaplace", "ManifoldStaircase", "Exponential", "AmbientLaplace", "PointwiseLaplace"):
        assert any(one.startswith(name) for one in done)
    for careless in (np.random.default_rng, np.random.RandomState, lambda: np.random.normal(size=3)):  # noqa: NPY002
        seeded = randomness.without_numpy_random()
        with seeded, pytest.raises(Broken):
            (getattr(np.random, careless.__name__) if hasattr(np.random, careless.__name__) else careless)()
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: np.random.default_rng(1))
    with pytest.raises(Broken, match="a generator of NumPy was used"):
        randomness.forbidden()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_processes_and_threads_never_share_a_stream(monkeypatch):
    monkeypatch.undo()  # keys come from the operating system again
    for draw in (randomness.keys, randomness.released):
        found = randomness.streams(draw, processes=3, threads=3)
        assert len(found) == len(set(found)) == 1 + 3 * 4
    shared = np.random.default_rng(1)  # what a generator kept from one release to the next would do
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: shared)
    found = randomness.streams(randomness.released, processes=3, threads=1)
    assert len(set(found)) < len(found)


def test_damage_is_what_it_says():
    chance = random.Random(1)
    content = Path(__file__).read_bytes()[:2000]
    made = {fuzz.damaged(content, chance, [b"other"], True, (b"word",)) for _ in range(200)}
    assert len(made) > 150
    assert content not in made or len(made) > 1
    archive = fuzz._npz()[0]
    assert fuzz._in_zip(archive, lambda member: member)[:2] == b"PK"
    assert fuzz._in_gzip(b"plain", bytes.upper) == b"PLAIN"


def test_what_a_trial_of_writing_leaves_refuses_nothing(tmp_path, monkeypatch):
    """Killed between making its file and removing it: the next trial succeeds, and the next write removes what was left."""
    with monkeypatch.context() as killed:
        killed.setattr(Path, "unlink", lambda *arguments, **options: None)
        check_writable(tmp_path / "mean.json", "--out mean.json")
    assert len(list(tmp_path.iterdir())) == 1
    check_writable(tmp_path / "mean.json", "--out mean.json")
    write_atomically(tmp_path / "mean.json", "whole")
    assert [file.name for file in tmp_path.iterdir()] == ["mean.json"]
