"""What is publicly known about where the records lie."""

from .ball import Ball, check_invalid
from .ellipsoid import Ellipsoid, as_chart
from .look import Look

__all__ = ["Ball", "Ellipsoid", "Look", "as_chart", "check_invalid"]
