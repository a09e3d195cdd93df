"""A request as what others can repeat: the command line, and the Python, that do the same."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..findings.regression import LOG_SIZE
from .request import SIZE, Request, as_typed, option_of, wish_of

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
    command = request.command
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
    number = "np.log(sf.centroid_size(data))" if r.on == SIZE else f"numbers_of(data, {r.on!r})"
    has = "" if r.on == SIZE else f" if {r.on!r} in known.labels else None"
    steps: dict[str, Any] = {  # each with what it is needed for
        f"space = {made}\ndata = sf.read({r.files[0]!r}, space{_arguments(r.reading)})": True,
        f"data = with_table(data, {r.labels!r}, {r.by if r.on in ('', SIZE) else r.on!r})": r.labels,
        f"mean = sf.Release.load({r.about!r})": r.about,
        f"known = sf.read({r.public!r}, space{_arguments(r.reading_public)})": r.public,
        _completed(r): "estimate" in r.missing or r.slide,
        f"number = {number}": r.on,
        f"data = {_symmetrized(r, 'data')}": r.symmetric,
        f"baseline = {number.replace('(data', '(known', 1)}{has}": r.on and r.public,
        f"region = {_region(r)}  # public knowledge": r.public or not r.about,
        f"release = {_call(r)}\nrelease.save({r.out!r})": True,
    }
    lines = "\n".join(line for line, needed in steps.items() if needed)
    used = ", ".join(name for name in ("numbers_of", "with_table") if f"{name}(" in lines)
    imports = {
        "from dataclasses import replace\n": "replace(" in lines,
        "import numpy as np": "np." in lines,
        "import sfumato as sf": True,
        "import sfumato.spaces": made.startswith("sfumato"),
        f"from sfumato.files.labels import {used}": used,
    }
    return "\n".join([*(line for line, needed in imports.items() if needed), "", lines, ""])


def _call(r: Request) -> str:
    """Return the call that releases what is asked for."""
    about = "mean, region=region" if r.about and r.public else "mean" if r.about else "region"
    if r.command == "variance":
        return f"sf.private_variance(data, mean, {_options(r)})"
    if r.command == "components":
        return f"sf.private_components(data, {about}, {_options(r)}{_arguments({'modes': r.modes})})"
    if r.command == "compare":
        return f"sf.compare_groups(data, {r.by!r}, region, {_options(r)}{_arguments({'within': r.within})})"
    if r.command == "regress":
        more = {"limits": r.within_limits, "covariate_is_public": r.number_is_public, "by": r.by}
        more["name"] = LOG_SIZE if r.on == SIZE else r.on
        beside = _arguments(more) + ", public_covariate=baseline" * bool(r.public)
        return f"sf.private_regression(data, number, region, {_options(r)}{beside})"
    within = "region" if r.find is None else f"prior=region, find={r.find!r}"
    return f"sf.private_mean(data, {within}, {_options(r)})"


def _arguments(given: dict[str, Any]) -> str:
    """Return the arguments of a call that were said, each after a comma."""
    return "".join(f", {name}={value!r}" for name, value in given.items() if value)


def _completed(r: Request) -> str:
    """Return what is done to specimens with missing landmarks, and to semilandmarks, the public ones among them."""
    known = "known.points" if r.public else "mean.value" if r.about else _center(r)
    lines = [f"reference = {known}  # public knowledge"]
    for data in ("data", "known")[: 2 if r.public else 1]:
        if "estimate" in r.missing:
            lines.append(f"{data} = sf.estimate_missing({data}, reference)")
        if r.slide:
            rows = f"{data}.sliders" if r.slide == "curves" else f"sf.read({r.slide!r}, missing='none')"
            lines.append(f"{data} = sf.slide({data}, reference, {rows}, by={r.slide_by!r})")
    return "\n".join(lines)


def _symmetrized(request: Request, points: str) -> str:
    from ..landmarks.symmetry import read_pairs

    return f"sf.symmetrize({points}, {read_pairs(request.symmetric)})" if request.symmetric else points


def _center(r: Request) -> str:
    """Return the call that reads the public centre."""
    if Path(r.center).exists() or not r.center.isalpha():
        return f"sf.read({r.center!r}, space{_arguments({'curves': r.curves})}).points[0]"
    return "space.present(space.origin())"


def _region(r: Request) -> str:
    """Return the call that makes the region."""
    if r.public:
        more = _arguments({"relation": r.relation, "modes": r.modes, "prior": r.directions})
        return f"sf.Ellipsoid.from_sample(space, {_symmetrized(r, 'known')}{more})"
    if r.prior_limits is not None:
        return f"sf.widest_ball({', '.join(['space', *map(repr, r.prior_limits)])})"
    maker, end = MAKERS[r.directions]
    region = f"sf.{maker}(space, {_symmetrized(r, _center(r))}, radius={r.widest!r}{end})"
    return f"replace({region}, modes={r.modes})" if r.modes else region


def _options(r: Request) -> str:
    """Return the other arguments of the call that releases."""
    unit = f"unit={r.unit or 'one record'!r}"
    if r.unit_column:
        name = r.unit or f"one {r.unit_column}: all its records"
        unit = f"unit=data.labels[{r.unit_column!r}], unit_name={name!r}"
    budget = f", budget=sf.Ledger({r.ledger!r}{_arguments({'dataset': r.dataset})})" if r.ledger else ""
    promise = f"privacy=sf.{r.privacy!r}" if r.delta or r.rho or r.mu else f"epsilon={r.epsilon!r}"
    return f"{promise}, {unit}{_arguments(r.said)}{budget}"
