"""``python -m benchmarks.sizes``: what an installation brings along, in megabytes, with each extra and without."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
USERS = (
    "studio",
    "demo",
    "files",
    "sklearn",
    "scale",
    "opendp",
    "sites",
    "peers",
)  # extras that are not for developers


def installed(folder: Path, extra: str) -> tuple[int, float]:
    """Install the package with an extra into a folder; return how many packages that is, and their megabytes."""
    what = f"{ROOT}[{extra}]" if extra else str(ROOT)
    quiet = ["--quiet", "--target", str(folder), "--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, what], check=True, stderr=subprocess.DEVNULL)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return len(list(folder.glob("*.dist-info"))), size / 1e6


def main() -> None:
    """Print a table of all extras that users choose, each beside the installation without any."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    print("| Installed | packages | MB | more than without |\n|---|---|---|---|")
    plain = 0.0
    for extra in ("", *(name for name in USERS if name in known)):
        with tempfile.TemporaryDirectory() as folder:
            packages, size = installed(Path(folder), extra)
        plain = plain or size
        name = f"`pip install .[{extra}]`" if extra else "`pip install .`"
        print(f"| {name} | {packages} | {size:.0f} | {size - plain:.0f} |", flush=True)


if __name__ == "__main__":
    main()
