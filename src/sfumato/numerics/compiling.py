"""Numba's compiler with a cache that never fails: one that is damaged or full is passed over, and where none can be kept, loops
are compiled in every process.  To be loaded by ``compiled``: it raises an ImportError where Numba compiles nothing."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("Numba is told to compile nothing (NUMBA_DISABLE_JIT)")

# nobody calls loops from C: a wrapper for that would add a tenth to the time of compiling
ALWAYS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


class _Private(UserWideCacheLocator):
    """A folder for temporary files that nobody else may read or write, for users without a home: what is kept there is code."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)
        self._cache_path = str(private_folder() / self.get_suitable_cache_subpath(file))


def private_folder() -> Path:
    """Return a folder of this user alone, or raise an OSError if someone else could have put something there."""
    folder = Path(os.environ.get("TMPDIR") or "/tmp", f"sfumato-{os.getuid()}")
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    above = folder.parent.stat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    if not ours or (above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX):
        raise PermissionError(f"{folder} is not a folder of this user alone")
    return folder


class _Files(CompileResultCacheImpl):
    """Where files may be, in turn; a user without a name has no home, and Numba would take "~" for a folder of that name."""

    _home = [UserWideCacheLocator] if os.path.isabs(os.path.expanduser("~")) else []
    _locator_classes = [UserProvidedCacheLocator, InTreeCacheLocator, *_home, _Private]  # noqa: RUF012


class _Cache(FunctionCache):
    """Numba's cache, without which a loop is compiled.  Nothing that is wrong with its files may end a release, and a damaged
    pickle raises whatever it likes: all errors are caught here, and the file is replaced."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)


def compiling(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that makes a function a compiled loop, kept on disk where that is possible."""

    def made(function: Any) -> Any:
        loop = numba.njit(**ALWAYS, **options)(function)
        with suppress(OSError, RuntimeError):  # there is no folder for it
            loop._cache = _Cache(function)  # where Numba's own cache=True puts its own
        return loop

    return made
