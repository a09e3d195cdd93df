"""A reader that a damaged file can crash runs in a process of its own, within a limit of memory and time.

HDF5's library ends the process at some damaged files, and what the pages of a Parquet file unpack to is known only when they
are.  Python can neither catch the one nor limit the other, so a second Python reads such files and hands the arrays back; if it
ends, the file is refused, and the next file gets a new one.  Nothing is pickled on the way.
"""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .base import FileError, allowed

Arrays = dict[str, NDArray[Any]]

PATIENCE = 60.0  # seconds, and one more for every ten megabytes
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from sfumato.files.apart import serve; serve()"
_lock = threading.Lock()
_server: tuple[int, subprocess.Popen[bytes]] | None = None  # with the process that it belongs to: a fork takes its own


def read_apart(reader: str, content: bytes) -> Arrays:
    """What ``reader``, a function "module:name" of this package from bytes to arrays, makes of the content.

    >>> read_apart("apart:one_array", b"12")
    {'bytes': array([49, 50], dtype=uint8)}
    """
    with _lock:
        server = _running()
        timer = threading.Timer(PATIENCE + len(content) / 1e7, server.kill)
        timer.start()
        try:
            assert server.stdin is not None and server.stdout is not None  # noqa: PT018
            _send(server.stdin, reader.encode(), content)
            answer, body = _receive(server.stdout)
        except (OSError, EOFError):
            _stop(server)
            raise FileError("the file is damaged: the program that reads such files failed or gave up on it") from None
        finally:
            timer.cancel()
    if answer == b"refused":
        raise FileError(body.decode())
    return unpacked(answer, body)


def one_array(content: bytes) -> Arrays:
    """The bytes themselves: for tests of the way there and back.

    >>> one_array(b"1")["bytes"].tolist()
    [49]
    """
    return {"bytes": np.frombuffer(content, dtype=np.uint8)}


def packed(arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, bytes]:
    """Names as JSON, and the arrays one after another as NPY.

    >>> {name: array.tolist() for name, array in unpacked(*packed({"a": np.eye(1)})).items()}
    {'a': [[1.0]]}
    """
    body = io.BytesIO()
    for array in arrays.values():
        np.save(body, array, allow_pickle=False)
    return json.dumps(list(arrays)).encode(), body.getvalue()


def unpacked(names: bytes, body: bytes) -> Arrays:
    """The arrays that :func:`packed` took.

    >>> unpacked(b"[]", b"")
    {}
    """
    source = io.BytesIO(body)
    return {str(name): np.load(source, allow_pickle=False) for name in json.loads(names)}


# -- the other process ---------------------------------------------------------------------------------------------------
def serve() -> None:
    """Answer requests from standard input until it ends."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    while True:
        try:
            name, content = _receive(source)
        except EOFError:
            return
        module, _, function = name.decode().partition(":")
        read = getattr(import_module(f".{module}", __package__), function)
        _limit_memory(4 * allowed(len(content)) + (512 << 20))
        try:
            answer = packed(read(content))
        except FileError as error:
            answer = b"refused", str(error).encode("utf-8", "replace")
        except MemoryError:
            answer = b"refused", b"the file is damaged, or needs more memory than its size explains"
        _send(target, *answer)


def _limit_memory(room: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc").is_dir() else 0
    )
    wanted = used + room
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _running() -> subprocess.Popen[bytes]:
    global _server
    if _server is None or _server[0] != os.getpid() or _server[1].poll() is not None:
        root = str(Path(__file__).parents[2])
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", _PROGRAM, root]
        _server = os.getpid(), subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    return _server[1]


def _stop(server: subprocess.Popen[bytes]) -> None:
    global _server
    _server = None
    server.kill()
    server.wait()
    for stream in (server.stdin, server.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # what was not yet written is of no use any more
                continue


def _send(stream: Any, first: bytes, second: bytes) -> None:
    stream.write(struct.pack("<QQ", len(first), len(second)) + first)
    stream.write(second)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> tuple[bytes, bytes]:
    first, second = struct.unpack("<QQ", _exactly(stream, 16))
    return _exactly(stream, first), _exactly(stream, second)


def _exactly(stream: BinaryIO | Any, size: int) -> bytes:
    found: bytes = stream.read(size)
    if len(found) != size:
        raise EOFError
    return found
