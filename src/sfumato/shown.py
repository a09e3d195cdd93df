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

    plot: Callable[..., Figure]  # the picture of a result, written if a file is named
    html: Callable[..., str]  # a result as a notebook shows it
    scene: Callable[..., Any]  # the panels of the picture, before anything draws them
    in_words: Callable[..., str]  # what the picture shows, for those who do not see it
    in_short: Callable[..., list[str]]  # the sentences that every front begins with
    describe: Callable[..., str]  # a result in plain words
    page: Callable[..., Any]  # what a page about a result says


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
        the channels of matrices, the parts of compositions or coordinates, which no record holds; a ``title`` stands above; a
        release also takes the probability ``p`` of the error that is drawn.
        """
        return self.view.plot(self, path, **how)

    def describe(self) -> str:
        """Return the result in plain words, for a data-sharing agreement."""
        return self.view.describe(self)

    def _repr_html_(self) -> str:
        """Return what notebooks show: all of it is public."""
        return self.view.html(self)

    @property
    def view(self) -> View:
        """The module that shows it."""
        return _loaders[0](self.shown_by)
