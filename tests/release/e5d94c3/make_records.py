"""Records that commit e5d94c3 wrote, one of every kind: how they were made, and what is compared of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.findings.classes import ClassMeans

HERE = Path(__file__).parent
KINDS: dict[str, Any] = {kind.format: kind for kind in (sf.Comparison, sf.Components, ClassMeans)}
BY_MECHANISM: dict[str, Any] = {
    "kng": sf.SPD(size=2),
    "laplace": sf.Hyperbolic(dim=2),
    "staircase": sf.Sphere(dim=2, curvature=2.5),
    "exponential": sf.Euclidean(dim=1),
    "tangent": sf.SPD(size=2, metric="log-cholesky"),
    "ambient-laplace": sf.Sphere(dim=2),
    "pointwise-laplace": sf.PlanarShapes(landmarks=4),
}
MORE_SPACES: tuple[Any, ...] = (
    sf.SPD(size=2, metric="log-euclidean"),
    sf.SPD(size=2, metric="bures-wasserstein"),
    sf.Correlation(size=3),
    sf.DiagonalSPD(size=2),
    sf.Shapes3D(landmarks=4, reflections=True),
    sf.SizeAndShape(landmarks=3, dim=2),
    sf.ElasticCurves(points=4, closed=False),
    sf.Grassmann(n=3, p=2),
    sf.Stiefel(n=3, p=2),
    sf.Simplex(parts=3),
    sf.Simplex(parts=3, metric="aitchison"),
    sf.Torus(dim=1),
    sf.Rotations(),
    sf.Axes(dim=1),
    sf.Product(sf.Sphere(dim=1), sf.Euclidean(dim=1), weights=[1, 0.5]),
)


def facts(found: Any) -> dict[str, Any]:
    """Return what is compared of a release or a finding."""
    if isinstance(found, sf.Comparison):
        groups = {name: facts(release) for name, release in found.groups.items()}
        return {"sha256": found.sha256, "epsilon": found.epsilon, "groups": groups}
    if isinstance(found, sf.Components):
        more = {"variances": found.variances.tolist(), "intervals": found.intervals().tolist()}
        return {"sha256": found.sha256, "release": facts(found.release), **more}
    if isinstance(found, ClassMeans):
        more = {"classes": found.classes, "epsilon": found.guarantee.epsilon, "middle": found.middle}
        more |= {"size": found.size, "means": found.means.tolist()}
        return {"sha256": found.sha256, "directions": facts(found.directions), **more}
    numbers = {"n": found.n, "epsilon": found.guarantee.epsilon, "sigma": found.calibration.sigma}
    value = {"mechanism": found.mechanism.name, "value": found.value.tolist()}
    if "objective" in found.mechanism.options:
        return {"sha256": found.sha256, **value, **numbers}
    errors = {str(p): found.noise(p) for p in (0.95,)}
    spread = {} if found.spread is None else {"region": found.region().radius}
    return {"sha256": found.sha256, **value, **numbers, "errors": errors, **spread}


def load(path: Path) -> Any:
    """Read a file as what its format says."""
    kind = KINDS.get(json.loads(path.read_text(encoding="utf-8"))["format"], sf.Release)
    return kind.load(path)


def some(space: Any, n: int, spread: float = 0.2) -> Any:
    """Return records about the origin of a space."""
    origin = space.origin()
    rng = np.random.default_rng(3)
    vectors = rng.normal(0.0, spread / np.sqrt(space.dim), (n, space.dim))
    return space.present(space.exp(origin, space.from_coordinates(origin, vectors)))


def mean(space: Any, mechanism: str = "auto", **how: Any) -> sf.Release:
    """Return a mean in a ball about the origin."""
    return sf.private_mean(some(space, 90), a_ball(space), 1.0, mechanism, allow_useless=True, **how)


def a_ball(space: Any, radius: float = 0.5) -> sf.Ball:
    """Return a ball about the origin."""
    return sf.Ball(space, space.present(space.origin()), radius)


def own_objective() -> sf.Objective:
    """Return the Fréchet mean of a flat space as a user's own objective."""
    return sf.Objective(
        gradient=lambda x, points: x - points.mean(axis=0),
        sensitivity=lambda n: 1.0 / n,
        start=lambda points: points.mean(axis=0),
        envelope=lambda radius, points: radius,
        statistic="minimiser of my objective",
    )


def every_mechanism() -> Iterator[tuple[str, Any]]:
    """Release by every mechanism, and in every space."""
    for name, space in BY_MECHANISM.items():
        yield name, mean(space, name)
    yield "degrees", mean(sf.Sphere(dim=2)).in_degrees()
    plane = sf.Euclidean(dim=2)
    yield "own-objective", sf.KNG(a_ball(plane), 1.0, objective=own_objective()).release(some(plane, 90))
    for space in MORE_SPACES:
        made = mean(space)
        yield f"space-{made.space.name}", made


def every_compound() -> Iterator[tuple[str, Any]]:
    """Release what is made of several parts."""
    wide = sf.Euclidean(dim=10)
    long = 1.5 ** -np.arange(10)
    sample = sf.Ellipsoid.from_sample(wide, some(wide, 40) * long)
    yield "look-fits-inference", sf.private_mean(some(wide, 2000) * long, sample, 1.0, inference=0.1)
    yield "look-does-not-fit", sf.private_mean(some(wide, 2000) * long[::-1] + 0.1, sample, 1.0)
    sphere = sf.Sphere(dim=2)
    points = some(sphere, 400)
    people = np.arange(400) // 2
    ball = a_ball(sphere)
    prior = a_ball(sphere, 1.2)
    chart = sf.Ellipsoid(sphere, sphere.present(sphere.origin()), [0.5, 0.3])
    yield "inference", sf.private_mean(points, ball, 1.0, inference=0.1)
    yield "two-steps", sf.private_mean(points, chart, 1.0, steps=2)
    yield "two-steps-inference", sf.private_mean(points, ball, 1.0, steps=2, inference=0.2)
    yield "prior", sf.private_mean(points, None, 1.0, prior=prior)
    yield "prior-radius", sf.private_mean(points, None, 1.0, prior=prior, find="radius")
    plane = sf.Euclidean(dim=2)
    found = sf.find_region(some(plane, 400), a_ball(plane, 2.0), 1.0)
    yield "found-ball-chart", sf.private_mean(some(plane, 400), found, 1.0, "tangent")
    yield "found-ball-kng", sf.private_mean(some(plane, 400), found, 1.0, "kng")
    yield "people", sf.private_mean(points, chart, 1.0, unit=people, unit_name="one volunteer")


def every_finding(budget: sf.Ledger) -> Iterator[tuple[str, Any]]:
    """Release what is no mean, or several."""
    sphere = sf.Sphere(dim=2)
    points = some(sphere, 400)
    people = np.arange(400) // 2
    ball = a_ball(sphere)
    chart = sf.Ellipsoid(sphere, sphere.present(sphere.origin()), [0.5, 0.3])
    released = sf.private_mean(points, ball, 1.0, "tangent", budget=budget)
    yield "mean", released
    yield "variance", sf.private_variance(points, released, 1.0, reach=0.7, budget=budget)
    size = sf.private_size(np.random.default_rng(5).normal(size=(200, 4, 2)), 1.0, 6.0, 1.0, budget=budget)
    yield "size", size.mean
    yield "size-variance", size.variance
    yield "components", sf.private_components(points, chart, 1.0, components=1, allow_useless=True, budget=budget)
    yield "comparison", sf.compare_groups(points, people % 2, ball, 1.0, unit=people, budget=budget)
    one = sf.PrivateMDM(region=ball, epsilon=1.0, allow_useless=True)
    yield "classes-one-each", one.fit(points, people % 2).release_
    all_each = sf.PrivateMDM(region=chart, epsilon=1.0, unit=people, allow_useless=True)
    yield "classes-all-each", all_each.fit(points, np.arange(400) % 2).release_
    sf.private_radius(points, ball, 0.5, budget=budget)


if __name__ == "__main__":
    expected = {}
    ledger = sf.Ledger.create(HERE / "study.ledger", 9, "directions")
    for name, made in [*every_mechanism(), *every_compound(), *every_finding(ledger)]:
        made.save(HERE / f"{name}.json", overwrite=False)
        expected[name] = facts(made)
    book = ledger.verify()
    lines = [[line.kind, line.epsilon] for line in book.entries]
    expected["study.ledger"] = {"head": book.head, "left": str(ledger.left), "lines": lines}
    text = json.dumps(expected, ensure_ascii=False).replace('}, "', '},\n"')
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
