"""What the tests of the page share."""

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.files import write_points


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Some shapes, a public template, public specimens, a ledger; and the plan of a release."""
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(8) / 8
    template = np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)
    monkeypatch.chdir(tmp_path)
    for name, count in (("wings.tps", 120), ("public.tps", 20)):
        shapes = template + rng.normal(0, 0.04, (count, 8, 2))
        rows = ("".join(f"{x!r} {y!r}\n" for x, y in shape) for shape in shapes.tolist())
        Path(name).write_text("".join(f"LM=8\n{text}ID={i}\n" for i, text in enumerate(rows)))
    write_points("reference.tps", template, "landmarks")
    sf.Ledger.create("study.ledger", epsilon=3, dataset="wings")
    return tmp_path
