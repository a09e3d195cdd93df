"""What is publicly known about where the records lie."""

from .ball import Ball, check_ball, widest_ball
from .base import Region, Settled, check_invalid, check_region, check_settled
from .ellipsoid import Ellipsoid
from .look import Look
from .sketch import ModelSketch, SampleSketch

__all__ = [
    "Ball",
    "Ellipsoid",
    "Look",
    "ModelSketch",
    "Region",
    "SampleSketch",
    "Settled",
    "check_ball",
    "check_invalid",
    "check_region",
    "check_settled",
    "widest_ball",
]
