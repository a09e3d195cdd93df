"""A release, shown: its picture, its words, and both as a notebook shows them."""

from .plots import html, plot
from .words import describe

__all__ = ["describe", "html", "plot"]
