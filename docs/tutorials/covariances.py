"""The tutorial on covariance matrices: python docs/tutorials/covariances.py writes its picture and prints its numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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

    # -- a release for each unit of privacy ------------------------------------------------------------------------
    mean = sf.PrivateFrechetMean(space=space, center=center, radius=RADIUS, epsilon=EPSILON)
    mean.fit(matrices[private], unit="half a month")
    print(f"unit half a month: n = {mean.release_.record['n']}, error(0.95) = {mean.release_.error(0.95):.2f}")
    print(mean.mean_.round(2))
    sf.plot_release(mean.release_, HERE / "covariances.png")

    ball = sf.Ball(space, center, RADIUS)
    by_month = sf.private_mean(matrices[private], ball, EPSILON, unit=(100 * year + month)[private])
    print(f"unit a month: n = {by_month.record['n']}, error(0.95) = {by_month.error(0.95):.2f}")
    by_year = sf.private_mean(matrices[private], ball, EPSILON, unit=year[private], allow_useless=True)
    print(f"unit a year: n = {by_year.record['n']}, error(0.95) = {by_year.error(0.95):.2f}")

    # -- a pipeline --------------------------------------------------------------------------------------------------
    cold = np.isin(month, [10, 11, 12, 1, 2, 3])
    train, test = private & (year < 2015), year == 2015
    tangent = sf.PrivateTangentSpace(center=center, radius=RADIUS, epsilon=EPSILON)
    pipeline = make_pipeline(tangent, LogisticRegression()).fit(matrices[train], cold[train])
    right = np.sum(pipeline.predict(matrices[test]) == cold[test])
    error = pipeline[0].release_.error(0.95)
    print(f"\n{train.sum()} matrices to train on, {test.sum()} to test on; error(0.95) of the reference: {error:.2f}")
    print(f"cold or warm half of the year, reference private: {right} of {test.sum()} right")

    open_reference = sf.frechet_mean(space, matrices[train]).point
    vectors = tangent_vectors(space, open_reference, matrices)
    right = np.sum(LogisticRegression().fit(vectors[train], cold[train]).predict(vectors[test]) == cold[test])
    print(f"cold or warm half of the year, reference not private: {right} of {test.sum()} right")
    first, second = space.validate(np.stack([open_reference, pipeline[0].reference_]))
    print(f"distance of the two references: {space.distance(first, second):.2f}")

    # -- a classifier ------------------------------------------------------------------------------------------------
    means = [sf.frechet_mean(space, matrices[train & (cold == one)]).point for one in (False, True)]
    apart = np.stack([space.distance(mean, space.validate(matrices[test])) for mean in means], axis=1)
    print(
        f"\nminimum distance to the mean, not private: {np.sum(apart.argmin(axis=1) == cold[test])} of {test.sum()} right"
    )
    by_ball = sf.PrivateMDM(center=center, radius=RADIUS, epsilon=EPSILON)
    sample = sf.Ellipsoid.from_sample(space, matrices[public])
    by_sample = sf.PrivateMDM(region=sample, epsilon=EPSILON)
    for name, model in (("the ball", by_ball), ("the sample of 2012", by_sample)):
        rights = [
            np.sum(model.fit(matrices[train], cold[train]).predict(matrices[test]) == cold[test]) for _ in range(25)
        ]
        low, middle, high = np.quantile(rights, [0.1, 0.5, 0.9])
        print(
            f"the same, private, in {name}: {middle:.0f} of {test.sum()} right (10% to 90% of fits: {low:.0f} to {high:.0f})"
        )


def tangent_vectors(space: sf.SPD, reference: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """What PrivateTangentSpace.transform computes, at a given reference."""
    values, axes = np.linalg.eigh(reference)
    whiten = (axes / np.sqrt(values)) @ axes.T
    rows, columns = np.triu_indices(space.size)
    weights = np.where(rows == columns, 1.0, np.sqrt(2))
    return (whiten @ space.log(reference, matrices) @ whiten)[:, rows, columns] * weights


if __name__ == "__main__":
    main()
