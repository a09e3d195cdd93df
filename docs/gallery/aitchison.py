"""Proportions by their ratios.

Botanists compare the proportions of a flower, whatever its size: each measure as a share of all four, by ratios.
Thirty flowers of a herbarium are public, and the mean proportions of the 120 others are released.
Data: Fisher's irises (1936; UCI, CC BY 4.0), from the package scikit-learn.
"""

import numpy as np
from sklearn.datasets import load_iris

import sfumato as sf

flowers = load_iris().data
is_public = np.arange(len(flowers)) % 5 == 0
space = sf.Simplex(parts=4, metric="aitchison")
region = sf.Ellipsoid.from_sample(space, flowers[is_public], relation="same")
release = sf.private_mean(flowers[~is_public], region, epsilon=2.0)
names = ["sepal length", "sepal width", "petal length", "petal width"]
release.plot("aitchison.png", channels=names)
