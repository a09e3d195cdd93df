"""A release, shown: its picture, its words, and both as a notebook shows them."""

from .plots import html
from .plots import plot_release as plot
from .words import describe

__all__ = ["describe", "html", "plot"]
