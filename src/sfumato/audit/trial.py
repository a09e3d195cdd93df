"""The whole trial: every mechanism of ours, every broken one, and the clock.  ``make audit`` runs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..mechanisms import KNG, MECHANISMS, Exponential, ManifoldLaplace, Mechanism
from ..mechanisms.manifold import ManifoldMechanism
from ..regions.ball import Ball
from ..release import write_atomically
from ..spaces import SPD, Euclidean, PlanarShapes, Space, Sphere
from . import broken
from .blackbox import MOST_DRAWS, Draw, Verdict, audit, releases, sampler, suspicious, usable
from .checks import Check, Settings
from .exact import MOST, exact_loss
from .pairs import LONG, SIZES, Pair, neighbours
from .solver import center_loss, largest_radius
from .timing import RELEASES, clocked, stopping_at_first, timing_audit

EPSILON = 1.0
COUNT = {1: 2, 2: 48, 3: 12}  # directions of the exact audit's grid, by dimension


def balls() -> list[Ball]:
    """A small ball on each kind of space, where a million draws are quick."""
    spaces: list[tuple[Space, float]] = [
        (Sphere(dim=2), np.pi / 8),
        (SPD(size=2), 1.0),
        (PlanarShapes(landmarks=4), 0.2),
        (Euclidean(dim=2), 1.0),
    ]
    return [Ball(space, space.present(space.origin()), radius) for space, radius in spaces]


def ours() -> Iterator[Mechanism]:
    """Every mechanism on the small balls, and those with a limit of their own on balls of nearly the largest radius that they
    take: the other end of the admitted range."""
    for ball in balls():
        yield from mechanisms(ball, EPSILON)
        if not isinstance(ball.space, Euclidean):
            for kind in (KNG, ManifoldLaplace, Exponential):
                radius = 0.99 * largest_radius(kind, ball.space, max(SIZES), most=3.0)
                yield kind(Ball(ball.space, ball.space.present(ball.center), radius), EPSILON)


def mechanisms(ball: Ball, epsilon: float, name: str = "all") -> list[Mechanism]:
    """The mechanisms by that name, or all that the ball's space has."""
    if name != "all" and name not in MECHANISMS:
        raise ValueError(f"unknown mechanism {name!r}; known: all, {', '.join(MECHANISMS)}")
    if name != "all":
        return [MECHANISMS[name](ball, epsilon)]
    made = []
    for kind in MECHANISMS.values():
        if kind.name == "pointwise-laplace" and not isinstance(ball.space, PlanarShapes):
            continue
        if kind.name == "ambient-laplace" and isinstance(ball.space, PlanarShapes):
            continue
        made.append(kind(ball, epsilon))
    return made


def broken_variants(ball: Ball, epsilon: float) -> dict[str, Draw]:
    """The mechanisms that an audit must convict, on a ball of the sphere S²."""
    return {
        "KNG, scale 20% too small": broken.small_scale(KNG(ball, epsilon)),
        "Laplace, scale 20% too small": broken.small_scale(ManifoldLaplace(ball, epsilon)),
        "Laplace without the volume element": broken.no_volume(ball, epsilon),
        "KNG at the paper's sphere scale": broken.paper_scale(ball, epsilon),
        "Markov chain stopped after 50 steps": broken.short_chain(ball, epsilon),
        "radius from the data": broken.data_radius(ball, epsilon),
        **{
            f"Laplace, solver stopped at {share:g} of the spread": sampler(
                broken.Misplaced(ball, epsilon, place=broken.hasty(share))
            )
            for share in (0.3, 0.1, 0.02)
        },
    }


def worst_exact(mechanism: Mechanism, pairs: list[Pair]) -> float | None:
    """The largest exact loss over the pairs, by the computed centres of the Laplace and by quadrature; None where neither the
    mechanism nor the dimension allows it."""
    losses = list[float]()
    if isinstance(mechanism, ManifoldLaplace):
        sides = ([mechanism.ball.clip(side) for side in (pair.first, pair.second)] for pair in pairs)
        losses += [center_loss(mechanism, *side) for side in sides]
    if isinstance(mechanism, ManifoldMechanism) and mechanism.space.dim <= MOST:
        count = COUNT[mechanism.space.dim]
        small = [pair for pair in pairs if len(pair) <= max(SIZES)]
        losses += [exact_loss(mechanism, pair.first, pair.second, count).loss for pair in small]
    return max(losses, default=None)


def run(out: Path, draws: int = MOST_DRAWS, timed: int = RELEASES, seed: int = 0) -> Iterator[Check]:
    """Everything at full strength; pictures and a JSON file go to ``out``.  A row fails where a mechanism of ours is convicted
    or a broken one is not."""
    records = []
    for ball in balls():
        for mechanism in mechanisms(ball, EPSILON):
            pairs = usable(mechanism, neighbours(ball))
            loss = worst_exact(mechanism, [pair for pair in pairs if len(pair) == 10])  # those of ten: few enough
            if loss is not None:
                name = f"exact: {mechanism.name} on {ball.space}"
                records.append({"section": "exact", "name": name, "loss": loss, "claimed": EPSILON})
                held = loss <= EPSILON * (1 + 1e-6)
                yield Check("draws", name, "pass" if held else "fail", f"largest loss {loss:.4f}, claimed {EPSILON:g}")
    for section, verdict, guilty in _verdicts(draws, timed, seed):
        records.append({"section": section, **verdict.record()})
        save(verdict, out)
        words = f"{'must be convicted: ' if guilty else ''}{describe(verdict)}"
        yield Check("draws", f"{section}: {verdict.name}", "pass" if verdict.convicted == guilty else "fail", words)
    write_atomically(out / "audit.json", json.dumps(records, indent=2) + "\n")


def section(settings: Settings) -> Iterator[Check]:
    """What the whole audit asks: a million draws, two thousand timed releases; those that must be convicted always get them."""
    small = settings.quick
    return run(settings.out, 100_000 if small else MOST_DRAWS, 300 if small else RELEASES, settings.seed)


def _verdicts(draws: int, timed: int, seed: int) -> Iterator[tuple[str, Verdict, bool]]:
    for mechanism in ours():
        name = f"{mechanism.name} on {mechanism.space}, radius {mechanism.ball.radius:.4g}"
        yield "ours", audit(mechanism, draws=draws, seed=seed, name=name), False
    sphere = balls()[0]
    for name, draw in broken_variants(sphere, EPSILON).items():
        pairs = neighbours(sphere, 10) if "paper" in name else suspicious(draw, sphere, long=(1000,))
        yield "broken", audit(draw, EPSILON, pairs, ball=sphere, seed=seed, name=name), True
    wide = Ball(sphere.space, sphere.space.present(sphere.center), 0.92 * np.pi / 2)
    stray = sampler(broken.Misplaced(wide, EPSILON, place=broken.straying))
    name = "Laplace, solver that walks out of the ball"
    yield "broken", audit(stray, EPSILON, suspicious(stray, wide, long=(100,)), ball=wide, seed=seed, name=name), True
    spd = balls()[1]
    flat = broken.flat_volume(spd, EPSILON)
    name = "Laplace on SPD, flat volume element"  # seen where the noise is wide: at two records
    yield "broken", audit(flat, EPSILON, neighbours(spd, 2), ball=spd, seed=seed, name=name), True
    yield from clock_verdicts(sphere, timed, seed)


def clock_pairs(ball: Ball, n: int) -> list[Pair]:
    """Data sets between which a clock could tell: records together at the boundary, where many proposals fall outside, or
    not; and records that coincide, whose mean needs no search, or do not."""
    pairs = neighbours(ball, n)
    return [
        next(p for p in pairs if words in p.name) for words in ("at the boundary, one", "from there to the boundary")
    ]


def clock_verdicts(ball: Ball, timed: int, seed: int) -> Iterator[tuple[str, Verdict, bool]]:
    """The clock of ours, and of the same draws when they stop at the first acceptance: with two records the noise is as wide
    as the ball, and the share that is accepted depends on the data the most."""
    for ours, n in ((KNG(ball, EPSILON / 2), 2), (KNG(ball, EPSILON), 20), (ManifoldLaplace(ball, EPSILON), 20)):
        for pair in clock_pairs(ball, n):
            name = f"clock of {ours.name}, {pair.name}"
            yield "clock", timing_audit(ours, pair, releases=timed, seed=seed, name=name), False
    for mechanism in (KNG(ball, EPSILON / 2), Exponential(ball, EPSILON / 2)):
        pair = clock_pairs(ball, 2)[0]
        measure = clocked(stopping_at_first(mechanism))
        name = f"clock of {mechanism.name}, stopping at the first acceptance"
        yield "clock", timing_audit(measure, pair, mechanism.epsilon, seed=seed, name=name), True


def describe(verdict: Verdict) -> str:
    return f"ε ≥ {verdict.epsilon_lower:.3f}, claimed {verdict.claimed:g}; {verdict.pair}; {verdict.event}"


def save(verdict: Verdict, folder: Path) -> Path:
    """The picture of a verdict, named after the mechanism."""
    from ..views.plots import _render

    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(letter if letter.isalnum() else "-" for letter in verdict.name.lower())
    path = folder / f"{'-'.join(filter(None, name.split('-')))}.png"
    write_atomically(path, _render(verdict.plot()))
    return path


def conduct(
    ball: Ball,
    epsilon: float,
    name: str,
    n: int | None,
    draws: int,
    how: str,
    guilty: bool,
    seed: int,
    out: Path,
) -> list[dict[str, Any]]:
    """What ``sfumato audit`` does: one row a mechanism, with a picture and a JSON file in the folder ``out``.

    ``how`` is "draws", "releases" or "timing"; ``guilty`` audits the broken variants instead of ours.
    """
    sizes = SIZES if n is None else (n,)
    if guilty and not (isinstance(ball.space, Sphere) and how == "draws"):
        raise ValueError("the broken mechanisms live on spheres, and are audited by draws")
    suspects: dict[str, Mechanism | Draw] = (
        dict(broken_variants(ball, epsilon))
        if guilty
        else {f"{m.name} on {m.space}": m for m in mechanisms(ball, epsilon, name)}
    )
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for label, suspect in suspects.items():
        pairs = suspicious(suspect, ball, sizes, LONG if n is None else (n,))
        if how == "timing" and isinstance(suspect, Mechanism):
            found = [timing_audit(suspect, pair, seed=seed) for pair in clock_pairs(ball, len(pairs[0]))]
            verdict = max(found, key=lambda one: one.epsilon_lower)
        elif how == "releases" and isinstance(suspect, Mechanism):
            verdict = audit(releases(suspect), epsilon, pairs, ball=ball, draws=draws, bits=True, seed=seed, name=label)
        else:
            verdict = audit(suspect, epsilon, pairs, ball=ball, draws=draws, seed=seed, name=label)
        exact = worst_exact(suspect, pairs) if isinstance(suspect, Mechanism) and how == "draws" else None
        rows.append({**verdict.record(), "exact": exact, "picture": save(verdict, out).name})
    write_atomically(out / "audit.json", json.dumps(rows, indent=2) + "\n")
    return rows


def table(rows: list[dict[str, Any]], echo: Callable[[str], object]) -> None:
    """Verdicts in columns, for a terminal."""
    echo(f"{'mechanism':44s}{'claimed ε':>10s}{'ε at least':>12s}{'exact':>9s}  verdict")
    for row in rows:
        exact = "" if row.get("exact") is None else f"{row['exact']:.4f}"
        word = "CONVICTED" if row["convicted"] else "cleared"
        echo(f"{row['name']:44s}{row['claimed']:10g}{row['epsilon_lower']:12.4f}{exact:>9s}  {word}")
        echo(f"    data: {row['pair']}")
        echo(f"    event: {row['event']}; {row['hits']} against {row['misses']} of {row['draws']}")
