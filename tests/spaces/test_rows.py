"""Row i of what a space makes of records depends on record i alone, to the bit: privacy rests on it."""

import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl

import sfumato as sf
from conftest import EXAMPLES, cloud, typical_radius
from conftest import SPACES as TESTED
from sfumato.laws.bounds import bounds_of, has_bounds
from sfumato.regions import ellipsoid
from sfumato.regions.ellipsoid import Ellipsoid
from sfumato.spaces import SPACES, base, rays, spd, sphere

LARGER = [sf.Euclidean(dim=40), sf.Sphere(dim=30), sf.SPD(size=9), sf.SPD(size=18), sf.PlanarShapes(landmarks=50)]
OTHERS = [space for name, some in EXAMPLES.items() if name not in {s.name for s in TESTED} for space in some]
MODULES = (base, sphere, rays, spd, ellipsoid)
CORES = ("Haswell", "SkylakeX", "Nehalem")  # kernels of OpenBLAS


@pytest.fixture(params=["numba", "plain"])
def path(request, monkeypatch):
    """Compiled loops from the first record on, or none at all."""
    for module in MODULES:
        if request.param == "plain":
            monkeypatch.setattr(module, "compiled", lambda *_: None, raising=False)
        monkeypatch.setattr(module, "MANY", 1, raising=False)


def odd_ones(space, center):
    """Records that might take another way than the rest, as users type them: no points, points of extreme size, the centre,
    and one as far away as can be."""
    honest = space.present(center)
    scale = 1.0 if space.name == "sphere" else 1e250
    far = {
        "spd": lambda: np.diag(np.geomspace(1e-140, 1e140, len(honest))),
        "shapes": lambda: space.present(space.tangent_basis(center)[0]),
    }.get(space.name, lambda: -honest)()
    return {
        "NaN": np.full_like(honest, np.nan),
        "inf": np.full_like(honest, np.inf),
        "zero": np.zeros_like(honest),
        "huge": honest * scale,
        "tiny": honest / scale,
        "huge and no point": np.full_like(honest, 1e308),
        "antipode": far,
        "the base": honest,
        "its neighbour": np.nextafter(honest, np.inf),
    }


def some_records(space, center, n, rng):
    """Records as users type them: in a ball or far from it, canonical to the last digit or nearly so, or not at all."""
    points = cloud(space, center, typical_radius(space), n, rng)
    far = 0.9 * min(bounds_of(space).injectivity_radius, 4.0) if has_bounds(space) else 1.5
    points[3::7] = space.exp(center, far * space.random_directions(center, len(points[3::7]), rng))
    raw = space.present(points)
    drift = 1 + 2e-14 * rng.uniform(-1, 1, size=n) * (np.arange(n) % 3 == 0)  # some pass for canonical, some do not
    raw *= drift.reshape(-1, *(1,) * (raw.ndim - 1))
    if space.kind == "landmarks":
        raw[1::4] = 30 * raw[1::4] + 7
    if space.kind == "matrices" and space.size > 1:  # correlations so near to one that they only just pass
        for row in range(2, n, 5):
            raw[row] = np.eye(space.size)
            raw[row, 0, 1] = raw[row, 1, 0] = 1 - space.size * np.finfo(float).eps * rng.uniform(2, 20)
    return raw


def images(space, region, raw):
    """All that is made of records, one after the other."""
    points, _ = space.diagnose(raw)
    logs = space.log(region.center, points)
    yield "diagnose", points
    yield "log", logs
    yield "coordinates", space.coordinates(region.center, logs)
    yield "exp", space.exp(region.center, logs)
    yield "distance", space.distance(region.center, points)
    yield "log_map", space.log_map(region.center)(points)
    yield "log_map with rows", space.log_map(region.center, region.basis)(points)
    yield "chart", region.chart(points)
    if raw.shape == points.shape:
        yield "chart of what is not canonical", region.chart(raw)


def a_region(space, rng):
    center = space.present(cloud(space, space.origin(), 0.2, 1, rng)[0])
    basis = np.linalg.qr(rng.normal(size=(space.dim, space.dim)))[0][: max(1, space.dim // 3)]
    return Ellipsoid(space, center, np.geomspace(1.0, 0.1, len(basis)) * typical_radius(space), basis)


def assert_rows_stand_alone(space, n, rng):
    region = a_region(space, rng)
    raw = some_records(space, region.center, n, rng)
    with np.errstate(all="ignore"):
        honest = dict(images(space, region, raw))
        for name, record in odd_ones(space, region.center).items():
            place = int(rng.integers(n))
            attacked = raw.copy()
            attacked[place] = record
            for what, found in images(space, region, attacked):
                others = np.delete(found, place, axis=0), np.delete(honest[what], place, axis=0)
                assert others[0].tobytes() == others[1].tobytes(), (
                    f"{what} of others notices {name}, row {place} of {n}"
                )


def test_every_registered_space_is_tested():
    ours = {kind.name for kind in SPACES.values() if kind.__module__.startswith("sfumato.")}
    assert {space.name for space in TESTED + OTHERS} == ours


def test_a_record_does_not_change_the_rows_of_others(space, path, rng):
    for n in (2, 5, 33, 67):
        assert_rows_stand_alone(space, n, rng)


@pytest.mark.parametrize("space", OTHERS, ids=str)
def test_nor_on_spaces_without_loops_of_their_own(space, rng):
    for n in (5, 67):
        assert_rows_stand_alone(space, n, rng)


@pytest.mark.parametrize("space", LARGER, ids=str)
def test_nor_in_higher_dimensions(space, path, rng):
    for n in (31, 32, 130):
        assert_rows_stand_alone(space, n, rng)


@pytest.mark.parametrize("space", [sf.Sphere(dim=2), sf.SPD(size=2), sf.PlanarShapes(landmarks=8)], ids=str)
def test_nor_across_blocks(space, path, rng, monkeypatch):
    monkeypatch.setattr(ellipsoid, "CACHE", 4 * 32 * int(np.prod(space.point_shape)))
    for n in (31, 32, 33, 64, 97):
        assert_rows_stand_alone(space, n, rng)


@pytest.mark.parametrize("core", CORES)
def test_nor_with_other_kernels(core):
    """The same with other kernels of OpenBLAS, where NumPy has them: each blocks a product in its own way."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": core, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, __file__, core], env=environment, capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stderr


def test_the_test_sees_a_scale_that_is_common_to_all(rng, monkeypatch):
    log = sf.Sphere.log
    monkeypatch.setattr(
        sf.Sphere, "log", lambda self, x, y: log(self, x, y) * (1 + 1e-15 * (np.abs(y).max() > 0.999999999))
    )
    with pytest.raises(AssertionError, match="log of others notices"):
        assert_rows_stand_alone(sf.Sphere(dim=2), 33, rng)


# -- the quick way to logarithms -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("share", [1e-9, 0.5, 0.999])
@pytest.mark.parametrize("space", [*TESTED, *LARGER, sf.Sphere(dim=30, curvature=0.3)], ids=str)
def test_coordinates_of_logarithms_in_one_go_are_those_in_two_steps(space, share, path, rng):
    region = a_region(space, rng)
    reach = share * min(bounds_of(space).injectivity_radius, 4.0)
    points = space.exp(region.center, reach * space.random_directions(region.center, 97, rng))
    wanted = space.coordinates(region.center, space.log(region.center, points))
    scale = np.abs(points).max() if space.name == "euclidean" else np.exp(np.sqrt(2) * reach)
    if isinstance(space, sf.Sphere | sf.PlanarShapes):
        angle = share * np.pi if space.name == "sphere" else share * np.pi / 2
        scale = (angle / np.sin(angle)) * (1 if space.name == "sphere" else 1 / np.cos(angle)) / reach * angle
    found = space.log_map(region.center)(points)
    assert np.abs(found - wanted).max() < 1e-14 * max(1.0, scale) * max(1.0, reach)
    some = space.log_map(region.center, region.basis)(points)
    assert some.shape == (97, len(region.axes))
    assert np.abs(some - wanted @ region.basis.T).max() < 2e-14 * max(1.0, scale) * max(1.0, reach)


if __name__ == "__main__":  # with the kernels that the environment names
    if {pool.get("architecture") for pool in threadpoolctl.threadpool_info()} != {sys.argv[1]}:
        print(f"not run: no kernels for {sys.argv[1]} here")
        sys.exit(3)
    seeded = np.random.default_rng(1)
    for one in (sf.Sphere(dim=9), sf.PlanarShapes(landmarks=20), sf.SPD(size=5), sf.Euclidean(dim=30)):
        for count in (7, 130):
            assert_rows_stand_alone(one, count, seeded)
