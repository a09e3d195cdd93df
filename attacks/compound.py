"""Every type of release, as a function of the records alone: what the clock and the bits are attacked by.

Releases are real, with the secure generator; nothing is replayed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from attacks.replay import document, ellipsoid, keys, public_mean
from sfumato.numerics.arrays import Array
from sfumato.regions import Ball, Ellipsoid

EPSILON = 1.0
SITE = "Bern"
Make = Callable[[Array], Any]


def releases(ball: Ball) -> dict[str, Make]:
    """Return every type of release in a ball: of records of which every other is in the second group, and a covariate that is
    their first number."""
    plenty: dict[str, Any] = {"epsilon": EPSILON, "allow_useless": True}

    def groups(data: Array) -> Any:
        return np.arange(len(data)) % 2

    return {
        "mean by chart": lambda data: sf.private_mean(data, ball, mechanism="tangent", **plenty),
        "mean in an ellipsoid": lambda data: sf.private_mean(data, ellipsoid(ball), inference=0.3, **plenty),
        "mean in two steps": lambda data: sf.private_mean(data, ball, steps=2, **plenty),
        "mean in a ball that is found": lambda data: sf.private_mean(data, prior=ball, **plenty),
        "mean after a look": lambda data: sf.private_mean(_wide(data), _sketch(), **plenty),
        "region": lambda data: sf.find_region(data, ball, EPSILON),
        "radius": lambda data: sf.private_radius(data, ball, EPSILON, coverage=0.5),
        "variance": lambda data: sf.private_variance(data, public_mean(ball), EPSILON, unit="one record"),
        "components": lambda data: sf.private_components(data, ball, components=1, **plenty),
        "groups": lambda data: sf.compare_groups(data, groups(data), ball, **plenty),
        "regression": lambda data: sf.private_regression(data, data[:, 0], ball, limits=(-1.0, 1.0), **plenty),
        "means of classes": lambda data: sf.PrivateMDM(region=ball, **plenty).fit(data, groups(data)),
        "part of a site": lambda data: _part(ball, data),
    }


@cache
def _sketch() -> Any:
    sample = np.random.default_rng(0).normal(size=(60, 12)) / np.arange(1, 13) ** 2
    return Ellipsoid.from_sample(sf.Euclidean(dim=12), sample)


def _wide(data: Array) -> Array:
    """Return records in twelve dimensions, of which each stands for twenty."""
    return np.repeat(np.pad(data, ((0, 0), (12 - data.shape[1], 0))), 20, axis=0)


@cache
def _study(ball: Ball, n: int) -> sf.Study:
    public = {key: n for _, key in keys().values()}
    return sf.Study.of(ball, public, trusted=1, epsilon=EPSILON, allow_useless=True)


def _part(ball: Ball, data: Array) -> Any:
    """Return what a site sends, without the files and the ledger that :meth:`sfumato.Study.contribute` keeps beside it."""
    study = _study(ball, len(data))
    return study._make(study._sums(data, study.sites[SITE]), _key(), None)


@cache
def _key() -> sf.SiteKey:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, SITE)
        path.write_bytes(keys()[SITE][0])
        path.chmod(0o600)
        return sf.SiteKey.load(str(path))


def numbers(found: Any) -> dict[str, float]:
    """Return all numbers of a release as it is saved, by where they stand; of whole ones beyond 2⁵³ the last bits."""
    kept: dict[str, float] = {}

    def take(where: str, item: Any) -> None:
        if isinstance(item, dict):
            for key, value in item.items():
                if key not in ("time", "sha256"):
                    take(f"{where}.{key}", value)
        elif isinstance(item, list | tuple):
            for i, value in enumerate(item):
                take(f"{where}.{i}", value)
        elif isinstance(item, float):
            kept[where] = item
        elif isinstance(item, int) and item >= 1 << 53:
            kept[where] = float(item % (1 << 53))

    take("", document(found))
    return kept
