"""Covariances in one unit.

Where signals share a unit and amplitudes matter, matrices are compared by what it costs to move one cloud onto the other.
The mean half-month of three years is released, as weather stands in for people here; the year before gives the centre.
Data: highest and lowest temperature of each day in Seattle from 2012, NOAA (public domain), from the package vega_datasets."""

import numpy as np
from vega_datasets import local_data

import sfumato as sf

days = local_data.seattle_weather()[["temp_max", "temp_min"]]  # in °C
matrices = np.array([np.cov(days[i : i + 15].T) for i in range(0, 1440, 15)])
space = sf.SPD(size=2, metric="bures-wasserstein")
earlier = sf.frechet_mean(space, matrices[:24]).point
region = sf.Ball(space, center=earlier, radius=2.0)
release = sf.private_mean(matrices[24:], region, epsilon=2.0, unit="15 days")
release.plot("bures-wasserstein.png", channels=["highest", "lowest"])
