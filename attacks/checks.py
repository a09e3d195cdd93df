"""What a section of the audit is made of: cases, what each of them found, and the rows that are kept of it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from attacks.accounts import Losses, reach, two_points
from sfumato.audit import Verdict

ROWS = "rows.jsonl"
LEAST = 1 / 3  # of the claim: what a test must be able to prove of a mechanism that loses all of it


@dataclass(frozen=True)
class Settings:
    """How hard to try, from which seed, and where offending files go."""

    quick: bool = False
    seed: int = 0
    out: Path = Path("docs/audit")


@dataclass(frozen=True)
class Found:
    """Whether what was attacked kept its promise (None: there was nothing to attack), in words, and the numbers behind them.

    Two numbers are shares of the claim: what was ``found``, and the ``power``, what the same test would have found of something
    that loses exactly what is claimed.
    """

    held: bool | None
    words: str
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One thing to try, by a name that no other in its section has.  A ``control`` is wrong on purpose: its promise must not
    be found kept."""

    name: str
    run: Callable[[], Found]
    control: bool = False


@dataclass(frozen=True)
class Row:
    """What is kept of a case: how it ended, and by which code and settings, in how many seconds of the processor.

    >>> Row("fuzz", "careless reader", True, "pass", "20 findings").mark
    'CONVICTED'
    """

    section: str
    name: str
    control: bool
    outcome: Literal["pass", "fail", "n/a"]
    words: str
    numbers: dict[str, Any] = field(default_factory=dict)
    quick: bool = False
    seed: int = 0
    commit: str = ""
    seconds: float = 0.0
    date: str = ""

    @property
    def mark(self) -> str:
        """The outcome in a word: a control that is convicted is as it should be, and what could hardly have been convicted
        has not passed."""
        passed = "CONVICTED" if self.control else "PASS" if self.numbers.get("power", 1.0) >= LEAST else "no power"
        return {"pass": passed, "fail": "FAIL: cleared" if self.control else "FAIL", "n/a": "does not apply"}[
            self.outcome
        ]

    def __str__(self) -> str:
        return f"{self.mark:16s}{self.section:12s}{self.name:48s}  {self.words}"


def judged(section: str, case: Case) -> Row:
    """Try a case.  An error that it does not expect is a failure, of a control too.

    >>> judged("draws", Case("half the noise", lambda: Found(False, "epsilon at least 2"), control=True)).outcome
    'pass'
    """
    try:
        found = case.run()
    except Exception as error:  # told in its row; the other cases go on
        return Row(section, case.name, case.control, "fail", f"stopped by {type(error).__name__}: {error}")
    outcome: Literal["pass", "fail", "n/a"] = (
        "n/a" if found.held is None else "fail" if found.held is case.control else "pass"
    )
    return Row(section, case.name, case.control, outcome, found.words, found.numbers)


def kept(folder: Path) -> list[Row]:
    """The rows of earlier runs, the last of each case and settings; half a line, which a killed run may leave, is none."""
    path, found = folder / ROWS, dict[tuple[str, str, bool, int], Row]()
    for line in path.read_text().splitlines(keepends=True) if path.exists() else ():
        if line.endswith("\n"):
            row = Row(**json.loads(line))
            found[row.section, row.name, row.quick, row.seed] = row
    return list(found.values())


def seed_of(settings: Settings, name: str) -> int:
    """A seed of its own for each case, so that no case depends on which others ran before it.

    >>> seed_of(Settings(seed=1), "a") != seed_of(Settings(seed=1), "b")
    True
    """
    return zlib.crc32(f"{settings.seed} {name}".encode())


def by_verdict(verdict: Verdict, losses: Losses | None = None, proven_alone: bool = False) -> Found:
    """What an audit by draws or by the clock found.

    Its power is what the same number of draws would prove of a pair with these ``losses``, the largest of which is the claim;
    by default of the pair that is told apart the most easily of all.  With ``proven_alone`` it is no more than what was proven.
    """
    found = verdict.lower / verdict.claimed
    could = 0.0
    if not proven_alone:
        told = two_points(verdict.claim.pure) if losses is None else losses
        could = reach(told, verdict.claim, verdict.draws, 1 - verdict.confidence) / verdict.claimed
    words = f"{verdict.claim.symbols[0]} ≥ {verdict.lower:.3f}, claimed {verdict.claimed:g}; {verdict.pair}; {verdict.event}"
    return Found(not verdict.convicted, words, {**verdict.record(), "found": found, "power": max(found, could)})
