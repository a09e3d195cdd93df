"""``python -m attacks --only faults``: the ledger and every output under faults.

Each operation that writes is run while something goes wrong: it is killed at each of its steps and at random instants, files
may not grow, the disk is full, the folder is read-only, others write the same at the same time, the clock goes back; and what
it wrote is cut or has bits flipped.  Afterwards a file is the old one or the new one, whole; every charge that was acknowledged
is in the ledger; damage is refused with a message that says what to do; and the same operation, tried again, succeeds and
leaves no stray file.

Faults happen in forked processes, so nothing of them stays.
"""

from __future__ import annotations

import inspect
import io
import itertools
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import sfumato as sf
from attacks import Broken, broken, require
from attacks.checks import Case, Found, Settings
from sfumato.app import cli, demo
from sfumato.atomic import write_atomically
from sfumato.studies.store import Row, Store
from sfumato.views.outputs import Outputs

NOBODY = 65534
RECORD = {"statistic": "Fréchet mean", "mechanism": "kng", "n": 50}
WRITERS = (
    sf.Ledger,
    sf.Release,
    write_atomically,
    sf.write_report,
    cli.main,
    Outputs,
    demo.run,
    Store,
    sf.Session,
)
SOURCES = {inspect.getfile(one) for one in (*WRITERS, broken.write_in_place)}


Hurt = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Ended:
    """How a process ended: code 0 if the operation returned, 3 if it raised, negative if it was killed."""

    code: int
    words: str


@dataclass(frozen=True)
class Operation:
    """Something that writes: what is there before, what it does, and what must hold afterwards, however it ended.

    ``sound`` raises a :class:`Broken` that says what is wrong.  ``damage`` takes the folder and hurts what sfumato reads again
    by a function from bytes to bytes, and says whether that was noticed; a text says why nothing is read again.  ``clock``
    says why time does not matter, if so.
    """

    name: str
    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    sound: Callable[[Path, Ended], None]
    damage: Callable[[Path, Hurt], bool] | str
    clock: str = ""
    heavy: bool = False
    counts: bool = False  # each run adds to what is there, so that a second one does not give the same


# -- operations --------------------------------------------------------------------------------------------------------------
@cache
def _release() -> sf.Release:
    triangle = [[0.0, 0.0], [1.0, 0.0], [0.3, 1.0]]
    ball = sf.Ball(sf.PlanarShapes(landmarks=3), triangle, 0.1)
    return sf.private_mean(np.array([triangle] * 50), ball, 1.0, unit="one wing")


@cache
def _expected(name: str) -> dict[str, bytes]:
    """What an operation writes when nothing goes wrong."""
    operation = next(one for one in [*operations(), *controls()] if one.name == name)
    with _prepared(operation) as folder:
        with redirect_stdout(io.StringIO()):
            operation.act(folder)
        return _contents(folder)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def _writes(
    name: str, act: Callable[[Path], None], outputs: tuple[str, ...], damage: Any, clock: str = ""
) -> Operation:
    """An operation whose outputs are always the same: each is afterwards the old or the new, and nothing else is there."""

    def prepare(folder: Path) -> None:
        for output in outputs:
            (folder / output).write_text("old")

    def sound(folder: Path, ended: Ended) -> None:
        found, new = _contents(folder), _expected(name)
        if ended.code < 0:
            found = {file: content for file, content in found.items() if not file.endswith(".part")}
        require(found.keys() == new.keys(), f"the files are {', '.join(found)}")
        for output in outputs:
            choices = (new[output],) if ended.code == 0 else (b"old", new[output])
            require(found[output] in choices, f"{output} is neither the old nor the new file")

    return Operation(name, prepare, act, sound, damage, clock or "no time is written")


def _spent(folder: Path) -> Decimal:
    return next(iter(sf.Ledger(folder / "study.ledger").verify().spent.values()))


def _only(folder: Path, ended: Ended, *names: str) -> None:
    found = {name for name in _contents(folder) if ended.code >= 0 or not name.endswith((".part", "-journal"))}
    require(found <= set(names), f"stray files: {', '.join(sorted(found - set(names)))}")


def _budget(folder: Path) -> None:
    budget = sf.Ledger.create(folder / "study.ledger", 1000, "wings")
    for _ in range(3):
        budget.charge("0.5", RECORD)


def _charge(folder: Path) -> None:
    sf.Ledger(folder / "study.ledger").charge("0.5", RECORD)


def _charge_sound(folder: Path, ended: Ended) -> None:
    _only(folder, ended, "study.ledger")
    spent = _spent(folder)
    allowed = {Decimal("2.0")} if ended.code == 0 else {Decimal("1.5"), Decimal("2.0")}
    require(spent in allowed, f"{spent} is spent, not {' or '.join(map(str, allowed))}")


def _create(folder: Path) -> None:
    path = folder / "study.ledger"
    if not path.exists():
        sf.Ledger.create(path, 3, "wings")


def _create_sound(folder: Path, ended: Ended) -> None:
    _only(folder, ended, "study.ledger")
    path = folder / "study.ledger"
    if ended.code == 0 or (path.exists() and path.stat().st_size > 0):
        try:
            require(sf.Ledger(path).left == 3, "the budget is another")
        except sf.LedgerError as error:
            require(ended.code < 0 and "delete it and create it again" in str(error), str(error))
            path.unlink()
    elif path.exists():
        require(ended.code < 0, "an empty file stayed")
        path.unlink()  # what the message advises


def _complete(folder: Path) -> None:
    budget = sf.Ledger(folder / "study.ledger")
    lines = budget.verify().entries
    if not any(line.kind == "release" for line in lines):
        budget.complete(lines[-1], "0" * 64)


def _complete_sound(folder: Path, ended: Ended) -> None:
    _only(folder, ended, "study.ledger")
    kinds = [line.kind for line in sf.Ledger(folder / "study.ledger").verify().entries]
    require(_spent(folder) == Decimal("1.5"), "the charges changed")
    require(
        kinds.count("release") in ({1} if ended.code == 0 else {0, 1}), "the note of the release is missing or double"
    )


def _noticed(
    path: Path, hurt: Hurt, read: Callable[[], object], refusal: type[Exception], remedies: tuple[str, ...] = ("",)
) -> bool:
    """Hurt a file for a while: True if reading it is refused, by a message that names it and says what to do; False if it says
    the same as before."""
    before, whole = path.read_bytes(), read()
    path.write_bytes(hurt(before))
    try:
        require(read() == whole, f"{path.name} now says something else")
    except refusal as error:
        require(str(path) in str(error) and any(words in str(error) for words in remedies), str(error))
        return True
    finally:
        path.write_bytes(before)
    return False


def _damage_ledger(folder: Path, hurt: Hurt) -> bool:
    remedies = ("restore its last good copy", "delete it and create", "check the name")
    return _noticed(folder / "study.ledger", hurt, lambda: _spent(folder), sf.LedgerError, remedies)


def _damage_release(folder: Path, hurt: Hurt) -> bool:
    path = folder / "mean.json"
    return _noticed(path, hurt, lambda: sf.Release.load(path).to_json(), ValueError)


def _damage_points(folder: Path, hurt: Hurt) -> bool:
    """The NPY file: TPS and CSV have no sum, so that a flipped digit cannot be noticed in them."""
    path = folder / "mean.npy"
    return _noticed(path, hurt, lambda: (sf.read(path).points.size, path.stat().st_size), sf.FileError)


def _damage_store(folder: Path, hurt: Hurt) -> bool:
    path = folder / "cells.jsonl"
    before, whole = path.read_bytes(), Store(folder, {"seed": 3}).rows
    path.write_bytes(hurt(before))
    try:
        kept = Store(folder, {"seed": 3}).rows
        require(set(kept) <= set(whole), "an altered row was kept")
        return len(kept) < len(whole)
    finally:
        path.write_bytes(before)


def _points(folder: Path) -> None:
    for name in ("mean.csv", "mean.tps", "mean.npy"):
        sf.write_points(folder / name, _release().value, "landmarks")


def _report(name: str) -> Callable[[Path], None]:
    return lambda folder: sf.write_report(_release(), folder / name)


def _picture(folder: Path) -> None:
    sf.plot_release(_release(), folder / "mean.png")


def _cli_prepare(folder: Path) -> None:
    _budget(folder)
    (folder / "wings.tps").write_text("".join(f"LM=3\n0 0\n1 0\n0.3 1\nID={i}\n" for i in range(20)))
    sf.write_points(folder / "reference.tps", [[0.0, 0.0], [1.0, 0.0], [0.3, 1.0]], "landmarks")


def _cli(folder: Path) -> None:
    files = {"--center": "reference.tps", "--out": "mean.json", "--ledger": "study.ledger"}
    sys.argv = [
        "sfumato",
        "release",
        str(folder / "wings.tps"),
        "--space",
        "shapes",
        "--radius",
        "0.1",
        "--epsilon",
        "0.5",
    ]
    sys.argv += [word for option, name in files.items() for word in (option, str(folder / name))]
    try:
        cli.main()
    except SystemExit as stop:
        if stop.code:
            raise


def _cli_sound(folder: Path, ended: Ended) -> None:
    """A release without its charge is what may never be; a charge without a release is waste."""
    _only(folder, ended, "study.ledger", "wings.tps", "reference.tps", "mean.json", "printed")
    book = sf.Ledger(folder / "study.ledger").verify()
    charges = sum(line.kind == "charge" for line in book.entries) - 3
    released = (folder / "mean.json").exists()
    if released:
        require(sf.Release.load(folder / "mean.json").record["n"] == 20, "what was read is not whole")
    printed = Path(folder, "printed").read_text() if Path(folder, "printed").exists() else ""
    rescued = ended.code == 3 and sf.Release.from_json(printed) is not None if printed.startswith("{") else False
    require(charges >= max(released, rescued), "a release was made without a charge")
    require(ended.code < 0 or ended.code == 3 or released, "the command ended well without a release")
    require(ended.code != 3 or charges == 0 or released or rescued, "a paid release was lost without a kill")


def _demo(folder: Path) -> None:
    demo.run(folder / "out", 1.0)


def _demo_sound(folder: Path, ended: Ended) -> None:
    files = ("demo.json", "demo.html", "demo.png", "heads.tps", "public.tps", "lines.txt")
    _only(folder, ended, *(f"out/{name}" for name in files))
    for name, heads in (("heads", 265), ("public", 20)):
        path = folder / f"out/{name}.tps"
        require(not path.exists() or len(sf.read(path).points) == heads, f"{name}.tps is not whole")
    if (folder / "out/demo.json").exists():
        require(sf.Release.load(folder / "out/demo.json").record["n"] == 265, "what was read is not whole")
    if (folder / "out/demo.html").exists():
        require("</html>" in (folder / "out/demo.html").read_text(encoding="utf-8")[-20:], "half a report")
    if (folder / "out/demo.png").exists():
        require(b"IEND" in (folder / "out/demo.png").read_bytes()[-12:], "half a picture")
    require(ended.code != 0 or len(_contents(folder)) == len(files), "an output is missing")


def _rows_of(rng: Any) -> list[Any]:
    return [Row("x", "a", "m", "q", 1, 1.0, 1, float(rng.random()), 0.0, 1) for _ in range(3)]


def _store(folder: Path) -> None:
    store = Store(folder, {"seed": 3})
    for name in "abc":
        store.cell(name, _rows_of)
    store.write_csv()


def _store_prepare(folder: Path) -> None:
    Store(folder, {"seed": 3}).cell("a", _rows_of)


def _store_sound(folder: Path, ended: Ended) -> None:
    _only(folder, ended, "cells.jsonl", "results.csv")
    whole, kept = _expected("study store"), Store(folder, {"seed": 3}).rows
    with _folder() as other:
        (other / "cells.jsonl").write_bytes(whole["cells.jsonl"])
        require(set(kept) <= set(Store(other, {"seed": 3}).rows), "a row that no run gives")
    results = folder / "results.csv"
    require(not results.exists() or results.read_bytes() == whole["results.csv"], "half a table")
    require(ended.code != 0 or len(kept) == 9, "rows are missing")


OF_THE_RECORD = "the time is that of the record"
NEVER_READ = "sfumato never reads it again"
AS_ABOVE = "its files are those of the rows ledger and release.save"


@cache
def operations() -> list[Operation]:
    """Everything that writes."""
    return [
        Operation("ledger charge", _budget, _charge, _charge_sound, _damage_ledger, counts=True),
        Operation("ledger create", lambda folder: None, _create, _create_sound, _damage_ledger),
        Operation("ledger complete", _budget, _complete, _complete_sound, _damage_ledger),
        _writes("release.save", lambda f: _release().save(f / "mean.json"), ("mean.json",), _damage_release),
        _writes("report, HTML", _report("mean.html"), ("mean.html",), NEVER_READ, OF_THE_RECORD),
        _writes("report, Markdown", _report("mean.md"), ("mean.md", "mean.png"), NEVER_READ, OF_THE_RECORD),
        _writes("picture", _picture, ("mean.png",), NEVER_READ),
        _writes("write_points", _points, ("mean.csv", "mean.tps", "mean.npy"), _damage_points),
        Operation("sfumato release", _cli_prepare, _cli, _cli_sound, AS_ABOVE, counts=True),
        Operation("demo", lambda folder: None, _demo, _demo_sound, AS_ABOVE, heavy=True),
        Operation("study store", _store_prepare, _store, _store_sound, _damage_store, "no time is written"),
    ]


# writers that are wrong on purpose, and the faults that must find it
CONTROLS = {
    "a writer in place": ("kill -9 at each step", "no room: size limit"),
    "a ledger that forgets": ("second writer", "flipped bit", "read-only folder"),
}


def controls() -> list[Operation]:
    in_place, forgets = CONTROLS
    return [
        _writes(in_place, broken.write_in_place, ("mean.json",), NEVER_READ),
        Operation(forgets, _budget, lambda folder: None, _charge_sound, lambda folder, hurt: False, counts=True),
    ]


# -- forked processes ----------------------------------------------------------------------------------------------------------
@contextmanager
def _folder() -> Iterator[Path]:
    """An empty folder that anyone may enter."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextmanager
def _prepared(operation: Operation) -> Iterator[Path]:
    """A folder with what is there before."""
    with _folder() as folder:
        operation.prepare(folder)
        yield folder


def start(work: Callable[[], Any], printed: Path | None = None) -> tuple[int, int]:
    """Run ``work`` in a forked process: its id, and where its last words will come from."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code, words = 3, ""
        try:
            os.dup2(os.open(printed or os.devnull, os.O_WRONLY | os.O_CREAT, 0o666), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            sys.stdout, sys.stderr = (open(file, "w", closefd=False) for file in (1, 2))  # noqa: SIM115
            result = work()
            words, code = "" if result is None else str(result), 0
        except SystemExit as stop:
            code = 3 if stop.code else 0
        except BaseException as error:  # the process that waits judges it
            words = f"{type(error).__name__}: {error}"
        finally:
            with suppress(BaseException):
                sys.stdout.flush()
            os.write(writing, words.encode("utf-8", "replace")[:60_000])
            os._exit(code)
    os.close(writing)
    return pid, reading


def wait(pid: int, reading: int) -> Ended:
    """How that process ended."""
    with os.fdopen(reading, "rb") as pipe:
        words = pipe.read().decode("utf-8", "replace")
    return Ended(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), words)


def apart(work: Callable[[], Any], printed: Path | None = None) -> Ended:
    return wait(*start(work, printed))


def _stepping(act: Callable[[], None], stop: int) -> int:
    """Run line by line, and be killed before line number ``stop`` of the modules that write; otherwise the number of lines."""
    lines = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == stop:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename in SOURCES else None

    sys.settrace(call)
    try:
        act()
    finally:
        sys.settrace(None)
    return lines


# -- faults --------------------------------------------------------------------------------------------------------------------
Fault = Callable[[Operation, random.Random, bool], tuple[str, str]]


def _again(operation: Operation, folder: Path) -> None:
    """The same operation without a fault: it succeeds, and removes what the fault left."""
    ended = apart(partial(operation.act, folder))
    require(ended.code == 0, f"tried again, it failed: {ended.words}")
    stray = [name for name in _contents(folder) if name.endswith((".part", "-journal"))]
    require(not stray, f"stray files stay: {', '.join(stray)}")


def killed_at_each_step(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    with _prepared(operation) as folder:
        steps = int(apart(partial(_stepping, partial(operation.act, folder), 0)).words)
    most = (2 if operation.heavy else 8) if quick else (12 if operation.heavy else 60)
    chosen = sorted(chance.sample(range(1, steps + 1), min(most, steps)))
    for step in chosen:
        with _prepared(operation) as folder:
            ended = apart(partial(_stepping, partial(operation.act, folder), step))
            require(ended.code in (-signal.SIGKILL, 0), f"step {step}: {ended}")
            operation.sound(folder, ended)
            if not operation.counts:
                _again(operation, folder)
                operation.sound(folder, Ended(0, ""))
    then = "" if operation.counts else "; tried again, it succeeds and leaves no stray file"
    return "pass", f"killed before {len(chosen)} of its {steps} lines: old or new, whole{then}"


def killed_at_random(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    with _prepared(operation) as folder:
        begun = time.perf_counter()
        require(apart(partial(operation.act, folder)).code == 0, "it fails without a fault")
        length = time.perf_counter() - begun
    count = (2 if operation.heavy else 5) if quick else (10 if operation.heavy else 40)
    hits = 0
    for _ in range(count):
        with _prepared(operation) as folder:
            pid, reading = start(partial(operation.act, folder))
            time.sleep(chance.uniform(0, length))
            os.kill(pid, signal.SIGKILL)
            ended = wait(pid, reading)
            hits += ended.code < 0
            operation.sound(folder, ended)
    return "pass", f"kill -9 at {count} random instants, {hits} before the end: old or new, whole"


def may_not_grow(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    """RLIMIT_FSIZE: a write past a size fails, as on a full disk."""
    failed = 0
    sizes = (0, 1000) if quick else (0, 100, 600, 1000, 5000, 9000, 20_000)
    for size in sizes[:1] if quick and operation.heavy else sizes:
        with _prepared(operation) as folder:

            def act(folder: Path = folder, size: int = size) -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
                operation.act(folder)

            ended = apart(
                act, None if operation.name != "sfumato release" else folder.parent / f"{folder.name}.printed"
            )
            _with_printed(folder, partial(operation.sound, folder, ended))
            failed += ended.code == 3
            require(ended.code in (0, 3), str(ended))
    require(failed, "no size was small enough to matter")
    return (
        "pass",
        f"files limited to {', '.join(map(str, sizes))} bytes (RLIMIT_FSIZE): refused {failed} times, the old files intact",
    )


def full_disk(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    """A small file system that is full, where one may be mounted."""
    with _folder() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=755", "none", str(folder)]
        if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
            return "n/a", "no small file system can be mounted here; see the size limit"
        try:
            operation.prepare(folder)
            before = _contents(folder)
            with suppress(OSError), (folder / "ballast").open("wb", buffering=0) as ballast:
                while ballast.write(bytes(512)):
                    continue
            printed = folder.parent / f"{folder.name}.printed"
            ended = apart(partial(operation.act, folder), printed)
            (folder / "ballast").unlink()
            _with_printed(folder, partial(operation.sound, folder, ended))
            require(ended.code == 3, f"it did not notice: {ended}")
            require("ledger" in operation.name or before.items() <= _contents(folder).items(), "an old file changed")
            _again(operation, folder)
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    return (
        "pass",
        "a full file system of 2 MB: refused, the old files intact, no stray file; with room again, it succeeds",
    )


def _with_printed(folder: Path, check: Callable[[], None]) -> None:
    """Check with what was printed in the folder, which could not be written there while it was full."""
    printed = folder.parent / f"{folder.name}.printed"
    if printed.exists():
        content = printed.read_bytes()
        printed.unlink()
        if content:
            (folder / "printed").write_bytes(content)
    try:
        check()
    finally:
        (folder / "printed").unlink(missing_ok=True)


def read_only(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    with _prepared(operation) as folder:
        before = _contents(folder)
        folder.chmod(0o555)

        def act() -> None:
            if os.geteuid() == 0:  # to whom nothing is read-only
                os.setuid(NOBODY)
            operation.act(folder)

        ended = apart(act)
        folder.chmod(0o755)
        require(ended.code == 3, f"it wrote to a folder that is read-only: {ended}")
        require(_contents(folder) == before, "something changed")
    who = "by another user" if os.geteuid() == 0 else "by its owner"
    return "pass", f"refused ({who}), nothing changed" + (
        f": {ended.words.replace(str(folder), '…')[:90]}" if ended.words else ""
    )


def second_writer(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    writers, rounds = (2, 1) if operation.heavy else (4, 1 if quick else 10)
    done = 0
    for _ in range(rounds):
        with _prepared(operation) as folder:
            before = _spent(folder) if operation.counts else None
            outside = [folder.parent / f"{folder.name}.{i}" for i in range(writers)]
            running = [start(partial(operation.act, folder), out) for out in outside]
            ends = [wait(*one) for one in running]
            printed = sum(out.read_text().startswith("{") for out in outside)  # paid, and the name was taken meanwhile
            for out in outside:
                out.unlink()
            good = sum(end.code == 0 for end in ends)
            done += good
            require(good >= 1, f"none succeeded: {ends[0].words}")
            if before is not None:
                require(_spent(folder) == before + (good + printed) * Decimal("0.5"), "the charges do not add up")
                _only(folder, Ended(0, ""), "study.ledger", "mean.json", "wings.tps", "reference.tps")
            else:
                operation.sound(folder, Ended(0, ""))
    return (
        "pass",
        f"{writers} at once, {rounds} times: {done} of {writers * rounds} succeeded, the files whole, every charge counted",
    )


def clock_goes_back(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    if operation.clock:
        return "n/a", operation.clock
    from sfumato.mechanisms import plan
    from sfumato.release import ledger

    class Backwards(datetime):
        steps = itertools.count(1)

        @classmethod
        def now(cls, zone: Any = None) -> Any:
            return datetime(2020, 1, 1, tzinfo=UTC) - timedelta(days=next(cls.steps))

    def act(folder: Path) -> None:
        ledger.datetime = plan.datetime = Backwards  # type: ignore[attr-defined]
        operation.act(folder)

    with _prepared(operation) as folder:
        ended = apart(lambda: act(folder))
        require(ended.code == 0, str(ended))
        operation.sound(folder, ended)
    return "pass", "the order is that of the lines, not of the clock"


def _damaged(operation: Operation, hurts: Iterable[Hurt], what: str) -> tuple[str, str]:
    if isinstance(operation.damage, str):
        return "n/a", operation.damage
    tried = refused = 0
    with _prepared(operation) as folder:
        operation.act(folder)
        for hurt in hurts:
            tried += 1
            refused += operation.damage(folder, hurt)
    require(refused, "no damage was noticed")
    return "pass", f"{tried} files {what}: {refused} refused or done again, the others said the same as before"


def cut(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    shares = [chance.random() for _ in range(10 if quick else 100)]
    return _damaged(operation, [lambda c, s=s: c[: int(s * len(c))] for s in shares], "cut")  # type: ignore[misc]


def bits_flipped(operation: Operation, chance: random.Random, quick: bool) -> tuple[str, str]:
    def flip(seed: int) -> Hurt:
        def hurt(content: bytes) -> bytes:
            where = random.Random(seed)
            at = where.randrange(len(content))
            if where.random() < 0.7:  # most of a small ledger is empty
                at = where.choice([i for i, byte in enumerate(content) if byte])
            return content[:at] + bytes([content[at] ^ 1 << where.randrange(8)]) + content[at + 1 :]

        return hurt

    if operation.name == "write_points":
        return "n/a", "the formats TPS, CSV and NPY have no sum; the release's own record has one"
    return _damaged(
        operation, [flip(chance.getrandbits(40)) for _ in range(30 if quick else 400)], "with a flipped bit"
    )


FAULTS: dict[str, Fault] = {
    "kill -9 at each step": killed_at_each_step,
    "kill -9 at random": killed_at_random,
    "no room: size limit": may_not_grow,
    "no room: full disk": full_disk,
    "read-only folder": read_only,
    "second writer": second_writer,
    "clock goes back": clock_goes_back,
    "cut file": cut,
    "flipped bit": bits_flipped,
}


def cell(operation: Operation, fault: str, seed: int, quick: bool) -> Found:
    """One cell of the matrix."""
    _expected(operation.name)  # imports everything before rights are given up, and draws once
    try:
        outcome, words = FAULTS[fault](operation, random.Random(f"{seed} {operation.name}: {fault}"), quick)
    except Broken as error:
        return Found(False, str(error))
    return Found(None if outcome == "n/a" else True, words)


def cases(settings: Settings) -> list[Case]:
    """The whole matrix, and writers that do not keep what is asked of them."""
    found = []
    for operation in [*operations(), *controls()]:
        for fault in CONTROLS.get(operation.name, FAULTS):
            run = partial(cell, operation, fault, settings.seed, settings.quick)
            found.append(Case(f"{operation.name}: {fault}", run, operation.name in CONTROLS))
    return found
