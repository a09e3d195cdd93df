"""Positive definite matrices: ellipses on planes of two channels; larger ones in colours, with their eigenvalues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..numerics.arrays import Array
from .base import Links, View, error_or_none, is_geodesic, numbered, population_label, population_of, public_ball
from .figures import (
    LAYER,
    LAYERS,
    PAIR,
    QUIET,
    REGION,
    RIM,
    SHARP,
    SOFT,
    Range,
    figure,
    heat,
    ink,
    intervals,
    name_of,
    plain,
    shade,
    shared_legend,
    top_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..regions.ball import Ball
    from ..release import Release

WRITTEN = 8  # matrices up to this size have their numbers in the picture
WIDEST = 300.0  # of a radius in an exponent


class Spectra(NamedTuple):
    """What is left to each eigenvalue: by the error, by clipping, by the region of the population's mean."""

    bars: Range | None
    reach: Range
    region: Range | None = None


class Matrices(View):
    centers = ("origin", "identity")
    nameable = True
    exact_up_to: float = 3
    as_ellipses = True  # whether small ones are drawn so, with an error about them

    def things(self, release: Release) -> str:
        return f"positive definite {len(release.value)}×{len(release.value)} matrices"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("", *(self.called(j) for j in range(len(release.value)))), numbered(release.value, self.names)

    def seen(self, release: Release) -> str:
        value, centre = release.value, np.asarray(release.ball.center, dtype=np.float64)
        high, low = (self.called(int(pick(np.diag(value)))) for pick in (np.argmax, np.argmin))
        i, j = np.unravel_index(np.argmax(np.abs(np.triu(value, 1))), value.shape) if len(value) > 1 else (0, 0)
        strong = f"; the strongest covariance is {value[i, j]:.3g}, of {self.called(int(i))} and {self.called(int(j))}"
        return (
            f"The largest variance is {np.diag(value).max():.3g}, of channel {high}, and the smallest "
            f"{np.diag(value).min():.3g}, of channel {low}{strong if i != j else ''}; total {np.trace(value):.3g}, and "
            f"{np.trace(centre):.3g} in the public centre."
        )

    def meaning(self, release: Release, error: float) -> str:
        factor = np.exp(min(_distance(release, error), 700.0))
        return f"every variance within a factor of {factor:.4g}" if is_geodesic(release) else ""

    def caption(self, release: Release) -> str:
        if self.as_ellipses and _are_ellipses(release.value):
            return super().caption(release)
        return "What was public before, and what was released, in the same colours: orange above zero, blue below."

    def off_manifold(self, release: Release) -> str:
        return "the released matrix is not positive definite: it is no covariance matrix"

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        if self.as_ellipses and _are_ellipses(release.value):
            return _draw_ellipses(release, p, self)
        return self.beside(release, p, self.spectrum(release, p))

    def spectrum(self, release: Release, p: float) -> Spectra:
        """What the error, clipping and the region leave to each eigenvalue."""
        return _eigenvalues(release, p)

    def beside(self, release: Release, p: float, spectra: Spectra | None) -> Figure:
        """The public centre and the release in the same colours; below, eigenvalues with what the error leaves to each."""
        value, centre = release.value, np.asarray(release.ball.center, dtype=np.float64)
        drawn, most = figure(9.6, 5.0 + (0 if spectra is None else 3.6)), self.most(value, centre)
        grid = drawn.add_gridspec(1 if spectra is None else 2, 2, height_ratios=[1] if spectra is None else [5, 3.6])
        panels = [drawn.add_subplot(grid[0, i]) for i in (0, 1)]
        for axes, matrix, title in zip(panels, (centre, value), ("public centre", name_of(release)), strict=True):
            image = heat(axes, matrix, title, most, self.names)
            for i, j in np.ndindex(matrix.shape) if len(matrix) <= WRITTEN else ():
                color = ink(shade(float(matrix[i, j]) / most))
                axes.text(j, i, self.number(float(matrix[i, j])), ha="center", va="center", fontsize=8, color=color)
        drawn.colorbar(image, ax=panels, shrink=0.85, label=self.bar)
        if spectra is not None:
            draw_spectrum(drawn.add_subplot(grid[1, :]), release, p, *spectra)
        return drawn

    def number(self, x: float) -> str:
        return f"{x:.2g}"

    def most(self, *matrices: Array) -> float:
        """The number that the strongest colour stands for."""
        return float(max(np.abs(matrix).max() for matrix in matrices))

    bar = "covariance"  # what the colours are

    banded = True  # whether a length in a chart bounds a matrix from below and above, as matrix_bounds says

    def draw_pair(self, releases: Mapping[str, Release], radius: float, links: Links | None = None) -> Figure:
        """Both ellipsoids on planes of two axes, with the regions of the populations; larger matrices in colours."""
        values = [release.value for release in releases.values()]
        if _are_ellipses(*values):
            return _draw_two(releases, self)
        return _draw_heat(releases, self.names)


def _are_ellipses(*matrices: Array) -> bool:
    return len(matrices[0]) in (2, 3) and min(np.linalg.eigvalsh(matrices)[:, 0]) > 0


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


def _draw_ellipses(release: Release, p: float, view: View) -> Figure:
    """{x : xᵀP⁻¹x = 1}, on each plane of two axes.  Ellipses are nested as matrices are ordered, so the band is certain, and
    the shadow of an ellipsoid is the ellipse of the submatrix."""
    ball, error, size = public_ball(release), error_or_none(release, p), len(release.value)
    outer = [ball.center * np.exp(min(ball.radius, WIDEST)), release.value]
    outer += [] if error is None else [matrix_bounds(release, error)[1]]
    region = region_bounds(release, p)
    outer += [] if region is None else [region[1]]
    drawn, panels = _planes(outer, view)
    for axes, plane in panels:
        _draw_plane(axes, release, ball, plane, p)
    shared_legend(drawn, 2 if size == 2 else 4 if region is None else 3)
    return drawn


def _planes(outer: list[Array], view: View) -> tuple[Figure, list[tuple[Axes, tuple[int, int]]]]:
    """Panels for the planes of two axes, on which the ellipses of all these matrices have room."""
    size = len(outer[0])
    planes = [(i, j) for i in range(size) for j in range(i + 1, size)]
    extent = 1.05 * np.sqrt(np.max([np.diag(matrix) for matrix in outer], axis=0))
    tall = float(np.clip(5.6 * extent[1] / extent[0], 2.5, 9.0)) + 1.7
    drawn = figure(6.4, tall) if size == 2 else figure(10, 4.4)
    panels = drawn.subplots(1, len(planes), squeeze=False)[0]
    for axes, plane in zip(panels, planes, strict=True):
        x, y = (extent[list(plane)] if size == 2 else np.full(2, extent.max())).tolist()  # one scale for all panels
        x_name, y_name = (view.called(i) if view.names else f"channel {i + 1}" for i in plane)
        names = {"xlabel": x_name, "ylabel": y_name}
        axes.set(aspect="equal", xlim=(-x, x), ylim=(-y, y), **names)
        plain(axes)
    return drawn, [*zip(panels, planes, strict=True)]


def region_bounds(release: Release, level: float) -> tuple[Array, Array] | None:
    """Matrices below and above the population's mean, by the region for it; None where nothing was spent on that."""
    if population_of(release, level) is None:
        return None
    return matrix_bounds(replace(release, value=release.raw, unprojected=None), release.region(level).radius)


def _draw_two(releases: Mapping[str, Release], view: Matrices) -> Figure:
    bounds = [region_bounds(release, 0.95) if view.banded else None for release in releases.values()]
    outer = [release.value for release in releases.values()] + [bound[1] for bound in bounds if bound is not None]
    drawn, panels = _planes(outer, view)
    for axes, plane in panels:
        part = np.ix_(plane, plane)
        for (name, release), bound, color, style in zip(releases.items(), bounds, PAIR, ("-", "--"), strict=True):
            if bound is not None:
                low, high = (_ellipse(matrix[part]) for matrix in bound)
                axes.fill(*np.vstack([high, low[::-1]]).T, color=color, alpha=0.18, lw=0)
            axes.plot(*_ellipse(release.value[part]).T, color=color, lw=1.6, ls=style, label=f"released mean of {name}")
    if bounds[0] is not None:
        panels[0][0].fill([], [], color=QUIET, alpha=0.3, lw=0, label="95% region for its population's mean")
    shared_legend(drawn, 1 if len(outer[0]) == 2 else 3)
    return drawn


def _draw_heat(releases: Mapping[str, Release], names: Sequence[str]) -> Figure:
    """Both matrices in the same colours, and their difference in colours of its own."""
    (one, two), values = releases, [release.value for release in releases.values()]
    drawn = figure(12.5, 4.6)
    panels = drawn.subplots(1, 3)
    images = [(values[0], one), (values[1], two), (values[1] - values[0], f"{two} minus {one}")]
    most = [float(np.abs(values).max())] * 2 + [max(float(np.abs(images[2][0]).max()), 1e-300)]
    for axes, (matrix, title), largest in zip(panels, images, most, strict=True):
        image = heat(axes, matrix, title, largest, names)
        if axes is not panels[0]:
            drawn.colorbar(image, ax=axes if axes is panels[2] else list(panels[:2]), shrink=0.8)
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
                axes.plot(*_ellipse(bound[part]).T, color=RIM, lw=0.6)
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=f"its {p:.0%} error")
    for bound in region_bounds(release, p) or ():
        axes.plot(*_ellipse(bound[part]).T, **REGION)
    if region_bounds(release, p) is not None:
        axes.plot([], [], label=population_label(p), **REGION)
    centre = ball.center[part]
    for sign in (-1, 1):
        edge = _ellipse(centre * np.exp(sign * min(ball.radius, WIDEST)))
        axes.plot(*edge.T, color=QUIET, lw=0.7, ls=":", label="range of clipped records" if sign < 0 else None)
    axes.plot(*_ellipse(centre).T, color=QUIET, lw=1.0, ls="--", label="public centre")
    axes.plot(*_ellipse(release.value[part]).T, color=SHARP, lw=1.6, label=name_of(release))


def _ellipse(matrix: Array) -> Array:
    turn = np.linspace(0, 2 * np.pi, 361)
    return np.asarray(np.stack([np.cos(turn), np.sin(turn)], axis=1) @ np.linalg.cholesky(matrix).T)


def _eigenvalues(release: Release, p: float) -> Spectra:
    """The k-th eigenvalue rises with the matrix (Weyl), so what is left to each is certain."""
    error, factor, centre = error_or_none(release, p), np.exp(min(release.ball.radius, WIDEST)), _center(release)
    low, high = (None, None) if error is None else matrix_bounds(release, error)
    bars = None if low is None else (spectrum(low), spectrum(high))
    region = region_bounds(release, p)
    known = None if region is None else (spectrum(region[0]), spectrum(region[1]))
    return Spectra(bars, (centre / factor, centre * factor), known)


def draw_spectrum(
    axes: Axes, release: Release, p: float, bars: Range | None, reach: Range, region: Range | None = None
) -> None:
    """Eigenvalues, with what the error and clipping allow to each."""
    value, what = spectrum(release.value), "eigenvalue, the largest first"
    intervals(release, p, what, value, bars, _center(release), reach, region, axes=axes)
    if (value if bars is None else bars[0]).min() > 0:
        log_scale(axes)
    negative = np.flatnonzero(value <= 0)
    if len(negative):
        axes.axhline(0.0, color=QUIET, lw=0.6)
        axes.plot(negative + 1, value[negative], ls="", marker="x", ms=12, mew=2, color=SHARP, label="not positive")
    top_legend(axes, 4)


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
