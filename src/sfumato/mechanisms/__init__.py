"""Mechanisms, one file each, and the choice among them."""

from .ambient import AmbientLaplace
from .base import Mechanism
from .choice import MECHANISMS, Forecast, choose, forecast, plans, private_mean
from .exponential import Exponential
from .kng import KNG
from .laplace import ManifoldLaplace
from .plan import Plan, Problem
from .pointwise import PointwiseLaplace
from .staircase import ManifoldStaircase
from .tangent import TangentKNorm

__all__ = [
    "KNG",
    "MECHANISMS",
    "AmbientLaplace",
    "Exponential",
    "Forecast",
    "ManifoldLaplace",
    "ManifoldStaircase",
    "Mechanism",
    "Plan",
    "PointwiseLaplace",
    "Problem",
    "TangentKNorm",
    "choose",
    "forecast",
    "plans",
    "private_mean",
]
