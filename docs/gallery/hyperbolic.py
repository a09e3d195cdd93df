"""Patients in a tree of diagnoses.

Codes of diseases form a tree, and trees fit into hyperbolic space: the root in the middle, rare diagnoses near the edge.
A patient is the place of their diagnosis; the release tells where in the tree a clinic's patients are on average.
Data: made up by a seeded generator, 500 patients in one branch of the tree."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(7)
depth = np.tanh(rng.gamma(6, 0.12, size=500))
branch = rng.normal(0.8, 0.5, size=500)
# places in the disc of Poincaré
patients = np.stack([depth * np.cos(branch), depth * np.sin(branch)], axis=1)
space = sf.Hyperbolic(dim=2)
region = sf.Ball(space, center=space.from_poincare(np.zeros(2)), radius=2.5)
release = sf.private_mean(patients, region, epsilon=0.5, unit="one patient")
release.plot("hyperbolic.png")
