"""The loop of a heart beat.

A vectorcardiogram draws each beat as a loop in space: one vector points along it, the other to its side.
Both together tell a sick heart from a healthy one; a textbook's loop is the centre, and the mean of 300 children is released.
Data: made up by a seeded generator, in the manner of Downs (1972, Biometrika 59, 665)."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(11)
textbook = np.array([[0.6, 0.0], [0.8, 0.0], [0.0, 1.0]])
drift = np.array([[0.2, 0.0], [0.0, 0.3], [0.2, 0.0]])
loops = textbook + drift + 0.2 * rng.normal(size=(300, 3, 2))
left, _, right = np.linalg.svd(loops, full_matrices=False)
region = sf.Ball(sf.Stiefel(n=3, p=2), center=textbook, radius=0.8)
release = sf.private_mean(left @ right, region, epsilon=1.0, unit="one child")
release.plot("stiefel.png")
