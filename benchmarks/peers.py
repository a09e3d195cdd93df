"""Solvers for the Fréchet mean, ours and the peers', and a process that times one of them.

The process is this file, as ``python -m benchmarks.peers SOLVER KIND SIZE FILE TOLERANCE``.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import THREADS
from .cases import COLUMNS, NAMES, Array, Points
from .plain import plain

if TYPE_CHECKING:
    from sfumato import Space

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {**os.environ, **dict.fromkeys(THREADS, "1")}

Solver = Callable[[], Array]


# -- the solvers, ready to run: what is made once (the space, the problem, the layout of the records) is not timed ---------
def sfumato(kind: str, size: int, points: Array, tolerance: float) -> Solver:
    """sfumato's own: the call that a user makes, checks of the records included."""
    import sfumato as sf

    space, options = space_of(kind, size), mean_options(tolerance)
    return lambda: sf.frechet_mean(space, points, **options).point


def space_of(kind: str, size: int) -> Space:
    """The space of a case, as sfumato has it."""
    import sfumato as sf

    spaces: dict[str, Callable[[int], Space]] = {
        "sphere": sf.Sphere,
        "spd": sf.SPD,
        "shapes": sf.PlanarShapes,
        "shapes3d": sf.Shapes3D,
        "hyperbolic": sf.Hyperbolic,
        "grassmann": lambda n: sf.Grassmann(n, COLUMNS["grassmann"]),
        "stiefel": lambda n: sf.Stiefel(n, COLUMNS["stiefel"]),
    }
    return spaces[kind](size)


def mean_options(tolerance: float) -> dict[str, Any]:
    """The tolerance, where ``frechet_mean`` takes one; else it goes to the end of double precision."""
    from inspect import signature

    import sfumato as sf

    return {"tolerance": tolerance} if "tolerance" in signature(sf.frechet_mean).parameters else {}


def geomstats(kind: str, size: int, points: Array, tolerance: float) -> Solver:
    """geomstats' gradient descent; it stops at ‖∇F‖² ≤ ε·dim, so ε is set to tolerance²/dim."""
    from geomstats.geometry.grassmannian import Grassmannian
    from geomstats.geometry.hyperboloid import Hyperboloid
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices
    from geomstats.geometry.stiefel import Stiefel
    from geomstats.learning.frechet_mean import FrechetMean

    space: Any
    if kind == "sphere":
        space = Hypersphere(size)
    elif kind == "spd":
        space = SPDMatrices(size, equip=False)
        space.equip_with_metric(SPDAffineMetric)
    elif kind == "hyperbolic":
        space = Hyperboloid(size)
    elif kind == "stiefel":
        space = Stiefel(size, COLUMNS[kind])
    elif kind == "grassmann":
        space, points = Grassmannian(size, COLUMNS[kind]), points @ points.swapaxes(1, 2)
    else:
        preshapes = PreShapeSpace(size, ambient_dim=points.shape[2])
        preshapes.equip_with_group_action("rotations")
        space = preshapes.equip_with_quotient()
        points = preshapes.projection(points)
    options = {"epsilon": tolerance**2 / space.dim, "max_iter": 1000}

    def solve() -> Array:
        found = np.asarray(FrechetMean(space, method="default").set(**options).fit(points).estimate_)
        return np.linalg.eigh(found)[1][:, -COLUMNS[kind] :] if kind == "grassmann" else found

    return solve


def pyriemann(kind: str, size: int, points: Array, tolerance: float) -> Solver:
    """pyRiemann's affine-invariant mean of positive definite matrices; it stops at ‖∇F‖ ≤ tolerance."""
    try:
        from pyriemann.geometry.mean import mean_riemann
    except ImportError:  # before 0.12
        from pyriemann.utils.mean import mean_riemann

    return lambda: np.asarray(mean_riemann(points, tol=tolerance, maxiter=1000))


def pymanopt(kind: str, size: int, points: Array, tolerance: float) -> Solver:
    """pymanopt's trust regions, from the mean in the ambient space; cost and gradient in NumPy, the Hessian by differences
    of gradients.  (Its conjugate gradients search along lines by the cost, and end before 1e-8 on S^99.)

    Shapes are complex lines, points of its complex Grassmannian, in Helmert's coordinates, which leave out the centroid."""
    import pymanopt as pm
    from pymanopt.manifolds import ComplexGrassmann, Grassmann, Sphere, SymmetricPositiveDefinite
    from pymanopt.optimizers import TrustRegions

    if kind == "sphere":
        manifold, cost, gradient, start = Sphere(size + 1), *_on_sphere(points)
    elif kind == "spd":
        manifold, cost, gradient, start = SymmetricPositiveDefinite(size), *_on_spd(points)
    elif kind == "grassmann":
        manifold, cost, gradient, start = Grassmann(size, COLUMNS[kind]), *_on_subspaces(points)
    else:
        z = points @ [1, 1j] @ (helmert := _helmert(size)).T
        z = z / np.linalg.norm(z, axis=1, keepdims=True)
        manifold, cost, gradient, start = ComplexGrassmann(size - 1, 1), *_on_lines(z)
    optimizer = TrustRegions(min_gradient_norm=tolerance, max_iterations=1000, verbosity=0)

    def hessian(x: Points, v: Points) -> Points:
        length = manifold.norm(x, v)
        if length < 1e-300:
            return np.zeros_like(v)
        near = manifold.retraction(x, 2**-14 / length * v)
        return np.asarray((manifold.transport(near, x, gradient(near)) - gradient(x)) * (length / 2**-14))

    wrap = pm.function.numpy(manifold)
    problem = pm.Problem(manifold, wrap(cost), riemannian_gradient=wrap(gradient), riemannian_hessian=wrap(hessian))

    def solve() -> Array:
        found = optimizer.run(problem, initial_point=start).point
        if kind != "shapes":
            return np.asarray(found)
        outline = helmert.T @ found[:, 0]
        return np.stack([outline.real, outline.imag], axis=-1)

    return solve


Loss = tuple[
    Callable[[Points], float], Callable[[Points], Points], Points
]  # half the mean square, its gradient, a start


def _on_sphere(points: Array) -> Loss:
    def cost(x: Points) -> float:
        return float(np.mean(np.arccos(np.clip(points @ x, -1, 1)) ** 2)) / 2

    def gradient(x: Points) -> Points:
        cosine = np.clip(points @ x, -1, 1)
        angle = np.arccos(cosine)
        weights = angle / np.maximum(np.sin(angle), 1e-300)
        return np.asarray(-(weights @ points - (weights @ cosine) * x) / len(points))

    start = points.mean(axis=0)
    return cost, gradient, start / np.linalg.norm(start)


def _on_spd(points: Array) -> Loss:
    def whitened(x: Points) -> tuple[Array, Array, Array]:
        root = np.linalg.cholesky(x)
        inverse = np.linalg.inv(root)
        values, vectors = np.linalg.eigh(inverse @ points @ inverse.T)
        return np.asarray(root), np.asarray(np.log(values)), np.asarray(vectors)

    def cost(x: Points) -> float:
        return float(np.mean(np.sum(whitened(x)[1] ** 2, axis=1))) / 2

    def gradient(x: Points) -> Points:
        root, values, vectors = whitened(x)
        return np.asarray(-root @ ((vectors * values[:, None]) @ vectors.swapaxes(1, 2)).mean(axis=0) @ root.T)

    return cost, gradient, points.mean(axis=0)


def _on_subspaces(points: Array) -> Loss:
    def cost(x: Points) -> float:
        cosines = np.linalg.svd(x.T @ points, compute_uv=False)
        return float(np.mean(np.sum(np.arccos(np.minimum(cosines, 1.0)) ** 2, axis=1))) / 2

    def gradient(x: Points) -> Points:
        inside = x.T @ points
        u, s, vt = np.linalg.svd((points - x @ inside) @ np.linalg.inv(inside), full_matrices=False)
        return np.asarray(-((u * np.arctan(s)[:, None]) @ vt).mean(axis=0))

    start = np.linalg.eigh(np.tensordot(points, points, ((0, 2), (0, 2))))[1][:, -points.shape[2] :]
    return cost, gradient, start


def _on_lines(z: Points) -> Loss:
    """Complex unit vectors in the rows of z, up to a factor of length 1."""

    def overlaps(x: Points) -> tuple[Points, Array]:
        overlap = z.conj() @ x[:, 0]
        return overlap, np.asarray(np.arccos(np.minimum(np.abs(overlap), 1.0)))

    def cost(x: Points) -> float:
        return float(np.mean(overlaps(x)[1] ** 2)) / 2

    def gradient(x: Points) -> Points:
        overlap, angle = overlaps(x)
        turned = overlap / np.abs(overlap) * angle / np.maximum(np.sin(angle), 1e-300)  # each z, turned to x
        total = turned @ z
        return np.asarray(-(total - (x[:, 0].conj() @ total) * x[:, 0]) / len(z))[:, None]

    return cost, gradient, np.linalg.eigh(z.T @ z.conj())[1][:, -1:]


def _helmert(size: int) -> Array:
    """An orthonormal basis, in rows, of the vectors with sum 0."""
    rows = np.tril(np.ones((size - 1, size)))
    rows[np.arange(size - 1), np.arange(1, size)] = -np.arange(1, size)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


SOLVERS = {"sfumato": sfumato, "geomstats": geomstats, "pyRiemann": pyriemann, "pymanopt": pymanopt, "NumPy": plain}
LACKS = {("pyRiemann", kind): "has matrices only" for kind in NAMES if kind != "spd"}
LACKS |= {("pymanopt", kind): "has no such space and metric" for kind in ("shapes3d", "stiefel", "hyperbolic")}
PATIENCE = 60  # seconds by the clock, after which a solver is stopped


class Stopped(RuntimeError):
    """A solver took too long, or failed."""


# -- a process that times one solver on one file -------------------------------------------------------------------------
class Timed:
    """A solver in a process of its own, on one thread; :meth:`run` gives the CPU seconds of one run, of a short one the
    median of several.

    The first run is made before any is timed, so that compiling is not; ``mean`` is its answer, and ``memory`` its
    high-water mark in bytes above what was in use once the points were read and the solver had seen a few of them.
    """

    def __init__(self, solver: str, kind: str, size: int, file: Path, tolerance: float = 1e-8) -> None:
        self.name = solver
        command = [sys.executable, "-m", __spec__.name, solver, kind, str(size), str(file), repr(tolerance)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=ONE_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        first = self._answer()
        self.mean, self.memory, self.version = np.array(first["mean"]), int(first["memory"]), str(first["version"])
        self.seconds = float(first["seconds"])

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.process.kill()
            self.close()
            raise Stopped(f"stopped after {PATIENCE} s")
        line = self.process.stdout.readline()
        if not line:
            self.close()
            raise Stopped(f"{self.name} ended with code {self.process.returncode} and without an answer")
        return dict(json.loads(line))

    def run(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self._answer()["seconds"])

    def close(self) -> None:
        self.process.communicate()

    def __enter__(self) -> Timed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(name: str, kind: str, size: int, file: Path, tolerance: float) -> None:
    """Run a solver once, then again for every line that comes in; each answer is a line of JSON."""
    from importlib.metadata import version
    from statistics import median

    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print must not mix with the answers
    points = np.load(file)
    for _ in range(4):  # ours loads its compiled loops when it is asked for some means
        SOLVERS[name](kind, size, points[:20], tolerance)()
    solver = SOLVERS[name](kind, size, points, tolerance)

    def timed() -> tuple[Array, float]:
        start = time.process_time()
        mean = solver()
        return mean, time.process_time() - start

    before = memory_now()
    mean, seconds = timed()
    first = {
        "mean": mean.tolist(),
        "memory": high_water() - before,
        "seconds": seconds,
        "version": version(name.lower()),
    }
    print(json.dumps(first), file=answers, flush=True)
    for _ in sys.stdin:
        calls = [timed()[1]]
        while len(calls) < 20 and sum(calls) < 0.05:  # a short one is called again, as in a loop of a user's
            calls.append(timed()[1])
        print(json.dumps({"seconds": median(calls)}), file=answers, flush=True)


def memory_now() -> int:
    """Bytes in memory; the high-water mark starts anew from here, where the system allows it."""
    clear, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not status.exists():
        return high_water()
    clear.write_text("5")
    return _status("VmRSS")


def high_water() -> int:
    """Most bytes that this process has had in memory."""
    if Path("/proc/self/status").exists():
        return _status("VmHWM")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), float(sys.argv[5]))
