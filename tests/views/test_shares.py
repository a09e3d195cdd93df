"""Pictures of compositions, angles and subspaces: what they claim is so."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.views import view_of
from sfumato.views.compositions import CORNERS, _round, shares_within
from sfumato.views.subject import Subject


def compositions(space, point, distance, count, rng):
    """Compositions within a distance of one."""
    points = space.exp(point, distance * rng.random((count, 1)) * space.random_directions(point, count, rng))
    shares = space.present(points)
    return shares[space.distance(space.validate(shares), point) <= distance]


@pytest.mark.parametrize("metric", ["square-root", "aitchison"])
@pytest.mark.parametrize("shares", [[0.7, 0.2, 0.09, 0.01], [0.97, 0.01, 0.01, 0.01]])
def test_no_share_within_the_error_is_outside_its_bar(metric, shares, rng):
    space = sf.Simplex(parts=4, metric=metric)
    shares, point = np.array(shares), space.validate([shares])[0]
    for distance in (0.1, 0.8):
        low, high = shares_within(space, shares, distance)
        inside = compositions(space, point, distance, 20000, rng)
        assert (inside >= low - 1e-12).all()
        assert (inside <= high + 1e-12).all()
        reached = (inside.max(axis=0) - inside.min(axis=0)) / (high - low)
        assert reached.min() > 0.5  # nor are the bars much too long


@pytest.mark.parametrize("metric", ["square-root", "aitchison"])
def test_the_edge_in_the_triangle_is_where_it_is_drawn(metric):
    space = sf.Simplex(parts=3, metric=metric)
    point = space.validate([[0.9, 0.09, 0.01]])[0]
    for distance in (0.1, 0.7):
        around = _round(space, point, distance)
        shares = np.linalg.solve(np.vstack([CORNERS.T, np.ones(3)]), np.vstack([around.T, np.ones(len(around))])).T
        assert shares.min() > -1e-12
        inner = shares.min(axis=1) > 1e-9  # the others are on a side
        assert space.distance(space.validate(shares[inner]), point) == pytest.approx(distance, abs=1e-6)
        assert inner.any()
        assert metric == "aitchison" or distance < 0.2 or not inner.all()


def test_words_and_pictures(tmp_path, rng):
    frames = np.linalg.qr(np.eye(4, 2) + 0.1 * rng.normal(size=(300, 4, 2)))[0]
    cases = [
        (
            sf.Torus(dim=2),
            rng.normal(3.1, 0.2, size=(300, 2)),
            [3.1, 3.1],
            "sets of 2 angles",
            "every angle within 2.86°",
        ),
        (sf.Torus(dim=13), np.zeros((300, 13)), np.zeros(13), "sets of 13 angles", "every angle within 2.86°"),
        (
            sf.Grassmann(n=4, p=2),
            frames,
            np.eye(4, 2),
            "subspaces of 2 dimensions",
            "every principal angle at most 2.86°",
        ),
        (sf.Stiefel(n=4, p=2), frames, np.eye(4, 2), "frames of 2 vectors in 4 dimensions", ""),
        (
            sf.Simplex(parts=5),
            rng.dirichlet(np.full(5, 9.0), size=300),
            np.ones(5),
            "compositions of 5 parts",
            "no share off by",
        ),
    ]
    for space, records, center, things, meaning in cases:
        release = sf.private_mean(records, sf.Ball(space, center, radius=0.7), 4.0)
        view, shown = view_of(release), Subject.of(release)
        assert view.things(shown).startswith(things)
        assert view.meaning(shown, 0.05).startswith(meaning)
        if space.name == "torus":
            sf.plot_release(release, tmp_path / "mean.png")
