"""Spaces as a person types them: ``spd``, ``spd(metric=log-euclidean)``, ``grassmann(n=5, p=2)``, with or without a size."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .base import Kind, Space

_CALL = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Family:
    """A kind of space and some of its arguments; the size may come later, from an option or a file.

    >>> from .spd import SPD
    >>> Family(SPD).sized(size=3), Family(SPD, (), {"size": 2}).shaped((2, 2)), Family(SPD).sized() is None
    (SPD(size=3), SPD(size=2), True)
    """

    of: type[Space]
    parts: tuple[Any, ...] = ()
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def kind(self) -> Kind:
        return self.of.kind

    def sized(self, **sizes: int | None) -> Space | None:
        """The space, if its size is known by now; ``sizes`` come from options of these names."""
        if not self.parts and not self.given:
            return self.of.sized(**sizes)
        for option, size in sizes.items():
            if size is not None and option in self.given:
                raise ValueError(f"--{option} {size}: is said in --space {self.name}(…) already")
        own = {name: size for name, size in sizes.items() if size is not None}
        if own.keys() - {self.of.size_option}:
            self.of.sized(**own)  # refuses, in words
        complete = self.parts or self.of.size_option in {None, *self.given, *own}
        return self._made(**self.given, **own) if complete else None

    def usual(self) -> Space | None:
        """The space of its usual size, where it has one."""
        size = self.of.usual_size
        return None if size is None else self._made(**{str(self.of.size_option): size, **self.given})

    def shaped(self, shape: tuple[int, ...]) -> Space:
        """The space whose points have this shape as users type them."""
        return self.sized() or self.of.shaped(shape, **self.given)

    def _made(self, **arguments: Any) -> Space:
        try:
            return self.of(*self.parts, **arguments)
        except TypeError as error:
            words = re.sub(r"^[\w.]*__(?:init|new)__\(\)", f"--space {self.name}(…)", str(error))
            raise ValueError(words) from None


def in_words(kind: type[Space]) -> tuple[str, str]:
    """What may be typed for a kind of space, with its arguments, and what it is.

    >>> from .sphere import Sphere
    >>> in_words(Sphere)[0]
    'sphere(dim, curvature=1.0)'
    """
    arguments = []
    for name, argument in inspect.signature(kind).parameters.items():
        told = argument.default is not argument.empty and argument.default not in (None, 0)
        name += "…" if argument.kind is argument.VAR_POSITIONAL else ""
        arguments.append(f"{name}={argument.default}" if told or argument.default is False else name)
    words = (inspect.getdoc(kind) or "").partition("\n")[0].replace("``", "")
    return f"{kind.name}({', '.join(arguments)})", words


def typed_space(text: str, named: Callable[[str], type[Space]]) -> Family:
    """What a person typed; ``named`` knows the kinds of spaces.

    >>> from .spd import SPD
    >>> typed_space("spd(size = 2)", {"spd": SPD}.__getitem__).sized()
    SPD(size=2)
    """
    found = _CALL.fullmatch(text)
    if found is None:
        raise ValueError(
            f"--space {text}: is not understood; write a name, as spd, or a name with arguments, as 'spd(size=3)'"
        )
    kind = named(found[1])
    parts, given = list[Any](), dict[str, Any]()
    for argument in _split(found[2] or ""):
        if pair := _NAMED.fullmatch(argument):
            given[pair[1]] = _value(pair[2].strip())
        elif (part := typed_space(argument, named).sized()) is None:
            raise ValueError(f"--space {text}: say how large {argument.strip()} is, as {argument.strip()}(dim=2)")
        else:
            parts.append(part)
    return Family(kind, tuple(parts), given)


def _split(text: str) -> list[str]:
    """Arguments, at the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _value(text: str) -> Any:
    """A number, a list of numbers, true or false; anything else is a word.

    >>> _value("3"), _value("[1, 0.5]"), _value("true"), _value("log-euclidean")
    (3, [1, 0.5], True, 'log-euclidean')
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.strip("'\"")
