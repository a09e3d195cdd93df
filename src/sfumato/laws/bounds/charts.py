"""Spaces for which only the bias of charts is proven: how near a chart's mean is to the Fréchet mean."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import Refusal
from ...spaces.base import Space
from .base import Bounds


class ChartBounds(Bounds):
    """A symmetric space with curvature between 0 and κ: enough for the bias of a chart (proofs, Result 5) alone.

    >>> from sfumato import Torus
    >>> ChartBounds(Torus(dim=2), kappa=0.0, injectivity_radius=3.0).mean_radius_limit
    1.5
    """

    def __init__(self, space: Space, kappa: float, injectivity_radius: float) -> None:
        super().__init__(space)
        self.curvature = (0.0, kappa)
        self.injectivity_radius = float(injectivity_radius)

    @property
    def mean_radius_limit(self) -> float:
        return 0.5 * min(self.injectivity_radius, 2 * self.convexity_radius)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise Refusal(f"nothing is proven of this mechanism on {self.space}; use the tangent mechanism")

    log_volume_density = log_radial_bounds = hessian_bounds = mean_hessian_bounds = _refuse
    log_spread = divergence_bound = local_divergence_bound = mean_sensitivity = _refuse
