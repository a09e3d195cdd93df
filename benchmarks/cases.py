"""Data to compare solvers on, and how good a mean is: from the formulas, with no library but NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Points = NDArray[Any]

NAMES = {
    "sphere": "S^{}",
    "shapes": "shapes k = {}",
    "shapes3d": "3-D shapes k = {}",
    "spd": "SPD({})",
    "grassmann": "Gr({}, 3)",
    "stiefel": "St({}, 2)",
    "hyperbolic": "H^{}",
}
RADII = dict.fromkeys(NAMES, 0.5) | {"sphere": np.pi / 8, "shapes": np.pi / 16, "shapes3d": np.pi / 16, "spd": 1.5}
RADII["hyperbolic"] = 1.5
COLUMNS = {"grassmann": 3, "stiefel": 2}  # of a frame
SEED = 20220101
BLOCK = 1 << 20  # numbers made or read at once


@dataclass(frozen=True)
class Case:
    """A space (``size``: dimension of the sphere or hyperbolic space, side of the matrices, number of landmarks, or of the
    numbers of each vector of a frame) and a number of records.

    They fill a ball unevenly.  Matrices may also be ``data="covariances"``, of 2k samples of k uncorrelated variables, or
    "anisotropic": the same in units that differ by variable and, the more so for the last variables, by record, such that
    condition numbers seen from the mean go to e^10.
    """

    kind: str
    size: int
    n: int
    data: str = ""

    @property
    def name(self) -> str:
        return f"{NAMES[self.kind].format(self.size)}{self.data and ' ' + self.data}, n = {self.n:,}"

    @property
    def radius(self) -> float:
        return float(RADII[self.kind])

    @property
    def point_shape(self) -> tuple[int, ...]:
        if self.kind in ("sphere", "hyperbolic"):
            return (self.size + 1,)
        return self.size, {"shapes": 2, "shapes3d": 3, "spd": self.size, **COLUMNS}[self.kind]

    def center(self) -> Array:
        """The centre of the ball: a direction, an outline, a body, a frame, or a matrix with variances from 0.3 to 3."""
        if self.kind == "sphere":
            return np.full(self.size + 1, 1 / np.sqrt(self.size + 1))
        if self.kind == "hyperbolic":
            return np.append(np.cosh(1.0), np.full(self.size, np.sinh(1.0) / np.sqrt(self.size)))
        if self.kind == "shapes3d":
            return _body(self.size)
        if self.kind in COLUMNS:
            return np.linalg.qr(_root(self.size)[:, : COLUMNS[self.kind]])[0]
        if self.kind == "shapes":
            z = _outline(self.size)
            return np.stack([z.real, z.imag], axis=-1)
        root = _root(self.size)
        return root @ root

    def points(self) -> Array:
        """All records."""
        made = np.empty((self.n, *self.point_shape))
        for i, rows in enumerate(self.parts()):
            made[rows] = self.part(i)
        return made

    def parts(self) -> list[slice]:
        """The rows of each part: together they are all records, made or read one part at a time."""
        step = max(1, BLOCK // int(np.prod(self.point_shape)))
        return [slice(start, min(start + step, self.n)) for start in range(0, self.n, step)]

    def part(self, i: int) -> Array:
        """The records of one part, which has a random stream of its own."""
        rows = self.parts()[i]
        return self.block(rows.stop - rows.start, np.random.default_rng([SEED, self.size, i]))

    def block(self, n: int, rng: np.random.Generator) -> Array:
        """n records in the ball, as the uniform law on a ball of the tangent space, but more on one side than the other:
        neither the first record, nor the centre, nor the mean in the ambient space is the Fréchet mean."""
        if self.data:
            return _covariances(self.size, n, self.data == "anisotropic", rng)
        if self.kind == "spd":
            v = rng.standard_normal((n, self.size, self.size))
            v = (v + v.swapaxes(1, 2)) / 2
            values, vectors = np.linalg.eigh(self._scaled(v, rng))
            root = _root(self.size)
            x = root @ ((vectors * np.exp(values)[:, None]) @ vectors.swapaxes(1, 2)) @ root
            return np.asarray((x + x.swapaxes(1, 2)) / 2)
        if self.kind == "sphere":
            return np.asarray(self._on_sphere(rng.standard_normal((n, self.size + 1)), self.center(), rng))
        if self.kind != "shapes":
            return self._of_matrices(rng.standard_normal((n, *self.point_shape)), rng)
        v = rng.standard_normal((n, self.size, 2)) @ [1, 1j]
        z = self._on_sphere(v - v.mean(axis=1, keepdims=True), _outline(self.size), rng)
        z = z * np.exp(2j * np.pi * rng.random(n))[:, None]  # every outline turned its own way
        return np.stack([z.real, z.imag], axis=-1)

    def _of_matrices(self, v: Array, rng: np.random.Generator) -> Array:
        """Points of the other spaces from Gaussian arrays: bodies and subspaces each turned its own way."""
        x = self.center()
        if self.kind == "hyperbolic":  # the vector at the origin, then the boost that takes the origin to the centre
            v = self._scaled(v[:, 1:], rng)
            length = np.linalg.norm(v, axis=1, keepdims=True)
            y = np.concatenate([np.cosh(length), np.sinh(length) / length * v], axis=1)
            boost = np.eye(self.size + 1)
            boost[0], boost[1:, 0] = x, x[1:]
            boost[1:, 1:] += np.outer(x[1:], x[1:]) / (1 + x[0])
            y = y @ boost
            y[:, 0] = np.sqrt(1 + (y[:, 1:] ** 2).sum(axis=1))
            return np.asarray(y)
        if self.kind == "shapes3d":
            v -= v.mean(axis=1, keepdims=True)
            y = self._on_sphere(v.reshape(len(v), -1), x.ravel(), rng).reshape(v.shape)
            turn = np.linalg.qr(rng.standard_normal((len(v), 3, 3)))[0]
            return np.asarray(y @ (turn * np.linalg.det(turn)[:, None, None]))
        if self.kind == "grassmann":
            turn = np.linalg.qr(rng.standard_normal((len(v), 3, 3)))[0]
            return np.asarray(np.linalg.qr(x + self._scaled(v - x @ (x.T @ v), rng))[0] @ turn)
        u, _, vt = np.linalg.svd(x + self._scaled(v, rng), full_matrices=False)
        return np.asarray(u @ vt)

    def _on_sphere(self, v: Points, c: Points, rng: np.random.Generator) -> Points:
        """exp_c of scaled v, where c is a unit vector, real or complex (a shape with its horizontal vectors)."""
        v = self._scaled(v - (v @ c.conj())[:, None] * c, rng)
        length = np.linalg.norm(v, axis=1, keepdims=True)
        x = np.cos(length) * c + np.sinc(length / np.pi) * v
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def _scaled(self, v: Points, rng: np.random.Generator) -> Points:
        """Gaussian vectors cut to the lengths of a uniform law on the ball, three in four on one side."""
        k = self.size
        dims = {"shapes": 2 * k - 4, "shapes3d": 3 * k - 7, "spd": k * (k + 1) // 2, "grassmann": 3 * (k - 3)}
        dim = dims.get(self.kind, 2 * k - 3 if self.kind == "stiefel" else k)
        side = v.reshape(len(v), -1)[:, 0].real
        sign = np.where((side < 0) & (rng.random(len(v)) < 0.5), -1.0, 1.0)
        length = np.sqrt((np.abs(v) ** 2).reshape(len(v), -1).sum(axis=1))
        factor = sign * self.radius * rng.random(len(v)) ** (1 / dim) / length
        return np.asarray(v * factor.reshape(-1, *(1,) * (v.ndim - 1)))


def _covariances(size: int, n: int, anisotropic: bool, rng: np.random.Generator) -> Array:
    samples = rng.standard_normal((n, size, 2 * size))
    if anisotropic:
        samples *= np.exp(rng.standard_normal((n, size)) * np.linspace(0, 1, size))[:, :, None]
        samples = _root(size) @ (10.0 ** np.linspace(0, 2, size)[:, None] * samples)
    x = samples @ samples.swapaxes(1, 2) / (2 * size)
    return np.asarray((x + x.swapaxes(1, 2)) / 2)


def _outline(landmarks: int) -> Points:
    """A bent ellipse, centred and of unit size."""
    t = 2 * np.pi * np.arange(landmarks) / landmarks
    z = np.cos(t) * (1 + 0.3 * np.sin(t)) + 1j * (0.45 * np.sin(t) + 0.2 * np.cos(2 * t))
    z -= z.mean()
    return np.asarray(z / np.linalg.norm(z))


def _body(landmarks: int) -> Array:
    """A bent spiral, centred and of unit size."""
    t = 2 * np.pi * np.arange(landmarks) / landmarks
    x = np.stack([np.cos(t), 0.7 * np.sin(t), 0.4 * np.cos(2 * t) + 0.1 * t], axis=1)
    x -= x.mean(axis=0)
    return np.asarray(x / np.linalg.norm(x))


def _root(size: int) -> Array:
    """The root of a matrix with eigenvalues from 0.3 to 3, in a basis that is not that of the axes."""
    u = np.ones(size) / np.sqrt(size)
    reflection = np.eye(size) - 2 * np.outer(u, u)
    return np.asarray((reflection * np.sqrt(np.geomspace(0.3, 3.0, size))) @ reflection)


def gradient_norm(kind: str, mean: Array, points: Array) -> float:
    """‖∇F‖ at ``mean``, F half the mean squared distance to the points: the length of the mean logarithm.

    Sphere: log_x y = θ/sin θ·(y − cos θ·x), 2·sin(θ/2) = |x − y|.  Shapes: the same, after y is turned to x.  SPD: in the
    coordinates x^½·(·)·x^½, the matrix logarithm of x^−½·y·x^−½.  3-D shapes: as the sphere, after Kabsch's rotation.
    Subspaces: (1 − xxᵀ)y(xᵀy)⁻¹ with the singular values' arctangents.  Frames: Zimmermann's iteration, and the canonical
    metric.  Hyperbolic space: t/sinh t·(y − cosh t·x), cosh t = −⟨x, y⟩, in Minkowski's metric.

    >>> round(gradient_norm("sphere", np.array([1.0, 0.0]), np.array([[np.cos(0.3), np.sin(0.3)]])), 12)
    0.3
    """
    step = max(1, BLOCK // mean.size)
    total = np.sum([_sum_of_logs(kind, mean, points[i : i + step]) for i in range(0, len(points), step)], axis=0)
    square = float(np.sum(np.abs(total) ** 2))
    if kind == "hyperbolic":
        square -= 2 * float(total[0]) ** 2
    if kind == "stiefel":
        square -= float(np.sum((mean.T @ total) ** 2)) / 2
    return float(np.sqrt(max(0.0, square))) / len(points)


def _sum_of_logs(kind: str, x: Points, y: Points) -> Points:
    if kind == "spd":
        values, vectors = np.linalg.eigh((x + x.T) / 2)
        whiten = (vectors / np.sqrt(values)) @ vectors.T
        values, vectors = np.linalg.eigh(whiten @ y @ whiten)
        return np.asarray(((vectors * np.log(values)[:, None]) @ vectors.swapaxes(1, 2)).sum(axis=0))
    if kind == "hyperbolic":
        inner = y[:, 1:] @ x[1:] - y[:, 0] * x[0]
        t = np.arccosh(np.maximum(1.0, -inner))
        return np.asarray(np.tensordot(t / np.maximum(np.sinh(t), 1e-300), y + inner[:, None] * x, 1))
    if kind == "grassmann":
        across = (y - x @ (x.T @ y)) @ np.linalg.inv(x.T @ y)
        u, s, vt = np.linalg.svd(across, full_matrices=False)
        return np.asarray(((u * np.arctan(s)[:, None]) @ vt).sum(axis=0))
    if kind == "stiefel":
        return np.asarray(frame_logs(x, y).sum(axis=0))
    if kind == "shapes3d":
        x = x - x.mean(axis=0)
        y = y - y.mean(axis=1, keepdims=True)
        u, _, vt = np.linalg.svd(x.T @ y)
        u[:, :, -1] *= np.linalg.det(u @ vt)[:, None]
        y = (y @ (u @ vt).swapaxes(1, 2)).reshape(len(y), -1)
        x, y = x.ravel(), y / np.linalg.norm(y, axis=1, keepdims=True)
    if kind == "shapes":
        x, y = x @ [1, 1j], y @ [1, 1j]
        x, y = x - x.mean(), y - y.mean(axis=1, keepdims=True)
        y = y / np.linalg.norm(y, axis=1, keepdims=True)
        overlap = y @ x.conj()
        y = y * (overlap.conj() / np.abs(overlap))[:, None]
    x = x / np.linalg.norm(x)
    theta = 2 * np.arcsin(np.linalg.norm(y - x, axis=1) / 2)
    return np.asarray(((y - np.cos(theta)[:, None] * x) / np.sinc(theta / np.pi)[:, None]).sum(axis=0))


def frame_logs(x: Array, y: Array, steps: int = 100) -> Array:
    """Logarithms of frames y at x in the canonical metric (Zimmermann 2017, algorithm 1), by eigenvalues of rotations."""
    p = x.shape[1]
    m = x.T @ y
    q, r = np.linalg.qr(y - x @ m)
    v = np.linalg.qr(np.concatenate([m, r], axis=1), mode="complete")[0]
    v[:, :, :p] = np.concatenate([m, r], axis=1)
    u, _, wt = np.linalg.svd(v[:, p:, p:])
    v[:, :, p:] = v[:, :, p:] @ (u @ wt).swapaxes(1, 2)
    v[:, :, -1] *= np.linalg.det(v)[:, None]
    for _ in range(steps):
        logs = _by_eigenvalues(v, np.log)
        c = logs[:, p:, p:]
        if np.abs(c).max() < 1e-14:
            break
        v[:, :, p:] = v[:, :, p:] @ _by_eigenvalues(-c, np.exp)
    return np.asarray(x @ logs[:, :p, :p] + q @ logs[:, p:, :p])


def _by_eigenvalues(matrices: Array, function: Any) -> Array:
    values, vectors = np.linalg.eig(matrices.astype(np.complex128))
    return np.asarray(((vectors * function(values)[:, None]) @ np.linalg.inv(vectors)).real)
