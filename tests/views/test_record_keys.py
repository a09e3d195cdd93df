"""The dictionary of a record's keys, docs/record.md, has every key and no other."""

import json
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np

import sfumato as sf

TEXT = (Path(__file__).parents[2] / "docs" / "record.md").read_text(encoding="utf-8")
EXPLAINED = re.findall(r"^\| `([\w.]+)` \| \w", TEXT, re.MULTILINE)


def keys(kind, start=""):
    """Return the keys of a dataclass as a file has them, with those of its parts."""
    hints = get_type_hints(kind)
    for part in fields(kind):
        yield start + part.name
        for inner in (hints[part.name], *get_args(hints[part.name])):
            if is_dataclass(inner):
                yield from keys(inner, f"{start}{part.name}.")


def test_the_documentation_has_every_key_of_a_record_and_no_other(tmp_path):
    known = {"format", "sha256", *keys(sf.Release)} - {"additions"}
    assert len(EXPLAINED) == len(set(EXPLAINED))
    assert set(EXPLAINED) == known
    ball = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], radius=1.0)
    sf.private_mean(np.zeros((200, 2)), ball, 1.0, mechanism="tangent").save(tmp_path / "mean.json")
    written = json.loads((tmp_path / "mean.json").read_text(encoding="utf-8"))
    assert set(written) <= known
    assert {f"guarantee.{key}" for key in written["guarantee"]} <= known
