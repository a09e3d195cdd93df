"""What every statistic says of itself; and the two that need to say no more."""

from typing import Protocol

from ...release.terms import Named


class Statistic(Protocol):
    """A statistic by its name, the distance in which its error is stated, and what its promise rests on and nobody checked."""

    @property
    def name(self) -> str: ...

    @property
    def distance(self) -> str: ...

    @property
    def condition(self) -> str: ...


# the point with the smallest mean squared distance to the records, on the manifold
FRECHET_MEAN = Named("Fréchet mean", "geodesic distance")
# exp_c of the mean of the records' logarithms at the public centre c, in the directions of the region and clipped to it: close
# to the Fréchet mean of the records so clipped, and a record states how close
CHART_MEAN = Named("mean in a chart about the public centre", "length in the tangent space at the public centre")
