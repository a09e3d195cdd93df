"""What a section of the audit says: one row for each thing that it tried."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Outcome = Literal["pass", "fail", "n/a"]


@dataclass(frozen=True)
class Row:
    """One thing tried, and how it ended.

    >>> Row("fuzz", "TPS", "pass", "100000 files").mark
    'PASS'
    """

    section: str
    name: str
    outcome: Outcome
    detail: str

    @property
    def mark(self) -> str:
        return {"pass": "PASS", "fail": "FAIL", "n/a": "does not apply"}[self.outcome]


@dataclass(frozen=True)
class Settings:
    """How hard to try, from which seed, and where offending files go."""

    quick: bool = False
    seed: int = 0
    out: Path = Path("audit-report")


class Broken(Exception):
    """Something that the audit requires does not hold; the message says what."""


def require(holds: object, words: str) -> None:
    """Raise :class:`Broken` with these words unless it holds.

    >>> require(1 + 1 == 2, "one and one are not two")
    """
    if not holds:
        raise Broken(words)
