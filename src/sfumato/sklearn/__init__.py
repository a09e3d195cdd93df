"""Estimators for scikit-learn."""

from .classifier import PrivateMDM
from .estimators import PrivateFrechetMean, PrivateTangentSpace

__all__ = ["PrivateFrechetMean", "PrivateMDM", "PrivateTangentSpace"]
