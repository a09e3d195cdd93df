"""Pictures from public numbers, for the page: no record is read for them, and views say what is drawn."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import Refusal
from ...mechanisms.plan import Plan
from ...mechanisms.tangent import TangentKNorm
from ...numerics.arrays import Array
from ...records import Records
from ...regions import Region
from ...release.record import SpaceOf
from ...spaces import Space
from ...views import view_of
from ...views.forecasts import at_centre, plan_in_short
from ...views.scene import Dots, Line, Mark, Panel, Role, Scales, Scene
from ...views.subject import Subject
from ...views.words import guesses, in_digits, of_what, powers
from .panels import on_page

Found = dict[str, Any]  # what the page shows
DRAWS = 4  # releases shown
OTHERS = 12  # points shown about a centre
SYNTHETIC = 60  # records
P = 0.95
USELESS = "This would be useless: the public centre alone says as much. More records, a larger ε or more public knowledge help."
LEFT_OUT = (
    "The whole error counts what clipping, curvature and directions that are left out may cost too, as far as public "
    "knowledge tells: a larger ε pays for more directions, each with noise of its own."
)
EPSILONS = np.round(np.geomspace(0.03, 10, 13), 4)
TICKS = (0.03, 0.1, 0.3, 1, 3, 10)


# -- what the page asks for ---------------------------------------------------------------------------------------------
def of_region(region: Region, sample: Array | None, wide: bool = False, **looks: Any) -> dict[str, Any]:
    """Return a public centre with the public specimens it comes from, or with made-up points as far away as the radius, in a
    ``wide`` region anywhere in it; drawn with the ``links``, ``names`` and ``places`` of a :class:`Subject`.

    >>> from sfumato import Ball, Sphere
    >>> found = of_region(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), None)
    >>> found["dim"], found["landmarks"], found["words"]
    (2, False, 'The public centre, and 12 made-up records at the distance 0.4 from it.')
    """
    space = region.space
    center = region.center
    view = view_of(region)
    if looks.get("names"):
        view.check_names(looks["names"], space.point_shape)
    if wide:
        others = space.present(space.random_points(center, region.radius, OTHERS, np.random.default_rng(0)))
        words = f"A public point, and {OTHERS} made-up records anywhere within {region.radius:.3g} of it."
    elif sample is None:
        u = np.random.default_rng(0).normal(size=(OTHERS, space.dim))
        u *= region.radius / np.linalg.norm(u, axis=1, keepdims=True)
        others = space.present(space.exp(center, space.from_coordinates(center, u)))
        words = f"The public centre, and {OTHERS} made-up records at the distance {region.radius:.3g} from it."
    else:
        others = _turned(space, center, sample[:: max(1, len(sample) // OTHERS)])
        looks |= {"others_label": "public specimens", "public": "public mean"}
        words = f"The mean of {len(sample)} public specimens, and some; the region's size is {region.radius:.3g}."
    shown = Subject(SpaceOf.of(space), space.present(center), region.radius, others=others, **looks)
    return {
        **on_page(view.scene(shown)),
        "dim": space.dim,
        "landmarks": space.kind == "landmarks",
        "named": view.nameable,
        "words": words,
    }


def of_release(plan: Plan, whom: str = "one person", more: Found | None = None, **looks: Any) -> Found:
    """Return what releases would look like, of synthetic records that lie evenly about the public centre, and what there is to
    say of them, some of it in ``more``, to protect ``whom``; names that are not those of its channels are left out."""
    space = plan.space
    records = _synthetic(plan)
    rng = np.random.default_rng(1)
    draws = np.stack([plan.draw(records, rng).value for _ in range(DRAWS)])
    made_up = at_centre(plan)
    if len(looks.get("names", ())) != len(made_up.value):
        looks["names"] = ()
    others = _turned(space, plan.region.center, draws)
    looks |= {"others": others, "others_label": "made-up releases", "role": Role.DRAW}
    shown = replace(Subject.of(made_up, P), value=None, **looks)
    found: Found = {"error": plan.error_95, "useless": plan.useless, "says": plan_in_short(plan)[1], "also": []}
    found |= more or {}
    fallback = plan.fallback_95
    unfit = [] if fallback is None else [f"If a look finds that the public specimens do not fit: up to {fallback:.3g}."]
    return {
        **on_page(view_of(plan.region).scene(shown)),
        **found,
        "also": [*unfit, *found["also"], *([USELESS] if found["useless"] else [])],
        "means": f"{powers(str(plan.privacy))}: of 100 guesses whether {whom} is in, at most {guesses(plan.facts.mu)} are "
        "right instead of 50, whatever else is known.",
        "of": of_what(made_up, found["error"]),
        "more": _by(plan, whom),
        "mechanism": plan.name,
        "words": "What would be released of made-up records about the public centre. Not one of your records was read for it.",
    }


def _by(plan: Plan, whom: str) -> str:
    """Return by which noise a release is made, and what ε bounds."""
    d = plan.space.dim
    some = plan.directions or d
    left = f", in {some} of {d} directions; nothing is learned of the others" if some < d else ""
    epsilon, *delta = plan.privacy.numbers
    odds = f"e^{epsilon:g}·p{' + δ' if delta else ''}, where e^{epsilon:g} = {in_digits(np.exp(epsilon))}"
    return f"Mechanism: {plan.name}{left}. To exchange {whom} changes a probability p of an outcome to at most {odds}."


def of_errors(planned: Callable[[float], Plan], epsilon: float, error: float) -> dict[str, Any]:
    """Return the whole error against ε, on logarithmic scales, with the choice of the curator marked; and as a table.

    With ε the number of directions grows, and with it the noise: its own curve has kinks, and may rise.  The whole error, by
    which the number of directions is chosen, does not.
    """
    rows = _errors(planned)
    several = any(row.error_95 > 1.0001 * row.noise_95 for row in rows)
    table = []
    for row in rows:
        more = [f"{row.noise_95:.3g}", str(row.directions or row.space.dim)] if several else []
        table.append([f"{row.privacy.numbers[0]:g}", f"{row.error_95:.3g}", *more, "useless" if row.useless else ""])
    return {
        **on_page(Scene([[_curve(rows, several, np.array([epsilon, error]))]])),
        "head": ["ε", "Error at 95%", *(["Of this noise", "Directions"] if several else []), ""],
        "table": table,
        "words": f"The error at 95% against ε, by {rows[0].name}. {LEFT_OUT if several else ''}".strip(),
    }


def _curve(rows: list[Plan], several: bool, chosen: Array) -> Panel:
    """Return the panel of the error against ε, with the size of the region, above which a release is useless."""
    points = np.array([(row.privacy.numbers[0], row.error_95, row.noise_95, row.region.radius) for row in rows])
    errors = np.log10(np.append(points[:, 1:3], chosen[1]))
    low = np.array([EPSILONS[0], 10 ** (np.floor(10 * errors.min()) / 10 - 0.1)])
    high = np.array([EPSILONS[-1], 10 ** (np.ceil(10 * errors.max()) / 10 + 0.1)])
    marks: list[Mark] = []
    if rows[0].gain is None and low[1] < points[0, 3] < high[1]:
        marks.append(Line(points[:, [0, 3]], Role.REACH, "size of the region: useless above"))
    if several:
        marks.append(Line(points[:, [0, 2]], Role.NOISE, "noise alone"))
    marks.append(Line(points[:, :2], Role.VALUE, "whole error"))
    if low[0] <= chosen[0] <= high[0]:
        marks.append(Line(np.array([[chosen[0], low[1]], chosen]), Role.DRAW, variant=2))
        marks.append(Dots(chosen[None], Role.DRAW, "your choice", size=10.0))
    scales = Scales("ε", "error at 95%", ticks=TICKS, log_x=True, log_y=True)
    return Panel(marks, low, high, scales=scales, equal=False)


def _errors(planned: Callable[[float], Plan]) -> list[Plan]:
    """Return the plans at each ε at which there is one."""
    rows: list[Plan] = []
    for epsilon in EPSILONS.tolist():
        with suppress(Refusal):
            rows.append(planned(epsilon))
    if not rows:
        raise Refusal("nothing can be released at any ε up to 10: use more records, or a smaller radius")
    return rows


def _synthetic(plan: Plan) -> Records:
    """Return records in pairs on both sides of the centre, so that it is their mean."""
    region = plan.region
    rng = np.random.default_rng(0)
    space = region.space
    center = region.center
    half = rng.normal(size=(SYNTHETIC // 2, space.dim))
    half *= region.radius / 2 / np.linalg.norm(half, axis=1, keepdims=True)
    chart = getattr(plan, "chart", None)
    chart = chart.chart if isinstance(chart, TangentKNorm) else chart  # of a second part
    if chart is not None:
        w = rng.normal(size=(SYNTHETIC // 2, len(chart.axes)))
        half = chart.tangent(w / (2 * np.linalg.norm(w, axis=1, keepdims=True)))
    return Records(space, space.exp(center, space.from_coordinates(center, np.concatenate([half, -half]))))


def _turned(space: Space, center: Any, points: Array) -> Array:
    """Return points as they look from the centre: shapes turned to it, and of its size."""
    base = space.validate(points)
    with np.errstate(all="ignore"):
        seen = space.present(space.exp(center, space.log(center, base)))
    return np.asarray(np.where(np.isfinite(seen), seen, space.present(base)))
