"""``python -m benchmarks.studies``: what public knowledge is worth (structure), whether findings hold (findings)."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import THREADS

os.environ.update(dict.fromkeys(THREADS, "1"))

from sfumato.studies.reproduce import REPLICATES, Study, conduct, settings_of

from .findings import Findings
from .structure import Structure

TITLES = {"structure": "What public knowledge is worth", "findings": "Whether findings hold what they say"}


def run(what: str, out: Path, *, replicates: int = REPLICATES, quick: bool = False, seed: int = 0) -> Path:
    """Run a study, or finish an interrupted one; write figures, results.csv and REPORT.md, and return the report's path."""
    study: Study = Structure(quick) if what == "structure" else Findings(quick)
    settings = settings_of(replicates, quick, seed)
    return conduct({what: study}, out, settings, f"# {TITLES[what]}", f"python -m benchmarks.studies {what}")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies", description=__doc__)
    parser.add_argument("what", choices=TITLES, help="the study")
    parser.add_argument("--quick", action="store_true", help="a tenth of the replicates at fewer sizes")
    parser.add_argument("--replicates", type=int, default=REPLICATES, help="replicates, as of sfumato reproduce")
    parser.add_argument("--seed", type=int, default=0, help="seed of data and draws")
    parser.add_argument(
        "--out", type=Path, default=Path("bench-output"), help="folder of figures, results.csv, REPORT.md"
    )
    given = parser.parse_args(words)
    report = run(given.what, given.out, replicates=given.replicates, quick=given.quick, seed=given.seed)
    print(f"Written: {report}, its figures and results.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
