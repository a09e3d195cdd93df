"""``python -m benchmarks.heads``: what the demo's release of trilobite heads is worth, whichever of them are public."""

from __future__ import annotations

import sys

import numpy as np

import sfumato as sf
from sfumato.app.demo import heads, plates

SPLITS = 20
EPSILON = 1.0


def measure(splits: int = SPLITS) -> np.ndarray:
    """Return for each split: the error of the release, that of the public mean, the stated 95% error and the stated gain.

    Errors are distances from the Fréchet mean of the private heads.  They can be told because these heads are published.
    """
    data = heads()
    space = sf.PlanarShapes(landmarks=data.shape[1])
    rows = []
    for seed in range(splits):
        private, public = plates(data, seed)
        release = sf.private_mean(private, sf.Ellipsoid.from_sample(space, public, relation="same"), EPSILON)
        means = [sf.frechet_mean(space, some).point for some in (private, public)]
        true, center, value = space.validate(np.stack([*means, release.value]))
        far = [float(space.distance(point[None], true)[0]) for point in (value, center)]
        rows.append((*far, release.error(0.95), release.gain))
    return np.array(rows)


def main(splits: int = SPLITS) -> None:
    """Print the root mean squares of both errors and their ratio, and how often the stated error held."""
    error, public, stated, gain = measure(splits).T
    of_release, of_public = (float(np.sqrt(np.mean(each**2))) for each in (error, public))
    print(
        f"{splits} random splits, ε = {EPSILON:g}: error of the public mean {of_public:.4f}, of the release {of_release:.4f}"
    )
    print(f"gain {of_public / of_release:.2f}; stated gain {np.median(gain):.2f} (median)")
    print(f"stated 95% error {np.median(stated):.4f} (median): it held in {np.sum(error <= stated)} of {splits}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
