"""Numbers that stand for missing values, which files seldom declare; and what else a curator should hear of a data set."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix
from ..numerics.arrays import Array
from ..spaces import Shapes
from ..spaces.base import Space, named_entry
from .base import Choice, Dataset, measured

_NINES = [float(f"{whole}{part}") for whole in (99, 999, 9999, 99999, 999999) for part in ("", ".9", ".99")]
CODES = [*(-nine for nine in _NINES), *(nine for nine in _NINES if nine > 100), -999.25, -(2.0**15), -(2.0**31)]
ENOUGH = 8  # other numbers, before one can stand apart from them
CODE = "many programs write this for a missing value: "


def codes(missing: Any) -> tuple[tuple[float, ...] | None, tuple[str, ...]]:
    """Return what ``missing`` says, as numbers, none of them for "none" and None if nothing is said; and its other words.

    >>> codes(-999), codes("-9, 9999, estimate"), codes("none"), codes(None)
    (((-999.0,), ()), ((-9.0, 9999.0), ('estimate',)), ((), ()), (None, ()))
    """
    several = missing.split(",") if isinstance(missing, str) else missing
    several = several if isinstance(several, Sequence) else [several]
    parts = [str(one).strip() for one in several if one is not None]
    words = tuple(word for word in ("estimate", "negative") if word in parts)
    try:
        numbers = tuple(float(one) for one in parts if one not in words and one.lower() != "none")
    except ValueError:
        known = "a number that stands for missing values, 'none', 'estimate' or 'negative'"
        raise ValueError(f"missing must be {known}, not {missing!r}") from None
    return numbers if len(parts) > len(words) else None, words


def with_gaps(points: Array, choice: Choice) -> Array:
    """Return landmarks, (n, k, dim), with NaN for those of which a coordinate is missing, or negative if that is said; and,
    where they are to be estimated, for those that are a code, as (−1, −1), or likely hold one by the specimen alone."""
    gone = np.any(np.isnan(points), axis=2)
    if "negative" in choice.gaps:
        gone |= np.any(points < 0, axis=2)
    if "estimate" in choice.gaps and choice.missing is None:
        coded = np.isin(points, [-1.0, *CODES])
        gone |= np.all(coded & (points == points[..., :1]), axis=2)
        for row in np.flatnonzero(coded.any(axis=(1, 2))):
            gone[row] |= doubtful(points[row].reshape(1, -1), points.shape[2]).reshape(points.shape[1:]).any(axis=1)
    return np.where(gone[..., None], np.nan, points) if choice.gaps else points


def suspects(data: Dataset, certain: bool = True) -> list[tuple[str, float]]:
    """Return where numbers stand that are likely codes for missing values and hardly data, and these numbers; with
    ``certain=False`` those that may be either."""
    dim = data.points.shape[-1] if data.kind == "landmarks" else 0
    places = []
    for row, entry in np.argwhere(doubtful(data.points.reshape(len(data), -1), dim, certain)).tolist():
        value = float(data.points[row].flat[entry])
        index = tuple(int(i) for i in np.unravel_index(entry, data.points.shape[1:]))
        whole = dim > 0 and len(set(data.points[row, index[0]].tolist())) == 1
        name = named_entry(index[:1] if whole else index, dim > 0)
        if len(data.names) == data.points[row].size:
            others = data.names[entry + 1 : entry + dim] if whole else ()
            name = f"column {data.names[entry]!r}" + (f", and {', '.join(map(repr, others))}," if others else "")
        places.append((f"{data.where(row)}: {name} is {value:.10g}; {CODE}", value))
    return places


def remedy(value: float, choice: Choice, kind: str = "landmarks") -> list[str | Fix]:
    """Return what a user may say of a number that looks like a code for a missing value, beside what is said already."""
    said = "".join(f"{word}," for word in choice.gaps)
    code = f"{said}{measured(value)}" if said else measured(value)
    say: list[str | Fix] = ["say ", Fix("missing", code), " if it is one"]
    if kind == "landmarks" and not said:
        say += [", or ", Fix("missing", "estimate"), " to have it estimated"]
    return [*say, ", ", Fix("missing", f"{said}none"), " if it was measured"]


def doubtful(flat: Array, dim: int, certain: bool = True) -> NDArray[np.bool_]:
    """Tell which of the numbers (n, m) these are; ``dim`` belong to each landmark, which is marked once if all are the same.

    A code cannot well be data if it lies beyond all other numbers (of the landmarks; of its column) and is there twice, or
    is negative where no other is, or is farther away than they are from each other; so for landmarks (−1, −1).
    """
    axis = None if dim else 0
    coded = np.isin(flat, CODES)
    whole = np.zeros(flat.shape, dtype=bool)
    if dim:
        marks = flat.reshape(len(flat), -1, dim)
        coded |= np.repeat((marks == -1).all(axis=2), dim, axis=1)
        whole = np.repeat((marks == marks[..., :1]).all(axis=2), dim, axis=1)
    if not coded.any():
        return coded
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("ignore")  # a column of nothing but codes
        others = np.where(coded, np.nan, flat)
        low, high = (np.broadcast_to(f(others, axis=axis), flat.shape) for f in (np.nanmin, np.nanmax))
        far = (flat < 2 * low - high) | (flat > 2 * high - low)
    beyond = coded & ((flat < low) | (flat > high)) & (np.isfinite(others).sum(axis=axis) >= ENOUGH)
    apart = (low >= 0) & (flat < 0) | far
    for code in np.unique(flat[coded]):
        apart |= (flat == code) & (np.sum(flat == code, axis=axis) > 1)
    chosen = beyond & apart if certain else beyond & ~apart | coded & ~beyond & whole
    if dim:
        chosen &= ~whole | (np.arange(flat.shape[1]) % dim == 0)
    return np.asarray(chosen)


def mirrored(points: Array) -> list[int]:
    """Return the specimens, the fewer part, that fit the others far better by a mirror image than by a rotation: half the
    angle after Procrustes superimposition on the first (Umeyama 1991).

    >>> some = np.random.default_rng(0).normal(size=(7, 3)) + np.random.default_rng(1).normal(0, 0.1, (5, 7, 3))
    >>> some[0] *= [-1, 1, 1]
    >>> mirrored(some)
    [0]
    """
    k, dim = points.shape[1:]
    if k <= dim:  # the mirror image is a rotation
        return []
    space = Shapes(k, dim)
    canonical, reasons = space.diagnose(points)
    rows = np.setdiff1d(np.arange(len(points)), list(reasons))
    if len(rows) < 3:
        return []
    first = canonical[rows[0]]
    flipped = space.validate(points[rows] * ([-1.0] + [1.0] * (dim - 1)))
    other = space.distance(first, flipped) < space.distance(first, canonical[rows]) / 2
    return [int(row) for row in rows[other if 2 * other.sum() <= len(rows) else ~other]]


def _zeros(data: Dataset) -> list[str]:
    """Return a remark about landmarks at the origin, where no other number is zero or negative."""
    if data.kind != "landmarks":
        return []
    zero = (data.points == 0).all(axis=2)
    some = np.argwhere(zero & ~zero.all(axis=0)).tolist()
    if not some or not (data.points[~zero] > 0).all():
        return []
    row, landmark = some[0]
    more = f", and {len(some) - 1} more are" if some[1:] else ""
    return [
        f"{data.where(row)}: landmark {landmark + 1} is {(0,) * data.points.shape[2]}{more}, where no other number is zero "
        "or negative; what was not found on the specimen is written as NA"
    ]


def remarks(data: Dataset, space: Space, said: bool = False) -> list[str]:
    """Return what the curator should know before a release: doubtful numbers, unless ``said`` what they are, and records
    that will be put right.

    >>> from pathlib import Path
    >>> from sfumato import Sphere
    >>> remarks(Dataset(np.array([[0.6, 0.8001]]), "vectors", "CSV", {}, Path("a")), Sphere(1))
    ['1 of 1 records are not quite of the right length, by up to 8e-05 of it; each is divided by its length']
    """
    lines: list[str] = []
    if not said:
        doubts = suspects(data) + suspects(data, certain=False)
        lines += [f"{words}say whether it is one, or was measured" for words, _ in doubts] + _zeros(data)
    if data.kind == "landmarks" and data.points.shape[2] == 3 and not data.points[..., 2].any():
        lines.append("all z are 0: if the landmarks are planar, leave z out, and they are read as planar ones")
    if data.kind == "landmarks" and not space.parameters().get("reflections"):
        words = "looks like the mirror image of others: was it taken from the other side, or left and right exchanged?"
        lines += [f"{data.where(row)}: {words}" for row in mirrored(data.points)]
    lines += space.corrections(data.points)
    angles = space.to_degrees(data.points) if data.degrees is not None and len(data) >= ENOUGH else None
    if angles is not None and (np.abs(angles) <= (np.pi / 2, np.pi)).all():
        lines.append("all latitudes are within ±1.6 and all longitudes within ±3.2 degrees: are they in radians?")
    return lines
