"""Wings by their landmarks.

Entomologists mark where veins meet on a wing, and ask what the mean wing of a population looks like.
Here 26 wings of an earlier study are public, and the mean of the 101 others is released, with a promise to each of them.
Data: 127 mosquito wings with 18 landmarks, from the package ktch (Apache-2.0)."""

import numpy as np
from ktch.datasets import load_landmark_mosquito_wings

import sfumato as sf

wings = load_landmark_mosquito_wings().coords
public = np.arange(len(wings)) % 5 == 0
space = sf.PlanarShapes(landmarks=18)
region = sf.Ellipsoid.from_sample(space, wings[public], relation="same")
release = sf.private_mean(wings[~public], region, epsilon=2.0, unit="one wing")
release.plot("shapes.png", links=range(12))
