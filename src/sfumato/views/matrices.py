"""Positive definite matrices: ellipses on planes of two channels; larger ones in colours, with their eigenvalues.

By other metrics, and of correlations and variances: what an error says for certain of each, and no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..numerics.arrays import Array
from .base import Rows, View, numbered
from .bending import larger
from .layouts import Range, intervals
from .scene import CIRCLE, GROUPS, Cells, Dots, Line, Mark, Panel, Role, Scales, Scene, Soft, broken
from .subject import Subject

WRITTEN = 8  # matrices up to this size have their numbers in the picture
WIDEST = 300.0  # of a radius in an exponent
UNSEEN = 1e-4  # of the largest entry: differences below are drawn as none
FARTHEST = np.log(100)  # a factor beyond 100 says nothing
TIMES = (20, 10, 5, 2)  # ellipses that hardly differ are drawn so many times as far apart
LEAST = -0.45  # by how much a variance is smaller that is drawn so, in parts of what it is compared with
MOST = 0.8


class Matrices(View):
    records = "positive definite {k}×{k} matrices"
    not_a_point = "the released matrix is not positive definite, so it is not a covariance matrix"
    centers = ("origin", "identity")
    nameable = True
    banded = True  # whether an error bounds a matrix from below and above, as matrix_bounds says: then small ones are ellipses
    bounded = "every variance within a factor of {factor:.4g}"
    unit = "covariance"  # what the colours are
    digits = ".2g"  # of an entry
    most = 0.0  # what the strongest colour stands for; 0: the largest entry

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
        if not self.banded:
            return super().meaning(s, error)
        far = _distance(s, error)
        return super().meaning(s, far) if s.geodesic and far < FARTHEST else ""

    def caption(self, s: Subject) -> str:
        if self.banded and _are_ellipses(s.about):
            return super().caption(s)
        colours = "in the same colours, orange above zero and blue below; and the second minus the first, in its own."
        return f"What was public before, and what was released, {colours} {self.shown(s)}".strip()

    def scene(self, s: Subject) -> Scene:
        if self.banded and _are_ellipses(s.about):
            return _ellipses(s)
        other = s.value if s.others is None else s.others[0]
        if other is None:
            return Scene([[self._panel(s.centre, np.abs(s.centre).max(), s.names, s.public, 3.6)]])
        name = s.name if s.others is None else s.others_label.removesuffix("s")
        rows = self._heat({s.public: s.centre, name: other}, s.names, "difference")
        return Scene([rows, below] if (below := self.spectrum(s)) else [rows])

    def pair(self, subjects: Mapping[str, Subject], radius: float) -> Scene:
        """Return both ellipsoids on planes of two axes, with the regions of the populations; larger matrices in colours."""
        first, second = (s.about for s in subjects.values())
        if _are_ellipses(first, second):
            return _two_ellipses(subjects, self.banded)
        one, two = subjects
        both = {name: s.about for name, s in subjects.items()}
        return Scene([self._heat(both, subjects[one].names, f"{two} minus {one}")])

    def left(self, s: Subject, length: float) -> Range:
        """Return the range of each eigenvalue within an error: the k-th rises with the matrix (Weyl), so it is certain."""
        low, high = matrix_bounds(s, length)
        return _spectrum(low), _spectrum(high)

    def spectrum(self, s: Subject) -> list[Panel]:
        """Return the eigenvalues, the largest first, with what the error, clipping and the region leave to each for certain."""
        value = _spectrum(s.about)
        reach = self.left(replace(s, value=None, chart=None, geodesic=True), s.radius)
        bars = None if s.error is None else self.left(s, s.error)
        region = None if s.region is None else self.left(replace(s, value=s.raw, whole=False), s.region_radius)
        log = bool((value if bars is None else bars[0]).min() > 0)
        alone = replace(s, names=(), others=None)
        words = ("eigenvalue, the largest first", "eigenvalue")
        panel, *more = intervals(alone, *words, reach, bars, region, read=_spectrum, log=log)
        negative = np.flatnonzero(value <= 0)
        if not len(negative):
            return [panel, *more]
        at = np.stack([negative + 1, value[negative]], axis=1)
        ends = np.array([[panel.low[0], 0.0], [panel.high[0], 0.0]])
        marks = [*panel.marks, Line(ends, Role.TIE), Dots(at, Role.NOISE, "not positive", size=12.0)]
        return [replace(panel, marks=marks), *more]

    def _heat(self, both: Mapping[str, Array], names: Sequence[str], title: str) -> list[Panel]:
        """Return two matrices in the same colours; and the second minus the first, in colours of its own."""
        most = self.most or max(float(np.abs([*both.values()]).max()), 1e-300)
        panels = [self._panel(matrix, most, names, name) for name, matrix in both.items()]
        apart = np.subtract(*[*both.values()][::-1])
        largest = far if (far := float(np.abs(apart).max())) > UNSEEN * most else most
        stronger = f", colours\u00a0×{most / largest:.2g}" if largest < most else ""
        decimals = f"z.{max(0, 1 - int(np.floor(np.log10(largest))))}f"
        words = f"{title}{stronger}"
        return [*panels, self._panel(apart, largest, names, words, digits=decimals, unit="difference")]

    def _panel(
        self, matrix: Array, most: float, names: Sequence[str], title: str, size: float = 2.3, **how: str
    ) -> Panel:
        """Return a matrix in colours; with its own ``digits`` and ``unit`` where they are not those of the space."""
        written = [[format(x, how.get("digits", self.digits)) for x in row] for row in matrix.tolist()]
        cells = Cells(matrix, most, names, how.get("unit", self.unit), written if len(matrix) <= WRITTEN else [])
        edge = len(matrix) - 0.5
        return Panel([cells], np.array([-0.5, edge]), np.array([edge, -0.5]), title, (size, size))


class LogEuclideanMatrices(Matrices):
    """An error e keeps the k-th eigenvalue within a factor of e^e (Weyl, for logarithms); variances may leave it."""

    banded = False
    bounded = "every eigenvalue within a factor of {factor:.4g}"

    def left(self, s: Subject, length: float) -> Range:
        return _about(_spectrum(s.about), length)


class TransportMatrices(Matrices):
    """An error e keeps the standard deviation in every direction, so also the root of every eigenvalue, within e: with S = FFᵀ
    and T = GGᵀ it is at least ‖F − GU‖ for some orthogonal U, and |‖Fᵀx‖ − ‖Gᵀx‖| is at most that for a unit vector x."""

    banded = False
    bounded = "every standard deviation within {error:.4g}"

    def left(self, s: Subject, length: float) -> Range:
        root = np.sqrt(np.maximum(_spectrum(s.about), 0.0))
        return np.maximum(root - length, 0.0) ** 2, (root + length) ** 2

    def spectrum(self, s: Subject) -> list[Panel]:
        return super().spectrum(replace(s, region=None))


class LogCholeskyMatrices(Matrices):
    """An error e keeps the Cholesky factor's diagonal within a factor of e^e; of an entry it says nothing, and is not drawn."""

    banded = False
    bounded = "every channel's standard deviation, given the channels before it, within a factor of {factor:.4g}"
    note = "The error is not drawn: it is a distance between whole matrices, and bounds no single entry."

    def spectrum(self, s: Subject) -> list[Panel]:
        return []


class Correlations(LogCholeskyMatrices):
    """Correlation matrices, whose error says nothing certain of one entry either."""

    records = "{k}×{k} correlation matrices"
    unit = "correlation"
    digits = "z.2f"
    most = 1.0
    bounded = ""


class Variances(View):
    """An error e keeps every variance within a factor of e^e."""

    records = "variances of {k} channels"
    centers = ("origin", "identity")
    entry = "Channel"
    columns = ("Variance",)
    nameable = True
    bounded = "every variance within a factor of {factor:.4g}"

    def scene(self, s: Subject) -> Scene:
        """Return the variances; coordinates are their logarithms, so an ellipsoid leaves a factor to each of them."""
        half = s.error if s.noise is None else s.noise.reach(len(s.noise.w)) * s.reach
        bars = None if half is None else _about(s.about, half)
        return Scene([intervals(s, "channel", "variance", _about(s.centre, s.reach), bars, log=True)])


def matrix_bounds(s: Subject, error: float) -> Range:
    """Return matrices below and above the statistic if the error holds (differences are positive semidefinite).

    A geodesic error e keeps every generalised eigenvalue within e^±e.  An ambient error bounds the entries on and above the
    diagonal, so the spectral norm by √2·e; after a projection it already bounds the Frobenius norm.
    """
    value = s.about
    if s.geodesic:
        return _about(value, _distance(s, error))
    shift = error if s.projected else np.sqrt(2) * error
    return value - shift * np.eye(len(value)), value + shift * np.eye(len(value))


def _region_bounds(s: Subject) -> list[Array]:
    """Return matrices below and above the population's mean, by the region for it; none where nothing was spent on that."""
    return [] if s.region is None else [*matrix_bounds(replace(s, value=s.raw, whole=False), s.region_radius)]


def _distance(s: Subject, error: float) -> float:
    """Return a bound on the geodesic distance that an error leaves.  Of a chart it is a length in the tangent space, which
    exp stretches by at most sinh(t)/t, t = √½·(the larger distance from the centre): curvatures are at least −½."""
    if s.chart is None or s.whole:
        return error
    reach = float(s.space.distance(s.base, s.about))
    t = np.sqrt(0.5) * max(reach, min(reach + error, s.radius))
    return float(error * np.sinh(min(t, WIDEST)) / t) if t > 0 else error


def _ellipses(s: Subject) -> Scene:
    """Return {x : xᵀP⁻¹x = 1} on each plane of two axes: the shadow of an ellipsoid is the ellipse of the submatrix, and
    ellipses are nested as matrices are ordered, so the band is certain."""
    bounds = [] if s.error is None else [*matrix_bounds(s, s.error)]
    region = _region_bounds(s)
    others = [] if s.others is None else [other for other in s.others if np.linalg.eigvalsh(other)[0] > 0]
    times = _times(s.centre, [s.about, *bounds, *region, *others])

    def line(role: Role, label: str, *matrices: Array, variant: int = 0) -> Line:
        return Line(s.centre + times * (np.stack(matrices) - s.centre), role, label, variant=variant)

    reach = Line(np.stack(_about(s.centre, s.radius)), Role.REACH, "range of clipped records")
    lines = [reach] if times == 1 else []
    soft = None
    if bounds:
        edge = line(Role.NOISE, "", *bounds)
        soft = Soft([*edge.points[::-1]], [*line(Role.VALUE, "", s.about).points], f"{s.error_label}{larger(times)}")
        lines.append(edge)
    lines += [line(Role.REGION, s.region_label, *region)] if region else []
    for i, other in enumerate(others):
        lines.append(line(s.role, f"{s.others_label}{larger(times)}", other, variant=i))
    lines.append(Line(s.centre[None], Role.CENTRE, s.public))
    lines += [] if s.value is None else [line(Role.VALUE, f"{s.name}{larger(times, 'differences')}", s.value)]
    return _planes(s, lines, soft)


def _times(about: Array, matrices: Sequence[Array]) -> int:
    """Return how many times as far from one matrix others are drawn: so that differences are seen, and all stay positive
    definite and of about its size.  What lies between two matrices stays between them."""
    apart = np.linalg.eigvals([np.linalg.solve(about, matrix) for matrix in matrices]).real - 1
    return next((times for times in TIMES if times * apart.min() > LEAST and times * apart.max() < MOST), 1)


def _two_ellipses(subjects: Mapping[str, Subject], banded: bool) -> Scene:
    """Return two matrices on each plane of two axes, with the regions of their populations where these are known."""
    regions = [_region_bounds(s) if banded else [] for s in subjects.values()]
    first, second = (s.about for s in subjects.values())
    times = _times(first, [second, *(bound for region in regions for bound in region)])
    lines = []
    label = "95% region for its population's mean, by two ellipses"
    for role, region, (name, s) in zip(GROUPS, regions, subjects.items(), strict=True):
        if region:
            lines.append(Line(first + times * (np.stack(region) - first), role, label, faint=True))
        more = larger(times, "differences") if role is Role.SECOND else ""
        lines.append(Line((first + times * (s.about - first))[None], role, f"released mean of {name}{more}"))
    return _planes(s, lines)


def _planes(s: Subject, lines: Sequence[Line], soft: Soft | None = None) -> Scene:
    """Return a panel for each plane of two axes with the ellipses of matrices, which stand in place of points in the marks."""
    every = np.concatenate([line.points for line in lines])
    extent = 1.05 * np.sqrt(np.diagonal(every, axis1=1, axis2=2).max(axis=0))
    size = (3.8, float(np.clip(3.4 * extent[1] / extent[0], 2.2, 4.2)))
    if len(extent) == 3:  # one scale for all panels
        extent = np.full(3, extent.max())
        size = (2.4, 2.4)
    panels = []
    for plane in combinations(range(len(extent)), 2):
        part = np.ix_(plane, plane)
        marks: list[Mark] = []
        for line in lines:
            marks.append(replace(line, points=broken([_ellipse(matrix[part]) for matrix in line.points])))
        if soft is not None:
            high, low, about = (_ellipse(matrix[part]) for matrix in (*soft.edges, *soft.cores))
            edge = np.vstack([high, low[::-1]])
            marks.insert(1, replace(soft, edges=[edge], cores=[np.vstack([about, about[::-1]])]))
        x, y = (s.called(i) if s.names else f"channel {i + 1}" for i in plane)
        high = extent[list(plane)]
        panels.append(Panel(marks, -high, high, size=size, scales=Scales(x, y)))
    return Scene([panels])


def _are_ellipses(*matrices: Array) -> bool:
    return len(matrices[0]) in (2, 3) and min(np.linalg.eigvalsh(matrices)[:, 0]) > 0


def _ellipse(matrix: Array) -> Array:
    """Return the ellipse of a matrix; its centre where it is not positive definite."""
    if np.linalg.eigvalsh(matrix)[0] <= 0:
        return np.zeros_like(CIRCLE)
    return np.asarray(CIRCLE @ np.linalg.cholesky(matrix).T)


def _spectrum(matrix: Array) -> Array:
    """Return the eigenvalues, the largest first."""
    return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64)


def _about(value: Array, length: float | Array) -> Range:
    """Return what is smaller, and larger, by a factor of e^length."""
    factor = np.exp(np.minimum(length, WIDEST))
    return value / factor, value * factor
