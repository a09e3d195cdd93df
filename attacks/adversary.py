"""``python -m attacks --only adversary``: search for data that break the proven bounds.

Random restarts with local optimisation look for (1) a larger spread of logarithms than A, (2) a larger divergence than B and
its localised form, (3) neighbours whose computed means are farther apart than the Laplace's scale allows, (4) on the sphere
S², neighbours and a point whose log density ratio, normalisers included and computed by quadrature, exceeds ε.  Each search
prints what it found over the bound: a ratio above 1 is a counterexample.  The paper's own scale on the sphere is convicted by
(4).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attacks.arenas import SPACES, largest_radius
from attacks.checks import Case, Found, Settings, seed_of
from sfumato.audit.exact import center_loss
from sfumato.laws.bounds import bounds_of
from sfumato.laws.calibration import Calibration, kng_scale
from sfumato.means.frechet import solve
from sfumato.mechanisms import ManifoldLaplace
from sfumato.numerics.arrays import Array, Points
from sfumato.records import Records
from sfumato.regions.ball import Ball
from sfumato.spaces import SPD, PlanarShapes, Sphere
from sfumato.spaces.base import Space

Objective = Callable[[Array], float]


def maximise(objective: Objective, dimension: int, restarts: int, rng: np.random.Generator, steps: int = 150) -> float:
    """The largest value found by Powell's method, each time from the best of 30 random starts."""
    from scipy.optimize import minimize

    best = -np.inf
    for _ in range(restarts):
        start = max(rng.normal(size=(30, dimension)) * 1.5, key=objective)
        options = {"maxfev": steps * dimension, "xtol": 1e-6, "ftol": 1e-9}
        found = minimize(lambda z: -objective(z), start, method="Powell", options=options)
        best = max(best, -float(found.fun))
    return best


def in_ball(space: Space, center: Points, radius: float, z: Array) -> Points:
    """A point of the ball from unrestricted coordinates; the boundary is reached at length π/2."""
    length = float(np.linalg.norm(z))
    scaled = z * (radius * np.sin(min(length, np.pi / 2)) / length) if length > 0 else z
    return space.exp(center, space.from_coordinates(center, scaled))


def spread_ratio(space: Space, r: float, R: float, restarts: int, rng: np.random.Generator) -> float:
    """Largest ‖log_x y − log_x y'‖ found, over A(r, R)."""
    d, p0 = space.dim, space.origin()

    def objective(z: Array) -> float:
        x = in_ball(space, p0, R, z[:d])
        y = np.stack([in_ball(space, p0, r, z[d : 2 * d]), in_ball(space, p0, r, z[2 * d :])])
        a = space.log(x, y)
        return float(space.norm(x, a[0] - a[1]))

    return maximise(objective, 3 * d, restarts, rng) / bounds_of(space).log_spread(r, R)


def divergence(space: Space, x: Points, data: Points, weights: Array, pair: Points, h: float = 1e-4) -> float:
    """div(H⁻¹a) at x by finite differences alone: the Hessian H and the change of b = H⁻¹a both from neighbouring points,
    whose vectors are carried over by parallel transport."""
    frame = np.concatenate([np.eye(space.dim), -np.eye(space.dim)])

    def field(at: Points) -> Points:
        around = space.exp(at, space.from_coordinates(at, h * frame))
        gradients = transport_back(space, at, around, -space.mean_log(around, data, weights))
        hessian = (gradients[: space.dim] - gradients[space.dim :]) / (2 * h)
        logs = space.log(at, pair)
        a = space.coordinates(at, logs[0] - logs[1])
        return space.from_coordinates(at, np.asarray(np.linalg.solve((hessian + hessian.T) / 2, a), dtype=np.float64))

    step = 10 * h
    around = space.exp(x, space.from_coordinates(x, step * frame))
    b = transport_back(space, x, around, np.stack([field(point) for point in around]))
    return float(np.trace(b[: space.dim] - b[space.dim :])) / (2 * step)


def transport_back(space: Space, x: Points, ends: Points, vectors: Points) -> Array:
    """Coordinates at x of tangent vectors at nearby points, parallel along geodesics (pole ladder, one rung)."""
    ones = (1,) * len(space.point_shape)
    middle = space.exp(x, space.log(x, ends) / 2)
    scale = 1e-3 / np.maximum(space.norm(ends, vectors), 1e-12)
    tips = space.exp(ends, scale.reshape(-1, *ones) * vectors)
    reflected = space.exp(middle, -space.log(middle, tips))
    return np.asarray(-space.coordinates(x, space.log(x, reflected)) / scale[:, None])


def divergence_ratio(
    space: Space, r: float, R: float, restarts: int, rng: np.random.Generator, u: float | None = None, steps: int = 20
) -> float:
    """Largest |div(H⁻¹a)| found on B_R over B(r, R); with ``u``, at distance u from the mean over the localised bound."""
    d, p0, clusters = space.dim, space.origin(), 2

    def objective(z: Array) -> float:
        parts = z[: (3 + clusters) * d].reshape(-1, d)
        data = np.stack([in_ball(space, p0, r, part) for part in parts[3:]])
        weights = np.exp(np.clip(z[(3 + clusters) * d :], -5, 5))
        weights = weights / weights.sum()
        pair = np.stack([in_ball(space, p0, r, part) for part in parts[1:3]])
        if u is None:
            x = in_ball(space, p0, R, parts[0])
        else:
            mean = solve(Records(space, data, weights)).point
            x = space.exp(mean, space.from_coordinates(mean, u * parts[0] / np.linalg.norm(parts[0])))
        return abs(divergence(space, x, data, weights, pair))

    bound = (
        bounds_of(space).divergence_bound(r, R)
        if u is None
        else float(bounds_of(space).local_divergence_bound(r, np.array([u]), R)[0])
    )
    return maximise(objective, (3 + clusters) * d + clusters, restarts, rng, steps) / bound


def mean_ratio(mechanism: ManifoldLaplace, n: int, restarts: int, rng: np.random.Generator, steps: int = 150) -> float:
    """Largest loss found for neighbouring data sets, two clusters and a record that moves, over ε: by the centres that the
    Laplace computes for them."""
    ball, space, d = mechanism.ball, mechanism.space, mechanism.space.dim

    def objective(z: Array) -> float:
        points = np.stack([in_ball(space, ball.center, ball.radius, part) for part in z[: 4 * d].reshape(-1, d)])
        share = round(float((n - 1) / (1 + np.exp(-np.clip(z[4 * d], -50, 50)))))
        sides = (np.repeat(points, [*one, share, n - 1 - share], axis=0) for one in ((1, 0), (0, 1)))
        return center_loss(mechanism, *sides)

    return maximise(objective, 4 * d + 1, restarts, rng, steps) / mechanism.privacy.pure


# -- the whole privacy loss on S², by quadrature -------------------------------------------------------------------------
def sphere_log_density(data: Points, weights: Array, sigma: float, R: float, x: Points, angles: int = 48) -> Array:
    """log of the normalised KNG density on B_R(north pole) at points x of S²: polar quadrature about the mean, with cells of
    the length of σ near it."""
    space = Sphere(dim=2)
    pole = space.origin()
    mean = solve(Records(space, data, weights)).point
    theta = 2 * np.pi * (np.arange(angles) + 0.5) / angles
    directions = space.from_coordinates(mean, np.stack([np.cos(theta), np.sin(theta)], axis=1))
    # where each ray leaves the ball: cos R = ⟨m, p⟩cos t + ⟨u, p⟩sin t
    along, across = float(mean @ pole), directions @ pole
    leave = np.arctan2(across, along) + np.arccos(np.clip(np.cos(R) / np.hypot(along, across), -1, 1))
    nodes, node_weights = np.polynomial.legendre.leggauss(10)
    knots = sigma * np.array([0, 0.5, 1, 2, 3, 4.5, 6, 8, 10, 13, 17, 22, 30, 45, 70, 110])
    edges = np.minimum(knots[None], leave[:, None])
    edges = np.concatenate([edges, leave[:, None]], axis=1)
    low, half = edges[:, :-1, None], np.diff(edges)[:, :, None] / 2
    radius, weight = low + half * (1 + nodes), half * node_weights
    nodes_x = (np.cos(radius)[..., None] * mean + np.sin(radius)[..., None] * directions[:, None, None]).reshape(-1, 3)
    energy = np.linalg.norm(space.mean_log(nodes_x, data, weights), axis=1) / sigma
    total = float(np.sum(weight.ravel() * np.sin(radius).ravel() * np.exp(-energy))) * 2 * np.pi / angles
    return np.asarray(-np.linalg.norm(space.mean_log(x, data, weights), axis=1) / sigma - np.log(total))


def privacy_loss(z: Array, n: int, r: float, R: float, sigma: float, output: Points) -> float:
    """The largest |log f_D(x) − log f_D'(x)| over the points ``output``, D and D' being n records: one that moves and two
    clusters."""
    space = Sphere(dim=2)
    pole = space.origin()
    data = np.stack([in_ball(space, pole, r, part) for part in z[:8].reshape(4, 2)])
    share = round(float((n - 1) / (1 + np.exp(-z[8]))))
    first, second = (np.array([a, b, share, n - 1 - share]) / n for a, b in ((1, 0), (0, 1)))
    loss = sphere_log_density(data, first, sigma, R, output) - sphere_log_density(data, second, sigma, R, output)
    return float(np.abs(loss).max())


def sphere_grid(R: float, rings: int, spokes: int) -> Points:
    radius = np.repeat(np.linspace(0, R, rings), spokes)
    angle = np.tile(2 * np.pi * np.arange(spokes) / spokes, rings)
    return np.stack([np.sin(radius) * np.cos(angle), np.sin(radius) * np.sin(angle), np.cos(radius)], axis=1)


def loss_ratio(
    n: int,
    r: float,
    calibration: Calibration,
    restarts: int,
    rng: np.random.Generator,
    epsilon: float = 1.0,
    steps: int = 40,
) -> float:
    """Largest privacy loss found on S² over ε."""
    scale = kng_scale(Sphere(dim=2), r, n, epsilon, calibration)
    coarse, fine = sphere_grid(scale.region, 12, 36), sphere_grid(scale.region, 48, 240)
    best, best_z = -np.inf, np.zeros(9)

    def objective(z: Array) -> float:
        nonlocal best, best_z
        loss = privacy_loss(z, n, r, scale.region, scale.sigma, coarse)
        if loss > best:
            best, best_z = loss, z.copy()
        return loss

    maximise(objective, 9, restarts, rng, steps)
    return privacy_loss(best_z, n, r, scale.region, scale.sigma, fine) / epsilon


Search = Callable[[], float]


def widest_mean_ratio(space: Space, n: int, share: float, steps: int, restarts: int, rng: np.random.Generator) -> float:
    """:func:`mean_ratio` in a ball of a share of the largest radius that the Laplace takes."""
    radius = share * largest_radius(ManifoldLaplace, space, n)
    return mean_ratio(ManifoldLaplace(Ball(space, space.present(space.origin()), radius), 1.0), n, restarts, rng, steps)


def all_searches(k: int, settings: Settings) -> list[tuple[str, Search]]:
    """Each with its name, from so many random starts; those that run a solver from one."""
    sphere, shapes, spd, disk, turns, axes = (
        SPACES[name][0] for name in ("sphere", "shapes", "spd", "hyperbolic", "rotations", "axes")
    )
    searches: list[tuple[str, Search]] = []

    def add(label: str, search: Callable[..., float], *arguments: object, u: float | None = None) -> None:
        rng, starts = np.random.default_rng(seed_of(settings, label)), 1 if search is widest_mean_ratio else k
        searches.append((label, partial(search, *arguments, starts, rng, **({} if u is None else {"u": u}))))

    for space, r, R in (
        (sphere, 0.39, 0.7), (Sphere(dim=3), 0.6, 0.8), (sphere, 1.5, 1.5), (shapes, 0.2, 0.35), (shapes, 0.75, 0.75),
        (spd, 1.5, 2.5), (disk, 1.0, 1.5), (turns, 0.5, 0.9), (axes, 0.3, 0.4),
    ):  # fmt: skip
        add(f"spread of logs / A, {space}, r={r}, R={R}", spread_ratio, space, r, R)
    for space, r, R in (
        (sphere, 0.2, 0.4), (sphere, 0.39, 0.7), (sphere, 0.75, 0.78), (PlanarShapes(landmarks=3), 0.1, 0.2),
        (shapes, 0.2, 0.35), (shapes, 0.37, 0.39), (disk, 0.5, 1.0), (turns, 0.5, 0.9),
        (spd, 0.5, 1.0), (SPD(size=3), 0.5, 1.0),
    ):  # fmt: skip
        where = f"{space}, r={r}, R={R}"
        add(f"divergence / B, {where}", divergence_ratio, space, r, R)
        add(f"the same {(R - r) / 2:g} from the mean, {where}", divergence_ratio, space, r, R, u=(R - r) / 2)
    for space, n in (
        (sphere, 1000),
        (Sphere(dim=3), 20),
        (shapes, 1000),
        (axes, 100),
        (turns, 100),
        (disk, 100),
        (spd, 50),
    ):
        for share in (0.25, 0.7, 0.999):
            label = f"move of the computed mean / bound, {space}, {share:g} of the largest radius, n={n}"
            add(label, widest_mean_ratio, space, n, share, 30 if settings.quick else 150)
    claims: list[tuple[Calibration, int, float]] = [
        *(("certified", n, np.pi / 8) for n in (20, 50, 100, 200)),
        ("certified", 50, 0.99 * np.pi / 4),
        ("as run", 10, np.pi / 8),
    ]
    for calibration, n, r in claims:
        add(f"privacy loss / ε, S², {calibration}, r={r:.4g}, n={n}", loss_ratio, n, r, calibration)
    return searches


def ratio(search: Search) -> Found:
    """Every ratio is at most 1, to four digits as some reach their bound."""
    found = round(search(), 4)
    return Found(found <= 1, f"largest ratio {found:.4f}", {"found": found, "power": 1.0})  # of what is computed


def cases(settings: Settings) -> list[Case]:
    """Each search from two random starts; the paper's own scale must be refuted."""
    searches = all_searches(1 if settings.quick else 2, settings)
    return [Case(label, partial(ratio, search), "as run" in label) for label, search in searches]
