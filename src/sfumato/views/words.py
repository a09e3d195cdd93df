"""A release in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import printable
from ..laws.bounds import bounds_of, has_bounds
from ..release.record import GROUPED
from ..release.scalars import VARIANCE, scalar_of
from .directions import in_degrees

if TYPE_CHECKING:
    from ..release import Release

LONG_VALUE = 400  # numbers of a value that are still shown
UNCHECKED = (
    "This program cannot prove the sensitivity, nor see whether it was chosen after a look at the data; it tried made-up "
    "neighbours and found none that exceed it, which proves nothing. Who stated it answers for it."
)


def describe(release: Release) -> str:
    """What was released, what is promised, how accurate it is and how it was made: for a data-sharing agreement."""
    r, g = release, release.guarantee
    sizes = ", ".join(f"{k} {in_words(v)}" for k, v in r.space.parameters.items())
    space = "; ".join(filter(None, [sizes, f"metric: {r.space.metric}"]))
    place = f" in the space '{r.space.name}' ({space})" if scalar_of(release) is None else ""
    factor = f" = {np.exp(g.epsilon):.3g}" if g.epsilon < 50 else ""
    notes = "".join(f"{line}\n" for line in of_chart(release))
    notes += "" if r.on_manifold else "Note: the released value is not a point of this space.\n"
    notes += "" if r.degrees is None else f"The value in degrees: {in_degrees(r.degrees)}.\n"
    words = (
        f"Released: {what(release, f'units ({printable(g.unit)})')}{place}. {first(release)}.\n"
        f"{_promise(release)} Whatever anyone knows or learns elsewhere, "
        f"replacing one unit's value by any other changes the probability of any outcome by a factor of at most "
        f"e^{g.epsilon:g}{factor}. Repeated releases add up their epsilons.\n"
        f"{_accuracy(release)}\n{notes}"
        f"How: mechanism '{r.mechanism.name}' with scale {r.calibration.sigma:.6g} = "
        f"{r.calibration.formula}; {r.sampler}; randomness from {r.generator}; rounded to a public lattice "
        f"of spacing {r.lattice_spacing:g}. {rounding(release)} {clock(g.clock_delta)}"
    )
    return printable(words, "\n")


def in_words(value: Any) -> str:
    """A parameter of a space; one that is a list of spaces too.

    >>> in_words([{"name": "sphere", "parameters": {"dim": 2}}, {"name": "euclidean", "parameters": {"dim": 1}}])
    '[sphere (dim 2), euclidean (dim 1)]'
    """
    if isinstance(value, Mapping) and value.keys() == {"name", "parameters"}:
        inside = ", ".join(f"{k} {in_words(v)}" for k, v in value["parameters"].items())
        return f"{value['name']} ({inside})" if inside else str(value["name"])
    return f"[{', '.join(map(in_words, value))}]" if isinstance(value, list) else str(value)


def what(release: Release, things: str) -> str:
    """The statistic of so many things."""
    statistic, chart, about = release.statistic.partition(" in a chart")
    return f"{statistic} of {release.n} {things}" + (f",{chart}{about}," if chart else "")


def first(release: Release) -> str:
    """What was done to records before anything was computed of them."""
    scalar = scalar_of(release)
    if scalar is None:
        so = "so the released statistic is that of the clipped records"
        return f"Every record was first clipped to {region(release)}, {so}"
    return f"{scalar.held[0].upper()}{scalar.held[1:]}"


def region(release: Release) -> str:
    """What records were clipped to."""
    chart = release.chart
    if chart is None or chart.basis is None:
        if release.found:
            return f"a ball of radius {release.ball.radius:.6g} ({release.found})"
        return f"the public ball of radius {release.ball.radius:g} about a public centre"
    p = len(chart.axes)
    directions = f"{p} of {p + chart.frozen}" if chart.frozen else f"all {p}"
    lengths = f"semi-axes from {min(chart.axes):.3g} to {max(chart.axes):.3g} ({chart.source})"
    return f"the public ellipsoid with {directions} directions and {lengths} about a public centre"


def frozen(release: Release) -> str:
    """What a release by chart does not tell; empty if there is no such thing."""
    chart = release.chart
    if chart is None or not chart.frozen:
        return ""
    stay, them = ("stays", "it") if chart.frozen == 1 else ("stay", "them")
    count = f"{chart.frozen} of {len(chart.axes) + chart.frozen} directions"
    return f"{count} {stay} as in the public centre; nothing is learned about {them}"


def of_chart(release: Release) -> list[str]:
    """What a release by chart estimates, what it leaves out, and what was done before and after the draw."""
    chart, lines = release.chart, list[str]()
    scalar = scalar_of(release)
    if release.guarantee.neighbours == GROUPED:
        lines.append(
            "Groups: this is the mean of one of several groups that were released together. All of them together cost this "
            "epsilon, as each unit is in one group; who is in which group is public."
        )
    if chart is not None and scalar is None:
        here = None if release.bias == chart.bias else release.bias
        bounds = {"whatever the records are": chart.bias, "if the error is as stated above": here}
        close = ", and ".join(
            f"at most {bound:.3g} away {when}" for when, bound in bounds.items() if telling(release, bound)
        )
        near = f"That is close to their Fréchet mean: {close}."
        near = near if close else "That may be close to their Fréchet mean; how close is not known here."
        near = "Here that is their Fréchet mean." if chart.bias == 0 else near
        centre = "centre of the ball" if release.found else "public centre"
        lines.append(f"Estimated: the mean of the clipped records as they look from the {centre}. {near}")
        if chart.frozen:
            lines.append(f"Left out: {frozen(release)}, and no error above counts what is left out.")
        if chart.look is not None:
            no, yes = "it may not, so the ball was used in place of the ellipsoid", "it does, so the ellipsoid was used"
            spent = f"{100 * chart.look['share']:.3g}% of epsilon was spent"
            looked = f"{spent} on a look at whether the public sample fits the records"
            lines.append(f"Before: {looked}: {no if chart.look.get('fell_back') else yes}. That answer is private too.")
    if scalar is not None and release.statistic == VARIANCE:
        far = f"{scalar.high**0.5:.4g}"
        lines.append(
            f"Reach: a record farther than {far} from the released mean counts as {far} away. If many are, the released number "
            "is smaller than the variance of the records."
        )
    if release.spread is not None:
        lines.append(f"Population: {release.region(0.95).words}")
    if release.after and scalar is not None:
        changed = "this changed nothing" if release.unprojected is None else "release.raw is the draw before that"
        lines.append(f"After: the draw was kept between the public limits; {changed}.")
    elif release.after:
        kept = "this changed nothing" if release.unprojected is None else "release.raw is the draw before that"
        lines.append(f"After: the draw was {release.after}, with public numbers alone; {kept}.")
    return lines


def telling(release: Release, bound: float | None) -> bool:
    """Tell whether a bound on the distance of two means says anything: less than the region and the space are wide."""
    space, most = release.space.known, 2 * release.ball.radius
    if space is not None and has_bounds(space):
        most = min(most, bounds_of(space).injectivity_radius)
    return bound is not None and bound < most


def _promise(release: Release) -> str:
    g = release.guarantee
    if g.condition:
        return f"Promise, {g.condition}. {UNCHECKED} If it holds, then with epsilon {g.epsilon:g}:"
    if not g.private:
        return "Promise: none, as this value was made for study. Had it been a release, then:"
    return f"Promise: the release is {g.epsilon:g}-differentially private."


def _accuracy(release: Release) -> str:
    error = release.predicted_error
    if error is None:
        return "Accuracy: nothing public is known of it."
    return (
        f"Accuracy: with probability {error.probability:g} the released value lies within {error.radius:.4g} of "
        f"{release.estimate} ({error.distance}). How far {'clipping' if scalar_of(release) is None else 'holding them'} moved "
        "that is not known to the public."
    )


def rounding(release: Release) -> str:
    """Say what rounding errors cost."""
    g = release.guarantee
    uses = f"at most {powers(f'{g.numerical_epsilon:.1e}')}" if g.numerical_epsilon else "none"
    adds = f"adds δ = {powers(f'{g.numerical_delta:.1e}')}" if g.numerical_delta else "adds no δ"
    return f"Rounding is accounted for: it uses {uses} of ε and {adds}."


def powers(text: str) -> str:
    """Write 1.2e-09 as people do, 1.2·10⁻⁹; likewise 2^-9.

    >>> powers("1.2e-09")
    '1.2·10⁻⁹'
    """
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    text = re.sub(r"e([+-]\d+)", lambda m: f"·10^{int(m[1])}", text)
    return re.sub(r"\^(-?\d+)", lambda m: m[1].translate(digits), text)


def clock(delta: float | None) -> str:
    """What the running time of the sampler may tell of the data."""
    if delta is None:
        return "The running time of the sampler may depend on the data."
    if delta == 0:
        return "The sampler's number of proposals does not depend on the data."
    return f"The sampler's number of proposals depends on the data with probability at most {delta:.1e}."


def value_in_words(release: Release) -> str:
    """The released value for the screen, to six digits."""
    value = release.value
    if value.size > LONG_VALUE:
        return f"Value: {' x '.join(map(str, value.shape))} numbers, in the record"
    rows = value.reshape(len(value), -1) if value.ndim > 1 else value[None]
    return "Value, to six digits:\n" + "\n".join("".join(f"{x:14.6g}" for x in row) for row in rows)
