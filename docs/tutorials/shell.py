"""Runs a command of a tutorial as a reader would type it, and prints both the command and what it says."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path


def shell(command: str, folder: Path) -> None:
    """Run the command in the folder; ``sfumato`` is the one installed beside this Python."""
    print(f"$ {command}", flush=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        shlex.split(command), cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    print((done.stdout + done.stderr).rstrip() + (f"\n(exit code {done.returncode})" if done.returncode else "") + "\n")
