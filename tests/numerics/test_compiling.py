"""Compiled loops where Numba's cache cannot be kept, is damaged or full, and where Numba does not load: releases go on."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import numba
import pytest

import sfumato
from sfumato.numerics.compiling import compiling, private_folder

NOBODY = 65534
RELEASE = """
import sys, numpy as np, sfumato as sf
points = np.random.default_rng(0).normal(size=(6000, 3)) * 0.1 + [0, 0, 1]
points /= np.linalg.norm(points, axis=1)[:, None]
release = sf.private_mean(points, sf.Ball(sf.Sphere(2), [0, 0, 1], 0.5), 1.0)
kernels = sys.modules.get("sfumato.numerics.kernels")
print(release.record["n"], kernels and kernels.sphere_moments.stats.cache_path)
"""


def plus(x):
    return x + 1.0


def called():
    """Call the loop in a new dispatcher, as a new process would; how often it was found in the cache."""
    loop = compiling()(plus)
    assert loop(1.0) == 2.0
    return sum(loop.stats.cache_hits.values())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for Numba's cache, by the environment: the compiler reads that again whenever it has changed."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    numba.config.reload_config()
    yield tmp_path
    monkeypatch.undo()
    numba.config.reload_config()


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda held: held[: len(held) // 2], lambda _: b"", lambda held: b"?" * len(held)])
def test_a_damaged_cache_is_replaced(ending, damage, cache):
    assert [called(), called()] == [0, 1]
    (file,) = cache.rglob(f"*.{ending}")
    file.write_bytes(damage(file.read_bytes()))
    assert [called(), called()] == [0, 1]


def test_a_private_folder_is_of_one_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = private_folder()
    assert (folder.parent, stat.S_IMODE(folder.stat().st_mode)) == (tmp_path, 0o700)
    assert private_folder() == folder
    tmp_path.chmod(0o777)  # where everybody may rename it
    with pytest.raises(PermissionError):
        private_folder()
    tmp_path.chmod(0o1777)
    assert private_folder() == folder
    folder.chmod(0o750)
    with pytest.raises(PermissionError):
        private_folder()
    folder.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        private_folder()
    folder.unlink()
    folder.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        with pytest.raises(PermissionError):
            private_folder()


LOOP = """
from sfumato.numerics.compiling import compiling
@compiling()
def plus(x):
    return x + 1.0
"""


def released(code=RELEASE, prefix=(), folder=Path(sfumato.__file__).parents[1], **settings):
    """Run code in a process of its own, as a rule a release: how many records, and where its loops are kept."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    done = subprocess.run(
        [*prefix, sys.executable, "-c", code],
        env=kept | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"} | settings,
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def read_only(tmp_path):
    """An installation, and a home, that may be read but not written; root must first give up the right to write anywhere."""
    prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.getuid() == 0 else ()
    if prefix and shutil.which(prefix[0]) is None:
        pytest.skip("root may write everywhere, and there is no setpriv to give that up")
    installed = tmp_path / "installed"
    shutil.copytree(Path(sfumato.__file__).parent, installed / "sfumato", ignore=lambda *_: ["__pycache__"])
    (installed / "loop.py").write_text(LOOP)
    folders = [installed, *(one for one in installed.rglob("*") if one.is_dir())]
    for one in folders:
        one.chmod(0o555)
    yield partial(released, prefix=prefix, folder=installed, HOME=str(installed), XDG_CACHE_HOME=str(installed))
    for one in folders:
        one.chmod(0o755)


def test_a_release_in_a_read_only_installation_without_a_home(read_only, tmp_path):
    """Loops are kept in a private folder; where there is none, they are not kept."""
    assert read_only(TMPDIR=str(tmp_path)).startswith(f"6000 {tmp_path}/sfumato-{os.getuid()}/")
    assert list(tmp_path.rglob("*sphere_moments*.nbc"))
    loop = "import loop; print(loop.plus(1.0), loop.plus.stats.cache_path)"
    assert read_only(loop, TMPDIR="/nonexistent") == "2.0 None"


def test_a_full_cache_is_none(cache):
    """No file may grow beyond nothing, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, usual[1]))
        assert [called(), called()] == [0, 0]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert not [file for file in cache.rglob("*") if file.is_file()]
    assert [called(), called()] == [0, 1]


@pytest.mark.parametrize("how", ["broken", "disabled"])
def test_a_release_where_numba_compiles_nothing(how, tmp_path):
    """NumPy does the same; llvmlite raises an OSError where its library is missing."""
    (tmp_path / "numba.py").write_text("raise OSError('Could not find/load shared object file')")
    if how == "disabled":
        assert released(NUMBA_DISABLE_JIT="1") == "6000 None"
    else:
        assert released(f"import sys; sys.path.insert(0, {str(tmp_path)!r}){RELEASE}") == "6000 None"
