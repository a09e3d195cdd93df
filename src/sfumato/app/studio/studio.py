"""What the page asks of this machine.  The public steps read public files alone; records are read by the inspection that the
curator asks for, and by the release."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Lock, Thread
from typing import Any

import numpy as np

from ...errors import BudgetExceeded, Fix, RadiusError, Refusal, UnsavedError
from ...files import read
from ...files.labels import UNKNOWN, group_name, groups_of, people
from ...files.people import named_labels, repeated_labels
from ...findings import Components
from ...findings.session import Session
from ...laws.calibration.scale import check_records
from ...laws.privacy import Facts, Privacy
from ...regions import Ball, Region
from ...release import Release
from ...release.chain import canonical, stated
from ...release.ledger import Ledger
from ...spaces.base import Space
from ...views.curator import MARK, inspection, region_used
from ...views.globe import is_place
from ...views.outputs import Outputs, loaded
from ...views.plots import read_links, read_names
from ...views.subject import Links
from .. import PLAIN
from ..recipes import as_command, as_python
from ..request import KNOWN, OUTS, Request, in_page, is_text, sentence, wish_of
from ..workflow import Workflow, check_apart, public_region
from .foreseen import Foreseen, foreseen
from .panels import on_page
from .previews import of_errors, of_region, of_release

SHOWN = re.compile(r".*\.(tps|nts|txt|csv|tsv|json|fcsv|npy|npz|mat|rds|rda|rdata|parquet)", re.IGNORECASE)
LEDGERS = re.compile(r".*\.(ledger|db|sqlite)", re.IGNORECASE)
DROPPED = "sfumato-studio-"  # the folder of what is dropped on the page begins so
MOST_FILES = 200
LOOKS = ("known", "blur", "plan", "ledger", "curve")  # the last takes longest
SHOW = {"report.html": "report", "record.json": "out", "picture.png": "plot", "picture.svg": "plot"}
ASIDE: dict[str, Any] = {"read_as": "", "links": "", "channels": "", "smallest": None}  # make no other release
MOST_GROUPS = 20  # of a column that the page offers to compare by


def id_of(request: Request) -> str:
    """Return one name for each plan: the same wishes are the same release, however often they are sent."""
    return sha256(canonical(asdict(replace(request, **ASIDE))).encode()).hexdigest()[:20]


@dataclass
class Job:
    """One release: it is made once, and kept."""

    request: Request
    stage: str = "waiting"
    release: Any = None
    refusal: str = ""
    fixes: list[str] = field(default_factory=list)  # the wishes that a refusal names
    charged: bool = False
    done: bool = False
    curator: list[str] = field(default_factory=list)  # for the curator's eyes
    space: Space | None = None  # of the records; of a record that was opened it is not known
    looks: tuple[Any, Sequence[str]] = (None, ())  # lines and names for its pictures, as at its beginning

    @property
    def id(self) -> str:
        return id_of(self.request)

    def facts(self) -> dict[str, Any]:
        """Return what the page shows of it."""
        told = ("id", "stage", "done", "charged", "refusal", "fixes", "curator")
        shown = {name: getattr(self, name) for name in told} | {"out": self.request.out}
        done = self.release
        if done is None:
            return shown
        request, dropped = _as_called(self.request)
        varies = isinstance(done, Components) and any(done.significant)
        far = f"{done.whole.quantiles['0.95']:.3g}" if isinstance(done, Release) and done.whole is not None else ""
        more = [f"In step 3 within {far} was foreseen: the draw is farther from what is public, and counts."]
        return {
            **shown,
            "short": [*Outputs(done).short, *(more if far and far != f"{done.stated(0.95):.3g}" else [])],
            "words": done.describe(),
            **on_page(done.view.scene(done, *self.looks)),
            "seen": done.view.in_words(done, channels=self.looks[1]),
            "takes": list(self.takes),
            "promise": str(done.guarantee.privacy),
            "command": "" if self.space is None else as_command(request),
            "python": "" if self.space is None else as_python(request, self.space),
            "dropped": dropped,
            "next": f"sfumato synthesize {shlex.quote(self.request.out)} --n 100" if varies else "",
        }

    @property
    def takes(self) -> dict[str, str]:
        """Return the names of the files that it can be taken home as, and what each shows."""
        if not isinstance(self.release, Release):
            return SHOW
        landmarks = getattr(self.release.space.known, "kind", "") == "landmarks"
        return SHOW | dict.fromkeys(["value.csv", "value.npy", *(["value.tps"] if landmarks else [])], "value")


def _as_called(request: Request) -> tuple[Request, list[str]]:
    """Return a request with dropped files as they were called and a record that is not there yet, and the former."""
    dropped = {name: Path(name).name for name in request.named_files if DROPPED in name}
    given = {part.name: getattr(request, part.name) for part in fields(request)}
    changed: dict[str, Any] = {name: dropped[value] for name, value in given.items() if value in dropped}
    changed |= {"files": tuple(dropped.get(name, name) for name in request.files), "out": _free(request.out)}
    return replace(request, **changed), list(dropped.values())


class Studio:
    """The state of the page: what it has filled in when it opens, what was dropped on it, and the releases that it made."""

    def __init__(self, file: str = "", ledger: str = "") -> None:
        self.given = {"file": file, "ledger": ledger}
        self.folder = Path().resolve()
        self.jobs: dict[str, Job] = {}
        self.refused: dict[str, Job] = {}  # before anything was spent: these may be tried again
        self.lock = Lock()
        self.threads: list[Thread] = []
        self._dropped: TemporaryDirectory[str] | None = None
        self._region: tuple[object, Region, Any] | None = None

    def check(self, request: Request) -> None:
        """Raise a ValueError for a file that lies elsewhere, by whatever name or link: the page opens no others."""
        inside = [self.folder, *([Path(self._dropped.name).resolve()] if self._dropped is not None else [])]
        for path in (Path(name) for name in request.named_files if name not in self.given.values()):
            for part in (path, *(link for link in path.glob("*") if link.is_symlink())):
                if not any(part.resolve().is_relative_to(folder) for folder in inside):
                    raise ValueError(
                        f"{part}: lies outside {self.folder}, where the studio was started, and it opens and writes no file "
                        "elsewhere: start it in the folder of your files, or name the records and the ledger when you start "
                        "it, or drop the file on the page"
                    )

    # -- what is public --------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """Return what the page shows first: names of files, none of them opened."""
        files = sorted(path.name for path in Path().iterdir() if path.is_file() and not path.name.startswith("."))
        names = list(filter(is_text, files))
        return {
            **self.given,
            "folder": str(Path().absolute()),
            "outs": {command: _free(name) for command, name in OUTS.items()},
            "files": list(filter(SHOWN.fullmatch, names))[:MOST_FILES],
            "ledgers": list(filter(LEDGERS.fullmatch, names))[:MOST_FILES],
            "releases": [job.facts() for job in list(self.jobs.values())],
        }

    def region(self, request: Request) -> tuple[Region, Any]:
        """Return the public region, and the points of the public sample that it is made from, if it is."""
        name = request.space
        if not name or request.read_as.startswith(f"{name}("):  # the inspection knows the size too
            request = replace(request, space=request.read_as)
        request.complete()
        if request.prior_limits is not None and not request.space:
            words = "say in step 1 what the records are, or look into the file: how wide it is depends on that"
            raise ValueError(words)
        if request.about:
            mean = Workflow(request).mean
            ball = Ball(mean.space.required, mean.ball.center, mean.ball.radius)
            return region_used(ball, mean), None
        _check_apart(request, "public", "center", "slide", "links", "channels")
        wishes = [part.name for part in fields(request) if wish_of(part).group == KNOWN]
        files = [Path(name) for name in (request.public, request.center, request.slide) if name and Path(name).exists()]
        key = [getattr(request, name) for name in (*wishes, "space", "mechanism", "files")]  # all that it depends on
        key += [request.reading, *((str(path), path.stat().st_mtime_ns) for path in files)]
        last = self._region  # of whatever thread
        if last is None or last[0] != key:
            last = (key, *public_region(request))
            self._region = last
        return last[1:]

    def look(self, request: Request) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield all that the page shows of a plan, part by part, or why a part cannot be shown."""
        for name in LOOKS:
            try:
                yield name, getattr(self, name)(request)
            except PLAIN as error:
                said = str(error.parts[0]) if isinstance(error, RadiusError) else sentence(error, in_page)
                yield name, {"refusal": said}

    def known(self, request: Request) -> dict[str, Any]:
        """Return the public knowledge, drawn."""
        return of_region(*self.region(request), request.find is not None, **self.looks(request))

    def _foreseen(self, request: Request) -> Foreseen:
        """Return the plan that stands in the pictures for the release, at any ε, and what else there is to say."""
        _check_asked(request)
        return foreseen(self.region(request)[0], request)

    def looks(self, request: Request) -> dict[str, Any]:
        """Return lines, names and coasts for the pictures, from public files and what was typed alone."""
        space = self.region(request)[0].space
        file = Path(request.public or request.center)
        places = file.is_file() and _are_places(str(file), file.stat().st_mtime_ns, space)
        lines, names = _typed(request, space.point_shape[0])
        return {"links": lines, "names": names, "places": places}

    def blur(self, request: Request) -> dict[str, Any]:
        """Return what releases would look like, on synthetic data about the public centre."""
        planned, more = self._foreseen(request)
        whom = f"one {request.unit_column}" if request.unit_column else request.unit or "one person"
        return of_release(planned(request.epsilon), whom, more, **self.looks(request))

    def curve(self, request: Request) -> dict[str, Any]:
        """Return the error against ε, by the mechanism that is chosen; nothing for a region that is yet to be found."""
        if request.find is not None:
            return {}
        planned, more = self._foreseen(request)
        plan = planned(request.epsilon)
        if not more:
            planned = self._foreseen(replace(request, mechanism=plan.name))[0]
        return of_errors(planned, request.epsilon, more.get("error", plan.error_95))

    def ledger(self, request: Request) -> dict[str, Any]:
        """Return what is left of a budget now and after this release, and the charges for which no release is noted."""
        if request.ledger and not Path(request.ledger).exists():
            return {"missing": f"{request.ledger} is not there yet: make it here, or check its name"}
        budget = Workflow(request).ledger()
        if budget is None:
            return {}
        book = budget.verify()
        if budget.dataset is None:
            return {"datasets": list(book.budgets)}
        unnoted = [f"line {line.sequence}: ε {line.epsilon} ({line.purpose})" for line in book.unnoted(budget.dataset)]
        known = {"datasets": list(book.budgets), "words": book.describe(budget.dataset), "open": unnoted}
        asked: Facts | Privacy = request.privacy
        with suppress(*PLAIN):  # of a plan that cannot be made yet, ε alone is known
            asked = asked if request.command != "release" else self._foreseen(request)[0](request.epsilon).facts
        epsilon, facts = stated(asked)
        left: dict[str, Any] = {"left": str(book.left(budget.dataset)), "after": None}  # None if it cannot pay
        with suppress(BudgetExceeded):
            after = book.extended(book.following("charge", budget.dataset, epsilon, canonical(facts)))
            left["after"] = str(after.left(budget.dataset))
        return known | left

    def make(self, request: Request) -> dict[str, Any]:
        """Give the study a new ledger, with all of ε as its budget."""
        if Path(request.ledger).exists():
            raise ValueError(f"{request.ledger}: exists already; name it above, or give the new ledger another name")
        name = Path(request.files[0]).stem if request.files else "default"
        made = Ledger.create(request.ledger, dataset=name, privacy=request.privacy.check(force=False))
        return {"words": made.describe()}

    # -- what the curator alone may see ------------------------------------------------------------------------------------
    def drop(self, name: str) -> Path:
        """Return where a dropped file is kept until the studio stops: in a folder of the curator's own."""
        if self._dropped is None:
            self._dropped = TemporaryDirectory(prefix=DROPPED)
        plain = "".join(c for c in Path(name.replace("\\", "/")).name if c.isprintable()).strip(". ")
        if not plain:
            raise ValueError("the file has no name: give it one, with an ending such as .tps or .csv")
        return Path(mkdtemp(dir=self._dropped.name), plain)  # another file may have the same name

    def inspect(self, request: Request) -> dict[str, Any]:
        """Return what the file of the records holds: for the curator's eyes."""
        _check_file(request)
        bare: dict[str, Any] = dict.fromkeys(("by", "within", "on", "labels"), "")
        work = Workflow(replace(request, missing=request.missing or "none", **bare), whole=True)
        work.parts = bool(Workflow(request, whole=True).parts)
        work.load(guess=True)
        data = work.data
        space = work.space
        facts = inspection(data, space, request.missing)
        rows = len(data)
        if work.parts:
            from pyarrow.parquet import read_metadata

            rows = int(read_metadata(work.paths[0]).num_rows)
            words = f"the file is large, and only the first {len(data)} of its {rows} records were looked at"
            facts["remarks"] = [words, *facts["remarks"]]
        who = data.labels.get(request.unit_column)
        labels = {name: column for name, column in data.labels.items() if name != request.by}
        return {
            **facts,
            "bad": [f"{data.where(row)}: {reason}" for row, reason in facts["bad"].items()],
            "contents": data.contents if data.degrees is None else f"{len(data)} places or directions, in degrees",
            "space": space.typed,
            "may_be": [kind.name for kind in data.usual] if not request.space and len(data.usual) > 1 else [],
            "columns": list(data.labels),
            "repeats": {**(named_labels(labels) if work.parts else {}), **repeated_labels(labels)},
            "n": rows if work.parts else _persons(who, np.ones(len(data), dtype=bool)),
            "groups": {} if work.parts else _groups(data, request, who),
        }

    # -- the release -------------------------------------------------------------------------------------------------------
    def plan(self, request: Request) -> dict[str, Any]:
        """Return the name by which the page knows whether this plan was released, and whether its record's file exists."""
        _check_asked(request)
        return {"id": id_of(request), "taken": Path(request.out).exists()}

    def release(self, request: Request, confirmed: str, seen: object) -> dict[str, Any]:
        """Begin a release, or find it where the same wishes were sent before: nothing is ever charged twice for one plan."""
        id = id_of(request)
        with self.lock:
            if id in self.jobs:
                return self.jobs[id].facts()
            if seen != len(self.jobs):
                words = "another release was begun meanwhile, perhaps in another tab: load this page again and look at it first"
                raise ValueError(f"{words}. Nothing was spent here")
            with suppress(ValueError):
                confirmed = str(float(confirmed))
            if confirmed.strip().lower() not in ("release", str(float(request.epsilon))):
                words = f"to release, type the word release, or ε as it is: {request.epsilon:g}"
                raise ValueError(f"{words}. Nothing was spent")
            _check_asked(request)
            if not (request.unit or request.unit_column):
                words = "say first whom to protect: what one record stands for, or the column that says whose it is"
                raise ValueError(words)
            _check_file(request)
            session = Watched(Job(request))  # which refuses all that can be before a record is read
            session.afford(request.privacy)
            self.jobs[id] = session.job
            thread = Thread(target=self._make, args=(session,), name=f"release {id}")
            self.threads.append(thread)
        thread.start()
        return session.job.facts()

    def _make(self, session: Watched) -> None:
        """Read, charge, draw and write, as the command line does; whatever happens is told."""
        job = session.job
        try:
            session.work_through()
        except UnsavedError as error:
            job.release = error.release
            job.refusal = f"{error.say(in_page)}. It is kept here: save it below, now"
        except PLAIN as error:
            job.refusal = sentence(error, in_page)
            job.fixes = [part.wish for part in getattr(error, "parts", ()) if isinstance(part, Fix)]
        except BaseException:
            job.refusal = "something failed inside the program; where the studio was started, the screen says what"
            raise
        finally:
            job.charged = session.entry is not None
            with self.lock:
                if job.release is None and not job.charged:  # it cost nothing, and may be tried again
                    self.refused[job.id] = self.jobs.pop(job.id)
                elif job.release is None:
                    job.refusal += f". {job.request.privacy} is charged and stays charged, as the records were in use"
            job.stage = "done" if job.release is not None else "stopped"
            job.done = True

    def job(self, id: str) -> Job | None:
        """Return a release that was asked for."""
        return self.jobs.get(id) or self.refused.get(id)

    def open(self, request: Request) -> dict[str, Any]:
        """Return a release that was saved before, of whatever plan, to take home what it shows; it costs nothing."""
        release = loaded(Path(request.out))
        with self.lock:
            if id_of(request) in self.jobs:
                return self.jobs[id_of(request)].facts()
            shown = Request(out=request.out, links=request.links, channels=request.channels)
            one = next(iter(getattr(release, "groups", {"": release}).values()))
            looks = _typed(shown, len(one.value if isinstance(one, Release) else one.center))
            job = self.jobs.setdefault(id_of(shown), Job(shown, "done", release, done=True, looks=looks))
        return job.facts()

    def wait(self) -> None:
        """Wait until no release is half made; then forget what was dropped."""
        for thread in self.threads:
            thread.join()
        if self._dropped is not None:
            self._dropped.cleanup()

    # -- take home -----------------------------------------------------------------------------------------------------------
    def take(self, id: str, name: str) -> bytes:
        """Return a finished release as the content of a file of this name."""
        job = self.jobs.get(id)
        if job is None or job.release is None or name not in job.takes:
            raise ValueError("there is no such release, or it is not finished: load the page again")
        with TemporaryDirectory(prefix=DROPPED) as folder:
            path = Path(folder, name)
            if name == "record.json":
                job.release.save(path)
            else:
                Outputs(job.release, *job.looks).write(job.takes[name], path)
            return path.read_bytes()


class Watched(Session):
    """A session that says how far it is, and charges for the number of records that was planned with alone."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.work = Workflow(job.request, whole=True)
        self.work.check()
        _check_apart(job.request, "slide", "links", "channels")
        super().__init__(Path(job.request.out), self.work.ledger())

    def work_through(self) -> None:
        """Make the release of the job."""
        job = self.job
        work = self.work
        request = job.request
        job.stage = "reading the records"
        work.load()
        if request.read_as and request.read_as != work.space.typed:
            words = "has changed since you looked into it: look again, and at the blur. Nothing was spent"
            raise ValueError(f"{request.files[0]}: {words}")
        if not request.unit_column and not request.alone:
            work.unit_of("")  # refuses a column that repeats, unless that was answered
        work.settle()
        job.looks = work.looks
        job.stage = "planning the noise"
        job.release = work.run(self)
        job.space = work.space
        left = [] if self.ledger is None else [f"In {request.ledger}, ε = {self.ledger.left} is left."]
        told = work.told, work.clipping(job.release)
        job.curator = [*(line.removeprefix(f"{MARK}: ") for line in told if line), *left]

    def charge(self, facts: Facts, record: Mapping[str, Any], /) -> None:
        n = self.job.request.n
        if record["n"] != n:
            raise Refusal(
                f"the records give n = {record['n']}, but the plan was made for n = {n}: set n to {record['n']} in step 3, "
                "look at the blur again, and release. Nothing was spent"
            )
        self.job.stage = "charging the ledger" if self.ledger is not None else "drawing"
        super().charge(facts, record)
        self.job.stage = "drawing, and writing the record"


def _typed(request: Request, k: int) -> tuple[Links | None, tuple[str, ...]]:
    """Return the lines between k landmarks and the names of channels as the page has them."""
    lines = read_links(request.links, k) if request.links else None
    return lines, tuple(read_names(request.channels) if request.channels else ())


def _free(name: str) -> str:
    """Return a name for a file that is not there yet."""
    path = Path(name)
    numbered = (path.with_stem(f"{re.sub(r'-[0-9]+$', '', path.stem)}-{number}") for number in count(2))
    return str(next(free for free in chain([path], numbered) if not free.exists()))


def _check_apart(request: Request, *wishes: str) -> None:
    """Raise an error if a public file is one of the records'."""
    for name in wishes:
        if getattr(request, name):
            check_apart(Fix(name, getattr(request, name)), request)


def _groups(data: Any, request: Request, who: Any) -> dict[str, dict[str, int]]:
    """Return how many persons are in each group, by the columns that may say groups and the one that was named."""
    columns = {name: values for name, values in data.labels.items() if name != request.unit_column}
    named = [*filter(None, (request.by, request.within))]
    columns |= {name: groups_of(data, name, request.labels or None) for name in named}
    counted: dict[str, dict[str, int]] = {}
    for column, values in columns.items():
        names, group = np.unique([group_name(value) for value in values.tolist()], return_inverse=True)
        if column in named or (2 <= len(names) <= MOST_GROUPS and not np.isin(names, UNKNOWN).any()):
            sizes = {str(name): _persons(who, group == i) for i, name in enumerate(names)}
            if column in named or min(sizes.values()) > 1:
                counted[column] = sizes
    return counted


@lru_cache(maxsize=8)
def _are_places(file: str, changed: int, space: Space) -> bool:
    """Return whether a public file, as it was at a time, holds latitudes and longitudes."""
    return space.point_shape == (3,) and is_place(read(Path(file), space).degrees or ())


def _check_asked(request: Request) -> None:
    """Raise an error unless n and ε are said and can be planned with, and groups are compared in a region that is known."""
    if not request.n or not request.epsilon:
        raise ValueError("give the number of records n, and an epsilon above 0")
    check_records(request.n)
    request.privacy.check(force=False)
    if request.command != "release" and request.find is not None:
        words = "give one public record and a distance, or public specimens, in step 2"
        raise ValueError(f"this is released within one region that is publicly known: {words}")


def _check_file(request: Request) -> None:
    """Raise an error unless the records have a file."""
    if not request.files:
        raise ValueError("name the file of the records first")


def _persons(who: Any, rows: Any) -> int:
    """Return how many persons these rows are of: the rows themselves, where no column says whose they are."""
    return int(rows.sum()) if who is None else len(set(people(who[rows]).tolist()))
