"""Which muscles work together.

Two patterns of activity explain most of a step: a plane among four muscles, found for each person by principal components.
The plane of a textbook is the centre, and the mean plane of 300 patients is released.
Data: made up by a seeded generator, 500 instants of four muscles for each person."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(10)
textbook = np.array([[1, 0], [1, 0], [0, 1], [0, 1]]) / np.sqrt(2)
drift = np.array([[0.2, 0], [0, 0.3], [0, 0], [0.2, 0]])
patterns = textbook + drift + 0.2 * rng.normal(size=(300, 4, 2))
activity = rng.normal(size=(300, 500, 2)) @ patterns.transpose(0, 2, 1)
planes = np.linalg.svd(activity, full_matrices=False)[2][:, :2]
region = sf.Ball(sf.Grassmann(n=4, p=2), center=textbook, radius=1.0)
release = sf.private_mean(planes, region, epsilon=1.0, unit="one person")
release.plot("grassmann.png")
