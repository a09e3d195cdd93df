"""What leaves the curator's room: a value, its guarantee, and a record of public numbers."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .spaces import space_from
from .spaces.base import Array

FORMAT = "sfumato release 1"
KEYS = {
    "statistic", "space", "ball", "n", "mechanism", "calibration", "sampler", "lattice_spacing", "generator", "on_manifold",
    "predicted_error", "version", "time",
}  # fmt: skip


@dataclass(frozen=True)
class Guarantee:
    """What is promised.  ε holds for the ideal sampler; the three numbers after it say what a computer adds.

    ``numerical_delta`` bounds the chance that rounding error moves a draw to another lattice point, ``numerical_epsilon``
    what rounding error in the density can add to ε, ``clock_delta`` the chance that the running time of the sampler
    depends on the data (None: not bounded).  Two data sets can each fail: as (ε, δ)-privacy this is
    (ε + numerical_epsilon, (1 + e^ε)·numerical_delta).
    """

    epsilon: float
    unit: str
    neighbours: str = "data sets of the same size that differ in one unit's value; the size is public"
    private: bool = True
    numerical_delta: float = 0.0
    numerical_epsilon: float = 0.0
    clock_delta: float | None = 0.0


@dataclass(frozen=True, eq=False)
class Release:
    """A private statistic with its record.  Nothing in it but ``value`` depends on the data beyond their number."""

    value: Array
    guarantee: Guarantee
    record: Mapping[str, Any]

    def error(self, p: float) -> float:
        """A radius that holds the non-private statistic, about the released value, with probability at least p.

        From public numbers only: the quantile of the mechanism (exact for the Laplace mechanisms, a proven bound for KNG and
        the exponential mechanism) plus what the lattice can move a point.  ``record["predicted_error"]`` says in which
        distance, and from which statistic.
        """
        from .mechanisms import mechanism_from

        return mechanism_from(self.record).release_error(int(self.record["n"]), p)

    def describe(self) -> str:
        """The release in plain words, for a data-sharing agreement."""
        r, g = self.record, self.guarantee
        ball, error = r["ball"], r["predicted_error"]
        accuracy = (
            "Accuracy: nothing public is known of it.\n"
            if error is None
            else f"Accuracy: with probability {error['probability']:g} the released value lies within {error['radius']:.4g} of "
            f"the non-private statistic ({error['distance']}).\n"
        )
        warning = "" if r["on_manifold"] else "Note: the released value is not a point of this space.\n"
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
            f"Promise: the release is {g.epsilon:g}-differentially private. Whatever anyone knows or learns elsewhere, "
            f"replacing one unit's value by any other changes the probability of any outcome by a factor of at most "
            f"e^{g.epsilon:g}{factor}. Repeated releases add up their epsilons.\n"
            f"{accuracy}{warning}"
            f"How: mechanism '{r['mechanism']['name']}' with scale {r['calibration']['sigma']:.6g} = "
            f"{r['calibration']['formula']}; {r['sampler']}; randomness from {r['generator']}; rounded to a public lattice "
            f"of spacing {r['lattice_spacing']:g}. Rounding errors add at most {g.numerical_epsilon:.1e} to epsilon and a "
            f"failure probability of {g.numerical_delta:.1e}. {clock}"
        )

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
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"this is not a release record: line {error.lineno}: {error.msg}") from None
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise ValueError(f"this is not a release record: it does not say {FORMAT!r} under 'format'")
        try:
            value = np.asarray(document.pop("value"), dtype=np.float64)
            guarantee = Guarantee(**document.pop("guarantee"))
            if missing := KEYS - document.keys():
                raise ValueError(f"{', '.join(sorted(missing))} missing")
            space = space_from(document["space"]["name"], document["space"]["parameters"])
            if value.shape != space.present(space.origin()).shape:
                raise ValueError(f"a value of shape {value.shape} is not a point of {space}")
            if guarantee.epsilon != document["calibration"]["epsilon"]:
                raise ValueError("the guarantee and the calibration state different epsilons")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this release record is incomplete or altered: {error}") from None
        return cls(value, guarantee, document)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record as JSON: whole or not at all."""
        write_atomically(Path(path), self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a record that :meth:`save` wrote."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def write_atomically(path: Path, content: str | bytes) -> None:
    """A temporary file beside the target, flushed to disk, then renamed over it: the whole content or nothing."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)  # what any new file gets; temporary files are the owner's alone
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
