"""How much cells vary in a biopsy.

In one biopsy nuclei differ in size, grey and smoothness, and pathologists ask how much: a variance each, compared by ratios.
The centre is what an earlier study found, rounded; 569 women are promised that nobody can tell whether they were in.
Data: Breast Cancer Wisconsin (Wolberg et al. 1995; UCI, CC BY 4.0), squared standard errors, from the package scikit-learn."""

from sklearn.datasets import load_breast_cancer

import sfumato as sf

table = load_breast_cancer(as_frame=True).data
names = ["radius", "texture", "smoothness", "symmetry"]
variances = table[[f"{name} error" for name in names]].to_numpy() ** 2
earlier = [0.1, 1.0, 4e-5, 4e-4]
region = sf.Ball(sf.DiagonalSPD(size=4), center=earlier, radius=3.0)
release = sf.private_mean(variances, region, epsilon=1.0, unit="one woman")
release.plot("diagonal-spd.png", channels=names)
