"""Specimens made complete and comparable, each by itself from what is public: missing landmarks, and semilandmarks."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import Array
from .splines import SINGULAR, as_came, bending_energy, beside_public, in_units, lay_over, rotations, spanned, spline


def estimate_missing(points: ArrayLike, reference: ArrayLike) -> Any:
    """Return specimens with estimates of their missing landmarks, each from itself and what is public.

    ``points`` are landmarks, (n, k, 2) or (n, k, 3), or one specimen; a landmark of which a coordinate is NaN is missing.  A
    specimen stays as it is if more than half are, or if the others are too few or on a line.  ``reference`` is one public
    shape, or a public sample, whose incomplete specimens are left aside.  No other record has a part in it.  A Dataset comes
    back as one, and records of its releases say that this was done.

    From a sample an estimate is a conditional mean.  Sample and specimen are laid over the public mean shape by the landmarks
    that are there (ordinary Procrustes superimposition).  With means μ and second moment Σ of coordinates that are there (p)
    and missing (q), it is μ_q + Σ_qp·Σ_pp⁻¹·(x_p − μ_p), taken back to where the specimen was.  Two public specimens suffice,
    as Σ = (1 − ρ)·S + ρ·(tr S/d)·I, for their second moment S and the ρ of Chen, Wiesel, Eldar and Hero (2010, "OAS").  From
    one shape it is where the thin-plate spline from its other landmarks takes its own (Bookstein 1989; Gunz et al. 2009).

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> estimate_missing([[0.0, 0.0], [2.0, 0.0], [np.nan, np.nan], [0.0, 2.0]], square).round(12)[2].tolist()
    [2.0, 2.0]
    """
    return estimated(points, reference)[0]


@np.errstate(over="ignore")  # what is infinite then is refused as such
def estimated(points: ArrayLike, reference: ArrayLike) -> tuple[Any, dict[int, str]]:
    """Return the same, and for each specimen that could not be completed the reason."""
    marks, sample, shape = beside_public(points, reference, "estimate_missing")
    x, scale = in_units(marks)
    k, m = shape.shape
    gone = np.any(np.isnan(x), axis=2)
    rows = np.flatnonzero(gone.any(axis=1) & ~np.isinf(x).any(axis=(1, 2)))
    reasons: dict[int, str] = {}
    for pattern in np.unique(gone[rows], axis=0):
        some = rows[(gone[rows] == pattern).all(axis=1)]
        half = 2 * pattern.sum() > k
        why = "more than half" if half else "and the others, or these in the public shape, are too few or on a line"
        firm = np.full(len(some), not half)
        if not half:
            firm = spanned(np.compress(~pattern, x[some], axis=1)) >= m - 1
            firm &= spanned(shape[None, ~pattern]) >= (m if len(sample) == 1 else m - 1)
        lost = f"{pattern.sum()} of its {k} landmarks are missing, {why}"
        reasons |= dict.fromkeys(some[~firm].tolist(), "all its landmarks are missing" if pattern.all() else lost)
        if firm.any():
            marks[np.ix_(some[firm], pattern)] = _estimates(x[some[firm]], sample, shape, ~pattern) * scale[some[firm]]
    return as_came(points, marks, reference, missing="estimated"), reasons


def _estimates(x: Array, sample: Array, shape: Array, there: NDArray[np.bool_]) -> Array:
    """Return the missing landmarks of specimens that have the same ones."""
    if len(sample) == 1:
        return np.asarray(spline(shape[there], shape[~there]) @ np.compress(there, x, axis=1))
    public = lay_over(shape, sample, there)[0]
    laid, back = lay_over(shape, x, there)
    middle = public.mean(axis=0)
    known, sought = ((public - middle)[:, which].reshape(len(sample), -1) for which in (there, ~there))
    off = (laid - middle)[:, there].reshape(len(x), 1, -1) @ _slopes(known, sought)
    return back(middle[~there] + off.reshape(len(x), -1, x.shape[2]))


def _slopes(known: Array, sought: Array) -> Array:
    """Return Σ_pp⁻¹·Σ_pq of n specimens' deviations from their mean."""
    n, p = known.shape
    moment = np.cov(np.concatenate([known, sought], axis=1), rowvar=False, bias=True)
    d = len(moment)
    mean = float(np.trace(moment)) / d
    square = float(np.sum(moment**2))
    spread = max((n + 1 - 2 / d) * (square - d * mean**2), 1e-300)
    share = min(1.0, ((1 - 2 / d) * square + (d * mean) ** 2) / spread)
    pooled = (1 - share) * moment + (share * mean or 1.0) * np.eye(d)  # for specimens that are all the same, their mean
    return np.asarray(np.linalg.solve(pooled[:p, :p], pooled[:p, p:]))


@np.errstate(over="ignore")
def slide(points: ArrayLike, reference: ArrayLike, sliders: ArrayLike, by: str = "bending", rounds: int = 3) -> Any:
    """Return specimens with their semilandmarks slid along tangents towards a public shape, each by itself.

    ``points`` are landmarks, (n, k, 2) or (n, k, 3), one specimen, or a Dataset, which comes back as one, and records of its
    releases say that this was done.  Those with NaN or an infinite value stay as they are.
    ``reference`` is one public shape, or a public sample, whose mean shape is taken.  ``sliders`` are rows of three landmarks,
    counted from 1: the one before, the semilandmark, the one after; a tangent is the direction from the first to the last.

    By "bending", landmarks Y go to Y + U·T, where they bend the public shape least: T = −(UᵀBU)⁻¹·UᵀB·Y for the tangents U
    and the bending energy B of the thin-plate spline from that shape (Bookstein 1997; Gunz, Mitteroecker and Bookstein 2005).
    By "distance", each goes to the foot of the perpendicular from its place in the public shape, laid over the specimen by
    ordinary Procrustes superimposition.  Each of the ``rounds`` takes new tangents, as in geomorph's gpagen; but the reference
    stays, and the rounds are settled beforehand: no other record has a part in it.

    >>> shape = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    >>> slide(shape + [[0, 0], [0.5, 0], [0, 0], [0, 0], [0, 0]], shape, [(1, 2, 3)]).round(9)[1].tolist()
    [1.0, 0.0]
    """
    if by not in ("bending", "distance"):
        raise ValueError(f"semilandmarks slide by 'bending' or by 'distance', not by {by!r}")
    marks, _, shape = beside_public(points, reference, "slide")
    before, on, after = _triples(sliders, len(shape))
    energy = bending_energy(shape)[on]
    good = np.flatnonzero(np.isfinite(marks).all(axis=(1, 2)))
    x, scale = in_units(marks[good])
    x, back = lay_over(shape, x)
    for _ in range(rounds):
        chords = x.take(after, axis=1) - x.take(before, axis=1)
        length = np.linalg.norm(chords, axis=2, keepdims=True)
        tangents = np.where(length > SINGULAR, chords / np.maximum(length, SINGULAR), 0.0)
        away = energy @ x if by == "bending" else (x - shape @ rotations(shape, x)).take(on, axis=1)
        far = np.add.reduce(tangents * away, axis=2)[..., None]
        if by == "bending":
            stiff = energy[:, on] * (tangents @ tangents.mT)
            far = np.linalg.pinv(stiff, rcond=SINGULAR, hermitian=True) @ far
        x[:, on] -= far * tangents
    marks[np.ix_(good, on)] = (back(x) * scale)[:, on]
    rows = (np.stack([before, on, after], axis=1) + 1).tolist()
    return as_came(points, marks, reference, slid=by, sliders=rows)


def _triples(sliders: ArrayLike, k: int) -> NDArray[np.intp]:
    """Return the landmarks before, on and after, from 0: three rows."""
    table = np.asarray(sliders, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 3:
        raise ValueError(f"sliders are rows of three landmarks alone: before, slide, after; not an array {table.shape}")
    for row in table.tolist():
        odd = sorted(set(row) - set(range(1, k + 1)))
        words = f"there is no landmark {odd[0]:g}, but 1 to {k}" if odd else f"landmark {row[1]:g} slides twice"
        twice = len(set(row)) < 3
        if odd or twice or np.sum(table[:, 1] == row[1]) > 1:
            words = "a landmark stands twice in a row" if twice else words
            raise ValueError(f"the slider {', '.join(f'{number:g}' for number in row)}: {words}")
    return table.T.astype(np.intp) - 1
