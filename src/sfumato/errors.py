"""Every error that sfumato raises on purpose.

SfumatoError
├── Refusal (ValueError)             cannot be done well; the message says how to fix it; nothing was spent
│   ├── RadiusError                  the public radius is too large
│   ├── PrecisionError               rounding would lose too much
│   └── BudgetExceeded               the budget has less left than was asked for
├── InvalidPointError (ValueError)   a record is not a point of its space
├── UnknownSpaceError (ValueError)   no space of that name is known here
├── FileError (ValueError)           a file cannot be read
│   └── AmbiguousError               a file could be read in two ways
├── RecordError (ValueError)         a release record is damaged, or is not one
├── LedgerError (RuntimeError)       a ledger cannot be used
├── EnvelopeError (RuntimeError)     a draw would not be exact
└── UnsavedError (ValueError)        a release was made but could not be written

Each is also the built-in error in brackets, so code that catches a ValueError still catches it.

>>> issubclass(BudgetExceeded, SfumatoError), issubclass(BudgetExceeded, ValueError), issubclass(LedgerError, RuntimeError)
(True, True, True)
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from unicodedata import category

IN_PYTHON = {  # wishes that are no arguments in Python
    "unit_column": "unit=data.labels[{!r}]",
    "public": "Ellipsoid.from_sample",
    "smooth": "Ellipsoid.smooth",
}


class Fix(NamedTuple):
    """A wish that would mend what went wrong, by its name in Python, and the value to give it; ``...`` names the wish alone.

    >>> str(Fix("allow_useless", True)), str(Fix("radius", ...)), str(Fix("unit_column", "subject"))
    ('allow_useless=True', 'radius', "unit=data.labels['subject']")
    """

    wish: str
    value: Any

    def __str__(self) -> str:
        """Return the fix as an argument of a call in Python; the command line and the page have words of their own."""
        if self.value is ...:
            return self.wish
        return IN_PYTHON.get(self.wish, f"{self.wish}={{!r}}").format(self.value)


class SfumatoError(Exception):
    """The root of all errors that sfumato raises on purpose: a message of words and fixes, in their order.

    >>> error = Refusal("give ", Fix("unit", "subject"), " for all records of one subject together")
    >>> str(error)
    "give unit='subject' for all records of one subject together"
    >>> error.say(lambda fix: f"the column {fix.value}")
    'give the column subject for all records of one subject together'
    """

    def __init__(self, *parts: str | Fix) -> None:
        super().__init__(*parts)
        self.parts = parts

    def say(self, how: Callable[[Fix], str]) -> str:
        """Return the message with each fix said in the words of a front: an option, or the label of a field."""
        return "".join(how(part) if isinstance(part, Fix) else str(part) for part in self.parts)

    def __str__(self) -> str:
        return self.say(str)


class Refusal(SfumatoError, ValueError):
    """What was asked cannot be done well.  The message says how to fix it.  Nothing was spent."""


class RadiusError(Refusal):
    """The public radius is too large for a mechanism on a space: it must be below the ``limit``."""

    limit = 0.0


class PrecisionError(Refusal):
    """Rounding would lose too much: the record could not state a small numerical loss."""


class BudgetExceeded(Refusal):
    """The budget has less left than was asked for.  Nothing was charged."""


class InvalidPointError(SfumatoError, ValueError):
    """Some records are not points of the space: ``reasons`` by row, ``row`` and ``reason`` of the first."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        self.reasons = dict(reasons)
        self.row = min(reasons)
        self.reason = reasons[self.row]
        others = sorted(reasons)[1:]
        listed = ", ".join(map(str, others[:5])) + (", …" if len(others) > 5 else "")
        more = f" ({len(others)} more are bad: {listed})" if others else ""
        super().__init__(f"record {self.row}: {self.reason}{more}")


class UnknownSpaceError(SfumatoError, ValueError):
    """No space of that name is known here."""


class FileError(SfumatoError, ValueError):
    """A file cannot be read.  Lines count from 1, records from 0 as in an array.  For the curator only."""


class AmbiguousError(FileError):
    """A file could be read in two ways."""


class RecordError(SfumatoError, ValueError):
    """A release record is damaged, or is not one.  The message says what is wrong with it."""


class LedgerError(SfumatoError, RuntimeError):
    """A ledger cannot be used.  The message names the file, what is wrong with it and what to do."""


class EnvelopeError(SfumatoError, RuntimeError):
    """The radial envelope was above the energy somewhere: a draw would not be exact.  Nothing was released."""


class UnsavedError(SfumatoError, ValueError):
    """A release was made, perhaps paid for, but could not be written.  It is in ``release``: keep it."""

    def __init__(self, words: str, release: Any) -> None:
        super().__init__(words)
        self.release = release


def printable(text: str, keep: str = "") -> str:
    r"""Spell out what a terminal or a page must not be sent: control characters, changes of direction, lone surrogates.

    >>> printable("\x1b[2Jwings\u202e")
    '\\x1b[2Jwings\\u202e'
    """
    plain = (c.isprintable() or category(c) == "Zs" or c in keep for c in text)
    return "".join(c if ok else c.encode("unicode_escape").decode() for c, ok in zip(text, plain, strict=True))
