"""``python -m attacks --only matrix``: every mechanism on every space, for every kind of privacy and three ε, by exact losses.

Each mechanism's own ``release()`` is replayed (:mod:`attacks.replay`) on neighbours that stress it, one record across a
ball of which the others are at both ends or at one, with the outcome that tells the most.  KNG and the exponential mechanism
have no formula for their normaliser: in more than three dimensions they are attacked by draws alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from attacks import Broken
from attacks.accounts import CLAIMS
from attacks.arenas import ball_on, small_balls
from attacks.checks import Case, Found, Settings, seed_of
from attacks.replay import Purse, Shares, Tried, convicted, ellipsoid, in_words, most, replaced
from sfumato.audit.blackbox import admitted, region_of
from sfumato.audit.exact import MOST
from sfumato.audit.pairs import CLUSTERED, neighbours
from sfumato.audit.trial import mechanisms, worst_exact
from sfumato.errors import SfumatoError
from sfumato.laws.privacy import Privacy
from sfumato.mechanisms import KNG, MECHANISMS, ManifoldLaplace, Mechanism, base
from sfumato.mechanisms.manifold import ManifoldMechanism
from sfumato.regions import Region

SIZES = (10, 50, 500, 5000)  # records: the fewest that are admitted are tried
PART = {
    "exponential": 0.5,
    "pointwise-laplace": 0.25,
}  # of the noise of those that lose less than they may; 0.9 of others
ENDS, TURNED = 3, 7  # among the pairs along a diameter: others at both ends, one record across it, or across another


def has_formula(mechanism: Mechanism) -> bool:
    """Whether the loss of an output is known: by a formula, or by quadrature."""
    by_quadrature = isinstance(mechanism, ManifoldMechanism) and not isinstance(mechanism, ManifoldLaplace)
    return not by_quadrature or mechanism.space.dim <= MOST


def released(
    kind: type[Mechanism], region: Region, claims: Sequence[Privacy], seed: int, wrong: Sequence[Any] = ()
) -> Found:
    """Return the largest shares of each kind; a claim that no number of records is admitted for is named."""
    rng, found, refused, pairs = np.random.default_rng(seed), Shares(), [], 0
    with replaced(wrong), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that an ε is large
        for claim in claims:
            mechanism = kind(region, claim)
            try:
                n = admitted(mechanism, SIZES)[0]
            except (ValueError, SfumatoError):
                refused.append(str(claim))
                continue
            every = neighbours(region_of(mechanism), n)
            for which in (CLUSTERED, ENDS, TURNED):
                if which < len(every):
                    pair = every[which]
                    one = Tried(partial(_make, mechanism), pair.first, pair.second, claim)
                    try:
                        found, pairs = most((found, one.shares(rng))), pairs + 1
                    except Broken as broken:
                        return Found(False, f"{claim}, {pair.name}: {broken}")
    if not found:
        return Found(None, f"refuses {', '.join(refused)} for all numbers of records up to {SIZES[-1]}")
    words = f"lost of what is promised: {in_words(found)}, in {pairs} pairs, both ways"
    words += f"; refused: {', '.join(refused)}" if refused else ""
    return Found(not convicted(found), words, {"shares": found, "found": max(found.values()), "power": 1.0})


def as_run(mechanism: Mechanism) -> Found:
    """Return the largest exact loss of draws that cannot be released."""
    loss = worst_exact(mechanism, neighbours(region_of(mechanism), 10)) or 0.0
    return Found(loss <= 1, f"largest loss {loss:.4f}, claimed 1", {"found": loss, "power": 1.0})


def _make(mechanism: Mechanism, data: Any, purse: Purse) -> Any:
    return mechanism.release(data, budget=purse, allow_useless=True)


def _less(kind: type[Mechanism], part: float) -> list[Any]:
    """Return what to replace for a part of a mechanism's noise."""
    noise = kind.noise
    less = [(kind, "noise", lambda *asked: replace(noise(*asked), sigma=part * noise(*asked).sigma))]
    return [*less, (base, "_fitted", base._fitted.__wrapped__)]


def cases(settings: Settings) -> list[Case]:
    """Return every mechanism on every space, and each with less noise on one space where its bound is reached."""
    found = []
    claims = CLAIMS[1::3] if settings.quick else CLAIMS
    for ball in small_balls():
        for mechanism in mechanisms(ball, 1.0):
            if has_formula(mechanism):
                name = f"{mechanism.name} on {ball.space}"
                run = partial(released, type(mechanism), ball, claims, seed_of(settings, name))
                found.append(Case(name, run))
        name = f"tangent on {ball.space}, in an ellipsoid"
        run = partial(released, MECHANISMS["tangent"], ellipsoid(ball), claims, seed_of(settings, name))
        found.append(Case(name, run))
    flat, shapes = ball_on("euclidean"), ball_on("shapes")
    for mechanism in [*mechanisms(flat, 1.0), *mechanisms(shapes, 1.0, "pointwise-laplace")]:
        part = PART.get(mechanism.name, 0.9)
        wrong = _less(type(mechanism), part)
        run = partial(released, type(mechanism), mechanism.region, CLAIMS[:3], settings.seed, wrong)
        found.append(Case(f"{mechanism.name} on {mechanism.space}, {part:g} of its noise", run, True))
    sphere = ball_on("sphere")
    found.append(Case("kng at the scale that the paper ran", partial(as_run, KNG(sphere, 1.0, "as run")), True))
    return found
