"""``python -m attacks --only published``: mechanisms of the field, re-written small, and the verdicts on them in docs/field.md.

Some are as the authors' code has them.  The others are written from their description, with one step as one may be tempted to
do it, which the proof of privacy does not cover.  No package is attacked here.  ``python -m attacks.published`` writes the
verdicts of the rows into the page, and with ``--tables`` also the tables and figures of ``sfumato reproduce field``.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from attacks import broken
from attacks.accounts import Losses, normal, radial
from attacks.checks import LEAST, Case, Found, Row, Settings, by_verdict, kept
from attacks.joint import components
from attacks.walks import suspicious
from sfumato.atomic import write_atomically
from sfumato.audit import Pair, audit, neighbours
from sfumato.audit.blackbox import Draw, sampler
from sfumato.audit.features import facing
from sfumato.laws.bounds import bounds_of
from sfumato.laws.privacy import GDP, ApproxDP, PureDP
from sfumato.means.frechet import solve
from sfumato.mechanisms import ManifoldLaplace, TangentKNorm
from sfumato.mechanisms.moments import WishartMoment
from sfumato.numerics.arrays import Array, Points
from sfumato.records import Records
from sfumato.regions import Ball
from sfumato.spaces import GLOBE, Euclidean
from sfumato.spaces.spd import SPD
from sfumato.studies.field import gaussian_noise

N = 10
SMALL, WIDE = (Ball(GLOBE, GLOBE.origin(), radius) for radius in (np.pi / 8, 1.2))
MATRICES = Ball(SPD(2), np.eye(2), 1.5)
LINE = Ball(Euclidean(1), [0.0], 1.0)
MOMENTS = Ball(Euclidean(3), np.zeros(3), 1.0)  # vectors in the plane, with a number beside them that is not used
PROMISED = ApproxDP(0.1, 1e-3)  # by Han and others
CHART = TangentKNorm(Ball(SPD(2), np.eye(2), 1.0), PROMISED)
DELTA = 1e-5  # that of (ε, δ)
# μ of their noise, σ² = log(1/δ)/(nε²), for records 2 apart
WEAK = 2 * PROMISED.epsilon / math.sqrt(-math.log(PROMISED.delta))
ENOUGH = float(brentq(lambda mu: GDP(mu).profile(PROMISED.epsilon) - PROMISED.delta, WEAK / 2, WEAK))
SIMULATED = 1000  # pairs of data sets, or draws, behind a simulated number


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
            found.append(float(brentq(lambda mu, e=epsilon, d=delta: GDP(mu).profile(e) - d, 1e-3, 50.0)))
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


GRID = np.linspace(-6.0, 6.0, 6001)  # of the line, far beyond the ball
WIDTH, FLOOR = 0.2, 0.05  # of the kernel; the least density, so that the space is complete


def conformal(data: Array, size: int, rng: np.random.Generator, known: bool = False) -> Array:
    """The Laplace on the line in the metric that a density of the records makes, or a density that is ``known``: where it is
    high, lengths are long.  No mean moves farther in it than 2r/n times the highest density there can be."""
    x = LINE.clip(data)[:, 0]
    highest = 1 / (WIDTH * math.sqrt(2 * math.pi)) + FLOOR
    about = np.linspace(-1.0, 1.0, 21) if known else x
    stretch = np.exp(-(((GRID[:, None] - about) / WIDTH) ** 2) / 2).mean(axis=1) * (highest - FLOOR) + FLOOR
    far = np.concatenate([[0.0], np.cumsum((stretch[1:] + stretch[:-1]) / 2 * np.diff(GRID))])
    center = float(np.interp(x.mean(), GRID, far))
    noisy = center + 2 * LINE.radius / len(x) * highest * rng.laplace(size=size)
    beyond = np.clip(noisy, far[0], far[-1])
    return np.asarray(np.interp(beyond, far, GRID) + (noisy - beyond) / FLOOR)[:, None]


def one_sided(data: Array, size: int, rng: np.random.Generator) -> Array:
    """A second moment plus one Wishart matrix with d + 1 degrees of freedom and the scale 3/(2nε), ε = 1, d = 2: its three
    numbers (Jiang, Xie and Zhang 2016)."""
    x = MOMENTS.clip(data)[:, :2]
    z = math.sqrt(3 / (2 * len(x))) * rng.standard_normal((size, 2, 3))
    noisy = x.T @ x / len(x) + z @ np.swapaxes(z, 1, 2)
    return np.stack([noisy[:, 0, 0], noisy[:, 1, 1], noisy[:, 0, 1]], axis=1)


# -- as the authors' code has them -----------------------------------------------------------------------------------------
def descent(data: Array, size: int, rng: np.random.Generator, mu: float = WEAK) -> Array:
    """DP-RiemOpt (Han and others 2024) where all records are multiples of the identity, from which it starts.

    SPD(2) is the product of the line of these multiples and a plane.  On the plane nothing depends on such records; on the line
    n steps are x ← x + η·(x̄ − x + σg), η = 0.01, g standard normal, σ = 2/(μ√n).
    """
    x = np.zeros(size)
    mean = float(LINE.clip(data).mean())
    for _ in data:
        x = x + 0.01 * (mean - x + 2 / (mu * np.sqrt(len(data))) * rng.standard_normal(size))
    return x[:, None]


def descent_mu(n: int, mu: float = WEAK) -> float:
    """μ of where that descent ends, which is normal: the shift of its mean over its standard deviation.

    >>> round(descent_mu(20) / WEAK, 3), round(descent_mu(300) / WEAK, 3)
    (0.998, 0.775)
    """
    weights = 0.99 ** np.arange(n)
    return float(mu * weights.sum() / np.sqrt(n * (weights**2).sum()))


def reach_of_the_data(data: Array, size: int, rng: np.random.Generator) -> Array:
    """The Laplace on SPD(2) with σ = 4r/(nε), r the largest distance of a record from the identity (Reimherr and others)."""
    reach = max(float(MATRICES.distances(MATRICES.clip(data)).max()), 1e-6)
    return ManifoldLaplace(MATRICES, MATRICES.radius / (2 * reach)).sample(data, size, rng)


def normal_on_sphere(data: Array, size: int, rng: np.random.Generator) -> Array:
    """Normal noise on S² with σ = Δ, Δ as printed, of which a simulation says that μ = 1.118 (Jiang and others 2023)."""
    return facing(SMALL, gaussian_noise(mean_of(SMALL, data), printed_move(), size, rng))


def printed_move() -> float:
    """How far one of N records moves a mean on S² at most, by the formula that is printed: 2r(2 − h)/(nh), h = 2r·cot 2r.

    >>> round(printed_move(), 4)
    0.1215
    """
    h = 2 * SMALL.radius / np.tan(2 * SMALL.radius)
    return float(2 * SMALL.radius * (2 - h) / (N * h))


def exact_mu(distance: float, sigma: float) -> float:
    """μ of normal noise about two points of S² so far apart, by quadrature: the largest of Φ⁻¹(P(A)) − Φ⁻¹(P′(A)) over events A
    that a likelihood ratio exceeds some number.

    >>> round(exact_mu(0.1215, 0.1215), 3)
    0.998
    """
    rho, phi = np.meshgrid(np.linspace(0, min(np.pi, 12 * sigma), 1501)[1:], np.linspace(0, np.pi, 1500), indexing="ij")
    east = np.sin(rho) * np.cos(phi) * np.sin(distance / 2)
    squares = [np.arccos(np.clip(np.cos(rho) * np.cos(distance / 2) + side * east, -1, 1)) ** 2 for side in (1, -1)]
    order = np.argsort((squares[0] - squares[1]).ravel())
    laws = [np.cumsum((np.sin(rho) * np.exp(-square / (2 * sigma**2))).ravel()[order]) for square in squares]
    first, second = (law / law[-1] for law in laws)
    told = (second > 1e-9) & (first < 1 - 1e-9)
    return float(np.max(ndtri(first[told]) - ndtri(second[told])))


def wrapped(data: Array, size: int, rng: np.random.Generator) -> Array:
    """exp(log x̄ + σg) at the identity, σ = 2r/(nμ), μ = 1, on SPD(2), affine-invariant (Jiang and others 2026)."""
    space, at = MATRICES.space, MATRICES.center
    center = space.coordinates(at, space.log(at, mean_of(MATRICES, data)[None]))
    noise = 2 * MATRICES.radius / len(data) * rng.standard_normal((size, space.dim))
    return space.exp(at, space.from_coordinates(at, center + noise))


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
    truth: Callable[[], str] = lambda: ""  # what it has exactly, where a formula or a quadrature tells
    losses: Losses | None = None  # of such noise that has exactly what is claimed; the power of the test is by these


def gaussian(mu: float, delta: float) -> str:
    """μ-Gaussian differential privacy and its ε at δ, in words.

    >>> gaussian(1.0, 0.01)
    'μ = 1, ε = 2.32'
    """
    return f"μ = {mu:.3g}, ε = {GDP(mu).at(delta).epsilon:.3g}"


def on_the_line() -> list[Pair]:
    """20 records, 19 of them at the identity and one at either end of the line, a radius from it."""
    ends = (np.append(np.zeros(19), end)[:, None] for end in (1.0, -1.0))
    return [Pair("n = 20: others at the identity, one record across the ball", *ends)]


def turned() -> list[Pair]:
    """Ten vectors, nine of them at the origin and one along either axis."""
    ends = (np.append(np.zeros((9, 3)), [end], axis=0) for end in np.eye(3)[:2])
    return [Pair("n = 10: others at the origin, one record turned by a right angle", *ends)]


def mu_of(epsilon: float, delta: float) -> float:
    """μ of normal noise that is exactly (ε, δ)-differentially private."""
    return float(brentq(lambda mu: GDP(mu).profile(epsilon) - delta, 1e-3, 50.0))


ONE = GDP(1.0).at(0.01).epsilon
SIMULATED_MU = 1.118  # of σ = Δ, by the authors' simulation
OF_OTHERS = [
    Published(
        "Han 2024: noise for records 1 apart", descent, LINE, 0.1, 1e-3, 6_000_000,
        "DP-RiemOpt on SPD(2), radius 1, n = 20, with the noise of the authors' code: σ² = log(1/δ)/(nε²) in each of n "
        "steps, for gradients of length 1 at most; the code calls that the diameter. But 1 is the radius of its data, and "
        "records are up to 2 apart; the Laplace that the same file compares with gets noise for 2. The code's starts have "
        "eigenvalues between 1 and 2: seven of ten lie outside a ball of diameter 1 about the identity. Each noise is the "
        "last state of one Metropolis chain of 10,000 steps; here it is drawn exactly. Audited from the identity, where "
        "all records are multiples of it: there the determinant goes its own way and ends as a normal number, so that the "
        "truth is a formula.",
        pairs=on_the_line, truth=lambda: gaussian(descent_mu(20), PROMISED.delta),
    ),
    Published(
        "Han 2024, noise for records 2 apart", partial(descent, mu=ENOUGH), LINE, 0.1, 1e-3, 1_000_000,
        "The same with 1.32 times the noise: all n steps together are then (0.1, 0.001)-differentially private.",
        guilty=False, losses=normal(ENOUGH), pairs=on_the_line, truth=lambda: gaussian(descent_mu(20, ENOUGH), PROMISED.delta),
    ),
    Published(
        "Reimherr 2021: reach of the data", reach_of_the_data, MATRICES, 1.0, 0.0, 200_000,
        "The Laplace on SPD(2), n = 25, with the noise of the authors' code: σ = 4r/(nε), r the largest distance of a "
        "record from the identity. With the public radius 1.5 for r it would be twice what ε = 1 asks for. But r is taken "
        "from the data, and tells of the farthest record.",
        pairs=lambda: neighbours(MATRICES, 25), truth=lambda: "ε = ∞",
    ),
    Published(
        "Jiang 2023: normal noise, simulated μ", normal_on_sphere, SMALL, GDP(SIMULATED_MU).at(0.01).epsilon, 0.01, 200_000,
        "Normal noise on S², radius π/8, n = 10, σ = Δ = 0.1215, of which the authors' code says by simulation that μ = "
        "1.118. It takes the largest of a thousand noisy numbers, which is too large: by quadrature μ is 0.998 for means "
        "that are Δ apart. And means are at most 2·tan(r)/n = 0.083 apart (proofs, Result 2). So this is more private than"
        " it says, by the number in the table; a simulation does not prove that, and says less than is true.",
        guilty=False, truth=lambda: gaussian(exact_mu(2 * np.tan(SMALL.radius) / N, printed_move()), 0.01),
        losses=normal(SIMULATED_MU),
    ),
    Published(
        "Jiang 2026: wrapped normal noise", wrapped, MATRICES, ONE, 0.01, 200_000,
        "Normal noise on the logarithm of the mean at the identity, σ = 2r/(nμ), μ = 1, on SPD(2) with the "
        "affine-invariant metric, r = 1.5, n = 10. It has what it claims: no two logarithms are farther apart than their "
        "points in such a space.",
        guilty=False, pairs=lambda: neighbours(MATRICES, N), truth=lambda: gaussian(1.0, 0.01), losses=normal(1.0),
    ),
    Published(
        "ours: chart at ε = 0.1, δ = 0.001", sampler(CHART), CHART.ball, 0.1, 1e-3, 1_000_000,
        "Ours with the promise of the first, on SPD(2), radius 1, n = 20: the noise of Result 9 of the proofs.",
        guilty=False, pairs=lambda: neighbours(CHART.ball, 20), truth=lambda: f"ε = {PROMISED.epsilon:g}",
        losses=radial(3, PROMISED.noise(3).epsilon),
    ),
]  # fmt: skip
ENTRIES = [
    *OF_OTHERS,
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
        pairs=lambda: neighbours(SMALL, 100), truth=lambda: gaussian(1 / gaussian_sigma(1.0, 0.1, True), DELTA),
    ),
    Published(
        "one-sided Wishart noise", one_sided, MOMENTS, 1.0, 0.0, 200_000,
        "The second moment of vectors of length 1 at most, n = 10, plus a Wishart matrix with d + 1 degrees of freedom and the "
        "scale 3/(2nε) (Jiang, Xie and Zhang, AAAI 2016, as they describe it; d = 2). Where both densities are positive their "
        "ratio is what the proof says. But a Wishart matrix is never negative: what is released is never below the second "
        "moment, and outputs that are not above a neighbour's could not have come from it.",
        pairs=turned, truth=lambda: "ε = ∞",
    ),
    Published(
        "conformal: a metric from the records' density", conformal, LINE, 1.0, 0.0, 200_000,
        "The Laplace in a metric that is multiplied by a factor made of a kernel density estimate of the records (He, Tang, "
        "Rahimian and Joshi, 2025, arXiv 2504.20941, describe such a factor; here on the line, n = 10, lengths in proportion "
        "to the estimate plus 0.05, a kernel of width 0.2, and the largest scale that any such metric asks for). For any one "
        "metric the noise is private. But the metric is of the records, its volume element is part of the density, and a "
        "record that stands alone draws outputs to itself.",
        pairs=lambda: neighbours(LINE, N),
    ),
    Published(
        "beside them: two Wishart matrices, one less the other", partial(components, WishartMoment, wrong=False, epsilon=1.0),
        MOMENTS, 1.0, 0.0, 100_000,
        "The fifth as this package does it (proofs, Result 14): the noise has both signs.",
        guilty=False, pairs=turned, losses=radial(3, 1.0),
    ),
    Published(
        "beside them: the same metric from a public density", partial(conformal, known=True), LINE, 1.0, 0.0, 200_000,
        "The sixth with the density of public points.", guilty=False, pairs=lambda: neighbours(LINE, N), losses=radial(1, 1.0),
    ),
    Published(
        "beside them: μ simulated at the proven sensitivity", by_simulated_mu, SMALL, ONE, 0.01, 200_000,
        "The same normal noise, radius π/8, with the proven sensitivity; μ is the largest over a grid of ε of what "
        "1,000 draws say, and σ the smallest of a grid for which it is at most 1. The largest of noisy numbers is too"
        " large on average, so this errs on the safe side here. It is not proven: another seed may give less noise "
        "than it claims.",
        guilty=False, losses=normal(1.0),
    ),
    Published(
        "beside them: σ² over ε²", partial(tangent_gaussian, wrong=False), SMALL, 0.1, DELTA, 200_000,
        "The fourth with the right formula.", guilty=False, pairs=lambda: neighbours(SMALL, 100),
        truth=lambda: gaussian(1 / gaussian_sigma(1.0, 0.1, False), DELTA), losses=normal(mu_of(0.1, DELTA)),
    ),
    Published(
        "beside them: our Laplace, exact draws, public radius", sampler(ManifoldLaplace(SMALL, 1.0)), SMALL, 1.0, 0.0, 200_000,
        "The second and third as this package does it.", guilty=False, losses=radial(2, 1.0),
    ),
]  # fmt: skip


def tried(entry: Published, draws: int, seed: int) -> Found:
    claim = ApproxDP(entry.epsilon, entry.delta) if entry.delta else PureDP(entry.epsilon)
    verdict = audit(entry.draw, claim, entry.pairs(), region=entry.ball, draws=draws, seed=seed, name=entry.name)
    return by_verdict(verdict, entry.losses)


def cases(settings: Settings) -> list[Case]:
    """The guilty always get all draws."""
    found = []
    for entry in ENTRIES:
        draws = entry.draws if entry.guilty or not settings.quick else 50_000
        found.append(Case(entry.name, partial(tried, entry, draws, settings.seed), entry.guilty))
    return found


# -- the page --------------------------------------------------------------------------------------------------------------
AS_PUBLISHED = "### As the authors' code has them, and what is beside them"
TEMPTING = (
    "### With one tempting step\n\nEach of these is written from a description, with one step that is tempting in practice"
    " and that the proof of its privacy does not cover. None of this is a claim about a package, or about the papers that "
    "are named: what is wrong was put in on purpose, to see whether the audit finds it. Where the step can be done right, "
    "it is done so beside it."
)


def verdicts(rows: dict[str, Row]) -> str:
    """What docs/field.md has of the audit, in Markdown."""
    lines = [
        "![Claimed and found ε of each mechanism](field/published.png)",
        "",
        "| mechanism | claimed | exactly | ε is at least | could have been | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in ENTRIES:
        row = rows[entry.name]
        claim = f"ε = {entry.epsilon:.3g}" + (f", δ = {entry.delta:g}" if entry.delta else "")
        power = row.numbers["power"]
        word = "convicted" if row.numbers["convicted"] else "cleared" if power >= LEAST else "no power"
        could = "" if row.numbers["convicted"] else f"{power * entry.epsilon:.3g}"
        lines.append(f"| {entry.name} | {claim} | {entry.truth()} | {row.numbers['lower']:.3g} | {could} | {word} |")
    for heading, entries in {AS_PUBLISHED: OF_OTHERS, TEMPTING: ENTRIES[len(OF_OTHERS) :]}.items():
        lines.append(f"\n{heading}")
        for entry in entries:
            found = rows[entry.name].numbers
            lines.append(
                f"\n**{entry.name}.** {entry.description}\nData: {found['pair']}. Event: {found['event']}; {found['hits']} "
                f"against {found['misses']} times in {found['draws']} fresh draws from each data set."
            )
    codes = ", ".join(dict.fromkeys(f"`{rows[entry.name].commit}`" for entry in ENTRIES))
    lines.append(f"\nMade by `python -m attacks.published` from the rows of `make audit`, code {codes}.")
    return "\n".join(lines)


def filled(page: str, parts: dict[str, str]) -> str:
    """A page with new text between the marks of each part.

    >>> filled("a <!-- x -->old<!-- end of x --> b", {"x": "new"})
    'a <!-- x -->\\n\\nnew\\n\\n<!-- end of x --> b'
    """
    for name, text in parts.items():
        marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(marks[0])
        _, there, after = rest.partition(marks[1])
        if not there:
            raise ValueError(f"the page has no place for {name}: {marks[0]} and {marks[1]}")
        page = f"{before}{marks[0]}\n\n{text}\n\n{marks[1]}{after}"
    return page


def tables(folder: Path, figures: Path) -> dict[str, str]:
    """The tables of ``sfumato reproduce field`` in a folder, by the names of their figures, which are copied."""
    parts = {}
    _, origin, *sections = re.split(
        r"^## .*\n|(?<=\n)(?=Made by)", (folder / "REPORT.md").read_text(), flags=re.MULTILINE
    )
    for section in sections:
        name = re.search(r"\]\((\w+)\.png\)", section)
        assert name is not None
        write_atomically(figures / f"{name[1]}.png", (folder / f"{name[1]}.png").read_bytes())
        parts[name[1]] = section.strip().replace("](", "](field/")
    return {"origin": origin.strip(), **parts}


def picture(rows: dict[str, Row]) -> bytes:
    """Claimed ε and the bound that was found, on one logarithmic scale."""
    from sfumato.views.figures import QUIET, SHARP, figure
    from sfumato.views.plots import render

    drawn = figure(9.0, 4.6)
    axes = drawn.subplots()
    for at, entry in enumerate(reversed(ENTRIES)):
        bound = max(float(rows[entry.name].numbers["lower"]), 0.01)
        axes.plot([entry.epsilon, bound], [at, at], color=SHARP if bound > entry.epsilon else QUIET, lw=2)
        axes.plot([entry.epsilon], [at], "|", color="black", ms=14, label="claimed" if not at else None)
        axes.plot(
            [bound], [at], "o", color=SHARP if bound > entry.epsilon else QUIET, label="at least" if not at else None
        )
    axes.set(xscale="log", yticks=range(len(ENTRIES)), xlabel="ε", xlim=(0.009, 20))
    axes.set_yticklabels([entry.name for entry in reversed(ENTRIES)])
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return render(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m attacks.published", description="The verdicts and tables of the page."
    )
    add = parser.add_argument
    add("--rows", type=Path, default=Path("docs/audit"), help="folder of the audit (default: docs/audit)")
    add("--page", type=Path, default=Path("docs/field.md"), help="the page to write into (default: docs/field.md)")
    add("--tables", type=Path, help="folder of sfumato reproduce field, whose tables and figures go into the page too")
    options = parser.parse_args()
    rows = {row.name: row for row in kept(options.rows) if row.section == "published" and not row.quick}
    if missing := [entry.name for entry in ENTRIES if entry.name not in rows]:
        parser.error(f"no rows of {', '.join(missing)} in {options.rows}: run python -m attacks --only published first")
    figures = options.page.with_suffix("")
    figures.mkdir(parents=True, exist_ok=True)
    parts = tables(options.tables, figures) if options.tables else {}
    write_atomically(figures / "published.png", picture(rows))
    write_atomically(options.page, filled(options.page.read_text(), {**parts, "verdicts": verdicts(rows)}))
    print(f"Written: {options.page} and its figures")


if __name__ == "__main__":
    main()
