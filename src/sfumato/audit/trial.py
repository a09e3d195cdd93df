"""What ``sfumato audit`` does: every mechanism of a space, or the broken ones, by draws, releases or times."""

import json
from pathlib import Path
from typing import Any

from ..atomic import write_atomically
from ..laws.bounds import has_bounds
from ..mechanisms import MECHANISMS, ManifoldLaplace, Mechanism, TangentKNorm
from ..mechanisms.manifold import ManifoldMechanism
from ..regions.ball import Ball
from ..shown import at_work
from .blackbox import Draw, admitted, audit, releases, timing_audit
from .broken import broken_variants
from .exact import MOST, center_loss, chart_loss, exact_loss
from .pairs import CLUSTERED, COMING_IN, SIZES, Pair, neighbours
from .verdict import Verdict

COUNT = {1: 2, 2: 48, 3: 12}  # directions of the exact audit's grid, by dimension


def mechanisms(ball: Ball, epsilon: float, name: str = "all") -> list[Mechanism]:
    """Return the mechanism by that name, or all that are defined on the ball's space: with bounds, or by charts."""
    if name not in ("all", *MECHANISMS):
        raise ValueError(f"unknown mechanism {name!r}; known: all, {', '.join(MECHANISMS)}")
    if name != "all":
        return [MECHANISMS[name](ball, epsilon)]
    defined = list[Mechanism]()
    for kind in MECHANISMS.values():
        try:
            one = kind(ball, epsilon)
        except ValueError:  # it is not defined on this space
            continue
        if has_bounds(ball.space) or not isinstance(one, ManifoldMechanism):
            defined.append(one)
    return defined


def worst_exact(mechanism: Mechanism, pairs: list[Pair]) -> float | None:
    """Return the largest exact loss over the pairs; None where neither the mechanism nor the dimension allows it."""
    losses = list[float]()
    for pair in pairs:
        if isinstance(mechanism, ManifoldLaplace):
            losses.append(center_loss(mechanism, mechanism.ball.clip(pair.first), mechanism.ball.clip(pair.second)))
        if isinstance(mechanism, TangentKNorm):
            losses.append(chart_loss(mechanism, pair.first, pair.second).loss)
        if isinstance(mechanism, ManifoldMechanism) and mechanism.space.dim <= MOST:
            losses.append(exact_loss(mechanism, pair.first, pair.second, COUNT[mechanism.space.dim]).loss)
    return max(losses, default=None)


def clock_pairs(ball: Ball, n: int) -> list[Pair]:
    """Return pairs of data sets whose releases may take different times.

    In one records are together at the boundary, where many proposals fall outside; in the other they coincide.
    """
    pairs = neighbours(ball, n)
    return [pairs[CLUSTERED], pairs[COMING_IN]]


def save(verdict: Verdict, folder: Path) -> Path:
    """Write the picture of a verdict, named after the mechanism, and return its path."""
    from ..views.plots import render

    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(letter if letter.isalnum() else " " for letter in verdict.name.lower())
    path = folder / f"{'-'.join(name.split())}.png"
    write_atomically(path, render(verdict.plot()))
    return path


def conduct(
    ball: Ball, epsilon: float, name: str, n: int | None, draws: int, how: str, guilty: bool, seed: int, out: Path
) -> list[dict[str, Any]]:
    """Return a row for each mechanism; write a picture of each and a JSON file into the folder ``out``.

    ``how`` is "draws", "releases" or "timing"; ``guilty`` audits the broken variants instead of ours.
    """
    if guilty and how != "draws":
        raise ValueError("broken mechanisms make no releases: audit them by draws, not by releases or times")
    suspects: dict[str, Mechanism | Draw] = {}
    if guilty:
        suspects |= broken_variants(ball, epsilon)
    else:
        suspects |= {f"{m.name} on {m.space}": m for m in mechanisms(ball, epsilon, name)}
    out.mkdir(parents=True, exist_ok=True)
    rows = list[dict[str, Any]]()
    with at_work("auditing") as show:
        for label, suspect in suspects.items():
            show(label, len(rows), len(suspects) if len(suspects) > 1 else None)
            pairs = neighbours(ball, admitted(suspect, SIZES if n is None else (n,)))
            exact = None
            if how == "timing" and isinstance(suspect, Mechanism):
                label = f"time of {label}"
                clocks = clock_pairs(ball, len(pairs[0]))
                tried = (timing_audit(suspect, pair, seed=seed, name=label) for pair in clocks)
                verdict = max(tried, key=lambda one: one.lower)
            else:
                bits = how == "releases"
                drawn = releases(suspect) if bits and isinstance(suspect, Mechanism) else suspect
                verdict = audit(drawn, epsilon, pairs, region=ball, draws=draws, bits=bits, seed=seed, name=label)
                exact = worst_exact(suspect, pairs) if isinstance(suspect, Mechanism) and not bits else None
            rows.append({**verdict.record(), "exact": exact, "picture": save(verdict, out).name})
    write_atomically(out / "audit.json", json.dumps(rows, indent=2) + "\n")
    return rows


def table(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return verdicts as a table, its header first."""
    cells: list[tuple[str, ...]] = [("mechanism", "claimed ε", "ε at least", "exact", "verdict", "data")]
    for row in rows:
        exact = "" if row["exact"] is None else f"{row['exact']:.4f}"
        word = "CONVICTED" if row["convicted"] else "cleared"
        cells.append((row["name"], f"{row['claimed']:g}", f"{row['lower']:.4f}", exact, word, row["pair"]))
    return cells
