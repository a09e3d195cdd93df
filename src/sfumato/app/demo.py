"""``python -m sfumato.app.demo``: one private mean of real landmarks, its record and its picture; and the landmarks as TPS
files, to try the command line on.

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

from .. import Ellipsoid, Release, private_mean
from ..atomic import write_atomically
from ..numerics.arrays import Array
from ..spaces import space_from

REFERENCE_ROW = 43
EVERY = 5  # one wing in so many is public
CLOSER = (1, 14)  # landmarks that the picture also shows closer


def wings() -> tuple[Array, Array]:
    """Return all wings but one, and that one: the public reference."""
    try:
        from ktch.datasets import load_landmark_mosquito_wings
    except ImportError:
        raise SystemExit("the demo reads its wings from the package ktch: pip install ktch") from None
    coordinates = np.asarray(load_landmark_mosquito_wings().coords, dtype=np.float64).reshape(-1, 18, 2)
    return np.delete(coordinates, REFERENCE_ROW, axis=0), coordinates[REFERENCE_ROW]


def shared(data: Array) -> tuple[Array, Array]:
    """Return the 100 wings that stay private, and the 26 that are declared public."""
    public = np.arange(len(data)) % EVERY == 0
    return data[~public], data[public]


def run(out: Path, epsilon: float) -> Release:
    """Release the mean wing twice, and write mean.json, ball.json and mean.png; wings.tps, public.tps and reference.tps."""
    from ..files import write_points

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
    """Draw both releases beside each other, on one scale."""
    from ..views.drawing import draw
    from ..views.plots import captioned, render
    from ..views.scene import Panel, Scene
    from ..views.shapes import PLANE, Landmarks
    from ..views.subject import Subject

    epsilon = release.guarantee.epsilon
    chart = release.chart
    p = 0.95
    assert chart is not None
    known = f"how {public} public wings differ"
    if chart.basis is None:
        known = "the same, as the public wings did not fit"
    names = ["Known before: a centre and a radius", f"Known before: {known}"]
    forms = [Landmarks(Subject.of(each, p, range(12)), turned=False) for each in (by_ball, release)]
    rows = []
    for some, tall in ((None, 2.6), (CLOSER, 3.2)):
        corners = np.array([form.limits(PLANE, some) for form in forms])
        low = corners[:, 0].min(axis=0)
        high = corners[:, 1].max(axis=0)
        if some is not None:
            middle = (low[0] + high[0]) / 2
            half = float((high - low)[1])
            low[0] = middle - 1.0 * half
            high[0] = middle + 1.0 * half
            names = [f"closer: landmarks {' and '.join(str(i + 1) for i in some)}"] * 2
        marks = [form.marks(PLANE, 6.4 / float((high - low)[0])) for form in forms]
        pairs = zip(marks, names, strict=True)
        rows.append([Panel(each, low, high, name, (6.4, tall), boxed=some is not None) for each, name in pairs])
    directions = len(chart.axes) + chart.frozen
    frozen = f" Right, {chart.frozen} of {directions} directions stay as in it, and nothing is learned about them."
    caption = (
        f"Each landmark of the mean of the {release.n} clipped private wings lies in its soft region with probability {p:.0%}, "
        f"taken by itself. The public reference is the mean of {public} public wings.{frozen if chart.frozen else ''} Each "
        f"release alone costs ε = {epsilon:g}."
    )
    title = f"The private mean of {release.n} mosquito wings, ε = {epsilon:g}: what is public need not be paid for with noise"
    write_atomically(path, render(captioned(draw(Scene(rows, columns=4)), [caption], title)))


def main() -> None:
    """``sfumato demo`` by another name."""
    from .cli import main

    sys.argv[1:] = ["demo", *sys.argv[1:]]
    main()


if __name__ == "__main__":
    main()
