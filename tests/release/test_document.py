"""Every saved thing is one JSON file with its SHA-256, made once for one save, and refused in words where it is damaged."""

import json
import shutil

import pytest

import sfumato as sf
from release.e5d94c3.make_records import HERE, load
from sfumato.findings.classes import ClassMeans
from sfumato.release.document import Document
from sfumato.release.record import Record, SpaceOf

SAVED = {
    "kng": (sf.Release, "release record"),
    "comparison": (sf.Comparison, "comparison"),
    "components": (sf.Components, "record of components"),
    "classes-one-each": (ClassMeans, "record of class means"),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_again_is_the_same_file(name, tmp_path):
    load(HERE / f"{name}.json").save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (HERE / f"{name}.json").read_bytes()
    with pytest.raises(FileExistsError):
        load(HERE / f"{name}.json").save(tmp_path / "again.json", overwrite=False)


@pytest.mark.parametrize("name", SAVED)
def test_a_document_is_made_once_for_one_save(name, tmp_path, monkeypatch):
    found = load(HERE / f"{name}.json")
    made = []
    content = SAVED[name][0].content
    monkeypatch.setattr(SAVED[name][0], "content", lambda self: (made.append(self), content(self))[1])
    found.save(tmp_path / "again.json")
    assert len([one for one in made if one is found]) == 1


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[: len(text) // 2], "this is not a {noun}: line"),
        (lambda text: "[" * 100_000, "this is not a {noun}: "),
        (lambda text: "[1]", "this is not a {noun}: it does not say"),
        (lambda text: text.replace("sfumato", "other", 1), "this is not a {noun}: it does not say"),
        (lambda text: json.dumps({"format": json.loads(text)["format"]}), "this {noun} is incomplete or altered"),
        (lambda text: text.replace('"sha256": "', '"sha256": "0'), "this {noun} was altered since it was saved"),
    ],
)
def test_damage_is_said_in_words(name, change, said, tmp_path):
    kind, noun = SAVED[name]
    (tmp_path / "found.json").write_text(change((HERE / f"{name}.json").read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(sf.RecordError, match=rf"found\.json: {said.format(noun=noun)}"):
        kind.load(tmp_path / "found.json")


def test_files_in_another_layout_are_the_same(tmp_path):
    for name in SAVED:
        shutil.copy(HERE / f"{name}.json", tmp_path)
        path = tmp_path / f"{name}.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(document))
        assert load(path).sha256 == document["sha256"]


def test_all_saved_things_are_documents():
    assert all(issubclass(kind, Document) for kind, _ in SAVED.values())
    assert not issubclass(Record, Document)


def test_a_space_is_looked_up_once():
    space = SpaceOf.of(sf.Sphere(dim=2))
    assert space.known is space.known is space.required
    unknown = SpaceOf("nowhere", {}, "")
    assert unknown.known is None
    with pytest.raises(ValueError, match="the space 'nowhere' is not known here"):
        _ = unknown.required
