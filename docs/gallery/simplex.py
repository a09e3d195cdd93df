"""A day as shares.

Watches tell how people share their day between sleep, sitting and moving, and some never move at all: shares may be zero.
The centre is the public recommendation, eight hours of sleep; the release is the mean day of 300 people.
Data: made up by a seeded generator."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(6)
days = rng.dirichlet([10, 15, 1.5], size=300)
advice = [8 / 24, 12 / 24, 4 / 24]
region = sf.Ball(sf.Simplex(parts=3), center=advice, radius=1.0)
release = sf.private_mean(days, region, epsilon=0.5, unit="one person")
release.plot("simplex.png", channels=["sleep", "sitting", "moving"])
