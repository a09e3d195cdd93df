"""Files that are written whole or not at all."""

import errno
import fcntl
import glob
import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: str | bytes, overwrite: bool = True, mode: int = 0o666) -> None:
    """Write a file whole or not at all: into a temporary file beside it, which is flushed to disk and then renamed.

    Without ``overwrite``, a file that exists is kept and a FileExistsError is raised, also if another process wrote it just
    now.  A process that is killed meanwhile can leave its temporary file, ``….part``; the next write to the same name removes
    it.  ``mode`` says who may read and write a new file, as far as the user's umask allows.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    _sweep(path)
    while not _written(path, content, overwrite, mode):
        pass
    _flush_folder(path.parent)


def _written(path: Path, content: str | bytes, overwrite: bool, mode: int) -> bool:
    """Write the file, and say whether that was done: False if another process took the temporary file for a killed writer's."""
    temporary = _beside(path)  # known before there is such a file, so that whatever happens, it is removed
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            with suppress(OSError):  # a file system without locks, where _sweep removes nothing
                fcntl.flock(file, fcntl.LOCK_SH)  # in use: _sweep leaves it from here on
            if not temporary.exists():
                return False
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
            if overwrite:
                os.replace(temporary, path)
            else:
                _name(temporary, path)
    finally:
        with suppress(OSError):  # it has its name, or another process removed it
            temporary.unlink()
    return True


def _name(temporary: Path, path: Path) -> None:
    """Give a file its name, or raise a FileExistsError."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "exists already", str(path)) from None
    except OSError:  # a file system without hard links: the name is taken by an empty file, which is then replaced
        path.open("xb").close()
        os.replace(temporary, path)


def _beside(path: Path) -> Path:
    """Return the name of a temporary file beside a file, as :func:`_sweep` looks for it."""
    return path.with_name(f"{path.name}{secrets.token_hex(4)}.part")


def _sweep(path: Path) -> None:
    """Remove what killed writers of this target left: temporary files that no process holds."""
    for name in glob.glob(f"{glob.escape(str(path))}{'[0-9a-f]' * 8}.part"):
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
    """Check that an output can be written, by making a file beside it and removing it; ``name`` is what the user calls it.
    What a process that is killed meanwhile leaves, the next write to the same name removes."""
    if path.is_symlink() and not path.exists():
        raise ValueError(f"{name}: is a link to a file that is not there; choose another name")
    temporary = _beside(path)
    try:
        temporary.open("xb").close()
    except OSError as error:
        words = (error.strerror or "permission refused").lower()
        raise ValueError(f"{name}: cannot be written ({words}); choose another name or folder") from None
    finally:
        with suppress(OSError):
            temporary.unlink()
