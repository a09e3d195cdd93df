"""The command ``sfumato``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Differentially private means of shapes, covariance matrices and directions.",
)


class Study(StrEnum):
    sphere = "sphere"
    spd = "spd"
    shapes = "shapes"
    rates = "rates"
    all = "all"


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo-output"),
    epsilon: Annotated[float, typer.Option(help="Privacy budget of the release.")] = 1.0,
) -> None:
    """Release a private mean of 126 mosquito wings; write its record and picture.

    Example: sfumato demo --epsilon 2 --out wings
    """
    from .demo import run

    release = run(out, epsilon)
    typer.echo(release.describe())
    typer.echo(f"\nWritten: {out / 'mean.json'} (the record) and {out / 'mean.png'} (the picture)")


@app.command()
def reproduce(
    what: Annotated[Study, typer.Argument(help="Which experiment.")],
    out: Annotated[Path, typer.Option(help="Folder for figures, results.csv and REPORT.md.")] = Path("reproduction"),
    replicates: Annotated[int, typer.Option(help="Replicates at each sample size.")] = 10_000,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the replicates at fewer sample sizes.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of data and draws.")] = 0,
    data: Annotated[Path | None, typer.Option(help="Your own landmark file for 'shapes' (TPS, CSV, NPY, …).")] = None,
) -> None:
    """Regenerate the paper's figures: as they were run, and as the theorems ask.

    An interrupted run resumes when the same command is given again.

    Example: sfumato reproduce all --quick --out reproduction
    """
    from .studies.reproduce import reproduce as run

    outlines, source = None, ""
    if data is not None:
        from .data import read

        outlines, source = read(data).points, data.name
    report = run(what.value, out, replicates=replicates, quick=quick, seed=seed, outlines=outlines, source=source)
    typer.echo(f"Written: {report}, its figures and results.csv")


def main() -> None:
    """Run the command; bad input ends with a sentence and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        typer.echo(f"sfumato: {error}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
