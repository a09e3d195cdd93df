"""Outlines without landmarks.

A leaf, a cell or a wing without landmarks is an outline; two are compared by how one bends and stretches into the other.
Every fifth outline is public here, and the mean outline of the 100 others is released.
Data: 126 outlines of mosquito wings, 100 points each, from the package ktch (Apache-2.0)."""

import numpy as np
from ktch.datasets import load_outline_mosquito_wings

import sfumato as sf

wings = load_outline_mosquito_wings().coords
public = np.arange(len(wings)) % 5 == 0
space = sf.ElasticCurves(points=100, closed=True)
region = sf.Ellipsoid.from_sample(space, wings[public], relation="same")
release = sf.private_mean(wings[~public], region, epsilon=2.0, unit="one wing")
release.plot("elastic-curves.png")
