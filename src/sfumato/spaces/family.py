"""Spaces as a person types them: ``spd``, ``spd(metric=log-euclidean)``, ``grassmann(n=5, p=2)``, with or without a size."""

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from ..errors import Fix, Refusal
from .base import Kind, Space

_CALL = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Family:
    """A kind of space and some of its arguments; the size may come later, from a wish of its name or from a file.

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

    @property
    def written_out(self) -> Fix:
        """A space of this kind with all its arguments, as an example."""
        return Fix("space", self.of.example().typed)

    def sized(self, **sizes: int | None) -> Space | None:
        """Return the space, or None where its size is not known yet; ``sizes`` are wishes of these names."""
        own = {name: size for name, size in sizes.items() if size is not None}
        needed = self._needed()
        for name in own:
            if name in self.given:
                raise Refusal(f"{name} stands in the space {self.name}(…) already: leave one of them out")
            if name not in needed:
                takes = " and ".join(needed) or "no size"
                wrong = f"{name} does not go with the space {self.name}, which takes {takes}: write "
                raise Refusal(wrong, self.written_out)
        missing = needed.keys() - self.given - own.keys()
        if missing and own:
            raise Refusal(f"the space {self.name} takes {' and '.join(needed)} together: write ", self.written_out)
        if missing and self.of.size_option not in self.given:
            return None
        return self._made(**self.given, **own)

    def usual(self) -> Space | None:
        """Return the space of its usual size, or None where it has none."""
        size = self.of.usual_size
        return None if size is None else self._made(**{str(self.of.size_option): size, **self.given})

    def shaped(self, shape: tuple[int, ...]) -> Space:
        """Return the space whose points have this shape as users type them: that of their first layout, if there is one.

        >>> from .sphere import Sphere
        >>> Family(Sphere).shaped((3,))
        Sphere(dim=2, curvature=1.0)
        """
        if space := self.sized():
            return space
        made = self._possible(shape)
        taking = [space for space in made if shape in space.layouts.values()]
        if taking:
            return min(taking, key=lambda space: shape != next(iter(space.layouts.values())))
        if any(space.takes(shape) for space in made):  # of other sizes too
            example = Fix("space", f"{self.name}({self.of.size_option}=6)")
            raise Refusal(f"say how many {self.of.size_option}, as ", example)
        turned = any(shape[::-1] in space.layouts.values() for space in made)
        hint = ": transpose each record" if turned else ""
        none = f"the space {self.name} has no points of shape {shape}{hint}; a space of this kind is "
        raise Refusal(none, self.written_out)

    def _possible(self, shape: tuple[int, ...]) -> list[Space]:
        """Return the spaces whose missing sizes are numbers of a shape, or one less than the first of them."""
        missing = {name: argument for name, argument in self._needed().items() if name not in self.given}
        for name, argument in missing.items():
            if argument.annotation in ("bool", bool):
                yes, no = (Fix("space", f"{self.name}({name}={value})") for value in ("true", "false"))
                raise Refusal(f"say whether the records are {name}: ", yes, " or ", no)
        sizes = [*permutations(shape, len(missing))]
        if len(missing) == 1:
            sizes += [(number - 1,) for number in shape[:1]]
        made = []
        wrong = []
        for each in sizes:
            try:
                made.append(self._made(**self.given, **dict(zip(missing, each, strict=True))))
            except ValueError as error:
                wrong.append(error)
        if wrong and not made:
            raise wrong[0]
        return made

    def _needed(self) -> dict[str, inspect.Parameter]:
        """Return the arguments that have no default, by their names."""
        arguments = _arguments(self.of).items()
        return {name: one for name, one in arguments if one.default is one.empty and one.kind is not one.VAR_POSITIONAL}

    def _made(self, **arguments: Any) -> Space:
        try:
            return self.of(*self.parts, **arguments)
        except TypeError as error:
            words = re.sub(r"^[\w.]*__(?:init|new)__\(\)", f"the space {self.name}(…)", str(error))
            raise Refusal(f"{words}; write ", self.written_out) from None


def _arguments(kind: type[Space]) -> dict[str, inspect.Parameter]:
    """Return the arguments that make a space, by their names, without ``self``."""
    return dict([*inspect.signature(kind.__init__).parameters.items()][1:])


def in_words(kind: type[Space]) -> tuple[str, str]:
    """Return what may be typed for a kind of space, with its arguments, and what it is.

    >>> from .sphere import Sphere
    >>> in_words(Sphere)[0]
    'sphere(dim, curvature=1.0)'
    """
    arguments = []
    for name, argument in _arguments(kind).items():
        if argument.kind is argument.VAR_POSITIONAL:
            arguments.append(f"{name}…")
        elif argument.default in (argument.empty, None):
            arguments.append(name)
        else:
            arguments.append(f"{name}={argument.default}")
    words = re.sub(r"``(\w+)``", lambda m: m[1].upper(), (inspect.getdoc(kind) or "").partition("\n")[0])
    return f"{kind.name}({', '.join(arguments)})", words


def typed_space(text: str, named: Callable[[str], type[Space]]) -> Family:
    """Return what a person typed; ``named`` knows the kinds of spaces.

    >>> from .spd import SPD
    >>> typed_space("spd(size = 2)", {"spd": SPD}.__getitem__).sized()
    SPD(size=2)
    """
    found = _CALL.fullmatch(text)
    if found is None:
        example = Fix("space", "spd(size=3)")
        raise Refusal(f"the space {text!r} is not understood; write a name, or a name with arguments, as ", example)
    kind = named(found[1])
    parts = list[Any]()
    given = dict[str, Any]()
    for argument in _split(found[2] or ""):
        if pair := _NAMED.fullmatch(argument):
            given[pair[1]] = _value(pair[2].strip())
        elif (part := typed_space(argument, named).sized()) is None:
            unsized = argument.strip()
            raise Refusal(f"the space {text}: say how large {unsized} is, as {unsized}(dim=2)")
        else:
            parts.append(part)
    return Family(kind, tuple(parts), given)


def _split(text: str) -> list[str]:
    """Return arguments, parted at the commas that stand in no brackets."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _value(text: str) -> Any:
    """Return a number, a list of numbers, true or false; anything else is a word.

    >>> _value("3"), _value("[1, 0.5]"), _value("true"), _value("log-euclidean")
    (3, [1, 0.5], True, 'log-euclidean')
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.strip("'\"")
