"""Landmarks over the public reference, in the plane or in space from three sides; outlines as curves with a band."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .base import View
from .bending import bent_grid, can_bend, magnified
from .curves import across, band, looks_like_an_outline, overlaid, sides_of
from .page import Block, Turning
from .scene import CIRCLE, Arrows, Dots, Line, Mark, Panel, Role, Scene, Words, around, blur, broken, closed, segments
from .subject import Links, Noise, Subject

MOST_NUMBERS = 100  # beside landmarks
BESIDE = 0.45  # height to width, above which a grid stands beside a shape, not below
WIDTH = 9.0  # of a picture, in inches
NEAR = 1e-6  # coordinates that differ by less, of the size, may be equal but for rounding
JUST_SEEN = 0.015  # of the size of a shape: an error of made-up releases that is smaller is drawn larger
LARGER = (1, 2, 5, 10, 20, 50, 100)
PLANE = np.eye(2)
# Views of axes x (the longest of the reference), y and z, by what goes right and up: none shows a mirror image
FRONT = np.eye(3)[[0, 1]]
RIGHT = np.array([[0, 0, -1], [0, 1, 0]])
ABOVE = np.array([[1, 0, 0], [0, 0, -1]])


class Landmarks:
    """A subject as it is drawn: landmarks of the reference, the release and others, and for each the matrix A·Aᵀ of the
    ellipsoid A·(unit ball) about it.

    The error is one distance for all: each of k landmarks gets a ball of error/√k, its share if all were off by as much.  The
    noise of a chart has a shape: each landmark gets the ellipsoid that holds it with probability p, by itself; an outline gets
    a band as wide as its landmarks may be off across it.  Made-up releases that are hardly seen are drawn ``times`` as far.
    """

    def __init__(self, s: Subject, turned: bool) -> None:
        self.s = s
        reference = s.space.present(s.base)
        k, m = reference.shape
        self.turn = _principal(reference) if turned else np.eye(m)
        self.reference = reference @ self.turn
        self.released = None if s.value is None else _turned(s, reference) @ self.turn
        self.about = self.reference if self.released is None else self.released
        self.others = np.empty((0, k, m)) if s.others is None else s.others @ self.turn
        self.spread = self.ellipsoids(s.noise)
        if self.spread is None and s.error is not None:
            self.spread = np.tile(s.error**2 / k * np.eye(m), (k, 1, 1))
        self.region = self.ellipsoids(s.region)
        self.times = 1
        if s.value is None and self.spread is not None:
            half = np.sqrt(np.median(np.linalg.eigvalsh(self.spread)[:, -1])) / np.ptp(self.reference, axis=0).max()
            self.times = next((f for f in LARGER if f * half > JUST_SEEN), LARGER[-1])
            self.spread = self.times**2 * self.spread
            self.others = self.reference + self.times * (self.others - self.reference)
        self.label = f"{s.error_label}, {'shared evenly' if s.noise is None else 'by landmark'}"
        self.outline = m == 2 and s.links is None and looks_like_an_outline(self.reference)

    def ellipsoids(self, noise: Noise | None) -> Array | None:
        """Return (k, m, m): the matrix of the ellipsoid that the noise, or a region, leaves to each landmark."""
        if noise is None:
            return None
        k, m = self.reference.shape
        moves = self.turn.T @ noise.moves(m).reshape(k, m, -1)
        return np.asarray(moves @ np.swapaxes(moves, 1, 2))

    def widths(self, noise: Noise | None) -> Array:
        """Return how far an outline may be off at each landmark, across it."""
        if noise is None:
            share = 0.0 if self.s.error is None else self.s.error / np.sqrt(len(self.about))
            return self.times * np.full(len(self.about), share)
        return self.times * across(noise, self.about, ring=True)

    def limits(self, side: Array) -> tuple[Array, Array]:
        """Return the corners of what is seen from a side, with room for what is about the outermost landmarks."""
        shapes = [self.reference, self.about, *self.others]
        halves = [_halves(each, side).max() for each in (self.spread, self.region) if each is not None]
        margin = max([1.15 * float(half) for half in halves] + [0.06 * float(np.ptp(self.reference, axis=0).max())])
        return around([shape @ side.T for shape in shapes], margin)

    def marks(self, side: Array, inches: float) -> list[Mark]:
        """Return what is seen from a side, where a unit has so many inches; no dot hides what is about it."""
        return self._curves() if self.outline else self._dots(side, inches)

    def _curves(self) -> list[Mark]:
        marks: list[Mark] = []
        if self.spread is not None:
            marks += band(self.about, self.widths(self.s.noise), True, self.label)
        if self.region is not None:
            edges = sides_of(self.about, self.widths(self.s.region), ring=True)
            marks.append(Line(broken(edges), Role.REGION, self.s.region_label))
        return marks + overlaid(self.s, self.reference, self.about, self.others, ring=True)

    def _dots(self, side: Array, inches: float) -> list[Mark]:
        s = self.s
        reference = self.reference @ side.T
        at = self.about @ side.T
        pairs = joined(s.links, len(at))
        marks: list[Mark] = []
        size = 4.5
        away = 3.0
        if self.spread is not None:
            size = float(np.clip(0.7 * 72 * inches * np.median(_halves(self.spread, side)[:, -1]), 1.6, 5.0))
            marks += blur(_rings(at, self.spread, side), list(at[:, None]), self.label)
        if self.region is not None:
            away += 0.75 * 72 * inches * float(np.median(_halves(self.region, side)[:, -1]))
            marks.append(Line(broken(_rings(at, self.region, side)), Role.REGION, s.region_label))
        for i, other in enumerate(self.others @ side.T):
            marks.append(Line(segments(reference, other), Role.TIE))
            marks += [Line(segments(*other[pairs.T]), s.role, variant=i), Dots(other, s.role, size=4.0)]
        marks.append(Line(segments(*reference[pairs.T]), Role.CENTRE))
        marks.append(Dots(reference, Role.CENTRE, "public reference", size=size))
        if self.released is not None:
            marks += [Line(segments(reference, at), Role.TIE), Line(segments(*at[pairs.T]), Role.VALUE)]
            marks.append(Dots(at, Role.VALUE, s.name, size=size))
        role = Role.CENTRE if self.released is None else Role.VALUE
        for i in range(0, len(at), -(-len(at) // MOST_NUMBERS)):
            marks.append(Words(at[i], str(i + 1), role, (away, away), "left"))
        return marks

    def grid(self) -> Panel | None:
        """Return a square grid on the reference, bent to the release or to the first of the others, as seen from the front;
        None where no grid can bend so, or there is nothing that it bends to."""
        first = self.reference[:, :2]
        s = self.s
        if not can_bend(first) or (self.released is None and (self.spread is None or not len(self.others))):
            return None
        if self.released is not None:
            return bent(first, self.released[:, :2], s.links, Role.VALUE, "the public reference", f"the {s.name}")
        other = first + (self.others[0, :, :2] - first) / self.times
        return bent(first, other, s.links, s.role, "the public centre", "one such release")

    def numbers(self) -> list[list[float]]:
        """Return for each landmark, in hundredths of the largest distance from the middle: reference, release and matrix."""
        unit = 100 / max(float(np.linalg.norm(x, axis=1).max()) for x in (self.reference, self.about))
        i, j = np.triu_indices(3)
        spread = np.zeros((len(self.about), 3, 3)) if self.spread is None else self.spread
        every = np.hstack([unit * self.reference, unit * self.about, unit**2 * spread[:, i, j]])
        return [[round(float(x), 3) for x in row] for row in every]


class Solids(View):
    """Landmarks in space, or in the plane; in the axes of the reference, the longest first."""

    records = "shapes of {k} landmarks in {where}"
    unit = "shapes of size one"
    measured = "Procrustes distance at size 1"
    origin = "the rim of a saddle, or a regular polygon"
    entry = "Landmark"
    columns = "xyz"
    turned = True

    def meaning(self, s: Subject, error: float) -> str:
        return f"{error / np.sqrt(len(s.about)):.3g} a landmark if all share it, in {self.unit}"

    def caption(self, s: Subject) -> str:
        bends = can_bend(Landmarks(s, self.turned).reference[:, :2])
        grid = " A square grid on the reference is bent as the landmarks moved." if bends else ""
        return super().caption(s) + grid

    def shown(self, s: Subject) -> str:
        own = f"each landmark of that mean lies in the soft region about its own with probability {s.p:g}, taken by itself"
        bends = can_bend(Landmarks(s, self.turned).reference[:, :2])
        said = {own: s.noise is not None, "the grid bends by all that was released, noise included": bends}
        return "; ".join(words for words, true in said.items() if true)

    def seen(self, s: Subject) -> str:
        form = Landmarks(s, self.turned)
        moved = np.linalg.norm(form.about - form.reference, axis=1) / float(np.ptp(form.reference, axis=0).max())
        first, *others = (f"{i + 1} ({moved[i]:.2%})" for i in np.argsort(-moved)[:3])
        others_too = f", then {' and '.join(others)}" if others else ""
        return f"Landmark {first} lies farthest from where the reference has it, in parts of the length{others_too}."

    def scene(self, s: Subject) -> Scene:
        """Return both shapes over each other with the error, and a grid on the reference that bends to the release."""
        form = Landmarks(s, self.turned)
        larger = f"differences drawn {form.times} times as large" if form.times > 1 else ""
        columns = 3 if form.region is None else 4
        return _arranged([form], form.marks, form.grid(), columns, larger)

    def pair(self, subjects: Mapping[str, Subject], radius: float) -> Scene:
        """Return both shapes over each other with the way of each landmark from the first to the second, and the same as a
        grid."""
        forms = {name: Landmarks(s, self.turned) for name, s in subjects.items()}
        (one, first), (two, second) = forms.items()
        region = second.s.region
        tips = None if region is None else second.ellipsoids(replace(region, fixed=radius))

        def marks(side: Array, inches: float) -> list[Mark]:
            return _overlay({name: form.about @ side.T for name, form in forms.items()}, tips, side, first.s.links)

        grid = None
        if can_bend(first.about[:, :2]):
            grid = bent(first.about[:, :2], second.about[:, :2], first.s.links, Role.SECOND, one, two)
        return _arranged([first, second], marks, grid, 4, f"from {one} to {two}")

    def more(self, s: Subject) -> list[Block]:
        if s.about.shape[1] != 3:
            return []
        form = Landmarks(s, self.turned)
        soft = "" if form.spread is None else f", {form.label} (soft)"
        words = f"The same in space: {s.name} (dark), public reference (open circles){soft}."
        return [Turning(words, form.numbers(), joined(s.links, len(s.about)).tolist())]


class SizesAndShapes(Solids):
    records = "sizes-and-shapes of {k} landmarks in {where}"
    unit = "the unit of the records"
    measured = "Procrustes distance in the unit of the records"


class Shapes(Solids):
    """Planar shapes, as the space presents them."""

    records = "planar shapes of {k} landmarks"
    origin = "a regular polygon"
    exact_up_to = np.inf
    turned = False


def _arranged(
    forms: Sequence[Landmarks],
    marks: Callable[[Array, float], list[Mark]],
    grid: Panel | None,
    columns: int,
    title: str,
) -> Scene:
    """Return a panel for each side from which landmarks are seen, and the grid beside or below; or in the corner that three
    sides leave."""
    sides = [(PLANE, "")]
    if forms[0].reference.shape[1] == 3:
        sides = [(ABOVE, "from above"), (FRONT, "front"), (RIGHT, "from the right")]
    corners = np.array([[form.limits(side) for side, _ in sides] for form in forms])
    low = corners[:, :, 0].min(axis=0)
    high = corners[:, :, 1].max(axis=0)
    wide, tall = (high - low).T
    beside = grid is not None and len(sides) == 1 and tall[0] > BESIDE * wide[0]
    across_all = wide[1] + wide[2] if len(sides) == 3 else wide[0]
    inches = WIDTH / float(across_all) / (2 if beside else 1)
    panels = []
    for i, (side, name) in enumerate(sides):
        size = (inches * float(wide[i]), float(np.clip(inches * tall[i], 1.2, 8.0)))
        words = ", ".join(filter(None, [name, title]))
        panels.append(Panel(marks(side, inches), low[i], high[i], words, size))
    if len(sides) == 1:
        if grid is None:
            return Scene([panels], columns)
        shown = replace(grid, size=panels[0].size)
        return Scene([[*panels, shown]] if beside else [panels, [shown]], columns)
    above, front, right = panels
    corner = [] if grid is None else [replace(grid, size=(right.size[0], above.size[1]), title=f"front: {grid.title}")]
    return Scene([[above, *corner], [front, right]], columns)


def _overlay(shapes: Mapping[str, Array], tips: Array | None, side: Array, links: Links | None) -> list[Mark]:
    """Return two shapes, and an arrow for each landmark, as long as the difference is."""
    first, second = shapes.values()
    ring = links is None and looks_like_an_outline(first)
    pairs = joined(links, len(first))
    marks: list[Mark] = []
    for role, (name, shape) in zip((Role.FIRST, Role.SECOND), shapes.items(), strict=True):
        marks.append(Line(closed(shape) if ring else segments(*shape[pairs.T]), role))
        marks.append(Dots(shape, role, name, size=1.5 if ring else 3.5))
    if tips is not None and not ring:
        marks.append(Line(broken(_rings(second, tips, side)), Role.REGION, "95% region for the difference"))
    marks.append(Arrows(first, second))
    if ring or len(first) > MOST_NUMBERS:
        return marks
    middle = first.mean(axis=0)
    for i, both in enumerate(zip(first, second, strict=True), start=1):
        at = max(both, key=lambda end: float(np.linalg.norm(end - middle)))
        x, y = 11 * (at - middle) / max(float(np.linalg.norm(at - middle)), 1e-300)
        marks.append(Words(at, str(i), move=(float(x), float(y))))
    return marks


def bent(first: Array, second: Array, links: Links | None, role: Role, one: str, two: str) -> Panel:
    """Return a square grid about the first shape, bent to the second, on which both stand; larger, where it is hardly seen."""
    times = magnified(first, second)
    second = first + times * (second - first)
    margin = 0.08 * float(np.ptp([first, second], axis=(0, 1)).max())
    lines = bent_grid(first, second, *around([first, second], margin))
    ring = links is None and looks_like_an_outline(first)
    pairs = joined(range(len(first)) if ring else links, len(first))
    marks: list[Mark] = [Line(broken(lines), Role.TIE)]
    marks += [Line(segments(first, second), role), Line(segments(*second[pairs.T]), role)]
    marks += [Dots(first, Role.CENTRE, size=2.4), Dots(second, role, size=2.0 if len(second) > 30 else 3.5)]
    larger = f"; differences drawn {times} times as large" if times > 1 else ""
    low, high = around([first, second, *lines], 0.02 * margin)
    return Panel(marks, low, high, f"a grid on {one}, bent to {two}{larger}")


# -- lines between landmarks ------------------------------------------------------------------------------------------------
def joined(links: Links | None, k: int) -> NDArray[np.intp]:
    """Return pairs of landmarks, from 0, that lines join: those that are given, or a closed line through landmarks in their
    order.

    >>> joined([0, 2, 1], 3).tolist(), joined([(0, 1)], 3).tolist(), joined(None, 3).tolist()
    ([[0, 2], [2, 1], [1, 0]], [[0, 1]], [])
    """
    given = np.array([] if links is None else links, dtype=np.intp)
    pairs = np.stack([given, np.roll(given, -1)], axis=1) if given.ndim == 1 and given.size else given.reshape(-1, 2)
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < k):
        raise ValueError(f"a line joins a landmark that is none of the {k}: {pairs.max() + 1}")
    return pairs


# -- ellipses about landmarks -------------------------------------------------------------------------------------------------
def _roots(spread: Array, side: Array) -> Array:
    """Return (k, 2, 2): half-axes as columns, the longer last, of the ellipses that are seen of ellipsoids from a side."""
    squares, axes = np.linalg.eigh(side @ spread @ side.T)
    return np.asarray(axes * np.sqrt(np.maximum(squares, 0.0))[:, None, :])


def _halves(spread: Array, side: Array) -> Array:
    return np.asarray(np.linalg.norm(_roots(spread, side), axis=1))


def _rings(at: Array, spread: Array, side: Array) -> list[Array]:
    """Return points round the ellipse about each landmark."""
    return list(at[:, None] + CIRCLE[::5] @ np.swapaxes(_roots(spread, side), 1, 2))


def _turned(s: Subject, reference: Array) -> Array:
    """Return the released landmarks turned to the reference, and of its size if shapes have none."""
    if s.geodesic:
        return s.space.present(s.space.align(s.base, s.point))
    u, _, vt = np.linalg.svd(reference.T @ s.about)
    u[:, -1] *= np.sign(np.linalg.det(u @ vt))
    return np.asarray(s.about @ (u @ vt).T)


def _principal(center: Array) -> Array:
    """Return the principal axes of landmarks as columns, the longest first, a rotation; the first landmark of those that lie
    farthest out along an axis is on its positive side, but for the last axis."""
    axes = np.linalg.svd(center, full_matrices=False)[2].T
    along = center @ axes
    far = np.abs(along) >= np.abs(along).max(axis=0) - NEAR * np.linalg.norm(center)
    first = along[np.argmax(far, axis=0), np.arange(len(axes))]
    axes = axes * np.where(first < 0, -1.0, 1.0)
    axes[:, -1] *= np.sign(np.linalg.det(axes))
    return np.asarray(axes)
