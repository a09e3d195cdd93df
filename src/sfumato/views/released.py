"""A release, shown: its picture, its words, and both as a notebook shows them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..release import Release
from .page import notebook
from .plots import draw_release, in_words, picture, write_picture
from .subject import Links
from .words import describe, facts

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
    drawn = draw_release(release, title, p, links, channels)
    if path is not None:
        write_picture(drawn, path, in_words(release, p, channels))
    return drawn


def html(release: Release) -> str:
    """Return the picture and the words, as a notebook shows them."""
    paragraphs = [(fact.about, fact.text) for fact in facts(release)]
    return notebook(picture(release), in_words(release), paragraphs)
