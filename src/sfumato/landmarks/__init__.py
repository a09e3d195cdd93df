"""Landmarks before and after a release: outlines, symmetry, size."""

from .outlines import crosses_itself, outline_bandwidth, smooth_outline
from .symmetry import symmetrize

__all__ = ["crosses_itself", "outline_bandwidth", "smooth_outline", "symmetrize"]
