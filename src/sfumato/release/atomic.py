"""Files that are written whole or not at all."""

from __future__ import annotations

import fcntl
import glob
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: str | bytes, overwrite: bool = True) -> None:
    """Write a file whole or not at all: into a temporary file beside it, which is flushed to disk and then renamed.

    Without ``overwrite``, a file that exists is kept and a FileExistsError is raised, also if another process wrote it just
    now.  A process that is killed meanwhile can leave its temporary file, ``….part``; the next write to the same name removes
    it.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    _sweep(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # in use: _sweep must leave it
        with os.fdopen(handle, "wb") as file:
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)  # what any new file gets; temporary files are the owner's alone
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)
            os.unlink(temporary)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _flush_folder(path.parent)


def _sweep(path: Path) -> None:
    """Remove what killed writers of this target left: temporary files that no process holds."""
    for name in glob.glob(f"{glob.escape(str(path))}????????.part"):
        with suppress(OSError), open(name, "rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name)


def _flush_folder(folder: Path) -> None:
    """Flush the new name to disk too.  The file itself is there already, so it does no harm if the file system cannot."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_writable(path: Path, name: str) -> None:
    """Check that an output can be written, by making a file beside it, under two names, and removing it; ``name`` is what the
    user calls it.  What a process that is killed meanwhile leaves, the next write to the same name removes."""
    if path.is_symlink() and not path.exists():
        raise ValueError(f"{name}: is a link to a file that is not there; choose another name")
    left = list[Path]()
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        os.close(handle)
        left = [Path(temporary), path.with_name(f"{path.name}{secrets.token_hex(4)}.part")]
        os.link(*left)
    except OSError as error:
        words = (error.strerror or "permission refused").lower()
        raise ValueError(f"{name}: cannot be written ({words}); choose another name or folder") from None
    finally:
        for one in left:
            one.unlink(missing_ok=True)
