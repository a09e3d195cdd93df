"""Pictures of releases.  All that is drawn comes from the release: its value, its error and what is public.

No picture touches Matplotlib's global state: figures are made without pyplot, so a user's own backend and plots are left alone.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .ball import Ball
from .bounds import bounds_of
from .outlines import crosses_itself
from .release import Release, write_atomically
from .spaces import SPD, PlanarShapes, Space, Sphere, space_from
from .spaces.base import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOFT, SHARP, QUIET = "#c9a66b", "#6b3f1d", "#8a8a8a"
FAINT = "#e2ddd6"
LAYERS = np.linspace(1.0, 0.04, 24)  # a soft edge: many thin layers of one colour, each smaller than the last
ALPHA = 0.03
LAYER: dict[str, Any] = {"color": SOFT, "alpha": ALPHA, "lw": 0}
FORMATS = {".png": "png", ".svg": "svg"}


def plot_release(
    release: Release, path: str | Path, title: str = "", p: float = 0.95, outline: Sequence[int] | None = None
) -> None:
    """Draw a release with its error at probability p, and write it as PNG or SVG: whole or not at all.

    Shapes are drawn as landmarks or outlines, directions on a circle or a globe, 2×2 and 3×3 matrices as ellipses, larger
    ones by their eigenvalues, everything else by its coordinates.  A value that is no point of its space (see
    ``on_manifold`` in the record) is drawn as what it is, and the picture says so.  ``outline`` is for shapes: see
    :func:`plot_shape`.

    >>> import tempfile
    >>> import sfumato as sf
    >>> ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4)
    >>> release = sf.private_mean(np.tile([0.0, 0.0, 1.0], (100, 1)), ball, epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_release(release, Path(folder) / "mean.svg")
    ...     [file.name for file in Path(folder).iterdir()]
    ['mean.svg']
    """
    form = _format(Path(path))
    write_atomically(Path(path), _render(draw_release(release, title, p, outline), form))


def plot_shape(
    release: Release, path: str | Path, title: str = "", p: float = 0.95, outline: Sequence[int] | None = None
) -> None:
    """Draw a released shape over the public reference, with its error, and write it as PNG or SVG.

    The error is one distance for the whole shape.  Each landmark gets a disc of radius error/√k, its share if all k
    landmarks were off by as much; a single landmark can be off by more when others are off by less.  ``outline`` lists
    landmarks (from 0) to join by a closed line.  Without it, a reference that looks like a closed outline (20 landmarks or
    more along a curve) is drawn as one, with a band of that half-width instead of discs.
    """
    form = _format(Path(path))
    write_atomically(Path(path), _render(_draw_shape(release, title, p, outline), form))


def draw_release(release: Release, title: str = "", p: float = 0.95, outline: Sequence[int] | None = None) -> Figure:
    """The figure that :func:`plot_release` writes."""
    space = _space(release)
    if isinstance(space, PlanarShapes):
        return _draw_shape(release, title, p, outline)
    if isinstance(space, Sphere) and space.dim == 1 and _length(release.value) > 0:
        return _draw_circle(release, title, p)
    if isinstance(space, Sphere) and space.dim == 2 and _length(release.value) > 0:
        return _draw_globe(release, title, p)
    if isinstance(space, SPD):
        drawable = space.size in (2, 3) and np.linalg.eigvalsh(release.value)[0] > 0
        return _draw_ellipses(release, title, p) if drawable else _draw_eigenvalues(release, title, p)
    return _draw_coordinates(release, title, p)


# -- what a release says about its error -------------------------------------------------------------------------------
def error_or_none(release: Release, p: float) -> float | None:
    """The error of a release at probability p; None where nothing public is known of it."""
    return None if release.record["predicted_error"] is None else release.error(p)


def cap_angle(release: Release, error: float) -> float:
    """On a sphere: an angle about the released direction that holds the direction of the statistic if the error holds.

    Geodesic errors are arcs of radius 1/√κ.  An ambient error is a Euclidean distance: between points of the sphere a chord,
    and about a vector v off the sphere a ball, which is seen from the origin under the angle arcsin(error/‖v‖).
    """
    q = np.sqrt(bounds_of(_space(release)).curvature[1])
    if _is_geodesic(release):
        return float(min(q * error, np.pi))
    if release.record["mechanism"]["options"].get("project"):
        return float(2 * np.arcsin(min(q * error / 2, 1.0)))
    length = _length(release.value)
    return float(np.arcsin(error / length)) if error < length else float(np.pi)


def matrix_bounds(release: Release, error: float) -> tuple[Array, Array]:
    """Matrices below and above the statistic if the error holds (differences are positive semidefinite).

    A geodesic error e keeps every generalised eigenvalue within e^±e.  An ambient error bounds the entries on and above the
    diagonal, so the spectral norm by √2·e; after a projection it already bounds the Frobenius norm.
    """
    value = release.value
    if _is_geodesic(release):
        factor = float(np.exp(min(error, 300.0)))
        return value / factor, value * factor
    shift = error if release.record["mechanism"]["options"].get("project") else np.sqrt(2) * error
    return value - shift * np.eye(len(value)), value + shift * np.eye(len(value))


def _is_geodesic(release: Release) -> bool:
    predicted = release.record["predicted_error"]
    return predicted is None or predicted["distance"] == "geodesic distance"


def _space(release: Release) -> Space:
    return space_from(release.record["space"]["name"], release.record["space"]["parameters"])


def _ball(release: Release) -> Ball:
    return Ball(_space(release), release.record["ball"]["center"], release.record["ball"]["radius"])


def _length(vector: Array) -> float:
    return float(np.linalg.norm(vector))


# -- shapes ------------------------------------------------------------------------------------------------------------
def looks_like_an_outline(landmarks: Array) -> bool:
    """Whether landmarks follow a closed curve: 20 or more, no step longer than a quarter of the whole, no crossing.

    >>> angle = 2 * np.pi * np.arange(30) / 30
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> looks_like_an_outline(circle), looks_like_an_outline(np.random.default_rng(0).permutation(circle))
    (True, False)
    """
    steps = np.linalg.norm(landmarks - np.roll(landmarks, 1, axis=0), axis=1)
    size = np.linalg.norm(np.ptp(landmarks, axis=0))
    return len(landmarks) >= 20 and bool(steps.max() <= size / 4) and not bool(crosses_itself(landmarks))


def _draw_shape(release: Release, title: str, p: float, outline: Sequence[int] | None) -> Figure:
    from matplotlib.patches import Circle

    space, ball = PlanarShapes(**release.record["space"]["parameters"]), _ball(release)
    reference = space.present(ball.center)
    released = _turned(space, release, ball)
    error = error_or_none(release, p)
    share = 0.0 if error is None else error / np.sqrt(space.landmarks)
    band = outline is None and looks_like_an_outline(reference)

    points = np.vstack([reference, released])
    margin = max(1.15 * share, 0.015 * float(np.ptp(points, axis=0).max()))  # room for the markers of the outermost
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    height = 9 * (high[1] - low[1]) / max(high[0] - low[0], 1e-9)
    figure = _figure(9, 1.0 + 0.3 * bool(title) + min(max(height, 2.0), 8.0))
    axes = figure.add_subplot()
    label = f"its {p:.0%} error, shared evenly"
    if band and share > 0:
        _soft_band(axes, released, share, low, high, label)
    elif share > 0:
        for i, (x, y) in enumerate(released):
            for fraction in LAYERS:
                axes.add_artist(
                    Circle((x, y), share * fraction, **LAYER)
                )  # add_patch would measure each for the limits
            axes.add_patch(Circle((x, y), share, fill=False, ec=SOFT, lw=0.6, label=label if i == 0 else None))
    ring = [*range(space.landmarks), 0] if band else [] if outline is None else [*outline, outline[0]]
    axes.plot(*reference[ring].T, color=QUIET, lw=1.0 if band else 0.8, ls=":", zorder=1)
    axes.plot(*released[ring].T, color=SHARP, lw=1.2 if band else 1.0, alpha=1.0 if band else 0.7, zorder=2)
    if band:
        axes.plot([], [], color=QUIET, lw=1.0, ls=":", label="public reference")
        axes.plot(*released.T, color=SHARP, ls="-", lw=0, marker="o", ms=2.5, zorder=4)
        axes.plot([], [], color=SHARP, lw=1.2, marker="o", ms=2.5, label=_name(release))
    else:
        for a, b in zip(reference, released, strict=True):
            axes.plot(*zip(a, b, strict=True), color=QUIET, lw=0.7, zorder=1)
        axes.plot(*reference.T, ls="", marker="o", ms=4.7, mfc="white", mec=QUIET, label="public reference", zorder=3)
        axes.plot(*released.T, ls="", marker="o", ms=5, color=SHARP, label=_name(release), zorder=4)
        for i, (x, y) in enumerate(released, start=1):
            axes.annotate(str(i), (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7, color=SHARP)
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9, frameon=False)
    return _captioned(figure, release, title, p, error)


def _turned(space: PlanarShapes, release: Release, ball: Ball) -> Array:
    """The released landmarks turned towards the reference; scaled only where shapes, which have no size, were released."""
    if _is_geodesic(release):
        return space.present(space.align(ball.center, release.value))
    z = release.value[:, 0] + 1j * release.value[:, 1]
    c = np.vdot(ball.center, z)
    return space.present(z * (np.conj(c) / abs(c) if abs(c) > 0 else 1.0))


def _soft_band(axes: Axes, ring: Array, width: float, low: Array, high: Array, label: str) -> None:
    """All points within ``width`` of a closed polygon, darker towards it."""
    x, y = (np.linspace(low[i], high[i], 400) for i in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    distance = np.full(grid.shape[:2], np.inf)
    for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        side = b - a
        along = np.clip((grid - a) @ side / max(float(side @ side), 1e-300), 0.0, 1.0)
        distance = np.minimum(distance, np.linalg.norm(grid - a - along[..., None] * side, axis=-1))
    for fraction in LAYERS:
        axes.contourf(x, y, distance, levels=[-1.0, width * fraction], colors=[SOFT], alpha=ALPHA)
    axes.contour(x, y, distance, levels=[width], colors=[SOFT], linewidths=0.6)
    axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=label)


# -- directions --------------------------------------------------------------------------------------------------------
def _draw_circle(release: Release, title: str, p: float) -> Figure:
    from matplotlib.patches import Wedge

    ball, error = _ball(release), error_or_none(release, p)
    direction = release.value / _length(release.value)
    at, centre = (np.degrees(np.arctan2(v[1], v[0])) for v in (direction, ball.center))
    q = 1 / _length(ball.center)
    figure = _figure(6, 6.6)
    axes = figure.add_subplot()
    turn = np.linspace(0, 2 * np.pi, 361)
    axes.plot(np.cos(turn), np.sin(turn), color=QUIET, lw=0.8)
    if error is not None:
        angle = np.degrees(cap_angle(release, error))
        for fraction in LAYERS:
            axes.add_artist(Wedge((0, 0), 1.06, at - angle * fraction, at + angle * fraction, width=0.12, **LAYER))
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=_angle_label(release, error, p))
    reach = np.radians(centre) + np.linspace(-1, 1, 181) * min(q * ball.radius, np.pi)
    axes.plot(0.9 * np.cos(reach), 0.9 * np.sin(reach), color=QUIET, lw=1.0, ls=":", label="public ball")
    axes.plot(*(0.9 * q * ball.center), ls="", marker="o", mfc="white", mec=QUIET, label="public centre")
    axes.plot(*zip((0, 0), direction, strict=True), color=SHARP, lw=1.2)
    axes.plot(*direction, ls="", marker="o", color=SHARP, label=_name(release))
    for x, y, text in ((1.13, 0, "+x"), (0, 1.13, "+y")):
        axes.text(x, y, text, ha="center", va="center", fontsize=9, color=QUIET)
    _globe_frame(axes, 1.2)
    _top_legend(axes)
    return _captioned(figure, release, title, p, error)


def _draw_globe(release: Release, title: str, p: float) -> Figure:
    error = error_or_none(release, p)
    angle = None if error is None else cap_angle(release, error)
    closer = angle is not None and angle < 0.25
    figure = _figure(9.4 if closer else 6, 5.7 if closer else 6.9)
    panels = figure.subplots(1, 2 if closer else 1, squeeze=False)[0]
    _globe(panels[0], release, p, error, reach=1.0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4 if closer else 2, fontsize=9, frameon=False)
    if closer and angle is not None:
        _globe(panels[1], release, p, error, reach=1.6 * float(np.sin(angle)))
        panels[1].set_title(f"close up: {np.degrees(3.2 * angle):.2g}° across", fontsize=10, color=SHARP)
    return _captioned(figure, release, title, p, error)


def _globe(axes: Axes, release: Release, p: float, error: float | None, reach: float) -> None:
    """The sphere from straight above the released direction; ``reach`` is how much of its radius is shown."""
    from matplotlib.patches import Circle

    ball = _ball(release)
    view = release.value / _length(release.value)
    axis = np.array([0.0, 0.0, 1.0]) if abs(view[2]) < 0.98 else np.array([0.0, 1.0, 0.0])
    up = axis - (axis @ view) * view
    up /= _length(up)
    frame = np.stack([np.cross(up, view), up, view])

    def curve(points: Array, **style: Any) -> None:
        x, y, depth = frame @ points.T
        shown = depth >= 0
        axes.plot(np.where(shown, x, np.nan), np.where(shown, y, np.nan), **style)
        if reach == 1.0:
            style = {**style, "label": None, "alpha": 0.35, "lw": 0.6 * style["lw"]}
            axes.plot(np.where(shown, np.nan, x), np.where(shown, np.nan, y), **style)

    turn = np.linspace(0, 2 * np.pi, 361)
    circle = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    if reach == 1.0:
        axes.add_patch(Circle((0, 0), 1.0, fc="#fbf9f6", ec=QUIET, lw=0.8, zorder=0))
    for line in _graticule(view, reach):
        curve(line, color=FAINT, lw=0.7, zorder=1)
    if error is not None:
        angle = cap_angle(release, error)
        for fraction in LAYERS:
            axes.add_artist(Circle((0, 0), np.sin(min(angle * fraction, np.pi / 2)), zorder=2, **LAYER))
        label = _angle_label(release, error, p)
        axes.add_patch(
            Circle((0, 0), np.sin(min(angle, np.pi / 2)), fill=False, ec=SOFT, lw=0.9, zorder=2, label=label)
        )
    q = 1 / _length(ball.center)
    centre = q * ball.center
    side = np.linalg.svd(centre[None])[2][1:]  # two directions across the centre
    reached = min(q * ball.radius, np.pi)
    edge = np.cos(reached) * centre + np.sin(reached) * (circle[:, :2] @ side)
    curve(edge, color=QUIET, lw=1.1, ls=":", zorder=3, label="edge of the public ball")
    x, y, depth = frame @ centre
    axes.plot(
        x, y, ls="", marker="o", ms=6, mfc="white", mec=QUIET, alpha=1.0 if depth >= 0 else 0.4, zorder=4, clip_on=True,
        label="public centre",
    )  # fmt: skip
    axes.plot(0, 0, ls="", marker="o", ms=6, color=SHARP, zorder=5, label=_name(release))
    if reach == 1.0:
        for end, text in zip(np.vstack([np.eye(3), -np.eye(3)]), ("+x", "+y", "+z", "−x", "−y", "−z"), strict=True):
            x, y, depth = 1.03 * frame @ end
            if depth > -0.2:
                axes.annotate(
                    text, (x, y), xytext=(0, 5), textcoords="offset points", fontsize=9, color=QUIET, ha="center"
                )
    _globe_frame(axes, 1.12 if reach == 1.0 else reach)
    if reach != 1.0:
        axes.set_frame_on(True)
        for spine in axes.spines.values():
            spine.set(color=FAINT)


def _graticule(view: Array, reach: float) -> list[Array]:
    """Parallels and meridians: every 30° of a whole globe, a handful at round degrees in a close-up."""
    latitude, longitude = np.degrees(np.arcsin(view[2])), np.degrees(np.arctan2(view[1], view[0]))
    width, turn = np.degrees(np.arcsin(reach)), np.linspace(0, 2 * np.pi, 361)
    parallels, meridians = np.arange(-60.0, 90, 30), np.arange(0.0, 180, 30)
    if reach < 1:
        shrink = max(np.hypot(view[0], view[1]), width / 90)  # meridians crowd towards the poles
        parallels = _round_numbers(latitude, 1.5 * width)
        meridians = _round_numbers(longitude, 1.5 * width / shrink)
        turn = np.radians(longitude) + np.linspace(-np.pi, np.pi, 20001)
    b, a = np.radians(parallels[np.abs(parallels) < 90])[:, None], np.radians(meridians)[:, None]
    around = np.stack(np.broadcast_arrays(np.cos(b) * np.cos(turn), np.cos(b) * np.sin(turn), np.sin(b)), axis=-1)
    across = np.stack(np.broadcast_arrays(np.cos(a) * np.cos(turn), np.sin(a) * np.cos(turn), np.sin(turn)), axis=-1)
    return [*around, *across]


def _round_numbers(middle: float, half: float) -> Array:
    """About eight equally spaced round numbers within ``half`` of the middle."""
    size = 10 ** np.floor(np.log10(half / 4))
    step = size * next(m for m in (1, 2, 5, 10) if m * size >= half / 4)
    return np.asarray(np.arange(np.ceil((middle - half) / step), (middle + half) / step) * step)


def _globe_frame(axes: Axes, reach: float) -> None:
    axes.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[])
    axes.set_frame_on(False)


def _angle_label(release: Release, error: float, p: float) -> str:
    angle = cap_angle(release, error)
    return f"its {p:.0%} error: {angle:.3g} rad, {np.degrees(angle):.3g}°"


# -- matrices ----------------------------------------------------------------------------------------------------------
def _draw_ellipses(release: Release, title: str, p: float) -> Figure:
    """{x : xᵀP⁻¹x = 1}, on each plane of two axes.  Ellipses are nested as matrices are ordered, so the band is certain, and
    the shadow of an ellipsoid is the ellipse of the submatrix."""
    from matplotlib.patches import Polygon

    ball, error, size = _ball(release), error_or_none(release, p), len(release.value)
    planes = [(i, j) for i in range(size) for j in range(i + 1, size)]
    outer = [ball.center * np.exp(min(ball.radius, 300.0)), release.value]
    outer += [] if error is None else [matrix_bounds(release, error)[1]]
    extent = 1.05 * np.sqrt(np.max([np.diag(matrix) for matrix in outer], axis=0))
    figure = (
        _figure(6.4, float(np.clip(5.6 * extent[1] / extent[0], 2.5, 9.0)) + 1.7) if size == 2 else _figure(10, 4.4)
    )
    panels = figure.subplots(1, len(planes), squeeze=False)[0]
    for axes, plane in zip(panels, planes, strict=True):
        part = np.ix_(plane, plane)
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
            edge = _ellipse(centre * np.exp(sign * min(ball.radius, 300.0)))
            axes.plot(*edge.T, color=QUIET, lw=0.7, ls=":", label="range of clipped records" if sign < 0 else None)
        axes.plot(*_ellipse(centre).T, color=QUIET, lw=1.0, ls="--", label="public centre")
        axes.plot(*_ellipse(release.value[part]).T, color=SHARP, lw=1.6, label=_name(release))
        x, y = (extent[list(plane)] if size == 2 else np.full(2, extent.max())).tolist()  # one scale for all panels
        axes.set(
            aspect="equal", xlim=(-x, x), ylim=(-y, y), xlabel=f"axis {plane[0] + 1}", ylabel=f"axis {plane[1] + 1}"
        )
        _plain(axes)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2 if size == 2 else 4, fontsize=9, frameon=False)
    return _captioned(figure, release, title, p, error)


def _ellipse(matrix: Array) -> Array:
    turn = np.linspace(0, 2 * np.pi, 361)
    return np.asarray(np.stack([np.cos(turn), np.sin(turn)], axis=1) @ np.linalg.cholesky(matrix).T)


def _draw_eigenvalues(release: Release, title: str, p: float) -> Figure:
    """Eigenvalues with what the error allows: the k-th eigenvalue rises with the matrix (Weyl), so the bars are certain."""
    ball, error = _ball(release), error_or_none(release, p)
    value, centre = _spectrum(release.value), _spectrum(ball.center)
    bars = None if error is None else tuple(_spectrum(bound) for bound in matrix_bounds(release, error))
    factor = np.exp(min(ball.radius, 300.0))
    figure = _draw_intervals(value, bars, centre, (centre / factor, centre * factor), "eigenvalue", release, p)
    axes = figure.axes[0]
    if (value if bars is None else bars[0]).min() > 0:
        _log_scale(axes)
    negative = np.flatnonzero(value <= 0)
    if len(negative):
        axes.axhline(0.0, color=QUIET, lw=0.6)
        axes.plot(negative + 1, value[negative], ls="", marker="x", ms=12, mew=2, color=SHARP, label="not positive")
        _top_legend(axes)
    return _captioned(figure, release, title, p, error)


def _spectrum(matrix: Array) -> Array:
    return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64)


def _log_scale(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1e3 * low else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


# -- coordinates -------------------------------------------------------------------------------------------------------
def _draw_coordinates(release: Release, title: str, p: float) -> Figure:
    """Every coordinate with the range that the error leaves it: on a sphere that of a cap, else ± the error."""
    space, ball, error = _space(release), _ball(release), error_or_none(release, p)
    value, centre = np.ravel(release.value), np.ravel(space.present(ball.center))
    if isinstance(space, Sphere):
        reach = _cap_range(centre, ball.radius / _length(centre))
        if error is None:
            bars = None
        elif release.record["on_manifold"]:
            bars = _cap_range(value, cap_angle(release, error))
        else:
            bars = (value - error, value + error)
    else:
        reach = (centre - ball.radius, centre + ball.radius)
        bars = None if error is None else (value - error, value + error)
    figure = _draw_intervals(value, bars, centre, reach, "coordinate", release, p)
    figure.axes[0].set_xlabel("coordinate")
    figure.axes[0].set_ylabel("value")
    return _captioned(figure, release, title, p, error)


def _cap_range(point: Array, angle: float) -> tuple[Array, Array]:
    """Least and largest value of each coordinate within an angle of a point of a sphere."""
    length = _length(point)
    away = np.arccos(np.clip(point / length, -1.0, 1.0))
    return length * np.cos(np.minimum(away + angle, np.pi)), length * np.cos(np.maximum(away - angle, 0.0))


def _draw_intervals(
    value: Array,
    bars: tuple[Array, ...] | None,
    centre: Array,
    reach: tuple[Array, Array],
    what: str,
    release: Release,
    p: float,
) -> Figure:
    """Numbers side by side with their bars, the public centre and the range that clipping left to each record."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    count = len(value)
    at = np.arange(1, count + 1)
    figure = _figure(float(np.clip(2.5 + 0.5 * count, 6, 9)), 5.2)
    axes = figure.add_subplot()
    thick = float(np.clip(90 / count, 2, 14))
    if bars is not None:
        for fraction in LAYERS:
            low, high = (value + fraction * (bar - value) for bar in bars)
            axes.vlines(at, low, high, color=SOFT, alpha=ALPHA, lw=thick)
        for end in bars:
            axes.plot(at, end, ls="", marker="_", ms=thick, mew=0.8, color=SOFT)
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=f"its {p:.0%} error, all bars at once")
    small = float(np.clip(120 / count, 1.5, 6))
    axes.vlines(at, *reach, color=QUIET, lw=0.8, ls=":", label="range of clipped records", zorder=1)
    axes.plot(at, centre, ls="", marker="o", ms=small, mfc="white", mec=QUIET, label="public centre")
    axes.plot(at, value, ls="", marker="o", ms=small, color=SHARP, label=_name(release))
    axes.set_xlim(0.4, count + 0.6)
    axes.xaxis.set_major_locator(FixedLocator(at.tolist()) if count <= 12 else MaxNLocator(integer=True, nbins=12))
    axes.set_xlabel(f"{what}, the largest first")
    axes.set_ylabel(what)
    _plain(axes)
    _top_legend(axes)
    return figure


# -- figures -----------------------------------------------------------------------------------------------------------
def _name(release: Release) -> str:
    return "released mean" if "mean" in release.record["statistic"] else "released value"


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.xaxis.label.set(color=QUIET, fontsize=10)
    axes.yaxis.label.set(color=QUIET, fontsize=10)


def _top_legend(axes: Axes) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9, frameon=False)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _captioned(figure: Figure, release: Release, title: str, p: float, error: float | None) -> Figure:
    r, g = release.record, release.guarantee
    known = (
        "nothing public is known of its error"
        if error is None
        else f"with probability {p:g} {release.estimate} lies within {error:.3g} ({r['predicted_error']['distance']})"
    )
    sentences = [f"ε = {g.epsilon:g}, n = {r['n']}, mechanism {r['mechanism']['name']}; {known}"]
    sentences += [] if r["on_manifold"] else [_off_manifold(release)]
    sentences += [] if g.private else [g.condition or "made for study: this is not a private release"]
    columns = int(12.8 * figure.get_figwidth())
    figure.supxlabel("\n".join(line for s in sentences for line in _balanced(s, columns)), fontsize=10)
    if title:
        figure.suptitle(title, fontsize=12)
    return figure


def _balanced(text: str, columns: int) -> list[str]:
    """As few lines as the width allows, of about the same length."""
    count = len(textwrap.wrap(text, columns))
    return next(lines for w in range(1, columns + 1) if len(lines := textwrap.wrap(text, w)) <= count)


def _off_manifold(release: Release) -> str:
    space = _space(release)
    if isinstance(space, Sphere):
        return f"the released vector has length {_length(release.value):.3g}: it is not a point of the sphere"
    if isinstance(space, SPD):
        return "the released matrix is not positive definite: it is no covariance matrix"
    return "the released value is not a point of this space"


def _format(path: Path) -> str:
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"pictures are written as .png or .svg, not {path.suffix or 'without an ending'!r}: {path}")
    return FORMATS[path.suffix.lower()]


def _render(figure: Figure, form: str = "png") -> bytes:
    buffer = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None}
    figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()


def picture(release: Release, p: float = 0.95) -> bytes:
    """A release drawn as PNG, in memory."""
    return _render(draw_release(release, p=p))
