"""The arithmetic mean in the linear space that a manifold lies in: what the paper compares with."""

from dataclasses import dataclass
from typing import ClassVar

from ...errors import Refusal
from ...means.frechet import solve
from ...numerics.arrays import Array
from ...records import Records
from ...regions.ball import Ball
from ...spaces.embedding import Embedding


@dataclass(frozen=True)
class AmbientMean:
    """The mean of records in the ambient R^D; with ``project`` it is mapped back to the manifold.  One record moves it by at
    most the diameter of the ball's image over n.  ``as_run``: the paper's run takes the Fréchet mean in its place."""

    ball: Ball
    project: bool
    as_run: bool = False

    name: ClassVar[str] = "arithmetic mean in the ambient space"
    condition: ClassVar[str] = ""

    @property
    def embedding(self) -> Embedding:
        embedding = self.ball.space.embedding()
        if embedding is None:
            raise Refusal(f"AmbientLaplace is not defined on {self.ball.space}; use PointwiseLaplace for landmarks")
        return embedding

    @property
    def distance(self) -> str:
        return self.embedding.distance_words(self.project)

    @property
    def diameter(self) -> float:
        """Of the ball's image, or a bound on it; what the paper's run took in its place."""
        find = self.embedding.run_diameter if self.as_run else self.embedding.diameter
        return find(self.ball.center, self.ball.radius)

    def of(self, records: Records) -> Array:
        if self.as_run:
            return self.embedding.embed(solve(records).point)
        return records.mean(self.embedding.embed)

    def present(self, y: Array) -> Array:
        """Return vectors of R^D as points are written; on the manifold with ``project``."""
        if self.project:
            return self.embedding.project(y, self.ball.center, self.ball.radius)
        return self.embedding.unembed(y)
