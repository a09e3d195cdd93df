"""What a curator chose in the page: the options of ``sfumato release`` and ``sfumato compare``; and the command and the Python
that do the same."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..known import Known

if TYPE_CHECKING:
    from ...spaces import Space

FILES = ("file", "labels", "public", "center", "ledger", "links", "channels", "out")
PRIORS = ("smooth", "open", "bending")


def _whole(value: Any) -> int:
    """A whole number, also where it is typed as 1e6; of others the whole part."""
    return int(value) if isinstance(value, int) else int(float(value))


KINDS: dict[str, Callable[[Any], Any]] = {"str": str, "bool": bool, "int": _whole, "float": float}


@dataclass(frozen=True)
class Choices:
    """Each as the option of the same name; what is empty was not said.  ``prior`` is what is known of landmarks, ``wide`` the
    option --prior.  ``by`` asks for groups.  ``alone`` says that each record counts by itself though a column repeats; ``n``,
    and for groups ``smallest``, is what was planned with, ``read_as`` the space that the curator's inspection found.

    >>> chosen = Choices.of({"file": "wings.tps", "public": "atlas.tps", "epsilon": 1, "unit": "one wing"})
    >>> chosen.command()
    "sfumato release wings.tps --public atlas.tps --epsilon 1 --unit 'one wing' --out mean.json --plot mean.png --report
    mean.html"
    """

    file: str = ""
    space: str = ""
    columns: str = ""
    array: str = ""
    missing: str = ""
    curves: str = ""
    invalid: str = "raise"
    unit: str = ""
    unit_column: str = ""
    alone: bool = False
    by: str = ""
    labels: str = ""
    labels_are_public: bool = False
    smallest: int | None = None
    public: str = ""
    center: str = ""
    radius: float | None = None
    find_radius: bool = False
    wide: str = ""
    prior: str = ""
    symmetric: str = ""
    modes: int | None = None
    inference: float | None = None
    n: int | None = None
    epsilon: float | None = None
    mechanism: str = "auto"
    even_if_useless: bool = False
    ledger: str = ""
    dataset: str = ""
    out: str = "mean.json"
    links: str = ""
    channels: str = ""
    read_as: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Choices:
        """What the page sent; a ValueError names what is not understood."""
        made: dict[str, Any] = {}
        for part in fields(cls):
            kind, value = str(part.type).removesuffix(" | None"), given.get(part.name)
            if value is None or value == "":
                continue
            try:
                made[part.name] = KINDS[kind](value)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"{part.name.replace('_', ' ')}: {value!r} is not a number") from None
            if kind == "float" and not math.isfinite(made[part.name]):
                raise ValueError(f"{part.name.replace('_', ' ')}: {value!r} is not a number to work with")
            if (kind == "bool") != isinstance(value, bool):  # a flag must be a JSON boolean
                raise ValueError(f"{part.name.replace('_', ' ')}: {value!r} is not understood: load the page again")
            if kind == "int" and made[part.name] != float(value):
                raise ValueError(f"{part.name.replace('_', ' ')}: {value!r} is not a whole number")
            if kind == "str" and not isinstance(value, str):
                raise ValueError(f"{part.name}: must be text, not {value!r}")
            if kind == "str" and not is_text(value):
                raise ValueError(
                    f"{part.name}: {value!a} holds a character that is no text: give the file another name"
                )
        if unknown := given.keys() - {part.name for part in fields(cls)}:
            raise ValueError(f"the page sent what is not known here: {', '.join(sorted(map(str, unknown)))}")
        if made.get("prior", "") not in ("", *PRIORS):
            raise ValueError(
                f"{made['prior']!r} is nothing that is known of landmarks: give one of {', '.join(PRIORS)}"
            )
        return cls(**{name: os.path.expanduser(it) if name in FILES else it for name, it in made.items()})

    @property
    def id(self) -> str:
        """One for each plan: the same choices are the same release, however often they are sent."""
        from ...release.chain import canonical

        return sha256(
            canonical(asdict(replace(self, read_as="", links="", channels="", smallest=None))).encode()
        ).hexdigest()[:20]

    @property
    def known(self) -> Known:
        """What is publicly known, as the command line says it."""
        return Known(
            public=Path(self.public) if self.public else None,
            center=self.center or None,
            radius=self.radius,
            smooth=self.prior == "smooth",
            open=self.prior == "open",
            bending=self.prior == "bending",
            symmetric=self.symmetric or None,
            wide=self.wide or None,
            find_radius=self.find_radius,
            modes=self.modes,
            inference=self.inference,
        )

    @property
    def files(self) -> list[str]:
        """The names of files that were given."""
        return [name for part in FILES if (name := getattr(self, part))]

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read."""
        return {name: getattr(self, name) or None for name in ("columns", "array", "missing", "curves")}

    def command(self) -> str:
        """The command line that makes the same release."""
        words = ["sfumato", "compare" if self.by else "release", self.file]
        words += self._said("by", "labels") + ["--labels-are-public"] * bool(self.by and self.labels_are_public)
        words += self._said("public", "center", "radius") + ["--find-radius"] * self.find_radius
        words += ["--prior", self.wide] if self.wide else []
        words += [f"--{self.prior}"] if self.prior else []
        words += self._said(
            "symmetric", "modes", "inference", "epsilon", "space", "columns", "array", "missing", "curves"
        )
        words += self._said("unit_column", "unit", "ledger", "dataset", "links", "channels", "out")
        for name, usual in (("mechanism", "auto"), ("invalid", "raise")):
            words += [f"--{name}", value] if (value := getattr(self, name)) != usual else []
        words += ["--even-if-useless"] * self.even_if_useless
        files = {"--plot": ".png", "--report": ".html"}
        words += [word for option, end in files.items() for word in (option, str(Path(self.out).with_suffix(end)))]
        return shlex.join(words)

    def _said(self, *names: str) -> list[str]:
        given = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        return [word for option, value in given.items() if value for word in (option, _text(value))]

    def python(self, space: Space) -> str:
        """The Python that makes the same release."""
        import sfumato

        made = f"sf.{space!r}"
        if not hasattr(sfumato, type(space).__name__):
            made = f"sfumato.spaces.space_typed({_typed(space)!r}).sized()"
        region, even = self._region(), self._even("data.points")
        lines = [f"space = {made}", f"data = sf.read({self.file!r}, space{self._how()})"]
        lines += [f"data = replace(data, points={even})"] if self.symmetric else []
        lines += [f"region = {region}  # public knowledge"]
        if self.by:
            groups = f"groups_of(data, {self.by!r}, {self.labels!r})" if self.labels else repr(self.by)
            lines += [f"release = sf.compare_groups(data, {groups}, region, {self._options()})"]
        else:
            within = "region" if self.known.find is None else f"prior=region, find={self.known.find!r}"
            lines += [f"release = sf.private_mean(data, {within}, {self._options()})"]
        lines += [f"release.save({self.out!r})"]
        imports = ["from dataclasses import replace\n"] if "replace(" in "".join(lines) else []
        imports += ["import sfumato as sf"]
        imports += ["import sfumato.spaces"] if made.startswith("sfumato") else []
        imports += ["from sfumato.files.labels import groups_of"] if self.by and self.labels else []
        return "\n".join([*imports, "", *lines, ""])

    def _how(self) -> str:
        return "".join(f", {name}={value!r}" for name, value in self.reading.items() if value)

    def _even(self, points: str) -> str:
        from ...landmarks.symmetry import read_pairs

        return f"sf.symmetrize({points}, {read_pairs(self.symmetric)})" if self.symmetric else points

    def _region(self) -> str:
        if self.public:
            how = self._how() if Path(self.public).suffix.lower() == Path(self.file).suffix.lower() else ""
            more = {"modes": self.modes, "prior": self.prior}
            told = "".join(f", {name}={value!r}" for name, value in more.items() if value)
            return f"sf.Ellipsoid.from_sample(space, {self._even(f'sf.read({self.public!r}, space{how})')}{told})"
        if (limits := self.known.limits) is not None:
            return f"sf.widest_ball({', '.join(['space', *map(repr, limits)])})"
        center = f"sf.read({self.center!r}, space).points[0]"
        center = self._even(center if Path(self.center).exists() else "space.present(space.origin())")
        made, end = {
            "": ("Ball", ""),
            "smooth": ("Ellipsoid.smooth", ""),
            "open": ("Ellipsoid.smooth", ", closed=False"),
            "bending": ("Ellipsoid.bending", ""),
        }[self.prior]
        radius = float(self.wide) if self.wide else self.radius
        region = f"sf.{made}(space, {center}, radius={radius!r}{end})"
        return f"replace({region}, modes={self.modes})" if self.modes else region

    def _options(self) -> str:
        options = [f"epsilon={self.epsilon!r}"]
        options += [f"mechanism={self.mechanism!r}"] if self.mechanism != "auto" else []
        if self.unit_column:
            name = self.unit or f"one {self.unit_column}: all its records"
            options += [f"unit=data.labels[{self.unit_column!r}]", f"unit_name={name!r}"]
        else:
            options.append(f"unit={self.unit or 'one record'!r}")
        options += [f"invalid={self.invalid!r}"] if self.invalid != "raise" else []
        options += [f"inference={self.inference!r}"] if self.inference else []
        options += ["allow_useless=True"] if self.even_if_useless else []
        name = f", dataset={self.dataset!r}" if self.dataset else ""
        options += [f"budget=sf.Ledger({self.ledger!r}{name})"] if self.ledger else []
        return ", ".join(options)


def is_text(name: str) -> bool:
    """Whether a name can be written as UTF-8, without a NUL; names of files on some systems cannot.

    >>> is_text("aile gauche.tps"), is_text(chr(0xDCFF))
    (True, False)
    """
    return "\0" not in name and name == name.encode(errors="replace").decode()


def _text(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _typed(space: Space) -> str:

    return space.typed


# -- words ----------------------------------------------------------------------------------------------------------------
FIELDS = {
    "by": "the column of the groups",
    "labels": "the table of the groups",
    "public": "public specimens",
    "center": "the centre",
    "radius": "the radius",
    "space": "“what the records are”",
    "smooth": "“a closed outline”",
    "open": "“an open curve”",
    "bending": "“landmarks anywhere, bending little”",
    "symmetric": "the pairs of landmarks",
    "prior": "“where records surely lie”",
    "modes": "the number of directions",
    "columns": "the columns",
    "array": "the array",
    "missing": "the code for missing values",
    "curves": "“curves of TPS files”",
    "mechanism": "the mechanism",
    "dataset": "the data set of the ledger",
    "ledger": "the ledger",
    "epsilon": "ε",
    "inference": "“where the mean of the population lies”",
    "links": "the lines between landmarks",
    "channels": "the names of channels",
    "out": "the record's file",
    "unit": "what one record stands for",
    "find-radius": "“a generous guess”",
    "size": "its size, as spd(size=3)",
    "dim": "its dimension, as sphere(dim=2)",
    "landmarks": "how many landmarks, as shapes(landmarks=18)",
}


def in_the_page(words: str) -> str:
    """An error of the command line in the words of the page.

    >>> in_the_page("--center needs --radius too (in Python radius=0.1): how far records lie")
    'the centre needs the radius too: how far records lie'
    >>> in_the_page("give --unit-column subject, or --unit 'one record'")
    'give “a column says whose record it is” (subject), or “each record by itself”'
    >>> in_the_page("a.npy: may be several things: say which, --space sphere or --space euclidean")
    'a.npy: may be several things: say which, sphere or euclidean (in step 1, “what the records are”)'
    """
    words = re.sub(r" \(in Python (?:[^()]|\([^()]*\))*\)", "", words)
    words = re.sub(r" \(unit='[^']*'\)", "", words)
    words = re.sub(r"--unit-column (\S+?)(?=[\s,;:)]|$)", r"“a column says whose record it is” (\1)", words)
    words = re.sub(r"--unit '[^']*'", "“each record by itself”", words)
    words = words.replace("--invalid center", "“put the public centre in its place” under the file's details")
    words = re.sub(r"(?:give )?--even-if-useless", "tick “release even if useless”", words)
    words = re.sub(r", or give --force to (replace it|release all the same)", "", words)
    words = words.replace("--space NAME ('sfumato spaces' lists them)", "in step 1, under “What is in the file”")
    words, named = re.subn(r"--space (?!NAME)(?=\S)", "", words)
    words += " (in step 1, “what the records are”)" if named else ""
    words = words.replace("give them with --public", "choose “Public specimens”")
    words = words.replace("add --labels-are-public", "tick “everybody may know it” in step 1")
    words = re.sub(r"--([a-z]+(?:-[a-z]+)*)(?: (?:FILE(?:\.csv)?|NAME)\b)?", lambda m: FIELDS.get(m[1], m[0]), words)
    return words
