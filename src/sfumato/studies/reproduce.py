"""``sfumato reproduce``: the paper's figures, as run and as proven."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from .. import __version__
from ..release import write_atomically
from ..spaces.base import Array
from . import callosa, rates
from .curves import spd_curves, sphere_curves
from .store import Store, progress

STUDIES = ("sphere", "spd", "shapes", "rates")
REPLICATES, DRAWS = 40_000, 500


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
    """Run a study (or "all"), write its figures, results.csv and REPORT.md into ``out``, and return the report's path.

    ``quick`` runs a tenth of the replicates at fewer sample sizes.  An interrupted run continues where it stopped when it is
    called again with the same settings.
    """
    chosen = STUDIES if what == "all" else (what,)
    if unknown := set(chosen) - set(STUDIES):
        raise ValueError(f"unknown study {unknown.pop()!r}; known: {', '.join(STUDIES)}, all")
    if replicates < 100:
        raise ValueError(f"a study needs at least 100 replicates, got {replicates}")
    if quick:
        replicates = min(replicates, REPLICATES // 10)
    draws = DRAWS
    fingerprint = 0 if outlines is None else zlib.crc32(np.ascontiguousarray(outlines).tobytes())
    settings = {"version": __version__, "replicates": replicates, "quick": quick, "seed": seed, "data": fingerprint}
    store = Store(out, settings)
    started, parts = time.monotonic(), []
    shapes_seed = np.random.default_rng([seed, 1])
    for study in chosen:
        if study in ("sphere", "spd"):
            curves = sphere_curves(quick) if study == "sphere" else spd_curves(quick)
            _with_bar(
                study, store, len(curves.sizes) * len(curves.mechanisms()), partial(curves.run, store, replicates)
            )
            curves.draw(store)
            parts.append(curves.report(store))
        elif study == "rates":
            _with_bar(study, store, sum(map(len, rates.GRIDS.values())), partial(rates.run, store, replicates))
            rates.draw(store)
            parts.append(rates.report(store))
        else:
            data = callosa.synthetic(shapes_seed) if outlines is None else callosa.from_outlines(outlines, source)
            _with_bar(study, store, len(data.mechanisms()), partial(data.run, store, draws))
            data.figures(store, np.random.default_rng([seed, 2]))
            parts.append(data.report(store, draws))
    store.write_csv()
    report = out / "REPORT.md"
    write_atomically(report, _heading(what, settings, time.monotonic() - started) + "\n\n" + "\n\n".join(parts) + "\n")
    return report


def _with_bar(title: str, store: Store, total: int, work: Callable[[], None]) -> None:
    with progress(title, total) as advance:
        store.advance = advance
        work()


def _heading(what: str, settings: dict[str, object], seconds: float) -> str:
    lines = [
        "# The paper, reproduced",
        "Soto, Bharath, Reimherr and Slavković, *Shape and Structure Preserving Differential Privacy* (NeurIPS 2022). "
        "**As run**: the scales of its experiments. **As proven**: sfumato's certified scales. **Theorem**: the paper's "
        "theorems 1 and 2 (KNG) and Remark 1 (Laplace) as printed. Draws are exact.",
        f"Made by `sfumato reproduce {what}` of sfumato {settings['version']} with seed {settings['seed']} and "
        f"{settings['replicates']} replicates (400 draws for each data set){', quick' if settings['quick'] else ''}, "
        f"in {seconds:.0f} s of this call, {datetime.now(UTC):%Y-%m-%d}. All means and standard errors: results.csv.",
    ]
    return "\n\n".join(lines)
