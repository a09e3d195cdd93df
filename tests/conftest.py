"""Spaces and data that the tests share.  Seeds are fixed; statistical thresholds are at 1e-6."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
from pathlib import Path

import hypothesis  # noqa: F401  (it asks at its import who refers to what, and is not told of what is frozen)
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import sfumato as sf
from sfumato.app import cli
from sfumato.files import write_points
from sfumato.laws.bounds import bounds_of, has_bounds
from sfumato.spaces import SPACES as REGISTERED

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
threadpool_limits(1, user_api="blas")  # as `make test` has it: with more threads small products take ten times as long
gc.disable()  # while tests are collected, of which nothing is garbage: a third of that time

SPACES = [
    sf.Euclidean(dim=3),
    sf.Sphere(dim=1),
    sf.Sphere(dim=2),
    sf.Sphere(dim=5, curvature=2.5),
    sf.SPD(size=1),
    sf.SPD(size=2),
    sf.SPD(size=3),
    sf.PlanarShapes(landmarks=3),
    sf.PlanarShapes(landmarks=6),
    sf.ElasticCurves(points=5, closed=False),
    sf.Axes(dim=2),
    sf.Hyperbolic(dim=2),
]
# what the contract is tried on where the example of a space itself is not enough; the golden records are of these
CHOSEN = {
    "euclidean": [sf.Euclidean(dim=3)],
    "sphere": [sf.Sphere(dim=2), sf.Sphere(dim=5, curvature=2.5)],
    "spd": [sf.SPD(size=3)],
    "shapes": [sf.PlanarShapes(landmarks=6)],
    "elastic-curves": [sf.ElasticCurves(points=7, closed=False)],
    "product": [
        sf.Product(sf.PlanarShapes(landmarks=5), sf.Euclidean(dim=1), weights=[1, 0.5]),
        sf.Product(sf.Sphere(dim=2), sf.Euclidean(dim=1)),
        sf.Product(sf.SPD(size=2), sf.Product(sf.SPD(size=2), sf.Sphere(dim=1), weights=[2, 1])),
    ],
    "shapes3d": [sf.Shapes3D(landmarks=7), sf.Shapes3D(landmarks=5, reflections=True)],
    "size-and-shape": [sf.SizeAndShape(landmarks=6, dim=3), sf.SizeAndShape(landmarks=5, dim=2)],
    "log-euclidean": [sf.SPD(size=3, metric="log-euclidean")],
    "log-cholesky": [sf.SPD(size=3, metric="log-cholesky")],
    "bures-wasserstein": [sf.SPD(size=3, metric="bures-wasserstein")],
    "correlation": [sf.Correlation(size=4)],
    "diagonal-spd": [sf.DiagonalSPD(size=4)],
    "grassmann": [sf.Grassmann(n=5, p=2), sf.Grassmann(n=4, p=3)],
    "stiefel": [sf.Stiefel(n=5, p=2), sf.Stiefel(n=4, p=3)],
    "simplex": [sf.Simplex(parts=3), sf.Simplex(parts=6)],
    "aitchison": [sf.Simplex(parts=4, metric="aitchison")],
    "torus": [sf.Torus(dim=1), sf.Torus(dim=3)],
    "rotations": [sf.Rotations()],
    "axes": [sf.Axes(dim=1), sf.Axes(dim=2)],
    "hyperbolic": [sf.Hyperbolic(dim=2), sf.Hyperbolic(dim=5)],
}
# every space that sfumato registers, by its name: tests/spaces/test_every_space.py
EXAMPLES = {name: CHOSEN.get(name, [kind.example()]) for name, kind in REGISTERED.items()}
# a mechanism and a space that it allows
CASES = [
    (kind, space)
    for space in (sf.Sphere(dim=2), sf.SPD(size=2), sf.PlanarShapes(landmarks=5), sf.Euclidean(dim=3))
    for kind in (sf.KNG, sf.ManifoldLaplace, sf.Exponential)
] + [
    (sf.ManifoldStaircase, sf.Sphere(dim=2)),
    (sf.ManifoldStaircase, sf.SPD(size=2)),
    (sf.AmbientLaplace, sf.Sphere(dim=3)),
    (sf.AmbientLaplace, sf.SPD(size=2)),
    (sf.PointwiseLaplace, sf.PlanarShapes(landmarks=5)),
]


def pytest_collection_finish(session):
    """Look for garbage again, but not among modules and tests, which stay: that took a twelfth of the time of pictures."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def repeatable(request, monkeypatch):
    """Key the releases of a test by its name, so that a failure can be seen again; SFUMATO_KEYS=another draws other ones."""
    keys = random.Random(f"{os.environ.get('SFUMATO_KEYS', '')} {request.node.nodeid}")
    monkeypatch.setattr("sfumato.laws.sampling.secure.secrets.randbits", keys.getrandbits)


@pytest.fixture(params=SPACES, ids=str)
def space(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(20221)


def is_short(out, err):
    """Whether a release says little enough to be read."""
    return len(out.splitlines()) <= 4 and len(f"{out} {err}".split()) <= 90


def column(space, values):
    """Numbers shaped so that they multiply points or vectors of a space."""
    return np.asarray(values).reshape(-1, *(1,) * len(space.point_shape))


def cloud(space, center, radius, n, rng):
    """Canonical points of a ball, uniform in direction and radius."""
    return space.exp(center, space.random_directions(center, n, rng) * column(space, radius * rng.random(n)))


def typical_radius(space):
    """A radius at which everything is allowed."""
    if not has_bounds(space):
        return 0.3
    return 0.9 if np.isinf(bounds_of(space).convexity_radius) else 0.45 * bounds_of(space).convexity_radius


@pytest.fixture
def sfumato(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


@pytest.fixture
def studio_folder(tmp_path, monkeypatch):
    """Some shapes, a public template, public specimens, a ledger; and the plan of a release."""
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(8) / 8
    template = np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)
    monkeypatch.chdir(tmp_path)
    for name, count in (("wings.tps", 120), ("public.tps", 20)):
        shapes = template + rng.normal(0, 0.04, (count, 8, 2))
        rows = ("".join(f"{x!r} {y!r}\n" for x, y in shape) for shape in shapes.tolist())
        Path(name).write_text("".join(f"LM=8\n{text}ID={i}\n" for i, text in enumerate(rows)))
    write_points("reference.tps", template, "landmarks")
    sf.Ledger.create("study.ledger", epsilon=3, dataset="wings")
    return tmp_path


class Placed(sf.Euclidean):
    """A space whose last bits depend on how many records there are and where each stands, as those of products do."""

    def _moved(self, rows):
        rows = np.asarray(rows, dtype=np.float64)
        return rows * (1 + 1e-9 * len(rows) + 1e-10 * np.arange(len(rows))[:, None])

    def diagnose(self, points):
        canonical, reasons = super().diagnose(points)
        return self._moved(canonical), reasons

    def exp(self, base, vectors):
        return self._moved(np.atleast_2d(super().exp(base, vectors))).reshape(np.shape(vectors))

    def log(self, base, points):
        return self._moved(super().log(base, points))

    def log_map(self, base, rows=None):
        found = super().log_map(base, rows)
        return lambda points: self._moved(found(points))
