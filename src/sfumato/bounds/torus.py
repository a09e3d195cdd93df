"""The flat torus, of which one thing is proven: what a chart estimates."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Refusal
from ..spaces.base import Array, Space
from .constant import NoCurvature


class FlatTorus(NoCurvature):
    """Within π/2 of a point the torus is a ball of R^d, so the mean in a chart there is the Fréchet mean (Afsari 2011).

    Farther out spheres are no longer whole.  The other mechanisms, which need their areas, would gain nothing: a chart about
    the centre is the Laplace mechanism of R^d, wound up.

    >>> from sfumato import Torus
    >>> round(FlatTorus(Torus(dim=2)).mean_radius_limit, 6)
    1.570796
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.injectivity_radius = float(np.pi)

    @property
    def mean_radius_limit(self) -> float:
        return float(np.pi) / 2

    def _refuse(self) -> NoReturn:
        raise Refusal(
            f"nothing is proven of this mechanism on {self.space}; use the tangent mechanism, which is the Laplace here"
        )

    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        self._refuse()

    def log_spread(self, r: float, R: float) -> float:
        self._refuse()

    def mean_sensitivity(self, r: float) -> float:
        self._refuse()
