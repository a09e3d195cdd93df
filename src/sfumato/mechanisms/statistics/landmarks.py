"""The arithmetic mean of landmark configurations: what the paper compares with on shapes."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...means.frechet import solve
from ...numerics.arrays import Array, Points
from ...records import Records
from ...regions.ball import Ball


@dataclass(frozen=True, eq=False)
class LandmarkMean:
    """The mean of records of size one, with ``align`` turned towards the public centre, each coordinate held to within its
    half-width of the centre's (of zero without alignment).  One record moves a coordinate by at most 2·half-width/n."""

    ball: Ball
    align: bool
    half_widths: Array = field(repr=False)

    name: ClassVar[str] = "arithmetic mean of landmark configurations of size one"
    distance: ClassVar[str] = "Euclidean distance between configurations"
    condition: ClassVar[str] = ""

    def of(self, records: Records) -> Array:
        return records.mean(self._held)

    def _held(self, points: Points) -> Array:
        space = self.ball.space
        aligned = space.present(space.align(self.ball.center, points) if self.align else points)
        middle = space.present(self.ball.center) if self.align else np.zeros(self.half_widths.shape)
        return np.clip(aligned, middle - self.half_widths, middle + self.half_widths)

    def as_run(self, records: Records) -> tuple[Array, Array]:
        """Return what the paper's run took: the Fréchet mean, and half-widths that come from the data.  Not private."""
        space = self.ball.space
        points = records.points
        mean = space.align(self.ball.center, solve(records).point)
        aligned = space.present(space.align(mean, points) if self.align else points)
        value = space.present(mean)
        return value, np.abs(aligned - value).max(axis=0)
