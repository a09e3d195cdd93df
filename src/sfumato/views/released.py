"""A release, shown: its picture, its words, and both as a notebook shows them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..release import Release
from .base import Links
from .page import notebook
from .plots import draw_release, in_words, picture, plot_release
from .words import describe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["describe", "html", "plot"]


def plot(
    release: Release,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    p: float = 0.95,
    links: Links | None = None,
    channels: Sequence[str] = (),
) -> Figure:
    """Return the picture of a release with its error, and write it if a file is named."""
    if path is not None:
        plot_release(release, Path(path), title, p, links, channels)
    return draw_release(release, title, p, links, channels)


def html(release: Release) -> str:
    """Return the picture and the words, as a notebook shows them."""
    return notebook(picture(release), in_words(release), describe(release))
