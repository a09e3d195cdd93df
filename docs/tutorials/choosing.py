"""The tables of the page on choosing a region and ε: python docs/tutorials/choosing.py prints them."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato.app.demo import wings


def main() -> None:
    spaces = [
        ("shapes, 18 landmarks", sf.PlanarShapes(landmarks=18), 0.15),
        ("shapes, 50 landmarks", sf.PlanarShapes(landmarks=50), 0.15),
        ("SPD, 3×3", sf.SPD(size=3), 1.5),
        ("SPD, 8×8", sf.SPD(size=8), 1.5),
        ("sphere S²", sf.Sphere(dim=2), 0.4),
    ]
    print("| space | d | radius | n = 100 | n = 400 | n = 1600 | rule, n = 1600 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, space, radius in spaces:
        errors = [sf.plan(space, radius, n, 1.0)[0].error_95 for n in (100, 400, 1600)]
        cells = ["refused" if error is None else f"{error:.3g}" for error in errors]
        rule = space.dim * 2 * radius / 1600
        print(f"| {name} | {space.dim} | {radius} | {' | '.join(cells)} | {rule:.2g} |")

    print("\n| directions | n·ε = 50 | 100 | 200 | 500 | 2000 |\n| --- | --- | --- | --- | --- | --- |")
    rng = np.random.default_rng(0)
    for directions in (3, 10, 30):
        spreads = np.exp(-np.arange(60) / (2 * directions))
        sample = rng.normal(size=(20, 60)) * spreads
        region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=60), sample, relation="same")
        rows = [sf.plan(region, n=n, epsilon=1.0)[0] for n in (50, 100, 200, 500, 2000)]
        print(f"| {directions} | {' | '.join(f'{row.gain:.1f} ({row.directions})' for row in rows)} |")

    private, reference = wings()
    space = sf.PlanarShapes(landmarks=18)
    true = sf.frechet_mean(space, private).point
    print("\n| radius | wings clipped | clipping moves the mean by | 95% error at ε = 1 |\n| --- | --- | --- | --- |")
    for radius in (0.05, 0.1, 0.15, 0.2, 0.3):
        ball = sf.Ball(space, reference, radius)
        share = np.mean(ball.distances(space.validate(private)) > radius)
        clipped = sf.frechet_mean(space, space.present(ball.clip(private))).point
        first, second = space.validate(np.stack([true, clipped]))
        error = sf.plan(space, radius, len(private), 1.0)[0].error_95
        print(f"| {radius} | {share:.0%} | {space.distance(first, second):.3f} | {error:.3f} |")


if __name__ == "__main__":
    main()
