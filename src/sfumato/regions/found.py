"""A ball that was found privately, and what finding it cost."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property

from numpy.typing import ArrayLike

from ..spaces.base import Space
from .ball import Ball


@dataclass(frozen=True, eq=False)
class FoundBall(Ball):
    """A ball whose centre and radius, or radius alone, were released: a region like any other, that remembers its price.

    ``epsilon`` was spent to find it, and adds to the ε of every release that uses it; ``source`` says how it was found, in
    words, and is written into the records of releases by chart.

    >>> from sfumato import Euclidean
    >>> FoundBall(Euclidean(dim=1), [0.0], 2.0, epsilon=0.3, source="found privately")
    FoundBall(space=Euclidean(dim=1), radius=2.0, epsilon=0.3)
    """

    epsilon: float
    source: str = field(repr=False)

    def __init__(self, space: Space, center: ArrayLike, radius: float, epsilon: float, source: str) -> None:
        super().__init__(space, center, radius)
        object.__setattr__(self, "epsilon", float(epsilon))
        object.__setattr__(self, "source", source)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return *super()._key, self.epsilon, self.source

    @property
    def found(self) -> str:
        return self.source

    @property
    def called(self) -> str:
        return "ball that was found privately"

    @property
    def sha256(self) -> str:
        """The SHA-256 of all that was released, which stands beside its charge in a ledger."""
        center = self.space.present(self.center).tolist()
        document = [repr(self.space), center, self.radius, self.epsilon, self.source]
        return hashlib.sha256(json.dumps(document, ensure_ascii=False).encode()).hexdigest()
