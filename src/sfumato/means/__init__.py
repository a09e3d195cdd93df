"""Fréchet means, which are not private."""

from .frechet import ConvergenceWarning, FrechetMean, frechet_mean

__all__ = ["ConvergenceWarning", "FrechetMean", "frechet_mean"]
