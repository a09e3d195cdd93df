"""Leaves in space.

Botanists scan leaves in three dimensions, and ask how the mean leaf of a breed bends and rolls.
Here 20 leaves of a published trial say in which ways leaves bend, and the mean of a breeder's own 40 is released.
Data: 60 outlines of bending leaves that the authors of the package ktch made up (Apache-2.0); every tenth point is kept."""

import numpy as np
from ktch.datasets import load_outline_leaf_bending

import sfumato as sf

leaves = load_outline_leaf_bending().coords[:, ::10]
public = np.arange(60) % 3 == 0
space = sf.Shapes3D(landmarks=20)
region = sf.Ellipsoid.from_sample(space, leaves[public], relation="same")
release = sf.private_mean(leaves[~public], region, epsilon=2.0, unit="one leaf")
release.plot("shapes3d.png", links=range(20))
