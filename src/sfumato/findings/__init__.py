"""Findings beside the mean: how far records vary, how large they are, how groups differ, in which directions they vary."""

from .groups import Comparison, compare_groups
from .scalar import SizeRelease, centroid_size, private_size, private_variance

__all__ = ["Comparison", "SizeRelease", "centroid_size", "compare_groups", "private_size", "private_variance"]
