"""The tutorial on landmarks: python docs/tutorials/morphometrics.py runs its commands, draws and prints its numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from shell import quote

import sfumato as sf
from sfumato.app.demo import EDGE, wings

HERE = Path(__file__).parent


def write_tps(path: Path, specimens: np.ndarray) -> None:
    """A TPS file: LM=, the landmarks, ID=."""
    rows = [
        f"LM={len(s)}\n" + "".join(f"{x!r} {y!r}\n" for x, y in s.tolist()) + f"ID=wing{i}\n"
        for i, s in enumerate(specimens)
    ]
    path.write_text("".join(rows))


def main() -> None:
    private, reference = wings()
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_tps(folder / "wings.tps", private)
        write_tps(folder / "reference.tps", reference[None])
        quote(HERE / "morphometrics.md", folder)
        shutil.copy(folder / "plan.png", HERE / "morphometrics-plan.png")
        release = sf.Release.load(folder / "mean.json")
    release.plot(HERE / "morphometrics.png", links=EDGE)
    print("errors with probability 0.5, 0.95, 0.99:", *(f"{release.error(p):.3f}" for p in (0.5, 0.95, 0.99)))

    # For this page only: the wings are published, so the true mean may be told.
    space = sf.PlanarShapes(landmarks=18)
    ball = sf.Ball(space, reference, 0.15)
    clipped = sf.frechet_mean(space, space.present(ball.clip(private))).point
    away = ball.distances(space.validate(private))
    print(f"records outside the ball: {np.sum(away > 0.15)} of {len(private)}")
    print(f"clipping moved the mean by {distance(space, clipped, sf.frechet_mean(space, private).point):.4f}")
    print(f"half of the wings are farther than {np.median(away):.3f} from the reference")


def distance(space: sf.Space, a: np.ndarray, b: np.ndarray) -> float:
    first, second = space.validate(np.stack([a, b]))
    return float(space.distance(first, second))


if __name__ == "__main__":
    main()
