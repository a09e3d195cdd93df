"""``python -m attacks``: everything that attacks this package, at full strength, and a dated report of it."""

from __future__ import annotations

import argparse
import platform
import re
import sqlite3
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from attacks.checks import Check, Settings
from sfumato.release import write_atomically

Section = Callable[[Settings], Iterable[Check]]
PACKAGES = ("sfumato", "numpy", "scipy", "randomgen", "pyarrow", "h5py", "rdata", "matplotlib", "atheris", "hypothesis")
COMMANDS = {  # where there is one that takes more options
    "adversary": "python -m attacks.adversary",
    "solver": "python -m attacks.solver",
    "bits": "python -m attacks.bits",
    "draws": "python -m attacks --only draws; for one mechanism sfumato audit, --broken, --timing",
    "fuzz": "python -m attacks.fuzz, and --engine atheris",
}


def in_module(name: str) -> Section:
    """The function ``section`` of a module, imported when it is run."""

    def run(settings: Settings) -> Iterable[Check]:
        section: Section = import_module(name).section
        return section(settings)

    return run


# one line adds a section
SECTIONS: dict[str, Section] = {
    "randomness": in_module("attacks.randomness"),
    "faults": in_module("attacks.faults"),
    "fuzz": in_module("attacks.fuzz"),
    "solver": in_module("attacks.solver"),
    "bits": in_module("attacks.bits"),
    "draws": in_module("attacks.draws"),
    "adversary": in_module("attacks.adversary"),
}


def report(rows: list[Check], settings: Settings, sections: list[str], done: list[str], begun: datetime) -> str:
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
            lines += ["", f"## {section}", "", f"`{COMMANDS.get(section, f'python -m attacks --only {section}')}`", ""]
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
    rows, done, path = list[Check](), list[str](), options.out / "REPORT.md"
    for name in chosen:
        for row in SECTIONS[name](settings):
            rows.append(row)
            print(row, flush=True)
            write_atomically(path, report(rows, settings, chosen, done, begun))  # an interrupted run loses nothing
        done.append(name)
    write_atomically(path, report(rows, settings, chosen, done, begun))
    failed = [row.name for row in rows if row.outcome == "fail"]
    print(f"Written: {path}. " + (f"FAILED: {'; '.join(failed)}" if failed else "Nothing failed."))
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
