"""What leaves the curator's room: a value, its guarantee, and a record of public numbers.

A record tells all that its readers need: loading one, describing it and drawing it ask no mechanism, and no space of it need be
known here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from ..atomic import write_atomically
from ..errors import RecordError, UnknownSpaceError, printable
from ..numerics.arrays import Array
from ..shown import Shown
from ..spaces import Space, recorded_name, space_from
from .terms import Kind, Neighbours, Scalar, found_in_chart, is_lowered, named_scalar, shares_in

if TYPE_CHECKING:
    from .population import PopulationRegion

FORMAT = "sfumato release 1"
PROBABILITIES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)  # at which a record states its error
NEWER = ("chart", "after", "spread", "spent", "scalar")  # which earlier versions did not write; left out where empty
GROUPED = Neighbours.GROUPS
STATED = "if the stated sensitivity holds: not checked"  # the condition of a release whose objective is a user's own


@dataclass(frozen=True)
class Guarantee:
    """What is promised: (ε, δ)-differential privacy with δ = ``numerical_delta``, which is what a computer adds to pure ε.

    ``numerical_delta`` is 1 + e^ε times a bound on the chance that rounding error moves a draw to another lattice point.
    ``numerical_epsilon`` is what rounding error in the density takes up; it is part of ``epsilon``.  ``clock_delta`` is the
    chance that the running time of the sampler depends on the data (None: not bounded).

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

    @property
    def grouped(self) -> bool:
        """Whether this is the promise of one of several groups that were released together."""
        return self.neighbours == Neighbours.GROUPS


@dataclass(frozen=True)
class SpaceOf:
    """The space of a release, by its name: one that is not among the known ones is as good, if it has a name of its own."""

    name: str
    parameters: Mapping[str, Any]
    metric: str

    @classmethod
    def of(cls, space: Space) -> SpaceOf:
        return cls(recorded_name(space), space.parameters(), space.metric)

    @property
    def known(self) -> Space | None:
        """The space itself; None if this version of sfumato does not know it, or a part of it."""
        try:
            return space_from(self.name, dict(self.parameters))
        except UnknownSpaceError:
            return None


@dataclass(frozen=True)
class BallOf:
    """The ball: its centre, as the space presents it, its radius, and how it was found privately (empty: it was public)."""

    center: list[Any]
    radius: float
    source: str = ""


@dataclass(frozen=True)
class MechanismOf:
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

    @property
    def lowered(self) -> bool:
        """Whether σ is that of a smaller ε than was asked for, as double precision can carry no more."""
        return is_lowered(self.formula)


@dataclass(frozen=True)
class ChartOf:
    """The chart of a release: the semi-axes of the ellipsoid, their directions in the space's coordinates at the centre (None:
    all, in their order), where they come from, the typical distance of a mean from the centre, how many directions are frozen
    there, a bound on how far the chart's mean is from the Fréchet mean of the records in it (None: not known), the draw's
    own coordinates in it, before anything was done to it with public numbers (None before the release is made), and the
    distance from the centre within which records lie, in all directions (None: not known)."""

    axes: list[float]
    basis: list[Any] | None
    source: str
    spread: float
    frozen: int
    bias: float | None
    look: Mapping[str, Any] | None = (
        None  # what part of ε was spent on whether the public sample fits, and what it found
    )
    point: list[float] | None = None
    reach: float | None = None


@dataclass(frozen=True)
class SpreadOf:
    """What was released of the spread of the records, for the region of the population's mean: the share of ε for it, and the
    mean of ‖wᵢ‖² in the chart with Laplace noise of this ``scale`` (None before the release is made)."""

    share: float
    scale: float
    second_moment: float | None = None


@dataclass(frozen=True)
class ErrorOf:
    """A radius that holds the statistic of the clipped records with the probability stated, in which distance; and radii for
    further probabilities, rising.  Earlier versions stored one only."""

    probability: float
    radius: float
    distance: str
    quantiles: Mapping[str, float] = field(default_factory=dict)


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

    def __post_init__(self) -> None:
        if self.scalar is None:
            object.__setattr__(self, "scalar", named_scalar(self))

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
        """As it stands in a file; what is empty there stays out."""
        found = {part.name: _plain(getattr(self, part.name)) for part in fields(Record)}
        if not found["ball"]["source"]:
            del found["ball"]["source"]
        if found["chart"] is not None and found["chart"]["reach"] is None:
            del found["chart"]["reach"]
        if found["predicted_error"] is not None and not found["predicted_error"]["quantiles"]:
            del found["predicted_error"]["quantiles"]
        if self.scalar == named_scalar(self):  # the name says it all
            del found["scalar"]
        return {name: part for name, part in found.items() if name not in NEWER or part}

    def released(
        self,
        value: Array,
        guarantee: Guarantee,
        on_manifold: bool,
        unprojected: Array | None = None,
        bias: float | None = None,
    ) -> Release:
        """The release, once its value is drawn."""
        parts = {part.name: getattr(self, part.name) for part in fields(Record)}
        parts |= {"value": value, "unprojected": unprojected, "bias": bias}
        return Release(guarantee=guarantee, on_manifold=on_manifold, **parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class Release(Record, Shown):
    """A private statistic with its record.  Nothing in it depends on the data, beyond their number, but the private draw and
    what follows from it: ``value``, ``unprojected``, ``bias``, ``degrees``, what a look found, and the private ``spread``.

    ``additions`` are entries of a file that this version does not know; they are kept.
    """

    value: Array
    guarantee: Guarantee
    on_manifold: bool
    unprojected: Array | None = None
    bias: float | None = None
    degrees: Mapping[str, float] | None = None
    additions: Mapping[str, Any] = field(default_factory=dict)

    shown_by: ClassVar[str] = "released"

    @property
    def record(self) -> dict[str, Any]:
        """Everything but the value and the guarantee, as in the file."""
        more: dict[str, Any] = {"bias": self.bias, "degrees": None if self.degrees is None else dict(self.degrees)}
        more["unprojected"] = None if self.unprojected is None else self.unprojected.tolist()
        known = {name: part for name, part in more.items() if part is not None}
        return {**self.document(), "on_manifold": self.on_manifold, **known, **self.additions}

    @property
    def raw(self) -> Array:
        """The draw itself: what ``value`` is before anything was done to it with public numbers (see ``after``)."""
        return self.value if self.unprojected is None else self.unprojected

    def error(self, p: float) -> float:
        """A radius about the released value that holds the mean of the clipped records with probability at least p.

        Records outside the public ball were moved to its edge first, so this says nothing of how far that moved the mean.

        From public numbers only, computed when the release was made: the quantile of the mechanism (exact for the Laplace
        mechanisms, a proven bound for KNG and the exponential mechanism) plus what the lattice can move a point.  A
        probability between two that are stored takes the larger one's radius; one above all of them, 0.999, is refused.
        ``predicted_error`` says in which distance, and from which statistic.
        """
        from ..laws.radial import check_probability

        check_probability(p)
        if self.predicted_error is None:
            raise ValueError("this record states no error: nothing public is known of it")
        stated = self.predicted_error.quantiles or {
            f"{self.predicted_error.probability:g}": self.predicted_error.radius
        }
        for probability, radius in stated.items():
            if p <= float(probability):
                return radius
        raise ValueError(f"this record states its error up to a probability of {list(stated)[-1]}, not for {p:g}")

    def region(self, level: float = 0.95) -> PopulationRegion:
        """Where the mean of the population lies that the records are a sample of, at a confidence ``level`` from 0.85 to 0.999.

        It counts the chance of the sample and the noise, and is about the chart's mean of records as they are clipped.  Ask for
        it before the release, with ``private_mean(…, inference=0.1)``: a tenth of ε then goes into the spread of the records.
        Without that a release by chart has a region as wide as if the records filled their public region.
        """
        from .population import population_region

        return population_region(self, level)

    def in_degrees(self, names: tuple[str, str] = ("lat", "lon")) -> Release:
        """The same release, whose record also says the value in degrees: a function of the value alone.

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
            return f"{self.scalar.mean}, each number held to the public limits"
        return f"the {'statistic' if self.kind is Kind.OBJECTIVE else 'mean'} of the clipped records"

    @property
    def sha256(self) -> str:
        """The sum of the whole release, which stands in its file and beside its charge in a ledger."""
        return _sum(json.loads(self.to_json()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The value alone, for NumPy."""
        return np.array(self.value, dtype=dtype, copy=copy)

    def to_json(self) -> str:
        document = {"format": FORMAT, "value": self.value.tolist(), "guarantee": asdict(self.guarantee), **self.record}
        return _text(document)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The release that :meth:`to_json` wrote; a RecordError says what is wrong with any other text."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise RecordError(f"this is not a release record: line {error.lineno}: {error.msg}") from None
        except (RecursionError, ValueError) as error:
            raise RecordError(f"this is not a release record: {error}") from None
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise RecordError(f"this is not a release record: it does not say {FORMAT!r} under 'format'")
        document.pop("sha256", None)
        try:
            release = cls(**_parts(document), additions=document)
            _check_value(release)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise RecordError(f"this release record is incomplete or altered: {error}") from None
        return release

    def save(self, path: str | os.PathLike[str], overwrite: bool = True) -> None:
        """Write the record as JSON, whole or not at all; it ends with the SHA-256 of the rest, which :meth:`load` checks.

        With ``overwrite=False`` a file that is there already stays, and a FileExistsError is raised.
        """
        write_atomically(Path(path), _text({**json.loads(self.to_json()), "sha256": self.sha256}), overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a record that :meth:`save` wrote; a damaged one is refused with a RecordError, which is a ValueError."""
        try:
            text = Path(path).read_text(encoding="utf-8")
            release, document = cls.from_json(text), json.loads(text)
            noted = document.pop("sha256", None)
            if noted is None:  # one that was never saved, unless its sum stands under another name
                altered = any(
                    _sum({k: v for k, v in document.items() if k != key}) == document[key] for key in document
                )
            else:
                altered = noted != _sum(document)
            if altered:
                raise RecordError("this release record was altered since it was saved; take another copy of it")
        except ValueError as error:
            raise RecordError(printable(f"{path}: {str(error)[:600]}")) from None
        return release


# -- between typed parts and JSON ---------------------------------------------------------------------------------------
PARTS: dict[str, type] = {
    "space": SpaceOf,
    "ball": BallOf,
    "mechanism": MechanismOf,
    "calibration": CalibrationOf,
    "predicted_error": ErrorOf,
    "chart": ChartOf,
    "spread": SpreadOf,
    "scalar": Scalar,
}
T = TypeVar("T")


def _plain(part: Any) -> Any:
    return asdict(part) if hasattr(part, "__dataclass_fields__") else part


def _parts(document: dict[str, Any]) -> dict[str, Any]:
    """The typed parts of a document, taken out of it; a TypeError or ValueError if one is missing or of another kind."""
    taken: dict[str, Any] = {"value": np.asarray(document.pop("value"), dtype=np.float64)}
    guarantee = _typed(Guarantee, document.pop("guarantee"))
    needed = [*(part.name for part in fields(Record) if part.name not in NEWER), "on_manifold"]
    if missing := set(needed) - document.keys():
        raise ValueError(f"{', '.join(sorted(missing))} missing")
    optional = {*NEWER, "degrees", "bias", "unprojected"} & document.keys()
    taken |= {name: document.pop(name) for name in [*needed, *optional]}
    _check_kinds(Release, taken)
    taken |= {name: _typed(kind, taken[name]) for name, kind in PARTS.items() if taken.get(name) is not None}
    if taken.get("unprojected") is not None:
        taken["unprojected"] = np.asarray(taken["unprojected"], dtype=np.float64)
    if "objective" in taken["mechanism"].options:  # earlier versions wrote an unconditional promise
        guarantee = replace(guarantee, private=False, condition=STATED)
    return {**taken, "guarantee": guarantee}


def _typed(kind: type[T], given: Mapping[str, Any]) -> T:
    _check_kinds(kind, given)
    return kind(**given)


def _is_number(x: Any) -> bool:
    return type(x) in (int, float) and math.isfinite(x)


def _check_kinds(kind: type, given: Mapping[str, Any]) -> None:
    """A TypeError if what stands in a document is not of the kind that the field of this name has."""
    for part in fields(kind):
        if part.name not in given or (given[part.name] is None and str(part.type).endswith("| None")):
            continue
        x, wanted = given[part.name], str(part.type).removesuffix(" | None")
        if wanted == "str" and not isinstance(x, str):
            raise TypeError(f"{part.name}: expected words, got a number")
        if wanted == "float" and not _is_number(x):
            raise TypeError(f"{part.name}: expected a finite number")
        if wanted == "Mapping[str, float]" and not all(map(_is_number, x.values())):
            raise TypeError(f"{part.name}: expected finite numbers")
        if wanted == "int" and type(x) is not int:
            raise TypeError(f"{part.name} must be a whole number")
        if wanted == "bool" and type(x) is not bool:
            raise TypeError(f"{part.name} must be true or false")
        if wanted.startswith("Mapping") and not isinstance(x, dict):
            raise TypeError(f"{part.name} must hold names and values")


def _check_value(release: Release) -> None:
    """A ValueError if parts of a record do not go together."""
    value, space, error = release.value, release.space.known, release.predicted_error
    if space is not None and math.prod(space.point_shape) > value.size:  # before anything of that size is made
        raise ValueError(f"{value.size} numbers are not a point of {space}")
    if not np.isfinite(value).all():
        raise ValueError("the value holds NaN or an infinite number")
    if space is not None and value.shape != space.present(space.origin()).shape:
        raise ValueError(f"a value of shape {value.shape} is not a point of {space}")
    if not release.guarantee.epsilon > 0:
        raise ValueError("epsilon must be positive")
    if release.guarantee.epsilon != release.calibration.epsilon:
        raise ValueError("the guarantee and the calibration state different epsilons")
    chart = release.chart
    if chart and chart.point is not None and [*map(_is_number, chart.point)] != [True] * len(chart.axes):
        raise ValueError("the coordinates of the draw are not one number for each axis of the chart")
    stored = [] if error is None else [float(p) for p in error.quantiles]
    if stored != sorted(stored):
        raise ValueError("the probabilities of the stored errors do not rise")


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sum(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document, however it is laid out."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
