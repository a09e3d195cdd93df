"""``python -m attacks``: everything that attacks this package, at full strength, and a report of it.

Each case runs in a process of its own, two at a time, and its row is kept in ``rows.jsonl`` as soon as it ends: what was
stopped goes on with the cases that have no row yet.  Rows of other code than this are dropped when it begins.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import subprocess
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

from attacks.checks import ROWS, Case, Row, Settings, judged, kept
from attacks.report import written
from sfumato.atomic import write_atomically

Section = Callable[[Settings], list[Case]]


def in_module(name: str) -> Section:
    """The cases of a module, which is imported when they are asked for."""

    def cases(settings: Settings) -> list[Case]:
        found: list[Case] = import_module(f"attacks.{name}").cases(settings)
        return found

    return cases


# one name adds a section; the order is that of the report
SECTIONS: dict[str, Section] = {
    name: in_module(name)
    for name in (
        "randomness", "faults", "fuzz", "bits", "clock", "published", "matrix", "replay", "joint", "draws", "solver",
        "adversary",
    )
}  # fmt: skip


# -- rows that are kept ----------------------------------------------------------------------------------------------------
def line(row: Row) -> str:
    return json.dumps(asdict(row)) + "\n"


def commit() -> str:
    """Return which code this is: git's trees of what is attacked and of what attacks, which stay the same where a commit is
    written anew; "+" and a sum of what is not committed; "unknown" outside of a repository."""
    root = Path(__file__).parent.parent

    def git(*words: str) -> str:
        asked = ["git", "-C", str(root), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    here = ("--", "src", "attacks")
    try:
        changed = git("status", "--porcelain", "--untracked-files=all", *here)
        sum_of = f"+{zlib.crc32((changed + git('diff', 'HEAD', *here)).encode()):08x}" if changed else ""
        return ".".join(git("rev-parse", f"HEAD:./{name}")[:8] for name in ("src", "attacks")) + sum_of
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# -- two at a time ---------------------------------------------------------------------------------------------------------
def ran(cases: list[tuple[str, Case]], jobs: int) -> Iterator[Row]:
    """The rows of cases as they end, so many at a time, each in a forked process: whatever it does to its own, or dies of,
    the others go on."""
    fork, todo = multiprocessing.get_context("fork"), list(reversed(cases))
    running = dict[Any, tuple[str, Case, Any]]()
    while todo or running:
        while todo and len(running) < jobs:
            section, case = todo.pop()
            reading, writing = fork.Pipe(duplex=False)
            process = fork.Process(target=_tell, args=(section, case, writing), daemon=True)
            process.start()
            writing.close()
            running[reading] = section, case, process
        for ended in cast(list[Connection], wait(list(running))):
            section, case, process = running.pop(ended)
            try:
                row = ended.recv()
            except EOFError:
                process.join()
                row = Row(section, case.name, case.control, "fail", f"its process ended with code {process.exitcode}")
            ended.close()
            process.join()
            yield row


def _tell(section: str, case: Case, writing: Connection) -> None:
    row = judged(section, case)
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    writing.send(replace(row, seconds=round(sum(t.ru_utime + t.ru_stime for t in times), 2)))


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m attacks",
        description="Attack the package, go on where an earlier run was stopped, and write a report.",
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("docs/audit"), help="folder for rows and pictures (default: docs/audit)")
    add("--report", type=Path, help="where the report goes (default: REPORT.md in that folder)")
    add("--only", default=",".join(SECTIONS), help=f"sections, by commas (default: {','.join(SECTIONS)})")
    add("--cases", default="", help="only cases whose name has this pattern")
    add("--again", action="store_true", help="run these also if they were run before")
    add("--quick", action="store_true", help="a small part of everything")
    add("--seed", type=int, default=0, help="seed of all that is random (default: 0)")
    add("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    options = parser.parse_args(None if arguments is None else list(arguments))
    if unknown := set(options.only.split(",")) - set(SECTIONS):
        parser.error(f"unknown sections {', '.join(sorted(unknown))}; known: {', '.join(SECTIONS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    settings = Settings(options.quick, options.seed, options.out)
    every = {(name, case.name): case for name, section in SECTIONS.items() for case in section(settings)}
    chosen = [one for one in every if one[0] in options.only.split(",") and re.search(options.cases, one[1])]
    path, code = options.report or options.out / "REPORT.md", commit()
    before = kept(options.out)
    rows = [row for row in before if row.commit == code]
    write_atomically(options.out / ROWS, "".join(map(line, rows)))
    if len(rows) < len(before):
        print(f"The code is {code} now: {len(before) - len(rows)} rows of other code are dropped.")
    done = {(r.section, r.name): r for r in rows if (r.quick, r.seed) == (settings.quick, settings.seed)}
    todo = [(one[0], every[one]) for one in chosen if options.again or one not in done]
    print(f"{len(every)} cases, {len(set(every) & set(done))} of them done before; {len(todo)} to run.", flush=True)

    def note() -> None:
        write_atomically(path, written([done[one] for one in every if one in done], list(every), settings, code))

    note()
    for row in ran(todo, options.jobs):
        row = replace(
            row, quick=settings.quick, seed=settings.seed, commit=code, date=f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
        )
        with (options.out / ROWS).open("a") as file:
            file.write(line(row))
        done[row.section, row.name] = row
        print(row, flush=True)
        note()
    failed = [f"{r.section}: {r.name}" for one, r in done.items() if one in chosen and r.outcome == "fail"]
    print(f"Written: {path}. " + (f"FAILED: {'; '.join(failed)}" if failed else "Nothing failed."))
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
