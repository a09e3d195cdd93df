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
from ..files.labels import groups_of, with_table
from ..files.parquet import read_first
from ..files.people import RECORD, check_words, named_labels, repeated_labels
from ..files.reading import reader
from ..findings import Comparison
from ..findings.session import Session
from ..landmarks.symmetry import read_pairs, symmetrize
from ..mechanisms.choice import MECHANISMS
from ..mechanisms.inference import SHARE
from ..records import Progress
from ..records import sources as streamed
from ..regions import Ball, Ellipsoid, Region, widest_ball
from ..regions.sketch import from_landmarks
from ..release import Release
from ..release.ledger import Ledger
from ..spaces import SPACES, Family, Space, space_typed
from ..views import VIEWS
from ..views.base import View
from ..views.curator import of_clipping, region_used
from ..views.outputs import check_comparable, check_outputs
from ..views.plots import read_links, read_names
from .request import Request, refusal

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
    groups: Any = field(default=None, init=False)
    looks: tuple[Any, list[str]] = field(init=False)  # lines and names in pictures
    unit: dict[str, Any] = field(default_factory=dict, init=False)

    # -- before any record is read -------------------------------------------------------------------------------------------
    @property
    def paths(self) -> list[Path]:
        return [Path(name) for name in self.request.files]

    @property
    def outputs(self) -> dict[str, Path]:
        """Return the files to be written, by their wishes."""
        every = {name: getattr(self.request, name) for name in ("out", "plot", "report", "value")}
        return {name: Path(path) for name, path in every.items() if path}

    def check(self) -> None:
        """Raise an error for all that can be refused before a record is read, but for the budget."""
        self.request.complete()
        if self.request.by:
            check_comparable(self.request.by, self.request.labels_are_public)
        check_outputs(self.outputs, self.request.inputs, self.request.force)

    def ledger(self) -> Ledger | None:
        """Return the ledger that pays, if there is one."""
        if self.request.dataset and not self.request.ledger:
            raise refusal("<dataset> names a budget in a ledger: give <ledger> too, or nothing would be charged")
        return Ledger(self.request.ledger, self.request.dataset or None) if self.request.ledger else None

    @cached_property
    def memory(self) -> int:
        return streamed.memory_bytes(self.request.memory)

    @cached_property
    def parts(self) -> bool:
        """Return whether the records are read in parts."""
        r = self.request
        chosen = any(r.reading.values())
        if r.by or (self.whole and (r.unit_column or r.symmetric or chosen or self.paths[0].is_dir())):
            return False
        return streamed.in_parts(self.paths, self.memory, bool(r.unit_column), r.scheduler or None, chosen)

    # -- records and region ---------------------------------------------------------------------------------------------------
    def load(self, guess: bool = False) -> None:
        """Read the records, or the first of those that are read in parts; ``guess``: as the most usual of what they may be."""
        r = self.request
        if self.parts:
            if not r.space:
                raise refusal(f"{self.paths[0]}: is read in parts, so say what its records are: <space:>", space="NAME")
            self.family = space_of_name(r.space)
            self.data = read_first(self.paths[0], self.family.sized(**r.sizes) or self.family)
        else:
            read = reader(self.paths[0] if len(self.paths) == 1 else self.paths)
            self.data, self.family = read_records(read, r, r.reading, guess)
        self.space = self.family.sized(**r.sizes) or self.family.shaped(self.data.points.shape[1:])
        if r.by:
            self.data = with_table(self.data, r.labels, r.by) if r.labels else self.data
            self.groups = groups_of(self.data, r.by)
            labels = {name: column for name, column in self.data.labels.items() if name != r.by}
            self.data = replace(self.data, labels=labels)

    def make_region(self) -> None:
        """Make the public region for these records."""
        r = self.request
        if r.public:
            self.region = region_of(r, self.space, sample_beside(r, self.data, self.family))
        else:
            center = None if r.limits is not None else read_center(r, self.space, self.data)
            self.region = region_of(r, self.space, None, center)

    def settle(self) -> None:
        """Make the region, and bring records, units and pictures to it: only the noise can refuse anything afterwards."""
        r = self.request
        self.looks = self._looks()
        self.make_region()
        if self.parts and r.symmetric:
            raise refusal("<symmetric> goes with files that are read as a whole: give more <memory>, or one file")
        self.data = replace(self.data, points=symmetrized(r, self.data.points))
        self.unit = self.unit_of(r.unit)

    def _looks(self) -> tuple[Any, list[str]]:
        """Return lines between landmarks and names of channels for pictures; wrong ones cost nothing yet."""
        r = self.request
        shape = self.data.points.shape[1:]
        names = read_names(r.channels) if r.channels else []
        if r.channels:
            (VIEWS.get(self.space.name) or View()).check_names(names, shape)
        if r.value.lower().endswith(".tps") and self.space.kind != "landmarks":
            words = f"<value:>: a TPS file holds landmarks, not {self.space.kind}; choose .csv or .npy"
            raise refusal(words, value=r.value)
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
    def run(self, session: Session, progress: Progress | None = None) -> Release | Comparison:
        """Plan, charge, draw and write the record."""
        r = self.request
        how = {**self.unit, "invalid": r.invalid, "force": r.force, "allow_useless": r.allow_useless}
        with self._rows_named(), ExitStack() as stack:
            if r.by:
                how["inference"] = r.inference or SHARE
                return session.compare(self.data, self.groups, self.region, privacy=r.privacy, **how)
            points = self.data.points
            if self.parts:
                points = streamed.open_parts(stack, self.paths, self.space, self.memory, r.workers, r.scheduler or None)
            how |= asked(r, self.region) | {"workers": r.workers, "memory": self.memory, "progress": progress}
            return session.release(points, privacy=r.privacy, mechanism=r.mechanism, degrees=self.data.degrees, **how)

    def clipping(self, done: Release | Comparison) -> str:
        """Return how many records were clipped: for the curator's eyes."""
        one = done if isinstance(done, Release) else next(iter(done.groups.values()))
        return of_clipping(region_used(self.region, one), self.data.points, first=self.parts)

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
            raise FileError(f"{where}: {words}. Mend the record, or give ", Fix("invalid", "center")) from None


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
    name = request.space
    if not name:
        words = "say what the records are: <space:> ('sfumato spaces' lists them); or give <public:>"
        raise refusal(words, space="NAME", public="FILE")
    kind = space_of_name(name)
    space = kind.sized(**request.sizes) or kind.usual()
    if space is None:
        option = str(kind.of.size_option)
        if option in request.sizes:
            raise refusal(f"<space:> needs <{option}>", space=name)
        raise Refusal(Fix("space", name), " needs its size, as ", Fix("space", f"{name}({option}=3)"))
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
    """Return what records can only be, or are by their size."""
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
    """Return the public specimens, each of them a point of its space, and what they are."""
    path = Path(request.public)
    wish = Fix("public", request.public)
    alike = not request.files or path.suffix.lower() == Path(request.files[0]).suffix.lower()
    reading = request.reading if alike else {"missing": request.reading["missing"]}
    sample, family = read_records(reader(path), request, reading, family=family)
    if len(sample) < 2:
        held = "1 specimen" if len(sample) else "no specimen"
        words = f"<public:>: holds {held}, and how far specimens differ is seen from two or more: give more, or "
        raise refusal(words + "<center> and <radius>", public=request.public)
    bad = family.shaped(sample.points.shape[1:]).diagnose(sample.points)[1]
    for row in sorted(bad):
        raise Refusal(wish, f": {sample.where(row)}: {bad[row]}. Mend this specimen, or leave it out")
    return sample, family


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
        both = f"{shared} of the records are in {request.public} too, and public already"
        warnings.warn(
            f"for the curator only, not part of the release: {both}: leave them out of the records", stacklevel=2
        )
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
    curves = request.reading["curves"]
    try:
        data = read(space, curves=curves, columns=None if records is None else request.reading["columns"])
    except FileError:
        data = read(space, curves=curves)
    if len(data) != 1:
        words = f"{text}: the centre must be a single public record, but the file holds {len(data)}; give a file with one, or, "
        raise refusal(f"{words}if these are public specimens, give them as <public>")
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


def region_of(request: Request, space: Space, sample: Dataset | None, center: Any = None) -> Region:
    """Return the region in a space, from the public sample or the public centre."""
    r = request
    if r.modes is not None and not 1 <= r.modes <= space.dim:
        raise refusal(f"<modes> must be from 1 to {space.dim}, the dimension of {space}, not {r.modes}")
    region: Region
    center = symmetrized(r, center)
    if sample is not None:
        points = symmetrized(r, sample.points)
        prior = r.directions or "auto"
        region = Ellipsoid.from_sample(space, points, r.related, modes=r.modes or "auto", prior=prior)
    elif r.limits is not None:
        with _of(Fix("prior", r.prior)):
            region = widest_ball(space, *r.limits)
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
    if r.public:
        sample, family = read_sample(r, None)
        return region_of(r, family.shaped(sample.points.shape[1:]), sample), sample.points
    if r.limits is not None:
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
