"""Results as files: JSON that ends with its own SHA-256, written whole or not at all; and every entry checked when read."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from ..atomic import write_atomically
from ..errors import RecordError, printable
from ..numerics.arrays import Array

T = TypeVar("T")


class Document:
    """A dataclass that is saved as one JSON file, its fields in their order."""

    format: ClassVar[str]  # what the file says under "format"
    noun: ClassVar[str]  # what messages call it
    newer: ClassVar[Mapping[str, Any]] = {}  # what earlier versions did not write, left out where it has this value

    def content(self) -> dict[str, Any]:
        """Return all of it, as JSON can hold it."""
        parts = {part.name: plain(getattr(self, part.name)) for part in fields(cast(Any, self))}
        return {name: part for name, part in parts.items() if name not in self.newer or part != self.newer[name]}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Self:
        """Return what :meth:`content` was made of; any error says what is wrong."""
        result = built(cls, content)
        result.check()
        return result

    def check(self) -> None:
        """Raise a ValueError if the parts do not go together."""

    def to_dict(self) -> dict[str, Any]:
        """Return the document, beginning with its format."""
        return {"format": self.format, **self.content()}

    def to_json(self) -> str:
        """Return the document as text, without its SHA-256."""
        return _text(self.to_dict())

    @property
    def sha256(self) -> str:
        """The SHA-256 of the document, which stands in its file and beside its charge in a ledger."""
        return self.digest(self.to_dict())

    @staticmethod
    def digest(document: Mapping[str, Any]) -> str:
        """Return the SHA-256 of a document as it is laid out in a file."""
        return hash_of(_text(document))

    @classmethod
    def is_intact(cls, document: Mapping[str, Any]) -> bool:
        """Return whether a document is what was saved: its SHA-256 is that of the rest."""
        return bool(document.get("sha256") == cls.digest(without(document, "sha256")))

    @classmethod
    def from_dict(cls, document: object) -> Self:
        """Return the result that :meth:`to_dict` wrote; a RecordError says what is wrong with any other document."""
        if not isinstance(document, dict) or document.get("format") != cls.format:
            raise RecordError(f"this is not a {cls.noun}: it does not say {cls.format!r} under 'format'")
        try:
            return cls.from_content(without(document, "format", "sha256"))
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise RecordError(f"this {cls.noun} is incomplete or altered: {error}") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the result that :meth:`to_json` wrote; a RecordError says what is wrong with any other text."""
        return cls.from_dict(cls._parsed(text))

    @classmethod
    def _parsed(cls, text: str) -> Any:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise RecordError(f"this is not a {cls.noun}: line {error.lineno}: {error.msg}") from None
        except (RecursionError, ValueError) as error:
            raise RecordError(f"this is not a {cls.noun}: {error}") from None

    def save(self, path: str | os.PathLike[str], overwrite: bool = True, mode: int = 0o666) -> None:
        """Write it as JSON, whole or not at all; the file ends with the SHA-256 of the rest, which :meth:`load` checks.

        With ``overwrite=False`` a file that is there already stays, and a FileExistsError is raised; ``mode`` is that of chmod.
        """
        document = self.to_dict()
        write_atomically(Path(path), _text({**document, "sha256": self.digest(document)}), overwrite, mode)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote; a damaged file is refused with a RecordError, which is a ValueError."""
        try:
            document = cls._parsed(Path(path).read_text(encoding="utf-8"))
            result = cls.from_dict(document)
            if not cls.is_intact(document):
                raise RecordError(f"this {cls.noun} was altered since it was saved; take another copy of it")
        except ValueError as error:
            raise RecordError(printable(f"{path}: {str(error)[:600]}")) from None
        return result


def without(document: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return a copy of a document without some of its entries."""
    return {key: entry for key, entry in document.items() if key not in keys}


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def compact(document: Mapping[str, Any], allow_nan: bool = True) -> str:
    """Return JSON with sorted keys and no spaces: equal documents have equal text, also after a round trip through a file."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=allow_nan)


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# -- between dataclasses and JSON ----------------------------------------------------------------------------------------
def plain(part: Any) -> Any:
    """Return a part of a document as JSON can hold it."""
    if isinstance(part, Document):
        return part.to_dict()
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, Mapping):
        return {key: plain(item) for key, item in part.items()}
    if isinstance(part, list | tuple):
        numbers = bool(part) and type(part[0]) is float  # a list of numbers is copied as a whole: a chart has thousands
        return list(part) if numbers else [plain(item) for item in part]
    if hasattr(part, "document"):  # which knows what of it is left out
        return part.document()
    return {each.name: plain(getattr(part, each.name)) for each in fields(part)} if is_dataclass(part) else part


def built(kind: type[T], given: Mapping[str, Any]) -> T:
    """Return a dataclass, with the parts in it, from the entries of a document; a TypeError if one is of another type."""
    hints = _hints(cast(Any, kind))
    return kind(**{name: _entry(name, entry, hints.get(name, Any)) for name, entry in given.items()})


def is_number(x: Any) -> bool:
    """Return whether an entry is a finite number, and no truth value."""
    return type(x) in (int, float) and math.isfinite(x)


CHECKS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    str: (lambda x: isinstance(x, str), "expected words, got a number"),
    float: (is_number, "expected a finite number"),
    int: (lambda x: type(x) is int, "must be a whole number"),
    bool: (lambda x: type(x) is bool, "must be true or false"),
    dict: (lambda x: isinstance(x, dict), "must hold names and values"),
}
_hints = cache(get_type_hints)


def _entry(name: str, entry: Any, wanted: Any) -> Any:
    """Return an entry as a field of this type holds it."""
    if get_origin(wanted) in (Union, UnionType):
        if entry is None:
            return None
        (wanted,) = (option for option in get_args(wanted) if option is not NoneType)
    if wanted == Array:
        return np.asarray(entry, dtype=np.float64)
    if isinstance(wanted, type) and issubclass(wanted, Document):
        return wanted.from_dict(entry)
    if is_dataclass(wanted):
        return built(cast(Any, wanted), entry)
    kind = dict if get_origin(wanted) is Mapping else wanted
    if kind in CHECKS and not CHECKS[kind][0](entry):
        raise TypeError(f"{name}: {CHECKS[kind][1]}")
    if kind is dict:
        return {key: _entry(key, item, get_args(wanted)[1]) for key, item in entry.items()}
    return entry
