"""From a request to its record: what the command line and the studio both do, and each file read once."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, Fix, InvalidPointError, Refusal, SfumatoError
from ..files import Dataset
from ..files.labels import groups_of, numbers_of, with_table
from ..files.parquet import read_first
from ..files.people import RECORD, check_words, named_labels, repeated_labels
from ..files.reading import read, reader
from ..files.writing import check_format
from ..findings import centroid_size, compare_groups, private_components, private_regression, private_variance
from ..findings.regression import LOG_SIZE
from ..findings.session import Session
from ..landmarks.specimens import estimated, slide
from ..landmarks.symmetry import read_pairs, symmetrize
from ..mechanisms.choice import MECHANISMS
from ..records import Progress
from ..records import sources as streamed
from ..regions import Ball, Ellipsoid, Region, widest_ball
from ..regions.sketch import from_landmarks
from ..release import Release
from ..release.ledger import Ledger
from ..release.shared import load_region
from ..spaces import SPACES, Family, Space, space_typed
from ..views import VIEWS
from ..views.base import View
from ..views.curator import of_clipping, of_estimates, region_used
from ..views.outputs import check_comparable, check_outputs
from ..views.plots import read_links, read_names
from .request import SIZE, Request, refusal

Reader = Callable[..., Dataset]  # of files that are parsed once
Reading = dict[str, Any]  # how: columns, array, missing, curves
ONE = "give a file with one public record"
OTHERS = "so it is not public; give specimens of others, which anyone may see"


@dataclass
class Workflow:
    """One release, or one comparison of groups: checks, records, region, and what is made of them, in this order.

    ``whole``: whether a large file is read whole where parts would not do; otherwise that is refused.
    """

    request: Request
    whole: bool = False
    data: Dataset = field(init=False)
    space: Space = field(init=False)
    family: Family = field(init=False)
    region: Region = field(init=False)
    columns: dict[str, Any] = field(default_factory=dict, init=False)  # groups and the like, by their wishes
    known: Dataset | None = field(default=None, init=False)  # public specimens
    reference: Any = field(default=None, init=False)  # these as they came, or one public shape
    told: str = field(default="", init=False)  # to the curator
    looks: tuple[Any, list[str]] = field(init=False)  # lines and names in pictures
    unit: dict[str, Any] = field(default_factory=dict, init=False)

    # -- before any record is read -------------------------------------------------------------------------------------------
    @property
    def paths(self) -> list[Path]:
        return [Path(name) for name in self.request.files]

    def check(self) -> None:
        """Raise an error for all that can be refused before a record is read, but for the budget."""
        r = self.request
        r.complete()
        if r.by:
            check_comparable(f"{r.by} and {r.within}" if r.within else r.by, r.labels_are_public)
        check_outputs({"out": Path(r.out), **r.beside}, r.inputs, r.force)

    def ledger(self) -> Ledger | None:
        """Return the ledger that pays, if there is one."""
        if self.request.dataset and not self.request.ledger:
            raise refusal("<dataset> names a budget in a ledger: give <ledger> too, or nothing would be charged")
        return Ledger(self.request.ledger, self.request.dataset or None) if self.request.ledger else None

    @cached_property
    def parts(self) -> bool:
        """Return whether the records are read in parts."""
        r = self.request
        chosen = any(r.reading.values())
        odd = r.unit_column or r.symmetric or r.slide or chosen or self.paths[0].is_dir()
        if r.command != "release" or (self.whole and odd):
            return False
        memory = streamed.memory_bytes(r.memory)
        return streamed.in_parts(self.paths, memory, bool(r.unit_column), r.scheduler or None, chosen)

    # -- records and region ---------------------------------------------------------------------------------------------------
    def load(self, guess: bool = False) -> None:
        """Read the records, or the first of those that are read in parts; ``guess``: as the most usual of what they may be."""
        r = self.request
        if r.region:
            self.region, _ = public_region(r)
        known = self.region.space if r.region else self.mean.space.required if r.about else None
        family = None if known is None else Family(type(known), (), known.parameters())
        if self.parts:
            if not r.space and family is None:
                raise refusal(f"{self.paths[0]}: is read in parts, so say what its records are: <space:>", space="NAME")
            self.family = family or space_of_name(r.space)
            self.data = read_first(self.paths[0], self.family.sized(**r.sizes) or self.family)
        else:
            read = reader(self.paths[0] if len(self.paths) == 1 else self.paths)
            self.data, self.family = read_records(read, r, r.reading, guess, family)
        self.space = self.family.sized(**r.sizes) or self.family.shaped(self.data.points.shape[1:])
        self._take_columns()

    @cached_property
    def mean(self) -> Release:
        """Return the released mean that records vary about."""
        return Release.load(self.request.about)

    def _take_columns(self) -> None:
        """Take the columns that say groups and the like from the labels, of which others may say whose record it is."""
        r = self.request
        wanted = {wish: name for wish in ("by", "within", "on") if (name := getattr(r, wish)) and name != SIZE}
        for wish, name in wanted.items():
            if r.labels and (name not in self.data.labels or (wish == "by" and r.command == "compare")):
                self.data = with_table(self.data, r.labels, name)
        self.columns = {wish: groups_of(self.data, name) for wish, name in wanted.items()}
        if r.on and r.on != SIZE:
            self.columns["on"] = self._numbers(self.data)
        labels = {name: column for name, column in self.data.labels.items() if name not in wanted.values()}
        self.data = replace(self.data, labels=labels)

    def make_region(self) -> None:
        """Make the public region for these records, unless a file holds it."""
        r = self.request
        if r.region:
            self.reference = self.space.present(self.region.center)
            return
        if r.public:
            sample = sample_beside(r, self.data, self.family)
            self.reference = sample.points
            self.known = prepared(r, sample, self.family)
            self.region = region_of(r, self.space, self.known)
        else:
            self.reference = None if r.prior_limits is not None else read_center(r, self.space, self.data)
            self.region = region_of(r, self.space, None, self.reference)

    def settle(self) -> None:
        """Make the region, and bring records, units and pictures to it: only the noise can refuse anything afterwards."""
        r = self.request
        self.looks = self._looks()
        if r.public or not r.about:
            self.make_region()
        if self.parts and (r.symmetric or r.slide):
            raise refusal("<symmetric> and <slide> go with files that are read whole: give more <memory>, or one file")
        self.complete()
        if r.on == SIZE:
            self.columns["on"] = self._numbers(self.data)
        self.data = symmetrized(r, self.data)
        self.unit = self.unit_of(r.unit)

    def complete(self) -> None:
        """Estimate missing landmarks and slide semilandmarks, as is wished; refuse specimens that cannot be completed."""
        r = self.request
        came = self.data
        self.data, bad = completed(r, came, self.mean.value if r.about and self.reference is None else self.reference)
        self.told = of_estimates(came, bad) if "estimate" in r.missing else ""
        if bad and r.invalid == "raise":
            with self._rows_named():
                raise InvalidPointError(bad)

    def _looks(self) -> tuple[Any, list[str]]:
        """Return lines between landmarks and names of channels for pictures; wrong ones cost nothing yet."""
        r = self.request
        shape = self.data.points.shape[1:]
        names = read_names(r.channels) if r.channels else []
        if r.channels:
            (VIEWS.get(self.space.name) or View()).check_names(names, shape)
        if r.value:
            with _of(Fix("value", r.value)):
                check_format(r.value, self.space.kind, shape)
        return (read_links(r.links, shape[0]) if r.links else None), names

    def unit_of(self, unit: str) -> dict[str, Any]:
        """Return the unit in words, or the labels of a column and what they stand for; without words nothing may repeat."""
        column = self.request.unit_column
        labels = self.data.labels
        if not column:
            repeated = {**(named_labels(labels) if self.parts else {}), **repeated_labels(labels)}
            check_words(unit or None, labels, repeated)
            return {"unit": unit or RECORD}
        if column not in labels:
            known = ", ".join(labels) or "none"
            raise FileError(f"{self.data.path}: there is no column {column!r}; columns beside the points: {known}")
        if unit == RECORD:
            words = "<unit:> says that each record stands for itself, and <unit_column:> whose records they are: leave one out"
            raise refusal(words, unit=unit, unit_column=column)
        return {"unit": labels[column], "unit_name": unit or f"one {column}: all its records"}

    # -- the release ---------------------------------------------------------------------------------------------------------
    def run(self, session: Session, progress: Progress | None = None) -> Any:
        """Plan, charge, draw and write the record."""
        r = self.request
        how = {**self.unit, "force": r.force, **r.said}
        with self._rows_named(), ExitStack() as stack:
            if r.command != "release":
                function, *arguments, more = self._asked()
                return session.run(function, self.data, *arguments, privacy=r.privacy, **how, **more)
            points: Any = self.data
            memory = streamed.memory_bytes(r.memory)
            if self.parts:
                points = streamed.open_parts(stack, self.paths, self.space, memory, r.workers, r.scheduler or None)
            how |= asked(r, self.region) | {"workers": r.workers, "memory": memory, "progress": progress}
            return session.release(points, privacy=r.privacy, degrees=self.data.degrees, **how)

    def _asked(self) -> tuple[Any, ...]:
        """Return the function that releases what is asked for, its arguments beside the records, and its other options."""
        r = self.request
        if r.command == "variance":
            return private_variance, self.mean, {}
        if r.command == "components":
            more = {"region": self.region} if r.about and r.public else {}
            return private_components, self.mean if r.about else self.region, {"modes": r.modes, **more}
        if r.command == "compare":
            return compare_groups, self.columns["by"], self.region, {"within": self.columns.get("within")}
        known = self.known is not None and (r.on == SIZE or r.on in self.known.labels)
        how = {"public_covariate": self._numbers(self.known) if known else None, "by": self.columns.get("by")}
        how |= {"limits": r.within_limits, "covariate_is_public": r.number_is_public}
        return private_regression, self.columns["on"], self.region, how | {"name": LOG_SIZE if r.on == SIZE else r.on}

    def _numbers(self, data: Any) -> Any:
        """Return the covariate of specimens."""
        return np.log(centroid_size(data)) if self.request.on == SIZE else numbers_of(data, self.request.on)

    def clipping(self, done: Any) -> str:
        """Return how many records were clipped: for the curator's eyes."""
        if self.request.about:
            return ""
        return of_clipping(region_used(self.region, done), self.data.points, first=self.parts)

    @contextmanager
    def _rows_named(self) -> Iterator[None]:
        """Name a bad record by its file, and by its place in that."""
        try:
            yield
        except InvalidPointError as error:
            files = self.request.files
            where = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
            words = str(error)
            if not self.parts:
                words = words.replace(f"record {error.row}", self.data.where(error.row), 1)
            way = Fix("invalid", "center"), *([] if self.parts else estimating(self.request, self.data, error.row))
            raise FileError(f"{where}: {words}. Mend the record, or give ", *way) from None


def asked(request: Request, region: Region) -> dict[str, Any]:
    """Return what ``private_mean`` is asked for beside the records and ε: the region or prior, and what ε is spent on."""
    where: dict[str, Any] = {"region": region} if request.find is None else {"region": None, "prior": region}
    return where | {name: value for name, value in request.how.items() if value is not None}


# -- spaces --------------------------------------------------------------------------------------------------------------
def space_of_name(name: str) -> Family:
    """Return what a person typed as a space; a module in the folder where the command runs is found too."""
    if ":" in name and "" not in sys.path:
        sys.path.insert(0, "")
    return space_typed(name)


def named_space(request: Request) -> Space:
    """Return the space that the request names."""
    if not request.space:
        words = "say what the records are: <space:> ('sfumato spaces' lists them); or give <public:>"
        raise refusal(words, space="NAME", public="FILE")
    kind = space_of_name(request.space)
    space = kind.sized(**request.sizes) or kind.usual()
    if space is None:
        option = str(kind.of.size_option)
        if option in request.sizes:
            raise refusal(f"<space:> needs <{option}>", space=request.space)
        raise Refusal(Fix("space", request.space), " needs its size, as ", Fix("space", f"{request.space}({option}=3)"))
    return space


# -- files ---------------------------------------------------------------------------------------------------------------
def read_records(
    read: Reader, request: Request, reading: Reading, guess: bool = False, family: Family | None = None
) -> tuple[Dataset, Family]:
    """Return the records that ``read`` gives, and their kind of space: that which is known or named, or that they can only be.

    How many landmarks they have may tell it.  With ``guess`` any size may, and else the most usual kind is taken.
    """
    family = family or (space_of_name(request.space) if request.space else _family(read, request, reading, guess))
    return read(family.sized(**request.sizes) or family, **reading), family


def _family(read: Reader, request: Request, reading: Reading, guess: bool) -> Family:
    """Return what records can only be, or are by the size that is said."""
    said = _of_size(request)
    if {kind.kind for kind in said} == {"landmarks"} or (guess and len(said) == 1):
        fitting = (kind for kind in said if _reads(read, Family(kind).sized(**request.sizes), reading))
        return Family(next(fitting, said[0]))  # the first says why none fits
    seen = read(**reading)
    kinds = seen.usual
    if len(kinds) == 1 or (guess and kinds):
        return Family(kinds[0])
    ways = [part for kind in kinds for part in (" or ", Fix("space", kind.name))] or ["", Fix("space", "NAME")]
    what = "which may be several things" if kinds else "of no space that is known by itself"
    raise Refusal(f"{seen.path}: holds {seen.contents} ({seen.source}), {what}: say which, ", *ways[1:])


def _of_size(request: Request) -> list[type[Space]]:
    """Return the kinds of spaces whose size is said."""
    return [kind for kind in SPACES.values() if request.sizes.get(kind.size_option or "") and not kind.by_name]


def _reads(read: Reader, space: Any, reading: Reading) -> bool:
    """Return whether records can be read as points of a space."""
    try:
        read(space, **reading)
    except FileError:
        return False
    return True


def check_apart(wish: Fix, request: Request) -> None:
    """Raise an error if a public file, by whatever name or link, is that of the records, or one of their folder."""
    path = Path(str(wish.value))
    for records in map(Path, request.files):
        if path.exists() and records.exists():
            inside = records.is_dir() and path.resolve().is_relative_to(records.resolve())
            if inside or path.samefile(records):
                raise Refusal(wish, f": is the file of the records itself, {OTHERS}")


def read_sample(request: Request, family: Family | None) -> tuple[Dataset, Family]:
    """Return the public specimens as they came, and what they are."""
    sample, family = read_records(reader(Path(request.public)), request, request.reading_public, family=family)
    if len(sample) < 2:
        held = "1 specimen" if len(sample) else "no specimen"
        words = f"<public:>: holds {held}, and how far specimens differ is seen from two or more: give more, or "
        raise refusal(words + "<center> and <radius>", public=request.public)
    return sample, family


def prepared(request: Request, sample: Dataset, family: Family) -> Dataset:
    """Return public specimens, each of them a point of its space: completed as the records are."""
    made, reasons = completed(request, sample, sample.points)
    bad = family.shaped(made.points.shape[1:]).diagnose(made.points)[1] | reasons
    for row in sorted(bad):
        words = f": {sample.where(row)}: {bad[row]}. Mend this specimen, or leave it out"
        raise Refusal(Fix("public", request.public), words, *estimating(request, sample, row))
    return made


def estimating(request: Request, data: Dataset, row: int) -> list[str | Fix]:
    """Return the other remedy for a specimen with missing landmarks, unless it is said already."""
    if "estimate" in request.missing or data.kind != "landmarks" or not np.isnan(data.points[row]).any():
        return []
    return ["; or estimate what is missing, ", Fix("missing", ",".join(filter(None, ("estimate", request.missing))))]


def completed(r: Request, data: Dataset, reference: Any) -> tuple[Dataset, dict[int, str]]:
    """Return specimens, each estimated and slid by itself from what is public, as is wished; and why some stay incomplete."""
    bad: dict[int, str] = {}
    if ("estimate" in r.missing or r.slide) and data.kind != "landmarks":
        raise refusal(f"<missing:> and <slide> go with landmarks, and these are {data.kind}", missing="estimate")
    if "estimate" in r.missing:
        with _of(Fix("missing", r.missing)):
            data, bad = estimated(data, reference)
    if r.slide:
        with _of(Fix("slide", r.slide)):
            rows = data.sliders if r.slide == "curves" else read(r.slide, missing="none")
            if not len(rows):
                raise ValueError(f"{data.path} marks no curves with points to slide: give a table of semilandmarks")
            data = slide(data, reference, rows, r.slide_by)
    return data, bad


def sample_beside(request: Request, records: Dataset, family: Family) -> Dataset:
    """Return the public specimens beside the records: other ones, and of the same kind."""
    wish = Fix("public", request.public)
    check_apart(wish, request)
    private = f"{request.files[0]} holds {records.contents}"
    try:
        sample, _ = read_sample(request, family)
    except FileError as error:
        raise FileError(*error.parts, f". It must hold specimens like the records: {private}") from None
    if sample.points.shape[1:] != records.points.shape[1:]:
        raise Refusal(wish, f" holds {sample.contents}, but {private}: both must be of the same kind")
    same_order(wish, sample, records)
    shared = int(np.isin(_rows(records), _rows(sample)).sum())
    if shared == len(records):
        raise Refusal(wish, f": holds the records of {request.files[0]} themselves, {OTHERS}")
    if shared:
        both = f"{shared} of the records are in {request.public} too, and public already: leave them out of the records"
        warnings.warn(f"for the curator only, not part of the release: {both}", stacklevel=2)
    return sample


def same_order(wish: Fix, data: Dataset, records: Dataset | None) -> None:
    """Raise an error if two files name the same landmarks in another order."""
    other = () if records is None else records.landmarks
    if data.landmarks != other and sorted(data.landmarks) == sorted(other):
        first, second = next((a, b) for a, b in zip(data.landmarks, other, strict=True) if a != b)
        words = f": has landmark {first!r} where the records have {second!r}; put its landmarks in their order"
        raise Refusal(wish, words)


def _rows(data: Dataset) -> Any:
    """Return each record as one string of bytes."""
    flat = np.ascontiguousarray(data.points.reshape(len(data), -1) + 0.0)
    return flat.view(f"V{flat.itemsize * flat.shape[1]}").ravel()


def read_center(request: Request, space: Space, records: Dataset | None = None, read: Reader | None = None) -> Any:
    """Return the public centre: a word, or the only record of a file; by the columns of the records, if the file has them."""
    text = request.center
    wish = Fix("center", text)
    view = VIEWS.get(space.name) or View()
    if text == "origin" and view.origin:
        words = f" would be {view.origin} here, and no data lie about that: {ONE}, such as a published template, or a specimen"
        raise Refusal(wish, f"{words} that is declared public and left out of the data")
    if text in view.centers:
        return space.present(space.origin())
    if not Path(text).exists():
        words = f", or {' or '.join(view.centers)}" if view.centers and not view.origin else ""
        raise Refusal(wish, f": there is no such file; {ONE}{words}")
    check_apart(wish, request)
    read = read or reader(Path(text))
    same = {name: request.reading[name] for name in ("curves", "missing")}
    try:
        data = read(space, **same, columns=None if records is None else request.reading["columns"])
    except FileError:
        data = read(space, **same)
    if len(data) != 1:
        words = f"{text}: the centre must be a single public record, but the file holds {len(data)}; give a file with one, or, "
        raise refusal(f"{words}if these are public specimens, give them as <public>")
    if data.kind == "landmarks" and np.isnan(data.points).any():
        raise Refusal(wish, ": lacks landmarks, and a public centre must have all")
    same_order(wish, data, records)
    return data.points[0]


# -- regions -------------------------------------------------------------------------------------------------------------
def symmetrized(request: Request, points: Any) -> Any:
    """Return specimens made symmetric, if that is wished."""
    if not request.symmetric or points is None:
        return points
    with _of(Fix("symmetric", request.symmetric)):
        return symmetrize(points, read_pairs(request.symmetric))


@contextmanager
def _of(wish: Fix) -> Iterator[None]:
    """Begin the message of an error with the wish that it is about."""
    try:
        yield
    except ValueError as error:
        raise Refusal(wish, ": ", *(error.parts if isinstance(error, SfumatoError) else [str(error)])) from None


def region_of(request: Request, space: Any, sample: Dataset | None, center: Any = None) -> Region:
    """Return the region in a space, from the public sample or the public centre."""
    r = request
    if r.modes is not None and not 1 <= r.modes <= space.dim:
        raise refusal(f"<modes> must be from 1 to {space.dim}, the dimension of {space}, not {r.modes}")
    region: Region
    center = symmetrized(r, center)
    if r.region:
        region = load_region(r.region)
    elif sample is not None:
        how: dict[str, Any] = {"relation": r.relation or "related", "prior": r.directions or "auto"}
        region = Ellipsoid.from_sample(space, symmetrized(r, sample.points), modes=r.modes or "auto", **how)
    elif r.prior_limits is not None:
        with _of(Fix("prior", r.prior)):
            region = widest_ball(space, *r.prior_limits)
    elif r.directions is not None:
        region = replace(from_landmarks(space, center, r.widest, r.directions), modes=r.modes)
    else:
        region = Ball(space, center, r.widest)
    kind = next((kind for kind in MECHANISMS.values() if r.mechanism in (kind.name, kind.__name__)), None)
    if kind is not None and not kind.takes_charts and not region.is_ball:
        words = "<mechanism:>: takes a ball, which <center> and <radius> alone give; for other regions leave <mechanism> out"
        raise refusal(words, mechanism=r.mechanism)
    return region


def public_region(request: Request) -> tuple[Region, Any]:
    """Return the public region where there are no records, and the points of its public sample.

    Plans of a ball need no centre, as they are the same about any.
    """
    r = request
    if r.region:
        return region_of(r, None, None), None
    if r.public:
        sample, family = read_sample(r, None)
        sample = prepared(r, sample, family)
        return region_of(r, family.shaped(sample.points.shape[1:]), sample), sample.points
    if r.prior_limits is not None:
        return region_of(r, named_space(r), None), None
    if (r.radius is None and not r.prior) or r.directions:
        r.complete()
    if not r.center:
        space = named_space(r)
        return region_of(r, space, None, space.present(space.origin())), None
    read = reader(Path(r.center))
    if Path(r.center).exists():
        data, family = read_records(read, r, {"curves": r.reading["curves"]})
        space = family.sized(**r.sizes) or family.shaped(data.points.shape[1:])
    elif r.center.isalpha():
        space = named_space(r)
    else:
        raise Refusal(Fix("center", r.center), f": there is no such file; {ONE}")
    return region_of(r, space, None, read_center(r, space, None, read)), None
