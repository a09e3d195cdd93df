"""What is publicly known of where the records lie, as the options of the command line say it: a region, or words about what
is missing."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import numpy as np
import typer

if TYPE_CHECKING:
    from ..files import Dataset
    from ..regions import Region
    from ..regions.sketch import Prior
    from ..spaces import Family, Space

NOTHING_KNOWN = (
    "say what is publicly known of where the records lie: --public FILE with public specimens, such as an atlas or an "
    "earlier study; or --center FILE with one public record, and --radius"
)


@dataclass(frozen=True)
class Known:
    """The options about the region, which ``release`` and ``plan`` share."""

    public: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Public specimens (an atlas, an earlier study): they give centre, directions and size of the region, and "
            "most often far less noise. Read like the records.",
        ),
    ] = None
    center: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="File with one public record; or 'identity' for spd, 'origin' for euclidean."
        ),
    ] = None
    radius: Annotated[
        float | None,
        typer.Option(help="How far from the centre records lie, as is publicly known; never computed from the data."),
    ] = None
    smooth: Annotated[
        bool, typer.Option("--smooth", help="The landmarks run along a closed outline: less noise in fine ripples.")
    ] = False
    open: Annotated[bool, typer.Option("--open", help="The landmarks run along an open curve: the same.")] = False
    bending: Annotated[
        bool,
        typer.Option("--bending", help="The landmarks stand anywhere: less noise in what bends the shape sharply."),
    ] = False
    modes: Annotated[
        int | None,
        typer.Option(
            help="How many directions to release, the most important first (default: all that are worth their noise)."
        ),
    ] = None
    symmetric: Annotated[
        str | None,
        typer.Option(
            metavar="PAIRS",
            help="Left and right landmarks, counted from 1, as 1-2,3-4: each specimen becomes its mean with its mirror image.",
        ),
    ] = None
    wide: Annotated[
        str | None,
        typer.Option(
            "--prior",
            metavar="WHERE",
            help="Where the records surely lie, however wide: a part of epsilon then finds a smaller region within it. A "
            "generous radius about --center; 'whole' for the whole sphere; LOW:HIGH for spd if all eigenvalues (variances) "
            "surely lie between these numbers, as 1e-3:1e3, and for euclidean if all coordinates do.",
        ),
    ] = None
    find_radius: Annotated[
        bool,
        typer.Option(
            "--find-radius",
            help="The radius is only a generous upper bound: a part of epsilon finds a smaller one about the centre.",
        ),
    ] = False
    inference: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of epsilon, such as 0.1, for how much the records vary: the release then says where the mean of the "
            "whole population lies, and not only how large the noise is.",
        ),
    ] = None
    check: Annotated[
        float | None,
        typer.Option(
            help="Share of epsilon for a private look at whether the public specimens fit; 0: no look (default: 0.1)."
        ),
    ] = None

    def __post_init__(self) -> None:
        directions = [f"--{name}" for name in ("smooth", "open", "bending") if getattr(self, name)]
        for wrong, words in (
            (
                self.public is not None and (self.center is not None or self.radius is not None),
                "--public gives the centre and the size too: leave out --center and --radius, or leave out --public",
            ),
            *self._wrong_prior(directions),
            (
                self.inference is not None and not 0 < self.inference <= 0.5,
                f"--inference {self.inference} must be a share of epsilon, above 0 and up to 0.5; 0.1 is common",
            ),
            (
                len(directions) > 1,
                f"{' and '.join(directions)} say different things of the same landmarks: give one of them",
            ),
            (
                self.modes is not None and self.public is None and not directions,
                "--modes counts directions, the most important first: give --public, --smooth, --open or --bending too",
            ),
            (
                self.check is not None and self.public is None,
                "--check is a look at whether public specimens fit: it goes with --public",
            ),
            (
                self.check is not None and not 0 <= self.check < 1 / 6,
                f"--check {self.check} must be a share of epsilon: 0 for no look, or up to 0.16",
            ),
        ):
            if wrong:
                raise ValueError(words)

    def _wrong_prior(self, directions: list[str]) -> list[tuple[bool, str]]:
        """What does not go together with a region that is yet to be found."""
        option = "--prior" if self.wide is not None else "--find-radius"
        others = [*directions, *(["--public"] if self.public is not None else [])]
        return [
            (
                self.wide is not None and self.find_radius,
                "--prior finds a centre and a radius, --find-radius a radius about a known centre: give one of them",
            ),
            (
                self.find is not None and bool(others),
                f"{option} is for records of which little is known: leave it out, or leave out {' and '.join(others)}",
            ),
            (
                self.wide is not None and self.radius is not None,
                f"--prior {self.wide} says how wide the region is: leave out --radius",
            ),
            (
                self.wide is not None and self.limits is not None and self.center is not None,
                f"--prior {self.wide} has a centre of its own: leave out --center",
            ),
        ]

    @property
    def find(self) -> Literal["ball", "radius"] | None:
        """What is to be found privately within a generous region."""
        return "ball" if self.wide is not None else "radius" if self.find_radius else None

    @property
    def limits(self) -> tuple[float, ...] | None:
        """Of --prior: no numbers for all of a space, two for a range; None for a radius."""
        if self.wide is None:
            return None
        if self.wide == "whole":
            return ()
        try:
            numbers = [float(part) for part in self.wide.split(":")]
            if len(numbers) > 2:
                raise ValueError
        except ValueError:
            raise ValueError(
                f"--prior {self.wide}: say a radius, as 2.5; a range, as 1e-3:1e3; or 'whole' for the whole sphere"
            ) from None
        return None if len(numbers) == 1 else tuple(numbers)

    @property
    def how(self) -> dict[str, Any]:
        """What else is asked of a plan: for the spread of the records, and for what is to be found."""
        return {"inference": self.inference or 0.0, "find": self.find}

    @property
    def prior(self) -> Prior | None:
        """What is known of the directions beside a sample."""
        return "smooth" if self.smooth else "open" if self.open else "bending" if self.bending else None

    @property
    def share(self) -> float:
        """Of ε, for the look."""
        from ..regions.look import SHARE

        return SHARE if self.check is None else self.check

    @property
    def inputs(self) -> list[Path]:
        """The files that no output may replace."""
        return [Path(name) for name in (self.public, self.center) if name is not None]

    def complete(self, mechanism: str = "auto") -> None:
        """A ValueError if no region can be made of this, or not one that the mechanism takes."""
        charts = [option for option, given in self._by_chart.items() if given]
        if mechanism not in ("auto", "tangent", "TangentKNorm") and charts:
            raise ValueError(f"--mechanism {mechanism}: does not go with {charts[0]}; leave one of them out")
        if mechanism not in ("auto", "tangent", "TangentKNorm") and (self.public is not None or self.prior is not None):
            raise ValueError(
                f"--mechanism {mechanism}: takes a ball, which --center and --radius alone give; for other regions leave "
                "--mechanism out"
            )
        if self.public is not None or self.limits is not None:
            return
        if self.wide is not None and self.center is None:
            raise ValueError(f"--prior {self.wide} is a radius, and needs --center too: a file with one public record")
        if self.center is None or (self.radius is None and self.wide is None):
            missing = NOTHING_KNOWN
            if self.center is not None:
                missing = "--center needs --radius too: how far from it records lie, as is publicly known"
            elif self.radius is not None:
                missing = "--radius needs --center too: a file with one public record; or give --public FILE instead"
            raise ValueError(missing)

    def symmetrized(self, points: Any) -> Any:
        """Specimens as --symmetric says; as they are without it."""
        from ..landmarks.symmetry import read_pairs, symmetrize

        if self.symmetric is None:
            return points
        try:
            return symmetrize(points, read_pairs(self.symmetric))
        except ValueError as error:
            raise ValueError(f"--symmetric {self.symmetric}: {error}") from None

    @property
    def _by_chart(self) -> dict[str, bool]:
        """The options that releases by chart alone take."""
        return {
            "--prior": self.wide is not None,
            "--find-radius": self.find_radius,
            "--inference": self.inference is not None,
        }

    def region(self, space: Space, sample: Dataset | None, center: Any = None) -> Region:
        """The region in a space, from the public sample or the public centre."""
        from ..regions import Ball, Ellipsoid
        from ..regions.sketch import from_landmarks

        if self.modes is not None and not 1 <= self.modes <= space.dim:
            raise ValueError(f"--modes must be from 1 to {space.dim}, the dimension of {space}, not {self.modes}")
        if sample is not None:
            points = self.symmetrized(sample.points)
            return Ellipsoid.from_sample(space, points, modes=self.modes or "auto", prior=self.prior or "auto")
        center = None if center is None else self.symmetrized(center)
        if self.wide is not None:
            return self._widest(space, center)
        assert self.radius is not None
        if self.prior is None:
            return Ball(space, center, self.radius)
        return replace(from_landmarks(space, center, self.radius, self.prior), modes=self.modes)

    def _widest(self, space: Space, center: Any) -> Region:
        """The prior."""
        from ..regions import Ball, widest_ball

        limits = self.limits
        if limits is None:
            return Ball(space, center, float(str(self.wide)))
        try:
            return widest_ball(space, *limits)
        except ValueError as error:
            raise ValueError(f"--prior {self.wide}: {error}") from None


def knowing(command: Callable[..., None], without: Sequence[str] = ()) -> Callable[..., None]:
    """A command with the options of :class:`Known`, ``without`` some of them, which it takes as one argument ``known``."""
    shared = get_type_hints(Known, include_extras=True)
    own = inspect.signature(command, eval_str=True).parameters
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=shared[field.name]
        )
        for field in fields(Known)
        if field.name not in without
    ]
    every: list[inspect.Parameter] = []
    for name, parameter in own.items():
        every += options if name == "known" else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

    @wraps(command)
    def run(**given: Any) -> None:
        command(known=Known(**{option.name: given.pop(option.name) for option in options}), **given)

    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return run


def read_sample(file: Path, kind: Family, sizes: dict[str, int | None], **choice: Any) -> Dataset:
    """The public specimens, each of them a point of its space."""
    from ..files import read

    data = read(file, kind.sized(**sizes) or kind, **choice)
    if len(data) < 2:
        raise ValueError(
            f"--public {file}: holds {len(data)} specimen{'s' * (len(data) != 1)}, and how far specimens differ is seen from "
            "two or more: give more, or --center and --radius"
        )
    bad = kind.shaped(data.points.shape[1:]).diagnose(data.points)[1]
    for row in sorted(bad):
        raise ValueError(f"--public {file}: {data.where(row)}: {bad[row]}. Mend this specimen, or leave it out")
    return data


def sample_beside(
    file: Path, records: Dataset, files: list[Path], kind: Family, sizes: dict[str, int | None], **choice: Any
) -> Dataset:
    """The public specimens beside the records: other ones, and of the same kind."""
    from ..errors import FileError

    for private in files:
        inside = (
            file.resolve().parent == private.resolve() if private.is_dir() else file.exists() and file.samefile(private)
        )
        if inside:
            raise ValueError(f"--public {file}: is the file of the records itself, so it is not public; {OTHERS}")
    same = file.suffix.lower() == files[0].suffix.lower()
    held = f"{files[0]} holds {records.contents}"
    try:
        sample = read_sample(file, kind, sizes, **(choice if same else {"missing": choice.get("missing")}))
    except FileError as error:
        raise ValueError(f"--public {error}. It must hold specimens like the records: {held}") from None
    if sample.points.shape[1:] != records.points.shape[1:]:
        raise ValueError(f"--public {file} holds {sample.contents}, but {held}: both must be of the same kind")
    same_order(f"--public {file}", sample, records)
    shared = int(np.isin(_rows(records), _rows(sample)).sum())
    if shared == len(records):
        raise ValueError(f"--public {file}: holds the records of {files[0]} themselves, so it is not public; {OTHERS}")
    if shared:
        words = f"{shared} of the records are in {file} too, and public already: leave them out of the records"
        warnings.warn(f"for the curator only, not part of the release: {words}", stacklevel=2)
    return sample


def same_order(name: str, data: Dataset, records: Dataset | None) -> None:
    """A ValueError if two files name the same landmarks in another order."""
    own, other = data.landmarks, () if records is None else records.landmarks
    if own != other and sorted(own) == sorted(other):
        first, second = next((a, b) for a, b in zip(own, other, strict=True) if a != b)
        raise ValueError(
            f"{name}: has landmark {first!r} where the records have {second!r}; put its landmarks in their order"
        )


OTHERS = "give specimens of others, which anyone may see"


def _rows(data: Dataset) -> Any:
    """Each record as one string of bytes."""
    flat = np.ascontiguousarray(data.points.reshape(len(data), -1) + 0.0)
    return flat.view(f"V{flat.itemsize * flat.shape[1]}").ravel()
