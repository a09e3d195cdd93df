"""What is released: a value, its guarantee, and a record of public numbers, which is all that its readers need."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..errors import UnknownSpaceError
from ..laws.privacy import GDP, ZCDP, ApproxDP, Facts, Privacy, PureDP
from ..laws.radial import check_probability
from ..numerics.arrays import Array
from ..shown import Shown
from ..spaces import Space, recorded_name, space_from
from .document import Document, built, compact, hash_of, is_number, plain, without
from .terms import BY_NAME, COMBINED, PREPARED, After, Kind, Neighbours, Scalar, found_in_chart, shares_in

if TYPE_CHECKING:
    from .population import PopulationRegion

FORMAT = "sfumato release 1"
PROBABILITIES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.999999)  # at which a record states its error
# which earlier versions did not write, of a record and of its parts; left out where empty
NEWER = ("chart", "after", "spread", "spent", "scalar", "whole", "prepared")
NEWER_IN = {
    "ball": ("source",),
    "chart": ("reach", "after"),
    "predicted_error": ("quantiles",),
    "whole": ("drawn", "rms", "public", "relation"),
}
EMPTY: tuple[Any, ...] = (None, "", {}, [])
GEODESIC = "geodesic distance"
STATED = "if the stated sensitivity holds: not checked"  # the condition of a release whose objective is a user's own


@dataclass(frozen=True)
class Guarantee:
    """What is promised: (ε, δ)-differential privacy with δ = ``numerical_delta``, which is what a computer adds to pure ε.

    ``numerical_delta`` is 1 + e^ε times a bound on the probability that rounding error moves a draw to another lattice point,
    ε what was asked for; for ρ and μ it is that bound itself.
    ``numerical_epsilon`` is what rounding error in the density takes up; it is part of ``epsilon``.  ``clock_delta`` is the
    probability that the running time of the sampler depends on the data (None: not bounded).

    ``asked`` is the promise that was asked for, where that was not ε; ``epsilon``, ``rho``, ``mu`` and ``approx``, an (ε, δ),
    are all that is proven (proofs, Result 9; None in records of earlier versions).  Rounding is part of an (ε, δ), and comes on
    top of all else.

    A ``condition`` that nobody checked stands before all of it: then ``private`` is False.
    """

    epsilon: float
    unit: str
    neighbours: str = Neighbours.UNITS
    private: bool = True
    numerical_delta: float = 0.0
    numerical_epsilon: float = 0.0
    clock_delta: float | None = 0.0
    condition: str = ""
    rho: float | None = None
    mu: float | None = None
    approx: Mapping[str, float] | None = None
    asked: Mapping[str, float] | None = None

    @classmethod
    def of(cls, facts: Facts, unit: str, **more: Any) -> Self:
        """Return the guarantee of a release of which these facts are proven."""
        return cls(facts.epsilon, unit, **facts.stated, **more)

    @property
    def privacy(self) -> Privacy:
        """The promise that was asked for."""
        return Privacy.from_dict(self.asked or {"epsilon": self.epsilon})

    def check(self) -> None:
        """Raise a ValueError if these are not promises."""
        known: list[Privacy] = [PureDP(self.epsilon)]
        if self.rho is not None and self.mu is not None and self.approx is not None:
            known += [ZCDP(self.rho), GDP(self.mu), ApproxDP(**self.approx)]
        if self.asked is not None and self.privacy not in known[1:]:
            raise ValueError("the guarantee does not state what was asked for")

    def document(self) -> dict[str, Any]:
        """Return it as it stands in a file, where what earlier versions did not state is left out."""
        return {name: part for name, part in vars(self).items() if part is not None or name == "clock_delta"}

    @property
    def grouped(self) -> bool:
        """Whether this is the promise of one of several groups that were released together."""
        return self.neighbours == Neighbours.GROUPS


@dataclass(frozen=True)
class SpaceOf:
    """The space as a record stores it.  Spaces that are not registered are allowed."""

    name: str
    parameters: Mapping[str, Any]
    metric: str

    @classmethod
    def of(cls, space: Space) -> Self:
        """Return what a record stores of a space."""
        return cls(recorded_name(space), space.parameters(), space.metric)

    @cached_property
    def known(self) -> Space | None:
        """The space itself; None if this version of sfumato does not know it, or a part of it."""
        try:
            return space_from(self.name, dict(self.parameters))
        except UnknownSpaceError:
            return None

    @property
    def required(self) -> Space:
        """The space itself, or a ValueError."""
        if self.known is None:
            raise ValueError(f"the space {self.name!r} is not known here")
        return self.known


@dataclass(frozen=True)
class BallOf:
    """The ball: its centre, as the space presents it, its radius, and how it was found privately (empty: it was public)."""

    center: list[Any]
    radius: float
    source: str = ""


@dataclass(frozen=True)
class MechanismOf:
    """The mechanism of a release: its name, and its arguments beside region, ε and calibration."""

    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class CalibrationOf:
    """The scale σ of the noise, its formula and every number in it; the radius that draws are confined to (None: nothing)."""

    name: str
    epsilon: float
    formula: str
    sigma: float
    region: float | None
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class ChartOf:
    """The chart of a release: an ellipsoid about the centre, in which the public region is the unit ball."""

    axes: list[float]
    basis: list[Any] | None  # their directions, in the space's coordinates at the centre; None: all, in their order
    source: str  # where axes and directions come from
    spread: float  # the typical distance of a mean from the centre
    frozen: int  # how many directions stay as in the centre
    bias: float | None  # how far the chart's mean is at most from the Fréchet mean of its records; None: not known
    look: Mapping[str, Any] | None = None  # the share of ε for whether the public sample fits, and the answer
    point: list[float] | None = None  # the draw's coordinates, before ``after``; None until it is made
    reach: float | None = None  # how far from the centre records lie, in all directions; None: not known
    after: list[str] = field(default_factory=list)  # what is done to the draw, as terms.After; in order


@dataclass(frozen=True)
class SpreadOf:
    """What was released of the spread of the records, for the region of the population's mean."""

    share: float  # of ε
    scale: float  # of the Laplace noise
    second_moment: float | None = None  # the noisy mean of ‖wᵢ‖² in the chart; None until it is drawn


@dataclass(frozen=True)
class ErrorOf:
    """A radius about the value that holds the statistic of the clipped records with the probability stated."""

    probability: float
    radius: float
    distance: str  # in which the radius is stated
    quantiles: Mapping[str, float] = field(default_factory=dict)  # radii for further probabilities, rising

    @property
    def geodesic(self) -> bool:
        """Whether it is a distance along the space, not in the flat space around it."""
        return self.distance == GEODESIC


@dataclass(frozen=True)
class WholeOf:
    """The whole error: noise, clipping, what is left out and curvature.  By a public sample it is a model, not a proof."""

    quantiles: Mapping[str, float]  # radii for rising probabilities, as foreseen
    drawn: Mapping[str, float] = field(default_factory=dict)  # the same after the draw, where that tells more
    rms: float | None = None  # root mean square of the error of the value; None without a model
    public: float | None = None  # the same of the public centre alone
    relation: str = ""  # of a public sample to the records, as the curator said

    def check(self) -> None:
        """Raise a ValueError if these are not figures of one release."""
        if "0.95" not in self.quantiles or (self.drawn and self.drawn.keys() != self.quantiles.keys()):
            raise ValueError("the whole error is not stated for the same probabilities before and after the draw")
        if not all(x is None or x > 0 for x in (self.rms, self.public)):
            raise ValueError("the expected errors are not positive")
        if self.relation not in ("", "same", "related", "other"):
            raise ValueError(f"public specimens are the same, related or other, not {self.relation!r}")

    @property
    def gain(self) -> float | None:
        """How many times nearer to the mean the value is expected to be than the public centre."""
        return None if self.public is None or not self.rms else self.public / self.rms


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """All that is public about a release, and known before it is made."""

    statistic: str
    space: SpaceOf
    ball: BallOf
    n: int
    mechanism: MechanismOf
    calibration: CalibrationOf
    sampler: str
    lattice_spacing: float
    generator: str
    predicted_error: ErrorOf | None
    version: str
    time: str
    chart: ChartOf | None = None
    after: str = ""  # what was done to the draw with public numbers alone
    spread: SpreadOf | None = None
    spent: Mapping[str, float] = field(default_factory=dict)  # shares of ε by their purpose; see ``shares``
    scalar: Scalar | None = None  # what the value is about, if it is one number
    whole: WholeOf | None = None  # earlier versions stated the noise alone
    prepared: Mapping[str, Any] = field(default_factory=dict)  # what landmarks went through: terms.PREPARED

    def __post_init__(self) -> None:
        if self.scalar is None and self.statistic in BY_NAME:
            object.__setattr__(self, "scalar", BY_NAME[self.statistic].within(self.ball))

    def of(self, data: object) -> Self:
        """Return the record of such data, a Dataset or another record: with what was asked to be done to them before."""
        return replace(self, prepared=dict(getattr(data, "prepared", {})))

    def copied(self) -> Self:
        """Return a copy whose lists and mappings may be changed: plans are kept, and what they know must not change."""
        parts: dict[str, Any] = {
            "ball": replace(self.ball, center=np.array(self.ball.center).tolist()),
            "calibration": replace(self.calibration, numbers=dict(self.calibration.numbers)),
        }
        if self.predicted_error is not None:
            parts["predicted_error"] = replace(self.predicted_error, quantiles=dict(self.predicted_error.quantiles))
        if self.whole is not None:
            parts["whole"] = replace(self.whole, quantiles=dict(self.whole.quantiles), drawn=dict(self.whole.drawn))
        if self.chart is not None:
            basis = None if self.chart.basis is None else [row[:] for row in self.chart.basis]
            parts["chart"] = replace(self.chart, axes=self.chart.axes[:], basis=basis, after=self.chart.after[:])
        return replace(self, **parts)

    @property
    def kind(self) -> Kind:
        """What the value is: a mean, one number, or what an objective of the user's own is least at."""
        if self.scalar is not None:
            return Kind.SCALAR
        return Kind.OBJECTIVE if "objective" in self.mechanism.options else Kind.MEAN

    @property
    def found(self) -> str:
        """How the ball was found privately, in words; empty for a public one."""
        return self.ball.source or found_in_chart(self.chart)

    @property
    def found_privately(self) -> bool:
        """Whether the ball was found privately, with a part of ε, and is not public knowledge."""
        return bool(self.found)

    @property
    def shares(self) -> dict[str, float]:
        """The shares of the whole ε that were spent on something else than the value, by their :class:`Purpose`."""
        return dict(self.spent) or shares_in(self.calibration.formula)

    def document(self) -> dict[str, Any]:
        """Return the record as it stands in a file, where what is empty is left out."""
        parts = plain({part.name: getattr(self, part.name) for part in fields(Record)})
        for name, newer in NEWER_IN.items():
            if parts[name] is not None:
                parts[name] = {part: x for part, x in parts[name].items() if part not in newer or x not in EMPTY}
        if self.statistic in BY_NAME and self.scalar == BY_NAME[self.statistic].within(self.ball):
            del parts["scalar"]  # the name says it all
        return {name: part for name, part in parts.items() if name not in NEWER or part}

    def released(self, value: Array, guarantee: Guarantee, on_manifold: bool, **drawn: Any) -> "Release":
        """Return the release, once its value is drawn; with its ``unprojected`` point and ``bias``, where it has them."""
        parts = {part.name: getattr(self, part.name) for part in fields(Record)}
        return Release(value=value, guarantee=guarantee, on_manifold=on_manifold, **parts, **drawn)


@dataclass(frozen=True, eq=False, kw_only=True)
class Release(Record, Document, Shown):
    """A private statistic with its record.  Nothing in it depends on the data, beyond their number, but the private draw and
    what follows from it: ``value``, ``unprojected``, ``bias``, ``degrees``, the answer of a look, and the private ``spread``.
    """

    value: Array
    guarantee: Guarantee
    on_manifold: bool
    unprojected: Array | None = None
    bias: float | None = None
    degrees: Mapping[str, float] | None = None
    additions: Mapping[str, Any] = field(default_factory=dict)  # entries of a file that this version does not know

    format: ClassVar[str] = FORMAT
    noun: ClassVar[str] = "release record"
    shown_by: ClassVar[str] = "released"

    @property
    def record(self) -> dict[str, Any]:
        """Everything but the value and the guarantee, as in the file."""
        more = {name: plain(getattr(self, name)) for name in ("bias", "degrees", "unprojected")}
        known = {name: part for name, part in more.items() if part is not None}
        return {**self.document(), "on_manifold": self.on_manifold, **known, **self.additions}

    @property
    def raw(self) -> Array:
        """The draw itself: what ``value`` is before anything was done to it with public numbers (see ``after``)."""
        return self.value if self.unprojected is None else self.unprojected

    def error(self, p: float) -> float:
        """Return a radius about the released value that is to hold the mean of the records with probability p: the whole error.

        With a public sample or a model of smoothness it counts noise, clipping, what is left out and curvature, as far as
        public knowledge tells (proofs, Result 11), foreseen and again after the draw, of which the larger is taken.  In other
        regions it is the noise and the curvature.  Probabilities are those of :meth:`noise`.
        """
        check_probability(p)
        whole = self.whole
        if whole is None:
            self.noise(p)  # which raises where not even that is known
            raise ValueError("an earlier version made this record: only the noise is known, which noise(p) states")
        return max(stated_at(part, p) for part in (whole.quantiles, whole.drawn) if part)

    def stated(self, p: float) -> float:
        """Return the whole error, or the noise where only that is known, as of records of earlier versions."""
        return self.noise(p) if self.whole is None else self.error(p)

    @property
    def gain(self) -> float | None:
        """How many times nearer to the mean the value is expected to be than the public centre alone; None if not known."""
        return None if self.whole is None else self.whole.gain

    def noise(self, p: float) -> float:
        """Return a radius about the released value that holds the mean of the clipped records with probability at least p.

        It says nothing of how far clipping moved that mean.  It comes from public numbers alone: the quantile of the
        mechanism (exact for the Laplace mechanisms, a proven bound for KNG and the exponential mechanism) plus what the
        lattice can move a point.  Between two probabilities that are stored the larger one's radius is taken; one above
        0.999999 is refused.  ``predicted_error`` says in which distance.
        """
        check_probability(p)
        error = self.predicted_error
        if error is None:
            raise ValueError("this record states no error: nothing public is known of it")
        return stated_at(error.quantiles or {f"{error.probability:g}": error.radius}, p)

    def region(self, level: float = 0.95) -> "PopulationRegion":
        """Return where the mean of the population lies that was sampled, at a confidence ``level`` from 0.85 to 0.999.

        It counts sampling error and noise, and is about the chart's mean of records as they are clipped.  Ask for
        it before the release, with ``private_mean(…, inference=0.1)``: a tenth of ε then goes into the spread of the records.
        Without that a release by chart has a region as wide as if the records filled their public region.  By a public sample
        there is one only if a look said that it fits, or it is of the same population, and the draw does not contradict.
        """
        from .population import population_region

        return population_region(self, level)

    def in_degrees(self, names: tuple[str, str] = ("lat", "lon")) -> Self:
        """Return the release with the value in degrees in its record too: a function of the value alone.

        Longitudes are between −180 and 180; angles of other names, as a right ascension, between 0 and 360.
        """
        space = self.space.known
        angles = None if space is None else space.to_degrees(self.value)
        if angles is None:
            return self
        latitude, longitude = angles.tolist()
        if "lon" not in names[1].lower() and "lng" not in names[1].lower():
            longitude %= 360
        return replace(self, degrees={names[0]: latitude, names[1]: longitude})

    @property
    def estimate(self) -> str:
        """What the value is close to, in a few words."""
        if self.scalar is not None:
            return f"{self.scalar.mean}, each number clipped to the public limits"
        several = "weighted mean of the means" if self.mechanism.name == COMBINED else "mean"
        return f"the {'statistic' if self.kind is Kind.OBJECTIVE else several} of the clipped records"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the value alone, for NumPy."""
        return np.array(self.value, dtype=dtype, copy=copy)

    def content(self) -> dict[str, Any]:
        return {"value": self.value.tolist(), "guarantee": plain(self.guarantee), **self.record}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Self:
        own = {part.name for part in fields(cls)} - {"additions"}
        needed = {part.name for part in fields(cls) if part.default is MISSING and part.default_factory is MISSING}
        if missing := needed - content.keys():
            raise ValueError(f"{', '.join(sorted(missing))} missing")
        release = built(cls, {name: entry for name, entry in content.items() if name in own})
        if "objective" in release.mechanism.options:  # earlier versions wrote an unconditional promise
            release = replace(release, guarantee=replace(release.guarantee, private=False, condition=STATED))
        release.check()
        return replace(release, additions=without(content, *own))

    @staticmethod
    def digest(document: Mapping[str, Any]) -> str:
        """Return the SHA-256 of a document, however it is laid out."""
        return hash_of(compact(document))

    @classmethod
    def is_intact(cls, document: Mapping[str, Any]) -> bool:
        """Return whether a document is what was saved.  One without a SHA-256 was never saved, as :meth:`to_json` gives it,
        unless its SHA-256 stands under another name."""
        if document.get("sha256") is not None:
            return super().is_intact(document)
        rest = without(document, "sha256")
        return not any(entry == cls.digest(without(rest, key)) for key, entry in rest.items())

    def check(self) -> None:
        _check_value(self.value, self.space.known)
        self.guarantee.check()
        if self.guarantee.epsilon != self.calibration.epsilon:
            raise ValueError("the guarantee and the calibration state different epsilons")
        chart = self.chart
        if chart and chart.point is not None and [*map(is_number, chart.point)] != [True] * len(chart.axes):
            raise ValueError("the coordinates of the draw are not one number for each axis of the chart")
        error = self.predicted_error
        whole = self.whole
        stored = [] if error is None else [error.quantiles]
        stored += [] if whole is None else [whole.quantiles, whole.drawn]
        if any([*map(float, quantiles)] != sorted(map(float, quantiles)) for quantiles in stored):
            raise ValueError("the probabilities of the stored errors do not rise")
        if whole is not None:
            whole.check()
        if any(type(entry) is not PREPARED.get(name, type(entry)) for name, entry in self.prepared.items()):
            raise ValueError("what landmarks went through before is not said as this version says it")
        if chart and any(step not in [*After] for step in chart.after):
            raise ValueError("something was done to the draw that is not known")


def stated_at(quantiles: Mapping[str, float], p: float) -> float:
    """Return the radius of the least probability stored that is p or more."""
    for probability, radius in quantiles.items():
        if p <= float(probability):
            return radius
    raise ValueError(f"this record states its error up to a probability of {list(quantiles)[-1]}, not for {p!r}")


def _check_value(value: Array, space: Space | None) -> None:
    """Raise a ValueError if a value is not a point of its space, as far as its shape tells."""
    if space is not None and space.dim > value.size:  # before anything of that size is made
        raise ValueError(f"{value.size} numbers are not a point of {space}")
    if not np.isfinite(value).all():
        raise ValueError("the value holds NaN or an infinite number")
    if space is not None and value.shape != space.present(space.origin()).shape:
        raise ValueError(f"a value of shape {value.shape} is not a point of {space}")
