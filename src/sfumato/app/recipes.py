"""A request as what others can repeat: the command line, and the Python, that do the same."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .request import Request, as_typed, option_of, wish_of

if TYPE_CHECKING:
    from ..spaces import Space

MAKERS = {
    None: ("Ball", ""),
    "smooth": ("Ellipsoid.smooth", ""),
    "open": ("Ellipsoid.smooth", ", closed=False"),
    "bending": ("Ellipsoid.bending", ""),
}


def as_command(request: Request) -> str:
    """Return the command line that makes the same release, with a picture and a report beside the record.

    >>> as_command(Request(files=("wings.tps",), public="atlas.tps", epsilon=1.0, unit="one wing"))
    "sfumato release wings.tps --unit 'one wing' --public atlas.tps --epsilon 1 --out mean.json --plot mean.png --report
    mean.html"
    """
    command = "compare" if request.by else "release"
    words = ["sfumato", command, *map(shlex.quote, request.files)]
    files = {"out": "", "plot": ".png", "report": ".html"}  # said in any case, at the end
    for part in fields(request):
        one = wish_of(part)
        value = getattr(request, part.name)
        if command in one.commands and value != part.default and part.name not in (*files, "files"):
            words.append(option_of(part.name, one))
            words += [] if value is True else [as_typed(value)]
    for name, ending in files.items():
        path = Path(request.out).with_suffix(ending) if ending else request.out
        words += [f"--{name}", as_typed(path)]
    return " ".join(words)


def as_python(request: Request, space: Space) -> str:
    """Return the Python that makes the same release of records of a space."""
    import sfumato

    r = request
    made = f"sf.{space!r}"
    if not hasattr(sfumato, type(space).__name__):
        made = f"sfumato.spaces.space_typed({space.typed!r}).sized()"
    lines = [f"space = {made}", f"data = sf.read({r.files[0]!r}, space{_arguments(r.reading)})"]
    if r.symmetric:
        lines += [f"data = replace(data, points={_symmetrized(r, 'data.points')})"]
    lines += [f"region = {_region(r)}  # public knowledge"]
    if r.by:
        groups = f"groups_of(data, {r.by!r}, {r.labels!r})" if r.labels else repr(r.by)
        lines += [f"release = sf.compare_groups(data, {groups}, region, {_options(r)})"]
    else:
        within = "region" if r.find is None else f"prior=region, find={r.find!r}"
        lines += [f"release = sf.private_mean(data, {within}, {_options(r)})"]
    lines += [f"release.save({r.out!r})"]
    imports = {
        "from dataclasses import replace\n": "replace(" in "".join(lines),
        "import sfumato as sf": True,
        "import sfumato.spaces": made.startswith("sfumato"),
        "from sfumato.files.labels import groups_of": bool(r.by and r.labels),
    }
    return "\n".join([*(line for line, needed in imports.items() if needed), "", *lines, ""])


def _arguments(given: dict[str, Any]) -> str:
    """Return the arguments of a call that were said, each after a comma."""
    return "".join(f", {name}={value!r}" for name, value in given.items() if value)


def _symmetrized(request: Request, points: str) -> str:
    from ..landmarks.symmetry import read_pairs

    return f"sf.symmetrize({points}, {read_pairs(request.symmetric)})" if request.symmetric else points


def _region(request: Request) -> str:
    """Return the call that makes the region."""
    r = request
    if r.public:
        alike = Path(r.public).suffix.lower() == Path(r.files[0]).suffix.lower()
        sample = f"sf.read({r.public!r}, space{_arguments(r.reading) if alike else ''})"
        more = _arguments({"relation": r.relation, "modes": r.modes, "prior": r.directions})
        return f"sf.Ellipsoid.from_sample(space, {_symmetrized(r, sample)}{more})"
    if r.limits is not None:
        return f"sf.widest_ball({', '.join(['space', *map(repr, r.limits)])})"
    center = "space.present(space.origin())"
    if Path(r.center).exists() or not r.center.isalpha():
        center = f"sf.read({r.center!r}, space).points[0]"
    maker, end = MAKERS[r.directions]
    region = f"sf.{maker}(space, {_symmetrized(r, center)}, radius={r.widest!r}{end})"
    return f"replace({region}, modes={r.modes})" if r.modes else region


def _options(request: Request) -> str:
    """Return the other arguments of the call that releases."""
    r = request
    names = ("mechanism", "steps", "invalid", "inference", "allow_useless")
    given = {name: value for name in names if (value := getattr(r, name)) != getattr(Request, name)}
    unit = f"unit={r.unit or 'one record'!r}"
    if r.unit_column:
        name = r.unit or f"one {r.unit_column}: all its records"
        unit = f"unit=data.labels[{r.unit_column!r}], unit_name={name!r}"
    budget = f", budget=sf.Ledger({r.ledger!r}{_arguments({'dataset': r.dataset})})" if r.ledger else ""
    promise = f"privacy=sf.{r.privacy!r}" if r.delta or r.rho or r.mu else f"epsilon={r.epsilon!r}"
    return f"{promise}, {unit}{_arguments(given)}{budget}"
