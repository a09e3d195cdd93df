"""Findings beside the mean: how far records vary, how large they are, how groups differ, in which directions they vary."""

from .components import Components, private_components
from .groups import Comparison, compare_groups
from .scalar import SizeRelease, centroid_size, private_size, private_variance

__all__ = [
    "Comparison",
    "Components",
    "SizeRelease",
    "centroid_size",
    "compare_groups",
    "private_components",
    "private_size",
    "private_variance",
]
