"""``python -m attacks --only draws``: every mechanism of ours, every broken one and the clock, by exact losses and by draws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from attacks import broken, looks
from attacks.checks import Check, Settings
from attacks.joint import joint
from attacks.solver import largest_radius
from attacks.walks import suspicious
from sfumato.audit import Verdict, audit, neighbours, timing_audit
from sfumato.audit.blackbox import admitted, sampler
from sfumato.audit.broken import broken_charts, broken_variants, wrong_volume
from sfumato.audit.exact import look_loss
from sfumato.audit.pairs import SIZES
from sfumato.audit.timing import RELEASES, clocked
from sfumato.audit.trial import clock_pairs, mechanisms, save, worst_exact
from sfumato.mechanisms import KNG, Exponential, LookPlan, ManifoldLaplace, Mechanism, TangentKNorm
from sfumato.regions import Ball, Ellipsoid
from sfumato.release import write_atomically
from sfumato.spaces import SPD, Euclidean, PlanarShapes, Space, Sphere

EPSILON = 1.0
MOST_DRAWS = 1_000_000
IN_CHARTS = (1, 2, 10)  # records


def balls() -> list[Ball]:
    """A small ball on each kind of space, where a million draws are quick."""
    spaces: list[tuple[Space, float]] = [
        (Sphere(dim=2), np.pi / 8),
        (SPD(size=2), 1.0),
        (PlanarShapes(landmarks=4), 0.2),
        (Euclidean(dim=2), 1.0),
    ]
    return [Ball(space, space.present(space.origin()), radius) for space, radius in spaces]


def charts() -> list[Ellipsoid]:
    """Ellipsoids: two axes, one axis and one frozen, three of four directions."""
    sphere, _, shapes, _ = balls()
    return [
        Ellipsoid(ball.space, ball.space.present(ball.center), ball.radius * np.array(axes))
        for ball, axes in ((sphere, [1.0, 0.25]), (sphere, [1.0]), (shapes, [1.0, 0.5, 0.25]))
    ]


def ours() -> Iterator[Mechanism]:
    """Every mechanism on the small balls, and those with a limit of their own on balls of nearly the largest radius that they
    take: the other end of the admitted range."""
    for ball in balls():
        yield from mechanisms(ball, EPSILON)
        if not isinstance(ball.space, Euclidean):
            for kind in (KNG, ManifoldLaplace, Exponential):
                radius = 0.99 * largest_radius(kind, ball.space, max(SIZES), most=3.0)
                yield kind(Ball(ball.space, ball.space.present(ball.center), radius), EPSILON)


def section(settings: Settings) -> Iterator[Check]:
    """Everything, with pictures and a JSON file.  A row fails where a mechanism of ours is convicted or a broken one is not."""
    records = list[dict[str, object]]()
    for name, loss in exact_losses():
        records.append({"section": "exact", "name": name, "loss": loss, "claimed": EPSILON})
        held = loss <= EPSILON * (1 + 1e-6)
        yield Check("draws", name, "pass" if held else "fail", f"largest loss {loss:.4f}, claimed {EPSILON:g}")
    for kind, verdict, guilty in _verdicts(settings):
        records.append({"section": kind, **verdict.record()})
        save(verdict, settings.out)
        words = f"ε ≥ {verdict.epsilon_lower:.3f}, claimed {verdict.claimed:g}; {verdict.pair}; {verdict.event}"
        words = f"must be convicted: {words}" if guilty else words
        yield Check("draws", f"{kind}: {verdict.name}", "pass" if verdict.convicted == guilty else "fail", words)
    write_atomically(settings.out / "audit.json", json.dumps(records, indent=2) + "\n")


def exact_losses() -> Iterator[tuple[str, float]]:
    """The largest exact losses of ours, by name."""
    for ball in balls():
        for mechanism in mechanisms(ball, EPSILON):
            loss = worst_exact(mechanism, neighbours(ball, admitted(mechanism, (10,))))  # those of ten: few enough
            if loss is not None:
                yield f"exact: {mechanism.name} on {ball.space}", loss
    for chart in charts():
        loss = worst_exact(TangentKNorm(chart, EPSILON), neighbours(chart, IN_CHARTS))
        assert loss is not None
        yield f"exact: tangent on {chart.space}, {chart.describe()}", loss
    looked = looks.Looked(EPSILON)
    losses = [look_loss(looked.plan(len(p)), p.first[:, 1:], p.second[:, 1:]) for p in looks.pairs()]
    yield "exact: a look and the release after it", max(losses)


def chart_verdicts(draws: int, seed: int, most: int = MOST_DRAWS) -> Iterator[tuple[str, Verdict, bool]]:
    """Charts and looks: ours, and those that are wrong on purpose."""
    for chart in charts():
        pairs, name = neighbours(chart, IN_CHARTS), f"tangent on {chart.space}, {len(chart.axes)} axes"
        yield "ours", audit(TangentKNorm(chart, EPSILON), pairs=pairs, draws=draws, seed=seed, name=name), False
    for name, draw in broken_charts(charts()[0], EPSILON).items():
        pairs, region = neighbours(charts()[0], IN_CHARTS), charts()[0]
        yield "broken", audit(draw, EPSILON, pairs, region=region, draws=most, seed=seed, name=name), True
    for name, kind in {"look and chart": LookPlan, "look without noise, and chart": looks.Certain}.items():
        looked, wrong = looks.Looked(EPSILON, kind), kind is not LookPlan
        found = audit(looked, EPSILON, looks.pairs(), region=looked.region, draws=draws, seed=seed, name=name)
        yield "broken" if wrong else "ours", found, wrong


def joint_verdicts(draws: int, seed: int) -> Iterator[tuple[str, Verdict, bool]]:
    """Releases in parts, all parts together: ours, and those that are wrong on purpose."""
    for case in joint():
        for wrong in (False, True):
            one = replace(case, wrong=wrong)
            name = f"{case.name}, {case.mistake}" if wrong else case.name
            found = audit(one, case.epsilon, case.pair, region=one.region, draws=draws, seed=seed, name=name)
            yield "broken" if wrong else "ours", found, wrong


def _verdicts(settings: Settings) -> Iterator[tuple[str, Verdict, bool]]:
    """Verdicts on ours and on the broken, and whether they must be guilty; these always get all draws."""
    seed = settings.seed
    for mechanism in ours():
        name = f"{mechanism.name} on {mechanism.space}, radius {mechanism.ball.radius:.4g}"
        pairs = suspicious(mechanism, mechanism.ball)
        draws = 100_000 if settings.quick else MOST_DRAWS
        yield "ours", audit(mechanism, pairs=pairs, draws=draws, seed=seed, name=name), False
    yield from chart_verdicts(100_000 if settings.quick else MOST_DRAWS, seed)
    yield from joint_verdicts(5_000 if settings.quick else 50_000, seed)  # of true releases, two milliseconds each
    sphere, spd = balls()[:2]
    variants = broken_variants(sphere, EPSILON) | {
        "KNG at the scale that the paper ran": broken.paper_scale(sphere, EPSILON),
        "Markov chain stopped after 50 steps": broken.short_chain(sphere, EPSILON),
    }
    for name, draw in variants.items():
        pairs = neighbours(sphere, 10) if "paper" in name else neighbours(sphere)
        yield "broken", audit(draw, EPSILON, pairs, region=sphere, draws=MOST_DRAWS, seed=seed, name=name), True
    name, draw = "Laplace on SPD, flat volume element", wrong_volume(spd, EPSILON, spd.space.dim - 1)
    pairs = neighbours(spd, 2)  # seen where the noise is wide: at two records
    yield "broken", audit(draw, EPSILON, pairs, region=spd, draws=MOST_DRAWS, seed=seed, name=name), True
    wide = Ball(sphere.space, sphere.space.present(sphere.center), 0.92 * np.pi / 2)
    for name, ball, place, n in (
        ("that walks out of the ball", wide, broken.straying, 100),
        *((f"stopped at {share:g} of the spread", sphere, broken.hasty(share), 1000) for share in (0.3, 0.1, 0.02)),
    ):
        draw, name = sampler(broken.Misplaced(ball, EPSILON, place=place)), f"Laplace, solver {name}"
        pairs = suspicious(draw, ball, long=(n,))
        yield "broken", audit(draw, EPSILON, pairs, region=ball, draws=MOST_DRAWS, seed=seed, name=name), True
    yield from clock_verdicts(sphere, 300 if settings.quick else RELEASES, seed)


def clock_verdicts(ball: Ball, timed: int, seed: int) -> Iterator[tuple[str, Verdict, bool]]:
    """The clock of ours, and of the same draws when they stop at the first acceptance: with two records the noise is as wide
    as the ball, and the share that is accepted depends on the data the most."""
    for ours, n in ((KNG(ball, EPSILON / 2), 2), (KNG(ball, EPSILON), 20), (ManifoldLaplace(ball, EPSILON), 20)):
        for pair in clock_pairs(ball, n):
            name = f"clock of {ours.name}, {pair.name}"
            yield "clock", timing_audit(ours, pair, releases=timed, seed=seed, name=name), False
    for mechanism in (KNG(ball, EPSILON / 2), Exponential(ball, EPSILON / 2)):
        pair = clock_pairs(ball, 2)[0]
        measure = clocked(broken.stopping_at_first(mechanism))
        name = f"clock of {mechanism.name}, stopping at the first acceptance"
        yield "clock", timing_audit(measure, pair, mechanism.epsilon, seed=seed, name=name), True
