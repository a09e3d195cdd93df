"""Landmarks before and after a release: missing ones, semilandmarks, outlines, symmetry."""
