"""``make agreement``: do sfumato's Fréchet means agree with those of geomstats and pyRiemann?

The peers live in an environment of their own (``.venv-peers``, made on the first run), because geomstats needs an older
numpy; this file runs itself there to ask them.  Exits with 1 if a pair of means is more than 1e-8 apart.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy starts its threads; the peers inherit it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LIMIT = 1e-8
SEED = 20220101
PEERS = Path(__file__).resolve().parent.parent / ".venv-peers"
REQUIREMENTS = ["geomstats>=2.8,<2.9", "numpy<2.4", "pyriemann>=0.12"]


@dataclass(frozen=True)
class Case:
    """A space (``size``: dimension of the sphere, side of the matrices, number of landmarks) and a number of records."""

    name: str
    kind: str
    size: int
    n: int

    def data(self, seed: int) -> Array:
        """Records that are spread widely and not symmetrically, made without either library."""
        rng = np.random.default_rng([seed, self.size, self.n])
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


# -- in the peers' environment ----------------------------------------------------------------------------------------
def geomstats_mean(case: Case, points: Array) -> Array:
    """geomstats' gradient descent; it stops at ‖∇F‖² ≤ ε·dim, so ε = 1e-24 asks for a gradient of about 1e-12."""
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices
    from geomstats.learning.frechet_mean import FrechetMean

    space: Any
    if case.kind == "sphere":
        space = Hypersphere(case.size)
    elif case.kind == "spd":
        space = SPDMatrices(case.size, equip=False)
        space.equip_with_metric(SPDAffineMetric)
    else:
        preshapes = PreShapeSpace(case.size, ambient_dim=2)
        preshapes.equip_with_group_action("rotations")
        space = preshapes.equip_with_quotient()
        points = preshapes.projection(points)
    mean = FrechetMean(space, method="default").set(epsilon=1e-24, max_iter=1000).fit(points).estimate_
    return np.asarray(mean, dtype=np.float64)


def pyriemann_mean(points: Array) -> Array:
    """pyRiemann's affine-invariant mean of positive definite matrices."""
    from pyriemann.geometry.mean import mean_riemann

    return np.asarray(mean_riemann(points, tol=1e-12, maxiter=1000), dtype=np.float64)


def answer_as_peer(folder: Path) -> None:
    """Read data.npz, write peers.npz: one mean for each 'case|peer and version'."""
    from importlib.metadata import version

    means: dict[str, Array] = {}
    with np.load(folder / "data.npz") as data:
        for case in CASES:
            points = data[case.name]
            means[f"{case.name}|geomstats {version('geomstats')}"] = geomstats_mean(case, points)
            if case.kind == "spd":
                means[f"{case.name}|pyRiemann {version('pyriemann')}"] = pyriemann_mean(points)
    np.savez(folder / "peers.npz", **means)  # type: ignore[arg-type]


# -- in our own -------------------------------------------------------------------------------------------------------
def peers_python() -> Path:
    """The interpreter of the peers' environment, which is made if it is missing or was made for other versions."""
    python, stamp, wanted = PEERS / "bin" / "python", PEERS / "installed", "\n".join(REQUIREMENTS)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing the peers in {PEERS.name} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", PEERS], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(pip + REQUIREMENTS, check=True)
        stamp.write_text(wanted)
    return python


def compare(folder: Path) -> bool:
    """Print the table; whether all means agree.  Distances and gradients are sfumato's."""
    import sfumato as sf

    spaces = {"sphere": sf.Sphere, "spd": sf.SPD, "shapes": sf.PlanarShapes}
    data = {case.name: case.data(SEED) for case in CASES}
    np.savez(folder / "data.npz", **data)  # type: ignore[arg-type]
    subprocess.run([peers_python(), __file__, "--peer", folder], check=True)

    print(f"{'':13s} {'':>4s}  {'':17s} {'distance of':>12s}   {'gradient norm at the mean of':^29s}")
    print(f"{'space':13s} {'n':>4s}  {'peer':17s} {'the means':>12s}   {'sfumato':>14s} {'the peer':>14s}")
    agree = True
    with np.load(folder / "peers.npz") as peers:
        for case in CASES:
            space: sf.Space = spaces[case.kind](case.size)
            points = space.validate(data[case.name])
            ours = space.validate(sf.frechet_mean(space, data[case.name]).point[None])
            for key in peers.files:
                name, peer = key.split("|")
                if name != case.name:
                    continue
                theirs = space.validate(peers[key][None])
                distance = float(space.distance(ours[0], theirs[0]))
                own, other = (float(space.norm(x[0], space.mean_log(x, points)[0])) for x in (ours, theirs))
                near = distance <= LIMIT
                print(
                    f"{case.name:13s} {case.n:4d}  {peer:17s} {distance:12.1e}   {own:14.1e} {other:14.1e}"
                    + ("" if near else "  too far")
                )
                agree = agree and near
    print(f"{'all' if agree else 'NOT all'} within {LIMIT:g}")
    return agree


def main() -> int:
    if sys.argv[1:2] == ["--peer"]:
        answer_as_peer(Path(sys.argv[2]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return 0 if compare(Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
