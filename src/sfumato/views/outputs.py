"""The files that show a release: whether they can be written, found out before anything is spent, and writing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..atomic import check_writable
from ..release import Release
from .subject import Links

if TYPE_CHECKING:
    from ..findings import Comparison

PICTURE = (".png", ".svg")
ENDINGS = {"--plot": PICTURE, "--simulate": PICTURE, "--report": (".html", ".md"), "--value": (".tps", ".csv", ".npy")}


def check_outputs(outputs: Mapping[str, Path | None], inputs: list[Path], force: bool = True) -> None:
    """Find out whether all outputs, by their options, can be written, and that none replaces an input or another.

    Without ``force`` no output may exist.
    """
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


def check_comparable(by: str, public: bool) -> None:
    """A ValueError that asks for the word that the groups are public, with the reason."""
    if not public:
        raise ValueError(
            f"is the {by} of every person public knowledge? All groups together cost one epsilon only because nobody changes "
            "groups when a record is replaced, and the sizes of the groups are published as they are. If everybody may know "
            f"the {by} of every person, add --labels-are-public. If it is private (a diagnosis, say), do not compare by it"
        )


def write_comparison(
    comparison: Comparison, outputs: Mapping[str, Path | None], links: Links | None = None, channels: Sequence[str] = ()
) -> None:
    """The picture and the report of a comparison that is saved as ``--out``."""
    from .compared import write_comparison_report

    plot, report = outputs.get("--plot"), outputs.get("--report")
    try:
        if plot is not None:
            comparison.plot(plot, links=links, channels=channels)
        if report is not None:
            write_comparison_report(comparison, report, links, channels)
    except (OSError, ValueError) as error:
        made = f"the comparison is made and is in {outputs['--out']}; do not compare again"
        raise ValueError(f"{made}. What failed: {error}") from None


def write_outputs(
    release: Release,
    outputs: Mapping[str, Path | None],
    kind: Any,
    links: Links | None = None,
    channels: Sequence[str] = (),
) -> None:
    """The picture, the report and the value alone of a release that is saved as ``--out``."""
    from ..files import write_points
    from .plots import plot_release
    from .report import write_report

    plot, report, value = (outputs.get(option) for option in ("--plot", "--report", "--value"))
    try:
        if plot is not None:
            plot_release(release, plot, outline=links, channels=channels)
        if report is not None:
            write_report(release, report, links, channels)
        if value is not None:
            write_points(value, release.value, kind)
    except (OSError, ValueError) as error:
        made = f"the release is made and is in {outputs['--out']}; do not release again"
        raise ValueError(f"{made}. What failed: {error}") from None
