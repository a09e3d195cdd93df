"""Compiled loops, each with a NumPy path beside it, and arithmetic with many digits."""
