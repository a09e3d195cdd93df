"""``python -m attacks --only clock``: what the time of a release tells.

What is promised is the time of the sampler; that of the solver of the mean is not, but small data get the same number of
passes, so whole releases on S² are timed too: of mechanisms, and of everything that is released in charts or in several parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attacks import broken, compound
from attacks.arenas import ball_on
from attacks.checks import Case, Found, Settings, by_verdict
from sfumato.audit import Pair, timing_audit
from sfumato.audit.blackbox import Measure, clocked
from sfumato.audit.exact import target_of
from sfumato.audit.trial import clock_pairs
from sfumato.laws.sampling import secure_generator
from sfumato.mechanisms import KNG, ManifoldLaplace, ManifoldStaircase, Mechanism
from sfumato.mechanisms.manifold import ManifoldMechanism
from sfumato.numerics.arrays import Array

EPSILON = 1.0
WHOLE = 1000  # releases of each data set: with fewer nothing could be proven
ON = ("sphere", "shapes", "euclidean", "axes", "rotations", "hyperbolic", "spd")


def sampler_alone(mechanism: ManifoldMechanism, pair: Pair) -> Measure:
    """The times of draws on the lattice, of two data sets whose means are known."""
    plan = mechanism.at(len(pair))
    targets = {data.tobytes(): target_of(mechanism, data) for data in (pair.first, pair.second)}

    def draw(data: Array) -> object:
        return plan.rounded(targets[data.tobytes()], secure_generator())

    return clocked(draw)


def timed(
    measure: Callable[[ManifoldMechanism, Pair], Measure | Mechanism],
    mechanism: ManifoldMechanism,
    pair: Pair,
    releases: int,
    seed: int,
) -> Found:
    epsilon = mechanism.privacy.pure
    return by_verdict(timing_audit(measure(mechanism, pair), pair, epsilon, releases=releases, seed=seed))


def timed_whole(make: compound.Make, pair: Pair, releases: int, seed: int) -> Found:
    return by_verdict(timing_audit(clocked(make), pair, compound.EPSILON, releases=releases, seed=seed))


def _told(make: compound.Make, pair: Pair) -> compound.Make:
    """A release that does something twice for a record that is far away."""
    far = pair.second[-1]
    return lambda data: [make(data) for _ in range(2 if np.array_equal(data[-1], far) else 1)]


def whole(mechanism: ManifoldMechanism, pair: Pair) -> Mechanism:
    return mechanism


def stopping(mechanism: ManifoldMechanism, pair: Pair) -> Measure:
    return clocked(broken.stopping_at_first(mechanism))


def cases(settings: Settings) -> list[Case]:
    """Samplers on every kind of space that they are for, whole releases on S², and KNG's draws when they stop at the first
    acceptance: with two records the noise is as wide as the ball, and the share that is accepted depends on the data the most.
    (Of the exponential mechanism it hardly does.)"""
    releases, seed = 1000 if settings.quick else 2000, settings.seed
    sphere = ball_on("sphere")
    ours: list[tuple[str, ManifoldMechanism, Pair]] = [
        ("release", mechanism, pair)
        for mechanism, n in (
            (KNG(sphere, EPSILON / 2), 2),
            (KNG(sphere, EPSILON), 20),
            (ManifoldLaplace(sphere, EPSILON), 20),
        )
        for pair in clock_pairs(sphere, n)
    ]
    for name in ON:
        for kind in (KNG, ManifoldLaplace, ManifoldStaircase):
            if not (settings.quick and name != "sphere"):
                ours += [("sampler", kind(ball_on(name), EPSILON), clock_pairs(ball_on(name), 20)[0])]
    found = []
    for what, mechanism, pair in ours:
        run = partial(timed, whole if what == "release" else sampler_alone, mechanism, pair, releases, seed)
        found.append(Case(f"{what} of {mechanism.name} on {mechanism.space}, {pair.name}", run))
    compounds = compound.releases(sphere)
    for i, (name, make) in enumerate(compounds.items()):
        if settings.quick and i % 3:
            continue
        pair = clock_pairs(sphere, 20)[i % 2]
        run = partial(timed_whole, make, pair, WHOLE, seed)
        found.append(Case(f"whole release: {name}, {pair.name}", run))
    pair = clock_pairs(sphere, 20)[0]
    run = partial(timed_whole, _told(compounds["mean by chart"], pair), pair, WHOLE, seed)
    found.append(Case("whole release: mean by chart, made twice for one data set", run, True))
    kng = KNG(sphere, EPSILON / 2)
    run = partial(timed, stopping, kng, clock_pairs(sphere, 2)[0], 2000, seed)  # a control gets all releases
    return [*found, Case(f"{kng.name}, stopping at the first acceptance", run, True)]
