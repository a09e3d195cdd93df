"""What leaves the curator's room, and what it costs: records, the ledger, and the session that writes both."""

from .record import FORMAT, Guarantee, Release

__all__ = ["FORMAT", "Guarantee", "Release"]
