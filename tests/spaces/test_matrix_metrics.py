"""Covariances by four metrics, correlations, variances: against pyRiemann and geomstats, near and far, and in plans."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from geomstats.geometry.full_rank_correlation_matrices import FullRankCorrelationMatrices, OffLogMetric
from geomstats.geometry.spd_matrices import SPDBuresWassersteinMetric, SPDLogEuclideanMetric, SPDMatrices

import sfumato as sf
from sfumato.laws.bounds import bounds_of, has_bounds
from sfumato.laws.sampling.lattice import is_precise
from sfumato.mechanisms import choose
from sfumato.mechanisms.planning import instead
from sfumato.spaces import BuresWasserstein, LogCholesky, LogEuclidean, space_typed
from sfumato.views import VIEWS
from sfumato.views.forecasts import at_centre
from sfumato.views.subject import Subject

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from pyriemann.utils import distance as peer_distance
    from pyriemann.utils import mean as peer_mean

K = 4
TRANSPORT = sf.SPD(K, metric="bures-wasserstein")
METRICS = {"log-euclidean": "logeuclid", "log-cholesky": "logchol", "bures-wasserstein": "wasserstein"}
FLAT = [sf.SPD(K, metric="log-euclidean"), sf.SPD(K, metric="log-cholesky"), sf.Correlation(K), sf.DiagonalSPD(K)]


@pytest.fixture
def covariances(rng):
    series = rng.normal(size=(40, K, 2 * K)) * np.array([1.0, 2.0, 0.5, 1.5])[:, None]
    return series @ series.swapaxes(1, 2) / K


def correlations(matrices):
    scale = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    found = matrices / scale[:, :, None] / scale[:, None, :]
    found[:, np.arange(matrices.shape[1]), np.arange(matrices.shape[1])] = 1.0
    return (found + found.swapaxes(1, 2)) / 2


# -- what is typed ---------------------------------------------------------------------------------------------------------
def test_the_metric_makes_the_space():
    assert sf.SPD(3) == sf.SPD(size=3, metric="affine")
    assert repr(sf.SPD(3)) == "SPD(size=3)"
    assert sf.SPD(3).metric == "affine-invariant"
    kinds = {"log-euclidean": LogEuclidean, "log-cholesky": LogCholesky, "bures-wasserstein": BuresWasserstein}
    for metric, kind in kinds.items():
        space = sf.SPD(3, metric=metric)
        assert type(space) is kind
        assert space_typed(f"spd(metric={metric})").sized(size=3) == space == space_typed(metric).sized(size=3)
        assert space_typed(f"spd(metric={metric})").shaped((3, 3)) == space
        assert space != sf.SPD(3)
    for space in (sf.SPD(3), TRANSPORT, *FLAT):
        assert pickle.loads(pickle.dumps(space)) == space
        assert hash(space) == hash(pickle.loads(pickle.dumps(space)))
    with pytest.raises(ValueError, match="affine, log-euclidean, log-cholesky, bures-wasserstein"):
        sf.SPD(3, metric="euclid")
    with pytest.raises(ValueError, match=r"the space spd\(…\) got an unexpected keyword argument 'metrik'"):
        space_typed("spd(size=2, metrik=affine)").sized()
    with pytest.raises(ValueError, match="whole number of at least 1"):
        sf.SPD(0, metric="log-cholesky")


# -- against others --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("metric", "name"), METRICS.items())
def test_pyriemann_finds_the_same(metric, name, covariances):
    space = sf.SPD(K, metric=metric)
    points = space.validate(covariances)
    theirs = [getattr(peer_distance, f"distance_{name}")(covariances[0], y) for y in covariances[1:]]
    assert space.distance(points[0], points[1:]) == pytest.approx(theirs, rel=1e-9)
    told = {"tol": 1e-12, "maxiter": 500} if name == "wasserstein" else {}
    mean = getattr(peer_mean, f"mean_{name}")(covariances, **told)
    assert sf.frechet_mean(space, covariances).point == pytest.approx(mean, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs", "options", "points"),
    [
        (FLAT[0], SPDMatrices, {"Metric": SPDLogEuclideanMetric}, lambda x: x),
        (TRANSPORT, SPDMatrices, {"Metric": SPDBuresWassersteinMetric}, lambda x: x),
        # its own default adds the square of the sum of all entries: no Frobenius norm
        (
            FLAT[2],
            FullRankCorrelationMatrices,
            {"Metric": OffLogMetric, "alpha": 1.0, "beta": 0.0, "gamma": 0.0},
            correlations,
        ),
    ],
    ids=["log-euclidean", "bures-wasserstein", "off-log"],
)
def test_geomstats_finds_the_same(ours, theirs, options, points, covariances):
    peer = theirs(K, equip=False)
    peer.equip_with_metric(**options)
    x = points(covariances)
    y = ours.validate(x)
    assert ours.distance(y[0], y[1:]) == pytest.approx(peer.metric.dist(x[0], x[1:]), rel=1e-9)
    half = ours.present(ours.exp(y[0], 0.5 * ours.log(y[0], y[1:])))
    assert half == pytest.approx(peer.metric.exp(0.5 * peer.metric.log(x[1:], x[0]), x[0]), abs=1e-9)
    mean = peer.metric.exp(0.0 * peer.metric.log(x[1], x[0]), x[0])
    for _ in range(60):
        mean = peer.metric.exp(peer.metric.log(x, mean).mean(axis=0), mean)
    assert sf.frechet_mean(ours, x).point == pytest.approx(mean, abs=1e-9)


# -- flat spaces -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("space", FLAT, ids=str)
def test_every_mechanism_is_that_of_a_flat_space(space, covariances):
    assert bounds_of(space).is_flat
    assert is_precise(space, 1e6)
    assert space.embedding() is None
    assert not has_bounds(TRANSPORT)
    flat = sf.plan(sf.Euclidean(space.dim), radius=2.0, n=400, epsilon=1.0)
    assert [row.error_95 for row in sf.plan(space, radius=2.0, n=400, epsilon=1.0)] == [row.error_95 for row in flat]
    points = {"correlation": correlations, "diagonal-spd": lambda x: np.diagonal(x, axis1=1, axis2=2)}.get(space.name)
    points = np.concatenate([points(covariances) if points else covariances] * 50)
    ball = sf.Ball(space, space.present(space.origin()), 3.0)
    mean = space.validate(sf.frechet_mean(space, space.present(ball.admit(points))).point[None])[0]
    for name in ("kng", "laplace", "staircase", "tangent"):
        release = sf.private_mean(points, ball, 4.0, name)
        assert space.distance(mean, space.validate(release.value[None])[0]) <= 2 * release.error(0.9999)


@pytest.mark.parametrize("space", [sf.SPD(8, metric="log-euclidean"), sf.Correlation(8)], ids=str)
def test_a_public_sample_shapes_the_noise(space, rng):
    """Also where a look decides: centres that are presented and read again differ in their last digits."""
    series = rng.normal(size=(300, 8, 20))
    series[:, 1] += series[:, 0] * rng.random((300, 1))
    matrices = series @ series.swapaxes(1, 2) / 20
    points = correlations(matrices) if space.name == "correlation" else matrices
    region = sf.Ellipsoid.from_sample(space, points[:60])
    release = sf.private_mean(np.concatenate([points[60:]] * 10), region, 1.0)
    assert not space.diagnose(release.value[None])[1]
    assert release.error(0.95) < 0.2


def test_wide_and_narrow_spectra(rng):
    """As far as doubles can hold such matrices: an entry is off by 1e-16 of the largest."""
    turn = np.linalg.qr(rng.normal(size=(30, 3, 3)))[0]
    for levels in ([-10.0, 0.0, 10.0], [-60.0, -60.0, -60.0], [200.0, 201.0, 190.0]):
        log = (turn * np.array(levels)) @ turn.swapaxes(1, 2)
        space = sf.SPD(3, metric="log-euclidean")
        upper = np.sqrt(2) * log[:, *np.triu_indices(3, 1)]
        flat = np.concatenate([np.diagonal(log, axis1=1, axis2=2), upper], axis=1)
        close = 1e-12 + 1e-14 * np.exp(np.ptp(levels))
        assert space.validate(space.present(flat)) == pytest.approx(flat, abs=close)
    units = np.diag([1e-6, 1.0, 1e6])
    series = rng.normal(size=(30, 3, 9))
    matrices = series @ series.swapaxes(1, 2)
    flat = sf.SPD(3, metric="log-euclidean").validate(units @ matrices @ units)
    found = flat[:, :3].sum(axis=1)  # log det: from eigenvalues alone, 10 and more off
    assert found == pytest.approx(np.linalg.slogdet(matrices)[1], abs=2e-3)
    far = np.array([[1e5, -1e5, 3.0, 1e5, 0.0, 1e4], [800.0, -800.0, 0.0, 0.0, 0.0, 0.0]])
    for metric in ("log-euclidean", "log-cholesky"):
        space = sf.SPD(3, metric=metric)
        assert np.isfinite(space.present(far)).all()
        assert not space.diagnose(space.present(far))[1]


# -- Bures and Wasserstein -------------------------------------------------------------------------------------------------
def test_transport_keeps_its_digits_near_and_at_any_scale(covariances, rng):
    change = rng.normal(size=(K, K))
    change = change + change.T
    at = covariances[0]
    for step in (1e-6, 1e-9, 1e-12):
        moved = at + step * change
        length = TRANSPORT.norm(at, moved - at)
        assert TRANSPORT.distance(at, moved[None])[0] == pytest.approx(length, rel=10 * step + 1e-9)
    usual = TRANSPORT.distance(at, covariances[1:])
    for scale in (1e-28, 1e-12, 1e12, 1e28):
        assert TRANSPORT.distance(scale * at, scale * covariances[1:]) == pytest.approx(
            np.sqrt(scale) * usual, rel=1e-9
        )
    units = np.diag([1e-6, 1.0, 1e6, 1.0])
    apart = TRANSPORT.distance(units @ at @ units, units @ covariances[1:] @ units)
    assert apart == pytest.approx(1e6 * np.abs(np.sqrt(at[2, 2]) - np.sqrt(covariances[1:, 2, 2])), rel=1e-3)


def test_transport_goes_on_beyond_the_singular_matrices():
    line = sf.SPD(1, metric="bures-wasserstein")
    steps = np.array([[-0.5], [-1.0], [-3.0]])  # standard deviations from 1
    ends = line.exp(np.eye(1), line.from_coordinates(np.eye(1), steps))
    assert ends[:, 0, 0] == pytest.approx([0.25, 0.0, 4.0], abs=1e-12)
    assert ends.min() > 0
    assert not line.diagnose(ends)[1]


# -- correlations ----------------------------------------------------------------------------------------------------------
def test_correlations_come_back_however_close_to_singular(rng):
    for size, columns in ((3, 2), (6, 3), (20, 12)):
        series = rng.normal(size=(40, size, size))
        series[:, :, columns:] *= 10.0 ** rng.uniform(-4, 0, (40, 1, 1))
        given = correlations(series @ series.swapaxes(1, 2))
        space = sf.Correlation(size)
        assert space.present(space.validate(given)) == pytest.approx(given, abs=1e-10)


def test_noise_leads_to_correlations_anywhere(rng):
    space = sf.Correlation(5)
    directions = rng.normal(size=(40, space.dim))
    for length in (1e-12, 1.0, 20.0, 100.0, 1e6, 1e200):
        found = space.present(length * directions)
        assert (np.diagonal(found, axis1=1, axis2=2) == 1.0).all()
        assert not space.diagnose(found)[1]


def test_no_order_of_channels_is_preferred(covariances):
    space, given = sf.Correlation(K), correlations(covariances)
    order = [2, 0, 3, 1]
    turned = given[:, order][:, :, order]
    mean = sf.frechet_mean(space, given).point
    assert sf.frechet_mean(space, turned).point == pytest.approx(mean[order][:, order], abs=1e-12)
    by_factors = sf.SPD(K, metric="log-cholesky")  # which prefers one
    mean = sf.frechet_mean(by_factors, given).point
    assert np.abs(sf.frechet_mean(by_factors, turned).point - mean[order][:, order]).max() > 1e-3


def test_what_is_no_correlation_matrix_is_told_why():
    rank_one = np.ones((4, 4))
    hollow = 0.3 * np.ones((4, 4)) - 0.3 * np.eye(4)
    skew = np.eye(4) + 0.1 * np.eye(4, k=1)
    rows = [np.eye(4), np.diag([1.0, 4.0, 1.0, 1.0]), rank_one, hollow, skew, 2 * rank_one - np.eye(4)]
    points, reasons = sf.Correlation(4).diagnose(rows)
    assert sorted(reasons) == [1, 2, 3, 4, 5]
    assert "has 4 on its diagonal, in channel 2" in reasons[1]
    assert "divide by the standard deviations, or take the space spd" in reasons[1]
    assert "fewer time points than channels" in reasons[2]
    assert "shrink" in reasons[2]
    assert "put the 1 back" in reasons[3]
    assert "not symmetric" in reasons[4]
    assert "smallest eigenvalue is -1" in reasons[5]
    assert np.isfinite(points).all()
    in_single = correlations(np.array([[[1.0, 0.3], [0.3, 2.0]]])).astype(np.float32)
    in_single[0, 0, 0] += np.float32(1e-6)
    assert not sf.Correlation(2).diagnose(in_single)[1]


# -- variances -------------------------------------------------------------------------------------------------------------
def test_variances_are_the_diagonal(covariances):
    space = sf.DiagonalSPD(K)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    assert np.array_equal(space.validate(covariances), space.validate(variances))
    assert space.corrections(covariances) == ["only the diagonal of each matrix is used"]
    assert space.corrections(variances) == []
    whole = np.stack([np.diag(v) for v in variances])
    assert space.distance(*space.validate(variances[:2])) == pytest.approx(sf.SPD(K).distance(whole[0], whole[1]))
    assert "in channel 3" in space.diagnose([[1.0, 2.0, 0.0, 1.0]])[1][0]


# -- what an error says ----------------------------------------------------------------------------------------------------
def test_an_error_bounds_what_is_drawn(rng):
    """Eigenvalues by the log-Euclidean and the transport metric; variances would leave the first one's factor."""
    series = rng.normal(size=(2, 300, 3, 3)) * rng.choice([0.1, 1.0, 3.0], (2, 300, 1, 3))
    a, b = series @ series.swapaxes(2, 3)
    spectra = [np.linalg.eigvalsh(m) for m in (a, b)]
    logs = sf.SPD(3, metric="log-euclidean")
    distance = logs.distance(logs.validate(a), logs.validate(b))
    assert (np.abs(np.log(spectra[0] / spectra[1])).max(axis=1) <= distance * (1 + 1e-9)).all()
    ratios = np.linalg.eigvals(np.linalg.solve(a, b)).real  # of variances, at their most
    assert (np.abs(np.log(ratios)).max(axis=1) > distance).any()
    space = sf.SPD(3, metric="bures-wasserstein")
    distance = space.distance(a, b)
    assert (np.abs(np.sqrt(spectra[0]) - np.sqrt(spectra[1])).max(axis=1) <= distance * (1 + 1e-9)).all()
    u, v = rng.normal(size=(2, 300, space.dim))  # a chart's error bounds a distance, wherever the ends are
    at = a[0]
    ends = [space.exp(at, space.from_coordinates(at, w)) for w in (u, v)]
    assert (space.distance(*ends) <= np.linalg.norm(u - v, axis=1) * (1 + 1e-9)).all()


@pytest.mark.parametrize("space", [*FLAT, TRANSPORT], ids=str)
def test_pictures_and_words(space, tmp_path):
    center = space.present(space.origin())
    points = np.repeat(center[None], 500, axis=0)
    release = sf.private_mean(points, sf.Ball(space, center, 1.0), 2.0)
    view = VIEWS[space.name]
    assert bool(view.meaning(Subject.of(release), 0.1)) == (space.name != "correlation")
    sf.plot_release(release, tmp_path / "mean.svg")
    assert "<svg" in (tmp_path / "mean.svg").read_text()
    at_centre(choose(sf.Ball(space, center, 1.0), 500, 2.0)).plot()  # where nothing differs
    caption = view.caption(Subject.of(release))
    assert ("is not drawn" in caption) == (space.name in ("correlation", "log-cholesky"))


# -- many channels ---------------------------------------------------------------------------------------------------------
def test_many_channels_are_told_what_is_possible():
    ball = sf.Ball(sf.SPD(16), np.eye(16), 2.0)
    ways = instead(ball, n=60, epsilon=1.0)
    assert [way["space"] for way in ways] == ["diagonal-spd(size=16)", "correlation(size=16)", "spd(size=4)", None]
    for way in ways[:3]:
        space = space_typed(way["space"]).sized()
        best = sf.plan(space, radius=2.0, n=way["n"], epsilon=1.0)[0]
        assert not best.useless
        assert way["error_95"] in (None, best.error_95)
    assert sf.plan(sf.Correlation(16), radius=2.0, n=60, epsilon=1.0)[0].useless
    assert sf.plan(sf.SPD(8), radius=2.0, n=60, epsilon=1.0)[0].useless
    question = r"variance of each channel alone \(diagonal-spd\(size=16\), with an error up to 1\.\d+\)"
    refusal = rf"useless.*{question}.*a public sample of such records"
    with pytest.raises(sf.Refusal, match=refusal):
        sf.private_mean(np.repeat(np.eye(16)[None], 60, axis=0), ball, 1.0)
    assert sf.Sphere(2).smaller() == {}


def test_the_table_of_the_documentation_is_what_plans_say():
    text = (Path(__file__).parents[2] / "docs" / "spaces.md").read_text(encoding="utf-8")
    lines = text.partition("### Many channels")[2].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if "| `" in line][1:]
    assert len(rows) == 6
    for words, name, dim, *cells in rows:
        space = space_typed(name.strip("`")).sized(size=8 if "8 of" in words else 32)
        assert space.dim == int(dim)
        errors = [sf.plan(space, radius=2.0, n=n, epsilon=1.0)[0].error_95 for n in (100, 1000, 5000)]
        assert [f"{error:.3g}" for error in errors] == cells[:3]
        least = int(cells[3])
        useless = [sf.plan(space, radius=2.0, n=n, epsilon=1.0)[0].useless for n in (int(0.98 * least), least)]
        assert useless == [True, False]


@pytest.mark.parametrize("names", [None, "roi{}_roi{}", "r{}{}"])
def test_correlations_may_be_written_without_their_diagonal(tmp_path, names):
    rng = np.random.default_rng(8)
    k = 6
    records = np.array([np.corrcoef(rng.normal(size=(k, 40))) for _ in range(12)])
    rows, columns = np.triu_indices(k, 1)
    head = "" if names is None else ",".join(names.format(i + 1, j + 1) for i, j in zip(rows, columns, strict=True))
    half = records[:, rows, columns]
    np.savetxt(tmp_path / "half.csv", half, delimiter=",", fmt="%.17g", header=head, comments="")
    data = sf.read(tmp_path / "half.csv", sf.Correlation(k))
    np.testing.assert_allclose(data.points, records, atol=1e-15)
    assert names or data.source.endswith("rows of the upper triangle without its diagonal")
    if names is None:
        with pytest.raises(sf.FileError, match="needs 21 or 36"):  # of covariances the diagonal is not known
            sf.read(tmp_path / "half.csv", sf.SPD(k))
    many = np.corrcoef(rng.normal(size=(20, 90)))  # of which the names "column 10" to "column 99" say no entries
    np.savetxt(tmp_path / "many.csv", many[np.triu_indices(20, 1)][None], delimiter=",", fmt="%.17g")
    np.testing.assert_allclose(sf.read(tmp_path / "many.csv", sf.Correlation(20)).points[0], many, atol=1e-15)


def test_a_singular_covariance_matrix_is_refused_with_what_helps():
    short = np.cov(np.random.default_rng(3).normal(size=(6, 4)))
    with pytest.raises(sf.InvalidPointError, match=r"fewer time points than channels; leave out channels, or shrink"):
        sf.SPD(6).validate(short[None])
    with pytest.raises(sf.InvalidPointError, match=r"the variance in row 2 is 0; leave out a silent channel"):
        sf.SPD(2).validate([[[1.0, 0.0], [0.0, 0.0]]])


def test_a_folder_of_matrices_needs_no_size(tmp_path):
    records = np.array([np.corrcoef(np.random.default_rng(i).normal(size=(5, 40))) for i in range(4)])
    for i, matrix in enumerate(records):
        np.savetxt(tmp_path / f"{i}.csv", (matrix + matrix.T) / 2, delimiter=",", fmt="%.17g")
    np.testing.assert_allclose(sf.read(tmp_path, sf.Correlation).points, records, atol=1e-15)
    np.savetxt(
        tmp_path / "0.csv", np.random.default_rng(9).normal(size=(5, 5)), delimiter=","
    )  # five of something else
    with pytest.raises(sf.FileError, match="say how many rows a matrix has, as size=3"):
        sf.read(tmp_path, sf.Correlation)


@pytest.mark.parametrize("size", [2, 3])
def test_logarithms_exist_as_far_as_numbers_go(size, rng):
    """Of the largest matrices they warned of an overflow, and of the smallest none was found: an error without a row."""
    space, shape = sf.SPD(size, metric="log-euclidean"), np.eye(size) + 0.2
    units = space.validate([factor * shape for factor in (1e307, 1.0, 1e-300)])
    for far, log_factor in zip(units[[0, 2]], (307 * np.log(10), -300 * np.log(10)), strict=True):
        assert np.allclose(far[:size] - units[1][:size], log_factor, rtol=1e-13)
        assert np.allclose(far[size:], units[1][size:], atol=1e-12)
    spread = [np.diag(np.append(1.7e308, np.full(size - 1, 5e-324))), np.diag(10.0 ** np.linspace(300, -300, size))]
    subnormal = [k * 5e-324 * np.eye(size) for k in (1, 2, 3)]
    assert np.isfinite(space.validate([*spread, *subnormal])).all()
    for _ in range(100):
        matrix = 5e-324 * np.round(rng.uniform(1, 9) * shape)
        assert np.isfinite(space.diagnose(matrix[None])[0]).all()
