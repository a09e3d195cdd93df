"""Fréchet means against the peers; what a pass over the data costs, and how the cost grows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from .cases import Case, gradient_norm
from .peers import LACKS, Stopped, Timed, mean_options, space_of
from .table import Row, Table, alternate, cpu, load, processor

TOLERANCE = 1e-8
PEERS = ("geomstats", "pyRiemann", "pymanopt")
ALL = 1.5  # times two passes: what a mean of 10^5 directions is to take at most
SLOW = 2.0  # seconds: who takes longer is timed once only
# how many times as much CPU time as ours the peers of each case are to take
CASES: list[tuple[Case, dict[str, float]]] = [
    (Case("sphere", 2, 100_000), {"geomstats": 50}),
    (Case("sphere", 99, 10_000), {"geomstats": 40}),
    (Case("shapes", 50, 409), {"geomstats": 50}),
    (Case("spd", 2, 100_000), {"geomstats": 100, "pyRiemann": 50}),
    (Case("spd", 3, 100_000, "covariances"), {"pyRiemann": 40}),
    (Case("spd", 4, 50_000, "covariances"), {"pyRiemann": 35}),
    (Case("spd", 8, 5000, "covariances"), {"pyRiemann": 12}),
    (Case("spd", 22, 500, "covariances"), {"pyRiemann": 5}),
    (Case("spd", 64, 200, "covariances"), {"pyRiemann": 4}),
    (Case("spd", 3, 20_000, "anisotropic"), {"pyRiemann": 1}),
    (Case("spd", 8, 5000, "anisotropic"), {"pyRiemann": 1}),
    (Case("spd", 22, 500, "anisotropic"), {"pyRiemann": 1}),
]
SPACES = [("sphere", 2), ("sphere", 99), ("shapes", 50), ("shapes3d", 24), ("spd", 3), ("spd", 8), ("grassmann", 10)]
SPACES += [("stiefel", 6), ("hyperbolic", 2)]
# how many times as much CPU time as ours the fastest of the peers, and NumPy, are to take for so many records
SIZES = {100: 1.5, 1000: 3.0, 100_000: 10.0}
LARGEST = {("spd", 3): 40.0, ("spd", 8): 20.0}  # for 10^5 records
QUICK: list[tuple[Case, dict[str, float]]] = [
    (Case("sphere", 2, 1000), {}),
    (Case("shapes", 10, 100), {}),
    (Case("spd", 3, 300, "anisotropic"), {}),
]


def means(quick: bool) -> Iterator[Table]:
    """The same data, the same gradient norm, one thread, taking turns."""
    rows = [row for case, wanted in (QUICK if quick else CASES) for row in _compare(case, wanted, 2 if quick else 5)]
    yield Table(
        "Fréchet mean",
        "CPU seconds (median) of a whole call, on one thread, all taking turns; the first call, which compiles, is not "
        f"counted; where the second takes more than {SLOW:g} s too, it is the last. Every solver is asked for a gradient norm "
        f"of {TOLERANCE:g}; the norms "
        "here are computed apart, from the formulas. Memory is the high-water mark of the first call above what the data take; "
        "without the compiler's library, some 100 MB, which our process has loaded before. "
        f"{processor()}. {load()}.",
        rows,
    )

    sizes = [100] if quick else SIZES
    yield Table(
        "Fréchet means of few records and many, in every space",
        "CPU seconds (median) as above, of the fastest peer and of NumPy as one would write it by hand for this space alone, "
        "without checks (benchmarks/plain.py). Each process has made a few means of 20 records before, with which ours loads "
        "its compiled loops.",
        [_every(kind, size, n, 2 if quick else 3) for n in sizes for kind, size in SPACES],
    )


def _every(kind: str, size: int, n: int, rounds: int) -> Row:
    case = Case(kind, size, n, "covariances" if kind == "spd" else "")
    seconds, solvers, _ = _timed(case, rounds, (*PEERS, "NumPy"))
    peers = {name: seconds[name] for name in PEERS if name in seconds}
    fastest = min(peers, key=lambda name: peers[name], default=None)
    ours = seconds["sfumato"]
    norm = gradient_norm(kind, solvers["sfumato"].mean, case.points())
    wanted = LARGEST.get((kind, size), SIZES[n]) if n == 10**5 else SIZES[n]
    peer = peers[fastest] / ours if fastest else None
    by_hand = seconds["NumPy"] / ours if "NumPy" in seconds else None
    return {
        "case": case.name,
        "ours, ms": 1000 * ours,
        "fastest peer": fastest or "none within a minute",
        "peer over ours": peer,
        "wanted": wanted,
        "NumPy over ours": by_hand,
        "at least": 1.0,
        "gradient, ours": norm,
        "met": norm <= TOLERANCE and (peer is None or peer >= wanted) and (by_hand is None or by_hand >= 1),
    }


def _timed(
    case: Case, rounds: int, names: tuple[str, ...]
) -> tuple[dict[str, float], dict[str, Timed], dict[str, str]]:
    """The seconds of ours and of others, their processes with their answers, and why some are absent."""
    solvers: dict[str, Timed] = {}
    absent = {peer: why for peer in names if (why := LACKS.get((peer, case.kind)))}
    with TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder, "points.npy")
        np.save(file, case.points())
        for name in ("sfumato", *(peer for peer in names if peer not in absent)):
            try:
                solvers[name] = stack.enter_context(Timed(name, case.kind, case.size, file, TOLERANCE))
            except Stopped as error:
                absent[name] = str(error)
        # a first call may have compiled
        seconds = {name: one.seconds if one.seconds < SLOW else one.run() for name, one in solvers.items()}
        seconds |= alternate({name: solvers[name].run for name in solvers if seconds[name] < SLOW}, rounds)
    return seconds, solvers, absent


def _compare(case: Case, wanted: dict[str, float], rounds: int) -> list[Row]:
    seconds, solvers, absent = _timed(case, rounds, PEERS)
    points = case.points()
    norms = {name: gradient_norm(case.kind, solver.mean, points) for name, solver in solvers.items()}
    rows: list[Row] = []
    for peer in PEERS:
        row: Row = {
            "case": case.name,
            "peer": f"{peer} {solvers[peer].version}" if peer in solvers else f"{peer}: {absent[peer]}",
            "peer, s": seconds.get(peer),
            "ours, s": seconds["sfumato"],
            "peer over ours": seconds[peer] / seconds["sfumato"] if peer in solvers else None,
            "wanted": wanted.get(peer),
            "met": None,
            "gradient, peer": norms.get(peer),
            "gradient, ours": norms["sfumato"],
            "peer, MB": solvers[peer].memory / 2**20 if peer in solvers else None,
            "ours, MB": solvers["sfumato"].memory / 2**20,
        }
        if peer in wanted and peer in solvers:
            met = seconds[peer] >= wanted[peer] * seconds["sfumato"] and norms["sfumato"] <= TOLERANCE
            row = {**row, "met": met}
        rows.append(row)
    return rows


def passes(quick: bool) -> Iterator[Table]:
    """A pass over the data against a plain read of them, and the growth in n."""
    cases = [case for case, _ in (QUICK if quick else CASES)]
    yield Table(
        "Passes over the data",
        "CPU seconds (median) of a whole call over the passes that it makes, against the time NumPy takes to read the same "
        "array once (`points.sum()`).",
        [_pass_row(case, quick) for case in [*cases, Case("sphere", 2, 10**5 if quick else 10**7)]],
    )
    clipped = [("sphere", 2, 10**7), ("sphere", 99, 10**4), ("shapes", 50, 10**4), ("spd", 3, 20_000), ("spd", 8, 2000)]
    yield Table(
        "Clipped records",
        "CPU seconds (median, taking turns) of `Ball.clip` where no record is outside, where 12.6% are, and where all are; "
        "judged is the second over the first, which tells how many were clipped. On S², the same of a mean: of float32 "
        "numbers, and with one record that is too long by 1e-9, over the mean of float64 unit vectors.",
        [row for one in clipped for row in _clip_rows(Case(*one[:2], min(one[2], 2000) if quick else one[2]), quick)],
    )
    yield _growth([10**4, 10**5] if quick else [10**4, 10**5, 10**6, 10**7], judge=not quick)


def _pass_row(case: Case, quick: bool) -> Row:
    import sfumato as sf

    space, points, options = space_of(case.kind, case.size), case.points(), mean_options(TOLERANCE)
    mean = sf.frechet_mean(space, points, **options)
    count = int(getattr(mean, "passes", mean.iterations + 1))
    runs = {"mean": cpu(lambda: sf.frechet_mean(space, points, **options)), "read": cpu(points.sum)}
    seconds = alternate(runs, 2 if quick else 5)
    ratio = seconds["mean"] / count / seconds["read"]
    wanted = 4.0 if case.n == 10**7 else None
    return {
        "case": case.name,
        "mean, s": seconds["mean"],
        "passes": count,
        "a pass, s": seconds["mean"] / count,
        "a read, s": seconds["read"],
        "pass over read": ratio,
        "mean over read": seconds["mean"] / seconds["read"],
        "at most": wanted,
        "met": None if wanted is None else ratio <= wanted,
    }


def _clip_rows(case: Case, quick: bool) -> Iterator[Row]:
    import sfumato as sf

    space, points, options = space_of(case.kind, case.size), case.points(), mean_options(TOLERANCE)
    distances = sf.Ball(space, case.center(), 1.0).distances(space.validate(points))
    radii = {"none outside": 1.01 * case.radius, "12.6% outside": float(np.quantile(distances, 0.874))}
    balls = {name: sf.Ball(space, case.center(), radius) for name, radius in radii.items()}
    balls["all outside"] = sf.Ball(space, case.center(), 0.99 * float(distances.min()))
    runs = {name: cpu(lambda ball=ball: ball.clip(points)) for name, ball in balls.items()}  # type: ignore[misc]
    runs["mean"] = cpu(lambda: sf.frechet_mean(space, points, **options))
    if case.kind == "sphere" and case.size == 2:
        single, one_off = points.astype(np.float32), points.copy()
        one_off[7] *= 1 + 1e-9
        runs["mean of float32"] = cpu(lambda: sf.frechet_mean(space, single, **options))
        runs["mean with one too long"] = cpu(lambda: sf.frechet_mean(space, one_off, **options))
    for run in runs.values():
        run()  # what must be compiled is
    seconds = alternate(runs, 2 if quick else 5)
    for name, taken in seconds.items():
        ratio = taken / seconds["none outside"] if name in ("12.6% outside", "all outside") else None
        judged = name == "12.6% outside" and not quick
        yield {
            "case": f"{case.name}: {name}",
            "s": taken,
            "over the mean": taken / seconds["mean"],
            "over none outside": ratio,
            "at most": 1.2 if judged else None,
            "met": ratio is not None and ratio <= 1.2 if judged else None,
        }


def _growth(sizes: list[int], judge: bool) -> Table:
    """A pass is judged; a whole mean has fixed costs beside, which make its slope smaller."""
    import sfumato as sf

    space, options = space_of("sphere", 2), mean_options(TOLERANCE)
    points = Case("sphere", 2, max(sizes)).points()
    base = sf.frechet_mean(space, points[: sizes[0]]).point
    runs = {f"mean {n}": cpu(lambda n=n: sf.frechet_mean(space, points[:n], **options)) for n in sizes}  # type: ignore[misc]
    runs |= {f"pass {n}": cpu(lambda n=n: space.moments(base, points[:n])) for n in sizes}  # type: ignore[misc]
    seconds = alternate(runs, 7)
    slopes = {
        what: float(np.polyfit(np.log(sizes), np.log([seconds[f"{what} {n}"] for n in sizes]), 1)[0])
        for what in ("mean", "pass")
    }
    over = {n: seconds[f"mean {n}"] / seconds[f"pass {n}"] / 2 for n in sizes}
    rows: list[Row] = [
        {
            "S^2, n": n,
            "a mean, s": seconds[f"mean {n}"],
            "a pass, s": seconds[f"pass {n}"],
            "pass, ns a record": 1e9 * seconds[f"pass {n}"] / n,
            "a mean over two passes": over[n],
            "wanted": f"at most {ALL:g}" if judge and n == 10**5 else None,
            "met": over[n] <= ALL if judge and n == 10**5 else None,
        }
        for n in sizes
    ]
    last: Row = {"S^2, n": "log–log slope", "a mean, s": slopes["mean"], "a pass, s": slopes["pass"]}
    met = 0.9 <= slopes["pass"] <= 1.1
    rows.append({**dict.fromkeys(rows[0]), **last} | ({"wanted": "0.9 to 1.1", "met": met} if judge else {}))
    return Table(
        "Growth in n",
        "CPU seconds (median) for the first n of the same records. Judged are the slope of a pass, and at 10^5 a whole mean, "
        "which is two passes, checks and the rest, over two passes.",
        rows,
    )
