"""Covariance matrices by other metrics, correlations, variances: what an error says for certain of each, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..numerics.arrays import Array
from .base import Links, View, chart_of, error_or_none, noise_of, numbered, population_of
from .figures import Range, intervals
from .matrices import WIDEST, Matrices, Spectra, log_scale, spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..release import Release


class LogEuclideanMatrices(Matrices):
    """An error e keeps the k-th eigenvalue within a factor of e^e, by Weyl's inequality for logarithms; variances may
    leave it."""

    exact_up_to, as_ellipses, banded = np.inf, False, False

    def meaning(self, release: Release, error: float) -> str:
        return f"every eigenvalue within a factor of {_factor(error):.4g}"

    def spectrum(self, release: Release, p: float) -> Spectra:
        error, centre, value = error_or_none(release, p), spectrum(release.ball.center), spectrum(release.value)
        wide = None if population_of(release, p) is None else release.region(p).radius
        region = _within(spectrum(release.raw), wide)
        return Spectra(_within(value, error), _about(centre, _factor(release.ball.radius)), region)


class TransportMatrices(Matrices):
    """An error e keeps the standard deviation in every direction, so also the root of every eigenvalue, within e: with S = FFᵀ
    and T = GGᵀ it is at least ‖F − GU‖ for some orthogonal U, and |‖Fᵀx‖ − ‖Gᵀx‖| is at most that for a unit vector x."""

    exact_up_to, as_ellipses, banded = 0, False, False

    def meaning(self, release: Release, error: float) -> str:
        return f"every standard deviation within {error:.4g}"

    def spectrum(self, release: Release, p: float) -> Spectra:
        error = error_or_none(release, p)
        value, centre = (np.sqrt(np.maximum(spectrum(m), 0.0)) for m in (release.value, release.ball.center))
        return Spectra(None if error is None else _squares(value, error), _squares(centre, release.ball.radius))


class _Heat(Matrices):
    """The released matrix beside the public centre, in colours.  No error is drawn: it says nothing certain of one entry."""

    exact_up_to, as_ellipses, banded = np.inf, False, False

    def shown(self, release: Release, p: float) -> str:
        return "The error is not drawn: it is a distance between whole matrices, and bounds no single entry."

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        return self.beside(release, p, None)


class LogCholeskyMatrices(_Heat):
    """An error e keeps each diagonal entry of the Cholesky factor within a factor of e^e."""

    def meaning(self, release: Release, error: float) -> str:
        return (
            f"every channel's standard deviation, given the channels before it, within a factor of {_factor(error):.4g}"
        )


class Correlations(_Heat):
    bar = "correlation"

    def things(self, release: Release) -> str:
        return f"{len(release.value)}×{len(release.value)} correlation matrices"

    def meaning(self, release: Release, error: float) -> str:
        return ""

    def number(self, x: float) -> str:
        return f"{round(x, 2) + 0.0:.2f}"

    def most(self, *matrices: Array) -> float:
        return 1.0


class Variances(View):
    """An error e keeps every variance within a factor of e^e."""

    centers, entry, exact_up_to = ("origin", "identity"), "Channel", np.inf
    nameable = True

    def things(self, release: Release) -> str:
        return f"variances of {len(release.value)} channels"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return (self.entry, "Variance"), numbered(release.value.reshape(-1, 1), self.names)

    def meaning(self, release: Release, error: float) -> str:
        return f"every variance within a factor of {_factor(error):.4g}"

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        value, centre = release.value, np.asarray(release.ball.center, dtype=np.float64)
        error, noise, region = error_or_none(release, p), noise_of(release, p), chart_of(release)
        reach = np.full(len(value), release.ball.radius)
        half = None if error is None else np.full(len(value), error)
        if region is not None:  # coordinates are logarithms of variances: what an ellipsoid leaves to each of them
            reach = np.linalg.norm(region.axes[:, None] * region.basis, axis=0)
            half = half if noise is None else noise.reach(len(noise.w)) * reach
        ranges = (_within(value, half), centre, _about(centre, _factor(reach)))
        drawn = intervals(release, p, "variance, by channel", value, *ranges, names=self.names)
        log_scale(drawn.axes[0])
        return drawn


def _factor(length: float | Array) -> Array:
    return np.asarray(np.exp(np.minimum(length, WIDEST)))


def _about(centre: Array, factor: Array) -> Range:
    return centre / factor, centre * factor


def _within(value: Array, half: float | Array | None) -> Range | None:
    return None if half is None else _about(value, _factor(half))


def _squares(root: Array, reach: float) -> Range:
    return np.maximum(root - reach, 0.0) ** 2, (root + reach) ** 2
