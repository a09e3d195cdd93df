"""Shape and size at once.

A mosquito's wing has a shape, and a size that tells how well the larva fed: one point in two spaces.
A factor of e in size counts as much as a distance of 0.5 in shape. Every fifth wing is public.
Data: 127 mosquito wings, from the package ktch (Apache-2.0); their lengths are made up by a seeded generator."""

import numpy as np
from ktch.datasets import load_landmark_mosquito_wings

import sfumato as sf

wings = load_landmark_mosquito_wings().coords
lengths = np.random.default_rng(9).normal(3.2, 0.3, size=len(wings))  # in mm
public = np.arange(len(wings)) % 5 == 0
parts = [sf.PlanarShapes(landmarks=18), sf.Euclidean(dim=1)]
space = sf.Product(*parts, weights=[1, 0.5])
points = space.join(wings, np.log(lengths))
region = sf.Ellipsoid.from_sample(space, points[public], relation="same")
release = sf.private_mean(points[~public], region, epsilon=2.0, unit="one wing")
release.plot("product.png")
