"""What a view is, and the view of a space that nobody drew: its numbers, and no claim about them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import Fix, Refusal
from .layouts import intervals, two_groups
from .page import Block
from .scene import Scene
from .subject import Subject

BEYOND = 700.0  # of an exponent: what is larger overflows
Rows = tuple[Sequence[str], list[tuple[str, ...]]]  # the header of a table, and its rows


class View:
    """How releases of a space are shown.  This one knows nothing of the space."""

    origin = ""  # what the origin is, where no data can be expected to lie about it
    centers: tuple[str, ...] = ("origin",)  # words for the origin
    records = "points of the space '{name}'"  # what they are: k rows of m numbers, d = k − 1; ``where`` landmarks lie
    not_a_point = "the released value is not a point of this space"  # said of a value off the space, of this ``length``
    entry = "Number"  # what a row of the value's table is called
    columns: Sequence[str] = ("Value",)  # of this table
    nameable = False  # whether the rows of a value are channels, parts or coordinates, which have names
    flat = False  # whether a region for the mean leaves a range to each number that is exact
    bounded = ""  # what an error says: in words with the ``error``, the ``factor`` e^error or its ``degrees``
    measured = ""  # what distances are measured in, where ``meaning`` says it in too many words
    note = ""  # what else there is to say of a picture, in sentences

    def things(self, s: Subject) -> str:
        """Return what the records are."""
        k, m = s.about.reshape(len(s.about), -1).shape
        return self.records.format(name=s.space_of.name, k=k, m=m, d=k - 1, where="space" if m == 3 else "the plane")

    def check_names(self, names: Sequence[str], shape: tuple[int, ...]) -> None:
        """Raise a Refusal where values of this shape have another number of channels, parts or coordinates."""
        count = shape[0] if self.nameable else 0
        if len(names) != count:
            there = f"there are {count} to name" if count else "nothing here has a name of its own"
            given = "1 name" if len(names) == 1 else f"{len(names)} names"
            raise Refusal(Fix("channels", list(names)), f" gives {given}, and {there}")

    def seen(self, s: Subject) -> str:
        """Return what can be seen in the picture, for those who do not see it; "" where the numbers say all."""
        return ""

    def scene(self, s: Subject) -> Scene:
        """Return the picture of a release with its error, or of a centre with points about it: here its numbers alone."""
        return Scene([intervals(s, self.entry.lower(), "value")])

    def pair(self, subjects: Mapping[str, Subject], radius: float) -> Scene:
        """Return two releases by the names of their groups; the region for their difference has this ``radius`` in a chart."""
        return two_groups(subjects, self.entry.lower(), "value", self.flat)

    def more(self, s: Subject) -> list[Block]:
        """Return what a page can show beside the picture."""
        return []

    def meaning(self, s: Subject, error: float) -> str:
        """Return a distance in words that the space understands; empty where it needs none."""
        factor = np.exp(min(error, BEYOND))
        return self.bounded.format(error=error, factor=factor, degrees=np.degrees(min(error, np.pi)))

    def caption(self, s: Subject) -> str:
        """Return what a picture shows, to stand below it."""
        soft = "" if s.error is None else ", and how far off it may be (soft)"
        return f"What was released, beside what was public before (dashed or open){soft}. {self.shown(s)}".strip()

    def shown(self, s: Subject) -> str:
        """Return the note, or what else there is to say of this picture."""
        return self.note

    def table(self, s: Subject) -> Rows:
        """Return the value as header and rows."""
        count = min(len(self.columns), s.about.shape[-1])
        return (self.entry, *self.columns[:count]), numbered(s.about.reshape(-1, count), s.names)


def numbered(rows: Any, names: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Return rows of numbers as text, each after its name or number."""
    first = names or [str(i + 1) for i in range(len(rows))]
    return [(name, *(f"{x:.6g}" for x in row)) for name, row in zip(first, rows, strict=True)]
