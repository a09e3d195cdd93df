"""Pictures of two groups and how they differ."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import view_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..findings.groups import Comparison


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str] | None = None) -> Figure:
    """The first two groups, as the view of their space draws two releases, and what their difference says."""
    (one, first), (two, second), *_ = comparison.groups.items()
    drawn = view_of(first).draw_pair({one: first, two: second})
    drawn.text(0.01, 0.01, comparison.difference().words, fontsize=8, wrap=True)
    if path is not None:
        drawn.savefig(path, dpi=150)
    return drawn
