"""``python -m attacks --only published``: mechanisms as the field describes them, re-written small; and the page about them.

Each is written from its description, with one step as one may be tempted to do it, which the proof of privacy does not cover.
No package is attacked here.  ``python -m attacks.published`` writes docs/audit/published.md and its picture from the rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from attacks import broken
from attacks.checks import Case, Found, Row, Settings, by_verdict, kept
from attacks.walks import suspicious
from sfumato.atomic import write_atomically
from sfumato.audit import Pair, audit, neighbours
from sfumato.audit.blackbox import Draw, sampler
from sfumato.audit.features import facing
from sfumato.laws.bounds import bounds_of
from sfumato.means.frechet import solve
from sfumato.mechanisms import ManifoldLaplace
from sfumato.numerics.arrays import Array, Points
from sfumato.records import Records
from sfumato.regions import Ball
from sfumato.spaces import GLOBE

N = 10
SMALL, WIDE = (Ball(GLOBE, GLOBE.origin(), radius) for radius in (np.pi / 8, 1.2))
DELTA = 1e-5  # that of (ε, δ)
SIMULATED = 1000  # pairs of data sets, or draws, behind a simulated number


# -- normal noise and its promises -----------------------------------------------------------------------------------------
def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) of μ-Gaussian differential privacy (Dong, Roth and Su 2022).

    >>> round(gaussian_delta(1.0, 1.0), 4)
    0.1269
    """
    return float(ndtr(-epsilon / mu + mu / 2) - np.exp(epsilon) * ndtr(-epsilon / mu - mu / 2))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The ε that μ-Gaussian differential privacy promises at δ."""
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, 100.0))


def gaussian_noise(center: Points, sigma: float, size: int, rng: np.random.Generator) -> Points:
    """Draws of density ∝ exp(−ρ²/2σ²) on S²: a radius by rejection from its flat law, a uniform direction."""
    radius = np.empty(0)
    while len(radius) < size:
        tried = sigma * np.sqrt(2 * rng.standard_exponential(2 * size))
        accepted = (tried < np.pi) & (rng.random(2 * size) * tried < np.sin(np.minimum(tried, np.pi)))
        radius = np.append(radius, tried[accepted])
    return GLOBE.exp(center, radius[:size, None] * GLOBE.random_directions(center, size, rng))


def mean_of(ball: Ball, data: Array) -> Points:
    return solve(Records(ball.space, ball.clip(data))).point


# -- the mechanisms --------------------------------------------------------------------------------------------------------
@cache
def simulated_sensitivity(ball: Ball, n: int, seed: int = 0) -> float:
    """The farthest that the mean moved in simulated pairs of neighbouring data sets, uniform in the ball."""
    rng, space, moves = np.random.default_rng(seed), ball.space, []
    for _ in range(SIMULATED):
        lengths, directions = ball.radius * np.sqrt(rng.random((n + 1, 1))), rng.standard_normal((n + 1, space.dim))
        tangents = lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        points = space.present(space.exp(ball.center, space.from_coordinates(ball.center, tangents)))
        moves.append(float(space.distance(mean_of(ball, points[:-1]), mean_of(ball, points[1:]))))
    return max(moves)


def by_simulated_sensitivity(data: Array, size: int, rng: np.random.Generator) -> Array:
    """1-Gaussian differential privacy with σ = Δ, Δ the largest move among simulated neighbours."""
    return facing(WIDE, gaussian_noise(mean_of(WIDE, data), simulated_sensitivity(WIDE, len(data)), size, rng))


def simulated_mu(distance: float, sigma: float, rng: np.random.Generator) -> float:
    """μ of normal noise about two points of S² so far apart: δ(ε) from simulated draws on a grid of ε, and the largest of the
    μ that have such a δ."""
    ends = GLOBE.exp(GLOBE.origin(), GLOBE.from_coordinates(GLOBE.origin(), np.array([[0.0, 0.0], [distance, 0.0]])))
    ratios = []
    for end in ends:
        x = gaussian_noise(end, sigma, SIMULATED, rng)
        ratios.append((GLOBE.distance(ends[1], x) ** 2 - GLOBE.distance(ends[0], x) ** 2) / (2 * sigma**2))
    found = [0.0]
    for epsilon in np.linspace(0.0, 3.0, 31):
        delta = float(np.mean(ratios[0] >= epsilon) - np.exp(epsilon) * np.mean(ratios[1] >= epsilon))
        if delta > 1e-9:
            found.append(float(brentq(lambda mu, e=epsilon, d=delta: gaussian_delta(mu, e) - d, 1e-3, 50.0)))
    return max(found)


@cache
def simulated_scale(distance: float, seed: int = 0) -> float:
    """The smallest σ of a grid whose simulated μ is at most 1."""
    rng = np.random.default_rng(seed)
    return next(float(s) for s in distance * np.geomspace(0.7, 2.0, 40) if simulated_mu(distance, float(s), rng) <= 1)


def by_simulated_mu(data: Array, size: int, rng: np.random.Generator) -> Array:
    """1-Gaussian differential privacy with the σ that simulations say is enough for the proven sensitivity."""
    proven = bounds_of(GLOBE).mean_sensitivity(SMALL.radius) / len(data)
    return facing(SMALL, gaussian_noise(mean_of(SMALL, data), simulated_scale(proven), size, rng))


def in_the_datas_ball(data: Array, size: int, rng: np.random.Generator) -> Array:
    """The Laplace in the ball that the data themselves fill: about their mean, as far as the farthest of them."""
    center = mean_of(SMALL, data)
    radius = max(float(GLOBE.distance(center, SMALL.clip(data)).max()), 1e-6)
    return facing(SMALL, GLOBE.validate(ManifoldLaplace(Ball(GLOBE, center, radius), 1.0).sample(data, size, rng)))


def gaussian_sigma(sensitivity: float, epsilon: float, wrong: bool) -> float:
    """σ² = 2·log(1.25/δ)·Δ²/ε² (Dwork and Roth 2014, theorem A.1); wrong: over 2ε, not ε²."""
    return float(sensitivity * np.sqrt(2 * np.log(1.25 / DELTA) / (2 * epsilon if wrong else epsilon**2)))


def tangent_gaussian(
    data: Array, size: int, rng: np.random.Generator, wrong: bool = True, epsilon: float = 0.1
) -> Array:
    """Normal noise on the mean of the logarithms at the public centre."""
    tangents = GLOBE.coordinates(SMALL.center, GLOBE.log(SMALL.center, SMALL.clip(data)))
    sigma = gaussian_sigma(2 * SMALL.radius / len(data), epsilon, wrong)
    noisy = tangents.mean(axis=0) + sigma * rng.standard_normal((size, 2))
    return facing(SMALL, GLOBE.exp(SMALL.center, GLOBE.from_coordinates(SMALL.center, noisy)))


# -- the cases -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Published:
    """A mechanism with what it claims, where it is from and what was done; ``guilty``: the audit must find it so."""

    name: str
    draw: Draw
    ball: Ball
    epsilon: float
    delta: float
    draws: int
    description: str
    guilty: bool = True
    pairs: Callable[[], list[Pair]] = lambda: neighbours(SMALL, N)


ONE = gaussian_epsilon(1.0, 0.01)
ENTRIES = [
    Published(
        "Monte-Carlo μ: a simulated sensitivity", by_simulated_sensitivity, WIDE, ONE, 0.01, 200_000,
        "Normal noise on S², radius 1.2, for μ-Gaussian differential privacy (Jiang and others, NeurIPS 2023, "
        "describe such noise and a simulation for its μ). The sensitivity is the largest move of the mean among 1,000"
        " simulated pairs of neighbouring data sets, as sensitivity samplers take it (Rubinstein and Aldà 2017, who "
        "promise less for it), and μ = Δ/σ = 1. Typical pairs are not the worst: for those the mean moves farther.",
        pairs=lambda: suspicious(by_simulated_sensitivity, WIDE, sizes=(N,), long=()),
    ),
    Published(
        "Markov chain of 50 steps", broken.short_chain(SMALL, 1.0), SMALL, 1.0, 0.0, 200_000,
        "The Laplace on S² (Reimherr, Bharath and Soto 2021), radius π/8, by a Metropolis chain from the mean, "
        "stopped after 50 steps of σ/4 each. The limit of the chain is private; where it is after 50 steps is still "
        "near the mean.",
    ),
    Published(
        "radius from the data", in_the_datas_ball, SMALL, 1.0, 0.0, 200_000,
        "The Laplace on S² in the ball that the data fill: about their mean, as far as the farthest record. Then the "
        "scale of the noise tells of one record. (The experiments of Soto and others, 2022, take the radius so; see "
        "the page on that paper.)",
    ),
    Published(
        "σ² over 2ε, not ε²", tangent_gaussian, SMALL, 0.1, DELTA, 1_500_000,
        "Normal noise on the mean of logarithms at the public centre, (0.1, 10⁻⁵)-differentially private with σ² = "
        "2·log(1.25/δ)·Δ²/ε² (Dwork and Roth 2014). With 2ε in the place of ε², two formulas mixed, σ is 4.5 times "
        "too small at ε = 0.1; above ε = 2 it would be too large.",
        pairs=lambda: neighbours(SMALL, 100),
    ),
    Published(
        "beside them: μ simulated at the proven sensitivity", by_simulated_mu, SMALL, ONE, 0.01, 200_000,
        "The same normal noise, radius π/8, with the proven sensitivity; μ is the largest over a grid of ε of what "
        "1,000 draws say, and σ the smallest of a grid for which it is at most 1. The largest of noisy numbers is too"
        " large on average, so this errs on the safe side here. It is not proven: another seed may give less noise "
        "than it claims.",
        guilty=False,
    ),
    Published(
        "beside them: σ² over ε²", partial(tangent_gaussian, wrong=False), SMALL, 0.1, DELTA, 200_000,
        "The fourth with the right formula.", guilty=False, pairs=lambda: neighbours(SMALL, 100),
    ),
    Published(
        "beside them: our Laplace, exact draws, public radius", sampler(ManifoldLaplace(SMALL, 1.0)), SMALL, 1.0, 0.0, 200_000,
        "The second and third as this package does it.", guilty=False,
    ),
]  # fmt: skip


def tried(entry: Published, draws: int, seed: int) -> Found:
    verdict = audit(
        entry.draw,
        entry.epsilon,
        entry.pairs(),
        region=entry.ball,
        draws=draws,
        delta=entry.delta,
        seed=seed,
        name=entry.name,
    )
    return by_verdict(verdict)


def cases(settings: Settings) -> list[Case]:
    """The guilty always get all draws."""
    found = []
    for entry in ENTRIES:
        draws = entry.draws if entry.guilty or not settings.quick else 50_000
        found.append(Case(entry.name, partial(tried, entry, draws, settings.seed), entry.guilty))
    return found


# -- the page --------------------------------------------------------------------------------------------------------------
def page(rows: dict[str, Row]) -> str:
    lines = [
        "# Published mechanisms, audited",
        "",
        "Mechanisms as the field describes them, each re-written small (`attacks/published.py`) with one step that is"
        " tempting in practice and that the proof of its privacy does not cover. None of this is a claim about a"
        " package, or about the papers that are named: what is wrong was put in on purpose, to see whether the audit "
        "finds it. Where the same step can be done right, it is done so beside it.",
        "",
        "![Claimed and found ε of each mechanism](published.png)",
        "",
        "| mechanism | claimed | ε is at least | verdict |",
        "| --- | --- | --- | --- |",
    ]
    for entry in ENTRIES:
        row = rows[entry.name]
        claim = f"ε = {entry.epsilon:.3g}" + (f", δ = {entry.delta:g}" if entry.delta else "")
        word = "convicted" if row.numbers["convicted"] else "cleared"
        lines.append(f"| {entry.name} | {claim} | {row.numbers['epsilon_lower']:.3g} | {word} |")
    lines.append(
        "\nEach bound is wrong with a probability of at most 10⁻⁶. That of what is cleared says little: an attack that "
        "finds nothing proves nothing. 1-Gaussian differential privacy is tested as the ε that it promises at δ = 0.01."
    )
    for entry in ENTRIES:
        found = rows[entry.name].numbers
        lines.append(
            f"\n**{entry.name}.** {entry.description}\nData: {found['pair']}. Event: {found['event']}; {found['hits']} "
            f"against {found['misses']} times in {found['draws']} fresh draws from each data set."
        )
    truth, about = gaussian_epsilon(1 / gaussian_sigma(1.0, 0.1, True), DELTA), next(iter(rows.values()))
    lines.append(
        f"\nFor the fourth the truth is a formula, as its noise is normal: at δ = {DELTA:g} its ε is {truth:.2g}. Draws "
        f"alone see a part of that.\n\nMade by `python -m attacks.published` from the rows of `make audit`, code "
        f"`{about.commit}`, seed {about.seed}."
    )
    return "\n".join(lines) + "\n"


def picture(rows: dict[str, Row]) -> bytes:
    """Claimed ε and the bound that was found, on one logarithmic scale."""
    from sfumato.views.figures import QUIET, SHARP, figure
    from sfumato.views.plots import render

    drawn = figure(9.0, 3.6)
    axes = drawn.subplots()
    for at, entry in enumerate(reversed(ENTRIES)):
        bound = max(float(rows[entry.name].numbers["epsilon_lower"]), 0.01)
        axes.plot([entry.epsilon, bound], [at, at], color=SHARP if bound > entry.epsilon else QUIET, lw=2)
        axes.plot([entry.epsilon], [at], "|", color="black", ms=14, label="claimed" if not at else None)
        axes.plot(
            [bound], [at], "o", color=SHARP if bound > entry.epsilon else QUIET, label="at least" if not at else None
        )
    axes.set(xscale="log", yticks=range(len(ENTRIES)), xlabel="ε", xlim=(0.009, 20))
    axes.set_yticklabels([entry.name for entry in reversed(ENTRIES)])
    axes.set_title("Bounds to the right of the claim convict", fontsize=10, color=QUIET)
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return render(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m attacks.published", description="The page, from rows of an audit.")
    parser.add_argument(
        "--rows", type=Path, default=Path("docs/audit"), help="folder of the audit (default: docs/audit)"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/audit"), help="folder of the page (default: docs/audit)")
    options = parser.parse_args()
    rows = {row.name: row for row in kept(options.rows) if row.section == "published" and not row.quick}
    if missing := [entry.name for entry in ENTRIES if entry.name not in rows]:
        parser.error(f"no rows of {', '.join(missing)} in {options.rows}: run python -m attacks --only published first")
    options.out.mkdir(parents=True, exist_ok=True)
    write_atomically(options.out / "published.png", picture(rows))
    write_atomically(options.out / "published.md", page(rows))


if __name__ == "__main__":
    main()
