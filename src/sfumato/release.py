"""What leaves the curator's room: a value, its guarantee, and a record of public numbers."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .spaces import space_from
from .spaces.base import Array
from .spaces.sphere import degrees_of

FORMAT = "sfumato release 1"
KEYS = {
    "statistic", "space", "ball", "n", "mechanism", "calibration", "sampler", "lattice_spacing", "generator", "on_manifold",
    "predicted_error", "version", "time",
}  # fmt: skip


@dataclass(frozen=True)
class Guarantee:
    """What is promised: (ε, δ)-differential privacy with δ = ``numerical_delta``, which is what a computer adds to pure ε.

    ``numerical_delta`` is 1 + e^ε times a bound on the chance that rounding error moves a draw to another lattice point.
    ``numerical_epsilon`` is what rounding error in the density takes up; it is part of ``epsilon``.  ``clock_delta`` is the
    chance that the running time of the sampler depends on the data (None: not bounded).

    A ``condition`` that nobody checked stands before all of it: then ``private`` is False.
    """

    epsilon: float
    unit: str
    neighbours: str = "data sets of the same size that differ in one unit's value; the size is public"
    private: bool = True
    numerical_delta: float = 0.0
    numerical_epsilon: float = 0.0
    clock_delta: float | None = 0.0
    condition: str = ""


STATED = "if the stated sensitivity holds: not checked"  # the condition of a release whose objective is a user's own
UNCHECKED = (
    "This program cannot prove the sensitivity, nor see whether it was chosen after a look at the data; it tried made-up "
    "neighbours and found none that exceed it, which proves nothing. Who stated it answers for it."
)


@dataclass(frozen=True, eq=False)
class Release:
    """A private statistic with its record.  Nothing in it but ``value`` depends on the data beyond their number."""

    value: Array
    guarantee: Guarantee
    record: Mapping[str, Any]

    def error(self, p: float) -> float:
        """A radius about the released value that holds the mean of the clipped records with probability at least p.

        Records outside the public ball were moved to its edge first, so this says nothing of how far that moved the mean.

        From public numbers only: the quantile of the mechanism (exact for the Laplace mechanisms, a proven bound for KNG and
        the exponential mechanism) plus what the lattice can move a point.  ``record["predicted_error"]`` says in which
        distance, and from which statistic.
        """
        from .mechanisms import mechanism_from

        return mechanism_from(self.record).release_error(int(self.record["n"]), p)

    def in_degrees(self, names: tuple[str, str] = ("lat", "lon")) -> Release:
        """The same release, whose record also says the value in degrees: a function of the value alone.

        Longitudes are between −180 and 180; angles of other names, as a right ascension, between 0 and 360.
        """
        if self.value.shape != (3,) or self.record["space"]["name"] != "sphere":
            return self
        latitude, longitude = degrees_of(self.value).tolist()
        longitude = longitude if "lon" in names[1].lower() or "lng" in names[1].lower() else longitude % 360
        return replace(self, record={**self.record, "degrees": {names[0]: latitude, names[1]: longitude}})

    @property
    def estimate(self) -> str:
        """What the value is close to, in a few words."""
        return f"the {'mean' if 'mean' in self.record['statistic'] else 'statistic'} of the clipped records"

    @property
    def sha256(self) -> str:
        """The sum of the whole release, which stands in its file and beside its charge in a ledger."""
        return _sum(json.loads(self.to_json()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The value alone, for NumPy."""
        return np.array(self.value, dtype=dtype, copy=copy)

    def describe(self) -> str:
        """The release in plain words, for a data-sharing agreement."""
        r, g = self.record, self.guarantee
        ball, error = r["ball"], r["predicted_error"]
        accuracy = (
            "Accuracy: nothing public is known of it.\n"
            if error is None
            else f"Accuracy: with probability {error['probability']:g} the released value lies within {error['radius']:.4g} of "
            f"{self.estimate} ({error['distance']}). How far clipping moved that is not known to the public.\n"
        )
        warning = "" if r["on_manifold"] else "Note: the released value is not a point of this space.\n"
        if "degrees" in r:
            warning += "The value in degrees: " + ", ".join(f"{k} {v:.6g}" for k, v in r["degrees"].items()) + ".\n"
        space = ", ".join(f"{k} {v}" for k, v in r["space"]["parameters"].items())
        clock = (
            "The running time of the sampler may depend on the data."
            if g.clock_delta is None
            else "The sampler's number of proposals does not depend on the data."
            if g.clock_delta == 0
            else f"The sampler's number of proposals depends on the data with probability at most {g.clock_delta:.1e}."
        )
        factor = f" = {np.exp(g.epsilon):.3g}" if g.epsilon < 50 else ""
        return (
            f"Released: {r['statistic']} of {r['n']} units ({g.unit}) in the space '{r['space']['name']}' ({space}; metric: "
            f"{r['space']['metric']}). Every record was first clipped to the public ball of radius {ball['radius']:g} about a "
            f"public centre, so the released statistic is that of the clipped records.\n"
            f"{self._promise()} Whatever anyone knows or learns elsewhere, "
            f"replacing one unit's value by any other changes the probability of any outcome by a factor of at most "
            f"e^{g.epsilon:g}{factor}. Repeated releases add up their epsilons.\n"
            f"{accuracy}{warning}"
            f"How: mechanism '{r['mechanism']['name']}' with scale {r['calibration']['sigma']:.6g} = "
            f"{r['calibration']['formula']}; {r['sampler']}; randomness from {r['generator']}; rounded to a public lattice "
            f"of spacing {r['lattice_spacing']:g}. Rounding errors take up at most {g.numerical_epsilon:.1e} of "
            f"epsilon, and with a delta of {g.numerical_delta:.1e} they may break the promise. {clock}"
        )

    def _promise(self) -> str:
        g = self.guarantee
        if g.condition:
            return f"Promise, {g.condition}. {UNCHECKED} If it holds, then with epsilon {g.epsilon:g}:"
        if not g.private:
            return "Promise: none, as this value was made for study. Had it been a release, then:"
        return f"Promise: the release is {g.epsilon:g}-differentially private."

    def to_json(self) -> str:
        document = {
            "format": FORMAT,
            "value": self.value.tolist(),
            "guarantee": asdict(self.guarantee),
            **self.record,
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Release:
        """The release that :meth:`to_json` wrote; a ValueError says what is wrong with any other text."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"this is not a release record: line {error.lineno}: {error.msg}") from None
        except (RecursionError, ValueError) as error:
            raise ValueError(f"this is not a release record: {error}") from None
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise ValueError(f"this is not a release record: it does not say {FORMAT!r} under 'format'")
        document.pop("sha256", None)
        try:
            value = np.asarray(document.pop("value"), dtype=np.float64)
            guarantee = Guarantee(**document.pop("guarantee"))
            if missing := KEYS - document.keys():
                raise ValueError(f"{', '.join(sorted(missing))} missing")
            _check_kinds(document, guarantee)
            if "objective" in document["mechanism"]["options"]:  # earlier versions wrote an unconditional promise
                guarantee = replace(guarantee, private=False, condition=STATED)
            space = space_from(document["space"]["name"], document["space"]["parameters"])
            if math.prod(space.point_shape) > value.size:  # before anything of that size is made
                raise ValueError(f"{value.size} numbers are not a point of {space}")
            if not np.isfinite(value).all():
                raise ValueError("the value holds NaN or an infinite number")
            if value.shape != space.present(space.origin()).shape:
                raise ValueError(f"a value of shape {value.shape} is not a point of {space}")
            if not all(type(angle) is float and math.isfinite(angle) for angle in document.get("degrees", {}).values()):
                raise ValueError("the degrees are not numbers")
            if guarantee.epsilon != document["calibration"]["epsilon"]:
                raise ValueError("the guarantee and the calibration state different epsilons")
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"this release record is incomplete or altered: {error}") from None
        return cls(value, guarantee, document)

    def save(self, path: str | os.PathLike[str], overwrite: bool = True) -> None:
        """Write the record as JSON, whole or not at all; it ends with the SHA-256 of the rest, which :meth:`load` checks.

        With ``overwrite=False`` a file that is there already stays, and a FileExistsError is raised.
        """
        document = json.loads(self.to_json())
        text = json.dumps({**document, "sha256": self.sha256}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomically(Path(path), text, overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a record that :meth:`save` wrote; a damaged one is refused with a ValueError."""
        try:
            text = Path(path).read_text(encoding="utf-8")
            release, document = cls.from_json(text), json.loads(text)
            noted = document.pop("sha256", None)
            if noted is not None and noted != _sum(document):
                raise ValueError("this release record was altered since it was saved; take another copy of it")
        except ValueError as error:
            words = "".join(c if c.isprintable() else " " for c in str(error))
            raise ValueError(f"{path}: {words[:600]}") from None
        return release


_TEXTS = ("statistic", "sampler", "generator", "space.metric", "mechanism.name", "calibration.formula")
_NUMBERS = ("n", "lattice_spacing", "ball.radius", "calibration.sigma")


def _check_kinds(document: Mapping[str, Any], guarantee: Guarantee) -> None:
    """A TypeError or ValueError if what :meth:`Release.describe` and :meth:`Release.error` build on is of another kind."""

    def at(place: str) -> Any:
        first, _, second = place.partition(".")
        return document[first][second] if second else document[first]

    error, g = document["predicted_error"], guarantee
    texts = [*map(at, _TEXTS), g.unit, g.neighbours, g.condition, *([] if error is None else [error["distance"]])]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a number stands where words belong")
    numbers = [*map(at, _NUMBERS), g.epsilon, g.numerical_delta, g.numerical_epsilon]
    numbers += [] if g.clock_delta is None else [g.clock_delta]
    numbers += [] if error is None else [error["probability"], error["radius"]]
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise TypeError("words stand where a finite number belongs")
    if not g.epsilon > 0 or type(at("n")) is not int:
        raise ValueError("epsilon must be positive, and n whole")


def _sum(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document, however it is laid out."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_atomically(path: Path, content: str | bytes, overwrite: bool = True) -> None:
    """A temporary file beside the target, flushed to disk, then renamed over it: the whole content or nothing.

    Without ``overwrite`` a file that is there, or that another process puts there meanwhile, is kept: a FileExistsError.

    A process that is killed at it can leave the temporary file, ``….part``; the next writing of the same target removes it.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    _sweep(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # at work: not to be swept
        with os.fdopen(handle, "wb") as file:
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)  # what any new file gets; temporary files are the owner's alone
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)
            os.unlink(temporary)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _flush_folder(path.parent)


def _sweep(path: Path) -> None:
    """Remove what killed writers of this target left: temporary files that no process holds."""
    for name in glob.glob(f"{glob.escape(str(path))}????????.part"):
        with suppress(OSError), open(name, "rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name)


def _flush_folder(folder: Path) -> None:
    """The new name on disk too; the file itself is there already, so a file system that cannot flush folders does no harm."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
