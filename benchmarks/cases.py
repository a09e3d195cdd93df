"""Data to compare solvers on, and how good a mean is: from the formulas, with no library but NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Points = NDArray[Any]

RADII = {"sphere": np.pi / 8, "shapes": np.pi / 16, "spd": 1.5}
NAMES = {"sphere": "S^{}", "shapes": "shapes k = {}", "spd": "SPD({})"}
SEED = 20220101
BLOCK = 1 << 20  # numbers made or read at once


@dataclass(frozen=True)
class Case:
    """A space (``size``: dimension of the sphere, side of the matrices, number of landmarks) and a number of records.

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
        return {"sphere": (self.size + 1,), "shapes": (self.size, 2), "spd": (self.size, self.size)}[self.kind]

    def center(self) -> Array:
        """The centre of the ball: a direction, an outline, or a matrix with variances from 0.3 to 3."""
        if self.kind == "sphere":
            return np.full(self.size + 1, 1 / np.sqrt(self.size + 1))
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
        v = rng.standard_normal((n, self.size, 2)) @ [1, 1j]
        z = self._on_sphere(v - v.mean(axis=1, keepdims=True), _outline(self.size), rng)
        z = z * np.exp(2j * np.pi * rng.random(n))[:, None]  # every outline turned its own way
        return np.stack([z.real, z.imag], axis=-1)

    def _on_sphere(self, v: Points, c: Points, rng: np.random.Generator) -> Points:
        """exp_c of scaled v, where c is a unit vector, real or complex (a shape with its horizontal vectors)."""
        v = self._scaled(v - (v @ c.conj())[:, None] * c, rng)
        length = np.linalg.norm(v, axis=1, keepdims=True)
        x = np.cos(length) * c + np.sinc(length / np.pi) * v
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def _scaled(self, v: Points, rng: np.random.Generator) -> Points:
        """Gaussian vectors cut to the lengths of a uniform law on the ball, three in four on one side."""
        dim = {"sphere": self.size, "shapes": 2 * self.size - 4, "spd": self.size * (self.size + 1) // 2}[self.kind]
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


def _root(size: int) -> Array:
    """The root of a matrix with eigenvalues from 0.3 to 3, in a basis that is not that of the axes."""
    u = np.ones(size) / np.sqrt(size)
    reflection = np.eye(size) - 2 * np.outer(u, u)
    return np.asarray((reflection * np.sqrt(np.geomspace(0.3, 3.0, size))) @ reflection)


def gradient_norm(kind: str, mean: Array, points: Array) -> float:
    """‖∇F‖ at ``mean``, F half the mean squared distance to the points: the length of the mean logarithm.

    Sphere: log_x y = θ/sin θ·(y − cos θ·x), 2·sin(θ/2) = |x − y|.  Shapes: the same, after y is turned to x.  SPD: in the
    coordinates x^½·(·)·x^½, the matrix logarithm of x^−½·y·x^−½.

    >>> round(gradient_norm("sphere", np.array([1.0, 0.0]), np.array([[np.cos(0.3), np.sin(0.3)]])), 12)
    0.3
    """
    step = max(1, BLOCK // mean.size)
    total = sum(_sum_of_logs(kind, mean, points[i : i + step]) for i in range(0, len(points), step))
    return float(np.linalg.norm(total)) / len(points)


def _sum_of_logs(kind: str, x: Points, y: Points) -> Points:
    if kind == "spd":
        values, vectors = np.linalg.eigh((x + x.T) / 2)
        whiten = (vectors / np.sqrt(values)) @ vectors.T
        values, vectors = np.linalg.eigh(whiten @ y @ whiten)
        return np.asarray(((vectors * np.log(values)[:, None]) @ vectors.swapaxes(1, 2)).sum(axis=0))
    if kind == "shapes":
        x, y = x @ [1, 1j], y @ [1, 1j]
        x, y = x - x.mean(), y - y.mean(axis=1, keepdims=True)
        y = y / np.linalg.norm(y, axis=1, keepdims=True)
        overlap = y @ x.conj()
        y = y * (overlap.conj() / np.abs(overlap))[:, None]
    x = x / np.linalg.norm(x)
    theta = 2 * np.arcsin(np.linalg.norm(y - x, axis=1) / 2)
    return np.asarray(((y - np.cos(theta)[:, None] * x) / np.sinc(theta / np.pi)[:, None]).sum(axis=0))
