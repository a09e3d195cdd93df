"""Plain measurements.

Wine growers send bottles to one laboratory, and want to know the mean of the region but show nobody their own.
Textbooks give the centre and how far a wine may be from it; the four numbers are in units in which they vary alike.
Data: 178 wines (Aeberhard and Forina 1992; UCI, CC BY 4.0), from the package scikit-learn."""

from sklearn.datasets import load_wine

import sfumato as sf

names = ["alcohol", "malic_acid", "ash", "hue"]  # %, g/l, g/l, a ratio
units = [1.0, 1.0, 0.3, 0.3]
wines = load_wine(as_frame=True).data[names] / units
region = sf.Ball(sf.Euclidean(dim=4), center=[12.5, 2.0, 8.0, 3.0], radius=3.0)
release = sf.private_mean(wines, region, epsilon=1.0, unit="one grower")
release.plot("euclidean.png", channels=names)
