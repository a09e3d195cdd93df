"""Every error that sfumato raises on purpose.

SfumatoError
├── Refusal (ValueError)             what was asked cannot be done well, and the message says what would help; nothing was spent
│   ├── RadiusError                  the public radius is too large
│   ├── PrecisionError               rounding would eat into the promise
│   └── BudgetExceeded               less is left of a budget than was asked
├── InvalidPointError (ValueError)   a record is not a point of its space
├── FileError (ValueError)           a file cannot be read whole
│   └── AmbiguousError               or could be read in two ways
├── RecordError (ValueError)         a release record is damaged, or is none
├── LedgerError (RuntimeError)       a ledger cannot be used
├── EnvelopeError (RuntimeError)     a draw would not be exact
└── UnsavedError (ValueError)        a release was made, and could not be written

Each is also the built-in error in brackets, so that who catches a ValueError catches it still.

>>> issubclass(BudgetExceeded, SfumatoError), issubclass(BudgetExceeded, ValueError), issubclass(LedgerError, RuntimeError)
(True, True, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SfumatoError(Exception):
    """The root: what sfumato raises on purpose."""


class Refusal(SfumatoError, ValueError):
    """What was asked cannot be done well: the message says what would help.  Nothing was spent."""


class RadiusError(Refusal):
    """The public radius is too large for a mechanism on a space."""


class PrecisionError(Refusal):
    """Rounding errors would eat into the promise: the record could not state a small numerical loss."""


class BudgetExceeded(Refusal):
    """A charge was refused, since less than that is left.  Nothing was charged."""


class InvalidPointError(SfumatoError, ValueError):
    """Records that are not points of the space: the first one's ``row`` and ``reason``, and how many there are."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        self.row = min(reasons)
        self.reason = reasons[self.row]
        others = sorted(reasons)[1:]
        listed = ", ".join(map(str, others[:5])) + (", …" if len(others) > 5 else "")
        super().__init__(
            f"record {self.row}: {self.reason}" + (f" ({len(others)} more are bad: {listed})" if others else "")
        )


class FileError(SfumatoError, ValueError):
    """A file that cannot be read whole.  Lines count from 1, records from 0 as in an array; for the curator's eyes only."""


class AmbiguousError(FileError):
    """Records that could be read in two ways."""


class RecordError(SfumatoError, ValueError):
    """A release record that is damaged, or is none: the message says what is wrong with it."""


class LedgerError(SfumatoError, RuntimeError):
    """The ledger cannot be used: the message names the file, what is wrong with it and what to do."""


class EnvelopeError(SfumatoError, RuntimeError):
    """The radial envelope was above the energy somewhere: a draw would not be exact.  Nothing was released."""


class UnsavedError(SfumatoError, ValueError):
    """A release that was made, perhaps paid for, and could not be written: it is ``release``, to be kept."""

    def __init__(self, words: str, release: Any) -> None:
        super().__init__(words)
        self.release = release
