"""Findings as files: JSON that ends with its own sum."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from ..atomic import write_atomically
from ..errors import RecordError


class Saved(ABC):
    """A finding that is written as one JSON file, whole or not at all, and read again."""

    format: ClassVar[str]

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""

    @classmethod
    @abstractmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The way back; any error says what is wrong."""

    def to_json(self) -> str:
        document = {"format": self.format, **self.document()}
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @property
    def sha256(self) -> str:
        """The sum of the whole, which stands in its file and beside its charge in a ledger."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def save(self, path: str | os.PathLike[str], overwrite: bool = True) -> None:
        """Write it as JSON with the SHA-256 of the rest, which :meth:`load` checks."""
        document = {**json.loads(self.to_json()), "sha256": self.sha256}
        write_atomically(Path(path), json.dumps(document, indent=2, ensure_ascii=False) + "\n", overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote; a RecordError says what is wrong with any other file."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            if document.pop("format") != cls.format:
                raise ValueError(f"it does not say {cls.format!r} under 'format'")
            noted = document.pop("sha256", None)
            found = cls.from_document(document)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordError(f"{path}: this is not a file of {cls.format!r}: {error}") from None
        if noted != found.sha256:
            raise RecordError(f"{path}: this file was altered since it was saved; take another copy of it")
        return found
