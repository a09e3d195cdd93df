"""``make agreement``: do sfumato's Fréchet means agree with those of geomstats and pyRiemann?

Exits with 1 if a pair of means is more than 1e-8 apart.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import THREADS

os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np

from .cases import SEED, Array
from .peers import Timed, space_of

LIMIT, TOLERANCE = 1e-8, 1e-12


@dataclass(frozen=True)
class Case:
    """A space (``size``: dimension of the sphere, side of the matrices, number of landmarks) and a number of records."""

    name: str
    kind: str
    size: int
    n: int

    def data(self) -> Array:
        """Records that are spread widely and not symmetrically, made without either library."""
        rng = np.random.default_rng([SEED, self.size, self.n])
        if self.kind == "sphere":  # the positive orthant, leaning to the last axes
            points = rng.exponential(size=(self.n, self.size + 1)) * np.linspace(1, 3, self.size + 1)
            return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
        if self.kind == "spd":  # sample covariances, in units that differ by row
            samples = rng.standard_normal((self.n, self.size, 2 * self.size)) * np.linspace(1, 3, self.size)[:, None]
            return samples @ samples.swapaxes(1, 2) / (2 * self.size)
        # an ellipse with noise; shift, scale and rotation are left for each library to take out
        angle = 2 * np.pi * np.arange(self.size) / self.size
        z = 2 * np.cos(angle) + 1j * np.sin(angle) + 0.3 * (rng.standard_normal((self.n, self.size, 2)) @ [1, 1j])
        turn = rng.lognormal(size=self.n) * np.exp(2j * np.pi * rng.random(self.n))
        z = z * turn[:, None] + (rng.standard_normal((self.n, 2)) @ [1, 1j])[:, None]
        return np.stack([z.real, z.imag], axis=-1)


CASES = [
    Case("S^2", "sphere", 2, 200),
    Case("S^9", "sphere", 9, 100),
    Case("SPD(2)", "spd", 2, 100),
    Case("SPD(5)", "spd", 5, 60),
    Case("shapes of 10", "shapes", 10, 80),
]


def compare(folder: Path) -> bool:
    """Print the table; whether all means agree.  Distances and gradients are sfumato's."""
    import sfumato as sf

    print(f"{'':13s} {'':>4s}  {'':17s} {'distance of':>12s}   {'gradient norm at the mean of':^29s}")
    print(f"{'space':13s} {'n':>4s}  {'peer':17s} {'the means':>12s}   {'sfumato':>14s} {'the peer':>14s}")
    agree = True
    for case in CASES:
        data, space = case.data(), space_of(case.kind, case.size)
        np.save(folder / "data.npy", data)
        points, ours = space.validate(data), space.validate(sf.frechet_mean(space, data).point[None])
        for peer in ("geomstats", "pyRiemann") if case.kind == "spd" else ("geomstats",):
            with Timed(peer, case.kind, case.size, folder / "data.npy", TOLERANCE) as solver:
                theirs = space.validate(solver.mean[None])
            distance = float(space.distance(ours[0], theirs[0]))
            own, other = (float(space.norm(x[0], space.mean_log(x, points)[0])) for x in (ours, theirs))
            near = distance <= LIMIT
            print(
                f"{case.name:13s} {case.n:4d}  {peer + ' ' + solver.version:17s} {distance:12.1e}   {own:14.1e} {other:14.1e}"
                + ("" if near else "  too far")
            )
            agree = agree and near
    print(f"{'all' if agree else 'NOT all'} within {LIMIT:g}")
    return agree


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if compare(Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
