"""Mechanisms, one file each, and the choice among them."""

from .ambient import AmbientLaplace as AmbientLaplace
from .base import Mechanism as Mechanism
from .choice import MECHANISMS as MECHANISMS
from .choice import Forecast as Forecast
from .choice import choose as choose
from .choice import forecast as forecast
from .choice import plans as plans
from .choice import private_mean as private_mean
from .exponential import Exponential as Exponential
from .kng import KNG as KNG
from .laplace import ManifoldLaplace as ManifoldLaplace
from .pointwise import PointwiseLaplace as PointwiseLaplace
from .staircase import ManifoldStaircase as ManifoldStaircase
from .tangent import TangentKNorm as TangentKNorm
