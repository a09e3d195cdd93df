"""Properties of every public name, over arguments that Hypothesis makes up: good ones keep their promises, bad ones are refused
with a documented exception and nothing else."""

from __future__ import annotations

import json
import math
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sfumato as sf
from conftest import SPACES, cloud, typical_radius

pytestmark = pytest.mark.filterwarnings("ignore:an epsilon of", "ignore:the name ")  # what is taken, with a warning
REFUSALS = (ValueError, TypeError)  # what every docstring allows; files and ledgers add their own
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.floats(),
    st.integers(-5, 60),
    st.sampled_from(
        [math.nan, math.inf, -math.inf, 1e308, 5e-324, 10**30, 1 + 2j, b"x", (), [], {}, object, Decimal("0.1")]
    ),
)
ARRAYS = st.one_of(
    SCALARS,
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.complex128, np.bool_, np.dtype("U3")]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6),
    ),
    st.lists(st.lists(SCALARS, max_size=4), max_size=4),
)
SPACE = st.sampled_from(SPACES)


def some(number):
    """So many examples, always the same."""
    unhurried = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    return settings(
        max_examples=number, derandomize=True, deadline=None, database=None, suppress_health_check=unhurried
    )


def refused_or_done(function, *arguments, also=(), **options):
    """The result, or None after a documented refusal."""
    try:
        with np.errstate(all="ignore"):
            return function(*arguments, **options)
    except (*REFUSALS, *also) as error:
        words = str(error).strip()
    assert words, "a refusal without a word"
    return None


def a_ball(space, radius=None):
    return sf.Ball(space, space.present(space.origin()), radius or typical_radius(space))


def sample(space, n, seed):
    """Records in and around the ball, as users type them."""
    rng = np.random.default_rng(seed)
    return space.present(cloud(space, space.origin(), 1.3 * typical_radius(space), n, rng))


# -- bad arguments ---------------------------------------------------------------------------------------------------------
MECHANISMS = (
    sf.KNG,
    sf.ManifoldLaplace,
    sf.ManifoldStaircase,
    sf.Exponential,
    sf.TangentKNorm,
    sf.AmbientLaplace,
    sf.PointwiseLaplace,
)
RELEASE = sf.ManifoldLaplace(a_ball(sf.Euclidean(dim=2)), 1.0).release(np.zeros((50, 2)))


def in_a_folder(function):
    """Give the function a folder that is empty, and see that a refusal leaves nothing in it."""

    def run(*arguments):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            result = function(folder, *arguments)
            left = [file.name for file in folder.iterdir()]
            assert result is not None or left == [], left
            return result

    return run


@in_a_folder
def write_points(folder, value, kind, suffix):
    return refused_or_done(lambda: sf.write_points(folder / f"a{suffix}", value, kind) or 1)


@in_a_folder
def save_region(folder, space, radius):
    """What is saved is read back."""
    path = folder / "region.json"

    def done():
        sf.save_region(sf.Ball(space, space.present(space.origin()), radius), path)
        return sf.load_region(path)

    return refused_or_done(done)


def load_region(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "region.json")
        path.write_text(text, encoding="utf-8", errors="replace")
        return refused_or_done(sf.load_region, path)


@in_a_folder
def create_ledger(folder, epsilon, dataset):
    return refused_or_done(sf.Ledger.create, folder / "a", epsilon, dataset, also=(sf.LedgerError,))


@in_a_folder
def create_key(folder, name):
    return refused_or_done(sf.SiteKey.create, folder / "a.key", name)


def plan_sites(region, n, trusted, epsilon, groups):
    keys = [sf.SiteKey(f"site {i}", f"{i + 9:064x}") for i in range(3)]
    return sf.Study.of(region, dict.fromkeys(keys, n), trusted, epsilon, groups=groups)


@in_a_folder
def draw(folder, p, suffix):
    return refused_or_done(lambda: sf.plot_release(RELEASE, folder / f"a{suffix}", p=p) or 1)


@in_a_folder
def describe(folder, suffix):
    return refused_or_done(lambda: sf.write_report(RELEASE, folder / f"a{suffix}") or 1)


def charge(epsilon, record):
    with tempfile.TemporaryDirectory() as folder:
        budget = sf.Ledger.create(Path(folder, "a"), 1)
        done = refused_or_done(budget.charge, epsilon, record)
        assert (budget.left < 1) == (done is not None)


def read_bytes(content, space):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.dat")
        path.write_bytes(content)
        try:
            sf.read(path, space)
        except sf.FileError as error:
            assert str(error).startswith(str(path))  # noqa: PT017


SUFFIXES = st.sampled_from([".tps", ".csv", ".npy", ".png", ".html", ".md", ".txt", "", ".PNG"])
RECORDS = st.recursive(SCALARS, lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=2), max_leaves=4)
EVERY = st.sampled_from(MECHANISMS)
CALLS = {
    "Sphere": (lambda d, c: refused_or_done(sf.Sphere, d, c), SCALARS, SCALARS),
    "SPD": (lambda d: refused_or_done(sf.SPD, d), SCALARS),
    "Euclidean": (lambda d: refused_or_done(sf.Euclidean, d), SCALARS),
    "PlanarShapes": (lambda d: refused_or_done(sf.PlanarShapes, d), SCALARS),
    "Shapes3D": (lambda d: refused_or_done(sf.Shapes3D, d), SCALARS),
    "Shapes": (lambda k, d: refused_or_done(sf.Shapes, k, d), SCALARS, SCALARS),
    "SizeAndShape": (lambda k, d: refused_or_done(sf.SizeAndShape, k, d), SCALARS, SCALARS),
    "ElasticCurves": (lambda k, c, r: refused_or_done(sf.ElasticCurves, k, c, r), SCALARS, SCALARS, SCALARS),
    "Outlines": (lambda d: refused_or_done(sf.Outlines, d), SCALARS),
    "resample_outlines": (lambda x, k, r: refused_or_done(sf.resample_outlines, x, k, r), ARRAYS, SCALARS, st.none() | ARRAYS),
    "Rotations": (lambda d: refused_or_done(sf.Rotations, d), SCALARS),
    "Axes": (lambda d: refused_or_done(sf.Axes, d), SCALARS),
    "Hyperbolic": (lambda d: refused_or_done(sf.Hyperbolic, d), SCALARS),
    "Grassmann": (lambda n, p: refused_or_done(sf.Grassmann, n, p), SCALARS, SCALARS),
    "Stiefel": (lambda n, p: refused_or_done(sf.Stiefel, n, p), SCALARS, SCALARS),
    "Simplex": (lambda d, m: refused_or_done(sf.Simplex, d, m), SCALARS, SCALARS | st.just("aitchison")),
    "Torus": (lambda d: refused_or_done(sf.Torus, d), SCALARS),
    "Correlation": (lambda d: refused_or_done(sf.Correlation, d), SCALARS),
    "DiagonalSPD": (lambda d: refused_or_done(sf.DiagonalSPD, d), SCALARS),
    "Product": (lambda a, b, w: refused_or_done(sf.Product, a, b, weights=w), SPACE | SCALARS, SPACE, st.none() | ARRAYS),
    "estimate_missing": (lambda x, r: refused_or_done(sf.estimate_missing, x, r), ARRAYS, ARRAYS),
    "slide": (lambda x, r, t: refused_or_done(sf.slide, x, r, t), ARRAYS, ARRAYS, ARRAYS | SCALARS),
    "symmetrize": (lambda x, p: refused_or_done(sf.symmetrize, x, p), ARRAYS, ARRAYS | SCALARS),
    "Space": (lambda s, x: refused_or_done(s.validate, x), SPACE, ARRAYS),
    "Ball": (lambda s, c, r: refused_or_done(sf.Ball, s, c, r), SPACE | SCALARS, ARRAYS, SCALARS),
    "Ball.clip": (lambda s, x, how: refused_or_done(a_ball(s).clip, x, how), SPACE, ARRAYS, SCALARS | st.just("center")),
    "Ellipsoid": (
        lambda s, c, a, b: refused_or_done(sf.Ellipsoid, s, c, a, b),
        SPACE | SCALARS, ARRAYS, ARRAYS | SCALARS, st.none() | ARRAYS,
    ),
    "Ellipsoid.from_sample": (
        lambda s, x, c, m, w: refused_or_done(sf.Ellipsoid.from_sample, s, x, c, m, w),
        SPACE, ARRAYS, SCALARS, SCALARS, SCALARS,
    ),
    "Chart": (lambda d: refused_or_done(lambda: sf.Chart(log=lambda y: y, exp=lambda v: v, dim=d)), SCALARS),
    "PureDP": (lambda e: refused_or_done(sf.PureDP, e), SCALARS),
    "ZCDP": (lambda e: refused_or_done(sf.ZCDP, e), SCALARS),
    "GDP": (lambda e: refused_or_done(sf.GDP, e), SCALARS),
    "ApproxDP": (lambda e, d: refused_or_done(sf.ApproxDP, e, d), SCALARS, SCALARS),
    "frechet_mean": (lambda s, x, w: refused_or_done(sf.frechet_mean, s, x, w), SPACE, ARRAYS, st.none() | ARRAYS),
    "plan": (lambda s, r, n, e: refused_or_done(sf.plan, s, r, n, e), SPACE, SCALARS, SCALARS, SCALARS),
    "private_mean": (
        lambda x, s, e, m, u: refused_or_done(sf.private_mean, x, a_ball(s), e, m, unit=u),
        ARRAYS, SPACE, SCALARS, SCALARS | st.just("kng"), ARRAYS,
    ),
    "find_region": (
        lambda x, s, e, c: refused_or_done(sf.find_region, x, a_ball(s), e, c), ARRAYS, SPACE, SCALARS, SCALARS,
    ),
    "private_radius": (
        lambda x, s, e, c: refused_or_done(sf.private_radius, x, a_ball(s), e, c), ARRAYS, SPACE, SCALARS, SCALARS,
    ),
    "private_variance": (
        lambda x, e, r: refused_or_done(sf.private_variance, x, RELEASE, e, reach=r), ARRAYS, SCALARS, st.none() | SCALARS,
    ),
    "private_size": (lambda x, a, b, e: refused_or_done(sf.private_size, x, a, b, e), ARRAYS, SCALARS, SCALARS, SCALARS),
    "widest_ball": (lambda s, a, b: refused_or_done(sf.widest_ball, s, a, b), SPACE, st.none() | SCALARS, st.none() | SCALARS),
    "centroid_size": (lambda x: refused_or_done(sf.centroid_size, x), ARRAYS),
    "compare_groups": (
        lambda x, g, s, e: refused_or_done(sf.compare_groups, x, g, a_ball(s), e), ARRAYS, ARRAYS | SCALARS, SPACE, SCALARS,
    ),
    "private_regression": (
        lambda x, z, s, e, ends: refused_or_done(sf.private_regression, x, z, a_ball(s), e, limits=ends),
        ARRAYS, ARRAYS | SCALARS, SPACE, SCALARS, st.none() | SCALARS | st.tuples(SCALARS, SCALARS),
    ),
    "combine": (
        lambda r, p, w: refused_or_done(sf.combine, r, p, weights=w),
        st.lists(st.just(RELEASE) | SCALARS, max_size=3), SCALARS | st.just("apart"), SCALARS | st.just("n"),
    ),
    "private_components": (
        lambda x, s, e, k: refused_or_done(sf.private_components, x, a_ball(s), e, components=k),
        ARRAYS, SPACE, SCALARS, SCALARS,
    ),
    "PrivateMDM": (
        lambda x, y, e: refused_or_done(sf.PrivateMDM(center=np.eye(2), radius=1.0, epsilon=e).fit, x, y),
        ARRAYS, ARRAYS, SCALARS,
    ),
    "KNG": (lambda m, s, e, c: refused_or_done(m, a_ball(s), e, c), EVERY, SPACE, SCALARS, SCALARS | st.just("tight")),
    "Mechanism.at": (lambda s, n: refused_or_done(sf.ManifoldLaplace(a_ball(s), 1.0).at, n), SPACE, SCALARS),
    "Release.error": (lambda p: refused_or_done(RELEASE.error, p), SCALARS),
    "Release": (lambda text: refused_or_done(sf.Release.from_json, text), st.text(max_size=30) | RECORDS.map(repr)),
    "smooth_outline": (lambda x, b: refused_or_done(sf.smooth_outline, x, b), ARRAYS, st.none() | SCALARS),
    "outline_bandwidth": (lambda x, e: refused_or_done(sf.outline_bandwidth, x, e), ARRAYS, SCALARS),
    "crosses_itself": (lambda x: refused_or_done(sf.crosses_itself, x), ARRAYS),
    "from_geomstats": (lambda x: refused_or_done(sf.from_geomstats, x), SCALARS),
    "as_opendp": (lambda n: refused_or_done(sf.as_opendp, sf.ManifoldLaplace(a_ball(SPACES[0]), 1.0), size=n), SCALARS),
    "PrivateFrechetMean": (
        lambda x, e, r: refused_or_done(
            sf.PrivateFrechetMean(space=SPACES[0], center=[0.0] * 3, radius=r, epsilon=e).fit, x
        ),
        ARRAYS, SCALARS, SCALARS,
    ),
    "PrivateTangentSpace": (
        lambda x, e: refused_or_done(sf.PrivateTangentSpace(center=np.eye(2), radius=1.0, epsilon=e).fit, x), ARRAYS, SCALARS,
    ),
    "read": (read_bytes, st.binary(max_size=200) | st.text(max_size=100).map(str.encode), st.none() | SPACE),
    "write_points": (write_points, ARRAYS, st.sampled_from(["landmarks", "matrices", "vectors"]) | SCALARS, SUFFIXES),
    "save_region": (save_region, SPACE, SCALARS),
    "load_region": (load_region, st.text(max_size=30) | RECORDS.map(repr)),
    "SiteKey": (create_key, SCALARS | st.text(max_size=4)),
    "Study": (
        lambda s, n, h, e, g: refused_or_done(plan_sites, a_ball(s), n, h, e, g),
        SPACE, SCALARS, SCALARS, SCALARS, st.lists(st.text(max_size=2) | SCALARS, max_size=3),
    ),
    "Ledger": (create_ledger, SCALARS | st.text(max_size=8), SCALARS | st.text(max_size=4)),
    "Ledger.charge": (charge, SCALARS, st.dictionaries(st.text(max_size=5), RECORDS, max_size=3)),
}  # fmt: skip
SLOW = {
    "needed_n": (lambda s, e, x: refused_or_done(sf.needed_n, a_ball(s), e, x), SPACE, SCALARS, SCALARS),
    "needed_epsilon": (lambda s, n, x: refused_or_done(sf.needed_epsilon, a_ball(s), n, x), SPACE, SCALARS, SCALARS),
    "plot_release": (draw, SCALARS, SUFFIXES),
    "write_report": (describe, SUFFIXES),
}
WITHOUT = {  # named types without checks of their own: results, records and exceptions
    "__version__", "Circle", "Comparison", "Components", "Regression", "Regressions",  # a torus; what findings give
    "BudgetExceeded", "Calibration", "ConvergenceWarning", "Dataset", "FileError", "Forecast", "FrechetMean",
    "Guarantee", "InvalidPointError", "LedgerError", "Objective", "PrecisionError", "RadiusError", "RecordError", "Refusal",
    "Scale", "SfumatoError", "UnsavedError", "Session",  # a session asks what private_mean asks
    "AmbientLaplace", "Exponential", "ManifoldLaplace", "ManifoldStaircase", "PointwiseLaplace",  # made under "KNG"
    "TangentKNorm",  # and this
    "Privacy",  # what all kinds are
}  # fmt: skip


def test_every_public_name_is_tried():
    assert set(sf.__all__) == {name.split(".")[0] for name in (*CALLS, *SLOW)} - {"Mechanism"} | WITHOUT


@pytest.mark.filterwarnings("ignore::sfumato.ConvergenceWarning")
@pytest.mark.parametrize("name", [*CALLS, *SLOW])
def test_bad_arguments_are_refused_as_documented(name):
    call, *strategies = CALLS.get(name) or SLOW[name]
    if name == "as_opendp":
        dp = pytest.importorskip("opendp.prelude")
        dp.enable_features("contrib", "honest-but-curious")

    @some(6 if name in SLOW else 50)
    @given(st.tuples(*strategies))
    def holds(arguments):
        call(*arguments)

    holds()


def test_an_undocumented_exception_is_noticed():
    def speechless():
        raise ValueError

    with pytest.raises(KeyError):
        refused_or_done({}.__getitem__, "x")
    with pytest.raises(AssertionError, match="without a word"):
        refused_or_done(speechless)


# -- good arguments --------------------------------------------------------------------------------------------------------
SEEDS = st.integers(0, 2**32 - 1)
SCALES = st.floats(0.05, 20.0)


@some(40)
@given(SPACE, SEEDS)
def test_points_survive_being_presented(space, seed):
    points = space.validate(sample(space, 5, seed))
    again = space.validate(space.present(points))
    assert np.abs(space.distance(points, again)).max() < 1e-6
    np.testing.assert_allclose(space.present(again), space.present(points), atol=1e-12, rtol=1e-12)


@some(40)
@given(SPACE, SEEDS, st.floats(0.1, 1.0))
def test_clipping_stays_in_the_ball_and_keeps_what_is_in_it(space, seed, share):
    ball = a_ball(space, share * typical_radius(space))
    points = space.validate(sample(space, 12, seed))
    clipped = ball.clip(space.present(points))
    assert ball.distances(clipped).max() <= ball.radius * (1 + 1e-9)
    inside = ball.distances(points) < ball.radius * (1 - 1e-9)
    np.testing.assert_allclose(clipped[inside], points[inside], atol=1e-9)
    broken = space.present(points).copy()
    broken[3] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 3"):
        ball.clip(broken)
    assert ball.distances(ball.clip(broken, "center"))[3] == pytest.approx(0, abs=1e-7)


@some(5)
@given(SPACE, st.integers(20, 5000), SCALES, st.floats(1.05, 5.0))
def test_plans_are_monotone(space, n, epsilon, more):
    def best(n, epsilon):
        rows = [row.error_95 for row in sf.plan(space, 0.3 * typical_radius(space), n, epsilon) if row.refusal is None]
        assume(rows)
        return min(rows)

    error = best(n, epsilon)
    assert best(math.ceil(n * more), epsilon) <= error * (1 + 1e-9)
    assert best(n, epsilon * more) <= error * (1 + 1e-9)


@some(8)
@given(SPACE, SEEDS, st.floats(0.5, 5.0))
def test_releases_survive_a_file(space, seed, epsilon):
    release = refused_or_done(
        sf.private_mean, sample(space, 60, seed), a_ball(space, 0.3 * typical_radius(space)), epsilon
    )
    assume(release is not None)
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder, "mean.json"))
        again = sf.Release.load(Path(folder, "mean.json"))
    np.testing.assert_array_equal(again.value, release.value)
    assert again.to_json() == release.to_json()
    assert release.error(0.5) <= release.error(0.95) == again.error(0.95)


@some(15)
@given(st.lists(st.decimals("0.01", "0.7", places=2), max_size=8), st.decimals("0.5", "3", places=2))
def test_a_ledger_never_under_counts(amounts, budget):
    with tempfile.TemporaryDirectory() as folder:
        path, spent = Path(folder, "a"), Decimal(0)
        sf.Ledger.create(path, budget)
        for amount in amounts:
            try:
                sf.Ledger(path).charge(amount, {"n": 1})
                spent += amount
            except sf.BudgetExceeded:
                assert spent + amount > budget
            assert sf.Ledger(path).left == budget - spent >= 0


@some(40)
@given(
    st.sampled_from(
        [("landmarks", sf.PlanarShapes(5), (5, 2)), ("matrices", sf.SPD(3), (3, 3)), ("vectors", sf.Euclidean(4), (4,))]
    ),
    st.data(),
)
def test_values_survive_every_format(case, data):
    kind, space, shape = case
    value = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(allow_nan=False, allow_infinity=False)))
    for suffix in (".csv", ".npy", *([".tps"] if kind == "landmarks" else [])):
        with tempfile.TemporaryDirectory() as folder:
            sf.write_points(Path(folder, f"a{suffix}"), value, kind)
            found = sf.read(Path(folder, f"a{suffix}"), space)
            assert [file.name for file in Path(folder).iterdir()] == [f"a{suffix}"]
        np.testing.assert_array_equal(found.points, value[None])
        assert found.kind == kind


@some(20)
@given(st.integers(5, 30), SEEDS)
def test_smoothing_keeps_lines_and_crossings_are_symmetric(landmarks, seed):
    outline = np.random.default_rng(seed).normal(size=(landmarks, 2))
    smooth, move = sf.smooth_outline(outline), np.array([3.0, -2.0])
    np.testing.assert_allclose(smooth + move, sf.smooth_outline(outline + move), atol=1e-9)
    assert (
        sf.crosses_itself(outline) == sf.crosses_itself(outline[::-1]) == sf.crosses_itself(np.roll(outline, 2, axis=0))
    )


@some(10)
@given(RECORDS)
def test_records_that_are_no_releases_are_refused(record):
    with pytest.raises(ValueError, match="not a release record"):
        sf.Release.from_json(json.dumps(record, default=str))
