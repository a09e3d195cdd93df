"""What a section of the audit says: one check for each thing that it tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Check:
    """One thing tried, and how it ended.

    >>> Check("fuzz", "TPS", "pass", "100000 files").mark
    'PASS'
    """

    section: str
    name: str
    outcome: Literal["pass", "fail", "n/a"]
    detail: str

    @property
    def mark(self) -> str:
        return {"pass": "PASS", "fail": "FAIL", "n/a": "does not apply"}[self.outcome]

    def __str__(self) -> str:
        return f"{self.mark:16s}{self.section:12s}{self.name:48s}  {self.detail}"


@dataclass(frozen=True)
class Settings:
    """How hard to try, from which seed, and where offending files go."""

    quick: bool = False
    seed: int = 0
    out: Path = Path("audit-report")


def tell(checks: Iterable[Check]) -> int:
    """Print each check as it is made; the exit code is 1 if one failed.

    >>> tell([Check("solver", "S²", "pass", "100 data sets")])
    PASS            solver      S²    100 data sets
    0
    """
    failed = False
    for check in checks:
        print(check, flush=True)
        failed |= check.outcome == "fail"
    return int(failed)
