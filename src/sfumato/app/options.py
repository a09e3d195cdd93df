"""The options of the command line, made from the wishes of a request, and the help that lists them in groups."""

import inspect
import re
from collections.abc import Callable
from dataclasses import Field, fields
from functools import wraps
from itertools import chain
from textwrap import fill
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .request import DATA, GROUPS, MORE, Request, names_files, option_of, types_of, wish_of

Command = Callable[..., None]
METAVARS = {str: "TEXT", int: "NUMBER", float: "NUMBER", int | None: "NUMBER", float | None: "NUMBER"}
FEW = 10  # options, up to which a help has no groups
SHOWN = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "path": "PATH"}  # for what newer versions of Typer write


def taking(command: str, kind: type[Request] = Request, **usual: Any) -> Callable[[Command], Command]:
    """Return a decorator for a function whose argument ``request`` becomes the options of all wishes that a command takes.

    ``usual`` is what this command takes for wishes that are not said; an argument of the function's own is no second option.
    """

    def decorate(function: Command) -> Command:
        own = dict(inspect.signature(function, eval_str=True).parameters)
        parts = [part for part in fields(kind) if command in wish_of(part).commands and part.name not in own]
        every = [_option(part, types_of(kind)[part.name], usual, command) for part in parts]
        every += [one.replace(kind=one.KEYWORD_ONLY) for name, one in own.items() if name != "request"]

        @wraps(function)
        def run(**given: Any) -> None:
            wishes = {part.name: given.pop(part.name) for part in parts}
            many = {name: tuple(value) for name, value in wishes.items() if isinstance(value, list)}
            function(request=kind(**usual | wishes | many), **given)

        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return decorate


def _option(part: Field[Any], hint: Any, usual: dict[str, Any], command: str) -> inspect.Parameter:
    """Return the parameter of a command for one wish of this type."""
    name = part.name
    one = wish_of(part)
    required = command in one.required.split()
    default = usual.get(name, inspect.Parameter.empty if required else part.default)
    metavar = one.metavar or ("FILE" if names_files(hint) else METAVARS.get(hint))
    how: dict[str, Any] = {"help": one.help, "metavar": metavar, "rich_help_panel": MORE if one.rare else one.group}
    if required and isinstance(part.default, tuple):
        made = typer.Argument(**how | {"metavar": f"{metavar}S..."})
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[list[str], made])
    made = typer.Option(option_of(name, one), show_default=default not in (None, "", False, 0), **how)
    hint = Annotated[str if names_files(hint) else hint, made]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


class Coloured:
    """A help in plain text with colours, also by versions of Typer that draw boxes where Rich is installed."""

    def get_help(self: Any, ctx: Any) -> str:
        formatter = ctx.make_formatter()
        for part in (self.format_usage, self.format_help_text, self.format_options, self.format_epilog):
            part(ctx, formatter)
        plain = formatter.getvalue().rstrip("\n")
        tidy = re.sub(r"\{(.*?)(\.\.\.)?\}", r"\1", plain).replace("[[", "[").replace("]]", "]")
        bold = re.sub(r"(?m)^[A-Z][\w ]+(?=:)|Example(?=: )", lambda m: typer.style(m[0], bold=True), tidy)
        return re.sub(r"(?m)^  (-\w, )?(--[\w-]+|[a-z]+(?=  ))", lambda m: typer.style(m[0], fg="cyan"), bold)


class Commands(Coloured, TyperGroup):
    """A group of commands."""


class Grouped(Coloured, TyperCommand):
    """A command whose help lists its options in the groups of the wishes, and ends with the names of all spaces."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        rows: dict[str, list[Any]] = {group: [] for group in GROUPS}
        for one in self.get_params(ctx):
            words = one.get_help_record(ctx)
            if words is not None:
                name = re.sub(r"<(\w+)>", lambda m: SHOWN.get(m[1], m[1]), words[0])
                group = getattr(one, "rich_help_panel", None) or (DATA if one.required else MORE)
                rows[group].append((name if name.startswith("-") else name.split()[0], words[1]))
        few = sum(map(len, rows.values())) < FEW
        for group, some in {"Options": chain(*rows.values())}.items() if few else rows.items():
            if some:
                with formatter.section(group):
                    formatter.write_dl(list(some))

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        from ..spaces import all_spaces

        if any(one.name == "space" for one in self.get_params(ctx)):
            names = ", ".join(kind.name for kind in all_spaces())
            words = f"Names for --space: {names}; or module:Class. 'sfumato spaces' says what they are."
            formatter.write(f"\n{fill(words, formatter.width, break_on_hyphens=False)}\n")
