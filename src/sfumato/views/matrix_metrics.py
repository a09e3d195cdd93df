"""Covariance matrices by other metrics, correlations, variances: what an error says for certain of each, and no more."""

from __future__ import annotations

import numpy as np

from ..numerics.arrays import Array
from .base import Rows, View, numbered
from .intervals import Range, Ranges, intervals
from .matrices import WIDEST, Matrices, eigenvalues, spectrum
from .scene import Panel, Scene
from .subject import Subject


class LogEuclideanMatrices(Matrices):
    """An error e keeps the k-th eigenvalue within a factor of e^e, by Weyl's inequality for logarithms; variances may
    leave it."""

    exact_up_to = np.inf
    as_ellipses = False
    banded = False

    def meaning(self, s: Subject, error: float) -> str:
        return f"every eigenvalue within a factor of {_factor(error):.4g}"

    def spectrum(self, s: Subject) -> Panel:
        region = None
        if s.region is not None and s.raw is not None:
            region = _about(spectrum(s.raw), _factor(s.region_radius))
        reach = _about(spectrum(s.centre), _factor(s.radius))
        return eigenvalues(s, reach, _within(spectrum(s.about), s.error), region)


class TransportMatrices(Matrices):
    """An error e keeps the standard deviation in every direction, so also the root of every eigenvalue, within e: with S = FFᵀ
    and T = GGᵀ it is at least ‖F − GU‖ for some orthogonal U, and |‖Fᵀx‖ − ‖Gᵀx‖| is at most that for a unit vector x."""

    exact_up_to = 0
    as_ellipses = False
    banded = False

    def meaning(self, s: Subject, error: float) -> str:
        return f"every standard deviation within {error:.4g}"

    def spectrum(self, s: Subject) -> Panel:
        value, centre = (np.sqrt(np.maximum(spectrum(matrix), 0.0)) for matrix in (s.about, s.centre))
        return eigenvalues(s, _squares(centre, s.radius), None if s.error is None else _squares(value, s.error))


class _Heat(Matrices):
    """The released matrix beside the public centre, in colours.  No error is drawn: it says nothing certain of one entry."""

    exact_up_to = np.inf
    as_ellipses = False
    banded = False

    def shown(self, s: Subject) -> str:
        return "The error is not drawn: it is a distance between whole matrices, and bounds no single entry."

    def spectrum(self, s: Subject) -> None:
        return None


class LogCholeskyMatrices(_Heat):
    """An error e keeps each diagonal entry of the Cholesky factor within a factor of e^e."""

    def meaning(self, s: Subject, error: float) -> str:
        factor = f"{_factor(error):.4g}"
        return f"every channel's standard deviation, given the channels before it, within a factor of {factor}"


class Correlations(_Heat):
    unit = "correlation"

    def things(self, s: Subject) -> str:
        return f"{len(s.about)}×{len(s.about)} correlation matrices"

    def meaning(self, s: Subject, error: float) -> str:
        return ""

    def number(self, x: float) -> str:
        return f"{round(x, 2) + 0.0:.2f}"

    def most(self, *matrices: Array) -> float:
        return 1.0


class Variances(View):
    """An error e keeps every variance within a factor of e^e."""

    centers = ("origin", "identity")
    entry = "Channel"
    exact_up_to = np.inf
    nameable = True

    def things(self, s: Subject) -> str:
        return f"variances of {len(s.about)} channels"

    def table(self, s: Subject) -> Rows:
        return (self.entry, "Variance"), numbered(s.about.reshape(-1, 1), s.names)

    def meaning(self, s: Subject, error: float) -> str:
        return f"every variance within a factor of {_factor(error):.4g}"

    def scene(self, s: Subject) -> Scene:
        """Return the variances; coordinates are their logarithms, so an ellipsoid leaves a factor to each of them."""
        half: float | Array | None = s.error
        if s.noise is not None:
            half = s.noise.reach(len(s.noise.w)) * s.reach
        numbers = Ranges(s.about, s.centre, _about(s.centre, _factor(s.reach)), _within(s.about, half), others=s.others)
        return Scene([[intervals(s, numbers, "channel", "variance", log=True)]])


def _factor(length: float | Array) -> Array:
    return np.asarray(np.exp(np.minimum(length, WIDEST)))


def _about(centre: Array, factor: Array) -> Range:
    return centre / factor, centre * factor


def _within(value: Array, half: float | Array | None) -> Range | None:
    return None if half is None else _about(value, _factor(half))


def _squares(root: Array, reach: float) -> Range:
    return np.maximum(root - reach, 0.0) ** 2, (root + reach) ** 2
