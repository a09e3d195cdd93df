"""The command ``sfumato``."""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from ..errors import printable
from ..release.interruption import Interruption, Stopped
from .known import Known, knowing, read_sample, same_order, sample_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..files import Dataset
    from ..records import Progress
    from ..regions import Region
    from ..release import Release
    from ..release.ledger import Ledger
    from ..spaces import Family, Space

CONVICTED, UNUSABLE, BAD_INPUT, REFUSED, UNSHOWN, STOPPED = 1, 1, 2, 3, 4, 128  # exit codes; the last plus the signal

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Differentially private means of shapes, covariance matrices and directions.",
    epilog="Exit codes: 0 done, 1 an audit convicted or a plan cannot be carried out, 2 bad usage or input, 3 budget refused, "
    "4 released and written, but not shown (standard output is full or closed): do not release again, 130 stopped by Ctrl-C, "
    "143 by SIGTERM, 129 by SIGHUP. --debug, anywhere, shows tracebacks.",
)
ctrl_c = Interruption()
books = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Keep the privacy budget of a study.")
app.add_typer(books, name="ledger")


class WithSpaces(TyperCommand):
    """A command whose help ends with the names of all spaces."""

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        from textwrap import fill

        from ..spaces import all_spaces

        names = ", ".join(kind.name for kind in all_spaces())
        words = f"Names for --space: {names}; or module:Class. 'sfumato spaces' says what they are."
        formatter.write(f"\n{fill(words, formatter.width, break_on_hyphens=False)}\n")


SpaceOption = Annotated[
    str,
    typer.Option(
        "--space",
        metavar="NAME",
        help="What the records are: a name from the list at the end, with arguments as in 'spd(size=3)'.",
    ),
]
UsualSpaceOption = Annotated[
    str,
    typer.Option(
        "--space",
        metavar="NAME",
        help="What the records are: a name from the list at the end, with arguments as in 'spd(size=3)'. Landmarks are "
        "shapes unless you say otherwise.",
        show_default=False,
    ),
]
RadiusOption = Annotated[float, typer.Option(help="Radius of the public ball.")]
EpsilonOption = Annotated[
    float, typer.Option(help="Privacy budget of the release: the smaller, the more private; 1 is common.")
]
LandmarksOption = Annotated[int | None, typer.Option(help="How many landmarks a specimen has.")]
SizeOption = Annotated[int | None, typer.Option(help="Rows of a matrix: channels, regions.")]
DimOption = Annotated[int | None, typer.Option(help="Dimension of the space: 2 for directions in space.")]
ColumnsOption = Annotated[
    str | None, typer.Option(help="Columns of a table that hold the points: lat,lon or lat=theta,lon=phi.")
]
ArrayOption = Annotated[str | None, typer.Option(help="Name of the array or table, in a file that holds several.")]
MissingOption = Annotated[
    str | None, typer.Option(help="Number that stands for a missing value, as -999; or 'none' if all were measured.")
]
CurvesOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="Curves and outlines of TPS files: keep their points, drop them, or the number of points to resample each to.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def show_version(asked: bool) -> None:
    if asked:
        from .._version import __version__

        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback instead of a sentence.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Differentially private means of shapes, covariance matrices and directions."""
    if context.invoked_subcommand not in ("release", "compare"):
        ctrl_c.words = "what was at work is not finished"


# -- release ------------------------------------------------------------------------------------------------------------
FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES...",
        help="The curator's records: TPS, NTS, 3D Slicer, CSV, NPY, Parquet, MATLAB, R, …; several such files, or a folder of "
        "them; several Parquet files are read in parts.",
    ),
]
InvalidOption = Annotated[
    str,
    typer.Option(help="Bad records: 'raise' stops before anything is spent, 'center' puts the centre in their place."),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        help="Address of a Dask scheduler (tcp://…) whose workers read the Parquet files, by the same paths; they "
        "see the records, noise and ledger stay here."
    ),
]
OutOption = Annotated[Path, typer.Option(help="Where the release's JSON record goes.")]
MechanismOption = Annotated[str, typer.Option(help="auto, kng, laplace, staircase, exponential, tangent, …")]
UselessOption = Annotated[
    bool, typer.Option("--even-if-useless", help="Release even if the noise is as large as the region.")
]
PlotOption = Annotated[Path | None, typer.Option(help="Picture of the release (PNG or SVG).")]
ReportOption = Annotated[Path | None, typer.Option(help="Report in words (HTML or Markdown).")]
LinksOption = Annotated[
    str | None,
    typer.Option(help="Lines between landmarks in pictures: 1-2,2-3; a file with one pair a line; or 'outline'."),
]
ChannelsOption = Annotated[
    str | None,
    typer.Option(
        help="Names of channels in pictures and reports, which anyone may then see: Fz,Cz,Pz; a file with one name a line; or "
        "an .npz file that holds them as channels or ch_names."
    ),
]
ValueOption = Annotated[Path | None, typer.Option(help="The released value alone (TPS, CSV or NPY).")]
UnitColumnOption = Annotated[
    str | None, typer.Option(help="Column that says whose record it is: all records of one count as one.")
]
UnitOption = Annotated[str | None, typer.Option(help="What one record stands for, in words (default: 'one record').")]
LedgerOption = Annotated[Path | None, typer.Option(help="Ledger that the epsilon is charged to.")]
DatasetOption = Annotated[str | None, typer.Option(help="Which data set of the ledger pays.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace outputs that exist; allow an epsilon above 100.")]
WorkersOption = Annotated[int, typer.Option(help="Threads that share each pass over the records.")]
MemoryOption = Annotated[str, typer.Option(help="Parquet larger than this is read in parts.")]


@app.command(cls=WithSpaces)
@knowing
def release(
    files: FilesArgument,
    epsilon: EpsilonOption,
    known: Known,
    space: UsualSpaceOption = "",
    out: OutOption = Path("mean.json"),
    mechanism: MechanismOption = "auto",
    plot: PlotOption = None,
    report: ReportOption = None,
    value: ValueOption = None,
    links: LinksOption = None,
    channels: ChannelsOption = None,
    unit_column: UnitColumnOption = None,
    unit: UnitOption = None,
    invalid: InvalidOption = "raise",
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    landmarks: LandmarksOption = None,
    size: SizeOption = None,
    dim: DimOption = None,
    columns: ColumnsOption = None,
    array: ArrayOption = None,
    missing: MissingOption = None,
    curves: CurvesOption = None,
    even_if_useless: UselessOption = False,
    force: ForceOption = False,
    workers: WorkersOption = 1,
    memory: MemoryOption = "256MiB",
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release the private Fréchet mean of a file, or of several files of one kind.

    Example: sfumato release wings.tps --public atlas.tps --epsilon 1 --out mean.json --plot mean.png

    Example: sfumato release wings.tps --center reference.tps --radius 0.15 --epsilon 1 --out mean.json

    Example: sfumato release headings.csv --space sphere --prior whole --inference 0.1 --epsilon 1
    """
    from ..records.parts import in_parts, memory_bytes, open_parts
    from ..release.session import Session
    from ..views.curator import of_clipping, region_used
    from ..views.outputs import check_outputs, write_outputs

    known.complete(mechanism)
    outputs = {"--out": out, "--plot": plot, "--report": report, "--value": value}
    check_outputs(outputs, [*files, *known.inputs, *([ledger] if ledger else [])], force)
    session = Session(out, open_ledger(ledger, dataset), force, ctrl_c)
    session.afford(epsilon)  # before any record is read
    limit, choice = memory_bytes(memory), {"columns": columns, "array": array, "missing": missing, "curves": curves}
    parts = in_parts(files, limit, unit_column is not None, scheduler, any(choice.values()))
    sizes = {"landmarks": landmarks, "size": size, "dim": dim}
    data, manifold, kind = load(files, space, sizes, head=parts, **choice)
    tell_source(data, manifold, value, parts, missing is not None)
    looks = how_drawn(data, manifold, links, channels)
    region = region_beside(known, data, manifold, files, kind, sizes, **choice)
    if parts and known.symmetric is not None:
        raise ValueError("--symmetric goes with files that are read as a whole: give more --memory, or one file")
    data = replace(data, points=known.symmetrized(data.points))
    how = unit_of(data, unit_column, unit, parts) | {"invalid": invalid, "force": force, "workers": workers}
    how |= {
        "check": known.share,
        "allow_useless": even_if_useless,
        "memory": limit,
        "inference": known.inference or 0.0,
    }
    how |= {} if known.find is None else {"prior": region, "find": known.find}
    with ExitStack() as stack, rows_named(files, data, parts):
        points = open_parts(stack, files, manifold, limit, workers, scheduler) if parts else data.points
        how["progress"] = stack.enter_context(shown_progress()) if parts and not as_json else None
        within = region if known.find is None else None
        done = session.release(points, within, epsilon, mechanism, degrees=data.degrees, **how)
    write_outputs(done, outputs, manifold.kind, *looks)
    with shown_or_not(out):
        show(done, outputs.values(), as_json)
        typer.echo("\n" + of_clipping(region_used(region, done), data.points, first=parts), err=True)


def how_drawn(data: Dataset, space: Space, links: str | None, channels: str | None) -> tuple[Any, list[str]]:
    """Lines between landmarks and names of channels for pictures, as they are typed; wrong ones cost nothing yet."""
    from ..views import VIEWS
    from ..views.base import View
    from ..views.plots import read_links, read_names

    names = [] if channels is None else read_names(channels)
    if channels is not None:
        (VIEWS.get(space.name) or View()).check_names(names, data.points.shape[1:])
    return None if links is None else read_links(links, data.points.shape[1]), names


def region_beside(
    known: Known,
    data: Dataset,
    space: Space,
    files: list[Path],
    kind: Family,
    sizes: dict[str, int | None],
    **choice: Any,
) -> Region:
    """The public region that the options describe, for these records."""
    if known.public is None:
        center = (
            None
            if known.limits is not None
            else load_center(str(known.center), space, choice.get("curves"), data, choice.get("columns"))
        )
        return known.region(space, None, center)
    return known.region(space, sample_beside(known.public, data, files, kind, sizes, **choice))


@contextmanager
def rows_named(files: list[Path], data: Dataset, streamed: bool) -> Iterator[None]:
    """A bad record is named by its file, and by its place in that."""
    from ..errors import InvalidPointError

    try:
        yield
    except InvalidPointError as error:
        where = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        words = str(error) if streamed else str(error).replace(f"record {error.row}", data.where(error.row), 1)
        raise ValueError(f"{where}: {words}. Mend the record, or give --invalid center") from None


@contextmanager
def shown_or_not(out: Path) -> Iterator[None]:
    """Say that the record is written, if the screen, or what stands for it, takes no more; Click would only say 1."""
    try:
        if sys.stdout is None:  # closed from the start
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        yield
    except OSError as error:
        words = f"the record is written, {out}: do not release again. It could not be shown ({error.strerror})"
        with suppress(OSError):  # standard error may be closed too
            typer.echo(f"sfumato: {words}", err=True)
        raise SystemExit(UNSHOWN) from None


def show(done: Release, written: Iterable[Path | None], as_json: bool) -> None:
    """The release on the screen."""
    from ..views.words import value_in_words

    names = ", ".join(str(path) for path in written if path is not None)
    words = f"{done.describe()}\n\n{value_in_words(done)}\n\nWritten: {names}\n"
    typer.echo(done.to_json() if as_json else words, nl=False)


def tell_source(data: Dataset, space: Space, value: Path | None, streamed: bool, said: bool) -> None:
    """What became the points, and what looks odd in them: on the curator's screen."""
    from ..files.missing import remarks
    from ..views.curator import MARK, some

    if value is not None and value.suffix.lower() == ".tps" and space.kind != "landmarks":
        raise ValueError(f"--value {value}: a TPS file holds landmarks, not {space.kind}; choose .csv or .npy")
    odd = [] if streamed else some(remarks(data, space, said=said))
    for line in (f"the points are {data.source}.", *odd):
        typer.echo(printable(f"{MARK}: {line}"), err=True)


def unit_of(data: Dataset, column: str | None, unit: str | None, head: bool) -> dict[str, Any]:
    """The unit in words, or the labels of a column and what they stand for."""
    from ..files.people import RECORD, check_words, named_labels, repeated_labels

    if column is None:
        repeated = {**(named_labels(data.labels) if head else {}), **repeated_labels(data.labels)}
        check_words(unit, data.labels, repeated)
        return {"unit": unit or RECORD}
    if column not in data.labels:
        known = ", ".join(data.labels) or "none"
        raise ValueError(f"{data.path}: there is no column {column!r}; columns beside the points: {known}")
    return {"unit": data.labels[column], "unit_name": unit or f"one {column}: all its records"}


@contextmanager
def shown_progress() -> Iterator[Progress | None]:
    """A bar on a terminal, a line for each pass."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading")
        yield lambda number, done, parts: bar.update(
            task, description=f"pass {number}", completed=done, total=parts, refresh=True
        )


def open_ledger(file: Path | None, dataset: str | None) -> Ledger | None:
    from ..release.ledger import Ledger

    if file is None and dataset is not None:
        raise ValueError("--dataset names a budget in a ledger: give --ledger too, or nothing would be charged")
    return None if file is None else Ledger(file, dataset)


def load(
    files: list[Path], name: str, sizes: dict[str, int | None], head: bool = False, **choice: Any
) -> tuple[Dataset, Space, Family]:
    """The records of a file or several, or the first few, and the space and its kind that their shape and the options say."""
    from ..files import read
    from ..files.parquet import read_first

    kind = space_of_name(name) if name else only_space(files, sizes, head, **choice)
    wanted = kind.sized(**sizes) or kind
    data = read_first(files[0], wanted) if head else read(files[0] if len(files) == 1 else files, wanted, **choice)
    return data, kind.sized(**sizes) or kind.shaped(data.points.shape[1:]), kind


def only_space(files: list[Path], sizes: dict[str, int | None], head: bool = False, **choice: Any) -> Family:
    """What the records of a file are, where they can be one thing only; how many landmarks they have may tell it."""
    from ..files import read
    from ..spaces import Family

    if head:
        raise ValueError(f"{files[0]}: is read in parts, so say what its records are: --space NAME")
    if sizes.get("landmarks"):
        return space_of_name(first_space(files[0], sizes, **choice))
    found = read(files[0], **choice)
    kinds = found.usual
    if len(kinds) != 1:
        names = " or ".join(f"--space {kind.name}" for kind in kinds) or "--space NAME"
        raise ValueError(
            f"{files[0]}: holds {found.contents} ({found.source}), which may be several things: say which, {names}"
        )
    return Family(kinds[0])


def space_of_name(name: str) -> Family:
    """What --space says; a module in the folder where the command runs is found too."""
    from ..spaces import space_typed

    if ":" in name and "" not in sys.path:
        sys.path.insert(0, "")
    return space_typed(name)


def named_space(name: str, sizes: dict[str, int | None]) -> Space:
    """The space that the options describe."""
    if not name:
        raise ValueError("say what the records are: --space NAME ('sfumato spaces' lists them); or give --public FILE")
    kind = space_of_name(name)
    space = kind.sized(**sizes) or kind.usual()
    if space is None:
        option = kind.of.size_option
        how = f"--{option}" if option in sizes else f"its size, as --space '{name}({option}=3)'"
        raise ValueError(f"--space {name} needs {how}")
    return space


def load_center(
    text: str, space: Space, curves: Any = None, records: Dataset | None = None, columns: str | None = None
) -> Any:
    """Return the public centre: a word, or the only record of a file; by the columns of the records, if the file has them."""
    from ..errors import FileError
    from ..files import read
    from ..views import VIEWS
    from ..views.base import View

    view = VIEWS.get(space.name) or View()
    if text == "origin" and view.origin:
        raise ValueError(
            f"--center origin would be {view.origin} here, and no data lie about that: give a file with one public record, "
            "such as a published template, or a specimen that is declared public and left out of the data"
        )
    if text in view.centers:
        return space.present(space.origin())
    if not Path(text).exists():
        words = f", or {' or '.join(view.centers)}" if view.centers and not view.origin else ""
        raise ValueError(f"--center {text}: there is no such file; give a file with one public record{words}")
    try:
        data = read(Path(text), space, curves=curves, columns=columns)
    except FileError:
        data = read(Path(text), space, curves=curves)
    if len(data) != 1:
        raise ValueError(
            f"{text}: the centre must be a single public record, but the file holds {len(data)}; give a file with one, or, if "
            "these are public specimens, give them with --public"
        )
    same_order(f"--center {text}", data, records)
    return data.points[0]


# -- compare -------------------------------------------------------------------------------------------------------------
@app.command(cls=WithSpaces)
@partial(knowing, without=("wide", "find_radius", "check"))
def compare(
    files: FilesArgument,
    by: Annotated[str, typer.Option(help="Column that says which group a record is in, such as sex or species.")],
    epsilon: EpsilonOption,
    known: Known,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Table (CSV) with the groups, where the records do not say them: told by a column such as ID."
        ),
    ] = None,
    labels_are_public: Annotated[
        bool,
        typer.Option("--labels-are-public", help="Say that everybody may know the group of every person."),
    ] = False,
    space: UsualSpaceOption = "",
    out: Annotated[Path, typer.Option(help="Where the comparison's JSON record goes.")] = Path("comparison.json"),
    plot: Annotated[Path | None, typer.Option(help="Picture of two groups and how they differ (PNG or SVG).")] = None,
    report: ReportOption = None,
    links: LinksOption = None,
    channels: ChannelsOption = None,
    unit_column: UnitColumnOption = None,
    unit: UnitOption = None,
    invalid: InvalidOption = "raise",
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    landmarks: LandmarksOption = None,
    size: SizeOption = None,
    dim: DimOption = None,
    columns: ColumnsOption = None,
    array: ArrayOption = None,
    missing: MissingOption = None,
    curves: CurvesOption = None,
    even_if_useless: UselessOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Release the private mean of each group, and say which differ: a test of equal means for each pair.

    All groups together cost one epsilon, as each person is in one group; who is in which must be public knowledge.

    Example: sfumato compare fish.tps --by sex --labels-are-public --public atlas.tps --epsilon 1 --plot sexes.png
    """
    from ..files.labels import groups_of, with_table
    from ..mechanisms.inference import SHARE
    from ..release.session import Session
    from ..views.compared import pairs_in_words
    from ..views.curator import of_clipping, region_used
    from ..views.outputs import check_comparable, check_outputs, write_comparison

    known.complete()
    check_comparable(by, labels_are_public)
    outputs = {"--out": out, "--plot": plot, "--report": report}
    check_outputs(outputs, [*files, *known.inputs, *filter(None, [ledger, labels])], force)
    session = Session(out, open_ledger(ledger, dataset), force, ctrl_c)
    session.afford(epsilon)  # before any record is read
    choice: dict[str, Any] = {"columns": columns, "array": array, "missing": missing, "curves": curves}
    sizes = {"landmarks": landmarks, "size": size, "dim": dim}
    data, manifold, kind = load(files, space, sizes, **choice)
    if labels is not None:
        data = with_table(data, labels, by)
    groups = groups_of(data, by)
    data = replace(data, labels={name: column for name, column in data.labels.items() if name != by})
    tell_source(data, manifold, None, False, missing is not None)
    looks = how_drawn(data, manifold, links, channels)
    region = region_beside(known, data, manifold, files, kind, sizes, **choice)
    data = replace(data, points=known.symmetrized(data.points))
    how = unit_of(data, unit_column, unit, False) | {"invalid": invalid, "force": force}
    how |= {"inference": known.inference or SHARE, "allow_useless": even_if_useless}
    with rows_named(files, data, False):
        done = session.compare(data, groups, region, epsilon, **how)
    write_comparison(done, outputs, *looks)
    written = ", ".join(str(path) for path in outputs.values() if path is not None)
    words = f"{done.describe()}\n\n{pairs_in_words(done)}\n\nWritten: {written}\n"
    used = region_used(region, next(iter(done.groups.values())))
    with shown_or_not(out):
        typer.echo(done.to_json() if as_json else words, nl=False)
        typer.echo("\n" + of_clipping(used, data.points, first=False), err=True)


# -- plan and inspect ---------------------------------------------------------------------------------------------------
@app.command(cls=WithSpaces)
@knowing
def plan(
    n: Annotated[int, typer.Option(help="Number of records (people).")],
    epsilon: EpsilonOption,
    known: Known,
    space: UsualSpaceOption = "",
    landmarks: LandmarksOption = None,
    size: SizeOption = None,
    dim: DimOption = None,
    curves: CurvesOption = None,
    error: Annotated[float | None, typer.Option(help="Wanted 95% error (default: half of the best).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of the error curves.")] = None,
    simulate: Annotated[Path | None, typer.Option(help="Picture of such a release, of synthetic data.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict errors before spending anything; touches no data.

    Example: sfumato plan --public atlas.tps --n 409 --epsilon 1

    Example: sfumato plan --space shapes --landmarks 50 --radius 0.125 --n 409 --epsilon 1
    """
    from ..laws.privacy import PureDP
    from ..mechanisms import forecast
    from ..mechanisms.planning import aim, instead, plot_plan
    from ..views.forecasts import instead_in_words, needs_in_words, plan_in_words
    from ..views.outputs import check_outputs

    if error is not None and not 0 < error < float("inf"):
        raise ValueError(f"--error must be a positive number, not {error}")
    check_outputs({"--plot": plot, "--simulate": simulate}, known.inputs)
    region = region_alone(known, space, {"landmarks": landmarks, "size": size, "dim": dim}, curves)
    PureDP(epsilon).check(force=True)
    rows = forecast(region, n, epsilon, known.share, **known.how)
    usable = rows[0].refusal is None
    needs = aim(region, n, epsilon, rows[0], error, known.share, **known.how)
    ways = [] if usable and not rows[0].useless else instead(region, n, epsilon, known.share)
    if not usable and (plot is not None or simulate is not None):
        typer.echo("sfumato: no picture is drawn, as nothing can be released", err=True)
        plot = simulate = None
    if plot is not None:
        plot_plan(region, n, epsilon, plot, known.share, **known.how)
    if simulate is not None:
        draw_simulated(region, n, epsilon, simulate, known)
    if as_json:
        show_json({"mechanisms": [asdict(row) for row in rows], "wanted": needs, **({"instead": ways} if ways else {})})
    else:
        fewer_more = [(m, forecast(region, m, epsilon, known.share, **known.how)[0]) for m in (max(1, n // 2), 2 * n)]
        typer.echo(plan_in_words(region, n, epsilon, rows, fewer_more))
        typer.echo(f"\n{needs_in_words(n, epsilon, needs)}")
        if ways:
            typer.echo(f"\n{instead_in_words(n, epsilon, ways)}")
    if not usable or rows[0].useless:
        raise SystemExit(UNUSABLE)


def region_alone(known: Known, name: str, sizes: dict[str, int | None], curves: str | None) -> Region:
    """The public region that the options describe, where there are no records; plans of a ball need no centre, as they are
    the same about any."""
    if known.public is not None:
        kind = space_of_name(name) if name else only_space([known.public], sizes, curves=curves)
        sample = read_sample(known.public, kind, sizes, curves=curves)
        return known.region(kind.shaped(sample.points.shape[1:]), sample)
    if known.limits is not None:
        return known.region(named_space(name, sizes), None)
    if (known.radius is None and known.wide is None) or known.prior:
        known.complete()
    if known.center is None:
        return known.region((space := named_space(name, sizes)), None, space.present(space.origin()))
    file = Path(known.center)
    space = load([file], name, sizes, curves=curves)[1] if file.exists() else named_space(name, sizes)
    return known.region(space, None, load_center(known.center, space, curves))


def draw_simulated(region: Region, n: int, epsilon: float, path: Path, known: Known) -> None:
    """The picture of a release of synthetic records that fill half of the region."""
    import numpy as np

    from .. import private_mean
    from ..views.plots import plot_release

    points = region.space.random_points(region.center, region.radius / 2, n, np.random.default_rng())
    how: dict[str, Any] = {"check": known.share, "inference": known.inference or 0.0, "allow_useless": True}
    how |= {"region": region} if known.find is None else {"prior": region, "find": known.find}
    done = private_mean(region.space.present(points), epsilon=epsilon, **how)
    plot_release(done, path, title="Simulated: synthetic records")


def show_json(facts: Any, allow_nan: bool = False) -> None:
    typer.echo(json.dumps(facts, indent=2, allow_nan=allow_nan))


@app.command(cls=WithSpaces)
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The curator's records.")],
    space: SpaceOption = "",
    landmarks: LandmarksOption = None,
    size: SizeOption = None,
    dim: DimOption = None,
    columns: ColumnsOption = None,
    array: ArrayOption = None,
    missing: MissingOption = None,
    curves: CurvesOption = None,
    public: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Public specimens to hold the records against.")
    ] = None,
    center: Annotated[str | None, typer.Option(metavar="FILE", help="One public record to hold them against.")] = None,
    radius: Annotated[float | None, typer.Option(help="How far from it records may lie, as is publicly known.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a file, or a folder of files, holds.  For the curator's eyes: not private.

    With a public region, say too which records it would clip, and which specimens look like outliers, mirror images or
    mistaken landmarks.  Never choose the region by what you see here.

    Example: sfumato inspect wings.tps

    Example: sfumato inspect wings.tps --center reference.tps --radius 0.15
    """
    from ..views.check import against
    from ..views.curator import MARK, inspection, inspection_in_words

    choice: dict[str, Any] = {"columns": columns, "array": array, "missing": missing or "none", "curves": curves}
    sizes = {"landmarks": landmarks, "size": size, "dim": dim}
    data, manifold, kind = load([file], space or first_space(file, sizes, **choice), sizes, **choice)
    facts = inspection(data, manifold, said=missing is not None)
    known, lines = Known(public=public, center=center, radius=radius), list[str]()
    if known != Known():
        known.complete()
        region = region_beside(known, data, manifold, [file], kind, sizes, **choice)
        lines = against(region.settle(max(2, len(data)), 1.0), data)
    if as_json:
        show_json(facts | ({"beside_the_region": lines} if lines else {}))
    else:
        beside = ["", f"{MARK}: beside the public region", *(f"- {line}" for line in lines)] if lines else []
        typer.echo("\n".join([inspection_in_words(data, manifold, facts), *beside]))
        if not space and data.kind != "landmarks":
            typer.echo("No --space was given, so the most usual one was taken; 'sfumato spaces' lists the others.")


@app.command()
def spaces() -> None:
    """List the spaces that records may be points of, with what to type for each.

    Example: sfumato spaces
    """
    from ..spaces import all_spaces
    from ..spaces.family import in_words

    typer.echo(
        "Type these after --space; an argument may be left out if an option (--landmarks, --size, --dim) or the file"
    )
    typer.echo("says it, as in: sfumato plan --space 'sphere(curvature=4)' --dim 2 --radius 0.2 --n 100 --epsilon 1")
    group = ""
    for kind in all_spaces():
        typed, words = in_words(kind)
        typer.echo((f"\n{kind.kind}\n" if kind.kind != group else "") + f"  {typed}\n      {words}")
        group = kind.kind


def first_space(file: Path, sizes: dict[str, int | None], **choice: Any) -> str:
    """The most usual space that the records of a file may be points of, given its size or by what the file itself says."""
    from ..errors import FileError
    from ..files import read
    from ..spaces import SPACES, Family

    said = [kind for kind in SPACES.values() if sizes.get(kind.size_option or "") and not kind.by_name]
    if len(said) == 1 or {kind.kind for kind in said} == {"landmarks"}:
        for kind in said:
            with suppress(FileError):
                read(file, Family(kind).sized(**sizes), **choice)
                return kind.name
        return said[0].name  # which says why not
    found = read(file, **choice)
    kinds = found.usual
    if not kinds:
        raise ValueError(
            f"{file}: holds {found.contents}, of no space that is known by itself: say which, --space NAME"
        )
    return kinds[0].name


# -- ledger -------------------------------------------------------------------------------------------------------------
LedgerArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger file.")]


@books.command("init")
def ledger_init(
    file: LedgerArgument,
    epsilon: Annotated[str, typer.Option(help="The whole budget, an exact decimal.")],
    dataset: Annotated[str, typer.Option(help="Name of the data set.")] = "default",
) -> None:
    """Give a data set a budget, in a new ledger or an existing one.

    Example: sfumato ledger init study.ledger --epsilon 3 --dataset wings
    """
    from ..laws.privacy import LARGE_EPSILON
    from ..release.ledger import Ledger

    ledger = Ledger.create(file, epsilon, dataset)
    typer.echo(ledger.describe())
    if ledger.left > LARGE_EPSILON:
        warnings.warn(
            f"releases that add up to an epsilon of {ledger.left} promise little together; 10 is a lot for one group of people",
            stacklevel=1,
        )


@books.command("show")
def ledger_show(file: LedgerArgument, as_json: JsonOption = False) -> None:
    """Say what is left of each budget.

    Example: sfumato ledger show study.ledger
    """
    from ..release.ledger import Ledger

    book = Ledger(file).verify()
    if as_json:
        show_json({name: {"budget": str(b), "left": str(book.left(name))} for name, b in book.budgets.items()})
    else:
        typer.echo("\n".join(book.describe(name) for name in book.budgets))


@books.command("log")
def ledger_log(file: LedgerArgument, as_json: JsonOption = False) -> None:
    """List every line.

    Example: sfumato ledger log study.ledger
    """
    from ..release.ledger import Ledger

    entries = Ledger(file).verify().entries
    if as_json:
        show_json([asdict(entry) for entry in entries])
    else:
        typer.echo("\n".join(map(str, entries)))


@books.command("verify")
def ledger_verify(
    file: LedgerArgument,
    head: Annotated[
        str | None, typer.Option(help="A head hash noted earlier: all up to it must still be there.")
    ] = None,
) -> None:
    """Check every line, and print the hash of the last one, to be noted elsewhere.

    Example: sfumato ledger verify study.ledger
    """
    from ..release.ledger import Ledger

    book = Ledger(file).verify(head)
    typer.echo(f"{file}: {len(book.entries)} lines, all intact. Head: {book.head}")


# -- studio -------------------------------------------------------------------------------------------------------------
@app.command()
def studio(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The curator's records.")] = None,
    ledger: LedgerOption = None,
    port: Annotated[int, typer.Option(help="Port of the page on this machine (default: any that is free).")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open a page on this machine: plan, see the blur before spending, release, take the report home.

    Example: sfumato studio wings.tps --ledger study.ledger
    """
    from .studio.server import serve

    ctrl_c.words = "the studio is closed, and no release is half made"
    serve(str(file or ""), str(ledger or ""), port, browser, typer.echo)


# -- demo and reproduce -------------------------------------------------------------------------------------------------
@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo-output"),
    epsilon: EpsilonOption = 1.0,
) -> None:
    """Release a private mean of 100 mosquito wings, 26 others being public; write its record and picture.

    Example: sfumato demo --epsilon 2 --out wings
    """
    from .demo import run

    done = run(out, epsilon)
    typer.echo(done.describe())
    typer.echo(f"\nWritten: {out / 'mean.json'} (the record) and {out / 'mean.png'} (the picture)")
    typer.echo(f"To try the command line on: wings.tps, public.tps and reference.tps, also in {out}")


@app.command()
def reproduce(
    what: Annotated[
        str,
        typer.Argument(help="Which experiment: sphere, spd, shapes, rates or all of these; or structure, findings."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for figures, results.csv and REPORT.md.")] = Path("reproduction"),
    replicates: Annotated[int, typer.Option(help="Replicates at each sample size.")] = 40_000,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the replicates at fewer sample sizes.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of data and draws.")] = 0,
    data: Annotated[Path | None, typer.Option(help="Your own landmark file for 'shapes' (TPS, CSV, NPY, …).")] = None,
) -> None:
    """Regenerate the paper's figures: as they were run, and as the theorems ask; and ours: what public knowledge is worth,
    and whether regions, tests and found balls hold what they say.

    An interrupted run resumes when the same command is given again. The paper's own outlines (ADNI) cannot be passed on;
    who has access to ADNI can give their landmark file with --data.

    Example: sfumato reproduce all --quick --out reproduction
    """
    from ..studies.reproduce import reproduce as run

    outlines, source = None, ""
    if data is not None and what not in ("shapes", "all"):
        raise ValueError(f"--data is for 'shapes'; 'reproduce {what}' makes its own")
    if data is not None:
        outlines, source = load([data], "shapes", {})[0].points, data.name
    report = run(what, out, replicates=replicates, quick=quick, seed=seed, outlines=outlines, source=source)
    typer.echo(f"Written: {report}, its figures and results.csv")


# -- audit --------------------------------------------------------------------------------------------------------------
@app.command(cls=WithSpaces)
def audit(
    mechanism: Annotated[str, typer.Option(help="kng, laplace, exponential, …, or all of them.")] = "all",
    space: SpaceOption = "sphere",
    radius: RadiusOption = 0.4,
    epsilon: EpsilonOption = 1.0,
    n: Annotated[int | None, typer.Option(help="Number of records (default: 2, 5, 10 and 50 are tried).")] = None,
    draws: Annotated[int, typer.Option(help="Draws from each data set.")] = 1_000_000,
    releases: Annotated[bool, typer.Option("--releases", help="Attack true releases, lattice and all: slow.")] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Attack the time of 2000 releases, not their values.")
    ] = False,
    broken: Annotated[bool, typer.Option("--broken", help="Audit mechanisms that are wrong on purpose.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for pictures and audit.json.")] = Path("audit-output"),
    landmarks: LandmarksOption = None,
    size: SizeOption = None,
    dim: DimOption = None,
    as_json: JsonOption = False,
) -> None:
    """Attack the mechanisms: a lower bound on the ε that they really have; touches no data.

    Data sets that are likely to be the worst are made up, events are learned from some draws and counted in others. A bound
    above the claimed ε convicts, wrongly with a probability of one in a million; it ends with exit code 1.

    Example: sfumato audit --mechanism kng --space sphere --radius 0.4 --epsilon 1
    """
    from .. import Ball
    from ..audit.trial import conduct, table

    manifold = named_space(space, {"landmarks": landmarks, "size": size, "dim": dim})
    ball = Ball(manifold, manifold.present(manifold.origin()), radius)  # audits are the same about any point
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out}: is not a folder; choose another name")
    how = "timing" if timing else "releases" if releases else "draws"
    rows = conduct(ball, epsilon, mechanism, n, draws, how, broken, seed, out)
    if as_json:
        show_json(rows, allow_nan=True)
    else:
        typer.echo(f"{ball.space}, radius {radius:g}; each bound is wrong with a chance of at most one in a million\n")
        table(rows, typer.echo)
        typer.echo(f"\nWritten: {out / 'audit.json'} and a picture of each")
    if any(row["convicted"] for row in rows):
        raise SystemExit(CONVICTED)


def main() -> None:
    """Run the command; bad input ends with a sentence and exit code 2, a refused budget with 3, Ctrl-C with 130."""
    try:
        command()
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            try:
                stream.flush()
            except OSError:  # full or closed: Python would try again at the end, and change the exit code
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def command() -> None:
    """Run the command, and end with a sentence and an exit code where it fails."""
    from ..errors import BudgetExceeded, UnsavedError

    try:
        with ctrl_c.in_charge(), warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_: typer.echo(f"sfumato: warning: {message}", err=True)
            app(args=[word for word in sys.argv[1:] if word != "--debug"])  # which may stand anywhere
    except Stopped:
        typer.echo(f"\nsfumato: stopped: {ctrl_c.words}", err=True)
        raise SystemExit(STOPPED + ctrl_c.asked) from None
    except (ValueError, OSError, RuntimeError, ArithmeticError, MemoryError) as error:
        words = str(error)
        if isinstance(error, UnsavedError):
            try:
                typer.echo(error.release.to_json(), nl=False)
            except OSError:  # it must not be lost
                typer.echo(error.release.to_json(), nl=False, err=True)
            words += "; the release is printed above: keep it"
        if "--debug" in sys.argv:
            raise
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            words = f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}; check the name"
        typer.echo(f"sfumato: {printable(words, chr(10))}", err=True)
        raise SystemExit(REFUSED if isinstance(error, BudgetExceeded) else BAD_INPUT) from None


if __name__ == "__main__":
    main()
