"""The squeeze: bounds on the energy settle most proposals and change no draw; the data are asked a fixed number of times."""

import dataclasses

import numpy as np
import pytest

import sfumato as sf
from attacks.adversary import transport_back
from conftest import cloud, column
from sfumato.bounds import bounds_of
from sfumato.frechet import solve
from sfumato.records import Records

SQUEEZED = [
    (sf.Sphere(dim=2), np.pi / 8, 400),
    (sf.Sphere(dim=6), 0.4, 2000),
    (sf.PlanarShapes(landmarks=6), 0.15, 2000),
    (sf.SPD(size=2), 1.0, 1000),
    (sf.SPD(size=3), 0.3, 600),
]


def worst_ratio(space, r, rng, tries=300):
    """The largest error of the gradient over its bound, for few records in clusters and long vectors."""
    worst = 0.0
    for _ in range(tries):
        center = space.origin()
        points = space.exp(center, space.random_directions(center, 3, rng) * r * column(space, rng.random(3) ** 0.2))
        points = np.repeat(points, [1, 1, int(rng.integers(1, 4))], axis=0)
        found = solve(Records(space, points)).point
        hessian = space.hessian(found, points) / len(points)
        direction = rng.standard_normal(space.dim)
        v = direction / np.linalg.norm(direction) * r * rng.random()
        end = space.exp(found, space.from_coordinates(found, v))
        moved = transport_back(space, found, end[None], -space.mean_log(end[None], points))[0]
        distances = space.distance(found, points)
        square, furthest = float(np.sum(distances**2)), float(distances.max())
        length = float(np.linalg.norm(v))
        bound = float(bounds_of(space).gradient_error(length, square / len(points), furthest + length, 1e-13))
        if length > 1e-2 * r:
            worst = max(worst, float(np.linalg.norm(moved - hessian @ v)) / (bound + 1e-15))
    return worst


@pytest.mark.parametrize(("space", "r"), [(s, r) for s, r, _ in SQUEEZED], ids=str)
def test_the_gradient_is_linear_up_to_its_bound(space, r, rng):
    worst = worst_ratio(space, r, rng)
    assert worst <= 1
    assert worst > 0.02  # a bound fifty times smaller would have been caught


def squeezed_target(space, r, n, rng):
    ball = sf.Ball(space, space.present(space.origin()), r)
    records = Records(space, ball.clip(space.present(cloud(space, ball.center, r, n, rng))))
    kng = sf.KNG(ball, epsilon=1.0)
    return kng, kng.target(records)


@pytest.mark.parametrize(("space", "r", "n"), SQUEEZED, ids=str)
def test_a_squeeze_changes_no_draw(space, r, n, rng):
    kng, target = squeezed_target(space, r, n, rng)
    assert target.squeeze is not None
    asked = dataclasses.replace(target, squeeze=None)
    with_squeeze, without = (t.draw(3000, np.random.default_rng(5)) for t in (target, asked))
    assert np.array_equal(with_squeeze.points, without.points)
    share = with_squeeze.evaluations / without.evaluations
    ellipse = kng.at(n).ellipse
    assert share <= ellipse.doubt + 6 * np.sqrt(ellipse.doubt / 3000) + 1e-3
    # a Hessian 1% off is found out: draws change
    low_high = target.squeeze
    wrong = dataclasses.replace(target, squeeze=lambda c: tuple(1.01 * b for b in low_high(c)))
    assert not np.array_equal(wrong.draw(3000, np.random.default_rng(5)).points, without.points)


CLOSE = [
    (sf.Sphere(dim=2), 0.3, 2000),
    (sf.PlanarShapes(landmarks=4), 0.01, 4000),
    (sf.PlanarShapes(landmarks=4), 0.1, 200),
    (sf.PlanarShapes(landmarks=6), 0.15, 20000),
    (sf.SPD(size=2), 0.5, 1000),
    (sf.SPD(size=3), 0.6, 2000),
]


@pytest.mark.parametrize("data", ["in one place", "all but one", "close together"])
@pytest.mark.parametrize(("space", "r", "n"), CLOSE, ids=str)
def test_energies_lie_where_the_squeeze_says_for_records_that_coincide(space, r, n, data, rng):
    """Data with next to no second moment, where bounds that shrink with it must not forget what rounding leaves."""
    ball = sf.Ball(space, space.present(space.origin()), r)
    arm = rng.standard_normal(space.dim)
    arm *= 0.7 * r / np.linalg.norm(arm)
    tangent = np.tile(arm, (n, 1))
    if data == "all but one":
        tangent[0] *= -1
    if data == "close together":
        tangent += 1e-6 * r * rng.standard_normal(tangent.shape)
    points = space.exp(ball.center, space.from_coordinates(ball.center, tangent))
    kng = sf.KNG(ball, epsilon=1.0)
    sigma = kng.scale(n)
    target = kng.target(Records(space, ball.clip(space.present(points))))
    assert target.squeeze is not None
    proposals = target.propose(60, rng)
    inside = np.isfinite(proposals.log_ratio)
    near = 0.1 * sigma * np.eye(space.dim)[:2]  # where nothing but rounding is left
    x = np.concatenate([proposals.x[inside], space.exp(target.base, space.from_coordinates(target.base, near))])
    energy = target.energy(x)
    low, high = target.squeeze(np.concatenate([proposals.coordinates[inside], near]))
    assert np.all(low <= energy)
    assert np.all(energy <= high)
    assert np.all(energy[:-2] >= proposals.envelope[inside] - 1e-12)


@pytest.mark.parametrize(("space", "r", "n"), SQUEEZED, ids=str)
def test_public_bounds_on_acceptance_and_doubt_hold(space, r, n, rng):
    kng, target = squeezed_target(space, r, n, rng)
    proposals = target.propose(4000, rng)
    slack = -rng.standard_exponential(4000) - proposals.log_ratio
    accepted, unsettled = target._settle(proposals, slack)
    exact = slack <= target.log_acceptance(proposals.x, proposals.envelope)
    assert np.array_equal(exact & ~unsettled, accepted)
    ellipse = kng.at(n).ellipse
    assert exact.mean() > ellipse.acceptance - 6 * np.sqrt(ellipse.acceptance * (1 - ellipse.acceptance) / 4000) - 1e-3
    batch = kng.at(n).batch
    asks, chance = kng.at(n).asks
    assert chance <= 1e-9
    assert asks <= batch
    assert kng.at(n).losses.clock_delta <= 3e-9


@pytest.mark.parametrize(("space", "r", "n"), SQUEEZED[:3], ids=str)
def test_a_release_asks_the_data_a_fixed_number_of_times(space, r, n, rng):
    kng, target = squeezed_target(space, r, n, rng)
    batch = kng.at(n).batch
    asks = kng.at(n).asks[0]
    counts = []
    energy = target.energy
    counting = dataclasses.replace(target, energy=lambda x: (counts.append(len(x)), energy(x))[1])
    for seed in range(200):
        counting.draw_one(batch, np.random.default_rng(seed), asks)
    assert set(counts) == {asks}
    assert len(counts) == 200


def test_the_first_accepted_proposal_is_kept(rng):
    _, target = squeezed_target(*SQUEEZED[0], rng)
    for seed in range(50):
        squeezed = target.draw_one(8, np.random.default_rng(seed), 3)
        plain = dataclasses.replace(target, squeeze=None).draw_one(8, np.random.default_rng(seed))
        assert np.array_equal(squeezed, plain)
