"""What is public about the records before n and ε are known.  Only with these it is settled which directions are worth their
noise, and so the axes: ``settle(n, epsilon)`` of a sketch gives the :class:`Ellipsoid` (proofs, Result 5)."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, gammaincinv

from ..errors import InvalidPointError
from ..laws.calibration.stein import james_stein, shrunk_noise
from ..laws.calibration.whole import WholeError, error_quantile, noise_moments
from ..laws.privacy import Privacy, as_privacy
from ..numerics.arrays import Array, Points
from ..spaces.base import Space
from .ball import Ball
from .base import Moment, Region, Settled
from .ellipsoid import Ellipsoid, public_point, tangent_coordinates
from .landmarks import bending_moment, smooth_moment
from .look import DULL, WORST, Look, NoLook, rms_noise

Prior = Literal["ball", "smooth", "open", "bending"]
Relation = Literal["same", "related", "other"]


class Apart(NamedTuple):
    """How far apart two populations are assumed to be, in units of their spread."""

    shift: float  # of the mean, in the ways in which members differ
    drift: float  # of the mean, in the ways of the prior


RELATIONS: dict[Relation, Apart] = {"same": Apart(0.0, 0.0), "related": Apart(0.2, 0.11), "other": Apart(1.0, 0.5)}
WORDS: dict[str, str] = {
    "ball": "all directions alike",
    "smooth": "smoothness along the closed outline",
    "open": "smoothness along the open curve",
    "bending": "the bending energy of the thin-plate spline",
}
TYPICAL = 0.8  # distance of a record from the centre, in radii, where a radius is all that is known
OFFSET = 0.5  # and that of the mean, if the centre is a specimen
WEIGHTS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # of the prior, for weight="auto"
SIZES = ((0.9, 1.0), (0.97, 1.0), (1.0, 1.0), (1.0, 1.5), (1.0, 2.0))  # quantile of held-out points, and times
SCALES = (0.1, 0.3, 0.5, 0.7, 0.9)  # levels of the unknown scale of the records
WIDEST = 1.2  # noise of a chart over that of the ball, at most, where the sample is said to be of another population
STATED = 0.95  # the figure that the choice makes least
BENT = 5  # points of a sample from which curvature is measured
FOLDS = 10  # of the held-out criterion
COVER = 0.97  # the share of the sample in the ball to fall back to
FLOOR = 1e-12  # least eigenvalue, in parts of the largest; least spread, of a part of the sample
IN_ORDER = "smoothness along the landmarks in their order"  # where nobody said that they are an outline
LEAST = 1e-3  # and size, where most points of a sample are the same; sizes are near one


@dataclass(frozen=True, eq=False)
class _AboutBall(Region):
    """A sketch about the centre of a ball."""

    ball: Ball  # of the same centre, for comparison and to fall back to

    @property
    def space(self) -> Space:
        return self.ball.space

    @property
    def center(self) -> Points:
        return self.ball.center

    @property
    def radius(self) -> float:
        return self.ball.radius

    @abstractmethod
    def _settle(self, n: int, privacy: Privacy) -> Ellipsoid: ...

    def settle(self, n: int, privacy: float | Privacy) -> Ellipsoid:
        """Return the ellipsoid for n records and this ε or other kind of privacy; the same question is answered once."""
        return _settled(self, n, as_privacy(privacy))


@dataclass(frozen=True, eq=False)
class ModelSketch(_AboutBall):
    """Directions from the landmarks of one public shape: what :meth:`Ellipsoid.smooth` and :meth:`Ellipsoid.bending` give.

    The second moment has eigenvalues lⱼ, Σlⱼ = (TYPICAL·radius)².  In p directions with the best axes aⱼ² = √lⱼ·Σ√l the noise
    has mean square (2/nε)²·(p + 1)·(Σ√l)².  The mean is expected (OFFSET·radius) away; what lies in the other directions is
    left out, and of the rest the share that clipping takes.  p is where the 95% figure is least.
    """

    source: str
    roots: Array = field(repr=False)  # √lⱼ, falling
    basis: Array = field(repr=False)
    modes: int | None = None  # p, where it is given

    def _settle(self, n: int, privacy: Privacy) -> Ellipsoid:
        noise, variation = _unit_noise(self.roots)
        spread = OFFSET * self.radius
        noise = _sigma(n, privacy.scales(len(noise))) * noise
        figures = error_quantile(STATED, noise, variation, spread * self._left_out, np.inf)
        p = self.modes or int(np.argmin(figures)) + 1
        axes = np.sqrt(self.roots[:p] * np.sum(self.roots[:p]))
        return _ellipsoid(self.ball, axes, self.basis[:p], self.source, spread)

    def whole_after(self, chart: Ellipsoid, n: int, epsilon: float, raw: Array | None = None) -> WholeError:
        """Return the whole error that is foreseen: of where the mean is no draw tells more than the model."""
        sigma = float(_sigma(n, epsilon))
        p = len(chart.axes)
        spread = OFFSET * self.radius
        offsets = (spread * self.roots[:p] / np.linalg.norm(self.roots) / chart.axes) ** 2
        bias = spread * float(self._left_out[p - 1])
        shrunk = shrunk_noise(chart.axes, offsets, sigma)
        return WholeError(*noise_moments(chart.axes, sigma), bias, np.inf, shrunk, spread)

    @property
    def moment(self) -> Moment:
        return Moment(self.roots, self.basis)

    @cached_property
    def _left_out(self) -> Array:
        """Return the share of an offset that is frozen or clipped, for p = 1 … d."""
        kept = np.cumsum(self.roots**2)
        shape = np.cumsum(self.roots) ** 2 / (2 * kept)  # of the Gamma law of ‖w‖², whose mean is 1
        lengths = np.sqrt(gammaincinv(shape[:, None], (np.arange(64) + 0.5) / 64) / shape[:, None])
        clipped = np.mean(np.maximum(0.0, 1 - 1 / np.maximum(lengths, 1e-300)), axis=1)
        share = kept / kept[-1]
        return np.asarray(np.sqrt(np.maximum(0.0, 1 - share) + share * clipped**2))


class _Candidates(NamedTuple):
    """Charts of a sample, one a row, for p = 1 … d where there are columns: what does not depend on n and ε."""

    sources: list[tuple[int, float]]  # number of the prior and its weight
    roots: Array
    bases: Array
    sizes: Array
    noise: Array  # for a scale of 1
    variation: Array
    lost: Array  # mean square of what clipping and freezing take from held-out points
    drift: Array  # frozen share of a difference of means that follows the last of the priors
    clip: Array  # square of the mean of what clipping takes


@dataclass(frozen=True, eq=False)
class SampleSketch(_AboutBall):
    """Directions from a public sample: what :meth:`Ellipsoid.from_sample` gives (proofs, Result 11).

    The sample's second moment Ĉ at its mean is mixed with a prior, (1 − w)·Ĉ + w·C₀, with eigenvalues lⱼ.  In p directions the
    axes are aⱼ = s·√(√lⱼ·Σ√l); the size s makes the ellipsoid hold held-out points (SIZES), times 1 + 1/m against the luck of
    small samples.  With κ = 1/m + 1/n + shift² and V the variance of the sample, what is left out has the square

    κ·(mean square of what clipping and freezing take from held-out points) + drift²·V·(frozen share of the prior)
    + ‖mean of what clipping takes‖² + bend²·(κ + drift²)·V.

    Prior, w, s and p have the least 95% figure of noise and this together, which therefore never rises with n or ε.
    """

    relation: Relation
    coverage: float | None
    modes: int | None
    weights: tuple[float, ...]
    priors: tuple[Prior, ...]
    tangents: Array = field(repr=False)  # of the sample, less their mean
    bend: float = 0.0  # |mean logarithm − logarithm of the mean| over the distance of the two centres

    def looked(self, n: int, privacy: float | Privacy, share: float, always: bool = False) -> Look | Settled:
        """Return the chart with its look; the chart alone where there is none (:meth:`no_look`).

        >>> from sfumato import Euclidean
        >>> sample = np.random.default_rng(0).normal(size=(60, 20)) / np.arange(1, 21) ** 2
        >>> look = Ellipsoid.from_sample(Euclidean(dim=20), sample).looked(400, 1.0, share=0.1)
        >>> type(look).__name__, look.share, 0 < look.limit(400, 1.0) < look.ball.radius
        ('Look', 0.1, True)
        """
        why = self.no_look(n, privacy, share)
        if why is None or (why is NoLook.NEEDLESS and always):
            return Look(self.settle(n, as_privacy(privacy).aside(share)[1]), self.ball, share)
        return self.settle(n, privacy)

    def no_look(self, n: int, privacy: float | Privacy, share: float) -> NoLook | None:
        """Return why there is no look at whether the sample fits the records; None where there is one."""
        if self.relation == "same":
            return NoLook.SAME
        whole = as_privacy(privacy)
        rest = whole.aside(share)[1]
        error = rms_noise(self.ball.as_chart().axes, n, whole.noise(self.space.dim).epsilon)
        if error**2 * (WORST**2 - 1) >= self.radius**2:
            return NoLook.NEEDLESS
        look = Look(self.settle(n, rest), self.ball, share)
        worth = rms_noise(look.chart.axes, n, rest.noise(len(look.chart.axes)).epsilon) < error
        return None if worth and look.limit(n, whole) > DULL * error else NoLook.BLIND

    @property
    def related_as(self) -> str:
        return self.relation

    @cached_property
    def moment(self) -> Moment:
        """The covariance of the sample, an entry of which has the variance lᵢlⱼ/(m − 1); populations differ by the shift."""
        _, lengths, rows = np.linalg.svd(self.tangents, full_matrices=False)
        some = slice(int(np.count_nonzero(lengths > np.sqrt(FLOOR) * lengths[0])))
        degrees = len(self.tangents) - 1
        return Moment(lengths[some] / np.sqrt(degrees), rows[some], 1 / degrees + RELATIONS[self.relation].shift ** 2)

    def public_slope(self, covariate: Array) -> tuple[Array, float]:
        if covariate.shape != (len(self.tangents),):
            raise ValueError(f"{len(self.tangents)} public points need as many covariates, not {covariate.shape}")
        known = np.isfinite(covariate)
        if np.count_nonzero(known) < 3 or not np.var(covariate[known]) > 0:
            raise ValueError("fewer than three public points have covariates that differ within the limits: check both")
        z, tangents = (each[known] - each[known].mean(axis=0) for each in (covariate, self.tangents))
        slope = z @ tangents / (z @ z)
        return slope, float(np.sqrt(np.sum((tangents - np.outer(z, slope)) ** 2) / (len(z) - 2) / (z @ z)))

    # -- the whole error -----------------------------------------------------------------------------------------------
    def whole_after(self, chart: Ellipsoid, n: int, epsilon: float, raw: Array | None = None) -> WholeError:
        """Return the whole error after the draw w̃ = ``raw`` in a chart of this sketch, wherever it was moved to, or in the
        ball; it is no smaller than what is foreseen, which is the answer where there is no draw yet.

        The f ≥ 1 for which Σw̃²/(f·b + T) = p, b the variances of the mean that were assumed and T the noise's, says how many
        times farther apart (in squares) the means are.  Held-out points moved to the release show what is clipped there.
        """
        sigma = float(_sigma(n, epsilon))
        p = len(chart.axes)
        public = self._public(n)
        candidate = self._candidate(chart)
        if candidate is None:
            basis = np.eye(p)
            clip = self._clipped_at(chart, None, np.zeros(p))
            bias = float(np.hypot(self.bend * public, clip))
        else:
            basis = self._candidates.bases[candidate, :p]
            clip = float(np.sqrt(self._candidates.clip[candidate, p - 1]))
            bias = float(self._bias(n)[candidate, p - 1])
        offsets = self._offsets(chart.axes, basis, n)
        shrunk = shrunk_noise(chart.axes, offsets, sigma)
        foreseen = WholeError(*noise_moments(chart.axes, sigma), bias, self._degrees, shrunk, public)
        times = 1.0 if raw is None else _times(raw, offsets, sigma**2 * (p + 1))
        if raw is None or times == 1:
            return foreseen
        loss = np.sqrt(max(0.0, (bias - clip) * (bias + clip)))
        clip = max(clip, self._clipped_at(chart, candidate, chart.nearest(james_stein(raw, chart.axes, sigma))))
        bias = max(bias, float(np.hypot(np.sqrt(times) * loss, clip)))
        shrunk = max(shrunk, shrunk_noise(chart.axes, times * offsets, sigma))
        return replace(foreseen, bias=bias, shrunk=shrunk, public=float(np.sqrt(times)) * public)

    def _candidate(self, chart: Ellipsoid) -> int | None:
        """Return which of the candidates a chart is, by its axes; None for the ball."""
        p = len(chart.axes)
        roots = self._candidates.roots[:, :p]
        axes = self._candidates.sizes[:, p - 1, None] * np.sqrt(roots * np.sum(roots, axis=1, keepdims=True))
        alike = np.flatnonzero(np.all(np.isclose(axes, chart.axes, 1e-12, 0.0), axis=1))
        return int(alike[0]) if alike.size else None

    def _clipped_at(self, chart: Ellipsoid, candidate: int | None, w: Array) -> float:
        """Return the length of what the chart would clip, on average, of held-out points moved to a release w.

        In the ball, which is used where the sample does not fit, they are as far out as those of another population.
        """
        p = len(chart.axes)
        m = len(self.tangents)
        where = chart.tangent(w)
        lost = np.zeros(self.space.dim)
        if candidate is None:
            times = _lift("other") * np.sqrt(np.mean(self._scales**2)) * m / (m - 1)
            folds = [(np.eye(p), chart.axes, times * self.tangents)]
        else:
            prior, weight = self._candidates.sources[candidate]
            size = self._candidates.sizes[candidate, p - 1]
            folds = [
                (basis[:p], size * np.sqrt(roots[:p] * np.sum(roots[:p])), points[:, :p])
                for _, roots, basis, points in self._folds(weight, self._targets[prior])
            ]
        for _ in range(30 if candidate is None else 3):  # the mean lies farther out by what is clipped
            there = where + lost
            lost = np.zeros(self.space.dim)
            for basis, axes, points in folds:
                moved = (points + basis @ there) / axes
                cut = np.maximum(0.0, 1 - 1 / np.maximum(np.linalg.norm(moved, axis=1), 1e-300))
                lost += (cut @ (moved * axes)) @ basis / m
        return float(np.linalg.norm(lost))

    @cached_property
    def _scales(self) -> Array:
        """The unknown spread of the records over that of the sample, at several levels."""
        return np.asarray(np.sqrt(self._degrees / chdtri(self._degrees, 1 - np.array(SCALES))))

    def _kappa(self, n: int) -> float:
        return 1 / len(self.tangents) + 1 / n + RELATIONS[self.relation].shift ** 2

    def _public(self, n: int) -> float:
        """Return how far the public centre is expected to be from the mean of n records."""
        return float(np.sqrt((self._kappa(n) + RELATIONS[self.relation].drift ** 2) * self._variance))

    def _offsets(self, axes: Array, basis: Array, n: int) -> Array:
        """Return the variances of the mean that are expected along the axes of a chart, in its coordinates."""
        spread = np.sum((self.tangents @ basis.T) ** 2, axis=0) / (len(self.tangents) - 1)
        prior = np.sum(basis @ self._targets[-1] * basis, axis=1)
        drift = RELATIONS[self.relation].drift
        return np.asarray((self._kappa(n) * spread + drift**2 * self._variance * prior) / axes**2)

    @property
    def _degrees(self) -> int:
        return 2 * (len(self.tangents) - 1)

    @cached_property
    def _variance(self) -> float:
        return float(np.sum(self.tangents**2) / (len(self.tangents) - 1))

    @cached_property
    def _targets(self) -> list[Array]:
        return [_unit_moment(self.space, self.center, prior) for prior in self.priors]

    # -- the choice ----------------------------------------------------------------------------------------------------
    def _bias(self, n: int) -> Array:
        """Return what each of the candidates leaves out."""
        charts = self._candidates
        drift = RELATIONS[self.relation].drift
        squares = self._kappa(n) * charts.lost + drift**2 * self._variance * charts.drift + charts.clip
        return np.asarray(np.hypot(np.sqrt(squares), self.bend * self._public(n)))

    def _settle(self, n: int, privacy: Privacy) -> Ellipsoid:
        charts = self._candidates
        some = slice(None) if self.modes is None else slice(self.modes - 1, self.modes)
        noise = (_sigma(n, privacy.scales(self.space.dim)) * charts.noise)[:, some]
        lengths = noise, charts.variation[:, some], self._bias(n)[:, some]
        figures = error_quantile(STATED, *lengths, self._degrees)
        # a chart has so much more noise than the ball, if wide, that a needless fear of clipping would cost too much
        ball, _ = noise_moments(np.full(self.space.dim, self.radius), 1.0)
        wide = charts.noise[:, some] > WIDEST * ball
        if self.relation == "other" and wide.any() and not wide.all():
            figures = np.where(wide, np.inf, figures)
        best, column = (int(i) for i in np.unravel_index(np.argmin(figures), figures.shape))
        p = column + 1 if self.modes is None else self.modes
        roots = charts.roots[best, :p]
        basis = charts.bases[best, :p]
        axes = charts.sizes[best, p - 1] * np.sqrt(roots * np.sum(roots))
        return _ellipsoid(self.ball, axes, basis, self._words(*charts.sources[best]), self._public(n))

    def _words(self, prior: int, weight: float) -> str:
        name = self.priors[prior]
        target = IN_ORDER if name == "smooth" and len(self.priors) > 1 else WORDS[name]
        return f"from {len(self.tangents)} public points, shrunk by {weight:g} to {target}"

    @cached_property
    def _candidates(self) -> _Candidates:
        """Return all charts: for each prior, weight and size."""
        pairs = ((prior, weight) for prior in range(len(self.priors)) for weight in self.weights)
        sources, *columns = zip(*(row for pair in pairs for row in self._sized(*pair)), strict=True)
        return _Candidates(list(sources), *(np.stack(column) for column in columns))

    def _sized(self, prior: int, weight: float) -> Iterator[tuple[Any, ...]]:
        """Yield the fields of a candidate for each size of a chart with these directions."""
        m, d = self.tangents.shape
        target = self._targets[prior]
        gauge = np.empty((m, d))
        square = np.empty((m, d))
        for test, roots, _, points in self._folds(weight, target):
            gauge[test] = np.sqrt(np.cumsum(points**2 / roots, axis=1) / np.cumsum(roots))
            square[test] = np.cumsum(points**2, axis=1)
        rest = m - np.ceil(m / FOLDS)  # points about the mean of so many others vary by 1 + 1/rest
        scales = self._scales
        frozen = np.maximum(0.0, np.mean(square[:, -1:] - square, axis=0)) * np.mean(scales**2) / (1 + 1 / rest)
        roots, basis = _shrunk(self.tangents, weight, target)
        drift = np.maximum(0.0, 1 - np.cumsum(np.sum(basis @ self._targets[-1] * basis, axis=1)))
        along = self.tangents @ basis.T
        noise, variation = _unit_noise(roots)
        for quantile, times in SIZES if self.coverage is None else ((self.coverage, 1.0),):
            size = np.maximum(LEAST, np.quantile(gauge, quantile, axis=0) * (1 + 1 / m) * times)
            clipped = np.zeros(d)
            mean = np.zeros(d)
            for scale in scales:
                cut = np.maximum(0.0, 1 - size / np.maximum(_lift(self.relation) * scale * gauge, 1e-300))
                clipped += scale**2 * np.mean(cut**2 * square, axis=0) / len(scales)
                mean += scale**2 * np.sum(np.tril(cut.T @ along / m) ** 2, axis=1) / len(scales)
            yield (prior, weight), roots, basis, size, size * noise, variation, frozen + clipped, drift, mean

    def _folds(self, weight: float, target: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield which points are held out, the spectrum of the others, and the points about their mean in its basis."""
        m = len(self.tangents)
        total = float(np.sum(self.tangents**2))
        fold = np.arange(m) % min(m, FOLDS)
        for test in (fold == f for f in range(fold.max() + 1)):
            rest = self.tangents[~test]
            middle = rest.mean(axis=0)
            varied = np.sum((rest - middle) ** 2) > FLOOR * total  # else all directions come from the prior
            roots, basis = _shrunk(rest - middle, weight, target) if varied else _spectrum(target * total)
            yield test, roots, basis, (self.tangents[test] - middle) @ basis.T


@lru_cache(maxsize=64)
def _settled(sketch: _AboutBall, n: int, privacy: Privacy) -> Ellipsoid:
    return sketch._settle(n, privacy)


def _lift(relation: Relation) -> float:
    """Return how much farther out records lie about a centre that is off."""
    shift, drift = RELATIONS[relation]
    return float(np.sqrt(1 + shift**2 + drift**2))


def _sigma(n: int, epsilon: ArrayLike) -> Array:
    """Return the scale of the noise in the chart, so far as its square is a number."""
    return np.asarray(np.minimum(2 / n / np.asarray(epsilon), 1e150))


def _unit_noise(roots: Array) -> tuple[Array, Array]:
    """Return the noise for p = 1 … d with axes √(√lⱼ·Σ√l) and a scale of 1: its length, and the variation of its square."""
    p = np.arange(1, len(roots) + 1)
    sums = np.cumsum(roots)
    variation = (p + 3) / (p + 1) * (1 + 2 * np.cumsum(roots**2) / sums**2) - 1
    return np.sqrt(p + 1) * sums, variation


def _times(raw: Array, offsets: Array, noise: float) -> float:
    """Return the f ≥ 1 with Σw̃²/(f·offsets + noise) = p, at most 10⁶."""
    low = 1.0
    high = 1e6
    if np.sum(raw**2 / (offsets + noise)) <= len(raw):
        return low
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if np.sum(raw**2 / (middle * offsets + noise)) > len(raw):
            low = middle
        else:
            high = middle
    return low


def from_landmarks(space: Space, center: ArrayLike, radius: float, prior: Prior, order: float = 1.0) -> ModelSketch:
    """See :meth:`Ellipsoid.smooth` and :meth:`Ellipsoid.bending`."""
    if not (isinstance(order, Real) and 0 <= float(order) <= 16):
        raise ValueError(f"the order of smoothness must be a number between 0 and 16, not {order!r}")
    point = public_point(space, center, "centre of the ellipsoid")
    roots, basis = _spectrum(_unit_moment(space, point, prior, float(order)))
    degree = "" if prior == "bending" else f" of order {float(order):g}"
    source = f"from {WORDS[prior]}{degree} at a public shape"
    ball = Ball(space, center, radius)
    return ModelSketch(ball, source, roots * (TYPICAL * ball.radius / np.linalg.norm(roots)), basis)


def from_sample(
    space: Space, public_points: ArrayLike, relation: Relation, coverage: Any, modes: Any, weight: Any, prior: Any
) -> SampleSketch:
    """See :meth:`Ellipsoid.from_sample`."""
    _check(space, relation, coverage, modes, weight)
    center, points, tangents = _sample(space, public_points)
    m = len(tangents)
    lengths = np.linalg.norm(tangents, axis=1) * (m / (m - 1))  # about the mean of the others
    radius = max(float(np.quantile(lengths, COVER)), float(np.sqrt(np.mean(lengths**2)))) * (1 + 1 / m)
    ball = Ball(space, space.present(center), radius)
    every: tuple[Prior, ...] = ("ball",) if space.landmark_dim is None else ("ball", "smooth")
    priors = every if prior == "auto" else (prior,)
    for each in priors:
        _unit_moment(space, center, each)  # refuses now what the space does not have
    share = None if coverage == "auto" else float(coverage)
    number = None if modes == "auto" else int(modes)
    weights = WEIGHTS if weight == "auto" else (float(weight),)
    bend = _bend(space, center, points, tangents)
    return SampleSketch(ball, relation, share, number, weights, priors, tangents, bend)


def _check(space: Space, relation: object, coverage: object, modes: object, weight: object) -> None:
    """Raise an error that names the argument which cannot be."""
    if relation not in RELATIONS:
        raise ValueError(f"relation must be one of {', '.join(RELATIONS)}, not {relation!r}")
    if coverage != "auto" and not (isinstance(coverage, Real) and 0 < float(coverage) <= 1):
        raise ValueError(f"coverage is 'auto' or a share of the records, above 0 and at most 1, not {coverage!r}")
    if modes != "auto" and not (isinstance(modes, (int, np.integer)) and 1 <= modes <= space.dim):
        raise ValueError(f"{space}: modes must be 'auto' or a whole number from 1 to {space.dim}, not {modes!r}")
    if weight != "auto" and not (isinstance(weight, Real) and 0 <= float(weight) <= 1):
        raise ValueError(f"weight must be 'auto' or a number between 0 and 1, not {weight!r}")


def _bend(space: Space, center: Points, points: Points, tangents: Array) -> float:
    """Return |mean logarithm − logarithm of the mean| over its length, as seen from public points halfway to the centre."""
    ratios = [0.0]
    for tangent in tangents[:BENT]:
        with np.errstate(all="ignore"):
            away = space.exp(center, space.from_coordinates(center, tangent / 2))
            seen = tangent_coordinates(space, away, np.concatenate([center[None], points]))
            ratio = float(np.linalg.norm(seen[1:].mean(axis=0) - seen[0]) / np.linalg.norm(seen[0]))
        ratios.append(ratio if np.isfinite(ratio) else 0.0)
    return float(np.sqrt(np.sum(np.square(ratios)) / max(1, len(ratios) - 1)))


def _sample(space: Space, public_points: ArrayLike) -> tuple[Points, Points, Array]:
    """Return the Fréchet mean of a public sample, its points, and their tangent coordinates there, less their mean."""
    from ..means.frechet import frechet_mean  # which knows balls

    try:
        points = space.validate(public_points)
    except InvalidPointError as error:
        raise ValueError(f"the public sample: {error}") from None
    instead = "give a centre and a radius instead, to Ball, Ellipsoid.smooth or Ellipsoid.bending"
    if len(points) < 2:
        raise ValueError(f"a public sample of {len(points)} says nothing about how far records spread: {instead}")
    center = space.validate(frechet_mean(space, space.present(points)).point[None])[0]
    tangents = tangent_coordinates(space, center, points)
    for row in np.flatnonzero(~np.isfinite(tangents).all(axis=1)):
        raise ValueError(f"the public sample: record {row} is so far from the others that no direction leads to it")
    tangents = tangents - tangents.mean(axis=0)
    if not np.abs(tangents).max() > 100 * space.rounding_error(center, 0.0):
        raise ValueError(f"the public points are all the same and say nothing about how far records spread: {instead}")
    return center, points, tangents


def _unit_moment(space: Space, center: Points, prior: str, order: float = 1.0) -> Array:
    """Return the second moment that a prior stands for at a public point, of trace one."""
    if prior not in WORDS:
        raise ValueError(f"prior must be 'auto' or one of {', '.join(WORDS)}, not {prior!r}")
    if prior == "ball":
        return np.eye(space.dim) / space.dim
    bends = prior == "bending"
    moment = bending_moment(space, center) if bends else smooth_moment(space, center, order, prior == "smooth")
    return np.asarray(moment / np.trace(moment))


def _shrunk(tangents: Array, weight: float, target: Array) -> tuple[Array, Array]:
    """Return the spectrum of (1 − w)·C + w·C₀, C₀ with the trace of C."""
    moment = tangents.T @ tangents / max(len(tangents) - 1, 1)
    return _spectrum((1 - weight) * moment + weight * np.trace(moment) * target)


def _spectrum(moment: Array) -> tuple[Array, Array]:
    """Return roots of the eigenvalues, falling, and eigenvectors in rows."""
    values, vectors = np.linalg.eigh(moment)
    return np.sqrt(np.maximum(values[::-1], FLOOR * values[-1])), np.ascontiguousarray(vectors[:, ::-1].T)


def _ellipsoid(ball: Ball, axes: Array, basis: Array, source: str, spread: float) -> Ellipsoid:
    center = ball.space.present(ball.center)
    return Ellipsoid(ball.space, center, axes, basis, source=source, spread=spread, reach=ball.radius)
