"""Mechanisms, one file each, and the choice among them."""

from .ambient import AmbientLaplace
from .base import Mechanism
from .choice import INTRINSIC, MECHANISMS, Forecast, choose, forecast, mechanism_from, plan, private_mean
from .exponential import Exponential
from .kng import KNG, Objective
from .laplace import ManifoldLaplace
from .pointwise import PointwiseLaplace

__all__ = [
    "INTRINSIC",
    "KNG",
    "MECHANISMS",
    "AmbientLaplace",
    "Exponential",
    "Forecast",
    "ManifoldLaplace",
    "Mechanism",
    "Objective",
    "PointwiseLaplace",
    "choose",
    "forecast",
    "mechanism_from",
    "plan",
    "private_mean",
]
