"""Kinds of privacy as values: what is promised, how promises add up, and in which words."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real

from ..errors import Fix, Refusal

LARGE_EPSILON = 10.0  # above it a release warns
LARGEST_EPSILON = 100.0  # above it a release is refused


@dataclass(frozen=True, order=True)
class PureDP:
    """ε-differential privacy: replacing one unit changes the probability of any outcome by a factor of at most e^ε.

    The smaller ``epsilon``, the more private; 1 is common.

    >>> PureDP(0.5) + PureDP(0.25), PureDP(0.5) <= PureDP(1.0)
    (PureDP(epsilon=0.75), True)
    >>> PureDP(0.5).words
    '0.5-differentially private'
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, Real) and 1e-100 < float(self.epsilon) < 1e100):
            raise ValueError(f"epsilon must be a positive number, between 1e-100 and 1e100, not {self.epsilon!r}")
        object.__setattr__(self, "epsilon", float(self.epsilon))

    def __add__(self, other: PureDP) -> PureDP:
        """Return what two releases about the same people promise together."""
        return PureDP(self.epsilon + other.epsilon)

    @property
    def words(self) -> str:
        """The promise in words."""
        return f"{self.epsilon:g}-differentially private"

    def check(self, force: bool = False) -> PureDP:
        """Return the promise; warn of an ε that promises little, and refuse one that promises nothing unless ``force``."""
        if self.epsilon > LARGEST_EPSILON and not force:
            raise Refusal(
                f"an epsilon of {self.epsilon:g} promises nothing: choose one of 10 or less (1 is common), or give ",
                Fix("force", True),
                " to release all the same. Nothing was spent",
            )
        if self.epsilon > LARGE_EPSILON:
            warnings.warn(
                f"an epsilon of {self.epsilon:g} promises little: one record may change the odds of what is released by a "
                f"factor of e to the power of {self.epsilon:g}. 1 is common; above 10 hardly anyone would call it privacy",
                stacklevel=4,
            )
        return self
