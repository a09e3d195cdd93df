"""The report of an audit, in Markdown: complete or not, which code, what was found."""

from __future__ import annotations

import platform
import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from attacks.checks import Row, Settings

PACKAGES = ("sfumato", "numpy", "scipy", "numba", "randomgen", "pyarrow", "h5py", "rdata", "matplotlib", "atheris")


def written(rows: Sequence[Row], expected: Sequence[tuple[str, str]], settings: Settings, code: str) -> str:
    """Return the report of the rows so far; ``expected`` names the section and the case of all that there should be, ``code``
    the code as it is."""
    sections = list(dict.fromkeys(section for section, _ in expected))
    missing = Counter(section for section, _ in expected)
    missing.subtract(row.section for row in rows)
    to_come = ", ".join(f"{missing[section]} of {section}" for section in sections if missing[section])
    commits = Counter(row.commit for row in rows)
    versions = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version} | {
        n: _version(n) for n in PACKAGES
    }
    days = sorted({row.date[:10] for row in rows})
    lines = [
        "# Audit",
        "",
        f"**{f'Not complete: {to_come} to come' if to_come else 'Complete'}.** {len(rows)} of {len(expected)} cases, "
        f"{_failed(rows)} failed; {commits[code]} of them by the code as it is, `{code}`; "
        f"{sum(row.seconds for row in rows) / 60:.0f} minutes of a processor"
        + (f", {' to '.join(dict.fromkeys([days[0], days[-1]]))}." if days else "."),
        "",
        f"Seed {settings.seed}, {'quick' if settings.quick else 'full strength'}. Code: "
        + ", ".join(f"`{name}` ({count} rows)" for name, count in commits.items())
        + ". A row counts for the code that it names; `make audit` goes on where it was stopped, and "
        "`python -m attacks --only SECTION --cases WORD --again` runs cases again.",
        "",
        "A control is wrong on purpose and must be convicted: an attack that finds nothing there could not have found anything "
        "elsewhere. Bounds on ε by draws and by the clock are wrong with a probability of at most 10⁻⁶ each.",
        "",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()) + ".",
        "",
        "| section | cases | kept their promise | do not apply | controls convicted | failed | to come | minutes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for section in sections:
        own = [row for row in rows if row.section == section]
        good = Counter("n/a" if row.outcome == "n/a" else row.control for row in own if row.outcome != "fail")
        controls = f"{good[True]} of {sum(row.control for row in own)}"
        cells = [
            f"[{section}](#{section})" if own else section,
            len(own) + missing[section],
            good[False],
            good["n/a"],
            controls,
            _failed(own),
        ]
        lines.append(_line(*cells, missing[section], f"{sum(row.seconds for row in own) / 60:.1f}"))
    failed = [row for row in rows if row.outcome == "fail"]
    if failed:
        lines += ["", "## What failed", ""]
        lines += [f"- {row.section}: {_cell(row.name)}: {_cell(row.words)}" for row in failed]
    for section in sections:
        own = [row for row in rows if row.section == section]
        if own:
            lines += ["", f"## {section}", "", f"`python -m attacks --only {section}`", ""]
            lines += ["| what | outcome | in words | seconds | code |", "| --- | --- | --- | --- | --- |"]
            lines += [_line(row.name, row.mark, row.words, f"{row.seconds:.0f}", row.commit) for row in own]
    return "\n".join(lines) + "\n"


def _failed(rows: Sequence[Row]) -> int:
    return sum(row.outcome == "fail" for row in rows)


def _line(*cells: object) -> str:
    return f"| {' | '.join(_cell(str(cell)) for cell in cells)} |"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
