"""One release by several sites: what can be read, by whom, at which price, and what is refused."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.audit import audit, neighbours
from sfumato.errors import RecordError, Refusal
from sfumato.findings.sites import Part, Study
from sfumato.laws.sampling import replaying
from sfumato.laws.sampling.divided import GRID
from sfumato.mechanisms.parted import Parted
from sfumato.regions.ball import FoundBall
from sfumato.release.masks import MODULUS, SiteKey

NAMES = ("lima", "oslo", "rome")
BALL = sf.Ball(sf.Euclidean(dim=3), [0.0, 0.0, 0.0], radius=1.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the keys and ledgers of three sites."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        SiteKey.create(f"{name}.key", name)
        sf.Ledger.create(f"{name}.ledger", epsilon=5)
    return tmp_path


def study_of(region=BALL, epsilon=1.0, trusted=2, n=200, **asked):
    keys = {SiteKey.load(f"{name}.pub"): n for name in NAMES}
    return Study.of(region, keys, trusted, epsilon, **{"allow_useless": True, **asked})


def charges(name):
    return [line for line in sf.Ledger(f"{name}.ledger").verify().entries if line.kind == "charge"]


def contribute(study, name, points, **how):
    return study.contribute(points, f"{name}.key", sf.Ledger(f"{name}.ledger"), agreed=study.code, **how)


def records(i, n=200):
    return np.random.default_rng(i).normal(0.2, 0.2, (n, 3))


def in_round(study, number):
    return replace(study, round=number)


def parts_of(study, n=200):
    return [contribute(study, name, records(i, n)) for i, name in enumerate(NAMES)]


# -- what comes out --------------------------------------------------------------------------------------------------------
def test_the_release_is_like_any_other_with_the_sites_in_its_record(folder):
    study = study_of(inference=0.1, n=(150, 250))
    release = study.combine(parts_of(study))
    release.save("mean.json")
    again = sf.Release.load("mean.json")
    assert again.sha256 == release.sha256
    assert (again.n, again.guarantee.epsilon, again.mechanism.name) == (600, 1.0, "sites")
    options = again.mechanism.options
    assert options["sites"] == dict.fromkeys(NAMES, 200)
    assert (options["trusted"], options["round"], options["study"]) == (2, 1, study.sha256)
    every = np.concatenate([records(i) for i in range(3)])
    assert np.linalg.norm(release.raw - BALL.clip(every).mean(axis=0)) < release.error(0.999999)
    assert release.noise(0.95) < release.region(0.95).radius < 4 * release.noise(0.95)
    text = release.describe()
    assert "lima (200), oslo (200), rome (200) added up, in round 1, what no one has seen alone" in text
    assert "if 2 of them drew their noise; any one can spoil the value" in text
    release.plot()
    sf.write_report(release, "mean.html")


def test_the_sum_is_that_of_one_curator_to_the_integer(folder):
    """With given generators: the parts are sums of records, noise and dithers, and the masks are gone."""
    study = study_of(inference=0.2)
    done, expected = [], 0
    for i, name in enumerate(NAMES):
        with replaying(np.random.default_rng(i)):
            done.append(contribute(study, name, records(i)))
        w = BALL.as_chart().chart(BALL.clip(records(i)))
        rows = np.hstack([w, np.minimum(np.sum(w * w, axis=1, keepdims=True), 1.0)])
        sums = [sum(int(x) for x in column) << GRID - 40 for column in np.trunc(rows * 2.0**40).T.tolist()]
        rng = np.random.default_rng(i)
        noise = [x for one in study._noise for x in one.part(rng)]
        expected = expected + np.array(sums, dtype=object) + np.array(noise, dtype=object)
    total = [sum(column) % MODULUS for column in zip(*(part.numbers for part in done), strict=True)]
    assert total == [x % MODULUS for x in expected]
    release = study.combine(done)
    middle = np.array([3 * (one.dither - 1) / 2 for one in study._noise for _ in range(one.size)])
    means = np.array([float(x) for x in expected]) - middle
    spacing = release.lattice_spacing
    assert np.abs(np.array(release.chart.point) - means[:3] / 2**GRID / 600).max() <= spacing / 2 * (1 + 1e-9)
    assert release.spread.second_moment == pytest.approx(means[3] / 2**GRID / 600)


@pytest.mark.parametrize("privacy", [1.0, sf.ApproxDP(1.0, 1e-6), sf.ZCDP(0.1), sf.GDP(0.5)], ids=str)
def test_every_kind_of_privacy_has_the_facts_of_one_curator(folder, privacy):
    shared = study_of(epsilon=privacy)._plan(600)
    one = sf.TangentKNorm(BALL, privacy).plan(600)
    for name in ("epsilon", "rho", "mu"):
        assert getattr(shared.facts, name) == pytest.approx(getattr(one.facts, name), rel=1e-4)
    assert shared.facts.approx.epsilon == pytest.approx(one.facts.approx.epsilon, rel=1e-3)
    assert shared.scale.sigma == pytest.approx(one.scale.sigma, rel=1e-4)
    assert shared.noise_95 == pytest.approx(np.sqrt(1.5) * one.noise_95, rel=0.03)


def test_groups_are_compared_also_where_a_site_has_one_of_them(folder):
    study = study_of(groups=["f", "m"], inference=0.1, n=400)
    done = []
    for i, name in enumerate(NAMES):
        labels = np.array(["f", "m"] * 200) if i else np.full(400, "f")
        points = np.random.default_rng(i).normal(0, 0.15, (400, 3)) + np.where(labels == "f", 0.4, -0.4)[:, None]
        done.append(contribute(study, name, points, labels=labels))
    found = study.combine(done)
    assert [one.n for one in found.groups.values()] == [800, 400]
    assert found.groups["f"].guarantee.grouped
    assert found.epsilon == 1.0
    assert found.difference().differs
    assert found.omnibus < 0.01
    found.save("groups.json")
    assert sf.Comparison.load("groups.json").difference().differs
    with pytest.raises(ValueError, match="each record needs the label of its group, one of f, m"):
        contribute(in_round(study, 2), "lima", records(0, 400), labels=["x"] * 400)


def test_several_records_of_a_person_are_one_unit(folder):
    study = study_of(n=100, unit="one person: all records with the same label")
    people = np.repeat(np.arange(100), 2)
    points = np.repeat(records(0, 100), 2, axis=0)
    part = contribute(study, "lima", points, unit=people)
    assert part.units == [100]
    with pytest.raises(
        Refusal, match="this site is to have 100 to 100 units, and these are 200: agree on another study"
    ):
        contribute(study, "oslo", points)
    assert charges("oslo") == []


def test_an_ellipsoid_of_public_specimens_and_data_in_parts(folder):
    dask_array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(3)
    sample = rng.normal(size=(60, 6)) * [1.0, 0.5, 0.2, 0.1, 0.1, 0.1]
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=6), sample, relation="same")
    study = study_of(region, n=1000)
    study.save("study.json")
    again = Study.load("study.json")
    assert (again.sha256, again.code) == (study.sha256, study.code)
    assert "axes" in again.region
    own = rng.normal(size=(1000, 6)) * [1.0, 0.5, 0.2, 0.1, 0.1, 0.1]
    np.save("own.npy", own)
    ways = (own, np.load("own.npy", mmap_mode="r"), dask_array.from_array(own, chunks=(300, 6)))
    sums = [again._sums(points, again.sites["lima"], workers=2) for points in ways]
    assert sums[0] == sums[1] == sums[2]
    done = [contribute(again, name, points) for name, points in zip(NAMES, ways, strict=True)]
    release = again.combine(done)
    assert (release.whole.relation, release.gain) == ("same", study.whole.gain)
    assert release.error(0.95) > release.noise(0.95)
    w = again.settled.as_chart().chart(own).mean(axis=0)
    assert np.linalg.norm(np.array(release.chart.point) - w) < 8 * release.calibration.sigma * (len(w) + 1)


# -- privacy ---------------------------------------------------------------------------------------------------------------
def rounds(study, points, count, masked=True, monkeypatch=None):
    if not masked:
        monkeypatch.setattr(SiteKey, "mask", lambda key, others, study, size: [0] * size)
    key = SiteKey.load("lima.key")
    sums = study._sums(points, study.sites["lima"])
    made = [in_round(study, i + 1)._make(sums, key, None) for i in range(count)]
    return np.array([part.numbers for part in made], dtype=object)


@pytest.mark.parametrize("end", [1.0, -1.0])
def test_a_part_is_uniform_whatever_the_data(folder, end, monkeypatch):
    study = study_of(n=50)
    points = np.tile([end, 0.0, 0.0], (50, 1))
    numbers = rounds(study, points, 100)
    high, low = (numbers >> 64).astype(np.float64), (numbers % 2**64).astype(np.float64)
    for half in (high, low):
        assert stats.kstest(half.ravel() / 2.0**64, "uniform").pvalue > 1e-6
    assert stats.kstest(high[:, 0] / 2.0**64, "uniform").pvalue > 1e-6
    bare = rounds(study, points, 100, masked=False, monkeypatch=monkeypatch)
    assert stats.kstest((bare >> 64).astype(np.float64).ravel() / 2.0**64, "uniform").pvalue < 1e-6


def test_without_one_part_nothing_can_be_read(folder):
    """What any two of three parts add up to is uniform, and the two that are known do not tell the third."""
    study = study_of()
    done = parts_of(study)
    with pytest.raises(Refusal, match="nothing can be read without the part of each site: rome missing"):
        study.combine(done[:2])
    totals = []
    for number in range(1, 60):
        one = in_round(study, number)
        keys = {name: SiteKey.load(f"{name}.key") for name in NAMES}
        some = [one._make(([0] * 3, [200]), keys[name], None).numbers for name in NAMES[:2]]
        totals += [sum(column) % MODULUS for column in zip(*some, strict=True)]
    assert stats.kstest(np.array(totals, dtype=object).astype(np.float64) / 2.0**128, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(("m", "trusted"), [(3, 2), (3, 1), (5, 2), (6, 4)])
def test_what_colluding_sites_learn_of_a_neighbour_is_at_most_epsilon(folder, m, trusted):
    """Replayed on both data sets with the same noise, and read with all that the colluding sites know, their masks with the
    honest ones: what is left differs by the record alone, and by ε at most in units of the honest sites' noise."""
    keys = [SiteKey.create(f"{i}.key", f"site {i}") for i in range(m)]
    study = Study.of(BALL, dict.fromkeys(keys, 20), trusted, 1.0, allow_useless=True)
    first = np.tile([1.0, 0.0, 0.0], (20, 1))
    second = first.copy()
    second[7] = [-1.0, 0.0, 0.0]
    seen = []
    for points in (first, second):
        total = np.zeros(3, dtype=object)
        for i, key in enumerate(keys[:trusted]):
            with replaying(np.random.default_rng(i)):
                part = study._make(study._sums(first if i else points, study.sites[key.name]), key, None)
            total = total + np.array(part.numbers, dtype=object)
            for colluding in keys[trusted:]:
                total = total + np.array(colluding.mask([key], study.sha256, 3), dtype=object)
        seen.append([(x + MODULUS // 2) % MODULUS - MODULUS // 2 for x in total.tolist()])
    (noise,) = study._noise
    assert max(abs(x) for side in seen for x in side) < 2**GRID * (20 * m + 1e6)  # it is read: no mask is left
    apart = np.array([float(x - y) for x, y in zip(*seen, strict=True)]) / 2**GRID
    assert 1.99 < np.linalg.norm(apart) <= 2
    # the honest parts are as many as have the density e^(−‖x‖/scale) together, which falls by at most this:
    assert noise.trusted == trusted
    assert 0.99 < np.linalg.norm(apart) / noise.scale <= 1.0


def honest(m, trusted, drawing, dim=2):
    """Return what is left of a sum once all but the honest sites are taken off, of which so many draw their noise."""
    ball = sf.Ball(sf.Euclidean(dim=dim), np.zeros(dim), radius=1.0)

    def draw(data, size, rng):
        plan = Parted(ball, 1.0, sites=m, trusted=trusted).plan(len(data))
        (noise,) = plan.divided()
        total = ball.as_chart().chart(ball.clip(data)).sum(axis=0)
        return (total + noise.draws(size, rng, parts=drawing)) / len(data)

    return draw, ball


@pytest.mark.parametrize(("m", "trusted"), [(3, 2), (5, 2), (20, 10)])
def test_the_audit_clears_the_trusted_number_and_convicts_noise_that_is_left_out(m, trusted):
    draw, ball = honest(m, trusted, trusted)
    pair = next(one for one in reversed(neighbours(ball, 2)) if "across the" in one.name)
    verdict = audit(draw, 1.0, pair, region=ball, draws=60_000)
    assert 0.5 < verdict.lower <= 1.0
    assert not verdict.convicted
    fewer, _ = honest(m, trusted, trusted / 2)  # half of those who were trusted leave it out
    assert audit(fewer, 1.0, pair, region=ball, draws=60_000).convicted


# -- at a site: once, and never two things behind one mask -----------------------------------------------------------------
def test_a_second_call_gives_the_same_bytes_and_charges_nothing_whatever_the_data(folder):
    study = study_of()
    contribute(study, "lima", records(0), out="first.part")
    contribute(study, "lima", records(9), out="second.part")
    contribute(study, "lima", np.full((3, 3), np.nan), out="third.part")
    assert Path("first.part").read_bytes() == Path("second.part").read_bytes() == Path("third.part").read_bytes()
    assert len(charges("lima")) == 1
    other = replace(study, trusted=1, scales=study.scales)
    assert other.sha256 != study.sha256
    contribute(other, "lima", records(0))
    assert len(charges("lima")) == 2  # another plan is another price


STEPS = {  # what is killed there: how often it was charged, whether the part is kept, whether it is given out
    "sfumato.findings.sites.Study._sums": (0, False, False),
    "sfumato.release.masks.SiteKey.mask": (0, False, False),
    "sfumato.release.ledger.Ledger.charge": (0, False, False),
    "sfumato.laws.sampling.divided.Divided.part": (1, False, False),
    "sfumato.findings.sites.Part.save": (1, False, False),
    "sfumato.atomic._name": (1, False, False),
    "sfumato.findings.sites.Part.load": (1, True, False),
    "sfumato.release.ledger.Ledger.complete": (1, True, False),
    "sfumato.atomic.os.replace": (1, True, False),
}
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
CONTRIBUTE = """
import os, pkgutil, signal, sys
import numpy as np
import sfumato as sf
from sfumato.findings.sites import Study

def contribute():
    study = Study.load("study.json")
    points = np.random.default_rng(0).normal(0.2, 0.2, (200, 3))
    study.contribute(points, "lima.key", sf.Ledger("lima.ledger"), "lima.part", agreed=study.code)
"""
# a process for each step, all of them from one that has imported what they need
KILLED = f"""{CONTRIBUTE}
while line := sys.stdin.readline():
    process = os.fork()
    if process:
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
        continue
    folder, step = line.rstrip().split("\\t")
    os.chdir(folder)
    place, name = step.rsplit(".", 1)
    setattr(pkgutil.resolve_name(place), name, lambda *a, **b: os.kill(os.getpid(), signal.SIGKILL))
    contribute()
    sys.exit()
"""


@pytest.fixture(scope="module")
def killed():
    """Run a site in a folder up to a step that kills it, and return its exit code."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", KILLED], env=ENV, **pipes) as parent:

        def run(folder, step):
            parent.stdin.write(f"{folder}\t{step}\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        yield run


@pytest.mark.parametrize("step", STEPS)
def test_a_site_killed_at_any_step_pays_once_and_gives_out_one_part(folder, killed, step):
    study = study_of()
    study.save("study.json")
    assert killed(folder, step) == -signal.SIGKILL
    times, kept, out = STEPS[step]
    held = [path for path in folder.iterdir() if path.name.startswith("lima.key.") and len(path.name) == 46]
    assert (len(charges("lima")), bool(held), Path("lima.part").exists()) == (times, kept, out)
    before = held[0].read_bytes() if kept else None
    part = contribute(study, "lima", records(1), out="lima.part")  # other data: what was kept is what is given out
    assert len(charges("lima")) == 1
    assert sf.Ledger("lima.ledger").verify().unnoted("default") == []
    (held,) = [path for path in folder.iterdir() if path.name.startswith("lima.key.") and len(path.name) == 46]
    assert held.read_bytes() == Path("lima.part").read_bytes()
    assert before is None or before == held.read_bytes()
    assert Part.load("lima.part").sha256 == part.sha256


def test_a_part_that_was_given_out_and_is_gone_is_not_made_again(folder):
    study = study_of()
    contribute(study, "lima", records(0))
    (kept,) = folder.glob("lima.key.*.part")
    kept.rename("elsewhere.part")
    with pytest.raises(Refusal, match="is gone, or not what was given out: put that back, or agree on another round"):
        contribute(study, "lima", records(1))
    kept.write_text(Path("elsewhere.part").read_text()[:-200])
    with pytest.raises(RecordError):
        contribute(study, "lima", records(1))
    assert len(charges("lima")) == 1


@contextmanager
def killed_at(monkeypatch, where):
    """Let a contribution end there."""

    def end(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, end)
        with pytest.raises(KeyboardInterrupt):
            yield


def test_a_key_by_another_name_gives_the_same_part_also_with_another_ledger(folder):
    study = study_of()
    Path("link").mkdir()
    Path("link/lima.key").symlink_to(folder / "lima.key")
    sf.Ledger.create("other.ledger", epsilon=5)
    first = contribute(study, "lima", records(0))
    again = study.contribute(records(1), "link/lima.key", sf.Ledger("other.ledger"), agreed=study.code)
    assert again.sha256 == first.sha256


def test_of_two_copies_of_a_key_one_gives_out_a_part(folder, monkeypatch):
    """Killed once its part is kept, a site goes on with a copy of its key: what the original keeps is never given out."""
    study = study_of()
    with killed_at(monkeypatch, "sfumato.findings.sites.Part.load"):
        contribute(study, "lima", records(0), out="lima.part")
    Path("copy").mkdir()
    Path("copy/lima.key").touch(0o600)
    Path("copy/lima.key").write_bytes(Path("lima.key").read_bytes())
    given = study.contribute(records(1), "copy/lima.key", sf.Ledger("lima.ledger"), agreed=study.code)
    with pytest.raises(Refusal, match="or not what was given out"):
        contribute(study, "lima", records(0), out="lima.part")
    assert not Path("lima.part").exists()
    assert len(charges("lima")) == 1
    again = study.contribute(records(2), "copy/lima.key", sf.Ledger("lima.ledger"), agreed=study.code)
    assert again.sha256 == given.sha256


def test_what_one_data_set_paid_for_another_does_not_use(folder, monkeypatch):
    study = study_of()
    other = sf.Ledger.create("lima.ledger", epsilon=5, dataset="other")
    first = sf.Ledger("lima.ledger", "default")
    with killed_at(monkeypatch, "sfumato.laws.sampling.divided.Divided.part"):
        study.contribute(records(0), "lima.key", first, agreed=study.code)
    with pytest.raises(Refusal, match="this study was charged to the data set 'default': name that one"):
        study.contribute(records(1), "lima.key", other, agreed=study.code)
    assert study.contribute(records(0), "lima.key", first, agreed=study.code).units == [200]
    assert len(charges("lima")) == 1


def test_what_cannot_make_or_keep_a_part_is_refused_before_the_charge(folder, monkeypatch):
    study = study_of()
    with pytest.raises(Refusal, match=r"lima\.pub: is not the key of one of the sites"):
        study.contribute(records(0), "lima.pub", sf.Ledger("lima.ledger"), agreed=study.code)
    monkeypatch.setattr(
        "sfumato.atomic._beside", lambda path: Path("nowhere") / path.name
    )  # as if the folder were read-only
    with pytest.raises(ValueError, match=r"lima\.key\..*\.part: cannot be written"):
        contribute(study, "lima", records(0))
    assert charges("lima") == []


def test_a_region_that_was_found_privately_is_refused(folder):
    found = FoundBall(sf.Euclidean(dim=3), np.zeros(3), 1.0, epsilon=0.3, source="found privately")
    with pytest.raises(Refusal, match="this region was found privately, and a study would lose its price"):
        study_of(found)


def test_two_processes_at_once_pay_once(folder):
    study = study_of()
    study.save("study.json")
    code = f"{CONTRIBUTE}\ncontribute()"
    both = [subprocess.Popen([sys.executable, "-c", code], env=ENV) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    assert len(charges("lima")) == 1


def test_two_copies_of_a_key_at_once_pay_once_and_one_gives_out_a_part(folder, monkeypatch):
    """The copy draws while the original is between its look into the ledger and its charge: one charge, one part."""
    study = study_of()
    Path("copy").mkdir()
    Path("copy/lima.key").touch(0o600)
    Path("copy/lima.key").write_bytes(Path("lima.key").read_bytes())
    book = sf.Ledger("lima.ledger")
    charge, complete = book.charge, book.complete
    for name, given in (("charge", charge), ("complete", complete)):
        study, done = in_round(study, study.round + 1), []

        def late(*arguments, given=given, study=study, done=done, **more):
            copy = study.contribute(records(1), "copy/lima.key", sf.Ledger("lima.ledger"), agreed=study.code)
            done.append(copy.sha256)
            return given(*arguments, **more)

        with monkeypatch.context() as patch:
            patch.setattr(book, name, late)
            with pytest.raises(Refusal, match="or not what was given out"):
                study.contribute(records(0), "lima.key", book, "lima.part", agreed=study.code)
        assert not Path("lima.part").exists()
        assert sum(study.sha256 in line.record for line in charges("lima")) == 1
        assert sum(done[0] in line.record for line in sf.Ledger("lima.ledger").verify().entries) == 1


def test_no_key_or_other_file_is_overwritten_by_a_part(folder):
    study = study_of()
    Path("notes.txt").write_text("of the meeting")
    before = {name: Path(name).read_bytes() for name in ("lima.key", "oslo.pub", "lima.ledger", "notes.txt")}
    for name, content in before.items():
        with pytest.raises(Refusal, match=f"{name}: is there already, and no part of a site: give another name"):
            contribute(study, "lima", records(0), out=name)
        assert Path(name).read_bytes() == content
    with pytest.raises(ValueError, match=r"nowhere/lima.part: cannot be written"):
        contribute(study, "lima", records(0), out="nowhere/lima.part")
    assert not charges("lima")
    first = contribute(study, "lima", records(0), out="lima.part")
    second = contribute(
        in_round(study, 2), "lima", records(0), out="lima.part"
    )  # a part of an earlier round is replaced
    assert Part.load("lima.part").sha256 == second.sha256 != first.sha256


def test_landmarks_are_prepared_alike_at_all_sites(folder):
    space = sf.PlanarShapes(landmarks=6)
    made = np.random.default_rng(0).normal(size=(6, 2)) + np.random.default_rng(1).normal(0, 0.02, (200, 6, 2))
    data = sf.Dataset(made, "landmarks")
    slid = sf.slide(data, made[0], [(1, 2, 3)])
    plain = study_of(sf.Ball(space, made[0], 0.2))
    assert "prepared" not in plain.to_dict()
    study = study_of(sf.Ball(space, made[0], 0.2), prepared={"slid": "bending"})
    assert "prepared" in study.to_dict()
    for one, points in (
        (plain, slid),
        (study, data),
        (study, made),
        (study, sf.slide(data, made[0], [(1, 2, 3)], by="distance")),
    ):
        with pytest.raises(
            Refusal, match=r"all sites of this study slide (semilandmarks by bending|no semilandmarks), and"
        ):
            contribute(one, "lima", points)
    assert not charges("lima")
    release = study.combine([contribute(study, name, slid) for name in NAMES])
    assert release.prepared == {"slid": "bending"}
    assert (
        "by public knowledge alone: all semilandmarks slid to the least bending energy from one public shape."
        in release.describe()
    )


def test_groups_state_the_whole_error_by_the_public_sample(folder):
    """As one curator's groups do; larger, as the noise is, and by fewer records than were planned for no smaller."""
    rng = np.random.default_rng(3)
    public = rng.normal(0, [0.5, 0.2, 0.05], (40, 3))
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=3), public, relation="same")
    every = [rng.normal(0, [0.5, 0.2, 0.05], (200, 3)) for _ in NAMES]
    labels = np.where(np.arange(200) < 60, "f", "m")
    study = study_of(region, epsilon=2.0, groups=["f", "m"])
    parts = [contribute(study, name, points, labels=labels) for name, points in zip(NAMES, every, strict=True)]
    found = study.combine(parts)
    one = sf.compare_groups(np.concatenate(every), np.tile(labels, 3), region, epsilon=2.0, inference=1e-6)
    for name in ("f", "m"):
        mine, theirs = found.groups[name], one.groups[name]
        assert mine.gain is not None
        for p in (0.5, 0.8, 0.95):  # beyond, noise in parts has lighter tails than one curator's
            assert mine.error(p) >= mine.noise(p)
            assert theirs.error(p) < mine.error(p) < 1.6 * theirs.error(p)
    assert found.groups["f"].error(0.95) > found.groups["m"].error(0.95)
    assert "of the mean of its records in 95 of 100 releases" in "\n".join(found.view.in_short(found))


def test_options_that_are_not_known_are_refused_with_groups_too(folder):
    for groups in ([""], ["f", "m"]):
        with pytest.raises(TypeError, match="unexpected keyword argument 'invalidd'"):
            contribute(
                study_of(groups=groups), "lima", records(0), labels=np.resize(["f", "m"], 200), invalidd="center"
            )
    assert not charges("lima")


def test_a_clock_that_goes_wrong_changes_nothing(folder, monkeypatch):
    study = study_of()
    first = contribute(study, "lima", records(0))
    monkeypatch.setattr("sfumato.release.chain.now", lambda: "1970-01-01T00:00:00+00:00")
    assert contribute(study, "lima", records(0)).sha256 == first.sha256
    done = [first, *(contribute(study, name, records(i)) for i, name in enumerate(NAMES[1:], 1))]
    assert study.combine(done).n == 600


def test_nothing_is_charged_for_what_is_refused(folder):
    study = study_of()
    refused = {
        "the code of this study, .* was not agreed on": lambda: study.contribute(
            records(0), "lima.key", sf.Ledger("lima.ledger"), agreed="3f0a"
        ),
        "record 5": lambda: contribute(study, "lima", np.where(np.arange(200)[:, None] == 5, np.nan, records(0))),
        "to have 200 to 200 units, and these are 199": lambda: contribute(study, "lima", records(0, 199)),
    }
    for words, call in refused.items():
        with pytest.raises(ValueError, match=words):
            call()
    SiteKey.create("eve.key", "lima")
    with pytest.raises(
        Refusal, match=r"eve\.key: is not the key of one of the sites, lima, oslo, rome. Nothing was charged"
    ):
        study.contribute(records(0), "eve.key", sf.Ledger("lima.ledger"), agreed=study.code)
    spent = sf.Ledger.create("small.ledger", epsilon=0.5)
    with pytest.raises(sf.BudgetExceeded, match=r"epsilon 1 was asked, but only 0\.5"):
        study.contribute(records(0), "lima.key", spent, agreed=study.code)
    assert charges("lima") == []
    assert not [*folder.glob("*.part")]


def test_a_hostile_key_in_the_study_is_refused_before_the_charge(folder):
    keys = {SiteKey.load(f"{name}.pub"): 200 for name in NAMES[:2]} | {SiteKey("eve", "01" + "00" * 31): 200}
    study = Study.of(BALL, keys, 2, 1.0, allow_useless=True)
    with pytest.raises(Refusal, match="the key of eve is none that a site can have made"):
        contribute(study, "lima", records(0))
    assert charges("lima") == []


# -- anywhere: what does not belong together ---------------------------------------------------------------------------------
def test_parts_that_do_not_belong_together_are_refused(folder):
    study = study_of()
    done = parts_of(study)
    other = in_round(study, 2)
    late = contribute(other, "rome", records(2))
    with pytest.raises(Refusal, match="the part of rome is of another study, of another round, or of no site"):
        study.combine([*done[:2], late])
    with pytest.raises(Refusal, match="there are two parts of lima: give that of each site once"):
        study.combine([*done, done[0]])
    swapped = replace(done[0], site="oslo"), replace(done[1], site="lima"), done[2]
    assert study.combine(swapped).raw.tolist() == study.combine(done).raw.tolist()  # a sum has no order
    wrong = [
        replace(done[2], numbers=[x ^ (1 << 120) for x in done[2].numbers]),
        replace(done[2], numbers=late.numbers),
        replace(done[2], numbers=done[0].numbers),
    ]
    for part in wrong:
        with pytest.raises(Refusal, match="nothing can be read, as masks do not cancel: a part was altered"):
            study.combine([*done[:2], part])
    for change in (
        {"numbers": done[2].numbers[:2]},
        {"units": [10**9]},
        {"units": [100, 100]},
    ):
        with pytest.raises(Refusal, match="the part of rome is not what the study says: ask for it again"):
            study.combine([*done[:2], replace(done[2], **change)])


@pytest.mark.parametrize("how", ["cut", "changed", "empty"])
def test_a_damaged_file_is_refused_with_a_sentence(folder, how):
    study = study_of()
    study.save("study.json")
    contribute(study, "lima", records(0), out="lima.part")
    for name, kind in (("study.json", Study), ("lima.part", Part)):
        text = Path(name).read_text()
        damage = {
            "cut": text[: len(text) // 2],
            "changed": text.replace('"oslo"', '"oslö"').replace('"lima"', '"lime"'),
            "empty": "",
        }
        Path(name).write_text(damage[how])
        with pytest.raises(RecordError, match=name):
            kind.load(name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trusted": 3}, "the number of trusted sites is from 1 to 2, not 3: of 3 trusted, one that shows"),
        ({"trusted": 0}, "the number of trusted sites is from 1 to 2, not 0"),
        ({"scales": [0.1]}, "the noise is not what the promise needs"),
        ({"scales": []}, "the noise is not what the promise needs"),
        ({"region": {}}, "it says no public region"),
        ({"region": {}, "scales": []}, "it says no public region"),
        ({"privacy": {"epsilon": 2.0}}, "the noise is not what the promise needs"),
        ({"round": 0}, "rounds count from 1"),
        ({"groups": []}, "each group has a name of its own"),
        ({"groups": ["f", "f"]}, "each group has a name of its own"),
        ({"groups": ["", "f"]}, "each group has a name of its own"),
        ({"groups": ["f", " m"]}, "each group has a name of its own, without spaces around it"),
        ({"inference": 0.9}, "inference must be a share of epsilon"),
    ],
)
def test_a_study_that_promises_too_much_is_refused_wherever_it_is_read(folder, change, words):
    study = study_of()
    document = {**study.to_dict(), **change}
    Path("study.json").write_text(json.dumps({**document, "sha256": Study.digest(document)}, indent=2))
    with pytest.raises(RecordError, match=words):
        Study.load("study.json")


@pytest.mark.parametrize(
    "change", [{"numbers": [0.5] * 3}, {"units": [-1]}, {"numbers": "abc"}, {"numbers": [1 << 128] * 3}]
)
def test_a_part_of_other_numbers_is_refused_when_it_is_read(folder, change):
    part = contribute(study_of(), "lima", records(0))
    document = {**part.to_dict(), **change}
    with pytest.raises(
        RecordError, match="this part of a site is incomplete or altered: its numbers are not whole ones"
    ):
        Part.from_json(json.dumps(document))


def test_sites_are_two_or_more_each_with_a_name_and_a_key_of_its_own(folder):
    keys = [SiteKey.load(f"{name}.pub") for name in NAMES]
    with pytest.raises(ValueError, match="a study has two sites or more, each with a name and a key of its own"):
        Study.of(BALL, {keys[0]: 10, SiteKey("mirror", keys[0].public): 10}, 1, 1.0)
    with pytest.raises(ValueError, match="each with a name and a key of its own"):
        Study.of(BALL, {keys[0]: 10, SiteKey("LIMA", keys[1].public): 10}, 1, 1.0)
    with pytest.raises(Refusal, match="two sites have the same name"):
        Study.of(BALL, {keys[0]: 10, SiteKey("lima", keys[1].public): 10}, 1, 1.0)
    with pytest.raises(ValueError, match="lima has 0 to 10 units, and must have one at least"):
        Study.of(BALL, {keys[0]: (0, 10), keys[1]: 10}, 1, 1.0)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        Study.of(BALL, {keys[0]: 2.5, keys[1]: 10}, 1, 1.0)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        Study.of(BALL, dict.fromkeys(keys, 10), 1.5, 1.0)
    with pytest.raises(Refusal, match="trusted sites is from 1 to 1, not 2"):
        Study.of(BALL, {keys[0]: 10, keys[1]: 10}, 2, 1.0)


def test_the_plan_says_all_that_is_promised_before_anything_is_charged(folder):
    said = "\n".join(study_of(n=(100, 200)).words)
    for words in (
        "ε = 1 protects one record from all who see parts, other sites too, as long as 2 of the sites, the person's own",
        "about 1.22 times one curator's.",
        "If a site sends no part nothing can be read; another round is another price. Who is at two sites pays twice.",
        "How many units each site has is public, and not protected.",
        "lima: 100–200 units, key ",
        "Code of the study: ",
    ):
        assert words in said
    for name in NAMES:
        assert SiteKey.load(f"{name}.pub").code in said


def test_releases_of_sites_are_not_combined_as_those_of_studies(folder):
    study = study_of()
    release = study.combine(parts_of(study))
    with pytest.raises(Refusal, match="only means by chart can be combined"):
        sf.combine([release, release], people="apart")


def test_a_useless_study_is_refused_before_it_is_written(folder):
    keys = {SiteKey.load(f"{name}.pub"): 2 for name in NAMES}
    with pytest.raises(Refusal, match="this release would be useless"):
        Study.of(BALL, keys, 2, 0.1)
