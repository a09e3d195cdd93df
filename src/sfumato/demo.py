"""``python -m sfumato.demo``: one private mean of real landmarks, its record and its picture; and the landmarks as TPS files,
to try the command line on.

The data are the mosquito wings of the package ktch (Apache-2.0; 127 wings of 11 genera, 18 landmarks each), read from that
package; nothing is fetched.  One wing, the first Aedes of the file, is the public reference for those who know no more than
one specimen.  Of the other 126 every fifth, 26 in all, is declared public: the earlier study that tells where wings lie and how
they differ (``Ellipsoid.from_sample``).  The 100 others are private.  For comparison their mean is released a second time from
the centre and the radius of the public wings alone: a ball, in which every direction gets as much noise.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from . import Ellipsoid, Release, private_mean
from .release import write_atomically
from .spaces import space_from
from .spaces.base import Array

REFERENCE_ROW = 43
EVERY = 5  # one wing in so many is public


def wings() -> tuple[Array, Array]:
    """All wings but one, and that one: the public reference."""
    try:
        from ktch.datasets import load_landmark_mosquito_wings
    except ImportError:
        raise SystemExit("the demo reads its wings from the package ktch: pip install 'sfumato[demo]'") from None
    coordinates = np.asarray(load_landmark_mosquito_wings().coords, dtype=np.float64).reshape(-1, 18, 2)
    return np.delete(coordinates, REFERENCE_ROW, axis=0), coordinates[REFERENCE_ROW]


def shared(data: Array) -> tuple[Array, Array]:
    """The 100 wings that stay private, and the 26 that are declared public."""
    public = np.arange(len(data)) % EVERY == 0
    return data[~public], data[public]


def run(out: Path, epsilon: float) -> Release:
    """Release the mean wing twice, and write mean.json, ball.json and mean.png; wings.tps, public.tps and reference.tps."""
    from .files import write_points

    data, reference = wings()
    private, public = shared(data)
    region = Ellipsoid.from_sample(space_from("shapes", {"landmarks": 18}), public)
    unit = "one mosquito"
    release = private_mean(private, region, epsilon, unit=unit)
    by_ball = private_mean(private, region.ball, epsilon, mechanism="tangent", unit=unit, allow_useless=True)
    out.mkdir(parents=True, exist_ok=True)
    for name, some in (("wings.tps", private), ("public.tps", public)):
        records = ("".join(f"{x!r} {y!r}\n" for x, y in wing) for wing in some.tolist())
        write_atomically(out / name, "".join(f"LM=18\n{rows}ID={i}\n" for i, rows in enumerate(records)))
    write_points(out / "reference.tps", reference, "landmarks")
    release.save(out / "mean.json")
    by_ball.save(out / "ball.json")
    _plot(by_ball, release, len(public), out / "mean.png")
    return release


def _plot(by_ball: Release, release: Release, public: int, path: Path) -> None:
    """Both releases beside each other, on one scale."""
    from .views.plots import captioned, write_figure
    from .views.shapes import draw_shapes

    g, chart, limit = release.guarantee, release.chart, 0.95
    assert chart is not None
    known = f"how {public} public wings differ: {len(chart.axes)} of {len(chart.axes) + chart.frozen} directions"
    if chart.basis is None:
        known = "the same: the look at the public wings fell back to the ball"
    drawn = draw_shapes([by_ball, release], limit, range(12), ["Known before: a centre and a radius", f"Known before: {known}"])
    sentences = [
        f"Each landmark of the mean of the {release.n} private wings lies in the soft region about its own with probability "
        f"{limit:.0%}, taken by itself, up to what clipping to the public region took from that mean. The public reference is "
        f"the mean of the {public} public wings. Either release alone costs ε = {g.epsilon:g}; both panels have one scale."
    ]
    title = f"The private mean of {release.n} mosquito wings, ε = {g.epsilon:g}, made twice"
    write_figure(captioned(drawn, sentences, title), path)


def main() -> None:
    """``sfumato demo`` by another name."""
    from .cli import main

    sys.argv[1:] = ["demo", *sys.argv[1:]]
    main()


if __name__ == "__main__":
    main()
