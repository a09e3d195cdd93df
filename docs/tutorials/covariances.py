"""The tutorial on covariance matrices: python docs/tutorials/covariances.py draws, and prints its numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pyriemann.classification import MDM
from pyriemann.tangentspace import TangentSpace
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from vega_datasets import local_data

import sfumato as sf

HERE = Path(__file__).parent
RADIUS, EPSILON = 2.0, 2.0


def windows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One covariance matrix of (temp_max, temp_min, wind) for each half of a month, with its year and month."""
    table = local_data.seattle_weather()
    values = table[["temp_max", "temp_min", "wind"]].to_numpy()
    date = table["date"].dt
    label = (100 * date.year + date.month) * 10 + (date.day > 15)
    found = np.unique(label)
    matrices = np.array([np.cov(values[label == one].T) for one in found])
    return matrices, found // 1000, found // 10 % 100


def main() -> None:
    matrices, year, month = windows()
    space = sf.SPD(size=3)
    public, private = year == 2012, year > 2012
    center = sf.frechet_mean(space, matrices[public]).point
    print(f"{public.sum()} public matrices of 2012, {private.sum()} private ones of 2013 to 2015")
    print(f"the public centre:\n{center.round(2)}\n")

    # -- a release for each unit of privacy
    mean = sf.PrivateFrechetMean(space=space, center=center, radius=RADIUS, epsilon=EPSILON)
    mean.fit(matrices[private], unit="half a month")
    print(f"unit half a month: n = {mean.release_.n}, error(0.95) = {mean.release_.error(0.95):.2f}")
    print(mean.mean_.round(2))
    mean.release_.plot(HERE / "covariances.png")
    ball = sf.Ball(space, center, RADIUS)
    for name, unit in (("a month", 100 * year + month), ("a year", year)):
        release = sf.private_mean(matrices[private], ball, EPSILON, unit=unit[private], allow_useless=True)
        print(f"unit {name}: n = {release.n}, error(0.95) = {release.error(0.95):.2f}")

    # -- a pipeline, and a classifier
    cold = np.isin(month, [10, 11, 12, 1, 2, 3])
    train = private & (year < 2015)
    test = year == 2015
    tangent = sf.PrivateTangentSpace(center=center, radius=RADIUS, epsilon=EPSILON)
    sample = sf.Ellipsoid.from_sample(space, matrices[public])
    models = {
        "tangent space, not private": make_pipeline(TangentSpace(), LogisticRegression()),
        "tangent space, its reference private": make_pipeline(tangent, LogisticRegression()),
        "minimum distance, not private": MDM(),
        "minimum distance, private, in the ball": sf.PrivateMDM(center=center, radius=RADIUS, epsilon=EPSILON),
        "minimum distance, private, in the sample of 2012": sf.PrivateMDM(region=sample, epsilon=EPSILON),
    }
    print(f"\n{train.sum()} matrices to train on; right, of {test.sum()} to test on, in 25 fits:")
    for name, model in models.items():
        fits = [model.fit(matrices[train], cold[train]).predict(matrices[test]) for _ in range(25)]
        low, middle, high = np.quantile([np.sum(fit == cold[test]) for fit in fits], [0.1, 0.5, 0.9])
        print(f"{name}: {middle:.0f} (10% to 90% of fits: {low:.0f} to {high:.0f})")
    print(f"error(0.95) of the reference: {models['tangent space, its reference private'][0].release_.error(0.95):.2f}")


if __name__ == "__main__":
    main()
