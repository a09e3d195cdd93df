"""The options of the command line, made from the wishes of a request, and the help that lists them in groups."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from textwrap import fill
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from .request import GROUPS, MORE, Request, names_files, option_of, types_of, wish_of

Command = Callable[..., None]
METAVARS = {str: "TEXT", int: "NUMBER", float: "NUMBER", int | None: "NUMBER", float | None: "NUMBER"}


def taking(command: str, kind: type[Request] = Request, **usual: Any) -> Callable[[Command], Command]:
    """Return a decorator for a function whose argument ``request`` becomes the options of all wishes that a command takes.

    ``usual`` are defaults of this command; what the function has as an argument of its own is not made an option twice.
    """

    def decorate(function: Command) -> Command:
        own = dict(inspect.signature(function, eval_str=True).parameters)
        names = [part.name for part in fields(kind) if command in wish_of(part).commands and part.name not in own]
        every = [_option(kind, name, usual) for name in names]
        every += [one.replace(kind=one.KEYWORD_ONLY) for name, one in own.items() if name != "request"]

        @wraps(function)
        def run(**given: Any) -> None:
            wishes = {name: given.pop(name) for name in names}
            many = {name: tuple(value) for name, value in wishes.items() if isinstance(value, list)}
            function(request=kind(**wishes | many), **given)

        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return decorate


def _option(kind: type[Request], name: str, usual: dict[str, Any]) -> inspect.Parameter:
    """Return the parameter of a command for one wish."""
    part = next(part for part in fields(kind) if part.name == name)
    one = wish_of(part)
    hint = types_of(kind)[name]
    default = usual.get(name, inspect.Parameter.empty if one.required else part.default)
    metavar = one.metavar or ("FILE" if names_files(hint) else METAVARS.get(hint))
    how: dict[str, Any] = {"help": one.help, "metavar": metavar, "rich_help_panel": one.group}
    if one.required and isinstance(part.default, tuple):
        made = typer.Argument(**how | {"metavar": f"{metavar}S..."})
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[list[str], made])
    made = typer.Option(option_of(name, one), show_default=default not in (None, "", False, 0), **how)
    hint = Annotated[str if names_files(hint) else hint, made]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


class Grouped(TyperCommand):
    """A command whose help lists its options in the groups of the wishes, and ends with the names of all spaces."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        rows: dict[str, list[Any]] = {group: [] for group in GROUPS}
        for one in self.get_params(ctx):
            words = one.get_help_record(ctx)
            if words is not None:
                name = words[0].partition(" <list")[0]  # a metavar says enough
                rows.setdefault(getattr(one, "rich_help_panel", None) or MORE, []).append((name, words[1]))
        for group, some in rows.items():
            if some:
                with formatter.section(group):
                    formatter.write_dl(some)

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        from ..spaces import all_spaces

        names = ", ".join(kind.name for kind in all_spaces())
        words = f"Names for --space: {names}; or module:Class. 'sfumato spaces' says what they are."
        formatter.write(f"\n{fill(words, formatter.width, break_on_hyphens=False)}\n")
