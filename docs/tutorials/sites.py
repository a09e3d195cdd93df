"""The tutorial on sites: python docs/tutorials/sites.py runs its commands, three sites in three folders, and draws."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from shell import COMMAND, again

import sfumato as sf
from sfumato.app.demo import heads, plates

HERE = Path(__file__).parent
OTHERS = ("oslo", "rome")
CODE = re.compile(r"(?:[0-9a-f]{4}-){9}[0-9a-f]{4}")


def write(path: Path, shapes: np.ndarray) -> None:
    """Write heads as a TPS file."""
    blocks = []
    for i, shape in enumerate(shapes.tolist()):
        lines = "".join(f"{x!r} {y!r}\n" for x, y in shape)
        blocks.append(f"LM={len(shape)}\n{lines}ID={i}\n")
    path.write_text("".join(blocks))


def section(text: str, folder: Path) -> str:
    """Return a section with what its commands print now: in the shared folder, or in Lisbon's and then in the others'."""
    where = folder / ("lisbon" if "lisbon's folder" in text else "shared")

    def run(block: re.Match[str]) -> str:
        told = again(block[0], where)
        done = [command for command in COMMAND.findall(told) if where.name == "lisbon" and "sfumato: " not in told]
        for site in OTHERS:
            for command in done:
                again(f"$ {command}\n".replace("lisbon", site), folder / site)
        return told

    if (folder / "shared" / "study.json").exists():
        code = sf.Study.load(folder / "shared" / "study.json").code
        text = re.sub(rf"(--agreed \\\n    ){CODE.pattern}", rf"\g<1>{code}", text)
    done = re.sub(r"(?<=```\n)\$ .*?(?=```)", run, text, flags=re.S)
    for sent in [*folder.glob("*/*.pub"), *folder.glob("*/*.part")]:
        if sent.parent.name != "shared" and ".key." not in sent.name:
            shutil.copy(sent, folder / "shared" / sent.name)  # as mail would
    return done


def main() -> None:
    private, public = plates(heads())
    page = HERE / "sites.md"
    with TemporaryDirectory() as name:
        folder = Path(name)
        for site, some in zip(("lisbon", *OTHERS), np.array_split(private, [80, 160]), strict=True):
            (folder / site).mkdir()
            write(folder / site / "heads.tps", some)
        (folder / "shared").mkdir()
        write(folder / "shared" / "public.tps", public)
        parts = re.split(r"(?=^## )", page.read_text(encoding="utf-8"), flags=re.M)
        page.write_text("".join([section(part, folder) for part in parts]), encoding="utf-8")
        shutil.copy(folder / "shared" / "mean.png", HERE / "sites.png")
        release = sf.Release.load(folder / "shared" / "mean.json")
        left = [str(sf.Ledger(folder / site / f"{site}.ledger").left) for site in ("lisbon", *OTHERS)]
    print(f"noise (95%) {release.noise(0.95):.4f}; left of each ledger: {', '.join(left)}")


if __name__ == "__main__":
    main()
