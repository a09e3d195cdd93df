"""Results that draw and describe themselves, without any room below the views importing them; and bars for what takes long."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class View(Protocol):
    """A module of the views, for one kind of results."""

    def plot(self, result: Any, path: str | os.PathLike[str] | None, **how: Any) -> Figure:
        """Return the picture of a result, and write it if a file is named."""

    def describe(self, result: Any) -> str:
        """Return a result in plain words."""

    def html(self, result: Any) -> str:
        """Return a result as a notebook shows it."""


@contextmanager
def at_work(words: str) -> Iterator[Callable[..., None]]:
    """Show a bar while this lasts, if standard error is a terminal; what is yielded changes its words, and says parts done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *said, **parts: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=None)
        yield lambda words, done=0, parts=None: bar.update(task, description=words, completed=done, total=parts)


_loaders: list[Callable[[str], View]] = []


def wire(load: Callable[[str], View]) -> None:
    """Say how a module of the views is loaded by its name: done once, by the package itself."""
    _loaders[:] = [load]


class Shown:
    """A result that is shown by the module ``shown_by`` of the views."""

    shown_by: ClassVar[str]

    def plot(self, path: str | os.PathLike[str] | None = None, **how: Any) -> Figure:
        """Return the picture as a Matplotlib figure; write it as PNG or SVG if a path is given.

        ``links`` are landmarks (from 0) in the order of a closed line, or pairs of them that lines join; ``channels`` names for
        the channels of matrices, the parts of compositions or coordinates, which no record holds; a release also takes a
        ``title`` and the probability ``p`` of the error that is drawn.
        """
        return _loaders[0](self.shown_by).plot(self, path, **how)

    def describe(self) -> str:
        """Return the result in plain words, for a data-sharing agreement."""
        return _loaders[0](self.shown_by).describe(self)

    def _repr_html_(self) -> str:
        """Return what notebooks show: all of it is public."""
        return _loaders[0](self.shown_by).html(self)
