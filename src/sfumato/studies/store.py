"""Results of a study: rows that survive an interruption, and the tables and figures made from them."""

import csv
import io
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..atomic import write_atomically
from ..mechanisms import Mechanism
from ..numerics.arrays import Array

Compute = Callable[[np.random.Generator], "list[Row]"]  # the rows of a cell, from its own random numbers


class Variant(NamedTuple):
    """A mechanism at a calibration ("as run", "as proven", "theorem"), and its label in tables and figures."""

    calibration: str
    label: str
    mechanism: Mechanism


@dataclass(frozen=True)
class Row:
    """A mean with its standard error."""

    study: str
    calibration: str
    mechanism: str
    quantity: str
    n: int
    epsilon: float
    dim: int
    mean: float
    standard_error: float
    replicates: int

    def words(self, share: bool, digits: int = 3, factor: float = 1.0) -> str:
        """Return a share, or a mean times a factor with two standard errors."""
        if share:
            return f"{self.mean:.3f}"
        return f"{self.mean * factor:.{digits}f} ± {2 * self.standard_error * factor:.{digits}f}"


@dataclass
class Store:
    """The rows of a run, saved cell by cell in a file beside the figures.  A finished cell is not run again.

    A cell's random numbers come from the seed and the cell's own name, so an interrupted run that resumes gives the same
    numbers as one that was never interrupted.
    """

    folder: Path
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / "cells.jsonl"
        self._done: dict[str, list[Row]] = {}
        lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines() if self._path.exists() else []
        if lines and _parsed(lines[0]) == {"settings": self.settings}:
            for line in lines[1:]:
                cell = _parsed(line)
                if cell is not None:  # the last line of an interrupted run may be cut off; a damaged cell is run again
                    self._done[cell["cell"]] = [Row(**row) for row in cell["rows"]]
        kept = [json.dumps({"settings": self.settings})] + [_line(name, rows) for name, rows in self._done.items()]
        write_atomically(self._path, "\n".join(kept) + "\n")

    def cell(self, name: str, compute: Compute) -> list[Row]:
        """Return the rows of a cell: loaded if it was finished, otherwise computed and saved."""
        if name not in self._done:
            rng = np.random.default_rng([int(self.settings["seed"]), zlib.crc32(name.encode())])
            self._done[name] = compute(rng)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line(name, self._done[name]) + "\n")
        return self._done[name]

    @property
    def rows(self) -> list[Row]:
        """All rows of the cells that are finished."""
        return [row for rows in self._done.values() for row in rows]

    def select(self, **values: Any) -> list[Row]:
        """Return the finished rows that have these values, by sample size."""
        chosen = [row for row in self.rows if all(getattr(row, name) == value for name, value in values.items())]
        return sorted(chosen, key=lambda row: row.n)

    def write_csv(self) -> None:
        """Write all rows as results.csv."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, [f.name for f in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in self.rows)
        write_atomically(self.folder / "results.csv", text.getvalue())


def summary(values: Array) -> tuple[float, float]:
    """Return mean and standard error of values (data sets, draws), counting data sets: draws from one are dependent."""
    groups = values.mean(axis=1) if len(values) > 1 else values[0]
    return float(groups.mean()), float(groups.std(ddof=1) / np.sqrt(len(groups)))


def save_figure(figure: Any, folder: Path, name: str) -> None:
    """Save a figure as PNG for the screen and as SVG for print."""
    for ending in ("png", "svg"):
        image = io.BytesIO()
        figure.savefig(image, dpi=150, format=ending)
        write_atomically(folder / f"{name}.{ending}", image.getvalue())


def mark_ticks(axes: Any, values: Sequence[float]) -> None:
    """Label a logarithmic axis with plain numbers, at these values only."""
    axes.set_xticks(values, [f"{v:g}" for v in values])
    axes.set_xticks([], minor=True)


def markdown_table(header: list[str], body: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _line(name: str, rows: list[Row]) -> str:
    """Return a cell as a line of JSON with a checksum, so that damage to a number is noticed."""
    cell = {"cell": name, "rows": [asdict(row) for row in rows]}
    return json.dumps({**cell, "crc32": zlib.crc32(json.dumps(cell).encode())})


def _parsed(line: str) -> Any:
    """Return the settings or the cell in a line, or None if the line is cut off or damaged."""
    try:
        parsed = json.loads(line)
        if not isinstance(parsed, dict) or "settings" in parsed:
            return parsed
        checksum = parsed.pop("crc32")
    except (ValueError, KeyError, RecursionError):
        return None
    return parsed if checksum == zlib.crc32(json.dumps(parsed).encode()) else None
