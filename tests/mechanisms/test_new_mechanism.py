"""A mechanism is one file and one line: here the file, registered as the line does it, and released with."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.laws.calibration.rounding import SELECTION, UNIT, crossing, mean_error
from sfumato.laws.calibration.scale import Scale
from sfumato.laws.sampling import add_exactly
from sfumato.mechanisms import MECHANISMS, Mechanism
from sfumato.mechanisms.plan import Drawn, Losses

LINE = sf.Euclidean(dim=1)


@dataclass(frozen=True)
class LineLaplace(Mechanism):
    """Laplace noise on the line: σ = 2r/(n·ε), as replacing one record moves the mean by at most 2r/n."""

    name: ClassVar[str] = "line-laplace"
    paper: ClassVar[str] = "C. Dwork, F. McSherry, K. Nissim and A. Smith (2006). Calibrating noise to sensitivity."
    sampler: ClassVar[str] = "exact: Laplace noise"
    auto: ClassVar[bool] = True

    def noise(self, n, epsilon):
        if self.space.dim > 1:
            raise sf.Refusal(f"LineLaplace is for numbers, not for {self.space}")
        return Scale(2 * self.ball.radius / (n * epsilon), "2r/(n·ε)", {})

    def error_quantile(self, p):
        return -self.scale.sigma * float(np.log1p(-p))

    def release_error(self, p):
        return self.error_quantile(p) + self.spacing / 2

    @property
    def losses(self):
        epsilon = 4 * mean_error(self.n) * self.ball.radius / self.scale.sigma
        chance = crossing(1, self.spacing, 80 * UNIT * self.scale.sigma) + SELECTION
        return Losses(self.both(chance, epsilon), epsilon)

    def draw(self, records, rng):
        value = add_exactly(records.mean(self.space.present), rng.laplace(scale=self.scale.sigma, size=1), self.spacing)
        return Drawn(value, value)

    def draws(self, records, size, rng):
        return records.mean(self.space.present) + rng.laplace(scale=self.scale.sigma, size=(size, 1))


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(MECHANISMS, LineLaplace.name, LineLaplace)


def test_it_is_released_with_by_name_and_by_class(registered, rng):
    ball, points = sf.Ball(LINE, [0.3], 1.75), rng.uniform(-1, 1, (500, 1))
    release = sf.private_mean(points, ball, 1.0, LineLaplace.name)
    assert release.mechanism.name == "line-laplace"
    assert release.calibration.formula == "2r/(n·ε)"
    assert abs(release.value[0] - points.mean()) <= 5 * release.error(0.99)
    assert sf.Release.from_json(release.to_json()).sha256 == release.sha256
    assert LineLaplace(ball, 1.0).release(points).mechanism.name == "line-laplace"
    with pytest.raises(ValueError, match=r"unknown mechanism 'line'; known: auto, kng.*line-laplace"):
        sf.private_mean(points, ball, 1.0, "line")


def test_auto_compares_it_with_the_others(registered):
    rows = {row.mechanism: row for row in sf.plan(sf.Ball(LINE, [0.2], 1.25), n=500, epsilon=1.0)}
    assert rows["line-laplace"].error_95 == pytest.approx(rows["laplace"].error_95, rel=1e-3)
    away = {row.mechanism: row for row in sf.plan(sf.Euclidean(dim=2), radius=1.25, n=500, epsilon=1.0)}
    assert "is for numbers" in away["line-laplace"].refusal


def test_its_draws_have_the_stated_law(rng):
    mechanism = LineLaplace(sf.Ball(LINE, [0.0], 1.0), 1.0)
    off = np.abs(mechanism.sample(np.zeros((50, 1)), 20_000, rng)[:, 0])
    assert np.mean(off <= mechanism.at(50).error_quantile(0.9)) == pytest.approx(0.9, abs=0.01)
    assert np.mean(off <= 0.8 * mechanism.at(50).error_quantile(0.9)) < 0.88


def test_nothing_else_knows_it(rng):
    with pytest.raises(ValueError, match="unknown mechanism"):
        sf.private_mean(rng.uniform(-1, 1, (50, 1)), sf.Ball(LINE, [0.0], 1.0), 1.0, LineLaplace.name)
