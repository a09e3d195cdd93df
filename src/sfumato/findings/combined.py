"""Several studies: one mean from their releases, with its own error, region and price (Results 9, 10 and 15)."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial, reduce
from operator import attrgetter
from typing import Any

import numpy as np

from ..errors import Fix, Refusal
from ..laws.calibration.chart import chart_error
from ..laws.calibration.population import sum_squares
from ..laws.calibration.stein import james_stein
from ..laws.privacy import up
from ..numerics.arrays import Array
from ..regions.ellipsoid import Ellipsoid, point_or_center
from ..release import Guarantee, Release
from ..release.population import chart_of, chart_variance, no_region, released_coordinates
from ..release.record import PROBABILITIES, CalibrationOf, MechanismOf, WholeOf
from ..release.terms import COMBINED, PLACES, SITES

LEVELS = (0.85, 0.9, 0.95, 0.98, 0.99, 0.999)  # at which a record states what the samples add to the region


def combine(releases: Iterable[Release], people: str, *, weights: str = "error") -> Release:
    """Return one mean from the releases of several studies, with its own error, region and price; no ε is spent.

    It is the weighted mean of the draws, moved towards the public centre as one draw is (Result 10), and estimates the weighted
    mean of the studies' means.  Releases are means by chart (``mechanism="tangent"``) about one centre, as of one public
    sample; their charts are brought into one that holds all.  ``people`` are "apart" if nobody is in two studies: the price is
    then the largest.  If somebody may be, "both", prices add up, and samples may err alike.  ``weights`` are one over the
    square of the whole "error" that was foreseen, or "n", as in a mean of all records: where studies differ, other means.

    >>> from sfumato import Ball, Euclidean, private_mean
    >>> region = Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0)
    >>> done = [private_mean(np.full((n, 2), 0.2), region, 1.0, mechanism="tangent") for n in (300, 900)]
    >>> [(both.n, both.guarantee.epsilon) for people in ("apart", "both") for both in [combine(done, people)]]
    [(1200, 1.0), (1200, 2.0)]
    """
    every = _checked([*releases], people, weights)
    first: Any = max(every, key=lambda one: (one.ball.radius, -_foreseen(one), one.sha256))
    chart, maps, described = _common(every)
    share = _each("n", every) if weights == "n" else np.array([*map(_foreseen, every)]) ** -2
    share = share / share.sum()
    length = share * [np.linalg.norm(one, 2) for one in maps]  # at most, of what is as long as 1 in its own chart
    w = sum(a * one @ released_coordinates(of) for a, one, of in zip(share, maps, every, strict=True))
    sigmas = tuple((length * _each("calibration.sigma", every)).tolist())
    spacing = 2.0 ** math.ceil(math.log2(float(length @ _each("lattice_spacing", every))))
    squares, weighed = sum_squares(len(w) + 1, sigmas)
    moved = james_stein(w, chart.axes, (max(1, len(w) - 1) * float(weighed @ (1 / squares))) ** -0.5)
    value, raw = (point_or_center(chart.space, chart.center, chart.tangent(at)) for at in (chart.nearest(moved), w))
    law = chart_error(chart.axes, sigmas)
    noise = {f"{q:g}": law.quantile(q) + spacing / 2 * float(np.linalg.norm(chart.axes)) for q in PROBABILITIES}
    promise = _together([one.guarantee for one in every], people == "both")
    studies = [{"sha256": one.sha256, "n": one.n, "share": float(a)} for one, a in zip(every, share, strict=True)]
    own = {q: length * np.sqrt([chart_variance(one, q) / one.n for one in every]) for q in LEVELS}
    variances = {f"{q:g}": float(x @ x if people == "apart" else x.sum() ** 2) for q, x in own.items()}
    options = {"people": people, "weights": weights, "releases": studies, "sigmas": sigmas, "variances": variances}
    options["no_region"] = next(filter(None, map(no_region, every)), described.pop("fewer", ""))
    made = {"n": int(_each("n", every).sum()), "time": max(map(attrgetter("time"), every)), "lattice_spacing": spacing}
    made |= {"sampler": "no draw, but a weighted mean of releases", "generator": "theirs", "spent": {}, "degrees": None}
    made["statistic"] = f"weighted mean of {len(every)} studies: {first.statistic}"
    sigma = law.quantile(0.95) / chart_error(chart.axes, 1.0).quantile(0.95)
    made["calibration"] = CalibrationOf(COMBINED, promise.epsilon, "one noise as long at 95%", sigma, None, {})
    made["chart"] = replace(first.chart, point=w.tolist(), **described)
    made["ball"] = replace(first.ball, radius=chart.radius)
    made["predicted_error"] = replace(first.predicted_error, radius=noise["0.95"], quantiles=noise)
    made["spread"] = replace(first.spread, second_moment=None) if all(one.spread for one in every) else None
    made |= {"value": value, "unprojected": None if np.array_equal(value, raw) else raw, "bias": None}
    made["prepared"] = _prepared(every)
    made |= {"guarantee": promise, "mechanism": MechanismOf(COMBINED, options), "whole": _whole(every, share, noise)}
    return replace(first, **made)  # type: ignore[no-any-return]


def _checked(every: list[Any], people: str, weights: str) -> list[Release]:
    """Return releases in the order of their SHA-256, or raise an error if they cannot be combined."""
    if people not in ("apart", "both") or weights not in ("error", "n"):
        ways = "people='apart' if nobody is in two of the studies, or people='both' if somebody may be"
        raise ValueError(f"say {ways}; weights are 'error' or 'n', not {people!r} and {weights!r}")
    for one in every:
        if not isinstance(one, Release) or one.chart is None or one.mechanism.name in (COMBINED, SITES):
            raise Refusal("only means by chart can be combined: release them with ", Fix("mechanism", "tangent"))
    if len(every) < 2 or len({*map(attrgetter("sha256"), every)}) < len(every):
        raise Refusal("a combination needs two releases or more, each once")
    _prepared(every)
    if len({repr((one.statistic, one.space, one.scalar, one.ball.center)) for one in every}) > 1:
        raise Refusal("releases of other statistics, spaces or centres have no common mean: use one public sample")
    groups = [(one.time, chart_of(one)) for one in every if one.guarantee.grouped]
    if len(set(groups)) < len(groups):
        raise Refusal("these are groups of one comparison: release the mean of all their records instead")
    return sorted(every, key=attrgetter("sha256"))


def _prepared(every: list[Release]) -> dict[str, Any]:
    """Return what landmarks went through before, or raise a Refusal if they are other places by that."""
    for name, what in PLACES.items():
        if len({repr(one.prepared.get(name)) for one in every}) > 1:
            why = f"some of these studies {what} and others did not, or not alike, or do not say so"
            raise Refusal(f"{why}: prepare all of them alike. In Python give a Dataset, which notes what was done")
    return {name: entry for one in every for name, entry in one.prepared.items()}


def _common(every: list[Any]) -> tuple[Ellipsoid, list[Array], dict[str, Any]]:
    """Return the widest of charts of one shape, else one that holds all (proofs, Result 15), where rows A·B stand for a form
    BᵀA²B; the maps from all charts into it; and what a record says of it that is not of the widest."""

    def join(one: Array, two: Array) -> Array:
        left, lengths, rows = np.linalg.svd(np.vstack([one, two]), full_matrices=False)
        some = lengths > 1e-7 * lengths[0]
        a, turned = np.linalg.eigh(left[: len(one), some].T @ left[: len(one), some])
        return np.asarray(np.sqrt(np.maximum(a, 1 - a))[:, None] * (turned.T * lengths[some]) @ rows[some])

    charts = [*map(chart_of, every)]
    chart = max(charts, key=attrgetter("radius"))
    said: dict[str, Any] = {}
    if len({str([one.basis.tolist(), np.round(one.axes / one.radius, 9).tolist()]) for one in charts}) > 1:
        rows = reduce(join, [one.axes[:, None] * one.basis for one in charts])
        chart = Ellipsoid(chart.space, chart.space.present(chart.center), *np.linalg.svd(rows, full_matrices=False)[1:])
        said = {"axes": chart.axes.tolist(), "basis": chart.basis.tolist(), "frozen": chart.frozen, "reach": None}
    if max(one.frozen for one in charts) > chart.frozen:
        said["fewer"] = "some studies left out directions that others have"
        if None in [one.gain for one in every]:
            raise Refusal(f"{said['fewer']}, and nothing public tells what that costs: release all in one region")
    return chart, [chart.basis @ one.basis.T * (one.axes / chart.axes[:, None]) for one in charts], said


def _each(name: str, every: list[Release]) -> Array:
    return np.array([*map(attrgetter(name), every)], dtype=np.float64)


def _foreseen(release: Release) -> float:
    """Return the whole error at 95% that was foreseen: a public number; the noise for records of earlier versions."""
    return release.noise(0.95) if release.whole is None else release.whole.quantiles["0.95"]


def _whole(every: list[Release], share: Array, noise: dict[str, float]) -> WholeOf:
    """Return the whole error: the noise, and what those of the releases have beside theirs, as if all erred one way; with what
    it is on average and what the public centre is off by, where all releases say so."""
    quantiles = {}
    for q, length in noise.items():
        beside = [max(0.0, one.stated(float(q)) ** 2 - one.noise(float(q)) ** 2) ** 0.5 for one in every]
        quantiles[q] = math.hypot(length, float(share @ beside))
    known = [one.whole for one in every if one.whole is not None and one.gain is not None]
    if len(known) < len(every):
        return WholeOf(quantiles)
    rms = quantiles["0.95"] * max((one.rms or 0.0) / one.quantiles["0.95"] for one in known)
    return replace(known[0], quantiles=quantiles, drawn={}, rms=rms, public=max(one.public or 0.0 for one in known))


def _together(every: list[Guarantee], add: bool) -> Guarantee:
    """Return what several guarantees promise together: the larger of each number, or their sum (of μ the root of that of
    squares), None where one is not known.  What was asked for is of the kind of all, or else an (ε, δ)."""
    total = partial(_total, add)
    names = ("epsilon", "rho", "mu", "numerical_delta", "numerical_epsilon", "clock_delta")
    each = {name: total(name, [*map(attrgetter(name), every)]) for name in names}
    approx = {name: total(name, [(g.approx or {}).get(name) for g in every]) for name in ("epsilon", "delta")}
    each["approx"] = approx if all(approx.values()) else None
    kinds = {tuple(g.asked or ()) for g in every}
    if len(kinds) > 1:  # of ρ and μ it is the bare chance, of which ε has 1 + e^ε times as much
        each["numerical_delta"] *= 1 + math.exp(min(each["epsilon"], 600.0))
    kind = kinds.pop() if len(kinds) == 1 else tuple(approx)
    each["asked"] = each["approx"] if len(kind) == 2 else {name: each[name] for name in kind} or None
    for name, sign in (("unit", " or "), ("neighbours", " or "), ("condition", "")):
        each[name] = sign.join(dict.fromkeys(map(attrgetter(name), every)))
    return Guarantee(**each, private=all(g.private for g in every))


def _total(add: bool, name: str, numbers: list[Any]) -> Any:
    if None in numbers or not add:
        return None if None in numbers else max(numbers)
    return up(math.hypot(*numbers) if name == "mu" else math.fsum(numbers))
