"""Principal directions and synthetic specimens: what is read from a release, what is above the noise, and what is made of it.

The noise itself is tested in tests/mechanisms/test_moments.py.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.files import read, write_points
from sfumato.findings.components import ABOVE
from sfumato.mechanisms.moments import triangle, wishart_noise
from sfumato.views.components import in_short, plot_specimens

SPREAD = np.array([1.0, 0.4, 0.1, 0.05])
DECAY = np.arange(1, 41.0) ** -1.25  # standard deviations of made-up outlines: variances fall like j^−2.5


def flat(radius=3.0, dim=4):
    return sf.Ball(sf.Euclidean(dim=dim), np.zeros(dim), radius)


def vectors(rng, n):
    return rng.normal(size=(n, 4)) * SPREAD


def outlines(rng, n, turn=None):
    """Return vectors with a steep spectrum along directions that nobody knows."""
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(40, 40)))[0] if turn is None else turn
    return (rng.normal(size=(n, 40)) * DECAY) @ turn


def released(found, matrix):
    """Return what would be known, had this matrix been released, in units of the metric."""
    p = len(found.axes)
    rows, columns, weights = triangle(p)
    raw = (matrix / np.outer(found.axes, found.axes))[rows, columns]
    raw = raw if found.release.mechanism.options else raw * weights
    return replace(found, release=replace(found.release, value=raw, unprojected=None))


# -- what is read from a release ---------------------------------------------------------------------------------------------
def test_directions_and_variances_are_found_and_say_what_is_noise(rng):
    points = vectors(rng, 20_000)
    found = sf.private_components(points, sf.private_mean(points, flat(), 2.0), 2.0, 3)
    clipped = flat().as_chart().chart(points) * 3.0
    values = np.linalg.eigvalsh(clipped.T @ clipped / len(points))[::-1]
    off = found.noise(0.99)  # exceeded by less than 1e-6 once tripled: the noise has exponential tails
    assert np.abs(found.variances - values[:3]).max() < 3 * off + 1e-3
    assert abs(found.directions[0, 0]) > 0.99
    assert abs(found.directions[1, 1]) > 0.9
    assert found.significant[:2] == [True, True]
    assert found.angles[0] < 10
    assert found.intervals().shape == (3, 2)
    assert found.shares[0] == pytest.approx(values[0] / values.sum(), abs=0.05)
    ends = found.points(0, 2.0)
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(4 * np.sqrt(found.variances[0]))
    assert ends.mean(axis=0) == pytest.approx(found.center, abs=1e-12)


def test_a_component_is_above_the_noise_only_by_more_than_the_noise(rng):
    found = sf.private_components(vectors(rng, 20_000), flat(), 2.0, 3)
    off = np.sort(found._noise[:, -1] - found._noise[:, :2].mean(axis=1))[-1]  # more than any draw

    def with_variances(*values):
        return released(found, np.diag(values))

    known = with_variances(1.0, 0.2, 0.1, 0.1)
    assert known.variances == pytest.approx([1.0, 0.2, 0.1])
    assert known.significant == [True, True, False]
    assert known.angles[2] == 90
    assert with_variances(1.0, 0.4, 0.1 + 2.1 * off, 0.1).significant == [True] * 3
    assert with_variances(0.1, 0.1, 0.1, 0.1).significant == [False] * 3
    assert with_variances(1.0, 1.0, 0.1, -0.1).angles[:2].tolist() == [90, 90]  # the plane is known, not the two
    assert np.isnan(with_variances(0.1, -0.1, -0.1, -0.1).shares).all()
    words = known.describe().splitlines()
    assert words[:2] == in_short(known)
    assert "ε = 2 protects one record" in words[0]
    assert words[1].startswith("2 components are above the noise, of 3")
    assert [line[:2] for line in words[2:4]] == ["1.", "2."]
    assert not any(line.startswith("3.") for line in words)
    assert in_short(with_variances(0.1, 0.1, 0.1, 0.1))[1].startswith("No component is above the noise")


def test_a_direction_that_a_wrong_sample_names_is_not_above_the_noise():
    """Public specimens vary along the first axis, records, said to be of the same population, along the second."""
    rng = np.random.default_rng(1)
    sample = rng.normal(size=(400, 6)) * [1.0, 0.6, 0.35, 0.25, 0.2, 0.15]
    records = rng.normal(size=(300, 6)) * [0.05, 1.0, 0.3, 0.2, 0.2, 0.15]
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=6), sample, relation="same")
    first = sf.private_components(records, region, 2.0)
    found = released(first, first.basis @ np.cov(records.T) @ first.basis.T)
    assert abs(found.directions[0, 0]) > 0.9
    assert not found.significant[0]
    assert replace(found, weight=1.0).significant[0]


@pytest.mark.parametrize("p", [2, 6])
def test_noise_alone_is_called_a_component_in_one_of_eighty_at_most(p):
    """Records that vary alike in all directions; and, for the second, in all but one.  Half the threshold would not do."""
    found = sf.private_components(np.zeros((300, p)), flat(dim=p), 1.0, 2, allow_useless=True)
    rng = np.random.default_rng(5)
    times, alike = 1500, np.eye(p)
    for truth, j in ((alike, 0), (alike + 500 * np.outer(np.eye(p)[0], np.eye(p)[0]), 1)):
        if j >= p - 1:
            continue
        wrong = lower = 0
        limit = np.quantile(found._noise[:, -1] - found._noise[:, : p - j].mean(axis=1), ABOVE)
        plan = type(found)._kind.fget(found).of(p, sf.PureDP(1.0)).plan(300)
        for noise in plan.sampled_noise(times, rng):
            rows, columns, weights = triangle(p)
            matrix = np.zeros((p, p))
            matrix[rows, columns] = matrix[columns, rows] = noise / (1 if p > 4 else weights)
            one = released(found, truth + 9 * matrix)
            wrong += one.significant[j]
            values = np.linalg.eigvalsh(one.matrix)[: p - j]
            lower += bool(values[-1] - values.mean() > limit / 2)
        rest = 1 - ABOVE
        assert wrong / times <= rest + 5 * np.sqrt(rest / times)
        assert lower / times > rest + 5 * np.sqrt(rest / times)


@pytest.mark.parametrize("weigh", [False, True])
def test_intervals_hold_for_all_variances_at_once(weigh):
    """Along the directions that are told, weighed or not, in at least 95% of releases; intervals half as long do not."""
    rng = np.random.default_rng(8)
    n, times = 400, 300
    sample = outlines(rng, 30)
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=40), sample, relation="same")
    region = region if weigh else region.settle(n, 1.0)
    points = outlines(rng, n)
    first = sf.private_components(points, region, 1.0, 3, modes=6)
    assert (first.weight < 1) == weigh
    w = sf.Ellipsoid(sf.Euclidean(dim=40), first.center, first.axes, first.basis).chart(points) * first.axes
    truth = w.T @ w / n
    held = short = 0
    for noise in wishart_noise(6, times, rng) / n * np.outer(first.axes, first.axes):
        found = released(first, truth + noise)
        v = found.directions @ first.basis.T
        along = np.sum((v @ truth) * v, axis=1)
        low, high = found.intervals().T
        held += bool(np.all((low <= along) & (along <= high)))
        half = found.noise() / 2
        short += bool(np.all(np.abs(found.variances - along) <= half))
    assert held / times >= 0.95 - 5 * np.sqrt(0.05 * 0.95 / times)
    assert short / times < 0.95 - 5 * np.sqrt(0.05 * 0.95 / times)


def test_the_first_component_of_outlines_is_above_the_noise_and_near_the_records_own():
    """n = 600, ε = 1, with a public sample of 60 and with the record of a mean alone; of twenty records none could be."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sample, points = outlines(rng, 60), outlines(rng, 600)
        region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=40), sample)
        mean = sf.private_mean(points, region, 1.0)
        own = np.linalg.eigh(np.cov(points.T))[1][:, -1]
        for known in (region, None):
            found = sf.private_components(points, mean, 1.0, region=known)
            assert found.significant[0]
            assert abs(found.directions[0] @ own) > 0.97
            assert (found.weight < 1) == (known is not None)
    few = sf.private_components(points[:20], region, 0.5, allow_useless=True)
    assert few.noise() > 2 * np.trace(np.cov(points.T))


def test_weighing_with_a_public_sample_helps_the_second_direction():
    """On average over studies of 200 records, each with 40 draws of the noise, by more than five standard errors.  Hardly any
    weight is given to a sample that is said to be of another population."""
    gains, weights = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = outlines(rng, 200)
        region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=40), outlines(rng, 60), relation="same")
        first = sf.private_components(points, region, 1.0, modes=6)
        own = np.linalg.eigh(np.cov(points.T))[1][:, -2]
        about = (points - first.center) @ first.basis.T
        for noise in wishart_noise(6, 40, rng) / 200 * np.outer(first.axes, first.axes):
            found = released(first, about.T @ about / 200 + noise)
            alone = replace(found, public=None, weight=1.0)
            gains.append(abs(found.directions[1] @ own) - abs(alone.directions[1] @ own))
        weights.append(first.weight)
    assert np.mean(gains) > 5 * np.std(gains) / np.sqrt(len(gains)) > 0
    other = sf.Ellipsoid.from_sample(sf.Euclidean(dim=40), outlines(rng, 60), relation="other")
    assert sf.private_components(points, other, 1.0, modes=6).weight > 0.9 > max(weights)


def test_what_cannot_be_seen_is_refused_before_anything_is_spent(rng, tmp_path):
    ledger = sf.Ledger.create(tmp_path / "study.ledger", 4, "points")
    points = vectors(rng, 40)
    with pytest.raises(sf.Refusal, match=r"lost in the noise.*What helps: .* records.*Nothing was spent"):
        sf.private_components(points, flat(), 0.2, budget=ledger)
    with pytest.raises(sf.Refusal, match="40 directions at most"):
        sf.private_components(rng.normal(size=(40, 50)), flat(dim=50), 1.0, budget=ledger)
    for wrong, words in (
        ({"components": 0}, "at least 1"),
        ({"components": 5}, "4 directions"),
        ({"modes": 1}, "modes"),
        ({"region": flat()}, "goes with a released mean"),
    ):
        with pytest.raises(ValueError, match=words):
            sf.private_components(points, flat(), 1.0, **wrong)
    with pytest.raises(TypeError, match="a released mean or a region"):
        sf.private_components(points, np.zeros(4), 1.0)
    with pytest.raises(ValueError, match="the region is one of"):
        sf.private_components(points, sf.private_mean(np.zeros((900, 4)), flat(), 1.0), 1.0, region=flat(dim=3))
    assert not [line for line in ledger.verify().entries if line.kind == "release"]
    found = sf.private_components(points, flat(), 0.2, budget=ledger, allow_useless=True)
    lines = [json.loads(line.record) for line in ledger.verify().entries if line.kind == "release"]
    assert [line["release"] for line in lines] == [found.sha256]


def test_modes_are_the_longest_axes_and_fewer_of_them_the_fewer_records(rng):
    axes = 0.8 ** np.arange(12)
    region = sf.Ellipsoid(sf.Euclidean(dim=12), np.zeros(12), axes[::-1])
    counts = [
        len(sf.private_components(np.zeros((n, 12)), region, 1.0, allow_useless=True).axes) for n in (60, 350, 10**6)
    ]
    assert counts[0] < counts[1] < counts[2] == 8
    few = sf.private_components(np.zeros((200, 12)), region, 1.0, modes=3, allow_useless=True)
    assert few.axes / few.axes[0] == pytest.approx(axes[:3] / axes[0])
    assert np.count_nonzero(few.basis[:, :9]) == 0
    every = sf.private_components(np.zeros((200, 12)), region, 1.0, modes=12, allow_useless=True)
    assert every.axes == pytest.approx(axes)  # all of them are as they were given
    assert len(sf.private_components(np.zeros((500, 4)), flat(), 1.0).axes) == 4


@pytest.mark.parametrize("n", [1, 2])
def test_any_records_are_released(n):
    for points in (
        np.zeros((n, 6)),
        np.full((n, 6), 1e300),
        np.full((n, 6), 1e-300),
        np.tile([1e9, 0, 0, 0, 0, 0], (n, 1)),
    ):
        found = sf.private_components(points, flat(dim=6), 1.0, allow_useless=True)
        assert found.release.mechanism.options == {"noise": "wishart"}
        assert np.isfinite(found.variances).all()


def test_it_is_about_the_released_mean_on_any_space_and_a_person_is_one_record(space, rng, tmp_path):
    from conftest import cloud, typical_radius

    base, radius = space.origin(), typical_radius(space)
    points = space.present(cloud(space, base, 0.3 * radius, 60, rng))
    mean = sf.private_mean(points, sf.Ball(space, space.present(base), radius), 5.0, allow_useless=True)
    found = sf.private_components(points, mean, 5.0, 1, unit=np.arange(60) // 2, allow_useless=True)
    assert found.release.n == 30
    assert len(found.axes) == space.dim
    assert found.center == pytest.approx(space.present(space.validate(mean.value[None])[0]))
    assert found.directions.shape == (1, space.dim)
    assert found.points().shape == (2, *mean.value.shape)
    found.save(tmp_path / "found.json")
    loaded = sf.Components.load(tmp_path / "found.json")
    assert loaded.describe() == found.describe()
    assert loaded.sha256 == found.sha256
    assert loaded.release.guarantee == found.release.guarantee
    text = (tmp_path / "found.json").read_text()
    (tmp_path / "found.json").write_text(text.replace('"count": 1', '"count": 2'))
    with pytest.raises(sf.RecordError, match=r"altered|not a file"):
        sf.Components.load(tmp_path / "found.json")
    assert found.plot(tmp_path / "found.png").axes
    assert (tmp_path / "found.png").stat().st_size > 1000


# -- synthetic specimens -----------------------------------------------------------------------------------------------------
def test_specimens_are_points_of_any_space_with_the_mean_and_covariance_of_the_model(space, rng):
    from conftest import cloud, typical_radius

    base, radius = space.origin(), typical_radius(space)
    points = space.present(cloud(space, base, 0.3 * radius, 60, rng))
    region = sf.Ball(space, space.present(base), radius)
    found = sf.private_components(points, region, 5.0, 1, allow_useless=True)
    variances = (0.1 * radius) ** 2 / np.arange(1, space.dim + 1) ** 2
    made = released(found, np.diag(variances))
    made = replace(made, release=replace(made.release, calibration=replace(made.release.calibration, sigma=1e-9)))
    made = replace(made, release=replace(made.release, lattice_spacing=1e-9))
    data = made.sample(4000, seed=1)
    assert data.kind == space.kind
    assert not space.diagnose(data.points)[1]
    at = space.validate(made.center[None])[0]
    tangents = space.coordinates(at, space.log(at, space.validate(data.points)))
    off = np.abs(tangents.mean(axis=0)).max()
    assert off < 6 * np.sqrt(variances[0] / 4000)
    about = np.cov(tangents.T).reshape(space.dim, space.dim)
    assert np.linalg.norm(about - made.covariance) < 0.2 * np.linalg.norm(made.covariance)
    assert np.linalg.norm(about - 1.5 * made.covariance) > 0.2 * np.linalg.norm(1.5 * made.covariance)


def studied(n=900, m=60, relation="related", seed=2, **more):
    rng = np.random.default_rng(seed)
    sample, points = outlines(rng, m), outlines(rng, n)
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=40), sample, relation=relation)
    mean = sf.private_mean(points, region, 1.0, allow_useless=True)
    return sample, points, sf.private_components(points, mean, 1.0, region=region, **more)


def test_specimens_vary_like_the_records_more_than_the_public_ones_do():
    """On average over eight studies; with the directions that were not released as in the public sample."""
    errors = []
    for seed in range(8):
        sample, points, found = studied(m=30, seed=seed)
        own = np.cov(points.T)
        errors.append([np.linalg.norm(x - own) / np.linalg.norm(own) for x in (found.covariance, np.cov(sample.T))])
    made, public = np.mean(errors, axis=0)
    assert made < 0.75 * public
    outside = np.eye(40) - found.basis.T @ found.basis
    assert outside @ found.covariance @ outside == pytest.approx(
        outside @ found.public.T @ found.public @ outside, abs=2e-3
    )


def test_specimens_come_from_the_file_alone_and_from_their_seed(tmp_path):
    _, points, found = studied()
    data = found.sample(20, seed=11)
    found.save(tmp_path / "components.json")
    again = sf.Components.load(tmp_path / "components.json").sample(20, seed=11)
    assert np.array_equal(again.points, data.points)
    assert not np.array_equal(found.sample(20, seed=12).points, data.points)
    some, others = found.sample(3), found.sample(3)
    assert not np.array_equal(some.points, others.points)
    number = int(some.labels["synthetic"][0].removeprefix("seed "))
    assert np.array_equal(found.sample(3, seed=number).points, some.points)
    assert "synthetic" in data.source
    assert min(np.linalg.norm(data.points[:, None] - points[None], axis=2).min(axis=1)) > 0.05  # none is a record
    for wrong in (0, -1, 2.5, True, "7"):
        with pytest.raises(ValueError, match="the number of specimens must be a whole number of at least 1"):
            found.sample(wrong)
    for wrong in (-1, 0.5, True, "x"):
        with pytest.raises(ValueError, match="the seed must be a whole number of at least 0"):
            found.sample(1, seed=wrong)


def test_where_little_was_learned_there_are_no_specimens():
    found = sf.private_components(np.zeros((400, 6)), flat(dim=6), 1.0)
    found = released(found, np.eye(6))
    assert not any(found.significant)
    with pytest.raises(sf.Refusal, match="no component is above the noise"):
        found.sample(10)
    _, _, well_known = studied(n=120, m=900, relation="same", allow_useless=True, modes=6)
    assert well_known.weight < 0.25
    with pytest.raises(sf.Refusal, match=r"weight of only .*% beside the public specimens"):
        released(well_known, np.diag(DECAY[:6] ** 2 * 10)).sample(10)


def fish(n, rng):
    angle = 2 * np.pi * np.arange(12) / 12
    template = np.stack([1.6 * np.cos(angle), 0.7 * np.sin(angle)], axis=1)
    longer = template * [[0.2, -0.2]] * rng.normal(size=(n, 1, 1))
    bent = np.stack([0 * angle, 0.06 * template[:, 0] ** 2], axis=1) * rng.normal(size=(n, 1, 1))
    return template + longer + bent + rng.normal(0, 0.01, (n, 12, 2))


def test_specimens_are_marked_in_every_file_and_read_back(tmp_path, rng):
    space = sf.PlanarShapes(landmarks=12)
    region = sf.Ellipsoid.from_sample(space, fish(60, rng))
    points = fish(800, rng)
    found = sf.private_components(points, sf.private_mean(points, region, 1.0), 1.0, region=region)
    data = found.sample(12, seed=4)
    for ending, mark in ((".tps", ("COMMENT", "synthetic: seed 4")), (".csv", ("synthetic", "seed 4"))):
        write_points(tmp_path / f"made{ending}", data)
        back = read(tmp_path / f"made{ending}")
        assert np.array_equal(back.points, data.points)
        assert back.labels["ID"].tolist() == [f"synthetic {i}" for i in range(1, 13)]
        assert set(back.labels[mark[0]].tolist()) == {mark[1]}
    with pytest.raises(ValueError, match=r"holds one value, with no place for labels \(ID, synthetic\)"):
        write_points(tmp_path / "made.npy", data)
    assert sf.private_mean(back, region, 1.0, allow_useless=True).n == 12  # they go wherever records go
    drawn = plot_specimens(data, links=list(range(12)))
    assert len(drawn.axes) == 12
    solid = sf.files.Dataset(rng.normal(size=(3, 5, 3)), "landmarks")
    assert len(plot_specimens(solid).axes) == 3
    with pytest.raises(ValueError, match="these are vectors"):
        plot_specimens(sf.files.Dataset(np.zeros((3, 5)), "vectors"))


@pytest.mark.parametrize("kind", ["vectors", "matrices"])
def test_other_specimens_are_read_back_from_tables(kind, tmp_path):
    rng = np.random.default_rng(1)
    if kind == "vectors":
        found = sf.private_components(vectors(rng, 4000), flat(), 2.0)
    else:
        roots = 0.3 * rng.normal(size=(4000, 2, 2)) * [[1.0, 0.2], [0.2, 0.1]]
        matrices = np.stack([sf.SPD(2).present(sf.SPD(2).exp(np.eye(2), (r + r.T) / 2)) for r in roots])
        found = sf.private_components(matrices, sf.Ball(sf.SPD(size=2), np.eye(2), 2.0), 2.0)
    data = found.sample(7, seed=0)
    write_points(tmp_path / "made.csv", data)
    back = read(tmp_path / "made.csv", found.space.required)
    assert np.array_equal(back.points, data.points)
    assert back.labels["synthetic"].tolist() == ["seed 0"] * 7
    with pytest.raises(ValueError, match="TPS files hold landmarks"):
        write_points(tmp_path / "made.tps", data)
