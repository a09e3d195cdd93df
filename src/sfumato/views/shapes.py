"""Landmarks over the public ones, in the plane or in space from three sides; outlines as curves with a band."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..landmarks.splines import rotations
from ..numerics.arrays import Array
from .base import View
from .bending import bent_grid, can_bend, larger, magnified
from .curves import across, band, hull, looks_like_an_outline, overlaid, sides_of
from .page import Block, Turning
from .scene import CIRCLE, GROUPS, Arrows, Dots, Line, Mark, Panel, Role, Scene, Words, around, blur, broken, segments
from .subject import Links, Noise, Subject

MOST_NUMBERS = 30  # beside landmarks: of more, every second, fifth, … has one
BESIDE = 0.6  # height to width, above which a grid stands beside a shape, not below
WIDTH = 6.5  # of a picture, in inches
NEAR = 1e-6  # coordinates that differ by less, of the size, may be equal but for rounding
# Views of axes x (the longest of the reference), y and z, by what goes right and up: none shows a mirror image
FRONT = np.eye(3)[[0, 1]]
SIDE = np.array([[0, 0, -1], [0, 1, 0]])
TOP = np.array([[1, 0, 0], [0, 0, -1]])
ASKEW = np.array([[0.878, 0, -0.479], [-0.164, 0.939, -0.301]])  # as the figure that turns begins
SIDES = {"top": TOP, "in space": ASKEW, "front": FRONT, "side": SIDE}
CORNER = 0.5  # of the width of the front: the least that is left to what stands beside it
Seen = Callable[[Array, float], list[Mark]]  # the marks from a side, where a unit has so many inches
BOX = np.array([[a, a | b] for a in range(8) for b in (1, 2, 4) if not a & b])  # edges, by their corners


class Landmarks:
    """A subject as it is drawn: landmarks of the reference, the release and others, and for each the matrix A·Aᵀ of the
    ellipsoid A·(unit ball) about it, as the notes of :func:`plot_release` say; of an outline, a band as wide as its landmarks
    may be off across it.  Differences that are hardly seen are ``drawn`` ``times`` as large."""

    def __init__(self, s: Subject, turned: bool) -> None:
        self.s = s
        reference = s.space.present(s.base)
        k, m = reference.shape
        self.turn = principal(reference) if turned else np.eye(m)
        self.reference = reference @ self.turn
        self.released = None if s.value is None else _turned(s, reference) @ self.turn
        self.about = self.reference if self.released is None else self.released
        others = () if s.others is None else s.others @ self.turn
        self.spread = self.ellipsoids(s.noise)
        if self.spread is None and s.error is not None:
            self.spread = np.tile(s.error**2 / k * np.eye(m), (k, 1, 1))
        self.region = self.ellipsoids(s.region)
        self.outline = m == 2 and s.links is None and looks_like_an_outline(self.reference)
        self.each = "point" if self.outline else "landmark"
        half = 0.0 if self.spread is None else float(np.sqrt(np.median(np.linalg.eigvalsh(self.spread)[:, -1])))
        self.times = magnified(self.reference, self.about, half)
        self.drawn, *self.others = (self.reference + self.times * (x - self.reference) for x in (self.about, *others))
        self.label = f"{s.error_label}, {'shared evenly' if s.noise is None else 'by landmark'}{larger(self.times)}"

    def ellipsoids(self, noise: Noise | None) -> Array | None:
        """Return (k, m, m): the matrix of the ellipsoid that the noise, or a region, leaves to each landmark."""
        if noise is None:
            return None
        k, m = self.reference.shape
        moves = self.turn.T @ noise.moves(m).reshape(k, m, -1)
        return np.asarray(moves @ np.swapaxes(moves, 1, 2))

    def widths(self, noise: Noise | None) -> Array:
        """Return how far an outline may be off at each landmark, across it, as it is drawn."""
        share = (self.s.error or 0.0) / np.sqrt(len(self.about))
        return self.times * (np.full(len(self.about), share) if noise is None else across(noise, self.about, ring=True))

    def limits(self) -> tuple[Array, Array]:
        """Return the corners of all that is drawn, with room for what is about the outermost landmarks."""
        squares = [np.linalg.eigvalsh(each).max() for each in (self.spread, self.region) if each is not None]
        least = 0.06 * float(np.ptp(self.reference, axis=0).max())
        margin = max([1.15 * self.times * float(np.sqrt(square)) for square in squares] + [least])
        return around([self.reference, self.drawn, *self.others], margin)

    def marks(self, side: Array, inches: float) -> list[Mark]:
        """Return what is seen from a side, where a unit has so many inches; no dot hides what is about it."""
        return self._curves() if self.outline else self._dots(side, inches)

    def _curves(self) -> list[Mark]:
        marks: list[Mark] = []
        if self.spread is not None:
            marks += band(self.drawn, self.widths(self.s.noise), True, self.label)
        if self.region is not None:
            edges = sides_of(self.drawn, self.widths(self.s.region), ring=True)
            marks.append(Line(broken(edges), Role.REGION, self.s.region_label))
        return marks + overlaid(self.s, self.reference, self.drawn, self.others, True, self.times)

    def _dots(self, side: Array, inches: float) -> list[Mark]:
        s = self.s
        reference = self.reference @ side.T
        at = self.drawn @ side.T
        pairs = joined(s.links, len(at))
        marks = [] if len(pairs) else hull(reference)
        size = 4.5
        away = 8.0
        if self.spread is not None:
            halves = self.times * 72 * inches * np.linalg.norm(_roots(self.spread, side), axis=1)[:, -1]
            size = float(np.clip(0.7 * np.median(halves), 2.4, 5.0))
            away += min(0.6 * float(np.median(halves)), 12.0)
            marks += blur(_rings(at, self.times**2 * self.spread, side), list(at[:, None]), self.label)
        if self.region is not None:
            marks.append(Line(broken(_rings(at, self.times**2 * self.region, side)), Role.REGION, s.region_label))
        for i, other in enumerate(other @ side.T for other in self.others):
            marks.append(Line(segments(reference, other), Role.TIE))
            marks.append(Line(segments(*other[pairs.T]), s.role, variant=i))
            marks.append(Dots(other, s.role, s.others_label, size=4.0))
        marks.append(Line(segments(*reference[pairs.T]), Role.CENTRE))
        marks.append(Dots(reference, Role.CENTRE, s.public, size=size))
        if self.released is not None:
            marks += [Line(segments(reference, at), Role.TIE), Line(segments(*at[pairs.T]), Role.VALUE)]
            marks.append(Dots(at, Role.VALUE, f"{s.name}{larger(self.times, 'differences')}", size=size))
        return marks if side is ASKEW else marks + numbers(at, reference, away, len(pairs) > 0)

    def grid(self) -> Panel | None:
        """Return a square grid on the reference, bent to the release or the first of the others; None where none can."""
        s = self.s
        if not self.bends or (self.released is None and (self.spread is None or not self.others)):
            return None
        title = f"a grid on the {s.public}, bent to {{}}{larger(self.times)}"
        if self.released is None:
            return bent(self.reference, self.others[0], s.links, s.role, title.format("one such release"))
        return bent(self.reference, self.drawn, s.links, Role.VALUE, title.format(f"the {s.name}"))

    @property
    def bends(self) -> bool:
        """Whether a grid in the plane can bend from these landmarks to others."""
        return self.reference.shape[1] == 2 and can_bend(self.reference)

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

    def shown(self, s: Subject) -> str:
        form = Landmarks(s, self.turned)
        said = {
            f"Differences are drawn {form.times} times as large.": form.times > 1,
            f"Each {form.each} of that mean lies in the soft area about its own with probability {s.p:g}, by itself.": s.noise,
            f"A square grid on the {s.public} is bent by all that was released, noise included.": form.bends,
            "The pale area is the hull of the landmarks, no part of what they are on.": not (s.links or form.outline),
        }
        return " ".join(words for words, true in said.items() if true)

    def seen(self, s: Subject) -> str:
        form = Landmarks(s, self.turned)
        moved = np.linalg.norm(form.about - form.reference, axis=1) / float(np.ptp(form.reference, axis=0).max())
        first, *others = (f"{i + 1} ({moved[i]:.2%})" for i in np.argsort(-moved)[:3])
        far = f"lies farthest from where the {s.public} has it, in parts of the length"
        return f"{form.each.capitalize()} {first} {far}, then {' and '.join(others)}."

    def scene(self, s: Subject) -> Scene:
        """Return both shapes over each other with the error, and a grid on the reference that bends to the release."""
        form = Landmarks(s, self.turned)
        title = f"differences drawn {form.times} times as large" if form.times > 1 and s.value is None else ""
        return _arranged(form.limits(), form.marks, form.grid(), title)

    def pair(self, subjects: Mapping[str, Subject], radius: float) -> Scene:
        """Return both shapes over each other with the way of each landmark between them, and the same as a grid."""
        forms = {name: Landmarks(s, self.turned) for name, s in subjects.items()}
        (one, first), (two, second) = forms.items()
        links = first.s.links
        times = magnified(first.about, second.about)
        more = larger(times, "difference")
        end = first.about + times * (second.about - first.about)
        shapes = {f"released mean of {one}": first.about, f"released mean of {two}{more}": end}
        region = second.s.region
        tips = second.ellipsoids(None if region is None else replace(region, fixed=times * radius))
        title = f"a grid on {one}, bent to {two}{more}"
        grid = bent(first.about, end, links, Role.SECOND, title) if first.bends else None
        return over_each_other(shapes, links, tips, grid)

    def more(self, s: Subject) -> list[Block]:
        if s.about.shape[1] != 3:
            return []
        form = Landmarks(s, self.turned)
        soft = "" if form.spread is None else f", {s.error_label} (soft)"
        words = f"The same in space: {s.name} (dark), {s.public} (open circles){soft}."
        return [Turning(words, form.numbers(), joined(s.links, len(s.about)).tolist())]


class SizesAndShapes(Solids):
    records = "sizes-and-shapes of {k} landmarks in {where}"
    unit = "the unit of the records"
    measured = "Procrustes distance in the unit of the records"


class Shapes(Solids):
    """Planar shapes, as the space presents them."""

    records = "planar shapes of {k} landmarks"
    origin = "a regular polygon"
    turned = False


class Outlines(Shapes):
    records = "closed outlines drawn with {k} points"
    measured = "distance between normalised Fourier coefficients"
    origin = "an ellipse half as wide as it is long"

    def meaning(self, s: Subject, error: float) -> str:
        return f"{error / np.sqrt(2):.3g} at a typical point, in halves of the length of the first ellipse"  # Parseval


def over_each_other(
    shapes: Mapping[str, Array],
    links: Links | None,
    tips: Array | None = None,
    grid: Panel | None = None,
    title: str = "",
) -> Scene:
    """Return two shapes by their names, and an arrow for each landmark between them; ``tips`` are ellipsoids about its end."""
    ends = list(shapes.values())
    ring = links is None and ends[0].shape[1] == 2 and looks_like_an_outline(ends[0])
    pairs = joined(range(len(ends[0])) if ring else links, len(ends[0]))

    def marks(side: Array, inches: float) -> list[Mark]:
        first, second = (shape @ side.T for shape in ends)
        marks = [] if len(pairs) else hull(first)
        for role, name, shape in zip(GROUPS, shapes, (first, second), strict=True):
            marks.append(Line(segments(*shape[pairs.T]), role))
            marks.append(Dots(shape, role, name, size=1.5 if ring else 3.5))
        if tips is not None and not ring:
            marks.append(Line(broken(_rings(second, tips, side)), Role.REGION, "95% region for the difference"))
        marks.append(Arrows(first, second))
        return marks if ring or side is ASKEW else marks + numbers(second, first, 9.0, len(pairs) > 0)

    return _arranged(around(ends, 0.07 * float(np.ptp(ends[0], axis=0).max())), marks, grid, title)


def _arranged(limits: tuple[Array, Array], marks: Seen, grid: Panel | None, title: str) -> Scene:
    """Return a panel for each side that is seen: of the plane one, a grid beside or below it; of space four with a box."""
    low, high = limits
    wide, tall, *deep = high - low
    beside = grid is not None and tall > BESIDE * wide
    widths = (wide, max(deep[0], CORNER * wide)) if deep else (wide,)
    inches = WIDTH / float(sum(widths)) / (1 + beside)
    corners = np.array([np.where([i & 1 << j for j in range(len(low))], high, low) for i in range(2 ** len(low))])
    panels = []
    for i, (name, side) in enumerate((SIDES if deep else {"": np.eye(2)}).items()):
        box = corners @ side.T
        frame = [Line(segments(*box[BOX.T]), Role.FRAME)] if deep else []
        ends = around([box], 0.02 * float(wide) * len(deep))
        across, up = inches * (ends[1] - ends[0])
        column = inches * float(widths[i % len(widths)])
        size = (column, float(np.clip(up * min(1.0, column / across), 1.2, 6.0)))
        panels.append(Panel([*frame, *marks(side, inches)], *ends, ": ".join(filter(None, [title, name])), size))
    panels += [] if grid is None else [replace(grid, size=panels[0].size)]
    columns = 2 if deep or beside else 1
    return Scene([panels[i : i + columns] for i in range(0, len(panels), columns)])


def numbers(at: Array, other: Array, away: float, lines: bool) -> list[Mark]:
    """Return each landmark's number, so many points of print outside both its places; of many some, or none beside lines."""
    if lines and len(at) > MOST_NUMBERS:
        return []
    middle = other.mean(axis=0)
    step = next(step for step in (1, 2, 5, 10, 20, 50, len(at)) if len(at) / step <= MOST_NUMBERS)
    marks: list[Mark] = []
    for i in range(step - 1, len(at), step):
        out = max(at[i], other[i], key=lambda end: float(np.linalg.norm(end - middle)))
        x, y = (away * (out - middle) / max(float(np.linalg.norm(out - middle)), 1e-300)).tolist()
        marks.append(Words(out, str(i + 1), move=(x, y)))
    return marks


def bent(first: Array, second: Array, links: Links | None, role: Role, title: str) -> Panel:
    """Return a square grid about the first shape, bent to the second, on which both stand."""
    margin = 0.08 * float(np.ptp([first, second], axis=(0, 1)).max())
    lines = bent_grid(first, second, *around([first, second], margin))
    ring = links is None and looks_like_an_outline(first)
    pairs = joined(range(len(first)) if ring else links, len(first))
    marks: list[Mark] = [Line(broken(lines), Role.FRAME)]
    marks += [Line(segments(first, second), role), Line(segments(*second[pairs.T]), role)]
    marks += [Dots(first, Role.CENTRE, size=2.4), Dots(second, role, size=2.0 if len(second) > 30 else 3.5)]
    return Panel(marks, *around([first, second, *lines], 0.02 * margin), title)


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


def _rings(at: Array, spread: Array, side: Array) -> list[Array]:
    """Return points round the ellipse about each landmark."""
    return list(at[:, None] + CIRCLE[::5] @ np.swapaxes(_roots(spread, side), 1, 2))


def _turned(s: Subject, reference: Array) -> Array:
    """Return the released landmarks turned to the reference, and of its size if shapes have none."""
    if s.geodesic:
        return s.space.present(s.space.align(s.base, s.point))
    return np.asarray(s.about @ rotations(reference, s.about[None])[0].T)


def principal(center: Array) -> Array:
    """Return the principal axes of landmarks as columns, the longest first, a rotation; the first landmark of those that lie
    farthest out along an axis is on its positive side, but for the last axis."""
    axes = np.linalg.svd(center, full_matrices=False)[2].T
    along = center @ axes
    far = np.abs(along) >= np.abs(along).max(axis=0) - NEAR * np.linalg.norm(center)
    first = along[np.argmax(far, axis=0), np.arange(len(axes))]
    axes = axes * np.where(first < 0, -1.0, 1.0)
    axes[:, -1] *= np.sign(np.linalg.det(axes))
    return np.asarray(axes)
