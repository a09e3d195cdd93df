"""Scenes as the page draws them: panels of plain marks in the units of an SVG, each with the class of its role."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...numerics.arrays import Array
from ...views.scene import Arrows, Cells, Dots, Line, Panel, Role, Scene, Soft, Words, segments

WIDTH = 400.0  # of the widest panel of a row
MOST_TALL = 1.3  # a panel, in widths
TALL = 276.0  # of one whose directions have scales of their own
ROOM = (52.0, 12.0, 22.0, 40.0)  # for numbers: left, right, above, below
LARGER = 1.2  # units of a panel for a point of print
Marks = list[dict[str, Any]]


class Frame:
    """From the units of a panel's marks to those of its SVG: x = a + b·u and y = c + d·v, logarithms where an axis has them."""

    def __init__(self, panel: Panel, width: float) -> None:
        about = panel.scales
        self.logs = [about is not None and about.log_x, about is not None and about.log_y]
        self.left, right, self.top, below = (0.0, 0.0, 0.0, 0.0) if about is None else ROOM
        low = self._units(panel.low)
        high = self._units(panel.high)
        self.right = width - right
        scale = (self.right - self.left) / (high[0] - low[0])
        height = TALL - self.top - below
        if panel.equal:
            scale = min(scale, MOST_TALL * (WIDTH - self.left - right) / abs(high[1] - low[1]))
            height = scale * abs(float(high[1] - low[1]))
        self.bottom = self.top + height
        self.b = scale
        self.a = (self.left + self.right) / 2 - scale * (low[0] + high[0]) / 2
        self.d = -height / (high[1] - low[1])
        self.c = self.bottom - self.d * low[1]
        self.size = [round(width, 2), round(float(self.bottom + below), 2)]

    def _units(self, points: Array) -> Array:
        columns = np.asarray(points, dtype=np.float64).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([np.log10(x) if log else x for x, log in zip(columns, self.logs, strict=True)], axis=-1)

    def __call__(self, points: Array) -> Array:
        """Return points of the plane as places in the panel."""
        u = self._units(points)
        places = np.stack([self.a + self.b * u[..., 0], self.c + self.d * u[..., 1]], axis=-1)
        return np.round(np.clip(places, -1e4, 1e4), 2)


def on_page(scene: Scene) -> dict[str, Any]:
    """Return the panels of a scene as the page takes them; and a legend, each thing once: its name and its kind of marks."""
    names: dict[str, list[str]] = {}
    for mark in (mark for panel in scene.panels for mark in panel.marks):
        if isinstance(mark, Line | Dots | Soft) and mark.label:
            look = "band" if isinstance(mark, Soft) else _class(mark)
            names.setdefault(mark.label, [look, type(mark).__name__.lower()])
    panels = [_panel(panel, row) | {"row": i} for i, row in enumerate(scene.rows) for panel in row]
    return {"panels": panels, "legend": [[label, *look] for label, look in names.items()]}


def _panel(panel: Panel, row: Sequence[Panel]) -> dict[str, Any]:
    """Return a panel as wide beside the others of its row as print has it, with releases above what is public."""
    frame = Frame(panel, WIDTH * panel.size[0] / max(each.size[0] for each in row))
    marks = [] if panel.scales is None else _axes(panel, frame)
    for mark in sorted(panel.marks, key=lambda mark: (isinstance(mark, Words), getattr(mark, "role", "") == Role.DRAW)):
        marks += _cells(mark) if isinstance(mark, Cells) else _mark(mark, frame)
    cells = [mark for mark in panel.marks if isinstance(mark, Cells)]
    title = f"{panel.title} (darkest: ±{cells[0].most:.3g})" if cells else panel.title
    return {"title": title, "size": [WIDTH, WIDTH] if cells else frame.size, "marks": marks}


def _mark(mark: Line | Dots | Soft | Words | Arrows, frame: Frame) -> Marks:
    match mark:
        case Line():
            return [_line(run, _class(mark)) for run in _runs(frame(mark.points))]
        case Dots():
            r = round(LARGER * mark.size / 2, 2)
            inside = [at for at in frame(mark.points).tolist() if _within(at, frame)]
            return [{"t": "dot", "p": at, "c": _class(mark), "r": r} for at in inside]
        case Soft():
            return [{"t": "area", "p": [frame(edge).tolist() for edge in mark.edges], "c": "band"}]
        case Words():
            x, y = frame(mark.at).tolist()
            at = [round(x + LARGER * mark.move[0], 2), round(y - LARGER * mark.move[1], 2)]
            half = 4.4 * len(mark.text)  # words at an edge are not cut
            at[0] = min(max(at[0], half), frame.size[0] - half) if _within(at, frame) else at[0]
            return [_word(at, mark.text, "label middle")] if _within(at, frame) else []
        case Arrows():
            return [_line(run, "tie") for run in _runs(frame(segments(mark.starts, mark.ends)))]


def _class(mark: Line | Dots) -> str:
    variant = f" s{mark.variant % 4}" if isinstance(mark, Line) and mark.role in (Role.DRAW, Role.OTHER) else ""
    washed = " washed" if isinstance(mark, Line) and mark.fill else ""
    return f"{mark.role}{variant}{' faint' if mark.faint else ''}{washed}"


def _within(at: list[float], frame: Frame) -> bool:
    return 0 <= at[0] <= frame.size[0] and 0 <= at[1] <= frame.size[1]


def _runs(points: Array) -> list[list[Any]]:
    """Return the stretches of a line, which rows of NaN end."""
    broken = np.flatnonzero(np.isnan(points).any(axis=1))
    runs = np.split(points, broken)
    return [run[~np.isnan(run).any(axis=1)].tolist() for run in runs if len(run) > 1]


def _line(points: list[Any], name: str) -> dict[str, Any]:
    return {"t": "line", "p": points, "c": name}


def _word(at: list[float], text: str, name: str) -> dict[str, Any]:
    return {"t": "text", "p": at, "s": text, "c": name}


# -- numbers on axes ----------------------------------------------------------------------------------------------------------
def _axes(panel: Panel, frame: Frame) -> Marks:
    """Return lines at round numbers, or at what has a name, and what the axes are."""
    about = panel.scales
    assert about is not None
    across = list(about.ticks) or ticks(panel.low[0], panel.high[0], about.log_x, about.whole)
    names = dict(enumerate(about.names, start=1))
    marks: Marks = []
    for tick in names or across:
        x = float(frame(np.array([tick, panel.low[1]]))[0])
        marks.append(_line([[x, frame.top], [x, frame.bottom]], "frame"))
        marks.append(_word([x, frame.bottom + 16], names.get(int(tick), f"{tick:g}"), "tick middle"))
    for tick in (about.ticks if panel.equal else ()) or ticks(panel.low[1], panel.high[1], about.log_y):
        y = float(frame(np.array([panel.low[0], tick]))[1])
        marks.append(_line([[frame.left, y], [frame.right, y]], "frame"))
        marks.append(_word([frame.left - 6, y + 4], f"{tick:.3g}", "tick end"))
    marks.append(_word([(frame.left + frame.right) / 2, frame.bottom + 33], about.x, "tick middle"))
    return [*marks, _word([4, 13], about.y, "tick")]


def ticks(low: float, high: float, log: bool, whole: bool = False) -> list[float]:
    """Return a handful of round numbers between two.

    >>> ticks(0.03, 12.0, log=True), ticks(-1.0, 4.2, log=False)
    ([0.1, 1.0, 10.0], [0.0, 2.0, 4.0])
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    logs = LogLocator(subs=(1, 2, 5) if high < 1e2 * low else (1,))
    finder = logs if log else MaxNLocator(5, steps=[1, 2, 5, 10], integer=whole)
    return [float(tick) + 0.0 for tick in finder.tick_values(low, high) if low <= tick <= high]


# -- matrices ---------------------------------------------------------------------------------------------------------------
def _cells(mark: Cells) -> Marks:
    """Return a matrix as cells with their numbers to point at, and the names of its rows and columns."""
    k = len(mark.matrix)
    names = [mark.names[i] if mark.names else str(i + 1) for i in range(k)]
    upright = k > 8 and max(map(len, names)) > 2
    edge = 12.0 + 9.0 * max(map(len, names))
    step = (WIDTH - edge - 4) / k
    marks: Marks = []
    for (i, j), value in np.ndenumerate(mark.matrix):
        cell = [round(edge + j * step, 2), round(edge + i * step, 2), round(step, 2), round(step, 2)]
        words = f"{names[i]}, {names[j]}: {value:.4g}"
        marks.append({"t": "cell", "p": cell, "f": round(float(value) / mark.most, 3), "s": words})
    for i in range(0, k, 1 if mark.names or k <= 12 else 2):
        at = edge + (i + 0.5) * step
        marks.append(_word([edge - 6, at + 4], names[i], "tick end"))
        if upright:
            marks.append({**_word([at + 4, edge - 6], names[i], "tick"), "a": -90})
        else:
            marks.append(_word([at, edge - 8], names[i], "tick middle"))
    return marks
