"""Pictures of releases.  All that is drawn comes from the release: its value, its error and what is public."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic import write_atomically
from ..errors import FileError, Fix, Refusal
from ..release import Release
from ..shown import Shown
from .figures import draw
from .page import escape, notebook
from .subject import Links
from .words import facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_release(
    done: Shown,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    links: Links | None = None,
    channels: Sequence[str] = (),
    **how: float,
) -> Figure:
    """Return the picture of a release with its error, or of another result, as a Matplotlib figure.

    A value that is not a point of its space (see ``on_manifold`` in the record) is drawn as what it is, and the picture says
    so.  The file also says in words what it shows, for those who do not see it.

    Parameters
    ----------
    done : Release, Comparison, Regression, Regressions or Components
        What is drawn.
    path : path, optional
        A file to write, whole or not at all, which ends in .png or .svg; a ValueError is raised for others.
    title : str, optional
        A title above the picture.
    links : sequence of int or of pairs, optional
        Of shapes: the landmarks (from 0) to join by a closed line, or pairs of landmarks to join by lines.  Without it, a
        reference that looks like a closed outline (20 landmarks or more along a curve) is drawn as one.
    channels : sequence of str, optional
        Names of the channels of matrices, of the parts of compositions or of coordinates.  No record holds them: who gives them
        says that they may be seen.
    **how : float
        Of a release ``p``: the probability with which the statistic lies within the error that is drawn, 0.95 unless given.

    Notes
    -----
    The error of a shape is one distance for the whole shape.  Each landmark gets a disc (an outline, a band) of radius
    error/√k, its share if all k landmarks were off by as much; one can be off by more when others are off by less.  The noise
    of a chart has a shape: there each landmark gets the ellipse that holds it with probability p, taken by itself.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import sfumato as sf
    >>> ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4)
    >>> release = sf.private_mean(np.tile([0.0, 0.0, 1.0], (100, 1)), ball, epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     drawn = plot_release(release, Path(folder) / "mean.svg")
    ...     [file.name for file in Path(folder).iterdir()]
    ['mean.svg']
    """
    drawn = draw(done.view.scene(done, links, channels, **how), title)
    if path is not None:
        write_picture(drawn, path, done.view.in_words(done, channels, **how))
    return drawn


def html(done: Shown) -> str:
    """Return the picture and the words, as a notebook shows them."""
    words = done.view.in_words(done)
    told = [("", line) for line in done.describe().splitlines()]
    if isinstance(done, Release):
        told = [(fact.about, fact.text) for fact in facts(done)]
    return notebook(render(plot_release(done), words=words), words, told)


def write_picture(drawn: Figure, path: str | os.PathLike[str], words: str) -> None:
    """Write a figure, and what it shows in words, as PNG or SVG: whole or not at all."""
    file = Path(path)
    form = file.suffix.lower().removeprefix(".")
    if form not in ("png", "svg"):
        raise ValueError(f"pictures are written as .png or .svg, not {file.suffix or 'without an ending'!r}: {file}")
    write_atomically(file, render(drawn, form, words))


def render(drawn: Figure, form: str = "png", words: str = "") -> bytes:
    """Return a figure as a file that holds the words for those who do not see it: an SVG as title, a PNG as description."""
    buffer = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None, "Description": words or None}
    drawn.savefig(buffer, format=form, dpi=220, metadata=metadata)
    if form != "svg" or not words:
        return buffer.getvalue()
    start, tag, rest = buffer.getvalue().decode().partition("<svg ")
    head, end, body = rest.partition(">")
    said = f'{tag}role="img" aria-labelledby="words" {head}{end}\n <title id="words">{escape(words)}</title>'
    return f"{start}{said}{body}".encode()


def read_links(text: str, k: int) -> Links:
    """Return lines between landmarks as they are typed: pairs counted from 1, a file of them, or ``outline`` for a closed line.

    >>> read_links("1-2, 2-3", 3), read_links("outline", 3)
    ([(0, 1), (1, 2)], [0, 1, 2])
    """
    if text == "outline":
        return list(range(k))
    matches = [re.fullmatch(r"\s*(\d+)\s*[-,;\s]\s*(\d+)\s*", part) for part in _typed(text)]
    pairs = [(int(pair[1]) - 1, int(pair[2]) - 1) for pair in matches if pair]
    if len(pairs) < len(matches) or not pairs or not all(0 <= i < k for pair in pairs for i in pair):
        words = f"write pairs of landmarks from 1 to {k}, as 1-2,2-3; a file with one pair a line; or outline"
        raise Refusal("lines between landmarks, ", Fix("links", text), f": {words}")
    return pairs


def read_names(text: str) -> list[str]:
    """Return names of channels as they are typed: with commas between, a file of one a line, or an .npz file that holds them as
    ``channels`` or ``ch_names``.

    >>> read_names("Fz, Cz,Pz")
    ['Fz', 'Cz', 'Pz']
    """
    file = Path(text)
    if file.suffix.lower() == ".npz":
        with np.load(file, allow_pickle=False) as arrays:
            names = next((arrays[key] for key in ("channels", "ch_names") if key in arrays), None)
        if names is None:
            raise FileError(f"{text}: the file holds neither channels nor ch_names; type the names instead")
        return [str(name) for name in np.ravel(names)]
    return _typed(text)


def _typed(text: str) -> list[str]:
    """Return what is typed with commas between, or stands in a file of one a line."""
    file = Path(text)
    parts = file.read_text(encoding="utf-8").splitlines() if file.is_file() else text.split(",")
    return [part.strip() for part in parts if part.strip()]
