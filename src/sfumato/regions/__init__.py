"""What is publicly known about where the records lie."""

from .ball import Ball, check_invalid, widest_ball
from .ellipsoid import Ellipsoid, as_chart
from .look import Look
from .sketch import ModelSketch, SampleSketch, Sketch

Region = Ball | Ellipsoid | ModelSketch | SampleSketch

__all__ = [
    "Ball",
    "Ellipsoid",
    "Look",
    "ModelSketch",
    "Region",
    "SampleSketch",
    "Sketch",
    "as_chart",
    "check_invalid",
    "widest_ball",
]
