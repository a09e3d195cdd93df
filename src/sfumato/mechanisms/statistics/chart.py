"""The mean of records in a chart: what charts release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class ChartMean:
    """exp_c of the mean of the records' logarithms at the public centre c, in the directions of the region and clipped to it:
    close to the Fréchet mean of the records so clipped, and a record states how close."""

    name: ClassVar[str] = "mean in a chart about the public centre"
    distance: ClassVar[str] = "length in the tangent space at the public centre"
    condition: ClassVar[str] = ""
