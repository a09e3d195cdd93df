"""``python -m benchmarks.cost``: gradient evaluations per exact KNG draw, on data that fill half of the ball."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from sfumato import KNG, SPD, Ball, PlanarShapes, Space, Sphere
from sfumato.records import Records


@dataclass(frozen=True)
class Case:
    """A space, a public radius, a number of records, and the largest cost that the tests allow."""

    space: Space
    radius: float
    n: int
    limit: float


CASES = [
    Case(Sphere(dim=2), float(np.pi / 8), 100, 2.5),
    Case(SPD(size=2), 1.5, 100, 1.5),
    Case(PlanarShapes(landmarks=50), 0.125, 409, 5.0),
]


def evaluations_per_draw(case: Case, size: int, rng: np.random.Generator) -> float:
    """Mean number of gradients per draw, for records uniform in direction and in radius up to half the ball's radius."""
    space, center = case.space, case.space.origin()
    points = space.random_points(center, case.radius / 2, case.n, rng)
    kng = KNG(Ball(space, space.present(center), case.radius), epsilon=1.0)
    return kng.at(len(points)).target(Records(space, points)).draw(size, rng).evaluations / size


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000, help="draws for each space (default: 10000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of data and draws (default: 0)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    print(f"{'space':32s} {'radius':>8s} {'n':>5s} {'gradients per draw':>20s}")
    for case in CASES:
        cost = evaluations_per_draw(case, arguments.draws, rng)
        print(f"{case.space!s:32s} {case.radius:8.4f} {case.n:5d} {cost:20.3f}")


if __name__ == "__main__":
    main()
