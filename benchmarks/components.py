"""``python -m benchmarks.components``: the noise of two Wishart matrices, the charts that were tried, the components found.

Made-up outlines have variances like j^−2.5 and j^−1.5 along unknown directions; the heads are the demo's, drawn anew by mixing
two of them.  A public sample of 60 says which directions come first; ε = 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

import sfumato as sf
from sfumato.app.demo import heads
from sfumato.mechanisms.moments import SecondMoment, WishartMoment, spectra, wishart_noise
from sfumato.numerics.arrays import Array
from sfumato.regions.base import best_axes
from sfumato.regions.ellipsoid import tangent_coordinates

SEEDS = 12
PUBLIC = 60
Records = Callable[[int, np.random.Generator], Array]


def populations() -> dict[str, Records]:
    """Return, by name, what draws so many tangent vectors."""

    def falling(power: float) -> Records:
        turn = np.linalg.qr(np.random.default_rng(1).normal(size=(96, 96)))[0]
        return lambda n, rng: (rng.normal(size=(n, 96)) * np.arange(1, 97.0) ** (-power / 2)) @ turn

    shapes = heads()
    space = sf.PlanarShapes(landmarks=shapes.shape[1])
    center = space.validate(sf.frechet_mean(space, shapes).point[None])[0]
    tangents = tangent_coordinates(space, center, space.validate(shapes))

    def mixed(n: int, rng: np.random.Generator) -> Array:
        first, second = tangents[rng.integers(len(tangents), size=(2, n))]
        return np.asarray(np.sqrt(0.75) * first + np.sqrt(0.25) * second)

    return {"outlines, j^-2.5": falling(2.5), "outlines, j^-1.5": falling(1.5), "heads": mixed}


def ratios() -> Iterator[str]:
    """Yield the operator norm of the noise over that of the last version, on average."""
    for p in (5, 10, 20, 40):
        one, two = (
            kind.apart * np.mean(np.abs(spectra((1.0,) * p, kind)).max(axis=1))
            for kind in (WishartMoment, SecondMoment)
        )
        yield f"p = {p:2}: {one / two:.2f}"


def charts(draw: Records, n: int, seeds: int, p: int) -> list[float]:
    """Return, in axes of the ellipsoid and in a round chart: |cos| of the first two components, and the operator norm of the
    error over the largest variance; medians."""
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        sample, points = draw(PUBLIC, rng), draw(n, rng)
        _, lengths, basis = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)
        deviations = lengths[:p] / np.sqrt(PUBLIC - 1)
        about = (points - points.mean(axis=0)) @ basis[:p].T
        moment = about.T @ about / n
        own = np.linalg.eigh(moment)[1][:, ::-1]
        reach = float(np.quantile(np.linalg.norm((sample - sample.mean(axis=0)) @ basis[:p].T, axis=1), 0.97))
        row = []
        for axes in (best_axes(deviations), np.full(p, reach)):
            w = about / axes
            w /= np.maximum(1.0, np.linalg.norm(w, axis=1, keepdims=True))
            found = (w.T @ w / n + wishart_noise(p, 1, rng)[0] / n) * np.outer(axes, axes)
            vectors = np.linalg.eigh(found)[1][:, ::-1]
            cosines = [abs(float(vectors[:, j] @ own[:, j])) for j in range(2)]
            row += [*cosines, float(np.linalg.norm(found - moment, 2) / np.linalg.norm(moment, 2))]
        rows.append(row)
    return [float(x) for x in np.median(rows, axis=0)]


def found(draw: Records, n: int, seeds: int) -> list[float]:
    """Return how many directions were taken, the weight, |cos| of the first two components (medians), how often each is above
    the noise, and the errors of the covariance of synthetic specimens and of the public sample (medians)."""
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        sample, points = draw(PUBLIC, rng), draw(n, rng)
        region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=points.shape[1]), sample)
        mean = sf.private_mean(points, region, 1.0, allow_useless=True)
        one = sf.private_components(points, mean, 1.0, region=region, allow_useless=True)
        own = np.cov(points.T)
        vectors = np.linalg.eigh(own)[1][:, ::-1]
        cosines = [abs(float(one.directions[j] @ vectors[:, j])) for j in range(2)]
        errors = [float(np.linalg.norm(x - own) / np.linalg.norm(own)) for x in (one.covariance, np.cov(sample.T))]
        rows.append([len(one.axes), one.weight, *cosines, *one.significant, *errors])
    table = np.array(rows, dtype=float)
    return [*np.median(table[:, :4], axis=0), *np.mean(table[:, 4:6], axis=0), *np.median(table[:, 6:], axis=0)]


def main(seeds: int = SEEDS) -> None:
    """Print all three."""
    print("operator norm of the noise over that of Frobenius noise:", "; ".join(ratios()))
    print("\n|cos| 1, |cos| 2, operator error: in axes of the ellipsoid | in a round chart (n = 600)")
    for name, draw in populations().items():
        for p in (5, 10, 20):
            first, second, off, *others = charts(draw, 600, seeds, p)
            one, two, wide = others
            print(f"{name:17} p = {p:2}: {first:.3f} {second:.3f} {off:.2f} | {one:.3f} {two:.3f} {wide:.2f}")
    print("\ndirections, weight, |cos| 1, |cos| 2, above the noise 1, 2; error of the covariance: synthetic, public")
    for name, draw in populations().items():
        for n in (600, 900):
            many, weight, first, second, above, also, made, public = found(draw, n, seeds)
            known = f"p = {many:.0f}, {weight:.2f}, {first:.3f}, {second:.3f}, {above:.0%}, {also:.0%}"
            print(f"{name:17} n = {n}: {known}; {made:.2f}, {public:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
