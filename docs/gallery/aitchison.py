"""Proportions by their ratios.

Botanists compare the proportions of a flower, whatever its size: each measure as a share of all four, by ratios.
Thirty flowers of a herbarium are public, and the mean proportions of the 120 others are released.
Data: Fisher's irises (1936; UCI, CC BY 4.0), from the package scikit-learn."""

import numpy as np
from sklearn.datasets import load_iris

import sfumato as sf

irises = load_iris().data
public = np.arange(len(irises)) % 5 == 0
space = sf.Simplex(parts=4, metric="aitchison")
region = sf.Ellipsoid.from_sample(space, irises[public], relation="same")
release = sf.private_mean(irises[~public], region, epsilon=2.0, unit="one flower")
names = ["sepal l.", "sepal w.", "petal l.", "petal w."]
release.plot("aitchison.png", channels=names)
