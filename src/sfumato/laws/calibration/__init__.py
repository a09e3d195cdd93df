"""From public numbers to a noise scale.  No data enter here."""

from .rounding import PrecisionError
from .scale import Calibration, RadiusError, Scale, kng_scale

__all__ = ["Calibration", "PrecisionError", "RadiusError", "Scale", "kng_scale"]
