"""The exact audit: the log density ratio of a mechanism at two data sets, normalisers by quadrature.

Where the dimension is at most three this needs no draws: the largest loss over a grid of outputs is found to the accuracy of
the quadrature, not of a sample.  For a chart the loss is a formula in any dimension.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ..laws.bounds import bounds_of
from ..laws.radial import gauss_legendre
from ..laws.sampling import Target
from ..mechanisms import ManifoldLaplace, TangentKNorm
from ..mechanisms.manifold import ManifoldMechanism
from ..numerics.arrays import Array, Points
from ..records import Records

MOST = 3  # the largest dimension that the grid of directions covers
IGNORED = 1e-12  # share of draws farther out than the grid: it adds no more than that to δ
KNOTS = np.array([0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6.5, 8, 10, 12, 14, 17, 20, 24, 28, 33, 40, 50, 65, 90, 130, 200])


@dataclass(frozen=True)
class Loss:
    """The largest |log f_D(x) − log f_D'(x)| found, the output x where it is, and the claim."""

    loss: float
    where: Array
    claimed: float

    @property
    def broken(self) -> bool:
        """Whether the loss exceeds the claim."""
        return self.loss > self.claimed * (1 + 1e-9)


def directions(dim: int, count: int) -> tuple[Array, Array]:
    """Return unit vectors and weights that integrate over the sphere of directions, of total weight its area."""
    if dim == 1:
        return np.array([[1.0], [-1.0]]), np.ones(2)
    angle = 2 * np.pi * (np.arange(count) + 0.5) / count
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if dim == 2:
        return circle, np.full(count, 2 * np.pi / count)
    if dim != MOST:
        raise ValueError(f"the exact audit is for at most {MOST} dimensions, not {dim}; audit() needs draws alone")
    height, weight = np.polynomial.legendre.leggauss(count // 2)
    ring = np.sqrt(1 - height**2)[:, None, None] * circle
    vectors = np.concatenate([ring, np.broadcast_to(height[:, None, None], (*ring.shape[:2], 1))], axis=2)
    return vectors.reshape(-1, 3), np.repeat(weight * 2 * np.pi / count, count)


def target_of(mechanism: ManifoldMechanism, data: ArrayLike) -> Target:
    """Return the density of a mechanism's draws at a data set."""
    clipped = mechanism.ball.clip(data)
    return mechanism.at(len(clipped)).target(Records(mechanism.space, clipped))


def energies(target: Target, x: Points) -> Array:
    """Return the energy of a target at points: minus its unnormalised log density, ∞ outside the region."""
    space = target.space
    energy = target.law.energy(space.distance(target.base, x)) if target.energy is None else target.energy(x)
    if target.center is None or np.isinf(target.region):
        return np.asarray(energy)
    inside = space.distance(target.center, x) <= target.region * (1 + 1e-12)
    return np.where(inside, energy, np.inf)


def grid(target: Target, length: float, reach: float, count: int) -> tuple[Points, Array]:
    """Return points on rays from the base, and weights that integrate over volume, up to ``reach`` or where a ray leaves the
    region; ``length`` is that of the noise."""
    space = target.space
    base = target.base
    unit, weight = directions(space.dim, count)
    rays = space.from_coordinates(base, unit)
    ones = (1,) * len(space.point_shape)
    far = np.full(len(unit), min(reach, bounds_of(space).injectivity_radius))
    if target.center is not None and np.isfinite(target.region):
        low = np.zeros(len(unit))
        high = far
        for _ in range(60):
            middle = (low + high) / 2
            inside = space.distance(target.center, space.exp(base, middle.reshape(-1, *ones) * rays)) <= target.region
            low = np.where(inside, middle, low)
            high = np.where(inside, high, middle)
        far = low
    points = []
    weights = []
    for ray, w, end in zip(rays, weight, far, strict=True):
        knots = np.union1d(KNOTS * length, target.law.steps)  # a quadrature rule misses a jump inside a cell
        edges = np.append(knots[knots < end], end)
        radius, cell = (a.ravel() for a in gauss_legendre(edges))
        vectors = radius.reshape(-1, *ones) * ray
        points.append(space.exp(base, vectors))
        log_volume = bounds_of(space).log_volume_density(base, vectors) + (space.dim - 1) * np.log(radius)
        weights.append(w * cell * np.exp(log_volume))
    return np.concatenate(points), np.concatenate(weights)


def exact_loss(
    mechanism: ManifoldMechanism | TangentKNorm, first: ArrayLike, second: ArrayLike, count: int = 64
) -> Loss:
    """Return the largest privacy loss over a fine grid of outputs, for two neighbouring data sets.

    The mechanism has a density on a manifold of at most three dimensions (KNG, the manifold Laplace or staircase, the
    exponential mechanism) or in a chart; the data sets differ in one record; ``count`` directions are in a circle of the grid.

    >>> from sfumato import Ball, Euclidean, ManifoldLaplace
    >>> laplace = ManifoldLaplace(Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0), epsilon=1.0)
    >>> found = exact_loss(laplace, [[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [-1.0, 0.0]])
    >>> round(found.loss, 3), found.broken
    (1.0, False)
    """
    if isinstance(mechanism, TangentKNorm):
        return chart_loss(mechanism, first, second)
    if not isinstance(mechanism, ManifoldMechanism):
        raise ValueError(f"the exact audit needs a density on the manifold, which {mechanism!r} does not have")
    targets = [target_of(mechanism, data) for data in (first, second)]
    plan = mechanism.at(len(np.asarray(first)))
    reach = plan.error_quantile(1 - IGNORED)
    grids = [grid(target, plan.noise_length, reach, count) for target in targets]
    outputs = np.concatenate([x for x, _ in grids])
    losses = []
    for target, (x, weight) in zip(targets, grids, strict=True):
        normaliser = np.log(np.sum(weight * np.exp(-energies(target, x))))
        losses.append(energies(target, outputs) + normaliser)
    a, b = losses
    with np.errstate(invalid="ignore"):
        loss = np.where(np.isfinite(a) | np.isfinite(b), np.abs(a - b), 0.0)
    worst = int(np.argmax(loss))
    return Loss(float(loss[worst]), mechanism.space.present(outputs[worst]), plan.allowed)


def center_loss(mechanism: ManifoldLaplace, first: Points, second: Points) -> float:
    """Return the privacy loss of the Laplace or the staircase at two data sets, from the distance of their computed centres.

    It is exact on a homogeneous space of any dimension, where the normaliser is the same.

    >>> import sfumato as sf
    >>> laplace = ManifoldLaplace(sf.Ball(sf.Euclidean(dim=1), [0.0], radius=1.0), epsilon=1.0)
    >>> round(center_loss(laplace, np.array([[0.0], [1.0]]), np.array([[0.0], [-1.0]])), 6)
    1.0
    """
    plan = mechanism.at(len(first))
    a, b = (plan.center(Records(mechanism.space, points)) for points in (first, second))
    return plan.loss(float(mechanism.space.distance(a, b)))


def chart_loss(mechanism: TangentKNorm, first: ArrayLike, second: ArrayLike) -> Loss:
    """Return ‖w̄ − w̄'‖/σ, the loss of the K-norm mechanism at all outputs beyond either mean in the direction from the other.

    >>> import sfumato as sf
    >>> region = sf.Ellipsoid(sf.Euclidean(dim=2), center=[0.0, 0.0], axes=[3.0, 0.5])
    >>> round(chart_loss(TangentKNorm(region, epsilon=1.0), [[9.0, 0.0]], [[-9.0, 0.0]]).loss, 6)
    1.0
    """
    data = [Records(mechanism.space, mechanism.region.admit(points)) for points in (first, second)]
    plan = mechanism.at(data[0].n)
    means = [plan.mean(records) for records in data]
    where = plan.chart.point(np.array([float(x) for x in means[0]]))
    return Loss(far(*means) / plan.scale.sigma, mechanism.space.present(where), plan.allowed)


def far(first: Sequence[Fraction], second: Sequence[Fraction]) -> float:
    """Return the Euclidean distance of two means."""
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)))
