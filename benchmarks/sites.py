"""``python -m benchmarks.sites``: one release by 3 to 200 sites; ``law``: the noise of their parts; ``picture``: how it goes.

Sites have unequal numbers of records.  Errors are those of the sum of all parts over one curator's noise, root mean squares
over draws by the function that sites draw with; times and sizes are of one study from keys to release, with ledgers on disk.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats

import sfumato as sf
from sfumato.findings.sites import Part, Study
from sfumato.laws.sampling.divided import GRID, Divided
from sfumato.mechanisms.base import radial_noise
from sfumato.numerics.arrays import Array

DRAWS = 400
LAW = 100_000
DOCS = Path(__file__).parents[1] / "docs"


def error(p: int, m: int, trusted: int, rng: np.random.Generator) -> float:
    """Return the root mean square of what m sites add to a sum, over that of one curator's noise of the same scale."""
    noise = Divided(p, 2.0, trusted, m)
    middle = m * (noise.dither - 1) / 2
    total = np.array([[sum(x) for x in zip(*(noise.part(rng) for _ in range(m)), strict=True)] for _ in range(DRAWS)])
    lengths = np.linalg.norm((total.astype(np.float64) - middle) / 2.0**GRID, axis=1)
    return float(np.sqrt(np.mean(lengths**2) / (p * (p + 1) * noise.scale**2)))


def whole_study(p: int, m: int, trusted: int, rng: np.random.Generator) -> tuple[float, float, float, str]:
    """Return kilobytes of a part, milliseconds at a site and of adding up, and what is said if the last site drops out."""
    sizes = np.maximum(20, rng.lognormal(np.log(200), 0.8, m)).astype(int).tolist()
    region = sf.Ball(sf.Euclidean(dim=p), np.zeros(p), radius=1.0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keys = [sf.SiteKey.create(folder / f"{i}.key", f"site {i}") for i in range(m)]
        budgets = [sf.Ledger.create(folder / f"{i}.ledger", epsilon=2) for i in range(m)]
        records = [rng.normal(0.1, 0.3 / np.sqrt(p), (n, p)) for n in sizes]

        def contributed(study: Study, i: int) -> float:
            start = perf_counter()
            out = str(folder / f"{i}.part")
            study.contribute(records[i], str(folder / f"{i}.key"), budgets[i], out, agreed=study.code)
            return perf_counter() - start

        study = Study.of(region, dict(zip(keys, sizes, strict=True)), trusted, 1.0, allow_useless=True)
        times = [contributed(study, i) for i in range(m)]
        parts = [Part.load(folder / f"{i}.part") for i in range(m)]
        size = np.mean([(folder / f"{i}.part").stat().st_size for i in range(m)]) / 1000
        start = perf_counter()
        study.combine(parts)
        added = perf_counter() - start
        try:
            study.combine(parts[:-1])
            raise SystemExit("a sum without one part was read")
        except sf.Refusal as refusal:
            said = str(refusal)
        rest = dict(zip(keys[:-1], sizes[:-1], strict=True))
        second = Study.of(region, rest, min(trusted, m - 2), 1.0, allow_useless=True, round=2)
        for i in range(m - 1):
            contributed(second, i)
        second.combine([Part.load(folder / f"{i}.part") for i in range(m - 1)])
        left = {str(budget.left) for budget in budgets[:-1]}
        told = f"{said}. Another round of the others was released; each had paid twice, and had {', '.join(left)} of 2 left"
    return float(size), 1000 * float(np.median(times)), 1000 * added, told


def table() -> None:
    """Print one line for each number of sites, directions and trusted sites."""
    rng = np.random.default_rng(0)
    print(
        "| sites | directions | trusted | error / one curator's | √(sites/trusted) | kB a site | ms a site | ms to add up |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for p in (10, 96):
        for m in (3, 10, 50, 200):
            size, site, added, said = whole_study(p, m, max(1, m // 2), rng)
            for trusted in sorted({1, max(1, m // 2), m - 1}):
                cells = f"{error(p, m, trusted, rng):.2f} | {np.sqrt(m / trusted):.2f} | {size:.1f} | {site:.0f} | {added:.0f}"
                print(f"| {m} | {p} | {trusted} | {cells} |", flush=True)
            print(f"\nA site that drops out: {said}.\n" * (m == 200), end="", flush=True)


def law() -> None:
    """Print p-values of the sums of parts of m sites against one curator's noise, 10^5 draws each, and of a wrong shape."""
    print("| directions | sites | length | a coordinate | length, shape p/2 |")
    print("|---|---|---|---|---|")
    for p in (1, 10, 96):
        for m in (2, 5, 20, 200):
            rng = np.random.Generator(np.random.SFC64([p, m]))
            total, wrong = np.zeros((LAW, p)), np.zeros((LAW, p))
            for _ in range(m):
                total += Divided(p, 1.0, m, m + 1).draws(LAW, rng)
            if m <= 20:
                wrong = sum_of(p, m, rng)
            length = stats.kstest(np.linalg.norm(total, axis=1), stats.gamma(p).cdf).pvalue
            along = stats.ks_2samp(total[:, 0], radial_noise(p, 1.0, LAW, rng)[:, 0]).pvalue
            other = stats.kstest(np.linalg.norm(wrong, axis=1), stats.gamma(p).cdf).pvalue if m <= 20 else np.nan
            print(f"| {p} | {m} | {length:.2g} | {along:.2g} | {other:.1g} |", flush=True)


def sum_of(p: int, m: int, rng: np.random.Generator) -> Array:
    """Return sums of parts with the shape p/2m in the place of (p + 1)/2m."""
    return sum((Divided(p, 1.0, m).draws(LAW, rng, parts=p / (p + 1)) for _ in range(m)), np.zeros((LAW, p)))


def picture() -> None:
    """Draw how three sites make one release, into docs/sites.png."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    figure, axes = plt.subplots(figsize=(9.6, 5.0))
    axes.set(xlim=(0, 96), ylim=(0, 52))
    axes.axis("off")

    def box(x: float, y: float, width: float, height: float, text: str, color: str, edge: str = "#5d4037") -> None:
        style = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.6", facecolor=color, edgecolor=edge)
        axes.add_patch(style)
        axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9.5, color="#1b1b1b")

    def arrow(start: tuple[float, float], end: tuple[float, float]) -> None:
        how: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 13, "color": "#5d4037", "linewidth": 1.3}
        axes.add_patch(FancyArrowPatch(start, end, **how))

    box(2, 20, 15, 12, "study.json\npublic plan,\nkeys, ε, trusted", "#fff3e0")
    for name, y in (("Lisbon", 37), ("Oslo", 20), ("Rome", 3)):
        box(27, y, 31, 12, f"{name}\nsum of clipped records\n+ its part of the noise + masks", "#efebe9")
        arrow((18, 26), (26, y + 6))
        arrow((59, y + 6), (69, 26))
        above = {37: 8.6, 20: 7.4, 3: 1.6}[y]
        axes.text(60.4, y + above, f"{name.lower()}.part", fontsize=8.5, color="#5d4037", ha="left")
    for low in (3, 20):
        axes.plot([42.5, 42.5], [low + 13.0, low + 16.0], ":", color="#5d4037")
        axes.text(43.6, low + 14.5, "masks cancel", fontsize=8.5, va="center", color="#5d4037")
    box(70, 20, 11, 12, "add up:\nmasks are\ngone", "#fff3e0")
    arrow((82, 26), (86, 26))
    box(87, 20, 7.5, 12, "mean\n+ noise", "#ffe0b2")
    axes.text(75.5, 16.6, "anyone", fontsize=8.5, ha="center", color="#5d4037")
    axes.text(42.5, 50.4, "records, keys and ledgers stay at the sites", fontsize=8.5, ha="center", color="#5d4037")
    figure.savefig(DOCS / "sites.png", dpi=150, bbox_inches="tight")


if __name__ == "__main__":
    {"": table, "law": law, "picture": picture}[" ".join(sys.argv[1:])]()
