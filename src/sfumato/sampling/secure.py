"""The only source of randomness of a release."""

from __future__ import annotations

import secrets

import numpy as np

GENERATOR = "ChaCha20 keyed with 256 bits from the operating system"


def secure_generator() -> np.random.Generator:
    """A cryptographic generator with a fresh key.  Each release makes its own, so no two processes share a stream.

    >>> bool(secure_generator().random() != secure_generator().random())
    True
    """
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))
