"""Blood sugar over a day.

Sensors read a patient's blood sugar at 6, 12 and 18 o'clock, and how the three vary together tells how they live.
The channels have an order, that of the day; the centre is a published trial's, and the mean of 200 patients is released.
Data: made up by a seeded generator, 90 days for each patient."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(12)
trial = np.array([[2.0, 0.8, 0.4], [0.8, 3.0, 1.2], [0.4, 1.2, 4.0]])
days = rng.multivariate_normal(np.zeros(3), 1.5 * trial, size=(200, 90))
patients = [np.cov(one.T) for one in days]  # in (mmol/l)²
space = sf.SPD(size=3, metric="log-cholesky")
region = sf.Ball(space, center=trial, radius=1.2)
release = sf.private_mean(patients, region, epsilon=1.0, unit="one patient")
release.plot("log-cholesky.png", channels=["6 h", "12 h", "18 h"])
