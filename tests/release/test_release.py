"""What leaves the room: nothing but the value depends on the data, and it lies on the lattice."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from conftest import CASES, cloud, typical_radius
from sfumato.laws import bounds
from sfumato.laws.sampling import secure
from sfumato.regions.ball import FoundBall
from sfumato.release import record


@pytest.fixture(params=CASES, ids=lambda c: f"{c[0].__name__}-{c[1]}")
def case(request, rng):
    kind, space = request.param
    radius = typical_radius(space)
    ball = sf.Ball(space, space.present(cloud(space, space.origin(), 0.2, 1, rng)[0]), radius)
    points = space.present(cloud(space, ball.center, radius, 60, rng))
    return kind(ball, epsilon=1.5), points


@pytest.fixture
def seeded(monkeypatch):
    """Releases with a fixed seed, for statements about their distribution."""
    rng = np.random.default_rng(7)
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: rng)


def flatten(document, path=""):
    if isinstance(document, dict):
        return {k: v for key, item in document.items() for k, v in flatten(item, f"{path}/{key}").items()}
    return {path: document}


def test_only_the_value_depends_on_the_data(case, rng):
    mechanism, points = case
    space = mechanism.space
    other = space.present(cloud(space, mechanism.ball.center, 0.3 * mechanism.ball.radius, len(points), rng))
    records = [flatten(json.loads(mechanism.release(p, unit="one person").to_json())) for p in (points, other)]
    # an ambient release also says whether it lies on the manifold, which its value shows anyone
    differing = {key for key in records[0] if records[0][key] != records[1][key]} - {"/on_manifold", "/time"}
    assert records[0].keys() == records[1].keys()
    assert differing == {"/value"}


def test_release_twice_differs_and_round_trips(case, tmp_path):
    mechanism, points = case
    first, *others = (mechanism.release(points) for _ in range(6))  # two may meet on the lattice, six will not
    assert not all(np.array_equal(first.value, other.value) for other in others)
    first.save(tmp_path / "mean.json")
    again = sf.Release.load(tmp_path / "mean.json")
    assert np.array_equal(again.value, first.value)
    assert again.guarantee == first.guarantee
    assert again.to_json() == first.to_json()
    assert again.error(0.9) == first.error(0.9) < first.error(0.99)
    assert [p.name for p in tmp_path.iterdir()] == ["mean.json"]


def test_value_is_a_function_of_whole_numbers(case):
    """The coordinates of a draw are multiples of the public spacing; what is outside of the ball is then projected onto it."""
    mechanism, points = case
    release = mechanism.release(points)
    spacing, space = release.record["lattice_spacing"], mechanism.space
    if isinstance(mechanism, sf.PointwiseLaplace):
        coordinates = release.raw
    elif isinstance(mechanism, sf.AmbientLaplace):
        coordinates = mechanism.embedding.embed(release.raw)
    else:
        value = space.validate(release.raw[None])[0]
        coordinates = space.coordinates(mechanism.ball.center, space.log(mechanism.ball.center, value))
        whole = np.rint(coordinates / spacing)
        rebuilt = space.exp(mechanism.ball.center, space.from_coordinates(mechanism.ball.center, whole * spacing))
        assert np.array_equal(space.present(rebuilt), release.raw)
    assert np.abs(coordinates / spacing - np.rint(coordinates / spacing)).max() < 1e-6
    if not np.array_equal(release.value, release.raw):
        assert release.after == "projected onto the public ball"
        assert np.allclose(space.present(mechanism.ball.clip(release.raw[None]))[0], release.value, atol=1e-12)


def test_releases_stay_within_their_error(case, seeded):
    """The stated radius holds the statistic about the released value as often as it says."""
    mechanism, points = case
    if not hasattr(mechanism, "target"):
        pytest.skip("the ambient mechanisms have tests of their own")
    space = mechanism.space
    mean = space.validate(sf.frechet_mean(space, space.present(mechanism.ball.clip(points))).point[None])[0]
    values = np.stack([space.validate(mechanism.release(points).value[None])[0] for _ in range(100)])
    distance, error = space.distance(mean, values), mechanism.release(points).error(0.8)
    assert np.mean(distance <= error) >= 0.8 - 5 * 0.04
    assert np.mean(distance <= error / 3) < 0.8  # and is not far too large


def test_guarantee_states_small_numerical_losses(case):
    mechanism, points = case
    guarantee = mechanism.release(points).guarantee
    assert guarantee.private
    assert 0 < guarantee.numerical_delta < 1e-10
    assert 0 <= guarantee.numerical_epsilon < 1e-8
    if isinstance(mechanism, sf.ManifoldLaplace):
        assert guarantee.clock_delta == 0
    if isinstance(mechanism, sf.KNG) and mechanism.at(len(points)).scale.region > mechanism.ball.radius:
        assert guarantee.clock_delta <= 2e-9  # a second batch, or a doubt too many


def test_describe_reads_well(case):
    mechanism, points = case
    text = mechanism.release(points, unit="one person").describe()
    for words in (
        "60 units (one person)",
        "1.5-differentially private",
        "e^1.5 = 4.48",
        "with probability 0.95",
        "ChaCha20",
    ):
        assert words in text


def test_errors_are_those_of_the_clipped_records(case):
    """No word may promise closeness to the mean of the records as they were."""
    release = case[0].release(case[1])
    assert "of the mean of the clipped records" in release.describe()
    assert "non-private" not in release.describe()


def test_numpy_takes_a_release_for_its_value(case):
    release = case[0].release(case[1])
    assert np.array_equal(np.asarray(release), release.value)
    assert np.asarray(release, dtype=np.float32).dtype == np.float32


def test_releases_use_only_the_secure_generator(case, monkeypatch):
    mechanism, points = case

    def refuse(*args, **kwargs):
        raise AssertionError("a release used NumPy's own randomness")

    for name in ("default_rng", "seed", "rand", "randn", "normal", "random", "PCG64", "MT19937"):
        monkeypatch.setattr(np.random, name, refuse)
    mechanism.release(points)


def test_the_secure_generator_is_keyed_by_the_operating_system(monkeypatch):
    keys = iter([7, 7, 8])
    monkeypatch.setattr(secure.secrets, "randbits", lambda bits: next(keys))
    a, b, c = (secure.secure_generator().random(4) for _ in range(3))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_bad_records_raise_before_anything_is_drawn(monkeypatch):
    ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.4)
    points = np.tile([0.0, 0.0, 1.0], (20, 1))
    points[7] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 7"):
        sf.private_mean(points, ball, 1.0)
    assert sf.private_mean(points, ball, 1.0, invalid="center").record["n"] == 20


def test_a_missing_radius_is_an_error_and_never_taken_from_the_data():
    with pytest.raises(TypeError):
        sf.private_mean([[0.0, 0.0, 1.0]], epsilon=1.0)


def test_nothing_is_written_when_saving_fails(tmp_path, monkeypatch):
    release = sf.KNG(sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), 1.0).release([[0.5]] * 50)
    (tmp_path / "mean.json").write_text("older")
    monkeypatch.setattr("os.fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        release.save(tmp_path / "mean.json")
    assert [p.name for p in tmp_path.iterdir()] == ["mean.json"]
    assert (tmp_path / "mean.json").read_text() == "older"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "line 1"),
        ("{}", "does not say"),
        ('{"format": "sfumato release 1"}', "incomplete or altered"),
        ("[1]", "does not say"),
    ],
)
def test_files_that_are_no_records_are_refused(tmp_path, text, reason):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=rf"x\.json: this .*{reason}"):
        sf.Release.load(tmp_path / "x.json")


@pytest.mark.parametrize("change", ["missing", "value", "epsilon"])
def test_altered_records_are_refused(change):
    release = sf.KNG(sf.Ball(sf.Sphere(dim=2), [0, 0, 1.0], 0.3), 1.0).release([[0, 0, 1.0]] * 90)
    document = json.loads(release.to_json())
    if change == "missing":
        del document["ball"]
    elif change == "value":
        document["value"] = [1.0]
    else:
        document["guarantee"]["epsilon"] = 99.0
    with pytest.raises(ValueError, match="incomplete or altered"):
        sf.Release.from_json(json.dumps(document))


def test_a_record_can_be_read_by_others(tmp_path):
    release = sf.KNG(sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), 1.0).release([[0.5]] * 50)
    (tmp_path / "plain").touch()
    release.save(tmp_path / "mean.json")
    assert (tmp_path / "mean.json").stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        release.save(tmp_path / "none" / "mean.json")


def test_matrix_rounding_errors_are_within_what_the_record_claims(rng):
    """SPD matrices in fifty digits: log_c(exp_x(v)) against the package's double precision."""
    import mpmath

    space = sf.SPD(size=3)
    center, base = cloud(space, np.eye(3), 0.7, 2, rng)

    def function(matrix, f):
        values, vectors = mpmath.eighe(matrix)
        return vectors * mpmath.diag([f(v) for v in values]) * vectors.T

    with mpmath.workdps(50):
        for vector in 2.0 * space.random_directions(base, 12, rng):
            found = space.coordinates(center, space.log(center, space.exp(base, vector)))
            x, c, v = (mpmath.matrix(m.tolist()) for m in (base, center, vector))
            root, low = mpmath.cholesky(x), mpmath.cholesky(c)
            y = root * function(root**-1 * v * (root**-1).T, mpmath.exp) * root.T
            white = function(low**-1 * y * (low**-1).T, mpmath.log)
            exact = [white[i, i] for i in range(3)] + [
                mpmath.sqrt(2) * white[i, j] for i, j in ((0, 1), (0, 2), (1, 2))
            ]
            error = max(abs(mpmath.mpf(float(a)) - b) for a, b in zip(found, exact, strict=True))
            assert error < space.rounding_error(center, float(space.distance(center, space.exp(base, vector))))


def test_rounding_errors_are_within_what_the_record_claims(rng):
    """Sphere and shapes in longer arithmetic: the coordinates of a draw are as accurate as rounding_error says."""
    for space in (sf.Sphere(dim=6), sf.PlanarShapes(landmarks=12)):
        center, base = cloud(space, space.origin(), 0.3, 2, rng)
        vectors = 0.2 * space.random_directions(base, 200, rng)
        found = space.log(center, space.exp(base, vectors))
        wide = np.clongdouble if np.iscomplexobj(center) else np.longdouble
        x, c, v = (a.astype(wide) for a in (base, center, vectors))
        x, c = x / np.sqrt(np.vdot(x, x).real), c / np.sqrt(np.vdot(c, c).real)
        t = np.sqrt(np.sum(np.abs(v) ** 2, axis=1, keepdims=True))
        y = np.cos(t) * x + np.sin(t) / t * v
        inner = np.sum(np.conj(c) * y, axis=1, keepdims=True)
        y = y * np.conj(inner) / np.abs(inner) if np.iscomplexobj(center) else y
        inner = np.sum(np.conj(c) * y, axis=1, keepdims=True).real
        u = y - inner * c
        size = np.sqrt(np.sum(np.abs(u) ** 2, axis=1, keepdims=True))
        exact = np.arctan2(size, inner) * u / size
        assert np.abs(space.coordinates(center, found - exact.astype(found.dtype))).max() < space.rounding_error(
            center, 0.5
        )


# -- records that the version before typed records wrote ------------------------------------------------------------------
OLD = Path(__file__).parent / "old"
EXPECTED = json.loads((OLD / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_old_records_load_and_say_the_same(name):
    """Their SHA-256, their words and the error that they state are those that the version which wrote them gave."""
    old, expected = sf.Release.load(OLD / f"{name}.json"), EXPECTED[name]
    assert old.sha256 == expected["sha256"]
    assert old.describe() == expected["describe"]
    if expected["errors"] is None:
        with pytest.raises(ValueError, match="nothing public is known"):
            old.noise(0.9)
        return
    with pytest.raises(ValueError, match=r"only the noise is known.*noise\(p\)"):
        old.error(0.9)
    stated = old.predicted_error
    for p, radius in expected["errors"].items():
        if float(p) <= stated.probability:
            assert radius <= old.noise(float(p)) * (1 + 1e-9)
        else:
            with pytest.raises(ValueError, match=r"up to a probability of 0\.95, not for"):
                old.noise(float(p))
    assert old.noise(stated.probability) == pytest.approx(expected["errors"][f"{stated.probability:g}"], rel=1e-9)
    document = json.loads((OLD / f"{name}.json").read_text(encoding="utf-8"))
    del document["sha256"], document["format"], document["value"], document["guarantee"]
    assert old.record == document


def test_an_old_ledger_is_verified_and_charged(tmp_path):
    shutil.copy(OLD / "old.ledger", tmp_path / "old.ledger")
    noted = "a99f87d5f551386855bccff95f3cb8e7a6afc0d6651535e22d1b329754df658f"
    budget = sf.Ledger(tmp_path / "old.ledger")
    lines = budget.verify(head=noted).entries
    assert len(lines) == 35
    sums = {json.loads(line.record)["release"] for line in lines if line.kind == "release"}
    assert sum(facts["sha256"] in sums for facts in EXPECTED.values()) >= len(EXPECTED) - 1  # one was put in degrees
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    release = sf.private_mean([[0.5]] * 9, ball, 1.0, budget=budget)
    assert json.loads(budget.verify(head=noted).entries[-1].record)["release"] == release.sha256


# -- what a record holds --------------------------------------------------------------------------------------------------
def test_errors_come_from_the_record_alone(case):
    """Loading a record, asking for its error, words, picture and page needs no mechanism."""
    from sfumato.views.plots import render

    mechanism, points = case
    release = sf.Release.from_json(mechanism.release(points).to_json())
    stored = {p: release.error(p) for p in record.PROBABILITIES}
    assert release.error(0.94) == release.error(0.95)
    assert release.error(0.1) == release.error(0.5)
    assert render(release.plot()).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"up to a probability of 0\.999999, not for 0\.9999999"):
        release.error(0.9999999)
    assert stored == {p: mechanism.at(len(points)).release_error(p) for p in record.PROBABILITIES}


def test_the_record_is_typed(case):
    release = case[0].release(case[1])
    assert release.space.name == release.record["space"]["name"] == case[0].space.name
    assert release.calibration.sigma == release.record["calibration"]["sigma"]
    assert release.predicted_error.radius == release.error(0.95)
    assert (release.n, release.ball.radius) == (60, case[0].ball.radius)
    with pytest.raises(AttributeError):
        release.n = 61


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("n",), "60"),
        (("n",), 60.0),
        (("version",), 1),
        (("on_manifold",), "yes"),
        (("guarantee", "private"), 1),
        (("calibration", "sigma"), None),
        (("calibration", "numbers"), {"A": "one"}),
        (("space", "parameters"), [2]),
        (("predicted_error", "quantiles"), {"0.5": "near"}),
        (("predicted_error", "quantiles"), {"0.9": 0.1, "0.5": 0.2}),
        (("ball", "colour"), "red"),
        (("degrees",), {"lat": "north"}),
    ],
)
def test_parts_of_another_kind_are_refused(place, wrong):
    release = sf.KNG(sf.Ball(sf.Sphere(dim=2), [0, 0, 1.0], 0.3), 1.0).release([[0, 0, 1.0]] * 90)
    document = json.loads(release.to_json())
    part = document
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = wrong
    with pytest.raises(sf.RecordError, match="incomplete or altered"):
        sf.Release.from_json(json.dumps(document))


def test_entries_of_later_versions_are_kept():
    release = sf.KNG(sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), 1.0).release([[0.5]] * 50)
    document = json.loads(release.to_json()) | {"country": "Peru"}
    again = sf.Release.from_json(json.dumps(document))
    assert json.loads(again.to_json()) == document


# -- spaces that are not among ours ---------------------------------------------------------------------------------------
class Moon(sf.Sphere):
    """A sphere with bounds of its own: other errors, the same name inherited."""


bounds.register(Moon, lambda space: bounds.constant_curvature(space, 2.0 * space.curvature))


class Plane(sf.Euclidean):
    name = "plane of my own"


@pytest.mark.parametrize(
    ("space", "center", "name"),
    [(Moon(dim=2), [0, 0, 1.0], "test_release.Moon"), (Plane(dim=2), [0.0, 0.0], "plane of my own")],
)
def test_a_space_of_one_s_own_reloads_as_what_it_is(space, center, name, tmp_path):
    """Never as its parent: with its name, value and error, as words, picture and page, and with no claim beyond them."""
    ball = sf.Ball(space, center, 0.3)
    made = sf.ManifoldLaplace(ball, 1.0).release([center] * 30)
    made.save(tmp_path / "mean.json")
    release = sf.Release.load(tmp_path / "mean.json")
    assert (release.space.name, dict(release.space.parameters)) == (name, space.parameters())
    assert np.array_equal(release.value, made.value)
    assert [release.error(p) for p in record.PROBABILITIES] == [made.error(p) for p in record.PROBABILITIES]
    assert release.error(0.95) == sf.ManifoldLaplace(ball, 1.0).at(30).release_error(0.95)
    parent = type(space).__mro__[1](dim=2)
    ours = sf.ManifoldLaplace(sf.Ball(parent, center, 0.3), 1.0).at(30).release_error(0.95)
    assert (release.error(0.95) == ours) == (name != "test_release.Moon")
    assert f"in the space '{name}'" in release.describe()
    with pytest.raises(ValueError, match=r"up to a probability of 0\.999999, not for 0\.9999999"):
        release.error(0.9999999)
    sf.plot_release(release, tmp_path / "mean.svg")
    sf.write_report(release, tmp_path / "mean.md")
    page = (tmp_path / "mean.md").read_text(encoding="utf-8")
    assert f"30 points of the space '{name}'".replace("_", r"\_") in page
    assert "or proven bounds on them" in page
    drawn = (tmp_path / "mean.svg").read_text(encoding="utf-8")
    assert "<!-- public centre -->" in drawn
    assert "error, all bars at once" not in drawn


# -- sessions and errors --------------------------------------------------------------------------------------------------
def test_a_session_pays_before_it_draws_and_notes_after_it_wrote(tmp_path, monkeypatch):
    """plan, charge, draw, write, note: in this order, whatever is patched to look."""
    steps = []

    def watched(owner, name):
        function = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **o: (steps.append(name), function(*a, **o))[1])

    for owner, name in (
        (sf.ManifoldLaplace, "check"),
        (sf.Ledger, "charge"),
        (sf.ManifoldLaplace, "draw"),
        (sf.Release, "save"),
        (sf.Ledger, "complete"),
    ):
        watched(owner, name)
    budget = sf.Ledger.create(tmp_path / "study.ledger", 1)
    session = sf.Session(tmp_path / "mean.json", budget)
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    release = session.release([[0.5]] * 90, ball, 0.6, "laplace")
    assert steps == ["check", "charge", "draw", "save", "complete"]
    assert sf.Release.load(tmp_path / "mean.json").sha256 == release.sha256
    with pytest.raises(sf.BudgetExceeded, match=r"0\.6 was asked, but only 0\.4 of 1 is left"):
        session.release([[0.5]] * 90, ball, 0.6, "laplace")
    assert steps[5:] == []  # refused before anything was planned


def test_a_session_hands_back_what_it_cannot_write(tmp_path):
    (tmp_path / "mean.json").write_text("mine")
    budget = sf.Ledger.create(tmp_path / "study.ledger", 1)
    with pytest.raises(sf.UnsavedError, match="could not be written") as caught:
        sf.Session(tmp_path / "mean.json", budget).release([[0.5]] * 90, sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), 0.6)
    assert caught.value.release.guarantee.epsilon == 0.6
    assert (tmp_path / "mean.json").read_text() == "mine"
    assert [line.kind for line in budget.verify().entries] == ["budget", "charge"]


def test_every_error_of_ours_has_one_root():
    """And is still the built-in one that it was."""
    from sfumato import errors
    from sfumato.errors import BudgetExceeded, LedgerError, PrecisionError, RadiusError
    from sfumato.files.base import AmbiguousError
    from sfumato.laws.sampling.rejection import EnvelopeError

    ours = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert all(issubclass(kind, sf.SfumatoError) for kind in ours)
    drawn = errors.__doc__
    assert all(f"─ {kind.__name__}" in drawn for kind in ours if kind is not sf.SfumatoError)
    for kind in (PrecisionError, RadiusError, AmbiguousError, BudgetExceeded, sf.FileError, sf.InvalidPointError):
        assert kind in ours
        assert issubclass(kind, ValueError)
    assert issubclass(LedgerError, RuntimeError)
    assert issubclass(EnvelopeError, RuntimeError)


# -- what plans keep -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mechanism", ["kng", "tangent"])
def test_changing_a_release_changes_no_other(mechanism):
    ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.41)
    points = [[0.0, 0.0, 1.0]] * 50
    first = sf.private_mean(points, ball, 1.0, mechanism, allow_useless=True)
    expected = json.dumps(first.document())
    first.ball.center[0] = 9.0
    first.calibration.numbers["A"] = -1.0
    first.predicted_error.quantiles["0.95"] = 0.0
    if first.chart is not None:
        first.chart.axes[0] = 7.0
    again = json.loads(json.dumps(sf.private_mean(points, ball, 1.0, mechanism, allow_useless=True).document()))
    for key in ("ball", "calibration", "predicted_error"):
        assert again[key] == json.loads(expected)[key]
    assert again.get("chart", {}).get("axes") == json.loads(expected).get("chart", {}).get("axes")


def test_a_ball_is_not_the_same_as_one_that_was_found():
    """Equal ones share a plan, and so a record: its price and how it was found must be those of the ball itself."""
    public = sf.Ball(sf.Euclidean(dim=1), [0.0], 0.7)
    found = [
        FoundBall(sf.Euclidean(dim=1), [0.0], 0.7, epsilon, f"radius found privately for {epsilon}")
        for epsilon in (1, 2)
    ]
    assert len({public, *found}) == 3
    sources = [sf.private_mean([[0.1]] * 99, ball, 1.0, "laplace").ball.source for ball in (public, *found)]
    assert sources == ["", "radius found privately for 1", "radius found privately for 2"]


def test_only_what_we_wrote_says_that_a_region_was_found():
    public = sf.Ellipsoid(sf.Euclidean(dim=2), [0.0, 0.0], [1.0, 0.5], source="an atlas, not found privately")
    assert not sf.private_mean([[0.1, 0.1]] * 99, public, 1.0).found_privately


def test_an_objective_of_one_s_own_stays_conditional_whatever_its_name():
    """Earlier versions wrote an unconditional promise for these; a name of ours must not hide that."""
    text = sf.private_mean([[0.1]] * 99, sf.Ball(sf.Euclidean(dim=1), [0.0], 0.7), 1.0, "laplace").to_json()
    document = json.loads(text) | {"statistic": "mean centroid size"}
    document["mechanism"]["options"] = {"objective": "mine"}
    assert not sf.Release.from_json(json.dumps(document)).guarantee.private
