"""The command ``sfumato``."""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf

from ..errors import BudgetExceeded, Fix, Refusal, UnsavedError, printable
from ..release.interruption import Interruption, Stopped
from . import PLAIN
from .options import Grouped, taking
from .request import OUTPUT, Request, as_option, sentence

if TYPE_CHECKING:
    from ..records import Progress
    from ..regions import Region
    from .workflow import Workflow

# exit codes; the last plus the number of the signal
CONVICTED = UNUSABLE = 1
BAD_INPUT = 2
REFUSED = 3
UNSHOWN = 4
STOPPED = 128

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
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.", rich_help_panel=OUTPUT)]


def show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sfumato {sf.__version__}")
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


# -- release and compare --------------------------------------------------------------------------------------------------
@app.command(cls=Grouped)
@taking("release")
def release(request: Request, as_json: JsonOption = False) -> None:
    """Release the private Fréchet mean of a file, or of several files of one kind.

    Example: sfumato release wings.tps --public atlas.tps --epsilon 1 --out mean.json --plot mean.png

    Example: sfumato release wings.tps --center reference.tps --radius 0.15 --epsilon 1 --out mean.json

    Example: sfumato release headings.csv --space sphere --prior whole --inference 0.1 --epsilon 1
    """
    make(request, as_json)


@app.command(cls=Grouped)
@taking("compare", out="comparison.json")
def compare(request: Request, as_json: JsonOption = False) -> None:
    """Release the private mean of each group, and say which differ: a test of equal means for each pair.

    All groups together cost one epsilon, as each person is in one group; who is in which must be public knowledge.

    Example: sfumato compare fish.tps --by sex --labels-are-public --public atlas.tps --epsilon 1 --plot sexes.png
    """
    make(request, as_json)


def make(request: Request, as_json: bool) -> None:
    """Release what is asked for, write it and show it."""
    from ..views.compared import pairs_in_words
    from ..views.outputs import Outputs
    from ..views.words import value_in_words
    from .workflow import Workflow

    work = Workflow(request)
    work.check()
    record = Path(request.out)
    session = sf.Session(record, work.ledger(), request.force, ctrl_c)
    session.afford(request.privacy)  # before any record is read
    work.load()
    tell_source(work)
    work.settle()
    with shown_progress(work.parts and not as_json) as progress:
        done = work.run(session, progress)
    beside = {what: path for what, path in work.outputs.items() if what != "out"}
    Outputs(done, *work.looks).write_beside(record, beside)
    value = value_in_words(done) if isinstance(done, sf.Release) else pairs_in_words(done)
    words = f"{done.describe()}\n\n{value}\n\nWritten: {', '.join(map(str, work.outputs.values()))}\n"
    with shown_or_not(record):
        typer.echo(done.to_json() if as_json else words, nl=False)
        typer.echo("\n" + work.clipping(done), err=True)


def tell_source(work: Workflow) -> None:
    """Say on the curator's screen what became the points, and what looks odd in them."""
    from ..files.missing import remarks
    from ..views.curator import MARK, some

    odd = [] if work.parts else some(remarks(work.data, work.space, said=bool(work.request.missing)))
    for line in (f"the points are {work.data.source}.", *odd):
        typer.echo(printable(f"{MARK}: {line}"), err=True)


@contextmanager
def shown_or_not(out: Path) -> Iterator[None]:
    """Say that the record is written, if standard output takes no more; Click would only end with 1."""
    try:
        if sys.stdout is None:  # closed from the start
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        yield
    except OSError as error:
        words = f"the record is written, {out}: do not release again. It could not be shown ({error.strerror})"
        with suppress(OSError):  # standard error may be closed too
            typer.echo(f"sfumato: {words}", err=True)
        raise SystemExit(UNSHOWN) from None


@contextmanager
def shown_progress(wanted: bool) -> Iterator[Progress | None]:
    """Show a bar on a terminal, with a line for each pass."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading")
        yield lambda number, done, parts: bar.update(
            task, description=f"pass {number}", completed=done, total=parts, refresh=True
        )


# -- plan and inspect ---------------------------------------------------------------------------------------------------
@app.command(cls=Grouped)
@taking("plan")
def plan(
    request: Request,
    error: Annotated[float | None, typer.Option(help="Wanted 95% error (default: half of the best).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict errors before spending anything; touches no data.

    Example: sfumato plan --public atlas.tps --n 409 --epsilon 1

    Example: sfumato plan --space shapes --landmarks 50 --radius 0.125 --n 409 --epsilon 1
    """
    from ..mechanisms import forecast
    from ..mechanisms.planning import aim, instead
    from ..views.forecasts import instead_in_words, needs_in_words, plan_in_words
    from ..views.outputs import check_outputs
    from .workflow import public_region

    if error is not None and not 0 < error < float("inf"):
        raise ValueError(f"--error must be a positive number, not {error}")
    pictures = {name: Path(path) for name in ("plot", "simulate") if (path := getattr(request, name))}
    check_outputs(pictures, request.inputs)
    region, _ = public_region(request)
    n = request.n
    privacy = request.privacy.check(force=True)
    rows = forecast(region, n, privacy, **request.how)
    usable = rows[0].refusal is None
    needs = aim(region, n, privacy, rows[0], error, **request.how)
    ways = [] if usable and not rows[0].useless else instead(region, n, privacy, request.share, as_option)
    draw_plan(request, region, pictures, usable)
    if as_json:
        show_json({"mechanisms": [asdict(row) for row in rows], "wanted": needs, **({"instead": ways} if ways else {})})
    else:
        halves = (max(1, n // 2), 2 * n)
        others = ((m, forecast(region, m, privacy, **request.how)[0]) for m in halves)  # if they are said
        words = [plan_in_words(region, n, privacy, rows, others), needs_in_words(n, privacy, needs)]
        words += [instead_in_words(n, privacy, ways)] if ways else []
        typer.echo("\n\n".join(words))
    if not usable or rows[0].useless:
        raise SystemExit(UNUSABLE)


def draw_plan(request: Request, region: Region, pictures: dict[str, Path], usable: bool) -> None:
    """Draw the error curves, and a release of synthetic records that fill half of the region, if anything can be released."""
    import numpy as np

    from ..mechanisms.planning import by_records
    from ..views.forecasts import plot_plan
    from .workflow import asked

    if pictures and not usable:
        typer.echo("sfumato: no picture is drawn, as nothing can be released", err=True)
        return
    if "plot" in pictures:
        rows = by_records(region, request.n, request.privacy, **request.how)
        plot_plan(region, request.n, request.privacy, rows, pictures["plot"])
    if "simulate" in pictures:
        made_up = region.space.random_points(region.center, region.radius / 2, request.n, np.random.default_rng())
        how = asked(request, region) | {"allow_useless": True}
        done = sf.private_mean(region.space.present(made_up), privacy=request.privacy, **how)
        sf.plot_release(done, pictures["simulate"], title="Simulated: synthetic records")


def show_json(facts: Any, allow_nan: bool = False) -> None:
    """Print facts as JSON."""
    typer.echo(json.dumps(facts, indent=2, allow_nan=allow_nan))


@app.command(cls=Grouped)
@taking("inspect")
def inspect(request: Request, as_json: JsonOption = False) -> None:
    """Say what a file, or a folder of files, holds.  For the curator's eyes: not private.

    With a public region, say too which records it would clip, and which specimens look like outliers, mirror images or
    mistaken landmarks.  Never choose the region by what you see here.

    Example: sfumato inspect wings.tps

    Example: sfumato inspect wings.tps --center reference.tps --radius 0.15
    """
    from ..views.curator import MARK, against, inspection, inspection_in_words
    from .workflow import Workflow

    work = Workflow(replace(request, missing=request.missing or "none"))
    work.parts = False
    work.load(guess=True)
    facts = inspection(work.data, work.space, said=bool(request.missing))
    lines = list[str]()
    if request.public or request.center or request.radius is not None:
        request.complete()
        work.make_region()
        lines = against(work.region.settle(max(2, len(work.data)), 1.0), work.data)
    if as_json:
        show_json(facts | ({"beside_the_region": lines} if lines else {}))
        return
    beside = ["", f"{MARK}: beside the public region", *(f"- {line}" for line in lines)] if lines else []
    typer.echo("\n".join([inspection_in_words(work.data, work.space, facts, as_option), *beside]))
    if not request.space and work.data.kind != "landmarks":
        typer.echo("No --space was given, so the most usual one was taken; 'sfumato spaces' lists the others.")


@app.command()
def spaces() -> None:
    """List the spaces that records may be points of, with what to type for each.

    Example: sfumato spaces
    """
    from ..spaces import all_spaces
    from ..spaces.family import in_words

    typer.echo(
        "Type these after --space; an argument may be left out if an option (--landmarks, --size, --dim) or the file\n"
        "says it, as in: sfumato plan --space 'sphere(curvature=4)' --dim 2 --radius 0.2 --n 100 --epsilon 1"
    )
    group = ""
    for kind in all_spaces():
        typed, words = in_words(kind)
        typer.echo((f"\n{kind.kind}\n" if kind.kind != group else "") + f"  {typed}\n      {words}")
        group = kind.kind


# -- ledger -------------------------------------------------------------------------------------------------------------
LedgerArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger file.")]


@books.command("init")
def ledger_init(
    file: LedgerArgument,
    epsilon: Annotated[float, typer.Option(help="The whole budget; less is more private.", show_default=False)] = 0.0,
    delta: Annotated[float | None, typer.Option(help="Beside epsilon: a tiny probability on top, as 1e-6.")] = None,
    rho: Annotated[float | None, typer.Option(help="Instead of epsilon: a budget of zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(hidden=True)] = None,
    dataset: Annotated[str, typer.Option(help="Name of the data set.")] = "default",
) -> None:
    """Give a data set a budget, in a new ledger or an existing one.  With a delta, many more releases fit.

    Example: sfumato ledger init study.ledger --epsilon 3 --dataset wings
    """
    from ..laws.privacy import LARGE_EPSILON

    privacy = Request(epsilon=epsilon, delta=delta, rho=rho, mu=mu).privacy
    ledger = sf.Ledger.create(file, dataset=dataset, privacy=privacy)
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
    book = sf.Ledger(file).verify()
    if as_json:
        budgets = {name: b.to_dict() if isinstance(b, sf.Privacy) else str(b) for name, b in book.budgets.items()}
        show_json({name: {"budget": budget, "left": str(book.left(name))} for name, budget in budgets.items()})
    else:
        typer.echo("\n".join(book.describe(name) for name in book.budgets))


@books.command("log")
def ledger_log(file: LedgerArgument, as_json: JsonOption = False) -> None:
    """List every line.

    Example: sfumato ledger log study.ledger
    """
    entries = sf.Ledger(file).verify().entries
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
    book = sf.Ledger(file).verify(head)
    typer.echo(f"{file}: {len(book.entries)} lines, all intact. Head: {book.head}")


# -- studio -------------------------------------------------------------------------------------------------------------
@app.command()
@taking("studio")
def studio(
    request: Request,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="The curator's records.")] = "",
    port: Annotated[int, typer.Option(help="Port of the page on this machine (default: any that is free).")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open a page on this machine: plan, see the blur before spending, release, take the report home.

    Example: sfumato studio wings.tps --ledger study.ledger
    """
    from .studio.server import serve

    ctrl_c.words = "the studio is closed, and no release is half made"
    serve(file, request.ledger, port, browser, typer.echo)


# -- demo and reproduce -------------------------------------------------------------------------------------------------
@app.command()
@taking("demo", epsilon=1.0)
def demo(
    request: Request,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo-output"),
    wings: Annotated[bool, typer.Option("--wings", help="Mosquito wings instead: 100 private and 26 public.")] = False,
) -> None:
    """Release a private mean of 265 trilobite heads, 20 others being public; write its record, report and picture.

    Example: sfumato demo --epsilon 2 --out heads
    """
    from ..views.words import nearer
    from .demo import SOURCE, run, run_wings

    done = run_wings(out, request.epsilon) if wings else run(out, request.epsilon)
    what = "mosquito wings" if wings else "trilobite heads"
    typer.echo(f"Released: the mean of {done.n} private {what}, ε = {request.epsilon:g}.")
    typer.echo(f"With probability 95% it lies within {done.error(0.95):.2g} of the mean of the records.")
    if done.gain is not None:
        typer.echo(f"It is expected to be {nearer(done.gain)} to that mean than the public mean is.")
    typer.echo(f"Written to {out}: mean.json (the record), mean.html (the report) and mean.png (the picture)")
    if wings:
        typer.echo("To try the command line on: wings.tps, public.tps and reference.tps, there too")
    else:
        typer.echo("To try the command line on: heads.tps, public.tps and lines.txt, there too")
        typer.echo(f"Data: {SOURCE}")


@app.command()
def reproduce(
    what: Annotated[
        str,
        typer.Argument(help="Which experiment: sphere, spd, shapes, rates or all of these; or field, others' tables."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for figures, results.csv and REPORT.md.")] = Path("reproduction"),
    replicates: Annotated[int, typer.Option(help="Replicates at each sample size.")] = 40_000,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the replicates at fewer sample sizes.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of data and draws.")] = 0,
    data: Annotated[Path | None, typer.Option(help="Your own landmark file for 'shapes' (TPS, CSV, NPY, …).")] = None,
) -> None:
    """Regenerate the paper's figures, as they were run and as the theorems ask; or the field's tables, ours beside theirs.

    An interrupted run resumes when the same command is given again. The paper's own outlines (ADNI) cannot be passed on;
    who has access to ADNI can give their landmark file with --data.

    Example: sfumato reproduce all --quick --out reproduction
    """
    from ..studies.reproduce import reproduce as run
    from .workflow import space_of_name

    outlines = None
    source = ""
    if data is not None:
        if what not in ("shapes", "all"):
            raise ValueError(f"--data is for 'shapes'; 'reproduce {what}' makes its own")
        outlines = sf.read(data, space_of_name("shapes")).points
        source = data.name
    report = run(what, out, replicates=replicates, quick=quick, seed=seed, outlines=outlines, source=source)
    typer.echo(f"Written: {report}, its figures and results.csv")


# -- audit --------------------------------------------------------------------------------------------------------------
@app.command(cls=Grouped)
@taking("audit", space="sphere", radius=0.4, epsilon=1.0)
def audit(
    request: Request,
    mechanism: Annotated[str, typer.Option(help="kng, laplace, exponential, …, or all of them.")] = "all",
    n: Annotated[int | None, typer.Option(help="Number of records (default: 2, 5, 10 and 50 are tried).")] = None,
    draws: Annotated[int, typer.Option(help="Draws from each data set.")] = 1_000_000,
    releases: Annotated[bool, typer.Option("--releases", help="Attack true releases, lattice and all: slow.")] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Attack the time of 2000 releases, not their values.")
    ] = False,
    broken: Annotated[bool, typer.Option("--broken", help="Audit mechanisms that are wrong on purpose.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for pictures and audit.json.")] = Path("audit-output"),
    as_json: JsonOption = False,
) -> None:
    """Attack the mechanisms: a lower bound on the ε that they really have; touches no data.

    Data sets that are likely to be the worst are made up, events are learned from some draws and counted in others. A bound
    above the claimed ε convicts, wrongly with a probability of one in a million; it ends with exit code 1.

    Example: sfumato audit --mechanism kng --space sphere --radius 0.4 --epsilon 1
    """
    from ..audit.trial import conduct, table
    from .workflow import named_space

    space = named_space(request)
    radius = request.radius or 0.0
    ball = sf.Ball(space, space.present(space.origin()), radius)  # audits are the same about any point
    if out.exists() and not out.is_dir():
        raise Refusal(Fix("out", str(out)), ": is not a folder; choose another name")
    how = "draws"
    if timing or releases:
        how = "timing" if timing else "releases"
    rows = conduct(ball, request.epsilon, mechanism, n, draws, how, broken, seed, out)
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
    try:
        with ctrl_c.in_charge(), warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_: typer.echo(f"sfumato: warning: {message}", err=True)
            app(args=[word for word in sys.argv[1:] if word != "--debug"])  # which may stand anywhere
    except Stopped:
        typer.echo(f"\nsfumato: stopped: {ctrl_c.words}", err=True)
        raise SystemExit(STOPPED + ctrl_c.asked) from None
    except PLAIN as error:
        words = sentence(error, as_option)
        if isinstance(error, UnsavedError):
            keep(error.release)
            words += "; the release is printed above: keep it"
        if "--debug" in sys.argv:
            raise
        typer.echo(f"sfumato: {printable(words, chr(10))}", err=True)
        raise SystemExit(REFUSED if isinstance(error, BudgetExceeded) else BAD_INPUT) from None


def keep(release: sf.Release) -> None:
    """Print a release that could not be written: it must not be lost."""
    try:
        typer.echo(release.to_json(), nl=False)
    except OSError:
        typer.echo(release.to_json(), nl=False, err=True)


if __name__ == "__main__":
    main()
