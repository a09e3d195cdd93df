"""The tutorial on public specimens: python docs/tutorials/atlas.py runs its commands, draws and prints its numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from morphometrics import distance, write_tps
from shell import quote

import sfumato as sf
from sfumato.app.demo import wings

HERE = Path(__file__).parent
SPACE = sf.PlanarShapes(landmarks=18)
RELEASES = 200


def main() -> None:
    every, reference = wings()
    public = np.arange(len(every)) % 5 == 0
    atlas, specimens = every[public], every[~public]
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, shapes in (("atlas.tps", atlas), ("specimens.tps", specimens), ("reference.tps", reference[None])):
            write_tps(folder / file, shapes)
        quote(HERE / "atlas.md", folder)
        shutil.copy(folder / "mean.png", HERE / "atlas.png")
    about, wrong = (SPACE, reference, 0.15), sf.Ellipsoid.from_sample(SPACE, misled(atlas, reference))
    regions = {
        "ball about one wing, radius 0.15": sf.Ball(*about),
        "smooth about the same wing": sf.Ellipsoid.smooth(*about),
        "bending about the same wing": sf.Ellipsoid.bending(*about),
        "26 public wings": sf.Ellipsoid.from_sample(SPACE, atlas),
        "5 of them": sf.Ellipsoid.from_sample(SPACE, atlas[:5]),
        "a wrong sample": wrong,
        "the ball about the wrong sample": wrong.ball,
    }
    # For this page only: the wings are published, so the true mean may be told.
    true = sf.frechet_mean(SPACE, specimens).point
    print(f"the public wing is {distance(SPACE, reference, true):.3f} from the mean of the private wings")
    print(f"the mean of the atlas is {distance(SPACE, sf.frechet_mean(SPACE, atlas).point, true):.3f} from it")
    for what, region in regions.items():
        errors = [f"{mean_error(specimens, region, epsilon, true):.3f}" for epsilon in (1.0, 4.0)]
        print(f"{what:35s} mean error with ε = 1: {errors[0]}, with ε = 4: {errors[1]}")


def mean_error(points: np.ndarray, region: sf.Ball | sf.Ellipsoid, epsilon: float, true: np.ndarray) -> float:
    """Of many releases, to the Fréchet mean of all private wings."""
    errors = [
        distance(SPACE, sf.private_mean(points, region, epsilon, allow_useless=True).value, true)
        for _ in range(RELEASES)
    ]
    return float(np.mean(errors))


def misled(shapes: np.ndarray, about: np.ndarray) -> np.ndarray:
    """As many shapes with the same spread, but about another wing and in random other directions."""
    center, place = SPACE.validate(np.stack([sf.frechet_mean(SPACE, shapes).point, about]))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(SPACE.dim, SPACE.dim)))[0]
    tangents = SPACE.coordinates(center, SPACE.log(center, SPACE.validate(shapes))) @ turn
    return SPACE.present(SPACE.exp(place, SPACE.from_coordinates(place, tangents)))


if __name__ == "__main__":
    main()
