"""Positive definite matrices: ellipses on planes of two channels; larger ones in colours, with their eigenvalues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..numerics.arrays import Array
from .base import Rows, View, numbered
from .intervals import Range, Ranges, intervals
from .scene import CIRCLE, Cells, Dots, Line, Mark, Panel, Role, Scales, Scene, Soft
from .subject import Subject

WRITTEN = 8  # matrices up to this size have their numbers in the picture
WIDEST = 300.0  # of a radius in an exponent


class Matrices(View):
    centers = ("origin", "identity")
    nameable = True
    exact_up_to: float = 3
    as_ellipses = True  # whether small ones are drawn so, with an error about them
    banded = True  # whether a length in a chart bounds a matrix from below and above, as matrix_bounds says
    unit = "covariance"  # what the colours are

    def things(self, s: Subject) -> str:
        return f"positive definite {len(s.about)}×{len(s.about)} matrices"

    def table(self, s: Subject) -> Rows:
        return ("", *(s.called(j) for j in range(len(s.about)))), numbered(s.about, s.names)

    def seen(self, s: Subject) -> str:
        value = s.about
        variances = np.diag(value)
        high, low = (s.called(int(pick(variances))) for pick in (np.argmax, np.argmin))
        strong = ""
        if len(value) > 1:
            i, j = np.unravel_index(np.argmax(np.abs(np.triu(value, 1))), value.shape)
            strong = f"; the strongest covariance is {value[i, j]:.3g}, of {s.called(int(i))} and {s.called(int(j))}"
        return (
            f"The largest variance is {variances.max():.3g}, of channel {high}, and the smallest {variances.min():.3g}, of "
            f"channel {low}{strong}; total {np.trace(value):.3g}, and {np.trace(s.centre):.3g} in the public centre."
        )

    def meaning(self, s: Subject, error: float) -> str:
        factor = np.exp(min(_distance(s, error), 700.0))
        return f"every variance within a factor of {factor:.4g}" if s.geodesic else ""

    def caption(self, s: Subject) -> str:
        if self.as_ellipses and _are_ellipses(s.about):
            return super().caption(s)
        return "What was public before, and what was released, in the same colours: orange above zero, blue below."

    def off_manifold(self, s: Subject) -> str:
        return "the released matrix is not positive definite, so it is not a covariance matrix"

    def scene(self, s: Subject) -> Scene:
        if self.as_ellipses and _are_ellipses(s.about):
            return _ellipses(s)
        below = [] if (spectrum := self.spectrum(s)) is None else [[spectrum]]
        return Scene([self._heat(s), *below], columns=4)

    def pair(self, subjects: Mapping[str, Subject], radius: float) -> Scene:
        """Return both ellipsoids on planes of two axes, with the regions of the populations; larger matrices in colours."""
        first, second = (s.about for s in subjects.values())
        if _are_ellipses(first, second):
            return _two_ellipses(subjects, self.banded)
        one, two = subjects
        names = next(iter(subjects.values())).names
        most = float(max(np.abs(first).max(), np.abs(second).max()))
        apart = max(float(np.abs(second - first).max()), 1e-300)
        cells = [Cells(first, most, names, ""), Cells(second, most, names, "")]
        cells.append(Cells(second - first, apart, names, "difference"))
        titles = (one, two, f"{two} minus {one}")
        return Scene([[_matrix(each, title, 4.2) for each, title in zip(cells, titles, strict=True)]])

    def spectrum(self, s: Subject) -> Panel | None:
        """Return the eigenvalues with what the error, clipping and the region leave to each; None where nothing is certain.

        The k-th eigenvalue rises with the matrix (Weyl), so what is left to each is certain.
        """
        factor = np.exp(min(s.radius, WIDEST))
        centre = spectrum(s.centre)
        bars = None if s.error is None else _spectra(matrix_bounds(s, s.error))
        region = None if (bounds := region_bounds(s)) is None else _spectra(bounds)
        return eigenvalues(s, (centre / factor, centre * factor), bars, region)

    def number(self, x: float) -> str:
        """Return an entry as text."""
        return f"{x:.2g}"

    def most(self, *matrices: Array) -> float:
        """Return the number that the strongest colour stands for."""
        return float(max(np.abs(matrix).max() for matrix in matrices))

    def _heat(self, s: Subject) -> list[Panel]:
        """Return the public centre beside the release, or a made-up one, in the same colours."""
        other = s.value if s.others is None else s.others[0]
        matrices = {"public centre": s.centre}
        if other is not None:
            made_up = "a made-up release" if s.role is Role.DRAW else "a made-up record"
            matrices[s.name if s.others is None else made_up] = other
        most = max(self.most(*matrices.values()), 1e-300)
        panels = []
        for title, matrix in matrices.items():
            rows = [[self.number(float(x)) for x in row] for row in matrix] if len(matrix) <= WRITTEN else []
            panels.append(_matrix(Cells(matrix, most, s.names, self.unit, rows), title, 4.8))
        return panels


def _matrix(cells: Cells, title: str, size: float) -> Panel:
    edge = len(cells.matrix) - 0.5
    return Panel([cells], np.array([-0.5, edge]), np.array([edge, -0.5]), title, (size, size))


def _are_ellipses(*matrices: Array) -> bool:
    return len(matrices[0]) in (2, 3) and min(np.linalg.eigvalsh(matrices)[:, 0]) > 0


def matrix_bounds(s: Subject, error: float) -> Range:
    """Return matrices below and above the statistic if the error holds (differences are positive semidefinite).

    A geodesic error e keeps every generalised eigenvalue within e^±e.  An ambient error bounds the entries on and above the
    diagonal, so the spectral norm by √2·e; after a projection it already bounds the Frobenius norm.
    """
    value = s.about
    if s.geodesic:
        factor = float(np.exp(min(_distance(s, error), WIDEST)))
        return value / factor, value * factor
    shift = error if s.projected else np.sqrt(2) * error
    return value - shift * np.eye(len(value)), value + shift * np.eye(len(value))


def region_bounds(s: Subject) -> Range | None:
    """Return matrices below and above the population's mean, by the region for it; None where nothing was spent on that."""
    return None if s.region is None else matrix_bounds(replace(s, value=s.raw), s.region_radius)


def _distance(s: Subject, error: float) -> float:
    """Return a bound on the geodesic distance that an error leaves.

    Of a chart it is a length e in the tangent space at the centre, which exp stretches by at most sinh(t)/t, t = √½·(the larger
    of both distances from the centre): curvatures are at least −½.
    """
    if s.chart is None:
        return error
    reach = float(s.space.distance(s.base, s.about))
    t = np.sqrt(0.5) * max(reach, min(reach + error, s.radius))
    return float(error * np.sinh(min(t, WIDEST)) / t) if t > 0 else error


def _ellipses(s: Subject) -> Scene:
    """Return {x : xᵀP⁻¹x = 1} on each plane of two axes.

    Ellipses are nested as matrices are ordered, so the band is certain, and the shadow of an ellipsoid is the ellipse of the
    submatrix.
    """
    factor = np.exp(min(s.radius, WIDEST))
    reach = (s.centre / factor, s.centre * factor)
    bounds = None if s.error is None else matrix_bounds(s, s.error)
    region = region_bounds(s)
    others = () if s.others is None else [other for other in s.others if np.linalg.eigvalsh(other)[0] > 0]
    outer = [reach[1], s.about, *others]
    outer += [pair[1] for pair in (bounds, region) if pair is not None]

    def marks(plane: list[int]) -> list[Mark]:
        part = np.ix_(plane, plane)
        rings: list[Mark] = [Line(_rings(part, *reach), Role.REACH, "range of clipped records")]
        if bounds is not None:
            low, high, about = (_ellipse(matrix[part]) for matrix in (*bounds, s.about))
            rings.append(Soft([np.vstack([high, low[::-1]])], [np.vstack([about, about[::-1]])], s.error_label))
            rings.append(Line(_rings(part, *bounds), Role.NOISE))
        if region is not None:
            rings.append(Line(_rings(part, *region), Role.REGION, s.region_label))
        rings += [Line(_ellipse(other[part]), s.role, variant=i) for i, other in enumerate(others)]
        rings.append(Line(_ellipse(s.centre[part]), Role.CENTRE, "public centre"))
        if s.value is not None:
            rings.append(Line(_ellipse(s.value[part]), Role.VALUE, s.name))
        return rings

    return _planes(outer, s, marks, 2 if len(s.about) == 2 else 3)


def _two_ellipses(subjects: Mapping[str, Subject], banded: bool) -> Scene:
    """Return two matrices on each plane of two axes, with the regions of their populations where these are known."""
    bounds = {name: region_bounds(s) if banded else None for name, s in subjects.items()}
    outer = [s.about for s in subjects.values()] + [pair[1] for pair in bounds.values() if pair is not None]

    def marks(plane: list[int]) -> list[Mark]:
        part = np.ix_(plane, plane)
        rings: list[Mark] = []
        for role, (name, s) in zip((Role.FIRST, Role.SECOND), subjects.items(), strict=True):
            pair = bounds[name]
            if pair is not None:
                label = f"{s.p:.0%} region for its population's mean, by two ellipses"
                rings.append(Line(_rings(part, *pair), role, label if role is Role.FIRST else "", faint=True))
            rings.append(Line(_ellipse(s.about[part]), role, f"released mean of {name}"))
        return rings

    first = next(iter(subjects.values()))
    return _planes(outer, first, marks, 1 if len(outer[0]) == 2 else 3)


def _planes(outer: list[Array], s: Subject, marks: Callable[[list[int]], list[Mark]], columns: int) -> Scene:
    """Return a panel for each plane of two axes, on which the ellipses of all these matrices have room."""
    extent = 1.05 * np.sqrt(np.max([np.diag(matrix) for matrix in outer], axis=0))
    size = (6.4, float(np.clip(5.6 * extent[1] / extent[0], 2.5, 9.0)) + 0.8)
    if len(extent) == 3:  # one scale for all panels
        extent = np.full(3, extent.max())
        size = (3.4, 3.8)
    panels = []
    for plane in combinations(range(len(extent)), 2):
        high = extent[list(plane)]
        x, y = (s.called(i) if s.names else f"channel {i + 1}" for i in plane)
        panels.append(Panel(marks(list(plane)), -high, high, size=size, scales=Scales(x, y)))
    return Scene([panels], columns)


def _ellipse(matrix: Array) -> Array:
    """Return the ellipse of a matrix; its centre where it is not positive definite."""
    if np.linalg.eigvalsh(matrix)[0] <= 0:
        return np.zeros_like(CIRCLE)
    return np.asarray(CIRCLE @ np.linalg.cholesky(matrix).T)


def _rings(part: Any, *matrices: Array) -> Array:
    """Return the ellipses of several matrices as one line."""
    rings = [_ellipse(matrix[part]) for matrix in matrices]
    return np.concatenate([np.concatenate([ring, np.full((1, 2), np.nan)]) for ring in rings])


def eigenvalues(s: Subject, reach: Range, bars: Range | None, region: Range | None = None) -> Panel:
    """Return the panel of the eigenvalues, the largest first, with what the error and clipping allow to each."""
    value = spectrum(s.about)
    others = None if s.others is None else np.stack([spectrum(other) for other in s.others])
    numbers = Ranges(value, spectrum(s.centre), reach, bars, region, others)
    log = bool((value if bars is None else bars[0]).min() > 0)
    panel = intervals(replace(s, names=()), numbers, "eigenvalue, the largest first", "eigenvalue", log)
    negative = np.flatnonzero(value <= 0)
    if not len(negative):
        return panel
    at = np.stack([negative + 1, value[negative]], axis=1)
    ends = np.array([[panel.low[0], 0.0], [panel.high[0], 0.0]])
    marks = [*panel.marks, Line(ends, Role.TIE), Dots(at, Role.NOISE, "not positive", size=12.0)]
    return replace(panel, marks=marks)


def spectrum(matrix: Array) -> Array:
    """Return the eigenvalues, the largest first."""
    return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64)


def _spectra(bounds: Range) -> Range:
    low, high = bounds
    return spectrum(low), spectrum(high)
