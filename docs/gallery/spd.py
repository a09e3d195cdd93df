"""Covariance matrices of EEG.

A brain-computer interface knows a person by the covariance of the electrodes, and adapts itself from the mean of many people.
A pilot study gives the centre; channels may have any gain, so distances are those that do not depend on it.
Data: made up by a seeded generator, 300 people with 250 samples of four electrodes each."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(1)
pilot = np.array([[9, 4, 2, 1], [4, 8, 3, 1], [2, 3, 8, 4], [1, 1, 4, 9]])
gains = rng.lognormal(-0.4, 0.3, size=(300, 1, 1))
samples = gains * rng.multivariate_normal(np.zeros(4), pilot, size=(300, 250))
people = [np.cov(one.T) for one in samples]  # in µV²
region = sf.Ball(sf.SPD(size=4), center=pilot, radius=1.5)
release = sf.private_mean(people, region, epsilon=1.0, unit="one person")
release.plot("spd.png", channels=["Fz", "Cz", "Pz", "Oz"])
