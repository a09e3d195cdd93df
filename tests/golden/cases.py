"""Releases that are replayed: from a handed-in generator each gives the lattice point, scales and charge that it always gave.

``PYTHONPATH=tests python tests/golden/cases.py`` writes ``golden.json`` anew.  Do that only where a release is meant to change,
and say why in the commit.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from conftest import CHOSEN, cloud, typical_radius
from sfumato.app import cli
from sfumato.laws.sampling import replaying
from sfumato.mechanisms.choice import MECHANISMS
from sfumato.spaces.base import Space

GOLDEN = Path(__file__).with_name("golden.json")
N = 60
Facts = dict[str, Any]


def lattice(release: sf.Release) -> list[int]:
    """Return the whole numbers that a release is a function of."""
    space, spacing = release.space.known, release.lattice_spacing
    if release.chart is not None and release.chart.point is not None:
        where = np.asarray(release.chart.point)
    elif release.on_manifold and space is not None:
        center, raw = (space.validate(np.asarray(point)[None])[0] for point in (release.ball.center, release.raw))
        where = space.coordinates(center, space.log(center, raw[None]))[0]
    else:
        where = np.asarray(release.raw)
    return [round(number) for number in (where / spacing).ravel().tolist()]


def facts(found: Any) -> Facts:
    """Return what is compared of a release, a comparison, or another finding."""
    if isinstance(found, sf.Release):
        spread = {} if found.spread is None else {"second_moment": found.spread.second_moment}
        numbers = {
            "sigma": found.calibration.sigma,
            "spacing": found.lattice_spacing,
            "epsilon": found.guarantee.epsilon,
        }
        numbers |= {"n": found.n, "delta": found.guarantee.numerical_delta, "error": found.noise(0.95)}
        return {"mechanism": found.mechanism.name, "lattice": lattice(found), **numbers, **spread}
    if hasattr(found, "groups"):
        return {name: facts(release) for name, release in found.groups.items()}
    if hasattr(found, "directions") and isinstance(found.directions, sf.Release):
        return {**facts(found.directions), "middle": found.middle, "size": found.size}
    if isinstance(found, tuple):
        return {str(i): facts(part) for i, part in enumerate(found)}
    if hasattr(found, "release"):
        return facts(found.release)
    return {"center": np.asarray(found.space.present(found.center)).ravel().tolist(), "radius": found.radius}


class Charges:
    """A budget that notes what it was charged."""

    def __init__(self) -> None:
        self.spent: list[float] = []

    def charge(self, facts: Any, record: Any, /) -> None:
        self.spent.append(facts.epsilon)


def replayed(make: Callable[[Charges], Any]) -> Facts:
    """Return the facts of a release with its charges; of a refusal, its kind."""
    budget = Charges()
    with replaying(np.random.default_rng(7)):
        try:
            return {**facts(make(budget)), "charges": budget.spent}
        except sf.SfumatoError as error:
            return {"refused": type(error).__name__, "charges": budget.spent}


def a_ball(space: Space) -> sf.Ball:
    return sf.Ball(space, space.present(space.origin()), typical_radius(space))


def some(space: Space, n: int = N) -> Any:
    """Return records as users type them, some of them outside of the ball."""
    rng = np.random.default_rng(3)
    return space.present(cloud(space, space.origin(), 1.1 * typical_radius(space), n, rng))


def by_mechanism() -> Iterator[tuple[str, Facts]]:
    """Every mechanism on every space."""
    for space in [space for spaces in CHOSEN.values() for space in spaces]:
        points, ball = some(space), a_ball(space)
        for name in MECHANISMS:
            how = {"mechanism": name, "allow_useless": True}
            yield (
                f"{name} on {space}",
                replayed(lambda b, p=points, r=ball, how=how: sf.private_mean(p, r, 1.0, budget=b, **how)),
            )


def compound() -> Iterator[tuple[str, Facts]]:
    """Every release that is made of several parts."""
    for space in (sf.Sphere(dim=2), sf.SPD(size=3), sf.PlanarShapes(landmarks=8), sf.Euclidean(dim=12)):
        yield from _compound_on(space)
    shapes = np.random.default_rng(5).normal(size=(200, 6, 2))
    yield "size", replayed(lambda b: sf.private_size(shapes, 1.0, 6.0, 1.0, budget=b))


def _compound_on(space: Space) -> Iterator[tuple[str, Facts]]:
    points, ball = some(space, 400), a_ball(space)
    sketch = sf.Ellipsoid.from_sample(space, some(space, 40))
    chart = sf.Ellipsoid(space, space.present(space.origin()), np.linspace(0.3, 0.1, 3)[: space.dim])
    people, group = np.arange(400) // 2, np.arange(400) // 2 % 2
    how: dict[str, Any] = {"allow_useless": True}
    makers: dict[str, Callable[[Charges], Any]] = {
        "a sample, with its look": lambda b: sf.private_mean(points, sketch, 1.0, budget=b, **how),
        "a sample, with inference": lambda b: sf.private_mean(points, sketch, 1.0, budget=b, inference=0.1, **how),
        "an ellipsoid in two steps": lambda b: sf.private_mean(points, chart, 1.0, budget=b, steps=2, **how),
        "two steps with inference": lambda b: sf.private_mean(
            points, ball, 1.0, budget=b, steps=2, inference=0.2, **how
        ),
        "a prior": lambda b: sf.private_mean(points, None, 1.0, prior=ball, budget=b, **how),
        "a prior, radius alone": lambda b: sf.private_mean(
            points, None, 1.0, prior=ball, find="radius", budget=b, **how
        ),
        "people in a ball": lambda b: sf.private_mean(points, ball, 1.0, "tangent", unit=people, budget=b, **how),
        "people in an ellipsoid": lambda b: sf.private_mean(points, chart, 1.0, unit=people, budget=b, **how),
        "auto": lambda b: sf.private_mean(points, ball, 1.0, budget=b, **how),
        "find_region": lambda b: sf.find_region(points, ball, 1.0, budget=b),
        "private_radius": lambda b: sf.private_radius(points, ball, 1.0, budget=b),
        "groups": lambda b: sf.compare_groups(points, group, ball, 1.0, unit=people, budget=b, **how),
        "components": lambda b: sf.private_components(points, chart, 1.0, components=1, budget=b, **how),
        "variance": lambda b: sf.private_variance(
            points, sf.private_mean(points, ball, 1.0, "tangent", **how), 1.0, reach=1.0, budget=b
        ),
        "classes, one each": lambda b: (
            sf.PrivateMDM(region=ball, epsilon=1.0, budget=b, **how).fit(points, group).release_
        ),
        "classes, all each": lambda b: (
            sf.PrivateMDM(region=chart, epsilon=1.0, budget=b, **how)
            .fit(points, np.arange(400) % 2, unit=people)
            .release_
        ),
    }
    for name, make in makers.items():
        yield f"{name} on {space}", replayed(make)


def commands() -> Iterator[tuple[str, Facts]]:
    """Every command that releases, from files."""
    space = sf.PlanarShapes(landmarks=8)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for name, specimens in (("wings", some(space, 300)), ("public", some(space, 40)), ("center", some(space, 1))):
            blocks = [
                ["LM=8", *(f"{x!r} {y!r}" for x, y in one), f"ID={i}"] for i, one in enumerate(specimens.tolist())
            ]
            (here / f"{name}.tps").write_text("\n".join(line for block in blocks for line in block) + "\n")
        rows = sf.Sphere(dim=2).present(
            cloud(sf.Sphere(dim=2), sf.Sphere(dim=2).origin(), 0.5, 200, np.random.default_rng(1))
        )
        table = [f"{'fm'[i % 2]},{i // 4},{x!r},{y!r},{z!r}" for i, (x, y, z) in enumerate(rows.tolist())]
        (here / "poles.csv").write_text("\n".join(["sex,person,x,y,z", *table]) + "\n")
        (here / "pole.csv").write_text("x,y,z\n0,0,1\n")
        sphere = ["poles.csv", "--space", "sphere", "--center", "pole.csv", "--radius", "1.2", "--epsilon", "1"]
        shapes = ["wings.tps", "--epsilon", "1", "--unit", "one wing"]
        around = ["--center", "center.tps", "--radius", "0.3"]
        runs = {
            "release by a centre": ["release", *shapes, *around],
            "release by a public sample": ["release", *shapes, "--public", "public.tps"],
            "release with inference": ["release", *shapes, "--public", "public.tps", "--inference", "0.1"],
            "release of people": ["release", *sphere, "--unit-column", "person"],
            "release by name": ["release", *shapes, *around, "--mechanism", "laplace"],
            "compare": ["compare", *sphere, "--by", "sex", "--labels-are-public", "--unit", "one record"],
        }
        for name, run in runs.items():
            yield name, _command(here, run)


def _command(here: Path, arguments: list[str]) -> Facts:
    """Run a command with a ledger in a folder, and return the facts of its record and the charge."""
    record, book = here / "record.json", here / "study.ledger"
    for made in (record, book):
        made.unlink(missing_ok=True)
    ledger = sf.Ledger.create(book, epsilon=5)
    named = [str(here / text) if (here / text).is_file() else text for text in arguments]
    more = ["--out", str(record), "--ledger", str(book), "--even-if-useless"]
    before = sys.argv
    sys.argv = ["sfumato", *named, *more]
    try:
        with replaying(np.random.default_rng(7)):
            cli.main()
    except SystemExit as stop:
        if stop.code:
            return {"exit code": stop.code, "charges": [5 - float(ledger.left)]}
    finally:
        sys.argv = before
    found = sf.Comparison.load(record) if arguments[0] == "compare" else sf.Release.load(record)
    return {**facts(found), "charges": [5 - float(ledger.left)]}


def all_cases() -> Facts:
    return dict([*by_mechanism(), *compound(), *commands()])


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(all_cases(), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
