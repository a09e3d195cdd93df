"""Attacks on the package's own claims, at full strength (``make audit``); not installed with it.

What a user runs on a mechanism is :mod:`sfumato.audit`.
"""

from __future__ import annotations


class Broken(Exception):
    """Something that the audit requires does not hold; the message says what."""


def require(holds: object, words: str) -> None:
    """Raise :class:`Broken` with these words unless it holds.

    >>> require(1 + 1 == 2, "one and one are not two")
    """
    if not holds:
        raise Broken(words)
