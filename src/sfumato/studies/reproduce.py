"""``sfumato reproduce``: the paper's figures, as run and as proven; what public knowledge is worth; whether findings hold."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..atomic import write_atomically
from ..numerics.arrays import Array
from . import callosa, rates
from .curves import spd_curves, sphere_curves
from .findings import Findings
from .store import Store, progress
from .structure import Structure

PAPER = ("sphere", "spd", "shapes", "rates")
OURS = {"structure": "What public knowledge is worth", "findings": "Whether findings hold what they say"}
STUDIES = (*PAPER, *OURS)
REPLICATES = 40_000


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
    """Run a study (or "all" of the paper's), write its figures, results.csv and REPORT.md into ``out``; the report's path.

    ``quick`` runs a tenth of the replicates at fewer sample sizes.  An interrupted run continues where it stopped when it is
    called again with the same settings.
    """
    chosen = PAPER if what == "all" else (what,)
    if unknown := set(chosen) - set(STUDIES):
        raise ValueError(f"unknown study {unknown.pop()!r}; known: {', '.join(STUDIES)}, all")
    if replicates < 100:
        raise ValueError(f"a study needs at least 100 replicates, got {replicates}")
    if quick:
        replicates = min(replicates, REPLICATES // 10)
    fingerprint = 0 if outlines is None else zlib.crc32(np.ascontiguousarray(outlines).tobytes())
    settings = {"version": __version__, "replicates": replicates, "quick": quick, "seed": seed, "data": fingerprint}
    store = Store(out, settings)
    started, parts = time.monotonic(), []
    studies: dict[str, Callable[[], Any]] = {
        "sphere": lambda: sphere_curves(quick),
        "spd": lambda: spd_curves(quick),
        "shapes": lambda: callosa.synthetic(seed) if outlines is None else callosa.from_outlines(outlines, source),
        "rates": lambda: rates,
        "structure": lambda: Structure(quick),
        "findings": lambda: Findings(quick),
    }
    for name in chosen:
        study = studies[name]()
        with progress(name, study.cells()) as store.advance:
            study.run(store, replicates)
        study.draw(store)
        parts.append(study.report(store))
    store.write_csv()
    report = out / "REPORT.md"
    write_atomically(report, _heading(what, settings, time.monotonic() - started) + "\n\n" + "\n\n".join(parts) + "\n")
    return report


def _heading(what: str, settings: dict[str, object], seconds: float) -> str:
    papers = what in ("all", *PAPER)
    draws = " (400 draws for each data set)" if papers else ""
    paper = [
        "# The paper, reproduced",
        "Soto, Bharath, Reimherr and Slavković, *Shape and Structure Preserving Differential Privacy* (NeurIPS 2022). "
        "**As run**: the scales of its experiments. **As proven**: sfumato's certified scales. **Theorem**: the paper's "
        "theorems 1 and 2 (KNG) and Remark 1 (Laplace) as printed. Draws are exact.",
    ]
    lines = [
        *(paper if papers else [f"# {OURS[what]}"]),
        f"Made by `sfumato reproduce {what}` of sfumato {settings['version']} with seed {settings['seed']} and "
        f"{settings['replicates']} replicates{draws}{', quick' if settings['quick'] else ''}, "
        f"in {seconds:.0f} s of this call, {datetime.now(UTC):%Y-%m-%d}. All means and standard errors: results.csv.",
    ]
    return "\n\n".join(lines)
