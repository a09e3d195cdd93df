"""The files that show a release: whether they can be written, known before anything is spent, and writing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic import check_writable
from ..errors import Fix, Refusal
from ..files import Dataset, write_points
from ..files.writing import WRITERS
from ..findings import Comparison, Components, Regression, Regressions
from ..findings.regression import LOG_SIZE
from ..release import Release
from ..shown import Shown
from .plots import render, write_picture
from .report import write_report
from .subject import Links

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = (".png", ".svg")
ENDINGS = {"plot": PICTURE, "simulate": PICTURE, "report": (".html", ".md"), "value": (*WRITERS,)}


def check_outputs(outputs: Mapping[str, Path], inputs: list[Path], force: bool = True) -> None:
    """Raise an error unless all outputs, by their wishes, can be written, replace no input and, without ``force``, no file."""
    taken: dict[Path, str | Fix] = {path.resolve(): str(path) for path in inputs}
    for name, first in outputs.items():
        endings = ENDINGS.get(name, (first.suffix.lower(),))
        if not first.name.lower().endswith(endings):
            raise Refusal(Fix(name, str(first)), f": the ending must be {' or '.join(endings)}")
        pictures = [first.with_suffix(".png")] if name == "report" and first.suffix.lower() == ".md" else []
        for path in (first, *pictures):
            wish = Fix(name, str(path))
            if not path.parent.is_dir():
                raise Refusal(f"{path}: there is no folder {path.parent}; make it first")
            if path.exists() and not path.is_file():
                raise Refusal(wish, ": is not a regular file; choose another name")
            if path.resolve() in taken:
                raise Refusal(wish, ": would replace ", taken[path.resolve()], "; choose another name")
            if path.exists() and not force:
                ways = (": exists already; choose another name, or give ", Fix("force", True), " to replace it")
                raise Refusal(wish, *ways)
            check_writable(path, str(path))
            taken[path.resolve()] = wish


def check_comparable(by: str, public: bool) -> None:
    """Raise an error that asks for the word that the groups are public, with the reason, unless it was given."""
    if not public:
        raise Refusal(
            f"is the {by} of every person public knowledge? All groups together cost one epsilon only because nobody changes "
            "groups when a record is replaced, and the sizes of the groups are published as they are. If everybody may know "
            f"the {by} of every person, give ",
            Fix("labels_are_public", True),
            ". If it is private (a diagnosis, say), do not compare by it",
        )


def loaded(record: Path) -> Any:
    """Return the result that a record holds."""
    with record.open("rb") as file:
        start = file.read(60)  # where a document says what it is
    kinds = (Comparison, Regression, Regressions, Components)
    return next((kind for kind in kinds if kind.format.encode() in start), Release).load(record)


def values_in(record: Path, at: float | None = None) -> Dataset:
    """Return the value that a record holds, of groups each of them, of a regression the mean at a value."""
    done = loaded(record)
    every = getattr(done, "groups", {"": done})
    first = next(iter(every.values()))
    if isinstance(first, Components) or isinstance(first, Regression) == (at is None):
        ways: dict[type, str] = {Regression: "so say at which value of its covariate the mean is wanted"}
        ways[Components] = "which has no mean; 'sfumato synthesize' makes specimens from it"
        raise ValueError(f"{record}: holds a {done.noun}, {ways.get(type(first), 'where nothing is at a value')}")
    place = np.log(at) if at and at > 0 and first.covariate == LOG_SIZE else at
    points = np.stack([one.value if at is None else one.at(place) for one in every.values()])
    space = first.space.known
    labels = {"ID": np.array([*every])} if len(every) > 1 else {}
    return Dataset(points, "arrays" if space is None else space.kind, labels=labels)


@dataclass
class Outputs:
    """A result with the lines and names of its pictures: one figure for all files that show it."""

    done: Shown
    links: Links | None = None
    channels: Sequence[str] = ()

    @cached_property
    def figure(self) -> Figure:
        return self.done.plot(links=self.links, channels=self.channels)

    @cached_property
    def words(self) -> str:
        return self.done.view.in_words(self.done, self.channels)

    @property
    def short(self) -> list[str]:
        """The sentences that every front begins with."""
        return self.done.view.in_short(self.done)

    def write(self, what: str, path: Path) -> None:
        """Write the "plot", the "report" or the "value" alone."""
        if what == "plot":
            write_picture(self.figure, path, self.words)
        elif what == "report":
            write_report(self.done, path, self.links, self.channels, image=render(self.figure, words=self.words))
        elif isinstance(self.done, Release):
            space = self.done.space.known
            write_points(path, self.done.value, "arrays" if space is None else space.kind)

    def write_beside(self, record: Path, outputs: Mapping[str, Path]) -> None:
        """Write outputs by their wishes, once the record is saved: an error says that nothing is to be released again."""
        try:
            for what, path in outputs.items():
                self.write(what, path)
        except (OSError, ValueError) as error:
            made = f"the release is made and is in {record}; do not release again"
            raise ValueError(f"{made}. What failed: {error}") from None
