"""What every statistic says of itself."""

from __future__ import annotations

from typing import Protocol


class Statistic(Protocol):
    """A statistic by its name, the distance in which its error is stated, and what its promise rests on and nobody checked."""

    @property
    def name(self) -> str: ...

    @property
    def distance(self) -> str: ...

    @property
    def condition(self) -> str: ...


class _FrechetMean:
    """The point with the smallest mean squared distance to the records; on the manifold."""

    name = "Fréchet mean"
    distance = "geodesic distance"
    condition = ""


FRECHET_MEAN = _FrechetMean()
