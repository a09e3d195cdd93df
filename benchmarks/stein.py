"""``python -m benchmarks.stein``: errors after the step of James and Stein over those of the draw itself, at every offset."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy import special, stats

from sfumato.laws.calibration.stein import james_stein

from .cases import Array
from .table import Row, Table

Rule = Callable[[Array, Array, float], Array]
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
OFFSETS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 10.0)  # of the mean, over the rms of the noise
AT_MOST = 1.002  # ratio of quantiles: at 99.9% as much as 10^6 draws can tell
BLOCK = 1 << 21  # numbers in one batch of draws


def axes_of(kind: str, p: int) -> Array:
    """Return p axes, the longest 1.

    >>> axes_of("falling", 4).round(3).tolist(), axes_of("blocks", 4).tolist()
    ([1.0, 0.707, 0.577, 0.5], [1.0, 1.0, 0.1, 0.1])
    """
    j = np.arange(1, p + 1)
    kinds = {
        "ball": np.ones(p),
        "falling": j**-0.5,
        "steep": 1.0 / j,
        "blocks": np.where(j <= p // 2, 1.0, 0.1),
        "one long": np.where(j == 1, 1.0, 0.2),
    }
    return np.asarray(kinds[kind])


def in_ball(p: int, offset: float, rule: Rule = james_stein, radii: int = 1500, angles: int = 300) -> Array:
    """Return rms and quantiles after the step over those of the draw, by quadrature; ``offset`` in rms of the noise.

    The noise has a Gamma(p) radius and a uniform direction, and the step depends on the length of w alone: its factor is
    read from a table of lengths.  Cells are finer in the tails.
    """
    edges, turns = _cells(radii), _cells(angles)
    r = stats.gamma.ppf((edges[1:] + edges[:-1]) / 2, p)[:, None]
    t = 2 * special.betaincinv((p - 1) / 2, (p - 1) / 2, (turns[1:] + turns[:-1]) / 2) - 1
    far = offset * np.sqrt(p * (p + 1))
    along, across = far + r * t, r * np.sqrt(1 - t**2)
    length = np.hypot(along, across)
    table = np.zeros((8000, p))
    table[:, 0] = np.linspace(0.0, length.max(), 8000)
    factor = np.interp(length, table[:, 0], rule(table, np.ones(p), 1.0)[:, 0]) / length
    after = np.hypot(factor * along - far, factor * across).ravel()
    weights = np.outer(np.diff(edges), np.diff(turns)).ravel()
    exact = np.sqrt(p * (p + 1)), *stats.gamma.ppf(LEVELS, p)
    return np.asarray(_summary(after, weights) / exact)


def _cells(number: int) -> Array:
    """Return edges between 0 and 1: even in the middle, of even ratio towards both ends."""
    edges = special.expit(np.linspace(-14, 14, number + 1))
    edges[[0, -1]] = [0.0, 1.0]
    return np.asarray(edges)


def paired(axes: Array, offset: Array, draws: int, rng: np.random.Generator, rule: Rule = james_stein) -> Array:
    """Return the same ratios from paired draws about a mean at ``offset``, in chart coordinates over the noise's scale."""
    before, after = [], []
    p = len(axes)
    for start in range(0, draws, max(1, BLOCK // p)):
        size = min(draws - start, max(1, BLOCK // p))
        noise = rng.standard_normal((size, p))
        noise *= (rng.standard_gamma(p, size) / np.linalg.norm(noise, axis=1))[:, None]
        before.append(np.linalg.norm(axes * noise, axis=1))
        after.append(np.linalg.norm(axes * (rule(offset + noise, axes, 1.0) - offset), axis=1))
    even = np.full(draws, 1 / draws)
    return np.asarray(_summary(np.concatenate(after), even) / _summary(np.concatenate(before), even))


def _summary(values: Array, weights: Array) -> Array:
    """Return the root mean square and the quantiles."""
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2
    return np.append(np.sqrt(weights @ values**2), np.interp(LEVELS, below, values[order]))


def offsets(axes: Array) -> Iterator[Array]:
    """Yield means: along the longest axis, the shortest one, and all at once, at seven distances."""
    p = len(axes)
    noise = np.sqrt((p + 1) * np.sum(axes**2))  # its root mean square length
    first, last, every = np.eye(p)[np.argmax(axes)], np.eye(p)[np.argmin(axes)], np.ones(p)
    for direction in (first, last, every):
        for offset in OFFSETS[::2]:
            yield offset * noise * direction / np.linalg.norm(axes * direction)


def tables(quick: bool) -> Iterator[Table]:
    """Yield the worst ratios over all offsets: balls by quadrature, other axes by paired draws."""
    dimensions = (3, 10) if quick else (3, 4, 5, 6, 8, 12, 20, 40, 96, 200)
    rows = [_row(p, "ball", np.stack([in_ball(p, offset) for offset in OFFSETS])) for p in dimensions]
    yield Table("After the step of James and Stein: balls", "Worst ratio over 13 offsets, by quadrature.", rows)
    rng = np.random.default_rng(20261117)
    rows = []
    for p in (9,) if quick else (5, 9, 20, 96, 200):
        draws = 20_000 if quick else min(10**6, 8_000_000 // p)
        for kind in ("falling", "steep", "blocks", "one long"):
            axes = axes_of(kind, p)
            rows.append(_row(p, kind, np.stack([paired(axes, mean, draws, rng) for mean in offsets(axes)])))
    yield Table("After the step of James and Stein: any axes", "Worst ratio over 21 means, by paired draws.", rows)


def _row(p: int, kind: str, ratios: Array) -> Row:
    worst = ratios.max(axis=0)
    named = {f"{100 * level:g}%": round(float(ratio), 4) for level, ratio in zip(LEVELS, worst[1:], strict=True)}
    met = bool(worst[0] <= 1 + 1e-3 and worst[1:].max() <= AT_MOST)
    return {"p": f"{p}, {kind}", "at the centre": float(ratios[0, 0]), "rms": float(worst[0]), **named, "met": met}


if __name__ == "__main__":
    for table in tables("--quick" in sys.argv):
        print(table.markdown() + "\n", flush=True)
