"""The squeeze: bounds on the energy settle most proposals and change no draw; the data are asked a fixed number of times."""

import dataclasses

import numpy as np
import pytest

import sfumato as sf
from attacks.adversary import transport_back
from conftest import cloud, column
from sfumato.laws.bounds import bounds_of
from sfumato.means.frechet import solve
from sfumato.records import Records

SQUEEZED = [
    (sf.Sphere(dim=2), np.pi / 8, 400),
    (sf.Sphere(dim=6), 0.4, 2000),
    (sf.PlanarShapes(landmarks=6), 0.15, 2000),
    (sf.SPD(size=2), 1.0, 1000),
    (sf.SPD(size=3), 0.3, 600),
]
KINDS = pytest.mark.parametrize("kind", [sf.KNG, sf.Exponential])


def worst_ratios(space, r, rng, tries=300):
    """The largest error of the gradient, and of F, over its bound, for few records in clusters and long vectors."""
    worst = np.zeros(2)
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
            risen = np.mean(space.distance(end, points) ** 2 - distances**2) / 2
            errors = np.array([np.linalg.norm(moved - hessian @ v), abs(risen - v @ hessian @ v / 2)])
            worst = np.maximum(worst, errors / (np.array([1, length / 3]) * bound + 1e-15))
    return worst


@pytest.mark.parametrize(("space", "r"), [(s, r) for s, r, _ in SQUEEZED], ids=str)
def test_the_gradient_is_linear_and_the_value_quadratic_up_to_their_bounds(space, r, rng):
    worst = worst_ratios(space, r, rng)
    assert (worst <= 1).all()
    assert (worst > 0.02).all()  # bounds fifty times smaller would have been caught


def squeezed_target(kind, space, r, n, rng):
    ball = sf.Ball(space, space.present(space.origin()), r)
    records = Records(space, ball.clip(space.present(cloud(space, ball.center, r, n, rng))))
    mechanism = kind(ball, epsilon=1.0)
    return mechanism.at(n), mechanism.at(n).target(records)


def doubt_of(plan):
    return plan.doubt if plan.name == "exponential" else plan.ellipse.doubt


@KINDS
@pytest.mark.parametrize(("space", "r", "n"), SQUEEZED, ids=str)
def test_a_squeeze_changes_no_draw(kind, space, r, n, rng):
    plan, target = squeezed_target(kind, space, r, n, rng)
    assert target.squeeze is not None
    asked = dataclasses.replace(target, squeeze=None)
    size, off = (3000, 1.01) if kind is sf.KNG else (600, 1.1)  # without a squeeze its draws are dear
    with_squeeze, without = (t.draw(size, np.random.default_rng(5)) for t in (target, asked))
    assert np.array_equal(with_squeeze.points, without.points)
    share = with_squeeze.evaluations / without.evaluations
    assert share <= doubt_of(plan) + 6 * np.sqrt(doubt_of(plan) / size) + 1e-3
    # a Hessian so little off is found out: draws change
    low_high = target.squeeze
    wrong = dataclasses.replace(target, squeeze=lambda c: tuple(off * b for b in low_high(c)))
    assert not np.array_equal(wrong.draw(size, np.random.default_rng(5)).points, without.points)


def test_data_far_from_the_centre_are_close_together(rng):
    """What the finer public bound on the gradient's error rests on: with a mean at distance a from the centre the mean squared
    distance from there is at most r² − a², and none is farther than r + a."""
    space = sf.SPD(size=3)
    r = 1.5
    center = space.origin()
    least = np.inf
    for _ in range(200):
        count = int(rng.integers(2, 5))
        points = space.exp(center, r * space.random_directions(center, count, rng))  # all at the edge, in clusters
        points = np.repeat(points, rng.integers(1, 6, count), axis=0)
        mean = solve(Records(space, points)).point
        a = float(space.distance(center, mean))
        distances = space.distance(mean, points)
        assert np.mean(distances**2) <= r * r - a * a + 1e-9
        assert distances.max() <= r + a + 1e-9
        least = min(least, r * r - np.mean(distances**2) - a * a)
    assert least < 0.05  # nearly reached, so that less than r² − a² would be too little
    u = np.geomspace(1e-3, 1.0, 20)
    plain, fine = (bounds_of(space).public_gradient_error(u, r, 2 * r, 1e-9, which) for which in (False, True))
    assert (fine <= plain).all()
    assert fine[0] < 0.6 * plain[0]
    for a in np.linspace(0.0, r, 101):  # every distance between two ends of cells is covered
        assert (bounds_of(space).gradient_error(u, r * r - a * a, np.minimum(r + a + u, 2 * r), 1e-9) <= fine).all()


def test_fewer_records_have_proposals_in_the_shape_of_their_hessian_too(rng):
    """Where the finer bound makes them worth their while; draws, acceptance and doubt are as they are for more records."""
    space = sf.SPD(size=4)
    plan, target = squeezed_target(sf.KNG, space, 1.5, 200, rng)
    assert plan.ellipse is not None
    assert 0.02 <= plan.ellipse.acceptance < 0.5
    assert plan.batch < 300
    asked = dataclasses.replace(target, squeeze=None)
    with_squeeze, without = (t.draw(300, np.random.default_rng(5)) for t in (target, asked))
    assert np.array_equal(with_squeeze.points, without.points)
    assert with_squeeze.evaluations < without.evaluations
    proposals = target.propose(2000, rng)
    assert np.all(target.energy(proposals.x) >= proposals.envelope - 1e-12)
    accepted = -rng.standard_exponential(2000) - proposals.log_ratio <= target.log_acceptance(
        proposals.x, proposals.envelope
    )
    assert accepted.mean() > plan.ellipse.acceptance
    steeper = proposals.envelope * 1.5
    assert not np.all(target.energy(proposals.x) >= steeper)


CLOSE = [
    (sf.Sphere(dim=2), 0.3, 2000),
    (sf.PlanarShapes(landmarks=4), 0.01, 4000),
    (sf.PlanarShapes(landmarks=4), 0.1, 200),
    (sf.PlanarShapes(landmarks=6), 0.15, 20000),
    (sf.SPD(size=2), 0.5, 1000),
    (sf.SPD(size=3), 0.6, 2000),
]


@KINDS
@pytest.mark.parametrize("data", ["in one place", "all but one", "close together"])
@pytest.mark.parametrize(("space", "r", "n"), CLOSE, ids=str)
def test_energies_lie_where_the_squeeze_says_for_records_that_coincide(space, r, n, data, kind, rng):
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
    mechanism = kind(ball, epsilon=1.0)
    target = mechanism.at(len(ball.clip(space.present(points)))).target(
        Records(space, ball.clip(space.present(points)))
    )
    assert target.squeeze is not None
    proposals = target.propose(60, rng)
    inside = np.isfinite(proposals.log_ratio)
    near = 0.1 * mechanism.at(n).noise_length * np.eye(space.dim)[:2]  # where nothing but rounding is left
    x = np.concatenate([proposals.x[inside], space.exp(target.base, space.from_coordinates(target.base, near))])
    energy = target.energy(x)
    low, high = target.squeeze(np.concatenate([proposals.coordinates[inside], near]))
    assert np.all(low <= energy)
    assert np.all(energy <= high)
    assert np.all(energy[:-2] >= proposals.envelope[inside] - 1e-12)
    assert not (np.all(low <= 1.05 * energy) and np.all(1.05 * energy <= high))


@KINDS
@pytest.mark.parametrize(("space", "r", "n"), SQUEEZED, ids=str)
def test_public_bounds_on_acceptance_and_doubt_hold(kind, space, r, n, rng):
    plan, target = squeezed_target(kind, space, r, n, rng)
    size = 4000 if kind is sf.KNG else 600
    proposals = target.propose(size, rng)
    slack = -rng.standard_exponential(size) - proposals.log_ratio
    accepted, unsettled = target._settle(proposals, slack)
    exact = slack <= target.log_acceptance(proposals.x, proposals.envelope)
    assert np.array_equal(exact & ~unsettled, accepted)
    assert unsettled.mean() <= doubt_of(plan) + 6 * np.sqrt(doubt_of(plan) / size) + 1e-3
    assert plan.asks[1] <= 1e-9
    assert plan.asks[0] <= plan.batch
    if kind is sf.KNG:  # of the other's acceptance nothing is proven
        share = plan.ellipse.acceptance
        assert exact.mean() > share - 6 * np.sqrt(share * (1 - share) / 4000) - 1e-3
        assert plan.losses.clock_delta <= 3e-9


@KINDS
@pytest.mark.parametrize(("space", "r", "n"), SQUEEZED[:3], ids=str)
def test_a_release_asks_the_data_a_fixed_number_of_times(kind, space, r, n, rng):
    plan, target = squeezed_target(kind, space, r, n, rng)
    batch, asks = plan.batch, plan.asks[0]
    counts = []
    energy = target.energy
    counting = dataclasses.replace(target, energy=lambda x: (counts.append(len(x)), energy(x))[1])
    for seed in range(200):
        counting.draw_one(batch, np.random.default_rng(seed), asks)
    assert set(counts) == {asks}
    assert len(counts) == 200


def test_the_first_accepted_proposal_is_kept(rng):
    _, target = squeezed_target(sf.KNG, *SQUEEZED[0], rng)
    for seed in range(50):
        squeezed = target.draw_one(8, np.random.default_rng(seed), 3)
        plain = dataclasses.replace(target, squeeze=None).draw_one(8, np.random.default_rng(seed))
        assert np.array_equal(squeezed, plain)
