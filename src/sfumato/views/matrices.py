"""Positive definite matrices: ellipses on planes of two axes, or eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..spaces.base import Array
from .base import View, error_or_none, is_geodesic, numbered, public_ball
from .figures import (
    LAYER,
    LAYERS,
    QUIET,
    SHARP,
    SOFT,
    Range,
    figure,
    intervals,
    name_of,
    plain,
    shared_legend,
    top_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..regions.ball import Ball
    from ..release import Release

WIDEST = 300.0  # of a radius in an exponent


class Matrices(View):
    centers = ("origin", "identity")
    exact_up_to: float = 3

    def things(self, release: Release) -> str:
        return f"positive definite {len(release.value)}×{len(release.value)} matrices"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("", *(str(j + 1) for j in range(len(release.value)))), numbered(release.value)

    def meaning(self, release: Release, error: float) -> str:
        factor = np.exp(min(_distance(release, error), 700.0))
        return f"every variance within a factor of {factor:.4g}" if is_geodesic(release) else ""

    def off_manifold(self, release: Release) -> str:
        return "the released matrix is not positive definite: it is no covariance matrix"

    def draw(self, release: Release, p: float, outline: Sequence[int] | None = None) -> Figure:
        drawable = len(release.value) in (2, 3) and np.linalg.eigvalsh(release.value)[0] > 0
        return (_draw_ellipses if drawable else _draw_eigenvalues)(release, p)


def matrix_bounds(release: Release, error: float) -> tuple[Array, Array]:
    """Matrices below and above the statistic if the error holds (differences are positive semidefinite).

    A geodesic error e keeps every generalised eigenvalue within e^±e.  An ambient error bounds the entries on and above the
    diagonal, so the spectral norm by √2·e; after a projection it already bounds the Frobenius norm.
    """
    value = release.value
    if is_geodesic(release):
        factor = float(np.exp(min(_distance(release, error), WIDEST)))
        return value / factor, value * factor
    shift = error if release.mechanism.options.get("project") else np.sqrt(2) * error
    return value - shift * np.eye(len(value)), value + shift * np.eye(len(value))


def _distance(release: Release, error: float) -> float:
    """A bound on the geodesic distance that an error leaves.  Of a chart it is a length e in the tangent space at the centre,
    which exp stretches by at most sinh(s)/s, s = √½·(the larger of both distances from the centre): curvatures are at least −½.
    """
    if release.chart is None:
        return error
    ball = public_ball(release)
    reach = float(ball.space.distance(ball.center, release.value))
    s = np.sqrt(0.5) * max(reach, min(reach + error, ball.radius))
    return float(error * np.sinh(min(s, WIDEST)) / s) if s > 0 else error


def _draw_ellipses(release: Release, p: float) -> Figure:
    """{x : xᵀP⁻¹x = 1}, on each plane of two axes.  Ellipses are nested as matrices are ordered, so the band is certain, and
    the shadow of an ellipsoid is the ellipse of the submatrix."""
    ball, error, size = public_ball(release), error_or_none(release, p), len(release.value)
    planes = [(i, j) for i in range(size) for j in range(i + 1, size)]
    outer = [ball.center * np.exp(min(ball.radius, WIDEST)), release.value]
    outer += [] if error is None else [matrix_bounds(release, error)[1]]
    extent = 1.05 * np.sqrt(np.max([np.diag(matrix) for matrix in outer], axis=0))
    tall = float(np.clip(5.6 * extent[1] / extent[0], 2.5, 9.0)) + 1.7
    drawn = figure(6.4, tall) if size == 2 else figure(10, 4.4)
    panels = drawn.subplots(1, len(planes), squeeze=False)[0]
    for axes, plane in zip(panels, planes, strict=True):
        _draw_plane(axes, release, ball, plane, p)
        x, y = (extent[list(plane)] if size == 2 else np.full(2, extent.max())).tolist()  # one scale for all panels
        names = {"xlabel": f"axis {plane[0] + 1}", "ylabel": f"axis {plane[1] + 1}"}
        axes.set(aspect="equal", xlim=(-x, x), ylim=(-y, y), **names)
        plain(axes)
    shared_legend(drawn, 2 if size == 2 else 4)
    return drawn


def _draw_plane(axes: Axes, release: Release, ball: Ball, plane: tuple[int, int], p: float) -> None:
    from matplotlib.patches import Polygon

    part, error = np.ix_(plane, plane), error_or_none(release, p)
    if error is not None:
        for fraction in LAYERS:
            low, high = (bound[part] for bound in matrix_bounds(release, error * fraction))
            inner = _ellipse(low) if np.linalg.eigvalsh(low)[0] > 0 else np.zeros((361, 2))
            axes.add_artist(Polygon(np.vstack([_ellipse(high), inner[::-1]]), **LAYER))
        for bound in matrix_bounds(release, error):
            if np.linalg.eigvalsh(bound[part])[0] > 0:
                axes.plot(*_ellipse(bound[part]).T, color=SOFT, lw=0.6)
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=f"its {p:.0%} error")
    centre = ball.center[part]
    for sign in (-1, 1):
        edge = _ellipse(centre * np.exp(sign * min(ball.radius, WIDEST)))
        axes.plot(*edge.T, color=QUIET, lw=0.7, ls=":", label="range of clipped records" if sign < 0 else None)
    axes.plot(*_ellipse(centre).T, color=QUIET, lw=1.0, ls="--", label="public centre")
    axes.plot(*_ellipse(release.value[part]).T, color=SHARP, lw=1.6, label=name_of(release))


def _ellipse(matrix: Array) -> Array:
    turn = np.linspace(0, 2 * np.pi, 361)
    return np.asarray(np.stack([np.cos(turn), np.sin(turn)], axis=1) @ np.linalg.cholesky(matrix).T)


def _draw_eigenvalues(release: Release, p: float) -> Figure:
    """Eigenvalues with what the error allows: the k-th eigenvalue rises with the matrix (Weyl), so the bars are certain."""
    error, factor, centre = error_or_none(release, p), np.exp(min(release.ball.radius, WIDEST)), _center(release)
    bars = None if error is None else [spectrum(bound) for bound in matrix_bounds(release, error)]
    return draw_spectrum(release, p, None if bars is None else (bars[0], bars[1]), (centre / factor, centre * factor))


def draw_spectrum(release: Release, p: float, bars: Range | None, reach: Range) -> Figure:
    """Eigenvalues, with what the error and clipping allow to each."""
    value, what = spectrum(release.value), "eigenvalue, the largest first"
    drawn = intervals(release, p, what, value, bars, _center(release), reach)
    axes = drawn.axes[0]
    if (value if bars is None else bars[0]).min() > 0:
        log_scale(axes)
    negative = np.flatnonzero(value <= 0)
    if len(negative):
        axes.axhline(0.0, color=QUIET, lw=0.6)
        axes.plot(negative + 1, value[negative], ls="", marker="x", ms=12, mew=2, color=SHARP, label="not positive")
        top_legend(axes)
    return drawn


def spectrum(matrix: Any) -> Array:
    """Eigenvalues, the largest first."""
    return np.asarray(np.linalg.eigvalsh(np.asarray(matrix))[::-1], dtype=np.float64)


def _center(release: Release) -> Array:
    return spectrum(release.ball.center)


def log_scale(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1e3 * low else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
