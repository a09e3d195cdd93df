"""Fibres, which have no front.

A nerve bundle, a grain of wood or a bedding plane has an axis, and its two ends are the same.
The centre is the axis of an atlas, and the release is the mean axis of 200 people.
Data: made up by a seeded generator; axes scatter by 0.2 rad, and every second is written by its other end."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(5)
fibres = np.array([0.3, 0.2, 0.93]) + 0.2 * rng.normal(size=(200, 3))
fibres[::2] *= -1
fibres /= np.linalg.norm(fibres, axis=1, keepdims=True)
region = sf.Ball(sf.Axes(dim=2), center=[0.0, 0.0, 1.0], radius=0.7)
release = sf.private_mean(fibres, region, epsilon=1.0, unit="one person")
release.plot("axes.png")
