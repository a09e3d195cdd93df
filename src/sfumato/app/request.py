"""Every wish that a release, a comparison or a plan may have: once, with its words, its place in the help and its checks.

The command line makes its options from the fields of :class:`Request`, the studio takes what its page sends by them, and both
say a fix (:class:`sfumato.errors.Fix`) by their words.  A new wish is one field.
"""

# ruff: noqa: RUF009 (fields are made by a function)
from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_type_hints

from ..errors import Fix, Refusal, SfumatoError

if TYPE_CHECKING:
    from ..laws.privacy import Privacy
    from ..regions.sketch import Prior

GROUPS = ("Data", "Public knowledge", "Privacy", "Output", "More")
DATA, KNOWN, PRIVACY, OUTPUT, MORE = GROUPS
TESTED = "compare regress"  # groups
GROUPED = f"{TESTED} contribute"
PLACED = f"release {TESTED} components"  # in a public region
OUTS = {"release": "mean.json", "compare": "comparison.json", "regress": "regression.json"}  # what is released
OUTS |= {"components": "components.json", "variance": "variance.json"}
MADE = " ".join(OUTS)
PLANNED = f"{PLACED} plan region init"
READ = f"{MADE} inspect contribute"
PAID = f"{MADE} contribute"  # by a ledger
PROMISED = f"{MADE} plan region init"
KEPT = f"{MADE} combine"  # as a record
SEEN = f"{PLANNED} inspect"
ALL = f"{SEEN} audit"
READING = ("columns", "array", "missing", "curves")
SIZES = ("landmarks", "size", "dim")
SIZE = "size"  # in place of the column of a covariate
File = Annotated[str, "the name of a file, or what may be typed in place of one"]
R = TypeVar("R", bound="Request")


class Wish(NamedTuple):
    """What is said of a wish: what it is about, the commands that take it, its label in the page, its words in the help.

    ``said`` is the label with a value in it; ``page``, whether the page may send it; a ``rare`` one is under More in the help.
    """

    group: str
    commands: tuple[str, ...]
    label: str
    help: str
    said: str = ""
    option: str = ""
    metavar: str | None = None
    page: bool = True
    required: str = ""  # by these commands
    rare: bool = False


def wish(default: Any, group: str, commands: str, label: str, help: str, **more: Any) -> Any:
    """Return the field of a wish; ``commands`` are the names of those that take it."""
    return field(default=default, metadata={"wish": Wish(group, tuple(commands.split()), label, help, **more)})


@dataclass(frozen=True)
class Request:
    """What is asked for.  An empty text, or None, was not said.

    >>> Request(files=("wings.tps",), public="atlas.tps", epsilon=1.0).find is None
    True
    >>> Request(public="atlas.tps", radius=0.1)
    Traceback (most recent call last):
    sfumato.errors.Refusal: public gives the centre and the size too: leave out center and radius, or leave out public
    """

    # fmt: off
    files: tuple[File, ...] = wish((), DATA, READ, "the file of the records",
        "Your records, which stay private: one or several files, or a folder (TPS, NTS, 3D Slicer, CSV, NPY, Parquet, MATLAB, "
        "R, …).", required=READ)
    on: str = wish("", DATA, "regress", "the column of the number",
        "Column with a number of each record, such as age or dose; 'size' for the (log) centroid size of landmarks.",
        required="regress")
    limits: str = wish("", DATA, "regress", "its limits",
        "Between which numbers it surely lies, as 20:90: public knowledge, never taken from the records.", metavar="LOW:HIGH")
    number_is_public: bool = wish(False, DATA, "regress", "“everybody may know this number” in step 1",
        "Say that everybody may know this number of every person; it is then not protected.")
    test_only: bool = wish(False, DATA, "regress", "“only whether the mean changes” in step 1",
        "Only test whether the mean changes: more power, no slope.")
    by: str = wish("", DATA, GROUPED, "the column of the groups",
        "Column that says which group a record is in, such as sex or species.", required="compare")
    within: str = wish("", DATA, "compare", "the column of the other factor",
        "Column of a second factor, such as site: groups are compared within each of its values.", rare=True)
    labels: File = wish("", DATA, GROUPED, "the table of the groups",
        "Table (CSV) with such columns, if the records do not have them. It shares a column, such as ID, with the records.")
    labels_are_public: bool = wish(False, DATA, TESTED, "“everybody may know it” in step 1",
        "Say that everybody may know the group of every person.")
    about: File = wish("", DATA, "components variance", "the released mean",
        "Record of the released mean of the same records, about which they vary; components may also be about a public centre.",
        required="variance")
    reach: float | None = wish(None, DATA, "variance", "the reach",
        "Distance from that mean beyond which a record counts as being there (default: what its public region allows).")
    components: int = wish(2, DATA, "components", "the number of components", "How many directions to look for.")
    n: int = wish(0, DATA, "plan region", "the number of records", "How many records you have.", required="plan")
    space: str = wish("", DATA, ALL, "“what the records are” in step 1",
        "What the records are, as 'sphere' or 'spd(size=3)': 'sfumato spaces' lists them. Landmarks are taken as shapes.",
        said="“{}” in step 1", metavar="NAME")
    landmarks: int | None = wish(None, DATA, ALL, "how many landmarks, as shapes(landmarks=18)",
        "How many landmarks a specimen has.", said="shapes(landmarks={}) in step 1", page=False, rare=True)
    size: int | None = wish(None, DATA, ALL, "its size, as spd(size=3)", "How many rows a matrix has (channels, regions).",
        page=False, rare=True)
    dim: int | None = wish(None, DATA, ALL, "its dimension, as sphere(dim=2)",
        "Dimension of the space: 2 for directions in space.", page=False, rare=True)
    columns: str = wish("", DATA, READ, "the columns",
        "Columns of a table that hold the points, as lat,lon or lat=theta,lon=phi.")
    array: str = wish("", DATA, READ, "the array", "Name of the array or table, in a file that holds several.", rare=True)
    missing: str = wish("", DATA, f"{READ} plan region init", "the code for missing values",
        "Number that stands for a missing value, as -999; 'none' if all were measured; 'negative' for negative coordinates. "
        "'estimate', alone or as estimate,-999, fills in missing landmarks from what is public.", rare=True)
    curves: str = wish("", DATA, f"{SEEN} contribute", "“curves and outlines”",
        "Curves and outlines: 'keep' their points, 'drop' them, or how many points to resample each to, as 50.",
        metavar="WHAT", rare=True)
    unit_column: str = wish("", DATA, PAID, "“Some have several records, and a column says whose”",
        "Column that says whose record it is: all records of one person are protected together.")
    unit: str = wish("", DATA, f"{PAID} init", "what one record stands for",
        "What one record stands for, as 'one wing' (default: 'one record').", said="“Each record counts by itself, though …”",
        rare=True)
    alone: bool = wish(False, DATA, "", "“Each record counts by itself, though …”",
        "Each record counts by itself, though a column repeats.")
    invalid: str = wish("raise", DATA, PAID, "“a record that cannot be read” under the file's details",
        "Records that cannot be read: 'raise' stops, with nothing spent; 'center' puts the public centre in their place.",
        said="“put the public centre in its place” under the file's details", rare=True)
    public: File = wish("", KNOWN, SEEN, "public specimens",
        "Specimens that anyone may see (an atlas, an earlier study), in a file like yours: most often far less noise.")
    relation: str = wish("", KNOWN, PLANNED, "“public specimens are”",
        "How the public specimens relate to yours: from the 'same' population, a 'related' one (default), or an 'other' one. "
        "The stated error rests on it.", said="“public specimens are: {}”", metavar="HOW")
    center: File = wish("", KNOWN, SEEN, "the centre",
        "In place of public specimens: a file with one public record; 'identity' for spd, 'origin' for euclidean.")
    radius: float | None = wish(None, KNOWN, ALL, "the radius",
        "How far from that centre records lie, as is publicly known, not as the data show; 0.1 to 0.2 is usual for shapes.")
    region: File = wish("", KNOWN, f"{PLACED} plan inspect init", "the file of the region",
        "In place of all these: a file that 'sfumato region' wrote, to release in the region of others.", page=False, rare=True)
    prior: str = wish("", KNOWN, "release plan", "“where records surely lie”",
        "Where little is known: how far from the centre records surely lie, 'whole' for the whole sphere, or LOW:HIGH for "
        "variances of spd (1e-3:1e3) or numbers of euclidean. A part of epsilon finds a smaller region.", metavar="WHERE")
    find_radius: bool = wish(False, KNOWN, "release plan", "“a generous guess”",
        "The radius is only a generous guess: a part of epsilon finds a smaller one about the centre.", rare=True)
    smooth: bool = wish(False, KNOWN, PLANNED, "“a closed outline”",
        "The landmarks run along a closed outline: less noise in fine ripples.", rare=True)
    open: bool = wish(False, KNOWN, PLANNED, "“an open curve”",
        "The landmarks run along an open curve: less noise in fine ripples.", rare=True)
    bending: bool = wish(False, KNOWN, PLANNED, "“landmarks anywhere, bending little”",
        "The landmarks stand anywhere: less noise in what bends the shape sharply.", rare=True)
    modes: int | None = wish(None, KNOWN, PLANNED, "the number of directions",
        "How many directions of variation to release, the main ones first (default: all that are worth it).", rare=True)
    slide: File = wish("", KNOWN, f"{READ} plan region init", "the semilandmarks",
        "Semilandmarks, to slide along their curves towards the public shape: a table of the landmarks before, on and after "
        "each, as geomorph has it; or 'curves' for all points within curves of the file.", rare=True)
    slide_by: str = wish("bending", KNOWN, f"{READ} plan region init", "what sliding makes least",
        "What sliding makes least: the 'bending' energy, or the Procrustes 'distance'.", metavar="WHAT", rare=True)
    symmetric: str = wish("", KNOWN, f"{MADE} plan region", "the pairs of landmarks",
        "Left and right landmarks, as 1-2,3-4: each specimen is averaged with its mirror image.", metavar="PAIRS", rare=True)
    epsilon: float = wish(0.0, PRIVACY, f"{PROMISED} audit demo", "ε",
        "How much the release may tell of one person: the smaller, the more private; 1 is common.")
    delta: float | None = wish(None, PRIVACY, PROMISED, "δ",
        "Beside epsilon: a tiny probability, such as 1e-6, that is allowed on top of it; far below one over the number of "
        "records. Where there are many directions the noise is then much smaller.", rare=True)
    rho: float | None = wish(None, PRIVACY, PROMISED, "ρ",
        "Instead of epsilon: zero-concentrated differential privacy (zCDP).", page=False, rare=True)
    mu: float | None = wish(None, PRIVACY, PROMISED, "μ",
        "Instead of epsilon: Gaussian differential privacy (GDP).", page=False, rare=True)
    mechanism: str = wish("auto", PRIVACY, "release", "the mechanism",
        "How the noise is drawn: auto takes the most accurate of kng, laplace, staircase, exponential, tangent, …", rare=True)
    steps: int = wish(1, PRIVACY, "release plan", "“the centre may be far from the mean”",
        "2: a quarter of epsilon makes a first release, and the region moves there. For a public centre so far from the mean "
        "that many records are clipped.", rare=True)
    inference: float | None = wish(None, PRIVACY, "release compare variance plan init",
        "“where the mean of the population lies”", "Share of epsilon, such as 0.1, for how much the records vary: the release "
        "then says where the mean, or the variance, of the whole population lies.", metavar="SHARE")
    check: float | None = wish(None, PRIVACY, "release plan", "the look",
        "Share of epsilon for a private look at whether the public specimens fit; 0: no look (default: 0.1).",
        metavar="SHARE", page=False, rare=True)
    allow_useless: bool = wish(False, PRIVACY, f"{PLACED} init", "“release even if useless”",
        "Release even if it says no more than what is public.", option="--even-if-useless", rare=True)
    ledger: File = wish("", PRIVACY, f"{PAID} studio", "the ledger", "The ledger that is charged.", required="contribute")
    dataset: str = wish("", PRIVACY, PAID, "the data set of the ledger", "Which data set of the ledger pays.", rare=True)
    out: File = wish("mean.json", OUTPUT, f"{KEPT} region", "the record's file", "Where the record goes, with all its facts.")
    plot: File = wish("", OUTPUT, f"{KEPT} synthesize plan", "the picture", "Where a picture goes (PNG or SVG).", page=False)
    report: File = wish("", OUTPUT, KEPT, "the report", "Where a report in words goes (HTML or Markdown).", page=False)
    value: File = wish("", OUTPUT, "release", "the value",
        "Where the released value alone goes (TPS, NTS, CSV, RDS, …; 'sfumato export' says which).", page=False, rare=True)
    simulate: File = wish("", OUTPUT, "plan", "the simulated picture",
        "Where a picture of such a release goes, of made-up records.", page=False)
    links: File = wish("", OUTPUT, f"{MADE} synthesize", "the lines between landmarks",
        "Lines between landmarks in pictures: 1-2,2-3; a file with one pair a line; or 'outline'.", metavar="LINES")
    channels: File = wish("", OUTPUT, MADE, "the names of channels",
        "Names of channels in pictures and reports, which anyone may then see: Fz,Cz,Pz; a file with one name a line; or an "
        ".npz file that holds them as channels or ch_names.", metavar="NAMES", rare=True)
    force: bool = wish(False, OUTPUT, MADE, "leave in the command line",
        "Replace files that exist; allow an epsilon above 100.", page=False, rare=True)
    workers: int = wish(1, MORE, "release", "the threads", "Threads that share each pass over the records.", page=False)
    memory: str = wish("256MiB", MORE, "release", "the memory", "Parquet larger than this is read in parts.", page=False)
    scheduler: str = wish("", MORE, "release", "the scheduler",
        "Address of a Dask cluster (tcp://…) that reads the Parquet files, by the same paths; its workers see the records.",
        page=False)
    study: File = wish("", DATA, "contribute", "the study", "The study's public plan.", page=False, required="contribute")
    key: File = wish("", DATA, "contribute", "the key", "Your site's key, a secret.", page=False, required="contribute")
    groups: str = wish("", DATA, "init", "the groups", "Names of public groups, as f,m: one mean each.", page=False)
    trusted: int = wish(0, PRIVACY, "init", "the trusted sites", "How many sites draw one curator's noise together: the promise"
        " holds if so many do. All but one at most; the fewer, the larger the error.", page=False, required="init")
    agreed: str = wish("", PRIVACY, "contribute", "the code", "The study's code, once all sites have it.", page=False)
    round: int = wish(1, MORE, "init", "the round", "Another number after a site has dropped out.", page=False)
    task: str = wish("", MORE, "", "what is asked for", "What is released, where it is not a mean: as a command is called.")
    smallest: int | None = wish(None, MORE, "", "the smallest group", "Persons in the smallest group, in a plan.")
    read_as: str = wish("", MORE, "", "the inspection", "The space that the curator's inspection found.")
    # fmt: on

    def __post_init__(self) -> None:
        wrong = (self._wrong_regions, self._wrong_priors, self._wrong_shares, self._wrong_numbers)
        for words in (words for each in wrong for words in each()):
            given = {name: getattr(self, name) for name in ("prior", "inference", "check", "steps", "relation", "on")}
            raise refusal(words, limits="LOW:HIGH", **given)

    def _wrong_regions(self) -> Iterator[str]:
        """Yield what does not go together of what is said about the region."""
        if self.public and (self.center or self.radius is not None):
            yield "<public> gives the centre and the size too: leave out <center> and <radius>, or leave out <public>"
        if self.relation and not self.public:
            yield "<relation> says how public specimens relate to the records: it goes with <public>"
        if self.relation not in ("", "same", "related", "other"):
            yield "<relation:> must be 'same', 'related' or 'other'"
        if self.about and self.center:
            yield "<about> says where the records lie: leave out <center>"
        if len(self._directions) > 1:
            yield f"{_listed(self._directions)} say different things of the same landmarks: give one of them"
        if self.modes is not None and not self.public and not self._directions:
            yield "<modes> counts directions, the most important first: give <public>, <smooth>, <open> or <bending> too"

    def _wrong_priors(self) -> Iterator[str]:
        """Yield what does not go together with a region that is yet to be found."""
        if self.find is None:
            return
        wide = "<prior>" if self.prior else "<find_radius>"
        known = [*self._directions, *(["public"] if self.public else [])]
        if self.prior and self.find_radius:
            yield "<prior> finds a centre and a radius, <find_radius> a radius about a known centre: give one of them"
        if known:
            yield f"{wide} is for records of which little is known: leave it out, or leave out {_listed(known)}"
        if self.prior and self.radius is not None:
            yield "<prior:> says how wide the region is: leave out <radius>"
        if self.prior_limits is not None and self.center:
            yield "<prior:> has a centre of its own: leave out <center>"
        if self.steps == 2:
            yield f"<steps:> moves a region that is known: leave it out, or leave out {wide}"

    def _wrong_shares(self) -> Iterator[str]:
        """Yield what is wrong of what is spent on other things than the mean, and said beside a region that a file holds."""
        others = ("space", "about", "public", "center", "radius", "prior", "find_radius", "modes", *self._directions)
        if self.region and (said := [name for name in others if getattr(self, name) not in ("", None, False)]):
            yield f"<region> is a whole public region, of its own space: leave out {_listed(said)}"
        if self.steps not in (1, 2):
            yield "<steps:> must be 1 or 2"
        if self.inference is not None and not 0 < self.inference <= 0.5:
            yield "<inference:> must be a share of epsilon, above 0 and up to 0.5; 0.1 is common"
        if self.slide_by not in ("bending", "distance"):
            yield f"<slide_by> must be 'bending' or 'distance', not {self.slide_by!r}"
        if self.slide_by != "bending" and not self.slide:
            yield "<slide_by> goes with <slide>: say which landmarks slide"
        if self.check is not None and not self.public:
            yield "<check> is a look at whether public specimens fit: it goes with <public>"
        if self.check is not None and not 0 <= self.check < 1 / 6:
            yield "<check:> must be a share of epsilon: 0 for no look, or up to 0.16"

    def _wrong_numbers(self) -> Iterator[str]:
        """Yield what is wrong of what is to be promised, and of a number that the mean may change with."""
        given = [name for name in ("epsilon", "rho", "mu") if getattr(self, name)]
        if len(given) > 1:
            yield f"{_listed(given)} are different promises: give one of them"
        if self.delta is not None and (self.rho or self.mu):
            yield "<delta> goes with <epsilon>: leave it out, or give <epsilon> instead"
        if self.on and not self.limits and not self.number_is_public:
            words = "say between which numbers it surely lies, by public knowledge: <limits:>; or <number_is_public>"
            yield f"<on:>: {words} if everybody may know it of every person"
        _ = self.within_limits  # which raises what is no range

    def complete(self) -> None:
        """Raise a Refusal if no region can be made of this."""
        if self.about or self.public or self.region or self.prior_limits is not None:
            return
        one = "a file with one public record"
        if self.prior and not self.center:
            raise refusal(f"<prior:> is a radius, and needs <center> too: {one}", prior=self.prior)
        if self.center and self.radius is None and not self.prior:
            raise refusal("<center> needs <radius> too: how far from it records lie, as is publicly known")
        if self.radius is not None and not self.center:
            raise refusal(f"<radius> needs <center> too: {one}; or give <public:> instead", public="FILE")
        if not self.center:
            words = "say what is publicly known of where the records lie: <public:> with public specimens, such as an atlas or "
            words += "an earlier study; or <center:> with one public record, and <radius>"
            raise refusal(words, public="FILE", center="FILE")

    # -- what follows from the wishes ----------------------------------------------------------------------------------------
    @property
    def privacy(self) -> Privacy:
        """Return what is to be promised."""
        from ..laws.privacy import GDP, ZCDP, ApproxDP, PureDP

        if self.rho is not None:
            return ZCDP(self.rho)
        if self.mu is not None:
            return GDP(self.mu)
        if not self.epsilon:
            words = "epsilon must be a positive number: <epsilon:> is common, and less is more private"
            raise refusal(words, epsilon=1)
        return PureDP(self.epsilon) if self.delta is None else ApproxDP(self.epsilon, self.delta)

    @property
    def command(self) -> str:
        """Return the command that does the same."""
        return self.task or ("regress" if self.on else "compare" if self.by else "release")

    @property
    def within_limits(self) -> tuple[float, float] | None:
        """Return the public limits of a covariate; of sizes, their logarithms."""
        if not self.limits:
            return None
        try:
            low, high = (float(part) for part in self.limits.split(":"))
            if not (low < high and (self.on != SIZE or low > 0)):
                raise ValueError
        except ValueError:
            words = f"say two numbers, the smaller first{', above 0 for sizes' if self.on == SIZE else ''}, as 20:90"
            raise refusal(f"<limits:>: {words}", limits=self.limits) from None
        return (math.log(low), math.log(high)) if self.on == SIZE else (low, high)

    @property
    def find(self) -> Literal["ball", "radius"] | None:
        """Return what is to be found privately within a generous region."""
        return "ball" if self.prior else "radius" if self.find_radius else None

    @property
    def prior_limits(self) -> tuple[float, ...] | None:
        """Return the numbers of a prior: none for all of a space, two for a range; None for a radius, or without a prior."""
        if not self.prior:
            return None
        if self.prior == "whole":
            return ()
        try:
            numbers = tuple(float(part) for part in self.prior.split(":", 1))
        except ValueError:
            words = "<prior:>: say a radius, as 2.5; a range, as 1e-3:1e3; or 'whole' for the whole sphere"
            raise refusal(words, prior=self.prior) from None
        return None if len(numbers) == 1 else numbers

    @property
    def _directions(self) -> list[Prior]:
        every: tuple[Prior, ...] = ("smooth", "open", "bending")
        return [name for name in every if getattr(self, name)]

    @property
    def directions(self) -> Prior | None:
        """Return what is known of the directions beside a sample."""
        return next(iter(self._directions), None)

    @property
    def widest(self) -> float:
        """Return how far from the centre records lie, or surely lie."""
        return float(self.prior) if self.prior else self.radius or 0.0

    @property
    def share(self) -> float:
        """Return the share of ε for the look."""
        from ..regions.look import SHARE

        return SHARE if self.check is None else self.check

    @property
    def how(self) -> dict[str, Any]:
        """Return what a plan is asked for beside the region, n and ε."""
        return {"check": self.share, "steps": self.steps, "inference": self.inference or 0.0, "find": self.find}

    @property
    def said(self) -> dict[str, Any]:
        """Return what was said of that for which the function that releases has an argument of the same name."""
        names = ("mechanism", "steps", "invalid", "inference", "allow_useless", "reach", "components", "test_only")
        taken = [name for name in names if self.command in WISHES[name].commands]
        return {name: value for name in taken if (value := getattr(self, name)) != getattr(Request, name)}

    @property
    def reading(self) -> dict[str, Any]:
        """Return how the file is read; outlines that are resampled start by what is public."""
        known = self.curves.isdecimal() and (self.public or self.center or self.about or self.region or self.study)
        start = known if known and Path(known).exists() else None
        return {"reference": start, **{name: getattr(self, name) or None for name in READING}}

    @property
    def reading_public(self) -> dict[str, Any]:
        """Return how the public file is read: like the records if it ends like theirs, else by what all files may have."""
        alike = not self.files or Path(self.public).suffix.lower() == Path(self.files[0]).suffix.lower()
        return {name: how for name, how in self.reading.items() if alike or name in ("missing", "curves", "reference")}

    @property
    def sizes(self) -> dict[str, int | None]:
        """Return the size of the space, where it is said."""
        return {name: getattr(self, name) for name in SIZES}

    @property
    def inputs(self) -> list[Path]:
        """Return the files that no output may replace."""
        named = (*self.files, self.public, self.center, self.region, self.ledger, self.labels, self.about, self.slide)
        return [Path(name) for name in named if name]

    @property
    def beside(self) -> dict[str, Path]:
        """Return the files to be written beside the record, by their wishes."""
        return {name: Path(path) for name in ("plot", "report", "value", "simulate") if (path := getattr(self, name))}

    @property
    def named_files(self) -> list[str]:
        """Return all names of files that were given, of those to be written too."""
        given = [getattr(self, name) for name, kind in types_of(type(self)).items() if names_files(kind)]
        return [name for each in given for name in ([each] if isinstance(each, str) else each) if name]


def names_files(kind: Any) -> bool:
    """Return whether a wish of this type names a file or several."""
    return kind == File or File in get_args(kind)


def types_of(kind: type[Request]) -> dict[str, Any]:
    """Return the type of each wish by its name."""
    return get_type_hints(kind, include_extras=True)


def wish_of(part: Any) -> Wish:
    """Return what is said of the wish that a field of a request holds."""
    found: Wish = part.metadata["wish"]
    return found


# -- how the fronts say a wish ----------------------------------------------------------------------------------------------
def refusal(words: str, **values: Any) -> Refusal:
    """Return a Refusal; a wish stands in its words as <radius>, or as <radius:> with the value that is given.

    >>> str(refusal("<center:> needs <radius> too", center="mean.tps"))
    "center='mean.tps' needs radius too"
    """
    parts: list[str | Fix] = [*re.split(r"<(\w+:?)>", words)]
    for i, name in enumerate(map(str, parts[1::2])):
        parts[2 * i + 1] = Fix(name.rstrip(":"), values[name[:-1]] if name.endswith(":") else ...)
    return Refusal(*(part for part in parts if part))


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"<{name}>" for name in names)


WISHES = {part.name: wish_of(part) for part in fields(Request)}


def option_of(name: str, one: Wish) -> str:
    """Return the option of the command line for a wish."""
    return one.option or f"--{name.replace('_', '-')}"


def as_option(fix: Fix) -> str:
    """Return a fix as it is typed in the command line.

    >>> as_option(Fix("allow_useless", True)), as_option(Fix("unit", "one record")), as_option(Fix("center", ...))
    ('--even-if-useless', "--unit 'one record'", '--center')
    """
    if fix.wish not in WISHES:
        return str(fix)
    option = option_of(fix.wish, WISHES[fix.wish])
    return option if any(fix.value is one for one in (True, ..., None)) else f"{option} {as_typed(fix.value)}"


def as_typed(value: Any) -> str:
    """Return a value as it is typed after its option."""
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return shlex.quote(repr(value).removesuffix(".0") if isinstance(value, float) else str(value))


def in_page(fix: Fix) -> str:
    """Return a fix in the words of the page.

    >>> in_page(Fix("unit_column", "subject")), in_page(Fix("radius", ...)), in_page(Fix("public", "FILE"))
    ('“Some have several records, and a column says whose” (subject)', 'the radius', 'public specimens')
    """
    if fix.wish not in WISHES:
        return str(fix)
    one = WISHES[fix.wish]
    if any(fix.value is bare for bare in (True, ..., None)) or str(fix.value).startswith(("FILE", "NAME")):
        return one.label
    return (one.said or f"{one.label} ({{}})").format(fix.value)


def sentence(error: BaseException, how: Any) -> str:
    """Return an error in the words of a front, which are :func:`as_option` or :func:`in_page`."""
    if isinstance(error, SfumatoError):
        return error.say(how)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}; check the name"
    return str(error) or type(error).__name__


# -- what the page sends ------------------------------------------------------------------------------------------------------
def is_text(name: str) -> bool:
    """Return whether a name can be written as UTF-8, without a NUL; names of files on some systems cannot.

    >>> is_text("aile gauche.tps"), is_text(chr(0xDCFF))
    (True, False)
    """
    return "\0" not in name and name == name.encode(errors="replace").decode()


def from_page(given: Mapping[str, Any], kind: type[R]) -> R:
    """Return what the page sent as a request; a ValueError names what is not understood.

    >>> from_page({"files": "wings.tps", "n": "1e2", "smooth": True}, Request).n
    100
    """
    types = types_of(kind)
    if unknown := given.keys() - {part.name for part in fields(kind) if wish_of(part).page}:
        raise ValueError(f"the page sent what is not known here: {', '.join(sorted(map(str, unknown)))}")
    said = {name: value for name, value in given.items() if value is not None and value != ""}
    return kind(**{name: _of_page(name, value, types[name]) for name, value in said.items()})


def _of_page(name: str, value: Any, kind: Any) -> Any:
    """Return one value as a wish of this type."""
    if kind is bool or isinstance(value, bool):  # a flag must be a JSON boolean
        if kind is not bool or not isinstance(value, bool):
            raise ValueError(f"{name.replace('_', ' ')}: {value!r} is not understood: load the page again")
        return value
    if kind is str or names_files(kind):
        if not isinstance(value, str):
            raise ValueError(f"{name}: must be text, not {value!r}")
        if not is_text(value):
            raise ValueError(f"{name}: {value!a} holds a character that is no text: give the file another name")
        text = os.path.expanduser(value) if names_files(kind) else value
        return text if kind in (str, File) else (text,)
    return _number(name.replace("_", " "), value, whole=kind in (int, int | None))


def _number(name: str, value: Any, whole: bool) -> float:
    """Return a number; a whole one also where it is typed as 1e6."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: {value!r} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}: {value!r} is not a number to work with")
    if not whole:
        return number
    exact = value if isinstance(value, int) else int(number)
    if exact != number:
        raise ValueError(f"{name}: {value!r} is not a whole number")
    return exact
