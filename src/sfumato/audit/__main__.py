"""``python -m sfumato.audit``: everything at full strength, for about an hour; exit code 1 if anything is wrong."""

from __future__ import annotations

import argparse
from pathlib import Path

from .trial import Row, run


def tell(row: Row) -> None:
    print(f"{row.section:8s}{row.name:58s}{row.outcome:18s}{row.detail}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m sfumato.audit", description="Audit every mechanism, right and broken."
    )
    parser.add_argument("--out", type=Path, default=Path("audit-output"), help="folder for pictures and audit.json")
    parser.add_argument("--draws", type=int, default=1_000_000, help="draws from each data set (default: 1000000)")
    parser.add_argument("--releases", type=int, default=2000, help="timed releases of each data set (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    arguments = parser.parse_args()
    rows = run(arguments.out, arguments.draws, arguments.releases, arguments.seed, tell)
    return int(any(row.outcome != "as it should be" for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
