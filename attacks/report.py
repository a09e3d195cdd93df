"""The report of an audit, in Markdown: complete or not, which code, what was found and what could have been."""

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
        f"{_failed(rows)} failed; {commits[code]} of them by the code `{code}`; "
        f"{sum(row.seconds for row in rows) / 60:.0f} minutes of a processor"
        + (f", {' to '.join(dict.fromkeys([days[0], days[-1]]))}." if days else "."),
        "",
        f"Seed {settings.seed}, {'quick' if settings.quick else 'full strength'}. The code is named by git's trees of `src` "
        "and `attacks` (`git rev-parse HEAD:src HEAD:attacks`). `make audit` goes on where it was stopped, and begins anew "
        "where the code has changed; `python -m attacks --only SECTION --cases WORD --again` runs cases again.",
        "",
        "A control is wrong on purpose and must be convicted: an attack that finds nothing there could not have found anything "
        "elsewhere. Bounds on ε by draws and by the clock are wrong with a probability of at most 10⁻⁶ each. *Found* is the "
        "largest loss that was proven, as a share of what is claimed. *Power* is what the same test, with as many draws, would "
        "have proven of something that loses exactly what is claimed; 1 where losses are computed and not estimated. Below a "
        "third of the claim a row says *no power* in the place of PASS.",
        "",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()) + ".",
        "",
        "| section | cases | of this code | kept their promise | no power | do not apply | controls convicted | failed "
        "| to come | least power | minutes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for section in sections:
        own = [row for row in rows if row.section == section]
        good = Counter(row.mark for row in own)
        controls = f"{good['CONVICTED']} of {sum(row.control for row in own)}"
        powers = [row.numbers["power"] for row in own if "power" in row.numbers and not row.control]
        cells = [
            f"[{section}](#{section})" if own else section,
            len(own) + missing[section],
            sum(row.commit == code for row in own),
            good["PASS"],
            good["no power"],
            good["does not apply"],
            controls,
            _failed(own),
            missing[section],
            f"{min(powers):.2f}" if powers else "by controls",
        ]
        lines.append(_line(*cells, f"{sum(row.seconds for row in own) / 60:.1f}"))
    failed = [row for row in rows if row.outcome == "fail"]
    if failed:
        lines += ["", "## What failed", ""]
        lines += [f"- {row.section}: {_cell(row.name)}: {_cell(row.words)}" for row in failed]
    for section in sections:
        own = [row for row in rows if row.section == section]
        if own:
            lines += ["", f"## {section}", "", f"`python -m attacks --only {section}`", ""]
            lines += [
                "| what | outcome | found | power | in words | seconds |",
                "| --- | --- | --- | --- | --- | --- |",
            ]
            for row in own:
                shares = (f"{row.numbers[key]:.3f}" if key in row.numbers else "" for key in ("found", "power"))
                lines.append(_line(row.name, row.mark, *shares, row.words, f"{row.seconds:.0f}"))
    return "\n".join(lines) + "\n"


def wrong_with(report: str, rows: Sequence[Row]) -> str:
    """Return what is wrong with a report that says it is complete, given the rows that are kept with it; "" if nothing is.

    >>> wrong_with("**Complete.** 1 of 1 cases, 0 failed; 1 of them by the code `abc`; 2", [Row("a", "b", False, "pass", "")])
    '1 of 1 rows are of other code than `abc`'
    """
    said = re.search(r"\*\*Complete\.\*\* (\d+) of (\d+) cases, .* by the code `([^`]+)`", report)
    if said is None:
        return ""
    full = [row for row in rows if not row.quick]
    others = sum(row.commit != said[3] for row in full)
    if others:
        return f"{others} of {len(full)} rows are of other code than `{said[3]}`"
    if "+" in said[3] or said[3] == "unknown":
        return f"the code `{said[3]}` is not committed"
    return (
        "" if len(full) == int(said[1]) == int(said[2]) else f"it has {len(full)} rows, and says {said[1]} of {said[2]}"
    )


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
