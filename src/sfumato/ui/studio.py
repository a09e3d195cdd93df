"""What the page asks of this machine.  The public steps read public files alone; records are read by the inspection that the
curator asks for, and by the release."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from .choices import Choices, in_the_page

if TYPE_CHECKING:
    from ..files import Dataset
    from ..regions import Region
    from ..release import Release
    from ..spaces.base import Space
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
MOST_FILES = 200
TAKEN = {"record.json", "report.html", "picture.png", "picture.svg", "value.csv", "value.tps", "value.npy"}


@dataclass
class Job:
    """One release: it is made once, and kept."""

    choices: Choices
    stage: str = "waiting"
    release: Release | None = None
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
            kind = getattr(self.release.space.known, "kind", "")
            found["words"] = self.release.describe()
            found["command"], found["python"] = self.choices.command() if self.python else "", self.python
            found["takes"] = sorted(TAKEN - (set() if kind == "landmarks" else {"value.tps"}))
            found["epsilon"] = self.release.guarantee.epsilon
        return found


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
        self.given = {"file": file, "ledger": ledger}
        self.jobs: dict[str, Job] = {}
        self.refused: dict[str, Job] = {}  # before anything was spent: these may be tried again
        self.lock = Lock()
        self.threads: list[Thread] = []
        self._dropped: TemporaryDirectory[str] | None = None
        self._region: tuple[object, Region, Any] | None = None

    # -- what is public --------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """What the page shows first: names of files, none of them opened."""
        names = sorted(path.name for path in Path().iterdir() if path.is_file() and not path.name.startswith("."))
        return {
            **self.given,
            "folder": str(Path().absolute()),
            "files": [name for name in names if Path(name).suffix.lower() in SHOWN][:MOST_FILES],
            "ledgers": [name for name in names if Path(name).suffix.lower() in LEDGERS][:MOST_FILES],
            "releases": [job.facts() for job in list(self.jobs.values())],
        }

    def region(self, choices: Choices) -> tuple[Region, Any]:
        """The public region, and the points of the public sample that it is made from, if it is."""
        from ..cli import only_space, region_alone, space_of_name
        from ..known import OTHERS, read_sample

        known, name = choices.known, choices.space
        if not name or choices.read_as.startswith(f"{name}("):  # the inspection knows the size too
            name = choices.read_as
        known.complete(choices.mechanism)
        links = [Path(text) for text in (choices.links, choices.channels) if text]
        public = [path for path in (*known.inputs, *links) if path.exists()]
        for path in public:
            if choices.file and Path(choices.file).resolve() == path.resolve():
                raise ValueError(f"{path}: is the file of the records itself, so it is not public; {OTHERS}")
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
        return of_region(region, sample, self.looks(choices))

    def looks(self, choices: Choices) -> Looks:
        """Lines, names and coasts for the pictures, from public files and what was typed alone."""
        from ..views.plots import read_names
        from .previews import Looks

        space, file = self.region(choices)[0].space, Path(choices.public or choices.center)
        places = file.is_file() and _are_places(str(file), file.stat().st_mtime_ns, space)
        return Looks(choices.links, tuple(read_names(choices.channels) if choices.channels else ()), places)

    def blur(self, choices: Choices) -> dict[str, Any]:
        """What releases would look like, on synthetic data about the public centre."""
        from .previews import of_release

        n, epsilon = _asked(choices)
        region, _ = self.region(choices)
        how = (choices.mechanism, choices.known.share, choices.inference or 0.0)
        return of_release(region, n, epsilon, *how, self.looks(choices))

    def curve(self, choices: Choices) -> dict[str, Any]:
        """The error against ε."""
        from .previews import of_errors

        n, _ = _asked(choices)
        region, _ = self.region(choices)
        return of_errors(region, n, choices.mechanism, choices.known.share, choices.inference or 0.0)

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
            self._dropped = TemporaryDirectory(prefix="sfumato-studio-")
        plain = "".join(c for c in Path(name.replace("\\", "/")).name if c.isprintable()).strip(". ")
        if not plain:
            raise ValueError("the file has no name: give it one, with an ending such as .tps or .csv")
        return Path(self._dropped.name, plain)

    def inspect(self, choices: Choices) -> dict[str, Any]:
        """What the file of the records holds: for the curator's eyes."""
        from ..cli import first_space, load
        from ..spaces import usual_spaces
        from ..spaces.family import as_typed
        from ..units import repeated_labels
        from ..views.curator import inspection

        file, how = _file(choices), {**choices.reading, "missing": choices.missing or "none"}
        data, space, _ = load([file], choices.space or first_space(file, {}, **how), {}, **how)
        facts = inspection(data, space, said=bool(choices.missing))
        kinds = usual_spaces(data.kind, data.points.shape[1:], data.degrees is not None)
        n = len(data) if choices.unit_column not in data.labels else _persons(data, choices.unit_column)
        return {
            **facts,
            "bad": [f"{data.where(row)}: {reason}" for row, reason in facts["bad"].items()],
            "contents": data.contents,
            "space": as_typed(space),
            "may_be": [kind.name for kind in kinds] if not choices.space and len(kinds) > 1 else [],
            "columns": list(data.labels),
            "repeats": repeated_labels(data.labels),
            "n": n,
        }

    # -- the release -------------------------------------------------------------------------------------------------------
    def release(self, choices: Choices, confirmed: str, seen: int) -> dict[str, Any]:
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
        from ..cli import open_ledger
        from ..views.outputs import check_outputs

        known, (n, epsilon) = choices.known, _asked(choices)
        known.complete(choices.mechanism)
        if not (choices.unit or choices.unit_column):
            raise ValueError(
                "say first whom to protect: what one record stands for, or the column that says whose it is"
            )
        file, out = _file(choices), Path(choices.out)
        ledger = Path(choices.ledger) if choices.ledger else None
        check_outputs({"--out": out}, [file, *known.inputs, *([ledger] if ledger else [])], force=False)
        session = _watched(out, open_ledger(ledger, choices.dataset or None), n)
        session.afford(epsilon)
        return session, known

    def _make(self, job: Job, session: Any, known: Any) -> None:
        """Read, charge, draw and write, as the command line does; whatever happens is told."""
        from ..cli import load, region_beside, rows_named, unit_of
        from ..errors import UnsavedError
        from ..views.curator import of_clipping, region_used

        c, file, session.job = job.choices, _file(job.choices), job
        try:
            job.stage = "reading the records"
            data, space, kind = load([file], c.space, {}, **c.reading)
            region = region_beside(known, data, space, [file], kind, {}, **c.reading)
            if not c.unit_column and not c.alone:
                unit_of(data, None, None, head=False)  # refuses a column that repeats, unless that was answered
            how = unit_of(data, c.unit_column or None, c.unit or None, head=False)
            how |= {"invalid": c.invalid, "check": known.share, "allow_useless": c.even_if_useless}
            how |= {"inference": known.inference or 0.0}
            job.stage = "planning the noise"
            with rows_named([file], data, streamed=False):
                points = known.symmetrized(data.points)
                job.release = session.release(points, region, c.epsilon, c.mechanism, degrees=data.degrees, **how)
            job.python = c.python(space)
            job.curator = [of_clipping(region_used(region, job.release), points, first=False)]
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
        """A release that was saved before, to take home what it shows; it costs nothing."""
        from ..release import Release

        release = Release.load(Path(choices.out))
        with self.lock:
            job = self.jobs.setdefault(choices.id, Job(choices, "done", release, done=True))
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
        from ..files import write_points
        from ..views.plots import plot_release, read_links, read_names
        from ..views.report import write_report

        job = self.jobs.get(id)
        if job is None or job.release is None or name not in TAKEN:
            raise ValueError("there is no such release, or it is not finished: load the page again")
        release, space, links = job.release, job.release.space.known, job.choices.links
        lines = read_links(links, len(release.value)) if links else None
        names = read_names(job.choices.channels) if job.choices.channels else ()
        with TemporaryDirectory(prefix="sfumato-studio-") as folder:
            path = Path(folder, name)
            if name == "record.json":
                release.save(path)
            elif name == "report.html":
                write_report(release, path, lines, names)
            elif name.startswith("picture"):
                plot_release(release, path, outline=lines, channels=names)
            else:
                write_points(path, release.value, "arrays" if space is None else space.kind)
            return path.read_bytes()


@lru_cache(maxsize=8)
def _are_places(file: str, changed: int, space: Space) -> bool:
    """Whether a public file, as it was at a time, holds latitudes and longitudes."""
    from ..files import read
    from ..views.globe import is_place

    return space.point_shape == (3,) and is_place(read(Path(file), space).degrees or ())


def _asked(choices: Choices) -> tuple[int, float]:
    from ..calibration.scale import check_records
    from ..privacy import PureDP

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


def _persons(data: Dataset, column: str) -> int:
    return len({unicodedata.normalize("NFKC", str(name)).strip() for name in data.labels[column].tolist()})


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
    from ..errors import Refusal
    from ..release.session import Session

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
