"""``python -m attacks --only randomness``: every release draws from the secure generator, and no two share a stream."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from attacks import Broken
from attacks.checks import Check, Settings
from sfumato import SPD, Ball, Euclidean, ManifoldLaplace, PlanarShapes, Sphere, sampling
from sfumato.audit.trial import mechanisms
from sfumato.bounds import bounds_of
from sfumato.mechanisms import Mechanism
from sfumato.spaces.base import Points

# everything in numpy.random that gives numbers, but for the class Generator, which the secure generator is wrapped in
FORBIDDEN = [name for name in dir(np.random) if not name.startswith("_") and callable(getattr(np.random, name))]
FORBIDDEN = [name for name in FORBIDDEN if name not in ("Generator", "BitGenerator")]


@contextmanager
def without_numpy_random() -> Iterator[None]:
    """NumPy's global and default generators, its bit generators and its seeds raise when they are used."""

    class Raises:
        def __init__(self, *arguments: Any, **options: Any) -> None:
            raise Broken("a generator of NumPy was used")

    patches = [patch.object(np.random, name, Raises) for name in FORBIDDEN]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


def releasing() -> Iterator[tuple[str, Mechanism, Points]]:
    """Every mechanism on every space it allows, with records for it."""
    for space in (Euclidean(dim=3), Sphere(dim=1), Sphere(dim=2), SPD(size=2), SPD(size=3), PlanarShapes(landmarks=5)):
        center = space.present(space.origin())
        for mechanism in mechanisms(Ball(space, center, min(1.0, 0.4 * bounds_of(space).convexity_radius)), 1.0):
            yield f"{type(mechanism).__name__} on {space}", mechanism, np.stack([center] * 400)


def forbidden() -> list[str]:
    """Release with every mechanism while NumPy's generators raise; the names of those that were released."""
    done = []
    with without_numpy_random():
        for name, mechanism, points in releasing():
            mechanism.release(points, allow_useless=True)
            done.append(name)
    return done


def streams(draw: Callable[[], bytes], processes: int, threads: int) -> list[bytes]:
    """What so many forked processes, each with so many threads, draw; and this process, before and after."""
    found = [draw()]
    for _ in range(processes):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                mine: list[bytes] = []
                workers = [threading.Thread(target=_append, args=(mine, draw)) for _ in range(threads)]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                os.write(writing, b"".join(one.hex().encode() + b"\n" for one in mine))
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            found += [bytes.fromhex(line.decode()) for line in pipe.read().split()]
        os.waitpid(pid, 0)
        found.append(draw())
    return found


def _append(found: list[bytes], draw: Callable[[], bytes]) -> None:
    found.append(draw())


def keys() -> bytes:
    """The first numbers of a release's generator."""
    return sampling.secure_generator().bytes(16)


def released() -> bytes:
    """The value of a release of the same data each time."""
    ball = Ball(Euclidean(dim=3), [0.0, 0.0, 0.0], 1.0)
    return np.asarray(ManifoldLaplace(ball, 1.0).release(np.zeros((50, 3))).value).tobytes()


def section(settings: Settings) -> Iterator[Check]:
    """The generator of every mechanism, and the streams of processes and threads."""
    try:
        done = forbidden()
        yield Check("randomness", "NumPy's generators raise", "pass", f"{len(done)} releases: {', '.join(done)}")
    except Broken as error:
        yield Check("randomness", "NumPy's generators raise", "fail", str(error))
    processes, threads = (4, 4) if settings.quick else (40, 8)
    for name, draw in (("keys", keys), ("released values", released)):
        found = streams(draw, processes, threads)
        whole = len(found) == 1 + processes * (threads + 1)
        well = whole and len(set(found)) == len(found)
        words = f"{len(found)} from {processes} forked processes of {threads} threads, {len(set(found))} different"
        yield Check("randomness", f"{name} of processes and threads", "pass" if well else "fail", words)
