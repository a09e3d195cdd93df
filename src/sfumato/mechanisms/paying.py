"""One payment for every release: the charge is written down for good, then comes the draw, then the release is noted."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from ..laws.privacy import Facts
from ..laws.sampling import secure_generator
from ..records import one_thread


class Budget(Protocol):
    """What a release asks of a ledger."""

    def charge(self, facts: Facts, record: Mapping[str, Any], /) -> object:
        """Write the charge down for good, or raise: before the data are used for a draw.

        A budget that also has ``complete(entry, sha256)``, as a :class:`~sfumato.Ledger` does, is then told which release
        the charge paid for: with what ``charge`` gave back, and the release's own SHA-256.
        """


class Hashed(Protocol):
    """A release, or several together, by their SHA-256."""

    @property
    def sha256(self) -> str: ...


T = TypeVar("T", bound=Hashed)


@dataclass(frozen=True)
class Payment:
    """A charge, and the generator of what it pays for."""

    budget: Budget | None
    entry: object
    rng: np.random.Generator

    def note(self, release: T) -> T:
        """Return the release, noted beside its charge."""
        note_release(self.budget, self.entry, release)
        return release


def note_release(budget: Budget | None, entry: object, release: Hashed) -> None:
    """Tell a ledger which release its charge paid for; if that cannot be written, charge and release stand all the same."""
    if budget is None or not hasattr(budget, "complete"):
        return
    try:
        budget.complete(entry, release.sha256)
    except (RuntimeError, ValueError, OSError) as error:
        words = "the release is made and charged, but could not be noted beside its charge: %s"
        logging.getLogger("sfumato").warning(words, error)


@contextmanager
def paying(budget: Budget | None, facts: Facts, public: Mapping[str, Any]) -> Iterator[Payment]:
    """Charge what is proven of a release, with what is public of it, if there is a budget; then draw within, on one thread.

    >>> from ..laws.privacy import PureDP
    >>> with paying(None, Facts.of(PureDP(1.0), [[PureDP(1.0).noise(0)]]), {}) as payment:
    ...     0 <= payment.rng.random() < 1
    True
    """
    if budget is not None and not hasattr(budget, "charge"):
        raise TypeError(f"budget must be a ledger, as sfumato.Ledger('study.ledger'), not {budget!r}")
    entry = None if budget is None else budget.charge(facts, public)
    with one_thread():
        yield Payment(budget, entry, secure_generator())
