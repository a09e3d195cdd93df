"""Bedtime and rising.

Times of day go round: 23:30 and 0:30 are an hour apart, and the mean of both is midnight.
The centre is what most people say, 23:00 and 7:00; the release is the mean of 300 sleepers, as two angles on the clock.
Data: made up by a seeded generator."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(8)
hours = rng.normal([24.2, 7.6], [1.0, 0.8], size=(300, 2))
clock = 2 * np.pi / 24  # radians an hour
usual = np.array([23.0, 7.0]) * clock
region = sf.Ball(sf.Torus(dim=2), center=usual, radius=4 * clock)
release = sf.private_mean(hours * clock, region, epsilon=0.5, unit="one person")
release.plot("torus.png")
