"""The tutorial on landmarks: python docs/tutorials/morphometrics.py writes its pictures and prints its numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from shell import shell

import sfumato as sf
from sfumato.app.demo import wings

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
        shell("sfumato inspect wings.tps", folder)
        shell("sfumato plan --space shapes --landmarks 18 --n 126 --radius 0.15 --epsilon 1 --plot plan.png", folder)
        shell("sfumato ledger init study.ledger --epsilon 2 --dataset wings", folder)
        shell(
            "sfumato release wings.tps --space shapes --center reference.tps --radius 0.15 --epsilon 1 "
            "--unit 'one mosquito' --ledger study.ledger --out mean.json --plot mean.png --report mean.html "
            "--value mean.tps",
            folder,
        )
        shell("sfumato ledger show study.ledger", folder)
        shell(
            "sfumato release wings.tps --space shapes --center reference.tps --radius 0.15 --epsilon 1.5 "
            "--ledger study.ledger --out again.json",
            folder,
        )
        shutil.copy(folder / "plan.png", HERE / "morphometrics-plan.png")

        release = sf.Release.load(folder / "mean.json")
        sf.plot_release(release, HERE / "morphometrics.png", links=range(12))
        for p in (0.5, 0.95, 0.99):
            print(f"release.error({p}) = {release.error(p):.3f}")

        # For this page only: the wings are published, so the true mean may be told.
        space = sf.PlanarShapes(landmarks=18)
        ball = sf.Ball(space, reference, 0.15)
        clipped = sf.frechet_mean(space, space.present(ball.clip(private))).point
        true = sf.frechet_mean(space, private).point
        canonical = space.validate(private)
        print(f"records outside the ball: {np.sum(ball.distances(canonical) > 0.15)} of {len(private)}")
        print(f"clipping moved the mean by {distance(space, clipped, true):.3f}")
        print(f"the release is {distance(space, release.value, clipped):.3f} from the mean of the clipped records")
        print(f"half of the wings are farther than {np.median(ball.distances(canonical)):.3f} from the reference")


def distance(space: sf.Space, a: np.ndarray, b: np.ndarray) -> float:
    first, second = space.validate(np.stack([a, b]))
    return float(space.distance(first, second))


if __name__ == "__main__":
    main()
