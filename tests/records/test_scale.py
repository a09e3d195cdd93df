"""Data larger than memory, and workers elsewhere: the same answer, whatever the parts and whoever sums them."""

import json
import os
import signal
import subprocess
import sys
import warnings
from fractions import Fraction
from functools import partial

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import zarr

import sfumato as sf
from benchmarks.cases import Case
from benchmarks.peers import space_of
from sfumato.app import cli
from sfumato.mechanisms import base
from sfumato.records import Records, delayed_parts, lazy, on_dask
from sfumato.records.memory import add_moments
from sfumato.records.sources import memory_bytes

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of what Dask itself imports
    import dask
    import dask.array as da
    import dask.bag as db

SMALL = 120_000  # bytes: two or three hundred records at a time
CASES = [Case("sphere", 2, 3000), Case("shapes", 5, 800), Case("spd", 3, 600)]
COLUMNS = {
    "sphere": ["v1", "v2", "v3"],
    "shapes": [f"{axis}{i}" for i in range(1, 6) for axis in "xy"],
    "spd": [f"m{i}_{j}" for i in range(1, 4) for j in range(1, 4)],
}


def table(case, points):
    flat = points.reshape(len(points), -1)
    return pa.table({"site": ["a"] * len(flat), **{name: flat[:, i] for i, name in enumerate(COLUMNS[case.kind])}})


def write_set(case, points, folder):
    """Three files with row groups of different sizes."""
    folder.mkdir()
    for i, (a, b, rows) in enumerate([(0, 500, 90), (500, 501, 10), (501, len(points), 700)]):
        pq.write_table(table(case, points[a:b]), folder / f"{i}.parquet", row_group_size=rows)
    return sorted(folder.glob("*.parquet"))


def sources(case, points, folder):
    """The same records, in every way that is taken."""
    np.save(folder / "points.npy", points)
    yield "memmap", np.load(folder / "points.npy", mmap_mode="r")
    with h5py.File(folder / "points.h5", "w") as file:
        yield "HDF5", file.create_dataset("points", data=points, chunks=(100, *points.shape[1:]))
    stored = zarr.create_array(
        store=folder / "points.zarr", shape=points.shape, chunks=(128, *points.shape[1:]), dtype=points.dtype
    )
    stored[:] = points
    yield "Zarr", stored
    yield "Arrow table", table(case, points)
    files = write_set(case, points, folder / "set")
    yield "Parquet files", ds.dataset([str(file) for file in files], format="parquet")
    yield "filtered", ds.dataset([str(file) for file in files]).filter(ds.field("site") == "a")
    pq.write_table(table(case, points), folder / "whole.parquet", row_group_size=333)
    with pq.ParquetFile(folder / "whole.parquet") as file:
        yield "Parquet file", file
    for chunks in (len(points), 400, 77):
        yield f"Dask array by {chunks}", da.from_array(points, chunks=(chunks, *[2] * (points.ndim - 1)))
    yield "Dask bag", db.from_sequence(list(points), npartitions=3)
    yield "delayed", [dask.delayed(part) for part in (points[:7], points[7:7], points[7:])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_mean_and_a_release_from_every_source(case, tmp_path):
    space, points = space_of(case.kind, case.size), case.points()
    ball = sf.Ball(space, case.center(), case.radius)
    expected = sf.frechet_mean(space, points)
    at = space.validate(expected.point[None])[0]
    for name, source in sources(case, points, tmp_path):
        for workers in (1, 3):
            mean = sf.frechet_mean(space, source, workers=workers, memory=SMALL)
            assert float(space.distance(at, space.validate(mean.point[None])[0])) < 1e-12, name
            assert mean.passes >= 3, name  # it was read in parts, with a pass to check it
        release = sf.private_mean(source, ball, 1.0, memory=SMALL)
        assert release.record["n"] == case.n, name
        assert float(space.distance(at, space.validate(release.value[None])[0])) < 1.5 * release.error(1 - 1e-6), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_sums_of_a_chart_are_the_same_from_every_source(case, tmp_path):
    """To the last bit of a record, in any parts, and in one pass besides the one that checks the records."""
    space, points = space_of(case.kind, case.size), case.points()
    region = sf.Ellipsoid(space, case.center(), case.radius * np.geomspace(1.0, 0.3, space.dim))
    plan = sf.TangentKNorm(region, 1.0).plan(case.n)
    expected = plan.mean(Records(space, region.admit(points)))
    for name, source in sources(case, points, tmp_path):
        records, _ = base.gather(region, source, "one record", "", "raise", 1, SMALL)
        before = records.passes
        found = plan.mean(records)
        assert records.passes == before + 1, name
        off = max(abs(a - b) for a, b in zip(found, expected, strict=True))
        assert off <= Fraction(1, 1 << 39), name  # the last bit of a product may depend on how many rows it has
        assert sf.private_mean(source, region, 1.0, memory=SMALL).chart.axes == region.axes.tolist(), name


@pytest.mark.parametrize("mechanism", ["kng", "laplace", "exponential", "tangent", "ambient-laplace"])
def test_every_mechanism_takes_parts(mechanism):
    case = CASES[0]
    ball = sf.Ball(sf.Sphere(2), case.center(), case.radius)
    points = da.from_array(case.points(), chunks=(1000, 3))
    assert sf.private_mean(points, ball, 5.0, mechanism).record["mechanism"]["name"] == mechanism


def test_pointwise_noise_takes_parts():
    case = CASES[1]
    mechanism = sf.PointwiseLaplace(sf.Ball(sf.PlanarShapes(5), case.center(), case.radius), 5.0)
    points = case.points()
    release = mechanism.release(da.from_array(points, chunks=(300, 5, 2)))
    assert release.value.shape == (5, 2)
    assert release.record["n"] == len(points)


class Ledger:
    """Counts what it is charged."""

    def __init__(self):
        self.charges = []

    def charge(self, facts, record, /):
        self.charges.append(facts.epsilon)


def test_a_bad_row_in_a_later_chunk_is_named_and_nothing_is_charged(tmp_path):
    case, space = CASES[0], sf.Sphere(2)
    points = case.points()
    ball, ledger = sf.Ball(space, case.center(), case.radius), Ledger()
    points[2500:2520] *= 2
    points[2900, 1] = np.nan
    with pytest.raises(sf.InvalidPointError) as plain:
        sf.private_mean(points, ball, 1.0)
    for name, source in sources(case, points, tmp_path):
        with pytest.raises(sf.InvalidPointError) as caught:
            sf.private_mean(source, ball, 1.0, budget=ledger, memory=SMALL)
        assert str(caught.value) == str(plain.value), name
        assert caught.value.row == 2500, name
    assert ledger.charges == []
    replaced = points.copy()
    replaced[2500:2520] = replaced[2900] = case.center()
    for source in (da.from_array(points, chunks=(700, 3)), table(case, points)):
        records, _ = base.gather(ball, source, "one record", "", "center", 1, SMALL)
        wanted = Records(space, ball.clip(replaced))
        x = space.validate(case.center()[None])
        np.testing.assert_allclose(records.mean_log(x), wanted.mean_log(x), rtol=0, atol=1e-14)
        assert records.n == 3000
    with pytest.raises(ValueError, match="invalid must be 'raise' or 'center', not 'drop'"):
        sf.private_mean(da.from_array(points, chunks=(700, 3)), ball, 1.0, invalid="drop")


def test_many_bad_rows_are_counted(monkeypatch):
    monkeypatch.setattr(lazy, "MOST_LISTED", 5)
    points = 2 * CASES[0].points()
    with pytest.raises(sf.InvalidPointError, match=r"record 0: .*4 more are bad: 1, 2, 3, 4\); 3000 in all"):
        sf.frechet_mean(sf.Sphere(2), da.from_array(points, chunks=(700, 3)))


class Slow:
    """An array that only tells which slices of it were asked for."""

    __module__ = "zarr.fake"

    def __init__(self, points):
        self.points, self.asked = points, []
        self.shape, self.dtype, self.size = points.shape, points.dtype, points.size

    def __getitem__(self, rows):
        self.asked.append(rows.stop - rows.start)
        return self.points[rows]


@pytest.mark.parametrize("workers", [1, 3])
def test_chunks_keep_to_the_memory(workers):
    points = CASES[0].points()
    source = Slow(points)
    mean = sf.frechet_mean(sf.Sphere(2), source, memory=SMALL, workers=workers)
    most = SMALL // (lazy.COPIES * 24 * workers)
    assert max(source.asked) <= most
    assert min(source.asked) > 0
    assert sum(source.asked) >= 3000 * mean.passes  # the first guess takes some more
    lists = []
    monitor = lambda part, _: lists.append(len(part)) or len(part)  # noqa: E731
    with dask.config.set(scheduler="sync"):
        records = lazy.stream(sf.Sphere(2), [dask.delayed(points)], np.asarray, memory=SMALL, workers=workers)
        assert records.reduce(monitor) == 3000
    assert max(lists) <= most
    for batches in (table(CASES[0], points), ds.dataset(table(CASES[0], points))):
        parts = lazy.parts_of(batches, sf.Sphere(2), most)
        assert max(len(array) for part in parts for array in part) <= most


def test_what_fits_well_is_simply_read(tmp_path):
    points = CASES[0].points()
    np.save(tmp_path / "points.npy", points)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    assert lazy.parts_of(mapped, sf.Sphere(2), 100) is None
    assert len(lazy.parts_of(mapped, sf.Sphere(2), 100, memory=SMALL)) == 30


def test_a_mapped_file_that_is_written_to_keeps_what_was_written(tmp_path):
    """Pages are given back only where that loses nothing."""
    points = CASES[0].points()
    np.save(tmp_path / "points.npy", np.zeros_like(points))
    for mode in ("c", "r+"):
        mapped = np.load(tmp_path / "points.npy", mmap_mode=mode)
        mapped[:] = points
        first = sf.frechet_mean(sf.Sphere(2), mapped, memory=SMALL)
        np.testing.assert_array_equal(mapped, points)
        np.testing.assert_allclose(first.point, sf.frechet_mean(sf.Sphere(2), points).point, atol=1e-14)


def test_what_parts_cannot_do_is_said_before_anything_is_charged():
    case, space, ledger = CASES[0], sf.Sphere(2), Ledger()
    ball = sf.Ball(space, case.center(), case.radius)
    points = da.from_array(case.points(), chunks=(1000, 3))
    with pytest.raises(ValueError, match="first reduce the records of each person to one"):
        sf.private_mean(points, ball, 1.0, unit=np.arange(3000), budget=ledger)
    with pytest.raises(ValueError, match="weights need points in memory"):
        sf.frechet_mean(space, points, np.ones(3000))
    custom = sf.Objective(lambda x, p: x, lambda n: 1.0, lambda p: p[0], lambda r, p: r)
    with pytest.raises(ValueError, match="needs all records in memory at once"):
        sf.KNG(ball, 1.0, objective=custom).release(points, budget=ledger)
    for memory in (100, 0, 1.5, True):
        with pytest.raises(ValueError, match=f"memory must be a whole number of bytes, at least 144: .*not {memory}"):
            sf.frechet_mean(space, points, memory=memory)
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, not 0"):
        sf.frechet_mean(space, points, workers=0)
    with pytest.raises(ValueError, match="the Fréchet mean of no points is not defined"):
        sf.frechet_mean(space, points[:0])
    with pytest.raises(ValueError, match="at least one record, a whole number, not 0"):
        sf.private_mean(points[:0], ball, 1.0, budget=ledger)
    rows = {"specimen": ["a", "a", "a", "b", "b", "b"], "landmark": [1, 2, 3] * 2, "x": [0.0] * 6, "y": [1.0] * 6}
    with pytest.raises(ValueError, match="a row for each landmark"):
        sf.frechet_mean(sf.PlanarShapes(3), pa.table(rows))
    assert ledger.charges == []


def test_data_that_change_between_passes_are_noticed():
    source = Slow(CASES[0].points())
    records = lazy.stream(sf.Sphere(2), source, sf.Sphere(2).validate, memory=SMALL)
    source.points = source.points[:2990]
    with pytest.raises(
        RuntimeError, match=r"the data changed while they were read: there were 3000 records\. Nothing was released"
    ):
        records.moments(CASES[0].center())


def test_a_trace_and_a_whole_hessian_add_up():
    """Chunks too small for compiled kernels must not spoil the sum with the others."""
    space, case = sf.Sphere(2), Case("sphere", 2, 100_000)
    points, x = space.validate(case.points()), case.center()
    whole, few = space.moments(x, points[:99_000]), space.moments(x, points[99_000:])
    assert (whole.hessian.ndim, few.hessian.ndim) == (2, 0)
    all_of_it = np.trace(space.moments(x, points).hessian)
    for a, b in ((whole, few), (few, whole)):
        assert float(add_moments(a, b).hessian) == pytest.approx(float(all_of_it), rel=1e-12)
    chunks = [dask.delayed(points[:99_000]), dask.delayed(points[99_000:])]
    found = lazy.stream(space, chunks, space.validate).moments(x)
    np.testing.assert_allclose(found.hessian, space.moments(x, points).hessian / 100_000, rtol=1e-12)


def test_small_parts_of_small_matrices_have_a_mean():
    """Their sums hold the whole Hessian, which those of many records do not."""
    factors = np.random.default_rng(0).normal(size=(6000, 2, 2))
    points = factors @ factors.swapaxes(1, 2) + np.eye(2)
    space = sf.SPD(2)
    mean = sf.frechet_mean(space, points).point
    for size in (3000, 5000):
        parts = da.from_array(points, chunks=(size, 2, 2))
        assert space.distance(sf.frechet_mean(space, parts).point, mean) < 1e-10
        assert sf.ManifoldLaplace(sf.Ball(space, 2 * np.eye(2), 2.0), 1.0).release(parts).n == 6000


def test_a_column_of_missing_values_in_one_chunk_is_still_a_coordinate():
    points = CASES[0].points()
    points[1000:, 2] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 1000: holds NaN"):
        sf.frechet_mean(sf.Sphere(2), table(CASES[0], points), memory=144 * 500)


class OwnError(Exception):
    """What a package raises that reads data."""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", ["dask", "arrow"])
def test_errors_of_those_who_read_are_told_before_the_charge_alone(kind, workers, tmp_path):
    """Once in the first pass, and once in the second, after the charge: then nothing that they hold is told."""
    ball, ledger, asked = sf.Ball(sf.Sphere(2), CASES[0].center(), CASES[0].radius), Ledger(), []
    file = tmp_path / "points.parquet"
    pq.write_table(table(CASES[0], CASES[0].points()), file, row_group_size=1000)

    def damage(number, done, parts):
        asked.append(number)
        if (number, done) == (1, parts):
            file.write_bytes(bytes(1000) + file.read_bytes()[1000:])

    def load():
        if when <= len(asked):
            raise OwnError("patient 17")
        return CASES[0].points()

    def source():
        if kind == "dask":
            return [dask.delayed(load, pure=False)()]
        return ds.dataset([str(file)], format="parquet")

    when = 1
    release = partial(sf.private_mean, region=ball, epsilon=1.0, budget=ledger, memory=SMALL, workers=workers)
    with dask.config.set(scheduler="sync"):
        words = r"could be read once, but not again.*what was charged stays charged$"
        with pytest.raises(RuntimeError, match=words) as late:
            release(source(), progress=damage)
        assert (late.value.__context__, late.value.__cause__, len(ledger.charges)) == (None, None, 1)
        when = 0
        with pytest.raises(sf.FileError, match=r"could not be read .*(Own|OS)Error.*Nothing was charged"):
            release(source())
    assert len(ledger.charges) == 1


# -- a cluster ------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ports in use, and what distributed itself imports
        from distributed import Client, LocalCluster

        with (
            dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
            LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client


def test_a_cluster_gives_the_same_mean_and_survives_the_loss_of_a_worker(client):
    case, space = Case("sphere", 2, 200_000), sf.Sphere(2)
    points = case.points()
    expected = sf.frechet_mean(space, points).point
    victim, seen = min(client.run(os.getpid).values()), []

    def progress(number, done, parts):
        seen.append((number, done, parts))
        if (number, done) == (2, 3):  # in the middle of the second pass
            os.kill(victim, signal.SIGKILL)

    held = da.from_array(points, chunks=(20_000, 3))
    with client.as_current():
        mean = sf.frechet_mean(space, held, progress=progress)
    assert float(space.distance(mean.point, expected)) < 1e-12
    assert seen == [(number, done, 10) for number in range(1, mean.passes + 1) for done in range(1, 11)]
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()


HIDDEN = """
import sys
class Hidden:
    def find_spec(name, *_):
        if name.partition(".")[0] == "sfumato":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden)
"""


@pytest.mark.filterwarnings("ignore")  # ports in use, and sockets that distributed then leaves open
def test_workers_that_are_missing_or_lack_the_package_are_found_before_the_charge(tmp_path, monkeypatch):
    """A scheduler without workers; then with one that has no sfumato; then one that does not answer."""
    from distributed import Client, LocalCluster

    monkeypatch.setattr(on_dask, "WAIT", 0.5)
    ledger, points = Ledger(), da.from_array(CASES[0].points(), chunks=(1000, 3))
    ball = sf.Ball(sf.Sphere(2), CASES[0].center(), CASES[0].radius)
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with pytest.raises(ValueError, match=r"has no workers that answer within 0\.5 seconds: .*Nothing was charged"):
            sf.private_mean(points, ball, 1.0, budget=ledger)
        command = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address, "--no-nanny", "--no-dashboard"]
        quiet = subprocess.DEVNULL
        worker = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stdout=quiet, stderr=quiet)
        try:
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(ValueError, match=r"has no sfumato, but sfumato .* is here.*Nothing was charged"):
                sf.private_mean(points, ball, 1.0, budget=ledger)
            worker.send_signal(signal.SIGSTOP)
            with pytest.raises(ValueError, match="has no workers that answer"):
                sf.private_mean(points, ball, 1.0, budget=ledger)
        finally:
            worker.kill()
            worker.wait()
    assert ledger.charges == []


def test_partitions_that_workers_hold_go_together(client):
    """A task for each worker; the sums are the same to the last bit, and a lost worker's partitions are made again."""
    distributed = pytest.importorskip("distributed")
    case, space = Case("sphere", 2, 50_000), sf.Sphere(2)
    points, seen = da.from_array(case.points(), chunks=(5000, 3)), []

    def progress(number, done, parts):
        if number == 2 and len(seen) == 2:  # a worker is done, the other is not
            os.kill(victim, signal.SIGKILL)
        seen.append((number, done))

    client.wait_for_workers(2, timeout=60)
    with client.as_current():
        expected = sf.frechet_mean(space, points)
        assert len(on_dask.together(client, lazy.parts_of(points, space, 1000))) == 10  # which might not fit together
        held = points.persist()
        distributed.wait(held)
        groups = on_dask.together(client, lazy.parts_of(held, space, 1000))
        assert len(groups) == 2
        assert sorted(groups[0] + groups[1]) == list(range(10))
        assert np.array_equal(sf.frechet_mean(space, held).point, expected.point)
        victim = min(client.run(os.getpid).values())
        assert np.array_equal(sf.frechet_mean(space, held, progress=progress).point, expected.point)
    assert [done for _, done in seen[1::2]] == [10] * (len(seen) // 2)  # two tasks in every pass
    client.wait_for_workers(2, timeout=60)


def test_noise_and_charges_are_the_curators(client, monkeypatch, sfumato_set):
    """Workers sum; the process that asks draws the noise and charges the ledger, once."""
    files, ball = sfumato_set
    drawn, ledger = [], Ledger()

    def generator():
        drawn.append(os.getpid())
        return np.random.default_rng(7)

    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", generator)
    space = ball.space
    parts = delayed_parts(ds.dataset([str(file) for file in files]), space, 100)
    with client.as_current():
        release = sf.private_mean(parts, ball, 1.0, "kng", budget=ledger)
    assert drawn == [os.getpid()]
    assert ledger.charges == [1.0]
    assert os.getpid() not in client.run(os.getpid).values()
    here = sf.private_mean(ds.dataset([str(file) for file in files]), ball, 1.0, "kng")
    assert float(space.distance(here.value, release.value)) < 1e-12  # the same noise, on the same lattice


# -- the command ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def sfumato_set(tmp_path):
    case = CASES[0]
    np.save(tmp_path / "center.npy", case.center()[None])
    files = write_set(case, case.points(), tmp_path / "big")
    return files, sf.Ball(sf.Sphere(2), case.center(), case.radius)


@pytest.fixture
def release(sfumato_set, monkeypatch, capsys, tmp_path):
    def run(*words):
        options = ["--space", "sphere", "--radius", "0.39", "--epsilon", "1"]
        options += ["--center", str(tmp_path / "center.npy"), "--out", str(tmp_path / "out.json")]
        monkeypatch.setattr(sys, "argv", ["sfumato", "release", *map(str, words), *options])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, capsys.readouterr().err

    return run


def test_the_command_takes_many_files(release, sfumato_set, tmp_path, client):
    files, _ = sfumato_set
    for more in ([], ["--workers", "2", "--memory", "120kB"], ["--scheduler", client.scheduler.address]):
        code, words = release(*files, *more, "--verbose")
        assert code == 0
        assert words.startswith("Curator only: the points are the columns v1, v2, v3.\n")
        assert "of the first 500 records lay outside the public ball" in words
        assert json.loads((tmp_path / "out.json").read_text())["n"] == 3000
        (tmp_path / "out.json").unlink()
    code, words = release(files[2], "--memory", "10KiB")
    assert code == 0
    assert json.loads((tmp_path / "out.json").read_text())["n"] == 2499


def test_the_command_says_what_it_cannot_do(release, sfumato_set, tmp_path):
    files, _ = sfumato_set
    assert release(*files, "--memory", "much")[1] == (
        "sfumato: --memory must be a number of bytes such as 256MiB or 1GB, not 'much'\n"
    )
    assert "first reduce the records of each person to one" in release(*files, "--unit-column", "site")[1]
    assert (
        "center.npy: is not a Parquet file; files beside a Parquet file"
        in release(files[0], tmp_path / "center.npy")[1]
    )
    bad = CASES[0].points()
    bad[1700] *= 3
    pq.write_table(table(CASES[0], bad), files[1])
    code, words = release(*files)
    assert code == 2
    assert "0.parquet and 2 more: record 2200: is not of unit norm" in words
    content = files[1].read_bytes()
    files[1].write_bytes(content[:200] + bytes(100) + content[300:-50] + b"PAR1")
    code, words = release(*files)
    assert code == 2
    assert "parquet" in words.lower()
    assert not (tmp_path / "out.json").exists()


def test_sizes_in_words():
    assert [memory_bytes(text) for text in ("256MiB", "1GB", "500000", "1.5 kib")] == [2**28, 10**9, 500_000, 1536]
