"""The command ``sfumato``."""

from __future__ import annotations

import json
import re
import sys
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .interruption import Interruption, Stopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .files import Dataset
    from .ledger import Ledger
    from .mechanisms import Forecast
    from .records import Progress
    from .regions.ball import Ball
    from .release import Release
    from .spaces import Space

DONE, CONVICTED, BAD_INPUT, REFUSED, STOPPED = 0, 1, 2, 3, 130  # exit codes
UNUSABLE = CONVICTED  # a plan by which nothing can be released
NEARLY_ALL = 0.9  # share of records outside the ball that the curator should hear of loudly

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Differentially private means of shapes, covariance matrices and directions.",
    epilog="Exit codes: 0 done, 1 an audit convicted or a plan cannot be carried out, 2 bad usage or input, 3 budget refused, "
    "130 stopped by Ctrl-C. --debug, anywhere, shows tracebacks.",
)
books = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Keep the privacy budget of a study.")
app.add_typer(books, name="ledger")


class SpaceName(StrEnum):
    shapes = "shapes"
    sphere = "sphere"
    spd = "spd"
    euclidean = "euclidean"


class Study(StrEnum):
    sphere = "sphere"
    spd = "spd"
    shapes = "shapes"
    rates = "rates"
    all = "all"


SpaceOption = Annotated[
    SpaceName, typer.Option("--space", help="What the records are: spd for covariance matrices, sphere for directions.")
]
RadiusOption = Annotated[float, typer.Option(help="Radius of the public ball; never computed from the data.")]
EpsilonOption = Annotated[
    float, typer.Option(help="Privacy budget of the release: the smaller, the more private; 1 is common.")
]
LandmarksOption = Annotated[int | None, typer.Option(help="How many landmarks a shape has.")]
SizeOption = Annotated[int | None, typer.Option(help="Rows of a covariance matrix (spd).")]
DimOption = Annotated[int | None, typer.Option(help="Dimension of a sphere or Euclidean space.")]
ColumnsOption = Annotated[
    str | None, typer.Option(help="Columns of a table that hold the points: lat,lon or lat=theta,lon=phi.")
]
ArrayOption = Annotated[str | None, typer.Option(help="Name of the array or table, in a file that holds several.")]
MissingOption = Annotated[
    str | None, typer.Option(help="Number that stands for a missing value, as -999; or 'none' if all were measured.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def show_version(asked: bool) -> None:
    if asked:
        from ._version import __version__

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
    if context.invoked_subcommand != "release":
        ctrl_c.words = "what was at work is not finished"


# -- release ------------------------------------------------------------------------------------------------------------
FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        help="The curator's records: TPS, NTS, CSV, NPY, Parquet, MATLAB, R, …; several such files, or a folder of "
        "them; several Parquet files are read in parts."
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
CenterOption = Annotated[
    str, typer.Option(help="File with one public record; or 'identity' for spd, 'origin' for euclidean.")
]
OutOption = Annotated[Path, typer.Option(help="Where the release's JSON record goes.")]
MechanismOption = Annotated[str, typer.Option(help="auto, kng, laplace, exponential, ambient-laplace, …")]
PlotOption = Annotated[Path | None, typer.Option(help="Picture of the release (PNG or SVG).")]
ReportOption = Annotated[Path | None, typer.Option(help="Report in words (HTML or Markdown).")]
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


@app.command()
def release(
    files: FilesArgument,
    space: SpaceOption,
    center: CenterOption,
    radius: RadiusOption,
    epsilon: EpsilonOption,
    out: OutOption,
    mechanism: MechanismOption = "auto",
    plot: PlotOption = None,
    report: ReportOption = None,
    value: ValueOption = None,
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
    force: ForceOption = False,
    workers: WorkersOption = 1,
    memory: MemoryOption = "256MiB",
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release the private Fréchet mean of a file, or of several Parquet files.

    Example: sfumato release wings.tps --space shapes --center reference.tps --radius 0.15 --epsilon 1 --out mean.json
    """
    from . import Ball
    from .privacy import PureDP
    from .release.session import Session

    inputs = [*files, *([] if center in ("origin", "identity") else [Path(center)]), *([ledger] if ledger else [])]
    views = {"--plot": plot, "--report": report, "--value": value}
    check_outputs({"--out": out, **views}, inputs, force)
    PureDP(epsilon)
    session = Session(out, open_ledger(ledger, dataset), force, ctrl_c)
    session.afford(epsilon)  # before any record is read
    limit, choice = memory_bytes(memory), {"columns": columns, "array": array, "missing": missing}
    streamed = in_parts(files, limit, unit_column, scheduler, choice)
    data, manifold = load(files, space, landmarks, size, dim, head=streamed, **choice)
    tell_source(data, manifold, value, streamed, missing is not None)
    ball = Ball(manifold, load_center(center, manifold), radius)
    labels, name = unit_of(data, unit_column, unit, streamed)
    with ExitStack() as stack, rows_named(files, data, streamed):
        points = open_parts(stack, files, manifold, limit, workers, scheduler) if streamed else data.points
        shown = stack.enter_context(shown_progress()) if streamed and not as_json else None
        how: Any = {"unit": labels, "unit_name": name, "invalid": invalid, "force": force, "degrees": data.degrees}
        how |= {"workers": workers, "memory": limit, "progress": shown}
        done = session.release(points, ball, epsilon, mechanism, **how)
    write_views(done, out, plot, report, value, data.kind)
    show(done, [out, *views.values()], as_json)
    tell_curator(ball, data.points, streamed)


@contextmanager
def rows_named(files: list[Path], data: Dataset, streamed: bool) -> Iterator[None]:
    """A bad record is named by its file, and by its place in that."""
    from .errors import InvalidPointError

    try:
        yield
    except InvalidPointError as error:
        where = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        words = str(error) if streamed else str(error).replace(f"record {error.row}", data.where(error.row), 1)
        raise ValueError(f"{where}: {words}. Mend the record, or give --invalid center") from None


def show(done: Release, written: list[Path | None], as_json: bool) -> None:
    """The release on the screen."""
    from .views.words import value_in_words

    names = ", ".join(str(path) for path in written if path is not None)
    words = f"{done.describe()}\n\n{value_in_words(done)}\n\nWritten: {names}\n"
    typer.echo(done.to_json() if as_json else words, nl=False)


def tell_source(data: Dataset, space: Space, value: Path | None, streamed: bool, said: bool) -> None:
    """What became the points, and what looks odd in them: on the curator's screen."""
    from .files.missing import remarks

    if value is not None and value.suffix.lower() == ".tps" and data.kind != "landmarks":
        raise ValueError(f"--value {value}: a TPS file holds landmarks, not {data.kind}; choose .csv or .npy")
    odd = [] if streamed else listed(remarks(data, space, said=said))
    for line in (f"the points are {data.source}.", *odd):
        typer.echo(f"For the curator only, not part of the release: {line}", err=True)


def write_views(
    done: Release, out: Path, plot: Path | None, report: Path | None, value: Path | None, kind: Any
) -> None:
    """The picture, the report and the value alone of a release that is saved."""
    try:
        if plot is not None:
            from .views.plots import plot_release

            plot_release(done, plot)
        if report is not None:
            from .views.report import write_report

            write_report(done, report)
        if value is not None:
            from .files import write_points

            write_points(value, done.value, kind)
    except (OSError, ValueError) as error:
        raise ValueError(f"the release is made and is in {out}; do not release again. What failed: {error}") from None


def tell_curator(ball: Ball, points: Any, first: bool) -> None:
    """How many records were clipped: on the curator's screen, after the release, and nowhere else."""
    import numpy as np

    from .regions.ball import INSIDE

    canonical, bad = ball.space.diagnose(points)
    canonical = canonical.copy()
    canonical[list(bad)] = ball.center
    with np.errstate(over="ignore", invalid="ignore"):  # as when they were clipped
        n, outside = len(canonical), int(ball.space.outside(ball.center, canonical, INSIDE * ball.radius).sum())
    of = f"of the first {n} records" if first else f"of {n} records"
    words = f"{outside or 'none'} {of} lay outside the public ball and {'were' if outside != 1 else 'was'} moved to its edge"
    words += f"; {len(bad)} could not be read as points and became the centre" if bad else ""
    if outside < NEARLY_ALL * n:
        typer.echo(f"\nFor the curator only, not part of the release: {words}.", err=True)
        return
    typer.echo(
        f"\nFOR THE CURATOR ONLY, NOT PART OF THE RELEASE: {words}. What was released is the mean of points on that edge, and "
        "says little of the records as they are. The centre and the radius do not fit them: are they in the same units (volts, "
        "microvolts), and is the centre of the same kind? Choose both anew from public knowledge, not from these records; "
        "another release costs its epsilon again.",
        err=True,
    )


def unit_of(data: Dataset, column: str | None, unit: str | None, head: bool) -> tuple[Any, str]:
    """The unit in words, or the labels of a column and what they stand for."""
    from .units import RECORD, check_words, named_labels, repeated_labels

    if column is None:
        repeated = {**(named_labels(data.labels) if head else {}), **repeated_labels(data.labels)}
        check_words(unit, data.labels, repeated)
        return unit or RECORD, ""
    if column not in data.labels:
        known = ", ".join(data.labels) or "none"
        raise ValueError(f"{data.path}: there is no column {column!r}; columns beside the points: {known}")
    return data.labels[column], unit or f"one {column}: all its records"


def memory_bytes(text: str) -> int:
    """A number of bytes: 256MiB, 1GB, 500000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if found is None:
        raise ValueError(f"--memory must be a number of bytes such as 256MiB or 1GB, not {text!r}")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2] or " "))


def is_large(files: list[Path], memory: int) -> bool:
    """Whether one file is Parquet and would take more memory than allowed."""
    if not is_parquet(files[0]):
        return False
    from pyarrow.parquet import read_metadata

    held = read_metadata(files[0])
    return bool(8 * held.num_rows * held.num_columns > memory)


def is_parquet(file: Path) -> bool:
    if file.is_dir():
        return False
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"


def in_parts(
    files: list[Path], memory: int, unit_column: str | None, scheduler: str | None, choice: Mapping[str, str | None]
) -> bool:
    """Whether the files are read in parts, as large or several Parquet files are; a ValueError if that cannot be."""
    large = unit_column is None and is_large(files, memory)
    if scheduler is None and not large and not (len(files) > 1 and any(map(is_parquet, files))):
        return False
    other = next((file for file in files if not is_parquet(file)), None)
    if other is not None:
        raise ValueError(
            f"{other}: is not a Parquet file; several files, or files for --scheduler, must all be Parquet"
        )
    if unit_column is not None:
        raise ValueError(
            "--unit-column goes with a single file that is read at once: first reduce the records of each person to one, "
            "then say so with --unit"
        )
    if any(choice.values()):
        raise ValueError("--columns, --array and --missing go with one file that is read at once: raise --memory")
    return True


def open_parts(
    stack: ExitStack, files: list[Path], space: Space, memory: int, workers: int, scheduler: str | None
) -> Any:
    """Parquet files as a dataset, or as delayed parts for the workers of a scheduler."""
    from pyarrow.dataset import dataset

    found = dataset([str(file.resolve() if scheduler else file) for file in files], format="parquet")
    if scheduler is None:
        return found
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--scheduler needs the packages dask and distributed: pip install 'sfumato[scale]'") from None
    from .records import chunk_rows, delayed_parts

    stack.enter_context(Client(scheduler, set_as_default=True, timeout="10s"))
    return delayed_parts(found, space, chunk_rows(space, memory, workers))


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


ENDINGS = {
    "--plot": (".png", ".svg"),
    "--simulate": (".png", ".svg"),
    "--report": (".html", ".md"),
    "--value": (".tps", ".csv", ".npy"),
}


def check_outputs(outputs: Mapping[str, Path | None], inputs: list[Path], force: bool = True) -> None:
    """Find out before anything is spent whether all outputs can be written, and that none replaces an input or another.

    Without ``force`` no output may exist.
    """
    from .release.atomic import check_writable

    outputs, report = dict(outputs), outputs.get("--report")
    if report is not None and report.suffix.lower() == ".md":
        outputs["--report, its picture,"] = report.with_suffix(".png")
    taken = {path.resolve(): str(path) for path in inputs}
    for option, path in outputs.items():
        if path is None:
            continue
        endings = ENDINGS.get(option, ())
        if endings and path.suffix.lower() not in endings:
            raise ValueError(f"{option} {path}: the ending must be {' or '.join(endings)}")
        if not path.parent.is_dir():
            raise ValueError(f"{path}: there is no folder {path.parent}; make it first")
        if path.exists() and not path.is_file():
            raise ValueError(f"{option} {path}: is not a regular file; choose another name")
        if path.resolve() in taken:
            raise ValueError(f"{option} {path}: would replace {taken[path.resolve()]}; choose another name")
        if path.exists() and not force:
            raise ValueError(f"{option} {path}: exists already; choose another name, or give --force to replace it")
        check_writable(path, f"{option} {path}")
        taken[path.resolve()] = f"{option} {path}"


ctrl_c = Interruption()


def open_ledger(file: Path | None, dataset: str | None) -> Ledger | None:
    from .ledger import Ledger

    if file is None and dataset is not None:
        raise ValueError("--dataset names a budget in a ledger: give --ledger too, or nothing would be charged")
    return None if file is None else Ledger(file, dataset)


def load(
    files: list[Path],
    name: SpaceName,
    landmarks: int | None,
    size: int | None,
    dim: int | None,
    head: bool = False,
    **choice: Any,
) -> tuple[Dataset, Space]:
    """The records of a file or several, or the first few, and the space that their shape and the options say."""
    from .files import read
    from .files.parquet import read_first
    from .spaces import SPACES

    kind: Any = SPACES[name]
    given = size_given(name, landmarks, size, dim)
    wanted = kind if given is None else kind(given)
    data = read_first(files[0], wanted) if head else read(files[0] if len(files) == 1 else files, wanted, **choice)
    k = data.points.shape[1]
    space = kind(k)
    return data, space if len(space.present(space.origin())) == k else kind(max(1, k - 1))


def size_given(name: SpaceName, landmarks: int | None, size: int | None, dim: int | None) -> int | None:
    """What was said of the size of a space: the option of the same name as its own parameter."""
    return {SpaceName.shapes: landmarks, SpaceName.spd: size}.get(name, dim)


def listed(words: list[str], most: int = 5) -> list[str]:
    """A handful of them, and how many more there are."""
    return words[:most] + ([f"and {len(words) - most} more"] if len(words) > most else [])


def load_center(text: str, space: Space) -> Any:
    """The public centre: a word, or the only record of a file."""
    from .files import read
    from .views import VIEWS

    view = VIEWS[space.name]
    if text == "origin" and view.origin:
        raise ValueError(
            f"--center origin would be {view.origin} here, and no data lie about that: give a file with one public record, "
            "such as a published template, or a specimen that is declared public and left out of the data"
        )
    if text in view.centers:
        return space.present(space.origin())
    if text == "identity" and not Path(text).exists():
        raise ValueError("--center identity is for --space spd; give a file with one public record")
    if not Path(text).exists():
        raise ValueError(f"--center {text}: there is no such file; give a file with one public record")
    points = read(Path(text), space).points
    if len(points) != 1:
        raise ValueError(f"{text}: the centre must be a single public record, but the file holds {len(points)}")
    return points[0]


# -- plan and inspect ---------------------------------------------------------------------------------------------------
@app.command()
def plan(
    space: SpaceOption,
    n: Annotated[int, typer.Option(help="Number of records (people).")],
    radius: RadiusOption,
    epsilon: EpsilonOption,
    landmarks: LandmarksOption = None,
    size: SizeOption = None,
    dim: DimOption = None,
    error: Annotated[float | None, typer.Option(help="Wanted 95% error (default: half of the best).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of the error curves.")] = None,
    simulate: Annotated[Path | None, typer.Option(help="Picture of such a release, of synthetic data.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict errors before spending anything; touches no data.

    Example: sfumato plan --space shapes --landmarks 50 --n 409 --radius 0.125 --epsilon 1
    """
    from . import Ball
    from .mechanisms import forecast
    from .planning import best_error, needed_epsilon, needed_n, plot_plan
    from .privacy import PureDP

    manifold = named_space(space, landmarks, size, dim)
    ball = Ball(manifold, manifold.present(manifold.origin()), radius)
    if error is not None and not 0 < error < float("inf"):
        raise ValueError(f"--error must be a positive number, not {error}")
    check_outputs({"--plot": plot, "--simulate": simulate}, [])
    PureDP(epsilon).check(force=True)
    rows = forecast(ball, n, epsilon)
    usable = rows[0].refusal is None
    half = best_error(ball, n, epsilon) / 2 if usable else sys.float_info.max  # any error at all
    wanted = half if error is None else error
    enough_epsilon, enough_n = needed_epsilon(ball, n, wanted), needed_n(ball, epsilon, wanted)
    if not usable and (plot is not None or simulate is not None):
        typer.echo("sfumato: no picture is drawn, as nothing can be released", err=True)
        plot = simulate = None
    if plot is not None:
        plot_plan(ball, n, epsilon, plot)
    if simulate is not None:
        _simulate(ball, n, epsilon, simulate)
    if as_json:
        stated = wanted if usable or error is not None else None
        needs = {"error_95": stated, "epsilon_at_n": enough_epsilon, "n_at_epsilon": enough_n}
        text = json.dumps({"mechanisms": [asdict(row) for row in rows], "wanted": needs}, indent=2, allow_nan=False)
        typer.echo(text)
    else:
        show_plan(ball, n, epsilon, rows)
        goal = f"For a 95% error of {wanted:.3g}" if usable or error is not None else "For a release at all"
        typer.echo(
            f"\n{goal}: "
            + (f"ε = {enough_epsilon:.3g} with {n} records" if enough_epsilon else f"no ε up to 100 with {n} records")
            + (f", or {enough_n} records with ε = {epsilon:g}." if enough_n else f", and no n with ε = {epsilon:g}.")
        )
    if not usable:
        raise SystemExit(UNUSABLE)


def show_plan(ball: Ball, n: int, epsilon: float, rows: list[Forecast]) -> None:
    """What each mechanism would do, as a table."""
    typer.echo(f"{ball.space}, n = {n}, radius {ball.radius:g}, ε = {epsilon:g}\n")
    typer.echo(f"{'mechanism':14s}{'scale':>12s}{'median error':>15s}{'95% error':>12s}")
    for i, row in enumerate(rows):
        if row.refusal is not None:
            typer.echo(f"{row.mechanism:14s}  cannot be used: {row.refusal}")
        else:
            mark = "   <- auto takes this one" if i == 0 else ""
            typer.echo(f"{row.mechanism:14s}{row.scale:12.4g}{row.median_error:15.4g}{row.error_95:12.4g}{mark}")
    best = rows[0].error_95
    if best is None:
        typer.echo("\nNothing can be released so: no mechanism can be used.")
    elif best >= ball.radius:
        typer.echo("\nAn error as large as the radius says little beyond the public centre.")


def named_space(name: SpaceName, landmarks: int | None, size: int | None, dim: int | None) -> Space:
    """The space that the options describe."""
    from .spaces import SPACES

    given = size_given(name, landmarks, size, dim)
    if given is None and name is not SpaceName.sphere:
        missing = {"shapes": "--landmarks", "spd": "--size", "euclidean": "--dim"}[name]
        raise ValueError(f"--space {name} needs {missing}")
    return SPACES[name](2 if given is None else given)  # type: ignore[call-arg]


def _simulate(ball: Any, n: int, epsilon: float, path: Path) -> None:
    """A release of synthetic records that fill half of the ball."""
    import numpy as np

    from . import private_mean
    from .views.plots import plot_release

    space, rng = ball.space, np.random.default_rng()
    lengths = (ball.radius / 2 * rng.random(n)).reshape(-1, *(1,) * len(space.point_shape))
    points = space.exp(ball.center, lengths * space.random_directions(ball.center, n, rng))
    plot_release(private_mean(space.present(points), ball, epsilon), path, title="Simulated: synthetic records")


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="The curator's records.")],
    space: Annotated[
        SpaceName | None, typer.Option("--space", help="What the records are, if the file does not say.")
    ] = None,
    landmarks: LandmarksOption = None,
    size: SizeOption = None,
    dim: DimOption = None,
    columns: ColumnsOption = None,
    array: ArrayOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a file, or a folder of files, holds.  For the curator's eyes: not private.

    Example: sfumato inspect wings.tps
    """
    import numpy as np

    from .files import read
    from .files.missing import remarks
    from .units import RECORD, repeated_labels

    choice: dict[str, Any] = {"columns": columns, "array": array, "missing": missing or "none"}
    name = space or (SpaceName.shapes if landmarks else SpaceName.spd if size else None)
    if name is None:
        found = read(file, **choice)
        name = {"landmarks": SpaceName.shapes, "matrices": SpaceName.spd}.get(found.kind, SpaceName.euclidean)
        name = SpaceName.sphere if found.degrees else name
    data, manifold = load([file], name, landmarks, size, dim, **choice)
    n, shape = len(data), data.points.shape
    bad = manifold.diagnose(data.points)[1] if n else {}
    repeated = repeated_labels(data.labels)
    copies = n - len(np.unique(data.points.reshape(n, -1), axis=0)) if n else 0
    odd = remarks(data, manifold, said=missing is not None)
    if as_json:
        some = {row: bad[row] for row in sorted(bad)[:5]}
        facts = {"format": data.format, "kind": data.kind, "records": n, "shape": shape[1:], "points_from": data.source}
        facts |= {"bad_records": len(bad), "bad": some, "remarks": listed(odd)}
        counts = {column: len(np.unique(data.labels[column])) for column in repeated}
        typer.echo(json.dumps({**facts, "columns_with_repeats": counts, "exact_copies": copies}, indent=2))
        return
    typer.echo("For the curator's eyes: not private.\n")
    typer.echo(f"{file}: {data.format}, {n} records, {data.kind} of shape {' x '.join(map(str, shape[1:]))}")
    typer.echo(f"The points are {data.source}, as for {manifold}")
    typer.echo(f"Columns beside the points: {', '.join(data.labels) or 'none'}")
    typer.echo(f"Bad records: {len(bad) or 'none'}")
    for line in listed([f"{data.where(row)}: {reason}" for row, reason in sorted(bad.items())]):
        typer.echo(f"  {line}")
    for line in listed(odd):
        typer.echo(f"To look at: {line}")
    for column, held in repeated.items():
        typer.echo(
            f"Column {column!r} has {held}: if it says whose record it is, release with --unit-column {column}, or with "
            f"--unit '{RECORD}' if not"
        )
    if copies:
        typer.echo(f"{copies} records are exact copies of others")


# -- ledger -------------------------------------------------------------------------------------------------------------
LedgerArgument = Annotated[Path, typer.Argument(help="The ledger file.")]


@books.command("init")
def ledger_init(
    file: LedgerArgument,
    epsilon: Annotated[str, typer.Option(help="The whole budget, an exact decimal.")],
    dataset: Annotated[str, typer.Option(help="Name of the data set.")] = "default",
) -> None:
    """Give a data set a budget, in a new ledger or an existing one.

    Example: sfumato ledger init study.ledger --epsilon 3 --dataset wings
    """
    from .ledger import Ledger
    from .privacy import LARGE_EPSILON

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
    from .ledger import Ledger

    book = Ledger(file).verify()
    if as_json:
        rows = {name: {"budget": str(b), "left": str(book.left(name))} for name, b in book.budgets.items()}
        typer.echo(json.dumps(rows, indent=2))
        return
    for name in book.budgets:
        typer.echo(book.describe(name))


@books.command("log")
def ledger_log(file: LedgerArgument, as_json: JsonOption = False) -> None:
    """List every line.

    Example: sfumato ledger log study.ledger
    """
    from .ledger import Ledger

    entries = Ledger(file).verify().entries
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
        return
    for entry in entries:
        typer.echo(str(entry))


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
    from .ledger import Ledger

    book = Ledger(file).verify(head)
    typer.echo(f"{file}: {len(book.entries)} lines, all intact. Head: {book.head}")


# -- demo and reproduce -------------------------------------------------------------------------------------------------
@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo-output"),
    epsilon: EpsilonOption = 1.0,
) -> None:
    """Release a private mean of 126 mosquito wings; write its record and picture.

    Example: sfumato demo --epsilon 2 --out wings
    """
    from .demo import run

    done = run(out, epsilon)
    typer.echo(done.describe())
    typer.echo(f"\nWritten: {out / 'mean.json'} (the record) and {out / 'mean.png'} (the picture)")


@app.command()
def reproduce(
    what: Annotated[Study, typer.Argument(help="Which experiment.")],
    out: Annotated[Path, typer.Option(help="Folder for figures, results.csv and REPORT.md.")] = Path("reproduction"),
    replicates: Annotated[int, typer.Option(help="Replicates at each sample size.")] = 40_000,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the replicates at fewer sample sizes.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of data and draws.")] = 0,
    data: Annotated[Path | None, typer.Option(help="Your own landmark file for 'shapes' (TPS, CSV, NPY, …).")] = None,
) -> None:
    """Regenerate the paper's figures: as they were run, and as the theorems ask.

    An interrupted run resumes when the same command is given again. The paper's own outlines (ADNI) cannot be passed on;
    who has access to ADNI can give their landmark file with --data.

    Example: sfumato reproduce all --quick --out reproduction
    """
    from .studies.reproduce import reproduce as run

    outlines, source = None, ""
    if data is not None and what not in (Study.shapes, Study.all):
        raise ValueError(f"--data is for 'shapes'; 'reproduce {what}' makes its own")
    if data is not None:
        found, _ = load([data], SpaceName.shapes, None, None, None)
        outlines, source = found.points, data.name
    report = run(what.value, out, replicates=replicates, quick=quick, seed=seed, outlines=outlines, source=source)
    typer.echo(f"Written: {report}, its figures and results.csv")


# -- audit --------------------------------------------------------------------------------------------------------------
@app.command()
def audit(
    mechanism: Annotated[str, typer.Option(help="kng, laplace, exponential, …, or all of them.")] = "all",
    space: SpaceOption = SpaceName.sphere,
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
    from . import Ball
    from .audit.trial import conduct, table

    manifold = named_space(space, landmarks, size, dim)
    ball = Ball(manifold, manifold.present(manifold.origin()), radius)
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out}: is not a folder; choose another name")
    how = "timing" if timing else "releases" if releases else "draws"
    rows = conduct(ball, epsilon, mechanism, n, draws, how, broken, seed, out)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        typer.echo(f"{manifold}, radius {radius:g}; a bound is wrong with a probability of at most one in a million\n")
        table(rows, typer.echo)
        typer.echo(f"\nWritten: {out / 'audit.json'} and a picture of each")
    if any(row["convicted"] for row in rows):
        raise SystemExit(CONVICTED)


def main() -> None:
    """Run the command; bad input ends with a sentence and exit code 2, a refused budget with 3, Ctrl-C with 130."""
    from .errors import BudgetExceeded, UnsavedError

    try:
        with ctrl_c.in_charge(), warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_: typer.echo(f"sfumato: warning: {message}", err=True)
            app(args=[word for word in sys.argv[1:] if word != "--debug"])  # which may stand anywhere
    except Stopped:
        typer.echo(f"\nsfumato: stopped: {ctrl_c.words}", err=True)
        raise SystemExit(STOPPED) from None
    except (ValueError, OSError, RuntimeError, ArithmeticError, MemoryError) as error:
        words = str(error)
        if isinstance(error, UnsavedError):
            typer.echo(error.release.to_json(), nl=False)
            words += "; the release is printed above: keep it"
        if "--debug" in sys.argv:
            raise
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            words = f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}; check the name"
        typer.echo(f"sfumato: {words}", err=True)
        raise SystemExit(REFUSED if isinstance(error, BudgetExceeded) else BAD_INPUT) from None


if __name__ == "__main__":
    main()
