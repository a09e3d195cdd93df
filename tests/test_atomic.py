"""Files that are written whole or not at all, beside other processes and on poorer file systems."""

from __future__ import annotations

import fcntl
import os

import pytest

from sfumato import atomic
from sfumato.atomic import check_writable, write_atomically


@pytest.mark.parametrize("overwrite", [True, False])
def test_another_writer_takes_no_file_that_is_in_use(overwrite, tmp_path, monkeypatch):
    """Another process sweeps when the file is made but not locked yet."""
    path, swept, flock = tmp_path / "mean.json", [], fcntl.flock

    def meanwhile(file, how):
        if not swept and how & fcntl.LOCK_SH:
            swept.append(True)
            atomic._sweep(path)
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", meanwhile)
    write_atomically(path, "whole", overwrite)
    assert swept
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_between_flushing_and_naming_a_file_is_still_in_use(tmp_path, monkeypatch):
    path, replace = tmp_path / "mean.json", os.replace
    monkeypatch.setattr(os, "replace", lambda *names: (atomic._sweep(path), replace(*names)))
    write_atomically(path, "whole")
    assert path.read_text() == "whole"


def test_what_a_killed_writer_left_is_removed(tmp_path):
    left, other = tmp_path / "mean.json0123abcd.part", tmp_path / "mean.jpeg0123abcd.part"
    left.touch()
    other.touch()
    write_atomically(tmp_path / "mean.json", "whole")
    assert (left.exists(), other.exists()) == (False, True)


def test_a_file_system_without_hard_links(tmp_path, monkeypatch):
    """As on a memory stick: a link is refused as Linux refuses it there."""

    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    path = tmp_path / "mean.json"
    check_writable(path, "--out mean.json")
    write_atomically(path, "whole", overwrite=False)
    with pytest.raises(FileExistsError):
        write_atomically(path, "other", overwrite=False)
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]
