"""``python -m attacks --only randomness``: every release draws from the secure generator, and no two share a stream."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from attacks import Broken
from attacks.arenas import small_balls
from attacks.checks import Case, Found, Settings
from sfumato import Ball, Euclidean, ManifoldLaplace
from sfumato.audit.trial import mechanisms
from sfumato.laws import sampling
from sfumato.mechanisms import Mechanism
from sfumato.numerics.arrays import Points

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
    for ball in small_balls():
        for mechanism in mechanisms(ball, 1.0):
            points = np.stack([ball.space.present(ball.center)] * 400)
            yield f"{type(mechanism).__name__} on {ball.space}", mechanism, points


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


def no_numpy() -> Found:
    try:
        done = forbidden()
    except Broken as error:
        return Found(False, str(error))
    return Found(True, f"{len(done)} releases: {', '.join(done)}")


def apart(draw: Callable[[], bytes], processes: int, threads: int) -> Found:
    """Whether processes and threads draw different numbers."""
    found = streams(draw, processes, threads)
    whole = len(found) == 1 + processes * (threads + 1)
    words = f"{len(found)} from {processes} forked processes of {threads} threads, {len(set(found))} different"
    return Found(whole and len(set(found)) == len(found), words)


def with_generator(make: Callable[[], np.random.Generator], attack: Callable[[], Found]) -> Found:
    """The same attack on releases that draw from another generator."""
    with patch("sfumato.mechanisms.paying.secure_generator", make):
        return attack()


def cases(settings: Settings) -> list[Case]:
    """The generator of every mechanism, and the streams of processes and threads."""
    processes, threads = (4, 4) if settings.quick else (40, 8)
    shared = np.random.default_rng(1)
    values = partial(apart, released, processes, threads)
    return [
        Case("NumPy's generators raise", no_numpy),
        Case("keys of processes and threads", partial(apart, keys, processes, threads)),
        Case("released values of processes and threads", values),
        Case(
            "a release that draws from NumPy", partial(with_generator, lambda: np.random.default_rng(1), no_numpy), True
        ),
        Case("one generator for all releases", partial(with_generator, lambda: shared, values), True),
    ]
