"""Statistics that are one number: what a release of one is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import terms

if TYPE_CHECKING:
    from .record import Release

VARIANCE = terms.VARIANCE.name


def scalar_of(release: Release) -> terms.Scalar | None:
    """Return what a release of one number is about; None for all others."""
    return release.scalar
