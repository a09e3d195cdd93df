"""Tables of measurements: for the terminal, for a page, for machines."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

Row = Mapping[str, object]  # by heading


@dataclass(frozen=True)
class Table:
    """Rows with the same headings; ``note`` says how they were measured."""

    title: str
    note: str
    rows: Sequence[Row] = field(default_factory=list)

    def markdown(self) -> str:
        """The table for a page.

        >>> print(Table("Means", "CPU seconds.", [{"case": "S^2", "ours": 0.001234, "met": True}]).markdown())
        ## Means
        <BLANKLINE>
        CPU seconds.
        <BLANKLINE>
        | case | ours | met |
        | --- | --- | --- |
        | S^2 | 0.00123 | yes |
        """
        head = list(self.rows[0]) if self.rows else []
        lines = [head, ["---"] * len(head), *([shown(row[key]) for key in head] for row in self.rows)]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"## {self.title}\n\n{self.note}\n\n{body}"

    def missed(self) -> list[str]:
        """The rows that do not meet what is wanted of them."""
        return [f"{self.title}: " + str(next(iter(row.values()))) for row in self.rows if row.get("met") is False]


def shown(value: object) -> str:
    """A cell.

    >>> [shown(v) for v in (None, False, 1234567, 0.000123456, 1234.5, "S^2")]
    ['', 'no', '1,234,567', '0.000123', '1.23e+03', 'S^2']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)


def where() -> str:
    """Versions, processor and load: what the figures depend on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("sfumato", "numpy", "scipy", "numba"))
    return f"Python {platform.python_version()}, {packages}; {processor()}. {time.strftime('%Y-%m-%d')}. {load()}."


def save(tables: Sequence[Table], folder: Path) -> None:
    """BENCH.md and BENCH.json in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = [f"# Benchmarks\n\n{where()}", *(table.markdown() for table in tables)]
    (folder / "BENCH.md").write_text("\n\n".join(pages) + "\n", encoding="utf-8")
    content = {"where": where(), "tables": {table.title: [dict(row) for row in table.rows] for table in tables}}
    (folder / "BENCH.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def processor() -> str:
    """The model of this machine's processor, as the system calls it, and how many cores it has for us."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # not Linux, or not x86
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def load() -> str:
    """How busy the machine is.

    >>> load().startswith("Load average")
    True
    """
    return f"Load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


# -- measuring -----------------------------------------------------------------------------------------------------------
def cpu(work: Callable[[], object]) -> Callable[[], float]:
    """A function that does the work and gives its CPU seconds."""

    def seconds() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return seconds


def alternate(runs: Mapping[str, Callable[[], float]], rounds: int, share: float = 0.2) -> dict[str, float]:
    """The median seconds of each run.  All take turns, so that a noisy machine hits all; in its turn a short one is run
    until ``share`` seconds are full, at most 20 times.

    >>> alternate({"a": lambda: 1.0, "b": lambda: 2.0}, rounds=3)
    {'a': 1.0, 'b': 2.0}
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            turn = [run()]
            while len(turn) < 20 and sum(turn) < share:
                turn.append(run())
            seconds[name] += turn
    return {name: statistics.median(values) for name, values in seconds.items()}
