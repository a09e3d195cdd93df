"""Principal directions: how far one record moves the second moment, the law of the noise, and what is read from a release."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

import sfumato as sf
from sfumato.findings.components import ROUNDED, SecondMoment, _products, noise_quantile, triangle
from sfumato.mechanisms.base import radial_noise
from sfumato.mechanisms.tangent import BITS, whole_sums

SPREAD = np.array([1.0, 0.4, 0.1, 0.05])


def flat(radius=3.0, dim=4):
    return sf.Ball(sf.Euclidean(dim=dim), np.zeros(dim), radius)


def vectors(rng, n):
    return rng.normal(size=(n, 4)) * SPREAD


def test_one_record_moves_the_second_moment_by_root_two_and_not_by_less(rng):
    """Over hostile pairs: orthogonal, opposite, equal up to the last bits, beyond the region, not finite.  The bound is met by
    orthogonal vectors at the edge, so that a scale a hundredth smaller would be refuted."""
    chart = flat(radius=1.0, dim=6).as_chart()
    u = rng.normal(size=(400, 6))
    edge = u / np.linalg.norm(u, axis=1, keepdims=True)
    turned = np.roll(np.eye(6), 1, axis=0)
    hostile = [
        (edge, -edge),
        (edge, np.nextafter(edge, 2)),
        (1e9 * edge, rng.permutation(edge)),
        (np.eye(6), turned),
        (7.0 * np.eye(6), turned),
        (1e200 * edge, np.zeros_like(edge)),
    ]
    worst = 0.0
    for first, second in hostile:
        for a, b in zip(first, second, strict=True):
            sums = [whole_sums(lambda y: [_products(chart, y)], y[None], None) for y in (a, b)]
            worst = max(worst, float(np.sqrt(float(sum((sums[0] - sums[1]) ** 2)))) / 2.0**BITS)
    scale = SecondMoment(flat(1.0, 21), 1.0).noise(1, 1.0).sigma
    assert worst <= scale == np.sqrt(2) * ROUNDED
    assert worst > 0.99 * scale


def test_opposite_vectors_have_the_same_products_so_the_mean_must_not_be_mixed_in(rng):
    """The triangle is an isometry, and u and −u are one matrix."""
    chart = flat(radius=1.0).as_chart()
    u = rng.normal(size=(50, 4)) / 8
    rows, columns, weights = triangle(4)
    made = _products(chart, u)
    assert np.array_equal(made, _products(chart, -u))
    assert np.linalg.norm(made, axis=1) == pytest.approx(np.linalg.norm(u, axis=1) ** 2)
    assert made == pytest.approx((u[:, :, None] * u[:, None, :])[:, rows, columns] * weights)


def test_the_noise_has_the_frobenius_law_and_its_quantile_holds_for_eigenvalues(rng):
    """‖N‖_F is σ·Gamma(D), and variances move by no more than the stated quantile in 95% of draws; both tests reject a scale
    20% off."""
    n, region, p = 200, flat(dim=4), 4
    plan = SecondMoment(flat(1.0, 10), 1.0).plan(n)
    draws = radial_noise(plan.directions, plan.scale.sigma, 4000, rng)
    lengths = np.linalg.norm(draws, axis=1) / plan.scale.sigma
    assert kstest(lengths, "gamma", (10,)).pvalue > 1e-6
    assert kstest(1.2 * lengths, "gamma", (10,)).pvalue < 1e-6
    rows, columns, weights = triangle(p)
    noise = np.empty((4000, p, p))
    noise[:, rows, columns] = noise[:, columns, rows] = draws / weights
    axes, moment = region.as_chart().axes, np.diag([0.3, 0.2, 0.05, 0.01])
    moved = np.linalg.eigvalsh((moment + noise) * np.outer(axes, axes)) - np.linalg.eigvalsh(
        moment * np.outer(axes, axes)
    )
    most = np.abs(moved).max(axis=1)
    q = noise_quantile(axes, plan.scale.sigma, 0.95)
    missed = np.mean(most > q)
    assert missed < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean(np.abs(np.linalg.eigvalsh(noise)).max(axis=1) * 9 > 0.8 * q) > 0.1  # 20% less would not hold


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


def test_a_direction_is_said_to_stand_out_only_by_more_than_the_noise(rng):
    found = sf.private_components(vectors(rng, 20_000), flat(), 2.0, 3)
    off, (rows, columns, weights) = found.noise(), triangle(4)

    def with_variances(*values):
        raw = (np.diag(values) / 9.0)[rows, columns] * weights
        return replace(found, release=replace(found.release, value=raw, unprojected=None))

    known = with_variances(1.0, 0.2, 0.1 + 1.9 * off, 0.1)
    assert known.variances == pytest.approx([1.0, 0.2, 0.1 + 1.9 * off])
    assert known.significant == [True, True, False]
    assert known.angles[2] == 90
    assert with_variances(1.0, 0.2, 0.1 + 2.1 * off, 0.1).significant == [True] * 3
    assert with_variances(1.0, 1.0, 0.1, -0.1).angles[:2].tolist() == [90, 90]  # the plane is known, not the two
    assert np.isnan(with_variances(0.1, -0.1, -0.1, -0.1).shares).all()
    words = known.describe().splitlines()
    assert "ε = 2 (one record)" in words[0]
    assert ["stands above the noise" in line for line in words[1:4]] == [True, True, False]
    assert "read nothing from it" in words[3]


def test_pure_noise_is_not_taken_for_directions(rng):
    """Records at the centre have no variance: nothing is significant, but with a probability of 5% at most; of ten releases not
    all.  A threshold of 0 would call nearly all so."""
    points = np.zeros((300, 4))
    every = [sf.private_components(points, flat(), 1.0, 2, allow_useless=True) for _ in range(10)]
    assert not all(found.significant[0] for found in every)
    assert sum(found.variances[0] > 0 for found in every) >= 5


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
    ):
        with pytest.raises(ValueError, match=words):
            sf.private_components(points, flat(), 1.0, **wrong)
    with pytest.raises(TypeError, match="a released mean or a region"):
        sf.private_components(points, np.zeros(4), 1.0)
    assert not [line for line in ledger.verify().entries if line.kind == "release"]
    found = sf.private_components(points, flat(), 0.2, budget=ledger, allow_useless=True)
    lines = [json.loads(line.record) for line in ledger.verify().entries if line.kind == "release"]
    assert [line["release"] for line in lines] == [found.sha256]


def test_modes_are_the_longest_axes_and_fewer_of_them_the_fewer_records(rng):
    axes = 0.8 ** np.arange(12)
    region = sf.Ellipsoid(sf.Euclidean(dim=12), np.zeros(12), axes[::-1])
    counts = [len(sf.private_components(np.zeros((n, 12)), region, 1.0).axes) for n in (100, 400, 200_000)]
    assert counts[0] < counts[1] < counts[2] == 12
    few = sf.private_components(np.zeros((200, 12)), region, 1.0, modes=3, allow_useless=True)
    assert sorted(few.axes)[::-1] == pytest.approx(axes[:3])
    assert np.count_nonzero(few.basis[:, :9]) == 0


def test_it_is_about_the_released_mean_on_any_space_and_a_person_is_one_record(space, rng, tmp_path):
    from conftest import cloud, typical_radius

    base, radius = space.origin(), typical_radius(space)
    points = space.present(cloud(space, base, 0.3 * radius, 60, rng))
    mean = sf.private_mean(points, sf.Ball(space, space.present(base), radius), 5.0, allow_useless=True)
    found = sf.private_components(points, mean, 5.0, 1, unit=np.arange(60) // 2, allow_useless=True)
    assert found.release.n == 30
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
