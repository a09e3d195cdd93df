"""``make referee``: our kinds of privacy against those of dp-accounting and OpenDP, in an environment of their own.

dp-accounting is given the law of a noise's loss, which is written down here anew and not taken from ``sfumato``: with losses
rounded down (no more than the truth) and up (no less).  Exits with 1 if a figure of ours is below the truth, or far from theirs
where both compute the same; and if claims that are wrong on purpose are not found out.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from typing import Any

import numpy as np
import opendp.prelude as dp
from dp_accounting import GaussianDpEvent, NeighboringRelation
from dp_accounting.pld.pld_pmf import DensePLDPmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution, from_gaussian_mechanism
from dp_accounting.rdp import RdpAccountant
from mpmath import besselk
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import beta, gamma

from sfumato.laws.noise import Noise, Parts
from sfumato.laws.privacy import GDP, ZCDP, Facts, PureDP

from .cases import SEED, Array
from .table import Table

STEP = 1e-3  # of the grid that losses are rounded to
FINE = 2e-4  # of that for one noise, as a share of its largest loss
CUT = 1e-15  # the probability that dp-accounting may leave out, or count as an infinite loss, in each composition
DELTA = 1e-6
DELTAS = (1e-3, 1e-6, 1e-10)
DIRECTIONS = (1, 2, 3, 5, 10, 30, 96, 200)
SIZES = (0.1, 0.5, 1.0, 3.0)  # of the shift, in units of the noise
RHOS = (0.001, 0.01, 0.1, 1.0, 10.0)
NODES = np.polynomial.legendre.leggauss(8)
COMPOSITIONS = 200
# with 0.6, REPLACE_ONE doubles the shift in laws of losses, and not in Rényi divergences
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
Case = tuple[float, float, float]  # ours, a lower and an upper bound on the truth


# -- the truth, by dp-accounting -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Law:
    """The law of a privacy loss on a grid: rounded down, and up."""

    down: PrivacyLossDistribution
    up: PrivacyLossDistribution

    @classmethod
    def of(cls, first: int, cells: Array, step: float) -> Law:
        """Return the law with these probabilities in cells, of which the first begins at so many steps."""
        sides = (DensePLDPmf(step, first + up, cells, 0.0, bool(up)) for up in (0, 1))
        return cls(*map(PrivacyLossDistribution, sides))

    def __add__(self, other: Law) -> Law:
        return Law(self.down.compose(other.down, CUT), self.up.compose(other.up, CUT))

    def epsilons(self, delta: float = DELTA) -> tuple[float, float]:
        """Return bounds on the least ε for this δ."""
        return self.down.get_epsilon_for_delta(delta), self.up.get_epsilon_for_delta(delta)

    def deltas(self, epsilon: float) -> tuple[float, float]:
        """Return bounds on δ(ε)."""
        return self.down.get_delta_for_epsilon(epsilon), self.up.get_delta_for_epsilon(epsilon)


def losses(p: int, s: float, edges: Array) -> tuple[Array, Array]:
    """Return, in p ≥ 2 directions, losses s·cos φ between edges and their probabilities: a row for each cell."""
    angles = np.arccos(edges / s)
    half = -np.diff(angles)[:, None] / 2
    angle = angles[1:, None] + half * (1 + NODES[0])
    kappa = 2 * (p - 1) * s * float(besselk(p / 2, s / 2) / besselk(p / 2 - 1, s / 2))
    sine = np.sin(angle)
    found = s * np.cos(angle)
    weights = half * NODES[1] * np.exp((found - s) / 2) * sine ** (p - 2) * (kappa + (s * sine) ** 2)
    return found, weights / weights.sum()


def noise(p: int, s: float, step: float = STEP) -> Law:
    """Return the law of the loss of noise of density ∝ e^(−‖x‖) in p directions, moved by s."""
    first = math.floor(-s / step)
    edges = np.clip(np.arange(first, math.ceil(s / step) + 1) * step, -s, s)
    if p > 1:
        return Law.of(first, losses(p, s, edges)[1].sum(axis=1), step)
    larger = 1 - np.exp((edges - s) / 2) / 2
    larger[0] = 1.0
    larger[-1] = 0.0
    return Law.of(first, -np.diff(larger), step)


def stage(epsilon: float) -> Law:
    """Return the law of the worst mechanism that is ε-private: two losses, ε and −ε."""
    first = math.floor(-epsilon / STEP)
    cells = np.zeros(math.floor(epsilon / STEP) - first + 1)
    cells[0] = 1 / (1 + math.exp(epsilon))
    cells[-1] = 1 - cells[0]
    return Law.of(first, cells, STEP)


def gaussian(mu: float) -> Law:
    """Return the law of the loss of normal noise, moved by μ of its standard deviations."""
    how = {"value_discretization_interval": STEP, "use_connect_dots": False, "neighboring_relation": RELATION}
    return Law(*(from_gaussian_mechanism(1 / mu, pessimistic_estimate=up, **how) for up in (False, True)))


def larger_loss(p: int, s: float, loss: float) -> float:
    """Return the probability of a larger loss, from that given the length r of the noise: by no density of losses."""

    def given(r: float) -> float:
        cosine = (s * s - loss * loss) / (2 * r * s) - loss / s
        return float(gamma.pdf(r, p) * beta.cdf((1 + cosine) / 2, (p - 1) / 2, (p - 1) / 2))

    near = (s - loss) / 2  # shorter noise has a larger loss for certain
    return float(gamma.cdf(near, p)) + float(quad(given, near, near + 10 * p + 40, limit=400, points=(near + p,))[0])


# -- what is compared: each takes by how much a claim is wrong --------------------------------------------------------------
def law_of_loss(more: float) -> Iterable[Case]:
    """Yield the probability of a loss above a number, by its density and by a mixture over the lengths of noise."""
    for p, s, part in product((2, 3, 10, 96), (0.5, 3.0), (-0.2, 0.0, 0.2)):
        found, weights = losses(p, s / more, np.linspace(-s / more, s / more, 4001))
        truth = larger_loss(p, s, part * s)
        yield float(weights[found > part * s].sum()), truth, truth


def rho_by_rdp(more: float) -> Iterable[Case]:
    """Yield ε for a ρ and a δ, by ours and by dp-accounting's Rényi divergences."""
    for rho, delta in product(RHOS, DELTAS):
        accountant = RdpAccountant(1 + np.geomspace(1e-3, 1e5, 20_000), RELATION)
        theirs = accountant.compose(GaussianDpEvent(1 / math.sqrt(2 * rho))).get_epsilon(delta)
        yield ZCDP(rho / more).at(delta).epsilon, theirs, theirs


def measured(measure: Any, number: float) -> Any:
    """Return a measurement of OpenDP that loses a number, in its measure."""
    domain = dp.user_domain("anything", lambda _: True)
    return dp.m.make_user_measurement(domain, dp.hamming_distance(), measure, lambda _: 0, lambda _: number)


def lost(measurement: Any) -> Any:
    """Return what a measurement of OpenDP says that it loses about one record."""
    return measurement.map(1)


def rho_by_opendp(more: float) -> Iterable[Case]:
    """Yield ε for a ρ and a δ, by ours and by OpenDP."""
    for rho, delta in product(RHOS, DELTAS):
        theirs = lost(dp.c.make_zCDP_to_approxDP(measured(dp.zero_concentrated_divergence(), rho))).epsilon(delta)
        yield ZCDP(rho / more).at(delta).epsilon, theirs, theirs


def sums_by_opendp(more: float) -> Iterable[Case]:
    """Yield ρ for an ε, and sums of both, by ours and by OpenDP."""
    for number in (0.1, 1.0, 4.0):
        rho = lost(dp.c.make_pureDP_to_zCDP(measured(dp.max_divergence(), number)))
        yield Noise(number).rho / more, rho, rho
        for kind, measure in ((PureDP, dp.max_divergence()), (ZCDP, dp.zero_concentrated_divergence())):
            both = lost(dp.c.make_composition([measured(measure, number), measured(measure, 0.3)]))
            yield (kind(number / more) + kind(0.3 / more)).numbers[0], both, both


def mu_by_law(more: float) -> Iterable[Case]:
    """Yield ε for a μ and a δ, by ours and by the law of the loss of normal noise."""
    for mu, delta in product((0.1, 0.5, 1.0, 3.0), DELTAS):
        yield GDP(mu / more).at(delta).epsilon, *gaussian(mu).epsilons(delta)


def renyi(more: float) -> Iterable[Case]:
    """Yield ρ of one noise, and the largest of its Rényi divergences, each over its order."""
    orders = 1 + np.geomspace(1e-2, 1e3, 60)
    for p, s in product(DIRECTIONS[1:], SIZES):
        found, weights = (one.ravel() for one in losses(p, s, np.linspace(-s, s, 1001)))
        logs = logsumexp((orders[:, None] - 1) * found + np.log(np.maximum(weights, 1e-300)), axis=1)
        truth = float(np.max(logs / (orders - 1) / orders))
        yield Noise(s, p).rho / more, truth, truth


def _deltas(more: float) -> Iterable[tuple[Noise, float, float, float]]:
    for p, s, part in product(DIRECTIONS, SIZES, (0.0, 0.3, 0.7)):
        low, high = noise(p, s * more, FINE * s).deltas(part * s)
        if low > 1e-12:
            yield Noise(s, p), part * s, low, high


def one_noise(more: float) -> Iterable[Case]:
    """Yield the certified δ of one noise, and the truth."""
    for one, epsilon, low, high in _deltas(more):
        yield one.certified(epsilon), low, high


def mu_of_noise(more: float) -> Iterable[Case]:
    """Yield the δ that the μ of one noise promises, and the truth."""
    for one, epsilon, low, high in _deltas(more):
        yield GDP(one.mu).profile(epsilon), low, high


def stages(more: float) -> Iterable[Case]:
    """Yield ε of a purely private stage and one noise."""
    for p, s, spent in product((2, 10, 96, 200), SIZES, (0.05, 0.4)):
        yield Parts(spent, (Noise(s, p),)).least_epsilon(DELTA), *(noise(p, s * more) + stage(spent)).epsilons()


def repeated(more: float) -> Iterable[Case]:
    """Yield ε of one noise 2, 10 and 40 times, by ρ."""
    for p, s in product((2, 10, 30, 96), (0.1, 0.5, 1.0)):
        law = noise(p, s * more)
        total = law
        for k in range(2, 41):
            total = total + law
            if k in (2, 10, 40):
                yield ZCDP(k * Noise(s, p).rho).at(DELTA).epsilon, *total.epsilons()


def compositions() -> dict[str, list[Case]]:
    """Return ε at δ = 10⁻⁶ of random lists of stages, noises and, in every other, normal noises, by each of our rules."""
    rng = np.random.default_rng(SEED)

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(math.log(low), math.log(high))))

    found: dict[str, list[Case]] = {"Facts": [], "ε": [], "ρ": [], "μ": []}
    for number in range(COMPOSITIONS):
        parts = [Noise(between(0.02, 0.5)) for _ in range(rng.integers(4))]
        count = 1 if number % 4 == 0 else rng.integers(1, 12)  # of one noise the exact formula is used
        parts += [Noise(between(0.1, 3.0), round(between(1, 200))) for _ in range(count)]
        normal = [between(0.02, 0.3) for _ in range(rng.integers(1, 5))] if number % 2 else []
        laws = [noise(one.directions, one.epsilon) if one.directions else stage(one.epsilon) for one in parts]
        laws += map(gaussian, normal)
        truth = sum(laws[1:], laws[0]).epsilons()
        rho = ZCDP(math.fsum([*(one.rho for one in parts), *(mu * mu / 2 for mu in normal)]))
        found["ρ"].append((rho.at(DELTA).epsilon, *truth))
        found["μ"].append((GDP(math.hypot(*(one.mu for one in parts), *normal)).at(DELTA).epsilon, *truth))
        if not normal:
            found["ε"].append((math.fsum(one.epsilon for one in parts), *truth))
            found["Facts"].append((Facts.of(rho, [[one] for one in parts]).approx.epsilon, *truth))
    return found


# -- the table --------------------------------------------------------------------------------------------------------------
def close(ours: Array, low: Array) -> NDArray[np.bool_]:
    """Return where both are the same number."""
    return np.asarray(abs(ours / low - 1) < 1e-5)


def no_less(ours: Array, low: Array) -> NDArray[np.bool_]:
    """Return where ours is no less than a lower bound on the truth."""
    return np.asarray(ours >= low * (1 - 1e-9))


Wanted = Callable[[Array, Array], NDArray[np.bool_]]
CHECKS: dict[str, tuple[Callable[[float], Iterable[Case]], Wanted]] = {
    "law of the loss that is given to dp-accounting, against a mixture over lengths of noise": (law_of_loss, close),
    "ρ to (ε, δ), dp-accounting's Rényi divergences at 20,000 orders": (rho_by_rdp, close),
    "ρ to (ε, δ), OpenDP": (rho_by_opendp, close),
    "ε to ρ, ε + ε and ρ + ρ, OpenDP": (sums_by_opendp, close),
    "μ to (ε, δ), law of the loss of normal noise": (mu_by_law, no_less),
    "ρ = s²/(2p) of one noise, its Rényi divergences at 60 orders, each over its order": (renyi, no_less),
    "δ(ε) of one noise, certified": (one_noise, no_less),
    "δ(ε) of one noise, from its μ": (mu_of_noise, no_less),
    "ε at δ = 10⁻⁶ of a purely private stage and one noise": (stages, no_less),
    "ε at δ = 10⁻⁶ of one noise 2, 10 and 40 times, by ρ": (repeated, no_less),
}
WRONG = {
    "ρ claimed 10% too small": (1 / 0.9, (rho_by_rdp, rho_by_opendp, sums_by_opendp, renyi)),
    "s or μ claimed 5% too small": (1 / 0.95, (law_of_loss, mu_by_law, one_noise, stages)),
}


def row(name: str, cases: Sequence[Case], wanted: Wanted, wrong: bool = False) -> dict[str, object]:
    """Return a row of the table.  Of a wrong claim at least half the cases must be found out, of ours none."""
    ours, low, high = np.array(cases).T
    found = int(np.sum(~wanted(ours, low)))
    shown = {"least": f"{np.min(ours / low):.4f}", "median": f"{np.median(ours / high):.4f}"}
    shown["most"] = f"{np.max(ours / high):.4f}"
    met = found >= len(cases) / 2 if wrong else found == 0
    return {"what": name, "cases": len(cases), **shown, "found wrong": found, "met": met}


def rows() -> Iterable[dict[str, object]]:
    """Yield all comparisons, then claims that are wrong on purpose."""
    for name, (check, wanted) in CHECKS.items():
        yield row(name, list(check(1.0)), wanted)
    for name, cases in compositions().items():
        yield row(f"ε at δ = 10⁻⁶ of {COMPOSITIONS} random compositions, by {name}", cases, no_less)
    for wrong, (more, checks) in WRONG.items():
        for name, (check, wanted) in CHECKS.items():
            if check in checks:
                yield row(f"{wrong}: {name}", list(check(more)), wanted, wrong=True)


def main() -> int:
    """Print the table; return 1 if a row is not as it must be."""
    start = time.perf_counter()
    dp.enable_features("contrib", "honest-but-curious")
    about = " and ".join(f"{name} {version(name)}" for name in ("dp-accounting", "opendp"))
    note = f"sfumato against {about}: ours over a lower bound on the truth (least), over an upper one (median, most)."
    table = Table("Referee", note, list(rows()))
    print(table.markdown())
    print(f"\n{time.perf_counter() - start:.0f} s.  Not met: {', '.join(table.missed()) or 'none'}")
    return 1 if table.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
