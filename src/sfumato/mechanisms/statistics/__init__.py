"""What is released: each statistic with its name, what it is computed from, and how far one record can move it."""

from .ambient import AmbientMean
from .base import FRECHET_MEAN, Statistic
from .chart import ChartMean
from .landmarks import LandmarkMean
from .objective import Objective

__all__ = ["FRECHET_MEAN", "AmbientMean", "ChartMean", "LandmarkMean", "Objective", "Statistic"]
