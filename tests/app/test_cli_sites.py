"""The commands of sites: three folders, one mean; everything is said before it is charged."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

TEMPLATE = np.array([[0, 0], [2, 0], [3, 1], [2, 2], [0, 2]], dtype=float)
SITES = {"lisbon": 300, "oslo": 250, "rome": 400}
KNOWN = ("--center", "center.tps", "--radius", "0.15", "--epsilon", "1")


def write(path, shapes, labels=()):
    rows = ("".join(f"{x!r} {y!r}\n" for x, y in shape) for shape in shapes.tolist())
    ends = [f"ID={i}\n" for i in range(len(shapes))]
    Path(path).write_text("".join(f"LM=5\n{lines}{end}" for lines, end in zip(rows, ends, strict=True)))


@pytest.fixture
def sites(sfumato, tmp_path):
    rng = np.random.default_rng(0)
    sf.write_points("center.tps", TEMPLATE, "landmarks")
    for name, n in SITES.items():
        write(f"{name}.tps", TEMPLATE + rng.normal(0, 0.05, (n, 5, 2)))
        code, out, err = sfumato("site", "key", name)
        assert code == 0, err
        assert sf.SiteKey.load(f"{name}.pub").code in out
        sf.Ledger.create(f"{name}.ledger", epsilon=2)
    return sfumato


def init(run, *more, keys=("lisbon.pub=300", "oslo.pub=200:300", "rome.pub=400")):
    return run("site", "init", "study.json", *keys, "--trusted", "2", *KNOWN, *more)


def contribute(run, name, *more, study="study.json", agreed=None):
    agreed = sf.Study.load(study).code if agreed is None else agreed
    options = ("--study", study, "--key", f"{name}.key", "--ledger", f"{name}.ledger", "--agreed", agreed)
    return run("site", "contribute", f"{name}.tps", *options, *more)


def test_three_sites_make_one_mean(sites):
    code, out, err = init(sites, "--inference", "0.1")
    assert code == 0, err
    assert "Code of the study: " + sf.Study.load("study.json").code in out
    assert "oslo: 200–300 units" in out
    code, out, err = contribute(sites, "lisbon", agreed="")
    assert code == 2
    assert "ε = 1 protects one record from all who see parts, other sites too, as long as 2 of the sites" in out
    assert "Who is at two sites pays twice" in out
    assert "was not agreed on: read it out to every other site" in err
    assert sf.Ledger("lisbon.ledger").left == 2
    for name in SITES:
        code, out, err = contribute(sites, name)
        assert code == 0, err
        assert f"Written: {name}.part, to be sent; 1 of 2 is left" in out
        assert "Curator only: none of" in err
    code, out, err = sites("site", "combine", "study.json", "lisbon.part", "oslo.part")
    assert (code, Path("mean.json").exists()) == (2, False)
    assert "nothing can be read without the part of each site: rome missing" in err
    parts = [f"{name}.part" for name in SITES]
    code, out, err = sites("site", "combine", "study.json", *parts, "--plot", "mean.png", "--report", "mean.html")
    assert code == 0, err
    assert "Released the mean of 950 planar shapes of 5 landmarks; ε = 1 protects one record." in out
    release = sf.Release.load("mean.json")
    space = release.space.required
    assert space.distance(*space.validate([release.value, TEMPLATE])) < 0.02
    assert release.mechanism.options["sites"] == SITES
    assert "added up, in round 1, what no one has seen alone" in Path("mean.html").read_text()
    code, _, err = contribute(sites, "lisbon")  # again: nothing is charged
    assert (code, sf.Ledger("lisbon.ledger").left) == (0, 1)


def test_groups_and_people(sites):
    people = np.repeat(np.arange(150), 2)
    for name in SITES:
        labels = [f"LM=5\n{{}}ID=p{i}\n" for i in people]
        shapes = sf.read(f"{name}.tps", sf.PlanarShapes(landmarks=5)).points[:300]
        if len(shapes) < 300:
            shapes = np.concatenate([shapes, shapes[: 300 - len(shapes)]])
        rows = ("".join(f"{x!r} {y!r}\n" for x, y in shape) for shape in shapes.tolist())
        Path(f"{name}.tps").write_text("".join(one.format(row) for one, row in zip(labels, rows, strict=True)))
        table = "\n".join(f"p{i},{'f' if i % 2 else 'm'}" for i in range(150))
        Path(f"{name}.csv").write_text(f"ID,sex\n{table}\n")
    keys = [f"{name}.pub=150" for name in SITES]
    code, out, err = init(sites, "--groups", "f,m", "--inference", "0.1", "--unit", "one person", keys=keys)
    assert code == 0, err
    assert (
        "the mean of the records of 3 sites, for each of f, m (who is in which is public). ε = 1 protects one person"
        in out
    )
    for name in SITES:
        code, _, err = contribute(sites, name, "--by", "sex", "--labels", f"{name}.csv", "--unit-column", "ID")
        assert code == 0, err
    code, out, err = sites("site", "combine", "study.json", *(f"{name}.part" for name in SITES), "--out", "sexes.json")
    assert code == 0, err
    found = sf.Comparison.load("sexes.json")
    assert [one.n for one in found.groups.values()] == [225, 225]
    assert "225" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lisbon.pub", "oslo.pub=2"), "say the file of each public key and how many units that site has"),
        (("lisbon.pub=300", "none.pub=2"), "none.pub: no such file or directory; check the name"),
        (("lisbon.pub=300", "center.tps=2"), "center.tps: this is not a key of a site"),
        (("lisbon.pub=300", "lisbon.pub=300"), "a study has two sites or more"),
        (("lisbon.pub=300", "oslo.pub=2"), "the number of trusted sites is from 1 to 1, not 2"),
    ],
)
def test_a_study_that_cannot_be_is_refused_with_a_sentence(sites, arguments, words):
    code, _, err = init(sites, keys=arguments)
    assert code == 2
    assert words in err
    assert not Path("study.json").exists()


def test_nothing_that_exists_is_overwritten(sites):
    assert init(sites)[0] == 0
    before = Path("study.json").read_bytes()
    code, _, err = init(sites, "--round", "2")
    assert (code, Path("study.json").read_bytes()) == (2, before)
    assert "study.json: exists already; check the name" in err
    code, _, err = sites("site", "key", "oslo")
    assert code == 2
    assert "oslo.pub: is there already, and no key is overwritten" in err
    code, _, err = sites("site", "key", "../oslo")
    assert code == 2
    assert "the name of a site is up to 40 letters" in err


def test_a_ledger_is_needed_and_a_region_too(sites):
    code, _, err = sites("site", "init", "study.json", "lisbon.pub=3", "oslo.pub=3", "--trusted", "1", "--epsilon", "1")
    assert code == 2
    assert "say what is publicly known of where the records lie" in err
    assert init(sites)[0] == 0
    code, _, err = sites("site", "contribute", "lisbon.tps", "--study", "study.json", "--key", "lisbon.key")
    assert code == 2
    assert "--ledger" in err


def test_a_key_that_others_may_read_is_refused(sites):
    assert init(sites)[0] == 0
    shutil.copy("lisbon.key", "copy.key")
    Path("copy.key").chmod(0o644)
    shutil.move("copy.key", "lisbon.key")
    code, _, err = contribute(sites, "lisbon")
    assert code == 2
    assert "lisbon.key: others may read this key; keep it from them (chmod 600)" in err
    assert sf.Ledger("lisbon.ledger").left == 2


def test_help_names_what_each_command_takes(sfumato):
    for name, words in {
        "init": ("--trusted", "--round", "--public", "--epsilon", "KEYS..."),
        "contribute": ("--agreed", "--study", "--key", "--ledger", "--unit-column"),
        "combine": ("--plot", "--report", "PARTS..."),
        "key": ("NAME",),
    }.items():
        code, out, _ = sfumato("site", name, "--help")
        assert code == 0
        for word in words:
            assert word in out, (name, word)
