"""``sfumato reproduce``: the paper's figures, as run and as proven; and the tables of others."""

import time
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .. import __version__
from ..atomic import write_atomically
from ..numerics.arrays import Array
from ..shown import at_work
from . import callosa, field, rates
from .curves import spd_curves, sphere_curves
from .store import Compute, Store

REPLICATES = 40_000
PAPER = """# The paper, reproduced

Soto, Bharath, Reimherr and Slavković, *Shape and Structure Preserving Differential Privacy* (NeurIPS 2022). \
**As run**: the scales of its experiments. **As proven**: sfumato's certified scales. **Theorem**: the paper's \
theorems 1 and 2 (KNG) and Remark 1 (Laplace) as printed. Draws are exact."""


class Study(Protocol):
    """An experiment: what computes each of its cells, and the figures and the text that are made from their rows."""

    def cells(self, replicates: int) -> dict[str, Compute]: ...
    def draw(self, store: Store) -> None: ...
    def report(self, store: Store) -> str: ...


def settings_of(replicates: int, quick: bool, seed: int, outlines: Array | None = None) -> dict[str, Any]:
    """Return what decides the numbers of a run; a quick one has a tenth of the usual replicates at most."""
    if replicates < 100:
        raise ValueError(f"a study needs at least 100 replicates, got {replicates}")
    if quick:
        replicates = min(replicates, REPLICATES // 10)
    checksum = 0 if outlines is None else zlib.crc32(np.ascontiguousarray(outlines).tobytes())
    return {"version": __version__, "replicates": replicates, "quick": quick, "seed": seed, "data": checksum}


def reproduce(
    what: str,
    out: Path,
    *,
    replicates: int = REPLICATES,
    quick: bool = False,
    seed: int = 0,
    outlines: Array | None = None,
    source: str = "",
) -> Path:
    """Run an experiment of the paper, or "all", or the "field"; write figures, results.csv and REPORT.md; return its path.

    ``quick`` runs a tenth of the replicates at fewer sample sizes.  An interrupted run continues where it stopped when it is
    called again with the same settings.
    """
    experiments: dict[str, Callable[[], Study]] = {
        "sphere": lambda: sphere_curves(quick),
        "spd": lambda: spd_curves(quick),
        "shapes": lambda: callosa.synthetic(seed) if outlines is None else callosa.from_outlines(outlines, source),
        "rates": lambda: rates,
    }
    if what not in ("all", "field", *experiments):
        raise ValueError(f"unknown study {what!r}; known: {', '.join(experiments)}, all, field")
    settings = settings_of(replicates, quick, seed, outlines)
    if what == "field":
        tables = {table.name: table for table in field.sections()}
        draws = f", a data set with {field.DRAWS} draws for each {field.SET}"
        return conduct(tables, out, settings, field.HEADING, "sfumato reproduce field", draws)
    studies = {name: study() for name, study in experiments.items() if what in ("all", name)}
    return conduct(studies, out, settings, PAPER, f"sfumato reproduce {what}", " (400 draws for each data set)")


def conduct(
    studies: Mapping[str, Study], out: Path, settings: dict[str, Any], heading: str, command: str, draws: str = ""
) -> Path:
    """Run studies, or finish interrupted ones; write figures, results.csv and REPORT.md, and return the report's path."""
    store = Store(out, settings)
    started = time.monotonic()
    parts = []
    for name, study in studies.items():
        cells = study.cells(settings["replicates"])
        with at_work(name) as show:
            for done, (cell, compute) in enumerate(cells.items()):
                show(name, done, len(cells))
                store.cell(cell, compute)
        study.draw(store)
        parts.append(study.report(store))
    store.write_csv()
    origin = (
        f"Made by `{command}` of sfumato {settings['version']} with seed {settings['seed']} and {settings['replicates']} "
        f"replicates{draws}{', quick' if settings['quick'] else ''}, in {time.monotonic() - started:.0f} s of this call, "
        f"{datetime.now(UTC):%Y-%m-%d}. All means and standard errors: results.csv."
    )
    report = out / "REPORT.md"
    write_atomically(report, "\n\n".join([heading, origin, *parts]) + "\n")
    return report
