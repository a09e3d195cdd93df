"""From public numbers to a noise scale.  No data enter here."""

from .error import exponential_error_law, kng_error_quantile, laplace_error_law
from .rounding import PrecisionError
from .scale import Calibration, RadiusError, Scale, exponential_scale, kng_scale, laplace_scale, theorem_sensitivity

__all__ = [
    "Calibration",
    "PrecisionError",
    "RadiusError",
    "Scale",
    "exponential_error_law",
    "exponential_scale",
    "kng_error_quantile",
    "kng_scale",
    "laplace_error_law",
    "laplace_scale",
    "theorem_sensitivity",
]
