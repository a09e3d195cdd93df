"""A reader that a damaged file can crash runs in a process of its own, within a limit of memory and time.

Some damaged files make HDF5's library end the process, and how much a Parquet file unpacks to is known only afterwards.
Python can neither catch the one nor limit the other, so a second Python process reads such files and sends the arrays back.
If it ends, the file is refused, and the next file gets a new process.  Nothing is pickled on the way.
"""

import io
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import FileError, allowed

Arrays = dict[str, NDArray[Any]]

READ_SECONDS = 60.0  # seconds, and one more for every ten megabytes
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from sfumato.files.apart import serve; serve(int(sys.argv[2]))"


class _Server(NamedTuple):
    owner: int  # the process that it belongs to: a fork takes its own
    process: subprocess.Popen[bytes]
    line: Connection


_lock = threading.Lock()
_server: _Server | None = None


def read_apart(reader: str, content: bytes) -> Arrays:
    """Return what ``reader``, a function "module:name" of this package from bytes to arrays, makes of the content."""
    with _lock:
        server = _running()
        try:
            server.line.send_bytes(reader.encode())
            server.line.send_bytes(content)
            if not server.line.poll(READ_SECONDS + len(content) / 1e7):
                raise EOFError
            answer, body = (server.line.recv_bytes(_room(content)) for _ in range(2))
        except (OSError, EOFError):
            server.process.kill()  # the next file gets another
            server.process.wait()
            server.line.close()
            raise FileError("the file is damaged: the program that reads such files failed or gave up on it") from None
    if answer == b"refused":
        raise FileError(body.decode())
    source = io.BytesIO(body)
    return {str(name): np.load(source, allow_pickle=False) for name in json.loads(answer)}


def _room(content: bytes) -> int:
    """Return bytes that reading it may take, and that the answer may have."""
    return 4 * allowed(len(content)) + (512 << 20)


def _running() -> _Server:
    global _server
    if _server is None or _server.owner != os.getpid() or _server.process.poll() is not None:
        here, there = socket.socketpair()
        with there:
            command = [sys.executable, "-c", _PROGRAM, str(Path(__file__).parents[2]), str(there.fileno())]
            quiet = subprocess.DEVNULL  # what a library prints is no answer
            process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=[there.fileno()])
        _server = _Server(os.getpid(), process, Connection(here.detach()))
    return _server


# -- the other process ---------------------------------------------------------------------------------------------------
def serve(descriptor: int) -> None:
    """Answer requests until the line is closed: names as JSON, and the arrays one after another as NPY."""
    line = Connection(descriptor)
    while True:
        try:
            name = line.recv_bytes().decode()
            content = line.recv_bytes()
        except EOFError:
            return
        read = resolve_name(f"{__package__}.{name}")
        _limit_memory(_room(content))
        body = io.BytesIO()
        try:
            arrays: Arrays = read(content)
            for array in arrays.values():
                np.save(body, array, allow_pickle=False)
            line.send_bytes(json.dumps(list(arrays)).encode())
            line.send_bytes(body.getvalue())
        except (FileError, MemoryError) as error:
            swollen = "the file is damaged, or needs more memory than its size explains"
            line.send_bytes(b"refused")
            line.send_bytes((str(error) if isinstance(error, FileError) else swollen).encode("utf-8", "replace"))


def _limit_memory(room: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    wanted = used + room
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
