"""One release from beginning to end: plan, charge durably, draw, write the record, complete the ledger's entry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from ..errors import BudgetExceeded, UnsavedError
from ..laws.privacy import Facts, Privacy, PureDP, as_privacy
from ..mechanisms import private_mean
from ..mechanisms.paying import note_release
from ..regions import Region
from ..release import Release
from ..release.document import Document
from ..release.interruption import Interruption
from ..release.ledger import Entry, Ledger

T = TypeVar("T", bound=Document)


@dataclass
class Session:
    """Where a release is written, and the budget that pays for it; Ctrl-C waits while either is at work.

    As the budget of a release it has no ``complete``: what a charge paid for is noted in the ledger once its file is written,
    not before.

    >>> import tempfile
    >>> import numpy as np
    >>> from sfumato import Ball, Euclidean, Ledger, Release
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     budget = Ledger.create(f"{folder}/study.ledger", epsilon=1)
    ...     session = Session(Path(folder) / "mean.json", budget)
    ...     release = session.release(np.zeros((50, 2)), Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0), epsilon=0.4)
    ...     Release.load(session.out).sha256 == release.sha256, budget.left, budget.verify().entries[-1].kind
    (True, Decimal('0.6'), 'release')
    """

    out: Path
    ledger: Ledger | None = None
    overwrite: bool = False
    ctrl_c: Interruption = field(default_factory=Interruption)
    entry: Entry | None = field(default=None, init=False)  # the charge of the release that is being made

    def afford(self, privacy: float | Privacy) -> None:
        """Raise a BudgetExceeded, before any record is read, if a budget of ε cannot pay.  Others are asked before the draw."""
        epsilon = as_privacy(privacy).pure
        if self.ledger is None or isinstance(self.ledger.budget, Privacy):
            return
        if Decimal(repr(epsilon)) > self.ledger.left:
            raise BudgetExceeded(f"epsilon {epsilon:g} was asked, but only {self.ledger.describe()}")

    def charge(self, facts: Facts, record: Mapping[str, Any], /) -> None:
        """Charge the ledger, if there is one, as :func:`sfumato.private_mean` asks of a budget."""
        if self.ledger is None:
            return
        with self.ctrl_c.held_back():
            self.entry = self.ledger.charge(facts, record)
            asked = f"epsilon {facts.epsilon:g}" if isinstance(facts.asked, PureDP) else str(facts.asked)
            self.ctrl_c.words = (
                f"nothing was released, but {asked} is charged to {self.ledger.path.name} (line "
                f"{self.entry.sequence}) and stays charged, since the records were already in use"
            )
        self.ctrl_c.check()

    def release(
        self,
        points: Any,
        region: Region | None,
        epsilon: float | None = None,
        mechanism: str = "auto",
        *,
        degrees: tuple[str, str] | None = None,
        **options: Any,
    ) -> Release:
        """Release the Fréchet mean as :func:`sfumato.private_mean` does; pay for it, write it and note it in the ledger.

        ``options`` are those of ``private_mean``; with a ``prior`` among them the region is None.  A file that cannot be
        written raises an UnsavedError with the release in it: it may be paid for, and must not be lost.
        """

        def make(*given: Any, **how: Any) -> Release:
            release = private_mean(*given, **how)
            return release if degrees is None else release.in_degrees(degrees)

        return self.run(make, points, region, epsilon=epsilon, mechanism=mechanism, **options)

    def run(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Release what a function such as :func:`sfumato.compare_groups` gives for these arguments and options, epsilon or
        privacy among them; pay for it, write it to one file and note it in the ledger."""
        promise = as_privacy(options.pop("epsilon", None), options.pop("privacy", None))
        self.entry = None
        self.afford(promise)
        made = function(*arguments, privacy=promise, budget=self, **options)
        with self.ctrl_c.held_back():
            try:
                made.save(self.out, overwrite=self.overwrite)
            except OSError as error:
                raise UnsavedError(f"{self.out} could not be written ({error.strerror})", made) from None
            self.ctrl_c.words = f"the release is made and is in {self.out}: do not release again. All else is missing"
            if self.entry is not None:
                note_release(self.ledger, self.entry, made)
        self.ctrl_c.check()
        return made
