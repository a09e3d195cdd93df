"""What releases give from a generator that is handed in is what they gave when ``golden.json`` was written."""

import json
import math

import numpy as np
import pytest

import sfumato as sf
from golden.cases import GOLDEN, by_mechanism, commands, compound
from sfumato.laws.sampling import replaying

EXPECTED = json.loads(GOLDEN.read_text(encoding="utf-8"))


def same(found, expected):
    """Whether numbers agree to 1e-12, and all else is equal."""
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(same(found[k], expected[k]) for k in found)
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-300)
    return bool(found == expected)


@pytest.mark.parametrize("cases", [by_mechanism, compound, commands])
def test_releases_are_what_they_were(cases):
    found = dict(cases())
    assert found
    assert [name for name, facts in found.items() if not same(facts, EXPECTED.get(name))] == []


def test_a_release_from_a_generator_that_is_handed_in_is_not_private(capsys):
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    with replaying(np.random.default_rng(1)):
        release = sf.private_mean([[0.1]] * 500, ball, 1.0)
    assert not release.guarantee.private
    assert "handed in" in release.generator
    assert "none, as this value was made for study" in release.describe() or "Not private" in release.describe()
    assert sf.private_mean([[0.1]] * 500, ball, 1.0).guarantee.private


def test_the_comparison_sees_a_difference():
    one = {"lattice": [1, 2], "sigma": 0.5, "mechanism": "kng"}
    assert same(one, json.loads(json.dumps(one)))
    for other in ({"lattice": [1, 3]}, {"sigma": 0.5 + 1e-11}, {"mechanism": "laplace"}, {"more": 1}):
        assert not same(one, {**one, **other})
