"""``make bench``: times and memory, ours and the peers', as ratios within one run; printed and saved in bench-output."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import THREADS

os.environ.update(dict.fromkeys(THREADS, "1"))

from .charts import charts
from .means import means, passes
from .samplers import draws, release
from .scale import billion, scale
from .startup import startup
from .table import Table, save, where

SECTIONS = {
    "means": means,
    "release": release,
    "draws": draws,
    "passes": passes,
    "charts": charts,
    "scale": scale,
    "startup": startup,
    "billion": billion,
}
USUAL = [name for name in SECTIONS if name != "billion"]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--only", default=",".join(USUAL), help=f"some of {','.join(SECTIONS)}; all but billion")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--out", type=Path, default=Path("bench-output"), help="folder of BENCH.md and BENCH.json")
    arguments = parser.parse_args(words)
    chosen = arguments.only.split(",")
    if unknown := set(chosen) - SECTIONS.keys():
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    tables: list[Table] = []
    print(where() + "\n", flush=True)
    for section in chosen:
        for table in SECTIONS[section](arguments.quick):
            print(table.markdown() + "\n", flush=True)
            tables.append(table)
            save(tables, arguments.out)
    missed = [row for table in tables for row in table.missed()]
    print("all met" if not missed else "not met:\n" + "\n".join(f"- {row}" for row in missed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
