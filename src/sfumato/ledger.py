"""The ledger, which lives in :mod:`sfumato.release.ledger`."""

from .errors import BudgetExceeded, LedgerError
from .release.ledger import Book, Entry, Ledger

__all__ = ["Book", "BudgetExceeded", "Entry", "Ledger", "LedgerError"]
