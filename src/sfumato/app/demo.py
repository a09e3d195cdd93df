"""``sfumato demo``: one private mean of real landmarks, with report and picture; and the landmarks, to try commands on.

Both examples come with the package ktch (Apache-2.0); nothing is fetched.  The first are trilobite heads of TriloMorph (Serra
et al. 2023, Scientific Data 10, 841; CC BY 4.0): the right halves of 285 complete heads, with 16 landmarks and 72 points on
four curves each.  20 of them, drawn at random once and for all, play the plates of a textbook and are public; 265 are private.

The second are 127 mosquito wings of 11 genera, with 18 landmarks each.  The first Aedes is the public reference; of
the others every fifth, 26 in all, is declared public, as an earlier study would be, and 100 are private.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import Ellipsoid, Release, private_mean
from ..atomic import write_atomically
from ..numerics.arrays import Array
from ..spaces import space_from

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLATES = 20  # heads that are public
SIZES = (16, 12, 20, 20, 20)  # landmarks of a head, and points of each of its curves
MIDLINE = [0, 1, 2, 3]  # landmarks, from the front to the back
TIMES = 2  # differences between heads are drawn so many times as large
MIRROR = np.array([-1.0, 1.0])
# Lines through landmarks and points of half a head, from the midline outwards; the last does not reach the midline
OUTLINE = [12, *range(48, 68), 14, *range(87, 67, -1), 3]
GLABELLA = [1, *range(16, 28), 6]
FURROW = [2, 5]
SUTURE = [*range(28, 48), 11]
LINKS = [pair for line in (OUTLINE, GLABELLA, FURROW, SUTURE) for pair in pairwise(line)]
SOURCE = "TriloMorph (Serra et al. 2023, Scientific Data 10, 841; CC BY 4.0), from the package ktch"
CAPTION = (
    f"Left: {PLATES} public heads and their mean (blue). Right: the released mean (brown) with its 95% error (soft), over that "
    f"public mean; differences are drawn {TIMES} times as large there. Right halves were released; the left ones are their "
    f"mirror images. Data: {SOURCE}."
)

REFERENCE_ROW = 43
EVERY = 5  # one wing in so many is public
EDGE = range(12)  # landmarks round a wing


def _loaded(name: str) -> Any:
    """Return a data set of ktch."""
    try:
        from ktch import datasets
    except ImportError:
        raise SystemExit("the demo reads its specimens from the package ktch: pip install ktch") from None
    return getattr(datasets, name)()


def heads() -> Array:
    """Return the complete trilobite heads, (285, 88, 2): right halves, the landmarks first, then the points of each curve."""
    data = _loaded("load_landmark_trilobite_cephala")
    curves = np.array([np.concatenate(one) for one in data.curves], dtype=np.float64)
    every = np.concatenate([np.asarray(data.landmarks, dtype=np.float64), curves], axis=1)
    return np.asarray(every[np.isfinite(every).all(axis=(1, 2))])


def plates(data: Array, seed: int = 0) -> tuple[Array, Array]:
    """Return the heads that stay private, and 20 that are public, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(data))
    return data[order[PLATES:]], data[order[:PLATES]]


def wings() -> tuple[Array, Array]:
    """Return all wings but one, and that one: the public reference."""
    coordinates = np.asarray(_loaded("load_landmark_mosquito_wings").coords, dtype=np.float64).reshape(-1, 18, 2)
    return np.delete(coordinates, REFERENCE_ROW, axis=0), coordinates[REFERENCE_ROW]


def shared(data: Array) -> tuple[Array, Array]:
    """Return the 100 wings that stay private, and the 26 that are declared public."""
    public = np.arange(len(data)) % EVERY == 0
    return data[~public], data[public]


def run(out: Path, epsilon: float) -> Release:
    """Release the mean head; write demo.json, demo.html and demo.png, and heads.tps, public.tps and lines.txt."""
    from ..views.plots import write_picture
    from ..views.released import in_words
    from ..views.report import write_report

    private, public = plates(heads())
    region = Ellipsoid.from_sample(space_from("shapes", {"landmarks": sum(SIZES)}), public, relation="same")
    release = private_mean(private, region, epsilon, unit="one trilobite")
    files = {"heads.tps": _tps(private, SIZES), "public.tps": _tps(public, SIZES)}
    _save(out, release, files | {"lines.txt": "".join(f"{i + 1}-{j + 1}\n" for i, j in LINKS)})
    picture = out / "demo.png"
    write_picture(draw_head(release, public), picture, in_words(release))
    write_report(release, out / "demo.html", LINKS, image=picture.read_bytes(), caption=CAPTION)
    return release


def run_wings(out: Path, epsilon: float) -> Release:
    """Release the mean wing; write demo.json, demo.html and demo.png, and wings.tps, public.tps and reference.tps."""
    from ..views.report import write_report

    data, reference = wings()
    private, public = shared(data)
    region = Ellipsoid.from_sample(space_from("shapes", {"landmarks": 18}), public)
    release = private_mean(private, region, epsilon, unit="one mosquito")
    files = {"wings.tps": private, "public.tps": public, "reference.tps": reference[None]}
    _save(out, release, {name: _tps(some, [18]) for name, some in files.items()})
    release.plot(out / "demo.png", links=EDGE)
    write_report(release, out / "demo.html", EDGE)
    return release


def _save(out: Path, release: Release, files: dict[str, str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_atomically(out / name, text)
    release.save(out / "demo.json")


def _tps(specimens: Array, sizes: Sequence[int]) -> str:
    """Return a TPS file of specimens that have so many landmarks, and so many points on each of their curves."""
    titles = [f"LM={sizes[0]}\n", *(f"POINTS={size}\n" for size in sizes[1:])]
    if len(titles) > 1:
        titles[1] = f"CURVES={len(titles) - 1}\n{titles[1]}"
    text = []
    for i, specimen in enumerate(specimens):
        for title, points in zip(titles, np.split(specimen, np.cumsum(sizes)[:-1]), strict=True):
            text += [title, *(f"{x!r} {y!r}\n" for x, y in points.tolist())]
        text.append(f"ID={i}\n")
    return "".join(text)


# -- the picture of a head ----------------------------------------------------------------------------------------------
def draw_head(release: Release, plates: Array) -> Figure:
    """Return a figure of the public heads with their mean, and of the released one over it, all mirrored at their midlines.

    Differences and error are drawn TIMES as large in the second.  At each point its band is as wide as the ellipse that holds
    this point of the mean of the records with probability 95%, taken by itself.
    """
    from ..views.curves import band, sides_of
    from ..views.figures import draw
    from ..views.scene import Line, Mark, Panel, Role, Scene, Soft, around, broken
    from ..views.shapes import Landmarks
    from ..views.subject import Subject

    form = Landmarks(Subject.of(release, 0.95, LINKS), turned=False)
    assert form.spread is not None
    public, _ = _upright(form.reference)
    value, turn = _upright(form.about)
    value = public + TIMES * (value - public)
    spread = TIMES**2 * turn @ form.spread @ turn.T
    spread = np.concatenate([spread, spread * np.outer(MIRROR, MIRROR)])
    lines = _mirrored(len(public))
    whole = _whole(value)
    bands: list[Soft] = []
    for line in lines:
        curve = whole[line]
        normals = sides_of(curve, np.ones(len(curve)), ring=False)[0] - curve
        bands.append(band(curve, np.sqrt(np.einsum("ki,kij,kj->k", normals, spread[line], normals)), False, "")[0])
    edges = [edge for each in bands for edge in each.edges]
    centred = plates - plates.mean(axis=1, keepdims=True)
    every = [_upright(half / np.linalg.norm(half))[0] for half in centred]
    drawn = [broken([_whole(half)[line] for line in lines]) for half in (public, value)]
    many = broken([_whole(half)[lines[0]] for half in every])
    mean = Line(drawn[0], Role.FIRST, "their mean")
    body = Line(_whole(public)[lines[0]], Role.FIRST, fill=True)
    known: list[Mark] = [body, Line(many, Role.FIRST, f"{PLATES} public heads", faint=True), mean]
    marks: list[Mark] = [
        Line(whole[lines[0]], Role.VALUE, fill=True),
        Soft(edges, [core for each in bands for core in each.cores], "95% error of the release"),
        mean,
        Line(drawn[1], Role.VALUE, f"released mean of {release.n} private heads, ε = {release.guarantee.epsilon:g}"),
    ]
    low, high = around([*drawn, *edges, many], 0.01)
    size = (5.0, 5.0 * float((high - low)[1] / (high - low)[0]))
    titles = ("What was public", f"What is released (differences ×{TIMES})")
    panels = [Panel(some, low, high, title, size) for some, title in zip((known, marks), titles, strict=True)]
    return draw(Scene([panels]))


def _whole(half: Array) -> Array:
    """Return half a head, upright, and its mirror image."""
    return np.concatenate([half, MIRROR * half])


def _upright(half: Array) -> tuple[Array, Array]:
    """Return half a head with its midline on the axis x = 0 and its front up, and the rotation that turned it."""
    middle = half[MIDLINE].mean(axis=0)
    x, y = np.linalg.svd(half[MIDLINE] - middle)[2][0]
    turn = np.array([[y, -x], [x, y]])
    turn = turn * np.sign((turn @ (half[MIDLINE[0]] - middle))[1])
    turned = (half - middle) @ turn.T
    return turned - [0.0, turned[:, 1].mean()], turn


def _mirrored(k: int) -> list[list[int]]:
    """Return the lines of a whole head, of which the second half follows the first k points."""
    whole = [[*(i + k for i in reversed(line)), *line] for line in (OUTLINE, GLABELLA, FURROW)]
    whole[0].append(whole[0][0])
    return [*whole, SUTURE, [i + k for i in SUTURE]]
