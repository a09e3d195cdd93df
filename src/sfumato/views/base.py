"""What a view is, and the view of a space that nobody drew: its numbers, and no claim about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..laws.calibration.chart import chart_error
from ..laws.calibration.population import LEAST
from ..numerics.arrays import Array
from ..regions.ball import Ball
from ..regions.ellipsoid import Ellipsoid
from ..release.population import chart_coordinates
from .figures import grid
from .page import Block

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..release import Release

Links = Sequence[int] | Sequence[tuple[int, int]]  # landmarks in the order of a closed line, or pairs that lines join
MOST_ROWS = 30  # of a table in a picture


class View:
    """How releases of a space are shown.  This one knows nothing of the space."""

    origin = ""  # what the origin is, where no data can be expected to lie about it
    centers: tuple[str, ...] = ("origin",)  # words for the origin
    entry = "Number"  # what one number of the value is called
    nameable = False  # whether the rows of a value are channels, parts or coordinates, which have names
    names: tuple[str, ...] = ()  # of these, as whoever draws says
    exact_up_to = 0.0  # the size of a value up to which the errors of the Laplace are its quantiles, not bounds on them

    def things(self, release: Release) -> str:
        """What the records are."""
        return f"points of the space '{release.space.name}'"

    def named(self, names: Sequence[str], release: Release) -> Self:
        """The same view with names for the channels, parts or coordinates of this release.

        They are no part of a record: whoever draws says them, and so says that they may be seen.
        """
        if names:
            self.check_names(names, release.value.shape)
        made = copy(self)
        made.names = tuple(names)
        return made

    def check_names(self, names: Sequence[str], shape: tuple[int, ...]) -> None:
        """A ValueError where values of this shape have another number of channels, parts or coordinates."""
        count = shape[0] if self.nameable else 0
        if len(names) != count:
            there = f"there are {count} to name" if count else "nothing here has a name of its own"
            raise ValueError(f"--channels gives {len(names)} name{'s' * (len(names) != 1)}, and {there}")

    def called(self, i: int) -> str:
        """The name of a channel, part or coordinate; its number, from 1, where it has none."""
        return self.names[i] if self.names else str(i + 1)

    def seen(self, release: Release) -> str:
        """What can be seen in the picture, in a sentence for those who do not see it; "" where the numbers say all."""
        return ""

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        """A picture of a release and its error at probability p, without caption; ``outline`` is for shapes."""
        header, rows = self.table(release)
        centre = np.ravel(np.asarray(release.ball.center, dtype=np.float64)).tolist()
        if len(header) == 2 and len(centre) == len(rows):  # one number a row: that of the centre fits beside it
            header, rows = (*header, "Public centre"), [(*row, f"{c:.6g}") for row, c in zip(rows, centre, strict=True)]
        if len(rows) > MOST_ROWS:
            rows = [*rows[:MOST_ROWS], ("…", f"{len(rows) - MOST_ROWS} more", *[""] * (len(header) - 2))]
        return grid(header, rows)

    def draw_pair(self, releases: Mapping[str, Release], radius: float, links: Links | None = None) -> Figure:
        """A picture of the releases of two groups, by their names, without caption; ``radius`` is that of the 95% region for
        the difference of the population means, in the chart's norm."""
        (head, first), (_, second) = (self.table(release) for release in releases.values())
        header = (head[0], *(f"{name}: {column}" for name in releases for column in head[1:]))
        return grid(header, [(*one, *two[1:]) for one, two in zip(first, second, strict=True)][:MOST_ROWS])

    def more(self, release: Release, p: float = 0.95, outline: Links | None = None) -> list[Block]:
        """What a page can show beside the picture."""
        return []

    def meaning(self, release: Release, error: float) -> str:
        """A distance in words that the space understands; empty where it needs none."""
        return ""

    def caption(self, release: Release) -> str:
        """What a picture shows, for the report."""
        soft = "" if release.predicted_error is None else ", and how far off it may be (soft)"
        return f"What was released (dark), what was public before (grey){soft}."

    def shown(self, release: Release, p: float) -> str:
        """What the soft part of the picture is, where its legend does not say all; for the caption."""
        return ""

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        """The value as header and rows."""
        return (self.entry, "Value"), numbered(release.value.reshape(-1, 1), self.names)

    def off_manifold(self, release: Release) -> str:
        """What a value is that is no point of the space."""
        return "the released value is not a point of this space"


class Table(View):
    """A view that draws nothing: its picture is a table."""

    def caption(self, release: Release) -> str:
        return "What was released, in numbers."


# -- what a release says ------------------------------------------------------------------------------------------------
def error_or_none(release: Release, p: float) -> float | None:
    """The error of a release at probability p; None where nothing public is known of it."""
    return None if release.predicted_error is None else release.error(p)


def is_geodesic(release: Release) -> bool:
    """Whether errors are distances along the space, or lengths in a chart of it, not in the flat space around it."""
    error = release.predicted_error
    return error is None or release.chart is not None or error.distance == "geodesic distance"


def ball_name(release: Release) -> str:
    """Name the ball of a release, for a picture."""
    return "ball found privately" if release.found else "public ball"


def public_ball(release: Release) -> Ball:
    """The ball that records were clipped to."""
    space = release.space.known
    if space is None:
        raise ValueError(f"the space {release.space.name!r} is not known here")
    return Ball(space, release.ball.center, release.ball.radius)


def chart_of(release: Release) -> Ellipsoid | None:
    """The public ellipsoid that a release by chart was made in; a ball is one of equal axes."""
    chart, space = release.chart, release.space.known
    return None if chart is None or space is None else Ellipsoid(space, release.ball.center, chart.axes, chart.basis)


@dataclass(frozen=True)
class Noise:
    """The noise of a release by chart, σ·Gamma(p)·(a uniform direction), about the chart's coordinates w of the release.

    That is σ·χ_{p+1}·g for a standard normal g in R^p.  So the image of the ball of radius ``reach(m)`` under any linear map of
    rank m holds the image of the statistic with probability P at least: all of w for m = p, one landmark by itself for m = 2.
    """

    chart: Ellipsoid
    w: Array
    sigma: float
    P: float
    fixed: float | None = None  # the radius of the ball, where it is not that of the noise

    def reach(self, m: int) -> float:
        """The quantile of σ·χ_{p+1}·χ_m, rounded up; of a ball that is given, its radius."""
        if self.fixed is not None:
            return self.fixed
        return chart_error(np.where(np.arange(len(self.w)) < m, 1.0, 0.0), self.sigma).quantile(self.P)

    def values(self, u: Array) -> Array:
        """The values at coordinates w + u."""
        return self.chart.space.present(self.chart.point(self.w + u))

    def moves(self, m: int) -> Array:
        """(size of a value, p): how the value moves, to first order, along each axis of the ball of radius reach(m)."""
        step = 1e-4 * np.eye(len(self.w))
        return self.reach(m) * ((self.values(step) - self.values(-step)) / 2e-4).reshape(len(step), -1).T


def noise_of(release: Release, p: float) -> Noise | None:
    """The noise of a release by chart; None for other laws, and of a projected draw: of that the length alone is known."""
    chart = chart_of(release)
    if chart is None or release.mechanism.name != "tangent" or release.unprojected is not None:
        return None
    at, space = chart.center, chart.space
    tangent = space.coordinates(at, space.log(at, space.validate(release.value[None])))[0]
    return Noise(chart, chart.basis @ tangent / chart.axes, release.calibration.sigma, p)


def population_of(release: Release, level: float) -> Noise | None:
    """The region for the mean of the population, which is a ball in the chart, where a share of ε was spent on it: any image of
    that ball, such as one landmark, holds the image of the mean with the same confidence, all of them at once."""
    chart = chart_of(release)
    if chart is None or release.spread is None or level < LEAST:
        return None
    w = chart_coordinates(release, release.raw[None])[0]
    return Noise(chart, w, release.calibration.sigma, level, release.region(level).chart_radius)


def population_label(level: float) -> str:
    return f"{level:.0%} region for the population's mean"


def numbered(rows: Any, names: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Rows of numbers as text, each after its name or number."""
    told = names or [str(i + 1) for i in range(len(rows))]
    return [(name, *(f"{x:.6g}" for x in row)) for name, row in zip(told, rows, strict=True)]


def length(vector: Array) -> float:
    return float(np.linalg.norm(vector))
