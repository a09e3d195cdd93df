"""Runs the commands that a page quotes, and writes below each what it prints now."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

COMMAND = re.compile(r"\$ ((?:[^\n]*\\\n)*[^\n]*)\n")


def quote(page: Path, folder: Path) -> None:
    """Run the commands of a page's blocks in a folder, and put what they print in the place of what stood below them.

    Above a last line "…" as many lines are quoted as stood there.  A command must be refused if it was, and only then.
    """
    text = page.read_text(encoding="utf-8")
    page.write_text(
        re.sub(r"(?<=```\n)\$ .*?(?=```)", lambda block: again(block[0], folder), text, flags=re.S), "utf-8"
    )


def again(block: str, folder: Path) -> str:
    """Return a block with what its commands print now."""
    said = []
    for part in re.split(r"^(?=\$ )", block, flags=re.M)[1:]:
        command = COMMAND.match(part)[1]
        before = part[len(command) + 3 :].splitlines()
        words = shlex.split(command.replace("\\\n", " "))
        done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True)
        if (done.returncode != 0) != any(line.startswith("sfumato: ") for line in before):
            raise SystemExit(f"$ {command}\n{done.stdout}{done.stderr}(exit code {done.returncode})")
        lines = [
            wrapped for line in (done.stdout + done.stderr).splitlines() for wrapped in textwrap.wrap(line, 78) or [""]
        ]
        if before and before[-1] == "…":
            lines = [*lines[: len(before) - 1], "…"]
        said += [f"$ {command}", *lines]
    return "\n".join(said).rstrip() + "\n"
