"""Outlines without landmarks.

A leaf, a cell or a wing without landmarks is an outline; two are compared by how one bends and stretches into the other.
Every fifth outline is public here, and the mean outline of the 100 others is released.
Data: 126 outlines of mosquito wings, 100 points each, from the package ktch (Apache-2.0).
"""

import numpy as np
from ktch.datasets import load_outline_mosquito_wings

import sfumato as sf

outlines = load_outline_mosquito_wings().coords
is_public = np.arange(len(outlines)) % 5 == 0
space = sf.ElasticCurves(points=100, closed=True)
region = sf.Ellipsoid.from_sample(space, outlines[is_public], relation="same")
release = sf.private_mean(outlines[~is_public], region, epsilon=2.0)
release.plot("elastic-curves.png")
