"""Diffusion tensors of white matter.

A diffusion scan has a 3×3 tensor in each voxel: how fast water moves along a fibre and across it.
What 150 people have in common in one voxel becomes part of an atlas, and nobody's scan can be told from it.
Data: made up by a seeded generator; tensors in µm²/ms about a textbook's fibre, 1.7 along and 0.3 across."""

import numpy as np
from scipy.spatial.transform import Rotation

import sfumato as sf

rng = np.random.default_rng(2)
turns = Rotation.from_rotvec(0.25 * rng.normal(size=(150, 3))).as_matrix()
speeds = np.array([1.6, 0.4, 0.3]) * np.exp(0.15 * rng.normal(size=(150, 3)))
tensors = turns * speeds[:, None] @ turns.transpose(0, 2, 1)
space = sf.SPD(size=3, metric="log-euclidean")
region = sf.Ball(space, center=np.diag([1.7, 0.3, 0.3]), radius=1.0)
release = sf.private_mean(tensors, region, epsilon=1.0, unit="one person")
release.plot("log-euclidean.png", channels=["x", "y", "z"])
