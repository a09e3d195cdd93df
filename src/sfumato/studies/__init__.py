"""Experiments: what the paper ran."""
