"""What the page asks of this machine.  The public steps read public files alone; records are read by the inspection that the
curator asks for, and by the release."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from .choices import Choices, in_the_page, is_text

if TYPE_CHECKING:
    from ...files import Dataset
    from ...findings import Comparison
    from ...regions import Region
    from ...release import Release
    from ...spaces.base import Space
    from .foreseen import Foreseen
    from .previews import Looks

PLAIN = (ValueError, OSError, RuntimeError, ArithmeticError, MemoryError)  # what the command line says in a sentence
SHOWN = (
    ".tps",
    ".nts",
    ".txt",
    ".csv",
    ".tsv",
    ".json",
    ".fcsv",
    ".npy",
    ".npz",
    ".mat",
    ".rds",
    ".rda",
    ".rdata",
    ".parquet",
)
LEDGERS = (".ledger", ".db", ".sqlite")
DROPPED = "sfumato-studio-"  # the folder of what is dropped on the page begins so
MOST_FILES = 200
SHOW = {"record.json", "report.html", "picture.png", "picture.svg"}
VALUES = {"value.csv", "value.tps", "value.npy"}
MEMORY = 256 << 20  # bytes: a Parquet file that would take more is read in parts
MADE_UP = 12  # records shown in a region that is wide
MOST_GROUPS = 20  # of a column that the page offers to compare by


@dataclass
class Job:
    """One release: it is made once, and kept."""

    choices: Choices
    stage: str = "waiting"
    release: Release | Comparison | None = None
    refusal: str = ""
    charged: bool = False
    done: bool = False
    curator: list[str] = field(default_factory=list)  # for the curator's eyes
    python: str = ""  # that does the same; of a record that was opened it is not known

    def facts(self) -> dict[str, Any]:
        """What the page shows of it."""
        found: dict[str, Any] = {"id": self.choices.id, "stage": self.stage, "done": self.done, "charged": self.charged}
        found |= {"refusal": self.refusal, "curator": self.curator, "out": self.choices.out}
        if self.release is not None:
            found["words"], found["takes"] = self.release.describe(), sorted(self.takes)
            found["command"], found["python"] = self.choices.command() if self.python else "", self.python
            found["dropped"] = [Path(name).name for name in self.choices.files if DROPPED in name]
            for text in ("command", "python") if found["dropped"] else ():
                found[text] = re.sub(rf"[^'\" ]*{DROPPED}[^/\\]*[/\\][^/\\]*[/\\]", "", found[text])
            found["epsilon"] = self.epsilon
        return found

    @property
    def takes(self) -> set[str]:
        """The names of the files that it can be taken home as."""
        from ...release import Release

        if not isinstance(self.release, Release):
            return SHOW
        kind = getattr(self.release.space.known, "kind", "")
        return (SHOW | VALUES) - (set() if kind == "landmarks" else {"value.tps"})

    @property
    def epsilon(self) -> float:
        from ...release import Release

        assert self.release is not None
        return self.release.guarantee.epsilon if isinstance(self.release, Release) else self.release.epsilon


class Studio:
    """The state of the page: where it was started, what was dropped on it, and the releases that it made.

    Parameters
    ----------
    file, ledger : str
        What the page has filled in when it opens.

    Examples
    --------
    >>> studio = Studio()
    >>> studio.state()["releases"]
    []
    """

    def __init__(self, file: str = "", ledger: str = "") -> None:
        self.given, self.folder = {"file": file, "ledger": ledger}, Path().resolve()
        self.jobs: dict[str, Job] = {}
        self.refused: dict[str, Job] = {}  # before anything was spent: these may be tried again
        self.lock = Lock()
        self.threads: list[Thread] = []
        self._dropped: TemporaryDirectory[str] | None = None
        self._region: tuple[object, Region, Any] | None = None

    def check(self, choices: Choices) -> None:
        """Raise a ValueError for a file that lies elsewhere, by whatever name or link: the page opens no others."""
        inside = [self.folder, *([Path(self._dropped.name).resolve()] if self._dropped is not None else [])]
        for path in (Path(name) for name in choices.files if name not in self.given.values()):
            for part in (path, *(link for link in path.glob("*") if link.is_symlink())):
                if not any(part.resolve().is_relative_to(folder) for folder in inside):
                    raise ValueError(
                        f"{part}: lies outside {self.folder}, where the studio was started, and it opens and writes no file "
                        "elsewhere: start it in the folder of your files, or name the records and the ledger when you start "
                        "it, or drop the file on the page"
                    )

    # -- what is public --------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """What the page shows first: names of files, none of them opened."""
        names = sorted(path.name for path in Path().iterdir() if path.is_file() and not path.name.startswith("."))
        names = [name for name in names if is_text(name)]
        return {
            **self.given,
            "folder": str(Path().absolute()),
            "outs": {what: _free(f"{name}.json") for what, name in {"mean": "mean", "groups": "comparison"}.items()},
            "files": [name for name in names if Path(name).suffix.lower() in SHOWN][:MOST_FILES],
            "ledgers": [name for name in names if Path(name).suffix.lower() in LEDGERS][:MOST_FILES],
            "releases": [job.facts() for job in list(self.jobs.values())],
        }

    def region(self, choices: Choices) -> tuple[Region, Any]:
        """The public region, and the points of the public sample that it is made from, if it is."""
        from ..cli import only_space, region_alone, space_of_name
        from ..known import read_sample

        known, name = choices.known, choices.space
        if not name or choices.read_as.startswith(f"{name}("):  # the inspection knows the size too
            name = choices.read_as
        known.complete(choices.mechanism)
        if known.limits is not None and not name:
            raise ValueError(
                "say in step 1 what the records are, or look into the file: how wide that is depends on it"
            )
        links = [Path(text) for text in (choices.links, choices.channels) if text]
        public = [path for path in (*known.inputs, *links) if path.exists()]
        _check_apart(choices, public)
        if known.center is not None and not public and not known.center.isalpha():
            raise ValueError(f"{known.center}: there is no such file; give a file with one public record")
        marks = [(str(path), path.stat().st_mtime_ns) for path in public]
        key = (known, name, tuple(choices.reading.items()), tuple(marks))
        if self._region is not None and self._region[0] == key:
            return self._region[1:]
        if known.public is None:
            found, points = region_alone(known, name, {}, choices.curves or None), None
        else:
            same = known.public.suffix.lower() == Path(choices.file).suffix.lower()
            how = choices.reading if same else {"missing": choices.reading["missing"]}
            kind = space_of_name(name) if name else only_space([known.public], {}, **how)
            sample = read_sample(known.public, kind, {}, **how)
            points, found = sample.points, known.region(kind.shaped(sample.points.shape[1:]), sample)
        self._region = (key, found, points)
        return found, points

    def known(self, choices: Choices) -> dict[str, Any]:
        """The public knowledge, drawn."""
        from .previews import of_region

        region, sample = self.region(choices)
        if choices.known.find is None:
            return of_region(region, sample, self.looks(choices))
        space, rng = region.space, np.random.default_rng(0)
        inside = space.present(space.random_points(region.center, region.radius, MADE_UP, rng))
        words = f"A public point, and {MADE_UP} made-up records anywhere within {region.radius:.3g} of it (thin)."
        return of_region(region, inside, self.looks(choices)) | {"words": words}

    def _foreseen(self, choices: Choices) -> Foreseen:
        """What stands in the pictures for the release."""
        from .foreseen import Foreseen, of_found, of_groups

        n, epsilon = _asked(choices)
        region, known = self.region(choices)[0], choices.known
        if choices.by:
            _check_groups(choices)
            return of_groups(region, choices.smallest or max(1, n // 2), epsilon, choices.inference)
        if known.find is not None:
            return of_found(region, n, epsilon, known)
        return Foreseen(region, n, choices.mechanism, known.share, choices.inference or 0.0, {})

    def looks(self, choices: Choices) -> Looks:
        """Lines, names and coasts for the pictures, from public files and what was typed alone."""
        from ...views.plots import read_names
        from .previews import Looks

        space, file = self.region(choices)[0].space, Path(choices.public or choices.center)
        places = file.is_file() and _are_places(str(file), file.stat().st_mtime_ns, space)
        return Looks(choices.links, tuple(read_names(choices.channels) if choices.channels else ()), places)

    def blur(self, choices: Choices) -> dict[str, Any]:
        """What releases would look like, on synthetic data about the public centre."""
        from .previews import of_release

        made = self._foreseen(choices)
        return of_release(made.region, made.n, _asked(choices)[1], *made.how, self.looks(choices)) | made.more

    def curve(self, choices: Choices) -> dict[str, Any]:
        """The error against ε."""
        from .previews import of_errors

        made = self._foreseen(choices)
        return of_errors(made.region, made.n, *made.how)

    def ledger(self, choices: Choices) -> dict[str, Any]:
        """What is left of a budget, and the charges for which no release is noted."""
        import json

        from ..cli import open_ledger

        budget = open_ledger(Path(choices.ledger) if choices.ledger else None, choices.dataset or None)
        if budget is None:
            return {"left": None}
        book = budget.verify()
        if budget.dataset is None:
            return {"left": None, "datasets": list(book.budgets)}
        paid = {json.loads(line.record).get("charge") for line in book.entries if line.kind == "release"}
        open_ = [
            f"line {line.sequence}: ε {line.epsilon} ({line.purpose})"
            for line in book.entries
            if line.kind == "charge" and line.dataset == budget.dataset and line.sequence not in paid
        ]
        left, words = str(book.left(budget.dataset)), book.describe(budget.dataset)
        return {"left": left, "words": words, "datasets": list(book.budgets), "dataset": budget.dataset, "open": open_}

    # -- what the curator alone may see ------------------------------------------------------------------------------------
    def drop(self, name: str) -> Path:
        """Where a file that was dropped on the page is kept, until the studio stops, in a folder of the curator's own."""
        if self._dropped is None:
            self._dropped = TemporaryDirectory(prefix=DROPPED)
        plain = "".join(c for c in Path(name.replace("\\", "/")).name if c.isprintable()).strip(". ")
        if not plain:
            raise ValueError("the file has no name: give it one, with an ending such as .tps or .csv")
        return Path(mkdtemp(dir=self._dropped.name), plain)  # another file may have the same name

    def inspect(self, choices: Choices) -> dict[str, Any]:
        """What the file of the records holds: for the curator's eyes."""
        from ...files.people import named_labels, repeated_labels
        from ...views.curator import inspection
        from ..cli import first_space, load

        file, how = _file(choices), {**choices.reading, "missing": choices.missing or "none"}
        if parts := _in_parts(choices):
            data, space, _ = load([file], choices.space, {}, head=True)
        else:
            data, space, _ = load([file], choices.space or first_space(file, {}, **how), {}, **how)
        facts = inspection(data, space, said=bool(choices.missing))
        if parts:
            words = f"the file is large, and only the first {len(data)} of its {parts} records were looked at"
            facts["remarks"] = [words, *facts["remarks"]]
        kinds = data.usual
        who = data.labels.get(choices.unit_column)
        labels = {name: column for name, column in data.labels.items() if name != choices.by}
        return {
            **facts,
            "bad": [f"{data.where(row)}: {reason}" for row, reason in facts["bad"].items()],
            "contents": data.contents if data.degrees is None else f"{len(data)} places or directions, in degrees",
            "space": space.typed,
            "may_be": [kind.name for kind in kinds] if not choices.space and len(kinds) > 1 else [],
            "columns": list(data.labels),
            "repeats": {**(named_labels(labels) if parts else {}), **repeated_labels(labels)},
            "n": parts or _persons(who, np.ones(len(data), dtype=bool)),
            "groups": {} if parts else _groups(data, choices, who),
        }

    # -- the release -------------------------------------------------------------------------------------------------------
    def plan(self, choices: Choices) -> dict[str, Any]:
        """By which name the page may know whether these choices were released, and whether their record has its file to
        itself."""
        _asked(choices)
        return {"id": choices.id, "taken": Path(choices.out).exists()}

    def release(self, choices: Choices, confirmed: str, seen: object) -> dict[str, Any]:
        """Begin a release, or find it where the same choices were sent before: nothing is ever charged twice for one plan."""
        with self.lock:
            if choices.id in self.jobs:
                return self.jobs[choices.id].facts()
            if seen != len(self.jobs):
                raise ValueError(
                    "another release was begun meanwhile, perhaps in another tab: load this page again and look at it first. "
                    "Nothing was spent here"
                )
            _confirm(choices, confirmed)
            session, known = self._session(choices)
            job = self.jobs[choices.id] = Job(choices)
            thread = Thread(target=self._make, args=(job, session, known), name=f"release {choices.id}")
            self.threads.append(thread)
        thread.start()
        return job.facts()

    def _session(self, choices: Choices) -> tuple[Any, Any]:
        """All that can be refused before a record is read."""
        from ...views.outputs import check_comparable, check_outputs
        from ..cli import open_ledger

        known, (n, epsilon) = choices.known, _asked(choices)
        known.complete(choices.mechanism)
        if not (choices.unit or choices.unit_column):
            raise ValueError(
                "say first whom to protect: what one record stands for, or the column that says whose it is"
            )
        if choices.by:
            check_comparable(choices.by, choices.labels_are_public)
            _check_groups(choices)
        file, out = _file(choices), Path(choices.out)
        ledger = Path(choices.ledger) if choices.ledger else None
        others = [Path(name) for name in (choices.ledger, choices.labels) if name]
        check_outputs({"--out": out}, [file, *known.inputs, *others], force=False)
        _check_apart(choices, [Path(text) for text in (choices.links, choices.channels) if text])
        session = _watched(out, open_ledger(ledger, choices.dataset or None), n)
        session.afford(epsilon)
        return session, known

    def _make(self, job: Job, session: Any, known: Any) -> None:
        """Read, charge, draw and write, as the command line does; whatever happens is told."""
        from ...errors import UnsavedError

        session.job = job
        try:
            self._read_and_release(job, session, known)
        except UnsavedError as error:
            job.release, job.refusal = error.release, in_the_page(f"{error}. It is kept here: save it below, now")
        except PLAIN as error:
            job.refusal = in_the_page(_sentence(error))
        except BaseException:
            job.refusal = (
                "something failed inside the program; what it was is on the screen where the studio was started"
            )
            raise
        finally:
            self._finish(job, session)

    def _read_and_release(self, job: Job, session: Any, known: Any) -> None:
        from ...files.labels import groups_of, with_table
        from ...mechanisms.inference import SHARE
        from ...records.parts import open_parts
        from ...views.curator import MARK, of_clipping, region_used
        from ..cli import load, region_beside, rows_named, unit_of

        c, file, job.stage = job.choices, _file(job.choices), "reading the records"
        parts = bool(_in_parts(c))
        data, space, kind = load([file], c.space, {}, head=parts, **c.reading)
        if c.read_as and c.read_as != space.typed:
            raise ValueError(
                f"{file}: has changed since you looked into it: look again, and at the blur. Nothing was spent"
            )
        if c.by and c.labels:
            data = with_table(data, c.labels, c.by)
        groups = groups_of(data, c.by) if c.by else None
        data = replace(data, labels={name: column for name, column in data.labels.items() if name != c.by})
        region = region_beside(known, data, space, [file], kind, {}, **c.reading)
        data = replace(data, points=known.symmetrized(data.points))
        if not c.unit_column and not c.alone:
            unit_of(data, None, None, head=parts)  # refuses a column that repeats, unless that was answered
        how = unit_of(data, c.unit_column or None, c.unit or None, head=parts)
        how |= {"invalid": c.invalid, "allow_useless": c.even_if_useless, "inference": known.inference or 0.0}
        job.stage = "planning the noise"
        with ExitStack() as stack, rows_named([file], data, streamed=parts):
            if groups is not None:
                how["inference"] = known.inference or SHARE
                compared = session.compare(data, groups, region, c.epsilon, **how)
                job.release, one = compared, next(iter(compared.groups.values()))
            else:
                how |= {"check": known.share} | ({"prior": region, "find": known.find} if known.find else {})
                within = None if known.find else region
                points = open_parts(stack, [file], space, MEMORY, 1, None) if parts else data.points
                one = session.release(points, within, c.epsilon, c.mechanism, degrees=data.degrees, **how)
                job.release = one
        job.python = c.python(space)
        job.curator = [of_clipping(region_used(region, one), data.points, first=parts).removeprefix(f"{MARK}: ")]

    def _finish(self, job: Job, session: Any) -> None:
        job.charged = session.entry is not None
        with self.lock:
            if job.release is None and not job.charged:
                self.refused[job.choices.id] = self.jobs.pop(job.choices.id)
            elif job.release is None:
                job.refusal += f". ε {job.choices.epsilon:g} is charged and stays charged, as the records were in use"
        job.stage, job.done = ("done" if job.release is not None else "stopped"), True

    def job(self, id: str) -> Job | None:
        """A release that was asked for."""
        return self.jobs.get(id) or self.refused.get(id)

    def open(self, choices: Choices) -> dict[str, Any]:
        """A release that was saved before, of whatever plan, to take home what it shows; it costs nothing."""
        release = _saved(Path(choices.out))
        with self.lock:
            if choices.id in self.jobs:
                return self.jobs[choices.id].facts()
            found = Choices(out=choices.out, links=choices.links, channels=choices.channels)
            job = self.jobs.setdefault(found.id, Job(found, "done", release, done=True))
        return job.facts()

    def wait(self) -> None:
        """Until no release is half made; then forget what was dropped."""
        for thread in self.threads:
            thread.join()
        if self._dropped is not None:
            self._dropped.cleanup()

    # -- take home -----------------------------------------------------------------------------------------------------------
    def take(self, id: str, name: str) -> bytes:
        """A finished release as a file of this name."""
        job = self.jobs.get(id)
        if job is None or job.release is None or name not in job.takes:
            raise ValueError("there is no such release, or it is not finished: load the page again")
        self.check(job.choices)  # a link may lead elsewhere by now
        with TemporaryDirectory(prefix="sfumato-studio-") as folder:
            path = Path(folder, name)
            if name == "record.json":
                job.release.save(path)
            else:
                _show(job.release, path, job.choices)
            return path.read_bytes()


def _show(release: Release | Comparison, path: Path, choices: Choices) -> None:
    """The report, the picture or the value, as the name of the file says."""
    from ...files import write_points
    from ...release import Release
    from ...views.compared import write_comparison_report
    from ...views.plots import plot_release, read_links, read_names
    from ...views.report import write_report

    report, picture = path.name.startswith("report"), path.name.startswith("picture")
    one = release if isinstance(release, Release) else next(iter(release.groups.values()))
    lines = read_links(choices.links, len(one.value)) if choices.links else None
    names = read_names(choices.channels) if choices.channels else ()
    if not isinstance(release, Release):
        if report:
            write_comparison_report(release, path, lines, names)
        else:
            release.plot(path, links=lines, channels=names)
    elif report:
        write_report(release, path, lines, names)
    elif picture:
        plot_release(release, path, outline=lines, channels=names)
    else:
        write_points(path, release.value, "arrays" if release.space.known is None else release.space.known.kind)


def _saved(path: Path) -> Release | Comparison:
    """A record, of a mean or of groups."""
    from ...findings import Comparison
    from ...release import Release

    with path.open(encoding="utf-8", errors="replace") as file:
        grouped = Comparison.format in file.read(200)
    return Comparison.load(path) if grouped else Release.load(path)


def _free(name: str) -> str:
    """A name for a file that is not there yet."""
    path, i = Path(name), 1
    while path.exists():
        path, i = Path(name).with_stem(f"{Path(name).stem}-{i + 1}"), i + 1
    return str(path)


def _check_apart(choices: Choices, public: list[Path]) -> None:
    """What is public is in other files than the records."""
    from ..known import OTHERS

    for path in public:
        if choices.file and path.exists() and _is_of(path, Path(choices.file)):
            raise ValueError(f"{path}: is the file of the records itself, so it is not public; {OTHERS}")


def _is_of(path: Path, records: Path) -> bool:
    """Whether a file, by whatever name or link, is that of the records, or one of their folder."""
    if not records.exists():
        return False
    return path.resolve().is_relative_to(records.resolve()) if records.is_dir() else path.samefile(records)


def _in_parts(choices: Choices) -> int:
    """How many records a file holds that is read in parts, as a Parquet file is that would fill the memory; 0 for others."""
    from ...records.parts import in_parts

    whole = bool(choices.unit_column or choices.by or choices.symmetric or any(choices.reading.values()))
    file = _file(choices)
    if whole or file.is_dir() or not in_parts([file], MEMORY, False, None, False):
        return 0
    from pyarrow.parquet import read_metadata

    return int(read_metadata(file).num_rows)


def _check_groups(choices: Choices) -> None:
    if choices.known.find is not None:
        raise ValueError(
            "groups are compared within one region that is publicly known: give one public record and a distance, or public "
            "specimens, in step 2"
        )


def _groups(data: Dataset, choices: Choices, who: Any) -> dict[str, dict[str, int]]:
    """How many persons are in each group, by the columns that may say groups and the one that was named."""
    from ...files.labels import UNKNOWN, group_name, groups_of

    columns = {name: values for name, values in data.labels.items() if name != choices.unit_column}
    if choices.by:
        columns[choices.by] = groups_of(data, choices.by, choices.labels or None)
    found: dict[str, dict[str, int]] = {}
    for column, values in columns.items():
        names, group = np.unique([group_name(value) for value in values.tolist()], return_inverse=True)
        if column == choices.by or (2 <= len(names) <= MOST_GROUPS and not np.isin(names, UNKNOWN).any()):
            sizes = {str(name): _persons(who, group == i) for i, name in enumerate(names)}
            found |= {column: sizes} if column == choices.by or min(sizes.values()) > 1 else {}
    return found


@lru_cache(maxsize=8)
def _are_places(file: str, changed: int, space: Space) -> bool:
    """Whether a public file, as it was at a time, holds latitudes and longitudes."""
    from ...files import read
    from ...views.globe import is_place

    return space.point_shape == (3,) and is_place(read(Path(file), space).degrees or ())


def _asked(choices: Choices) -> tuple[int, float]:
    from ...laws.calibration.scale import check_records
    from ...laws.privacy import PureDP

    if choices.n is None or choices.epsilon is None:
        raise ValueError("give the number of records n, and ε")
    check_records(choices.n)
    PureDP(choices.epsilon).check(force=False)
    return choices.n, choices.epsilon


def _confirm(choices: Choices, typed: str) -> None:
    """A ValueError unless the curator typed ε, or the word."""
    typed = typed.strip().lower()
    try:
        same = float(typed) == choices.epsilon
    except ValueError:
        same = typed == "release"
    if not same:
        raise ValueError(f"to release, type the word release, or ε as it is: {choices.epsilon:g}. Nothing was spent")


def _file(choices: Choices) -> Path:
    if not choices.file:
        raise ValueError("name the file of the records first")
    return Path(choices.file)


def _persons(who: Any, rows: Any) -> int:
    """Among these rows: the rows themselves, where no column says whose they are."""
    from ...files.labels import people

    return int(rows.sum()) if who is None else len(set(people(who[rows]).tolist()))


def _sentence(error: Exception) -> str:
    """As the command line says it."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}; check the name"
    return str(error) or type(error).__name__


def refusal(error: Exception) -> str:
    """An error in words of the page."""
    return in_the_page(_sentence(error))


def _watched(out: Path, ledger: Any, n: int) -> Any:
    """A session that says how far it is, and charges for the number of records that was planned with alone."""
    from ...errors import Refusal
    from ...findings.session import Session

    class Watched(Session):
        job: Job

        def charge(self, epsilon: float, record: Mapping[str, Any], /) -> None:
            if record["n"] != n:
                raise Refusal(
                    f"the records give n = {record['n']}, but the plan was made for n = {n}: set n to {record['n']} in step 3, "
                    "look at the blur again, and release. Nothing was spent"
                )
            self.job.stage = "charging the ledger" if self.ledger is not None else "drawing"
            super().charge(epsilon, record)
            self.job.stage = "drawing, and writing the record"

    return Watched(out, ledger)
