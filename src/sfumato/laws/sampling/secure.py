"""The only source of randomness of a release."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

GENERATOR = "ChaCha20 keyed with 256 bits from the operating system"
HANDED_IN = "a generator that was handed in, so that the release can be replayed"
_handed_in: ContextVar[np.random.Generator | None] = ContextVar("handed_in", default=None)


def secure_generator() -> np.random.Generator:
    """Return a cryptographic generator with a fresh key.  Each release makes its own, so no two processes share a stream.

    >>> bool(secure_generator().random() != secure_generator().random())
    True
    """
    if (rng := _handed_in.get()) is not None:
        return rng
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))


@contextmanager
def replaying(rng: np.random.Generator) -> Iterator[None]:
    """Let releases draw from this generator: for tests and attacks.

    No call of a user's reaches it, and the record of such a release says that it is not private.
    """
    token = _handed_in.set(rng)
    try:
        yield
    finally:
        _handed_in.reset(token)


def generator_name() -> str:
    """Return the name of the generator in a record."""
    return GENERATOR if _handed_in.get() is None else HANDED_IN
