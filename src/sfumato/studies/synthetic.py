"""Synthetic data that look like what users have."""

import numpy as np

from ..numerics.arrays import Array

# Hand-drawn after the midsagittal corpus callosum of anatomy books, front to the left: from the tip of the rostrum under
# the genu, along the upper side of the body to the splenium, and back along the lower side.
_DRAWING = np.array(
    [
        (3.00, 0.78), (2.30, 0.50), (1.40, 0.55), (0.60, 1.05), (0.20, 1.90), (0.42, 2.78), (1.20, 3.45), (2.50, 3.86),
        (4.20, 4.00), (6.00, 3.78), (7.60, 3.22), (8.95, 2.40), (9.85, 1.45), (9.95, 0.70), (9.15, 0.26), (8.25, 0.60),
        (7.72, 1.35), (6.95, 2.12), (5.80, 2.72), (4.30, 2.96), (2.95, 2.86), (1.98, 2.47), (1.52, 1.92), (1.66, 1.36),
        (2.24, 1.04),
    ]
)  # fmt: skip


def corpus_callosum_template(landmarks: int = 50) -> Array:
    """Return the outline that the generator varies: a public reference, (landmarks, 2).

    Points are equally spaced along the outline, the first at the tip of the rostrum.

    >>> corpus_callosum_template(50).shape
    (50, 2)
    """
    from scipy.interpolate import CubicSpline

    closed = np.vstack([_DRAWING, _DRAWING[:1]])
    chord = np.concatenate([[0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(closed, axis=0), axis=1)))])
    dense = CubicSpline(chord, closed, bc_type="periodic")(np.linspace(0, chord[-1], 4001))
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(dense, axis=0), axis=1))])
    at = np.linspace(0, length[-1], landmarks, endpoint=False)
    return np.stack([np.interp(at, length, dense[:, i]) for i in (0, 1)], axis=1)


def corpus_callosa(n: int = 409, landmarks: int = 50, *, rng: np.random.Generator) -> Array:
    """Return n outlines in correspondence, (n, landmarks, 2), each in a place, size and rotation of its own.

    They vary as callosa do: how much the arch bends, how thick body, genu and splenium are, how long the rostrum, and
    smooth waves beside.  People differ in how unusual they are, so a few outlines lie far from the mean: for n = 409 and
    50 landmarks the shape distance to the mean is about 0.045 on average and about 0.12 at most.

    >>> corpus_callosa(3, rng=np.random.default_rng(0)).shape
    (3, 50, 2)
    """
    template = corpus_callosum_template(landmarks)
    x = template[:, 0]
    across = (x - x.min()) / (x.max() - x.min())  # 0 at the genu, 1 at the splenium
    t = np.arange(landmarks) / landmarks
    normal = _normals(template)

    def bump(center: float, width: float) -> Array:
        return np.asarray(np.exp(-0.5 * ((across - center) / width) ** 2))

    modes = [
        0.35 * np.stack([0 * x, (2 * across - 1) ** 2 - 0.4], axis=1),  # a flatter or rounder arch
        0.25 * np.stack([0 * x, np.sin(np.pi * across) * (2 * across - 1)], axis=1),  # its summit before or behind
        0.16 * normal * bump(0.5, 0.25)[:, None],  # thickness of the body
        0.18 * normal * bump(0.05, 0.12)[:, None],  # of the genu
        0.18 * normal * bump(0.95, 0.10)[:, None],  # of the splenium
        0.35 * np.stack([np.exp(-0.5 * ((t + 0.5) % 1 - 0.5) ** 2 / 0.05**2), 0 * x], axis=1),  # length of the rostrum
        0.30 * np.stack([2 * across - 1, 0 * x], axis=1),  # length over height
    ]
    for k in (2, 3, 4, 5):  # smooth waves around the outline
        modes += [0.22 / k * normal * wave[:, None] for wave in (np.cos(2 * np.pi * k * t), np.sin(2 * np.pi * k * t))]
    unusual = 0.6 * np.exp(0.22 * rng.standard_normal(n))
    weights = unusual[:, None] * rng.standard_normal((n, len(modes)))
    outlines = template + np.tensordot(weights, np.array(modes), 1)
    angle = rng.normal(0, 0.3, n)
    size = np.exp(rng.normal(0, 0.1, n))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
    return np.asarray(size[:, None, None] * outlines @ turn + rng.normal(0, 5, (n, 1, 2)))


def _normals(outline: Array) -> Array:
    """Return the unit vectors outwards along a closed outline."""
    tangent = np.roll(outline, -1, axis=0) - np.roll(outline, 1, axis=0)
    normal = np.stack([tangent[:, 1], -tangent[:, 0]], axis=1)
    x, y = outline.T
    clockwise = np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) < 0
    return np.asarray((-normal if clockwise else normal) / np.linalg.norm(normal, axis=1, keepdims=True))
