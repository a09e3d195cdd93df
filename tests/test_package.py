"""The frame: names, imports, the demo."""

import json
import subprocess
import sys

import numpy as np
import pytest

import sfumato as sf


def test_every_public_name_is_there():
    for name in sf.__all__:
        assert getattr(sf, name) is not None
    assert set(sf.__all__) <= set(dir(sf))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sf.nothing  # noqa: B018


def test_import_is_light():
    """No numerical library is loaded before it is needed."""
    code = "import sys, sfumato; print([m for m in ('scipy', 'matplotlib', 'randomgen', 'numba', 'ktch') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_plan_touches_no_data_and_ranks():
    rows = sf.plan(sf.PlanarShapes(landmarks=50), radius=0.125, n=409, epsilon=1.0)
    assert [r.mechanism for r in rows] == ["laplace", "kng", "exponential"]
    assert all(r.median_error < r.error_95 for r in rows[:2])
    assert "as wide as the ball" in rows[2].refusal


def test_demo_writes_its_record_and_picture(tmp_path, capsys, monkeypatch):
    from sfumato import demo

    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(tmp_path / "out"), "--epsilon", "2"])
    demo.main()
    record = json.loads((tmp_path / "out" / "mean.json").read_text())
    assert record["n"] == 126
    assert record["guarantee"]["epsilon"] == 2.0
    assert (tmp_path / "out" / "mean.png").read_bytes()[:4] == b"\x89PNG"
    assert "2-differentially private" in capsys.readouterr().out
    data, reference = demo.wings()
    assert np.array_equal(sf.read(tmp_path / "out" / "wings.tps").points, data)
    assert np.array_equal(sf.read(tmp_path / "out" / "reference.tps").points, [reference])


def test_the_reference_wing_is_not_among_the_data():
    from sfumato import demo

    data, reference = demo.wings()
    assert data.shape == (126, 18, 2)
    assert not (data == reference).all(axis=(1, 2)).any()


def test_demo_refuses_a_bad_budget_in_words(monkeypatch, capsys, tmp_path):
    from sfumato import demo

    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(tmp_path / "out"), "--epsilon", "-1"])
    with pytest.raises(SystemExit) as caught:
        demo.main()
    assert caught.value.code == 2
    assert "epsilon must be a positive number, between 1e-100 and 1e100, not -1.0" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_version_is_the_same_everywhere(pytestconfig):
    import tomllib

    root = pytestconfig.rootpath
    assert tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == sf.__version__
    assert f"\nversion: {sf.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {sf.__version__} - " in (root / "CHANGELOG.md").read_text(encoding="utf-8")
