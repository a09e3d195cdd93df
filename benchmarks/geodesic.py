"""Geodesic regression, and a K-norm gradient mechanism for it, for study only: several data sets at once.

A. Kulkarni and C. Soto, *Differentially private geodesic regression* (arXiv:2504.11304, 2025), release the footpoint p and then
the shooting vector v of y ≈ Exp(p, xv), each with density ∝ exp(−‖gradient‖/σ) for the gradient of ½·mean d(Exp(p, xᵢv), yᵢ)².
What is written here follows the abstract, the bound that its public reviews quote, Δ ≤ 2τ/n for residuals of length τ at most
where no curvature is negative, the half of ε for each that they say does best, and the gradients of the authors' first notebook
(github.com/adityabk33/DP-Geodesic-Regression), which moves residuals to p by parallel transport.  The rest of the text was not
at hand, so that what follows is ours: σ = 2Δ/ε, as Theorem 1 of KNG asks for (``sure``), or half of it; the footpoint is drawn
with the least-squares v, as if that were known; p within r of the public centre and ‖v‖ ≤ 2r, as the density of v cannot be
normalised where exp comes back; and no factor for negative curvature.  All but the first are in the mechanism's favour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.numerics.arrays import Array, Points
from sfumato.regions import Ball

STEPS = 900  # of a chain; the first third only finds its step
ITERATIONS = 30  # of least squares


@dataclass(frozen=True)
class Sets:
    """Data sets of n records each in a public ball: covariates x in [−1, 1], (sets, n), and points, (sets·n, …)."""

    ball: Ball
    x: Array
    y: Points

    def residuals(self, p: Points, v: Points) -> Points:
        """Return log of each record at its prediction Exp(p, xv), moved to p by parallel transport."""
        space = self.ball.space
        n = self.x.shape[1]
        foot = np.repeat(p, n, axis=0)
        along = np.repeat(v, n, axis=0) * self.x.reshape(-1, *[1] * (v.ndim - 1))
        predicted = space.exp(foot, along)
        return transported(predicted, foot, space.log(predicted, self.y))

    def gradients(self, p: Points, v: Points) -> tuple[Points, Points]:
        """Return the gradients by p and by v of half the mean square of the residuals, for each set."""
        moved = self.residuals(p, v).reshape(*self.x.shape, *v.shape[1:])
        weights = self.x.reshape(*self.x.shape, *[1] * (v.ndim - 1))
        return -moved.mean(axis=1), -(weights * moved).mean(axis=1)

    def vectors(self, p: Points, start: Points) -> Points:
        """Return the least-squares vector of each set at a given footpoint."""
        v = start
        curvature = self.shaped(np.mean(self.x**2, axis=1), v)
        for _ in range(ITERATIONS):
            v = v - self.gradients(p, v)[1] / curvature
        return v

    def fitted(self) -> tuple[Points, Points]:
        """Return the footpoint and the vector of least squares for each set."""
        space = self.ball.space
        p = np.repeat(self.ball.center[None], len(self.x), axis=0)
        v = 0 * p
        square = self.shaped(np.mean(self.x**2, axis=1), v)
        for _ in range(ITERATIONS):
            by_p, by_v = self.gradients(p, v)
            moved = space.exp(p, -by_p)
            v = transported(p, moved, v - by_v / square)
            p = moved
        return p, v

    def shaped(self, numbers: Array, like: Points) -> Array:
        return numbers.reshape(-1, *[1] * (like.ndim - 1))


def transported(start: Points, end: Points, vectors: Points) -> Points:
    """Return tangent vectors at ``start`` as parallel transport along the shortest way takes them to ``end``.

    On a sphere v − ⟨q, v⟩(p + q)/(1 + ⟨p, q⟩); the same with complex products where points are shapes that are turned to each
    other; and EvEᵀ, E = (qp⁻¹)^½, for positive definite matrices.

    >>> north, east = np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 0.0]])
    >>> transported(north, east, east).tolist(), transported(north, east, np.array([[0.0, 1.0, 0.0]])).tolist()
    ([[0.0, 0.0, -1.0]], [[0.0, 1.0, 0.0]])
    """
    if vectors.ndim == 3:
        root = np.linalg.cholesky(start)
        inverse = np.linalg.inv(root)
        values, turn = np.linalg.eigh(inverse @ end @ inverse.mT)
        move = root @ (turn * np.sqrt(values)[:, None, :]) @ turn.mT @ inverse
        return np.asarray(move @ vectors @ move.mT)
    inner = np.sum(np.conj(end) * start, axis=1)
    end = end * (inner / np.abs(inner))[:, None]  # turned to the start, where that is free
    share = np.sum(np.conj(end) * vectors, axis=1) / (1 + np.abs(inner))
    return np.asarray((vectors - share[:, None] * (start + end)) * np.conj(inner / np.abs(inner))[:, None])


def kng(
    sets: Sets, epsilon: float, residual: Array | float, sure: bool, rng: np.random.Generator
) -> tuple[Points, Points]:
    """Return a private footpoint and vector of each set, for residuals of this length at most."""
    n = sets.x.shape[1]
    space = sets.ball.space
    sigma = (2 if sure else 1) * (2 * np.asarray(residual) / n) / (epsilon / 2) * np.ones(len(sets.x))
    p, v = sets.fitted()

    def footpoint(candidate: Points) -> Array:
        by_p, _ = sets.gradients(candidate, transported(p, candidate, v))
        inside = space.distance(sets.ball.center, candidate) <= sets.ball.radius
        return np.where(inside, -space.norm(candidate, by_p) / sigma, -np.inf)

    foot = _chain(footpoint, p, lambda at, step: space.exp(at, _directions(sets, at, step)), sigma, space.dim, rng)
    start = sets.vectors(foot, transported(p, foot, v))
    longest = 2 * sets.ball.radius
    start = start * sets.shaped(np.minimum(1, longest / np.maximum(space.norm(foot, start), 1e-300)), start)

    def vector(candidate: Points) -> Array:
        _, by_v = sets.gradients(foot, candidate)
        inside = space.norm(foot, candidate) <= longest
        return np.where(inside, -space.norm(foot, by_v) / sigma, -np.inf)

    wide = np.minimum(sigma / np.mean(sets.x**2, axis=1), longest)
    return foot, _chain(vector, start, lambda at, step: at + _directions(sets, foot, step), wide, space.dim, rng)


def _directions(sets: Sets, at: Points, steps: Array) -> Points:
    """Return tangent vectors at each footpoint by their coordinates."""
    space = sets.ball.space
    return np.stack([space.from_coordinates(foot, one[None])[0] for foot, one in zip(at, steps, strict=True)])


def _chain(
    density: Callable[[Points], Array],
    start: Points,
    moved: Callable[[Points, Array], Points],
    scale: Array,
    dim: int,
    rng: np.random.Generator,
) -> Points:
    """Return the last states of random walks of Metropolis, one for each set, whose steps are fixed after a third of them."""
    at = start
    now = density(at)
    step = scale * np.ones(len(start))
    for i in range(STEPS):
        candidate = moved(at, step[:, None] * rng.standard_normal((len(start), dim)))
        then = density(candidate)
        with np.errstate(invalid="ignore"):
            taken = np.log(rng.random(len(start))) < then - now
        at = np.where(taken.reshape(-1, *[1] * (at.ndim - 1)), candidate, at)
        now = np.where(taken, then, now)
        if i < STEPS // 3:
            step *= np.exp((taken - 0.25) * 0.1)
    return at
