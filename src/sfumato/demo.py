"""``python -m sfumato.demo``: one private mean of real landmarks, its record and its picture; and the landmarks as TPS files,
to try the command line on.

The data are the mosquito wings of the package ktch (Apache-2.0; 127 wings of 11 genera, 18 landmarks each), read from that
package; nothing is fetched.  The public reference is one specimen, the first Aedes wing of the file, which is declared
public and left out of the data: the ball's centre may not be computed from the data.  The radius 0.15 is a round number
chosen in advance: wings of one family rarely differ by more in shape.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from . import Ball, Release, private_mean
from .release import write_atomically
from .spaces import space_from
from .spaces.base import Array

REFERENCE_ROW = 43
RADIUS = 0.15


def wings() -> tuple[Array, Array]:
    """The 126 wings that are kept private, and the public reference wing."""
    try:
        from ktch.datasets import load_landmark_mosquito_wings
    except ImportError:
        raise SystemExit("the demo reads its wings from the package ktch: pip install 'sfumato[demo]'") from None
    coordinates = np.asarray(load_landmark_mosquito_wings().coords, dtype=np.float64).reshape(-1, 18, 2)
    return np.delete(coordinates, REFERENCE_ROW, axis=0), coordinates[REFERENCE_ROW]


def run(out: Path, epsilon: float) -> Release:
    """Release the mean wing, and write mean.json and mean.png; the wings go to wings.tps and reference.tps."""
    from .files import write_points
    from .views.plots import plot_release

    data, reference = wings()
    ball = Ball(space_from("shapes", {"landmarks": 18}), reference, RADIUS)
    release = private_mean(data, ball, epsilon, unit="one mosquito")
    out.mkdir(parents=True, exist_ok=True)
    records = ("".join(f"{x!r} {y!r}\n" for x, y in wing) for wing in data.tolist())
    write_atomically(out / "wings.tps", "".join(f"LM=18\n{rows}ID={i}\n" for i, rows in enumerate(records)))
    write_points(out / "reference.tps", reference, "landmarks")
    release.save(out / "mean.json")
    plot_release(release, out / "mean.png", title="The private mean of 126 mosquito wings", outline=range(12))
    return release


def main() -> None:
    """``sfumato demo`` by another name."""
    from .cli import main

    sys.argv[1:] = ["demo", *sys.argv[1:]]
    main()


if __name__ == "__main__":
    main()
