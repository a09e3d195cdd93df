"""What is released: each statistic with its name, what it is computed from, and how far one record can move it."""

from .ambient import AmbientMean
from .base import CHART_MEAN, FRECHET_MEAN, Statistic
from .landmarks import LandmarkMean
from .objective import Objective

__all__ = ["CHART_MEAN", "FRECHET_MEAN", "AmbientMean", "LandmarkMean", "Objective", "Statistic"]
