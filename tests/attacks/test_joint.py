"""Releases in parts, audited as one output: ours are cleared, those that are wrong on purpose are convicted."""

from dataclasses import replace

import pytest

from attacks.joint import joint
from sfumato.audit import audit

DRAWS = {
    "radius": 3000,
    "region, then mean": 1000,
    "mean with spread": 1500,
    "both groups": 3000,
    "components": 12_000,
    "components, by two Wishart matrices": 12_000,
    "means of classes, units with both": 4000,
}


@pytest.mark.parametrize("case", joint(), ids=lambda case: case.name)
def test_all_parts_together_keep_the_promise_and_a_mistake_in_one_is_found(case):
    for wrong in (False, True):
        one = replace(case, wrong=wrong)
        verdict = audit(one, case.epsilon, case.pair, region=one.region, draws=DRAWS.get(case.name, 1200))
        assert verdict.convicted == wrong, verdict
