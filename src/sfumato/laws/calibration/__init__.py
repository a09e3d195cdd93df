"""From public numbers to a noise scale.  No data enter here."""

from .scale import Calibration, Scale, kng_scale

__all__ = ["Calibration", "Scale", "kng_scale"]
