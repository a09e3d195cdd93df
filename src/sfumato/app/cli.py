"""The command ``sfumato``."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf

from ..errors import BudgetExceeded, Fix, Refusal, UnsavedError, printable
from ..release.interruption import Interruption, Stopped
from ..shown import at_work
from . import PLAIN
from .options import Commands, Grouped, taking
from .request import MORE, OUTPUT, OUTS, Request, as_option, refusal, sentence

if TYPE_CHECKING:
    from ..regions import Region
    from .workflow import Workflow

# exit codes; the last plus the number of the signal
CONVICTED = UNUSABLE = 1
BAD_INPUT = 2
REFUSED = 3
UNSHOWN = 4
STOPPED = 128

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
    epilog="Exit codes: 0 done; 1 a plan of no use, or an audit that convicts; 2 bad input; 3 refused by the budget; 4 made, "
    "but not shown, so do not release again; 128 and more: stopped. --debug, anywhere, shows tracebacks.",
)
ctrl_c = Interruption()
books = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None, help="Keep the budget of a study.")
app.add_typer(books, name="ledger")
sites = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None, help="Release one mean of many sites.")
app.add_typer(sites, name="site")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.", rich_help_panel=MORE)]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say all that is known.", rich_help_panel=OUTPUT)]


def show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sfumato {sf.__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback where something fails.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True)] = False,
) -> None:
    """Publish the average of sensitive shapes, directions or matrices without exposing any individual."""
    if context.invoked_subcommand not in OUTS:
        ctrl_c.words = "what was at work is not finished"


# -- what is released of records, each by a command -----------------------------------------------------------------------
HELP = {
    "release": """Release the private mean of the records in a file.

    Example: sfumato release wings.tps --public atlas.tps --epsilon 1 --plot mean.png --report mean.html

    Example: sfumato release headings.csv --space sphere --prior whole --inference 0.1 --epsilon 1""",
    "compare": """Release the private mean of each group, and say which differ.

    All groups together cost one epsilon, as each person is in one group; who is in which must be public knowledge.

    Example: sfumato compare fish.tps --by sex --labels-are-public --public atlas.tps --epsilon 1 --plot sexes.png

    Example: sfumato compare fish.tps --by sex --within site --labels-are-public --public atlas.tps --epsilon 1""",
    "regress": """Release how the mean changes with age, dose or size.

    It says whether the mean changes, how fast, and what it is at any value within the limits.

    Example: sfumato regress fish.tps --on size --limits 200:900 --public atlas.tps --epsilon 1 --plot growth.png

    Example: sfumato regress brains.csv --on age --limits 20:90 --center mean.csv --radius 1 --epsilon 1""",
    "components": """Release the directions in which records vary most.

    It says how many of them stand out from the noise. 'sfumato synthesize' then makes up specimens that vary so.

    Example: sfumato components wings.tps --about mean.json --epsilon 1 --plot directions.png

    Example: sfumato components wings.tps --public atlas.tps --epsilon 1""",
    "variance": """Release how much records vary about a released mean.

    Example: sfumato variance wings.tps --about mean.json --epsilon 0.5""",
}


def make(request: Request, verbose: VerboseOption = False, as_json: JsonOption = False) -> None:
    """Release what is asked for, write it and show it."""
    from ..release.population import no_region
    from ..views.compared import PAIRS, pairs
    from ..views.outputs import Outputs
    from ..views.words import value_in_words
    from .workflow import Workflow

    work = Workflow(request)
    work.check()
    record = Path(request.out)
    session = sf.Session(record, work.ledger(), request.force, ctrl_c)
    session.afford(request.privacy)  # before any record is read
    with at_work(f"reading {printable(request.files[0])}") as show:
        work.load()
        tell_source(work, verbose)
        work.settle()
        if work.told:
            typer.echo(bold(work.told), err=True)
        show("releasing")
        done = work.run(session, lambda number, done, parts: show(f"pass {number}", done, parts))
        show("writing")
        outputs = Outputs(done, *work.looks)
        outputs.write_beside(record, request.beside)
    with shown_or_not(record):
        if as_json:
            typer.echo(done.to_json(), nl=False)
        else:
            typer.echo(f"{done.describe()}\n" if verbose else bold("\n".join(outputs.short)))
            if verbose and isinstance(done, sf.Comparison):
                show_table([PAIRS, *pairs(done)])
            elif verbose and isinstance(done, sf.Release):
                typer.echo(f"{value_in_words(done)}\n")
            elif request.inference and isinstance(done, sf.Release) and no_region(done):
                typer.echo("No region is given for the population's mean: --verbose says why.")
            typer.echo(bold(f"Written: {', '.join(map(str, (record, *request.beside.values())))}"))
        if clipped := work.clipping(done):
            typer.echo(bold(clipped), err=True)


for name, out in OUTS.items():
    app.command(name, cls=Grouped, help=HELP[name])(taking(name, out=out, task=name)(make))


def tell_source(work: Workflow, verbose: bool) -> None:
    """Say on the curator's screen what became the points, where the file is not clear, and what looks odd in them."""
    from ..files.missing import remarks
    from ..views.curator import MARK, some

    odd = [] if work.parts else some(remarks(work.data, work.space, said=bool(work.request.missing)))
    source = [f"the points are {work.data.source}."] if verbose or not work.data.sure else []
    for line in (*source, *odd):
        typer.echo(bold(printable(f"{MARK}: {line}")), err=True)


def bold(lines: str) -> str:
    """Return lines with their first words, or their error, in bold; ``echo`` leaves that out where no terminal is."""
    return re.sub(r"(?m)^(Within [\d.e+-]+|(\w+ )?\w+(?=:)|\w+)", lambda m: typer.style(m[0], bold=True), lines)


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


def show_table(rows: Sequence[Sequence[str]], plain: str = "") -> None:
    """Print a table, its header first, in colour where a terminal is; elsewhere without lines, or as a text that says it."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    terminal = sys.stdout is not None and sys.stdout.isatty()
    table = Table(box=SIMPLE_HEAD if terminal else None, header_style="bold cyan", pad_edge=False)
    for head, *cells in zip(*rows, strict=True):
        numbers = any(cells) and all(re.fullmatch(r"(-?[\d.]+(e[+-]?\d+)?)?", cell) for cell in cells)
        table.add_column(head, justify="right" if numbers else "left")
    for row in rows[1:]:
        table.add_row(*map(printable, row))
    console = Console(markup=False, highlight=False, width=None if terminal else 1000)
    with console.capture() as drawn:
        console.print(table)
    text = "\n".join(map(str.rstrip, drawn.get().splitlines()))
    typer.echo(text.strip("\n") if terminal or not plain else plain)


# -- what was released already ------------------------------------------------------------------------------------------
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=OUTPUT)]


@app.command(cls=Grouped)
@taking("combine", out="combined.json")
def combine(
    request: Request,
    records: Annotated[list[Path], typer.Argument(metavar="RECORDS...", help="Records of two or more released means.")],
    people: Annotated[str, typer.Option(help="'apart' if nobody is in two of the studies, 'both' if somebody may be.")],
    weights: Annotated[str, typer.Option(help="Weigh each by its 'error', or by its records, 'n'.")] = "error",
    force: ForceOption = False,
) -> None:
    """Make one mean of the released means of several studies.

    It reads what was released, none of the data, and spends nothing. All must be released about one centre, by the same public
    specimens or with --mechanism tangent. If somebody may be in two of the studies, their prices add up.

    Example: sfumato combine lisbon.json oslo.json --people apart --report both.html
    """
    write_made(request, records, force, lambda: sf.combine(map(sf.Release.load, records), people, weights=weights))


def write_made(request: Request, inputs: list[Path], force: bool, make: Callable[[], Any]) -> None:
    """Write and show what is made of files that hold no records."""
    from ..views.outputs import Outputs, check_outputs

    out = Path(request.out)
    check_outputs({"out": out, **request.beside}, inputs, force)
    done = make()
    done.save(out)
    outputs = Outputs(done)
    outputs.write_beside(out, request.beside)
    typer.echo(bold("\n".join([*outputs.short, f"Written: {', '.join(map(str, (out, *request.beside.values())))}"])))


@app.command(cls=Grouped)
@taking("synthesize")
def synthesize(
    request: Request,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Record that 'sfumato components' wrote.")],
    n: Annotated[int, typer.Option(help="How many specimens to make up.")] = 100,
    seed: Annotated[int | None, typer.Option(help="The same seed makes the same (default: a random one).")] = None,
    out: Annotated[Path | None, typer.Option(help="Where they go: TPS, NTS, CSV, RDS, … (default: synthetic)")] = None,
    force: ForceOption = False,
) -> None:
    """Make up specimens that vary as the released ones do.

    They come from released numbers alone, cost nothing and are nobody's. They are for teaching, for pictures (of the first
    twelve) and for trying out programs; not for training classifiers, nor for conclusions about extremes or about people.

    Example: sfumato synthesize components.json --n 100 --out made.tps --plot made.png
    """
    from ..views.components import plot_specimens
    from ..views.outputs import check_outputs
    from ..views.plots import read_links, write_picture

    made = sf.Components.load(model).sample(n, seed=seed)
    out = out or Path(f"synthetic.{'tps' if made.kind == 'landmarks' else 'csv'}")
    check_outputs({"out": out, **request.beside}, [model], force)
    lines = read_links(request.links, made.points.shape[1]) if request.links else None
    drawn = {path: plot_specimens(made, lines) for path in request.beside.values()}
    sf.write_points(out, made)
    for path, picture in drawn.items():
        write_picture(picture, path, f"Twelve of {n} synthetic specimens.")
    typer.echo(f"Made up {n} specimens, marked as synthetic: {made.labels['synthetic'][0]} makes the same ones again.")
    typer.echo(bold(f"Written: {', '.join(map(str, (out, *request.beside.values())))}"))


@app.command(cls=Grouped)
def export(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="Record of a release.")],
    out: Annotated[Path, typer.Option(help="Where its value goes.")],
    at: Annotated[float | None, typer.Option(help="Of a regression: the age, dose or size at which.")] = None,
    force: ForceOption = False,
) -> None:
    """Write a released value, or those of all groups, in the format of another program.

    The ending says which: .tps, .nts, .txt (Morphologika), .mrk.json (3D Slicer), .csv, .npy or .rds (R).

    Example: sfumato export mean.json --out mean.nts

    Example: sfumato export regression.json --at 50 --out at50.tps
    """
    from ..views.outputs import check_outputs, values_in

    check_outputs({"out": out}, [record], force)
    sf.write_points(out, values_in(record, at))
    typer.echo(bold(f"Written: {out}"))


# -- plan, region and inspect -------------------------------------------------------------------------------------------
@app.command(cls=Grouped)
@taking("plan")
def plan(
    request: Request,
    error: Annotated[float | None, typer.Option(help="The error that you want (default: half of the best).")] = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say how far off a release would be, before anything is spent.

    It reads none of your records.

    Example: sfumato plan --public atlas.tps --n 409 --epsilon 1

    Example: sfumato plan --space shapes --landmarks 50 --radius 0.125 --n 409 --epsilon 1
    """
    from ..mechanisms import forecast
    from ..mechanisms.planning import aim, instead
    from ..views.outputs import check_outputs
    from .workflow import public_region

    if error is not None and not 0 < error < float("inf"):
        raise ValueError(f"--error must be a positive number, not {error}")
    check_outputs(request.beside, request.inputs)
    with at_work("planning"):
        region, _ = public_region(request)
        privacy = request.privacy.check(force=True)
        rows = forecast(region, request.n, privacy, **request.how)
        worth = rows[0].refusal is None and not rows[0].useless
        needs = aim(region, request.n, privacy, rows[0], error, **request.how)
        ways = [] if worth else instead(region, request.n, privacy, request.share, as_option)
        draw_plan(request, region, rows[0].refusal is None)
    if as_json:
        show_json({"mechanisms": [asdict(row) for row in rows], "wanted": needs, **({"instead": ways} if ways else {})})
    else:
        show_plan(request, region, rows, needs, ways, verbose)
    if not worth:
        raise SystemExit(UNUSABLE)


@app.command(cls=Grouped)
@taking("region", out="region.json")
def region(request: Request, force: ForceOption = False) -> None:
    """Write a public region to a file, to be shared by studies.

    It reads none of your records. The axes that public specimens give depend on --n and --epsilon: say those of the smallest
    study. All then release with --region region.json and --mechanism tangent, and 'sfumato combine' makes one mean of theirs.

    Example: sfumato region --public atlas.tps --n 100 --epsilon 1 --out region.json
    """
    from ..views.outputs import check_outputs
    from .workflow import public_region

    request.complete()
    check_outputs({"out": Path(request.out)}, request.inputs, force)
    made, _ = public_region(request)
    if not made.is_ball and not request.n:
        raise refusal("the axes of this region depend on the number of records and on epsilon: give <n> and <epsilon>")
    settled = made.settle(request.n, 1.0 if made.is_ball else request.privacy)
    sf.save_region(settled, request.out)
    typer.echo(bold(f"Written: {request.out}, {settled.as_chart().describe()}"))


def show_plan(request: Request, region: Region, rows: Any, needs: Any, ways: Any, verbose: bool) -> None:
    """Print what would come out, how each mechanism compares, what the wanted error needs, and what to type next."""
    from ..mechanisms import choose
    from ..views.forecasts import instead_in_words, needs_in_words, plan_in_detail, plan_in_short, plan_table
    from .recipes import as_command

    about = (request.n, request.privacy)
    lines = [*(plan_in_detail(region, rows) if verbose else []), needs_in_words(*about, needs)]
    lines += [instead_in_words(*about, ways)] if ways else []
    try:
        typer.echo(bold("\n".join(plan_in_short(choose(region, *about, **request.how)))))
        if verbose or len(rows) > 1:
            typer.echo()
            show_table(plan_table(rows))
        center = request.center or ("CENTER" if request.radius is not None else "")
        lines += [] if ways else [f"To release it: {as_command(replace(request, files=('FILE',), center=center))}"]
    except Refusal as refusal:
        typer.echo(f"Nothing can be released so: {sentence(refusal, as_option)}")
    typer.echo("\n" + "\n".join(lines))


def draw_plan(request: Request, region: Region, usable: bool) -> None:
    """Draw the error curves, and a release of synthetic records that fill half of the region, if anything can be released."""
    import numpy as np

    from ..mechanisms.planning import by_records
    from ..views.forecasts import plot_plan
    from .workflow import asked

    n = request.n
    pictures = request.beside
    if pictures and not usable:
        typer.echo("sfumato: no picture is drawn, as nothing can be released", err=True)
    elif "plot" in pictures:
        rows = by_records(region, n, request.privacy, **request.how)
        plot_plan(region, n, request.privacy, rows, pictures["plot"])
    if "simulate" in pictures and usable:
        made_up = region.space.random_points(region.center, region.radius / 2, n, np.random.default_rng())
        how = asked(request, region) | {"allow_useless": True}
        done = sf.private_mean(region.space.present(made_up), privacy=request.privacy, **how)
        sf.plot_release(done, pictures["simulate"], title="Simulated: synthetic records")


def show_json(facts: Any, allow_nan: bool = False) -> None:
    """Print facts as JSON."""
    typer.echo(json.dumps(facts, indent=2, allow_nan=allow_nan))


@app.command(cls=Grouped)
@taking("inspect")
def inspect(request: Request, as_json: JsonOption = False) -> None:
    """Say what a file or a folder holds.  For your eyes: not private.

    With public specimens, or a centre and a radius, say too which records would be clipped, and which specimens look like
    outliers, mirror images or mistaken landmarks.  Never choose the region by what you see here.

    Example: sfumato inspect wings.tps

    Example: sfumato inspect wings.tps --center reference.tps --radius 0.15
    """
    from ..views.curator import MARK, against, inspection, inspection_in_words
    from .workflow import Workflow

    work = Workflow(replace(request, missing=request.missing or "none", invalid="center"))
    work.parts = False
    with at_work(f"reading {printable(request.files[0])}"):
        work.load(guess=True)
    facts = inspection(work.data, work.space, request.missing)
    lines = list[str]()
    if request.public or request.center or request.region or request.radius is not None:
        request.complete()
        work.make_region()
        work.complete()
        lines = against(work.region.settle(max(2, len(work.data)), 1.0), work.data)
    if as_json:
        show_json(facts | ({"beside_the_region": lines} if lines else {}))
        return
    beside = ["", f"{MARK}: beside the public region", *(f"- {line}" for line in lines)] if lines else []
    typer.echo("\n".join([inspection_in_words(work.data, work.space, facts, as_option), *beside]))
    if not request.space and work.data.kind != "landmarks":
        typer.echo("No --space was given, so the most usual one was taken; 'sfumato spaces' lists the others.")


@app.command(cls=Grouped)
def spaces() -> None:
    """List what records may be, with what to type for each.

    Example: sfumato spaces
    """
    from ..spaces import all_spaces
    from ..spaces.family import in_words

    typer.echo("Type one of these after --space; what the file, --landmarks, --size or --dim says may be left out:")
    typer.echo("sfumato plan --space 'sphere(curvature=4)' --dim 2 --radius 0.2 --n 100 --epsilon 1")
    rows = [("records", "type", "what they are")]
    plain = ""
    group = ""
    for kind in all_spaces():
        rows.append(("" if kind.kind == group else kind.kind, *in_words(kind)))
        plain += ("" if kind.kind == group else f"\n{kind.kind}\n") + "  {}\n      {}\n".format(*rows[-1][1:])
        group = kind.kind
    show_table(rows, plain.rstrip())


# -- ledger -------------------------------------------------------------------------------------------------------------
LedgerArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger file.")]


@books.command("init", cls=Grouped)
def ledger_init(
    file: LedgerArgument,
    epsilon: Annotated[float, typer.Option(help="The whole budget; less is more private.", show_default=False)] = 0.0,
    delta: Annotated[float | None, typer.Option(help="Beside epsilon: a tiny probability on top, as 1e-6.")] = None,
    rho: Annotated[float | None, typer.Option(help="Instead of epsilon: a budget of zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(hidden=True)] = None,
    dataset: Annotated[str, typer.Option(help="Name of the data set.")] = "default",
) -> None:
    """Give a data set a budget.  With a delta, many more releases fit.

    Example: sfumato ledger init study.ledger --epsilon 3 --dataset wings
    """
    from ..laws.privacy import LARGE_EPSILON

    privacy = Request(epsilon=epsilon, delta=delta, rho=rho, mu=mu).privacy
    ledger = sf.Ledger.create(file, dataset=dataset, privacy=privacy)
    typer.echo(ledger.describe())
    if ledger.left > LARGE_EPSILON:
        words = f"releases that add up to an epsilon of {ledger.left} promise little together"
        warnings.warn(f"{words}; 10 is a lot for one group of people", stacklevel=1)


@books.command("show", cls=Grouped)
def ledger_show(file: LedgerArgument, as_json: JsonOption = False) -> None:
    """Say what is left of each budget, and what the rest was spent on.

    Example: sfumato ledger show study.ledger
    """
    book = sf.Ledger(file).verify()
    if as_json:
        budgets = {name: b.to_dict() if isinstance(b, sf.Privacy) else str(b) for name, b in book.budgets.items()}
        show_json({name: {"budget": budget, "left": str(book.left(name))} for name, budget in budgets.items()})
    else:
        table = [(name, str(b), str(book.left(name)), book.purposes(name)) for name, b in book.budgets.items()]
        plain = "\n".join(map(book.describe, book.budgets))
        show_table([("data set", "budget", "left", "spent on"), *table], plain)


@books.command("log", cls=Grouped)
def ledger_log(file: LedgerArgument, as_json: JsonOption = False) -> None:
    """List every line: budgets, charges and releases.

    Example: sfumato ledger log study.ledger
    """
    entries = sf.Ledger(file).verify().entries
    if as_json:
        show_json([asdict(entry) for entry in entries])
    else:
        typer.echo("\n".join(map(str, entries)))


@books.command("verify", cls=Grouped)
def ledger_verify(
    file: LedgerArgument,
    head: Annotated[str | None, typer.Option(help="A hash noted earlier: all up to it must still be there.")] = None,
) -> None:
    """Check every line, and print the hash of the last, to be noted elsewhere.

    Example: sfumato ledger verify study.ledger
    """
    book = sf.Ledger(file).verify(head)
    typer.echo(f"{file}: {len(book.entries)} lines, all intact. Head: {book.head}")


# -- sites --------------------------------------------------------------------------------------------------------------
StudyArgument = Annotated[Path, typer.Argument(metavar="STUDY", help="The study's public plan, as study.json.")]


@sites.command("key", cls=Grouped)
def site_key(name: Annotated[str, typer.Argument(metavar="NAME", help="Name of your site.")]) -> None:
    """Make the key of your site: NAME.key stays with you, NAME.pub is for everybody.

    Example: sfumato site key lisbon
    """
    made = sf.SiteKey.create(f"{name}.key", name)
    typer.echo(bold(f"Written: {name}.key, a secret, and {name}.pub, to be sent to all sites; fingerprint {made.code}"))


@sites.command("init", cls=Grouped)
@taking("init")
def site_init(
    request: Request,
    study: StudyArgument,
    keys: Annotated[list[str], typer.Argument(metavar="KEYS...", help="Each site's key and units: oslo.pub=200:300.")],
) -> None:
    """Write the public plan of one release by several sites.

    Example: sfumato site init study.json oslo.pub=250 lima.pub=300 rome.pub=200:300 --trusted 2 --public atlas.tps --epsilon 1
    """
    from .workflow import public_region

    (r := request).complete()
    words = [re.fullmatch(r"(.+)=(\d+)(?::(\d+))?", word) for word in keys]
    if None in words:
        raise ValueError("say the file of each public key and how many units that site has, as oslo.pub=250")
    every = {sf.SiteKey.load(word[1]): (int(word[2]), int(word[3] or word[2])) for word in words if word}
    said = {name: getattr(r, name) for name in ("round", "inference", "unit", "allow_useless") if getattr(r, name)}
    done = {"curves": int(r.curves) if r.curves.isdecimal() else 0, "missing": "estimated" * ("estimate" in r.missing)}
    said["prepared"] = {name: what for name, what in (done | {"slid": r.slide_by * bool(r.slide)}).items() if what}
    made = sf.Study.of(public_region(r)[0], every, r.trusted, r.privacy, groups=r.groups.split(","), **said)
    made.save(study, overwrite=False)
    typer.echo("\n".join([*made.words, bold(f"Written: {study}, to be sent to all sites")]))


@sites.command("contribute", cls=Grouped)
@taking("contribute", task="contribute")
def site_contribute(request: Request) -> None:
    """Add the records of your site, and write the one file that you send.

    Without --agreed it says what would be done, and charges nothing. After any interruption give it again: it writes the same
    file, and charges nothing twice.

    Example: sfumato site contribute wings.tps --study study.json --key oslo.key --ledger oslo.ledger --agreed 3f0a-…
    """
    from ..views.curator import of_clipping
    from .workflow import Workflow

    study = sf.Study.load(request.study)
    if not request.agreed:
        typer.echo("\n".join(study.words))
    out = f"{sf.SiteKey.load(request.key).name}.part"
    work = Workflow(replace(request, space=study.space.required.typed))
    work.load()
    work.reference = study.settled.space.present(study.settled.center)
    work.complete()
    if work.told:
        typer.echo(bold(work.told), err=True)
    how = {"labels": work.columns.get("by"), "unit": work.unit_of(request.unit)["unit"]}
    ledger = sf.Ledger(request.ledger, request.dataset or None)
    study.contribute(work.data, request.key, ledger, out, agreed=request.agreed, invalid=request.invalid, **how)
    typer.echo(bold(f"Written: {out}, to be sent; {ledger.describe()}"))
    typer.echo(bold(of_clipping(study.settled, work.data.points, first=False)), err=True)


@sites.command("combine", cls=Grouped)
@taking("combine", out="mean.json")
def site_combine(
    request: Request,
    study: StudyArgument,
    parts: Annotated[list[Path], typer.Argument(metavar="PARTS...", help="The parts of all sites.")],
    force: ForceOption = False,
) -> None:
    """Add up the parts of all sites, of which only the sum can be read.

    Example: sfumato site combine study.json lisbon.part oslo.part rome.part --plot mean.png --report mean.html
    """
    from ..findings.sites import Part

    write_made(request, [study, *parts], force, lambda: sf.Study.load(study).combine(map(Part.load, parts)))


# -- studio -------------------------------------------------------------------------------------------------------------
@app.command(cls=Grouped)
@taking("studio")
def studio(
    request: Request,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Your records.")] = "",
    port: Annotated[int, typer.Option(help="Port of the page on this machine (0: any that is free).")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open a page on this machine that does all of it.

    Plan, see the blur before anything is spent, release, take the report home.  Nothing leaves the machine.

    Example: sfumato studio wings.tps --ledger study.ledger
    """
    from .studio.server import serve

    ctrl_c.words = "the studio is closed, and no release is half made"
    serve(file, request.ledger, port, browser, typer.echo)


# -- demo and reproduce -------------------------------------------------------------------------------------------------
@app.command(cls=Grouped)
@taking("demo", epsilon=1.0)
def demo(
    request: Request,
    out: Annotated[Path | None, typer.Option(help="Folder: if none is said, demo-output or demo-wings.")] = None,
    wings: Annotated[bool, typer.Option("--wings", help="Mosquito wings instead: 100 private and 26 public.")] = False,
) -> None:
    """Release the mean of 265 trilobite heads, to see how it goes.

    Example: sfumato demo --epsilon 2 --out heads
    """
    from ..views.words import in_short
    from .demo import SOURCE, run, run_wings

    out = out or Path("demo-wings" if wings else "demo-output")
    with at_work("releasing"):
        done = run_wings(out, request.epsilon) if wings else run(out, request.epsilon)
    typer.echo(bold("\n".join(in_short(done))))
    typer.echo(f"Written to {out}: demo.json (the release file), demo.html (the report) and demo.png (the picture)")
    files = "wings.tps, public.tps and reference.tps" if wings else "heads.tps, public.tps and lines.txt"
    typer.echo(f"To try the command line on: {files}, there too")
    typer.echo("" if wings else f"Data: {SOURCE}", nl=not wings)


@app.command(cls=Grouped)
def reproduce(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="sphere, spd, shapes, rates or all of these; or field.")],
    out: Annotated[Path, typer.Option(help="Folder for figures, results.csv and REPORT.md.")] = Path("reproduction"),
    replicates: Annotated[int, typer.Option(help="Replicates at each sample size.")] = 40_000,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the replicates at fewer sample sizes.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of data and draws.")] = 0,
    data: Annotated[Path | None, typer.Option(help="Your own landmark file for 'shapes' (TPS, CSV, NPY, …).")] = None,
) -> None:
    """Make the paper's figures again, or the tables of others ('field').

    Give the command again if it was interrupted: it goes on. Who has access to ADNI can give its outlines with --data.

    Example: sfumato reproduce all --quick --out reproduction
    """
    from ..studies.reproduce import reproduce as run
    from .workflow import space_of_name

    if data is not None and what not in ("shapes", "all"):
        raise ValueError(f"--data is for 'shapes'; 'reproduce {what}' makes its own")
    outlines = None if data is None else sf.read(data, space_of_name("shapes")).points
    source = "" if data is None else data.name
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
    timing: Annotated[bool, typer.Option("--timing", help="Attack the times of 2000 releases instead.")] = False,
    broken: Annotated[bool, typer.Option("--broken", help="Audit mechanisms that are wrong on purpose.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for pictures and audit.json.")] = Path("audit-output"),
    as_json: JsonOption = False,
) -> None:
    """Attack the mechanisms, to see whether they keep their promise.

    It reads no data: it makes up data sets that are likely to be the worst, and counts how well draws tell them apart. That
    gives a lower bound on the ε that a mechanism really has. One above the claimed ε convicts, wrongly with a probability of
    one in a million, and ends with exit code 1.

    Example: sfumato audit --mechanism kng --space sphere --radius 0.4 --epsilon 1
    """
    from ..audit.trial import conduct, table
    from .workflow import named_space

    space = named_space(request)
    radius = request.radius or 0.0
    ball = sf.Ball(space, space.present(space.origin()), radius)  # audits are the same about any point
    if out.exists() and not out.is_dir():
        raise Refusal(Fix("out", str(out)), ": is not a folder; choose another name")
    how = next((name for name, asked in {"timing": timing, "releases": releases}.items() if asked), "draws")
    rows = conduct(ball, request.epsilon, mechanism, n, draws, how, broken, seed, out)
    if as_json:
        show_json(rows, allow_nan=True)
    else:
        typer.echo(f"{ball.space}, radius {radius:g}; each bound is wrong with a chance of at most one in a million\n")
        show_table(table(rows))
        typer.echo(f"\nWritten: {out / 'audit.json'}, with the events that were counted, and a picture of each")
    if any(row["convicted"] for row in rows):
        raise SystemExit(CONVICTED)


def main() -> None:
    """Run the command; bad input ends with a sentence and exit code 2, a refused budget with 3, Ctrl-C with 130."""
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
            try:  # it must not be lost
                typer.echo(error.release.to_json(), nl=False)
            except OSError:
                typer.echo(error.release.to_json(), nl=False, err=True)
            words += "; the release is printed above: keep it"
        if "--debug" in sys.argv:
            raise
        typer.echo(f"sfumato: {printable(words, chr(10))}", err=True)
        raise SystemExit(REFUSED if isinstance(error, BudgetExceeded) else BAD_INPUT) from None
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            try:
                stream.flush()
            except OSError:  # full or closed: Python would try again at the end, and change the exit code
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
