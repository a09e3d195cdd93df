"""Which brain regions work together.

A resting-state scan becomes the correlations between brain regions, one matrix a person.
A published atlas gives the centre, and the release shows which regions go together in a clinic's own 400 patients.
Data: made up by a seeded generator, 400 people with 200 volumes of five regions each."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(3)
atlas = 0.3 + 0.7 * np.eye(5)
clinic = atlas.copy()
clinic[:2, :2] = [[1, 0.7], [0.7, 1]]
scans = rng.multivariate_normal(np.zeros(5), clinic, size=(400, 200))
people = [np.corrcoef(scan.T) for scan in scans]
region = sf.Ball(sf.Correlation(size=5), center=atlas, radius=1.2)
release = sf.private_mean(people, region, epsilon=1.0, unit="one person")
release.plot("correlation.png", channels=["PCC", "IPL", "V1", "M1", "S1"])
