"""Experiments: what the paper ran, and what our samplers cost."""
