"""``python -m attacks``: everything that attacks this package, at full strength, and a dated report of it."""

from __future__ import annotations

import argparse
import platform
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sfumato.audit.rows import Row, Settings
from sfumato.release import write_atomically

Section = Callable[[Settings], Iterable[Row]]
PACKAGES = ("sfumato", "numpy", "scipy", "randomgen", "pyarrow", "h5py", "rdata", "matplotlib", "atheris", "hypothesis")
COMMANDS = {
    "adversary": "python -m attacks.adversary",
    "randomness": "python -m attacks.randomness",
    "faults": "python -m attacks.faults",
    "solver": "python -m sfumato.audit.solver",
    "bits": "python -m attacks.bits",
    "draws": "sfumato audit, --broken, --timing",
    "fuzz": "python -m attacks.fuzz, and --engine atheris",
}


def in_module(name: str) -> Section:
    """The function ``section`` of a module, imported when it is run."""

    def run(settings: Settings) -> Iterable[Row]:
        section: Section = import_module(name).section
        return section(settings)

    return run


def adversary(settings: Settings) -> Iterator[Row]:
    """The search for counterexamples: every ratio must stay below 1, but for the paper's own scale, which must not."""
    command = [sys.executable, "-m", "attacks.adversary", "--seed", str(settings.seed)]
    command += ["--restarts", "1" if settings.quick else "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as search:
        assert search.stdout is not None
        for line in search.stdout:
            label, ratio = line.rsplit(maxsplit=1)
            wanted = "as run" in label
            well = (float(ratio) > 1) == wanted
            words = f"largest ratio {ratio}" + (", and must exceed 1: that scale is not private" if wanted else "")
            yield Row("adversary", label.strip(), "pass" if well else "fail", words)
    if search.returncode:
        yield Row("adversary", "the search itself", "fail", f"ended with exit code {search.returncode}")


# one line adds a section: a function from Settings to rows, or the module that holds it as `section`
SECTIONS: dict[str, Section] = {
    "randomness": in_module("attacks.randomness"),
    "faults": in_module("attacks.faults"),
    "fuzz": in_module("attacks.fuzz"),
    "solver": in_module("sfumato.audit.solver"),
    "bits": in_module("attacks.bits"),
    "draws": in_module("sfumato.audit.trial"),
    "adversary": adversary,
}


def report(rows: list[Row], settings: Settings, sections: list[str], done: list[str], begun: datetime) -> str:
    """The report so far, in Markdown."""
    failed = sum(row.outcome == "fail" for row in rows)
    versions = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version, **_versions()}
    state = (
        "complete" if done == sections else f"not complete: {', '.join(s for s in sections if s not in done)} to come"
    )
    lines = [
        f"# Audit of {begun:%Y-%m-%d}",
        "",
        f"Begun {begun:%Y-%m-%d %H:%M} UTC; {state}. {len(rows)} rows, {failed} failed.",
        f"Seed {settings.seed}, {'quick' if settings.quick else 'full strength'}. "
        f"Command: `python -m attacks --only {','.join(sections)} --seed {settings.seed}{' --quick' * settings.quick}`.",
        "",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()) + ".",
    ]
    for section in sections:
        held = [row for row in rows if row.section == section]
        if held:
            lines += ["", f"## {section}", "", *([f"`{COMMANDS[section]}`", ""] if section in COMMANDS else [])]
            lines += ["| what | outcome | in words |", "| --- | --- | --- |"]
            lines += [f"| {_cell(row.name)} | {row.mark} | {_cell(row.detail)} |" for row in held]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m attacks", description="Attack the package at full strength, and write a dated report."
    )
    parser.add_argument("--out", type=Path, default=Path("audit-report"), help="folder (default: audit-report)")
    parser.add_argument(
        "--only", default=",".join(SECTIONS), help=f"sections, by commas (default: {','.join(SECTIONS)})"
    )
    parser.add_argument("--quick", action="store_true", help="a small part of everything")
    parser.add_argument("--seed", type=int, default=0, help="seed of all that is random (default: 0)")
    options = parser.parse_args(None if arguments is None else list(arguments))
    chosen = options.only.split(",")
    if unknown := set(chosen) - set(SECTIONS):
        parser.error(f"unknown sections {', '.join(sorted(unknown))}; known: {', '.join(SECTIONS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    settings, begun = Settings(options.quick, options.seed, options.out), datetime.now(UTC)
    rows, done, path = list[Row](), list[str](), options.out / "REPORT.md"
    for name in chosen:
        for row in SECTIONS[name](settings):
            rows.append(row)
            print(f"{row.mark:16s}{row.section:12s}{row.name:48s}{row.detail}", flush=True)
            write_atomically(path, report(rows, settings, chosen, done, begun))  # an interrupted run loses nothing
        done.append(name)
    write_atomically(path, report(rows, settings, chosen, done, begun))
    failed = [row.name for row in rows if row.outcome == "fail"]
    print(f"Written: {path}. " + (f"FAILED: {'; '.join(failed)}" if failed else "Nothing failed."))
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
