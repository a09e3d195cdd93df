"""Heads with their size.

Where size matters too, landmarks are compared as they were measured: a mean is then a head in millimetres.
Every fourth trilobite is public here, and what one learns of the others is their mean form, and how large it is.
Data: 88 points of TriloMorph (Serra et al. 2023, Scientific Data 10, 841; CC BY 4.0), from the package ktch."""

import numpy as np

import sfumato as sf
from sfumato.app.demo import LINKS, heads

points = heads()
size = sf.centroid_size(points)
points = points[(size > 10) & (size < 100)]  # the study takes these, in mm
public = np.arange(len(points)) % 4 == 0
space = sf.SizeAndShape(landmarks=88, dim=2)
region = sf.Ellipsoid.from_sample(space, points[public], relation="same")
release = sf.private_mean(points[~public], region, epsilon=2.0, unit="one head")
release.plot("size-and-shape.png", links=LINKS)
