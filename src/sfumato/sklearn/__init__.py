"""Estimators for scikit-learn."""

from .estimators import PrivateFrechetMean, PrivateMDM, PrivateTangentSpace

__all__ = ["PrivateFrechetMean", "PrivateMDM", "PrivateTangentSpace"]
