"""Means whose noise several sites draw in parts, of which no one sees more than the sum (Result 13)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..laws.calibration.chart import ChartError, chart_error
from ..laws.calibration.whole import WholeError
from ..laws.sampling.divided import GRID, Divided
from ..numerics.arrays import Array
from ..release.terms import SITES
from .base import RESERVE
from .inference import Spread
from .plan import Losses
from .tangent import TangentKNorm

LEAST_SCALE = 1 / 64  # of the noise of a sum: that of the largest ε; a dither may be half as wide at others


class Total(NamedTuple):
    """What the parts of all sites add up to, noise and all, in the place of the n records that it was summed over."""

    n: int
    numbers: Sequence[Fraction]


class PartedSpread(Spread):
    """The mean of ‖wᵢ‖² of the records of all sites, whose Laplace noise comes in parts too."""

    def second_moment(self, chart: Any, records: Any, rng: np.random.Generator) -> float:
        return float(records.numbers[-1] / records.n)


@dataclass(frozen=True)
class Parted(TangentKNorm):
    """The mechanism of :class:`TangentKNorm` with noise that ``sites`` draw in parts: any ``trusted`` of them have all of it.

    One record moves the sum of all records by at most 2, however many there are, so that parts are drawn for a scale of 2/ε.
    If the trusted sites draw theirs, all that is added beside is post-processing: the promise is that of one curator's noise.
    """

    sites: int = field(default=2, kw_only=True)
    trusted: int = field(default=1, kw_only=True)
    spread: Spread | None = field(default=None, kw_only=True)

    name: ClassVar[str] = SITES
    sampler: ClassVar[str] = "exact: Gamma variables and normal vectors, in parts by sites that mask them"

    @property
    def options(self) -> dict[str, Any]:
        """Of how many sites one noise of a curator is, and how many all parts are."""
        return {"trusted": self.trusted, "noises": self.sites / self.trusted}

    def divided(self, scale: float | None = None) -> list[Divided]:
        """Return the noise of the sum of coordinates, and of that of squared lengths where it is asked for."""
        scale = self.noise(1, self.ideal).sigma if scale is None else scale
        beside = [] if self.spread is None else [(1, float(self.spread.width) * (1 + RESERVE))]
        return [Divided(*one, self.trusted, self.sites) for one in [(self.directions, scale), *beside]]

    @cached_property
    def allowed(self) -> float:
        return self.privacy.noise(self.directions, sum(2 * one.chance for one in self.divided(LEAST_SCALE))).epsilon

    @cached_property
    def losses(self) -> Losses:
        """δ: by the total variation of what the trusted sites draw, with its dither and rounding."""
        self.chart.point(np.zeros(self.directions))
        return Losses(self.both(sum(one.chance for one in self.divided()), 0.0))

    @cached_property
    def error_law(self) -> ChartError:
        return chart_error(self.chart.axes, self.scale.sigma, noises=self.options["noises"])

    def release_error(self, p: float) -> float:
        """Return the length of the noise, of dithers (Hsu, Kakade and Zhang 2012; a thousandth of 1 − p), and half a cell."""
        axes = self.chart.axes
        deviation = self.divided()[0].dither / 2**GRID / self.n * math.sqrt(self.sites / 12)
        dithers = deviation * (np.linalg.norm(axes) + math.sqrt(2 * math.log(1000 / (1 - p))) * axes.max())
        return self.error_quantile(1 - 0.999 * (1 - p)) + float(dithers + self.spacing / 2 * np.linalg.norm(axes))

    def _whole(self, w: Array | None = None) -> WholeError | None:
        epsilon = self.allowed / math.sqrt(self.options["noises"])
        return (self.known or self.region).whole_after(self.chart, self.n, epsilon, w)

    @property
    def stein_scale(self) -> float:
        left = max(1.0, self.options["noises"] * (self.directions + 1) - 2) / max(1, self.directions - 1)
        return self.scale.sigma * math.sqrt(left)

    def mean(self, records: Any) -> list[Fraction]:
        """Return the mean with its noise, exactly, of what was added up."""
        return [number / records.n for number in records.numbers[: self.directions]]

    def sampled_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Return none, as the mean has its noise."""
        return np.zeros((size, self.directions))
