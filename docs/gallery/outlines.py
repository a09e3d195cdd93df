"""Outlines by elliptic Fourier coefficients.

Studies of leaves, seeds and wings keep the first harmonics of an outline, turned and scaled by its first ellipse.
Here eight are kept; every fifth wing is public, and the mean outline of the 100 others is released.
Data: 126 outlines of mosquito wings from the package ktch (Apache-2.0)."""

import numpy as np
from ktch.datasets import load_outline_mosquito_wings

import sfumato as sf

wings = load_outline_mosquito_wings().coords
public = np.arange(len(wings)) % 5 == 0
space = sf.Outlines(harmonics=8)
region = sf.Ellipsoid.from_sample(space, wings[public], relation="same")
release = sf.private_mean(wings[~public], region, epsilon=2.0, unit="one wing")
release.plot("outlines.png")
