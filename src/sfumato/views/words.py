"""A release in plain words: facts, each about one thing.  The description, the report and notebooks all say these."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from ..errors import printable
from ..laws.bounds import bounds_of, has_bounds
from ..laws.privacy import ZCDP, ApproxDP, PureDP
from ..release import Guarantee, Release
from ..release.population import no_region
from ..release.record import ChartOf, Record
from ..release.terms import COMBINED, SITES, After, Kind
from . import view_of
from .directions import in_degrees
from .subject import Subject

LONG_VALUE = 400  # numbers of a value that are still shown
UNCHECKED = (
    "This program cannot prove the sensitivity, nor see whether it was chosen after a look at the data; it tried made-up "
    "neighbours and found none that exceed it, which proves nothing. Who stated it answers for it."
)

RELATED = {  # what the curator said of public specimens
    "same": "the public specimens are from the population of the records",
    "related": "the public specimens are from a population like that of the records",
    "other": "the public specimens differ from the records no more than those of another population do",
}
SHRUNK = (
    " On average a value so moved is nearer to the mean of the clipped records, wherever that is: that is proven; that its "
    "errors are no larger at each probability was measured. It tells nothing that the draw did not, and whoever compares or "
    "combines releases starts from the draw."
)
ROBUST = "One record, whatever it is, moves it by at most 2/n of the region's size ({:.2g}), and k wrong ones by k times that."


class Fact(NamedTuple):
    """What is said of a release, after a few words that say what it is about."""

    about: str
    text: str
    mark: str = ": "  # between both

    def __str__(self) -> str:
        return f"{self.about}{self.mark}{self.text}"


def facts(release: Release) -> list[Fact]:
    """Return what was released, what is promised, how accurate it is and how it was made."""
    more = [] if release.on_manifold else [Fact("Note", "the released value is not a point of this space.")]
    if release.degrees is not None:
        more.append(Fact("The value in degrees", f"{in_degrees(release.degrees)}."))
    return [_released(release), promise(release), _accuracy(release), *notes(release), *more, _how(release)]


def describe(release: Release) -> str:
    """Return the facts as text, for a data-sharing agreement."""
    return printable("\n".join(map(str, facts(release))), "\n")


def in_short(release: Release) -> list[str]:
    """Return what was released, how far off it is, and what is said of the population: the sentences that fronts begin with."""
    name = "mean" if release.kind is Kind.MEAN else release.statistic
    name = f"combined {name}" if release.mechanism.name == COMBINED else name
    things = "records" if release.scalar is not None else view_of(release).things(Subject.of(release))
    more = []
    if release.chart is not None and (release.chart.look or {}).get("fell_back"):
        more = ["A look says that the public specimens may not fit the records."]
    elif release.spread is not None and not no_region(release):
        more = [f"The population's {name}: within {release.region(0.95).size} (95% confidence)."]
    return [f"Released the {name} of {release.n} {things}; {protects(release.guarantee)}.", _off(release), *more]


def protects(g: Guarantee) -> str:
    """Return what is promised to whom, in a few words."""
    promised = f"{powers(str(g.privacy))} protects {printable(g.unit)}"
    if g.private:
        return promised
    return f"{promised} {g.condition}" if g.condition else "made for study, not private"


def _off(release: Release) -> str:
    """Return the whole error with its parts, and what that is worth; or the noise, where no more is known."""
    if release.predicted_error is None:
        return "Nothing public is known of its error."
    noise = release.noise(0.95)
    often = "in 95 of 100 releases"
    whole = release.whole
    if whole is not None and whole.gain is not None:
        error = release.error(0.95)
        foreseen = whole.quantiles["0.95"]
        raised = f" ({foreseen:.3g} was planned)" if error > 1.001 * foreseen else ""
        parts = f"noise {noise:.3g}, the rest clipped or left out"
        alone = f"the public {'mean' if whole.relation else 'centre'} alone {whole.public:.3g}"
        far = f"Within {error:.3g} ({of_what(release, error)}) of the mean of the records {often}{raised}: {parts}."
        return f"{far} On average {whole.rms:.3g} off; {alone}: {nearer(whole.gain)}."
    clipped = release.estimate
    wide = f"the {'radius found' if release.found_privately else 'public radius'} is {release.ball.radius:.3g}"
    if release.scalar is not None:
        clipped = "that of the clipped numbers"
        wide = f"the public limits are {release.scalar.low:.3g} and {release.scalar.high:.3g}"
    return f"Within {noise:.3g} ({of_what(release, noise)}) of {clipped} {often}: noise, without what clipping moved; {wide}."


def of_what(release: Release, error: float) -> str:
    """Return what an error is measured in, or what it means, in a few words."""
    if release.scalar is not None:
        return "in the unit of the number"
    view = view_of(release)
    subject = replace(Subject.of(release), whole=release.gain is not None)
    return view.measured or view.meaning(subject, error) or release.space.metric


def notes(release: Release) -> list[Fact]:
    """Return what a release estimates, what it leaves out, and what was done before and after the draw."""
    of_chart = [] if release.scalar is not None or release.chart is None else _of_chart(release, release.chart)
    ready = [Fact("Prepared", words) for words in prepared(release)]
    return [*_together(release), *ready, *of_chart, *_beyond(release)]


# -- each fact --------------------------------------------------------------------------------------------------------------
def _released(release: Release) -> Fact:
    space = release.space
    sizes = ", ".join(f"{k} {in_words(v)}" for k, v in space.parameters.items())
    about = "; ".join(filter(None, [sizes, f"metric: {space.metric}"]))
    place = f" in the space '{space.name}' ({about})" if release.scalar is None else ""
    units = f" of {release.n} units ({printable(release.guarantee.unit)})"
    if release.chart is not None and release.scalar is None:
        units = f",{units},"  # the name says of which chart
    return Fact("Released", f"{release.statistic}{units}{place}. {first(release)}.")


def in_digits(factor: float) -> str:
    """Return a factor above 1 to three digits, or more where these would say that it is 1.

    >>> in_digits(2.7183), in_digits(1.0010005)
    ('2.72', '1.001')
    """
    texts = (f"{factor:.{digits}g}" for digits in range(3, 18))
    return next((text for text in texts if float(text) > 1), "1")


def promise(release: Release) -> Fact:
    """Return what is promised."""
    g = release.guarantee
    odds = (
        "Whatever anyone knows or learns elsewhere, replacing one unit's value by any other changes the probability of any "
        f"outcome {_change(g)}. {_also(g)}Repeated releases add up their epsilons."
    )
    if g.condition:
        given = f"{g.condition}. {UNCHECKED} If it holds, then with epsilon {g.epsilon:g}:"
        return Fact("Promise", f"{given} {odds}", ", ")
    start = f"the release is {powers(g.privacy.words)}."
    if not g.private:
        start = "none, as this value was made for study. Had it been a release, then:"
    return Fact("Promise", f"{start} {odds}")


def _change(g: Guarantee) -> str:
    """Return by how much a probability may change: by the ε of the promise, or the (ε, δ) that follows from what was asked."""
    approx = None if g.asked is None else g.approx
    epsilon = g.epsilon if approx is None else approx["epsilon"]
    power = f"e^{epsilon:g} = {in_digits(float(np.exp(epsilon)))}" if epsilon < 50 else f"e^{epsilon:g}"
    if approx is None:
        return f"by a factor of at most {power}"
    return f"from p to at most f·p + {powers(str(approx['delta']))}, f = {power}"


def _also(g: Guarantee) -> str:
    """Return what else is proven, and what it means for a guess."""
    if g.mu is None or g.rho is None or g.approx is None:
        return ""
    kinds = (PureDP(g.epsilon), ZCDP(g.rho), ApproxDP(**g.approx))
    proven = "; ".join(powers(str(kind)) for kind in kinds if kind != g.privacy)
    right = f"Of 100 guesses whether one unit is in, at most {guesses(g.mu)} would be right instead of 50."
    return f"{right} Also proven, but for rounding: {proven}. "


def guesses(mu: float) -> str:
    """Return how many of 100 guesses whether one unit is in are right, rounded up: 100·Φ(μ/2), whatever else is known.

    >>> guesses(0.1024), guesses(1.0)
    ('52.1', '70')
    """
    right = 100 * ndtr(mu / 2)
    return f"{np.ceil(10 * right) / 10:g}" if right < 55 else f"{min(100, np.ceil(right)):g}"


def _accuracy(release: Release) -> Fact:
    error = release.predicted_error
    if error is None:
        return Fact("Accuracy", "nothing public is known of it.")
    within = f"lies within {error.radius:.4g} of {release.estimate} ({error.distance})."
    noise = f"with probability {error.probability:g} the released value {within}"
    if release.gain is not None:
        return Fact("Accuracy", f"{whole(release)} Of the noise alone: {noise}")
    far = release.stated(error.probability)
    curved = f" In the space that is at most {far:.4g}." if far > 1.0001 * error.radius else ""
    return Fact("Accuracy", f"{noise}{curved} How far clipping moved that is not known to the public.")


def whole(release: Release) -> str:
    """Return the whole error as :func:`in_short` says it, with what it rests on; empty where clipping is not counted."""
    if release.whole is None or release.gain is None:
        return ""
    rests = RELATED.get(release.whole.relation, "records differ from the public centre as smoothness has it")
    return f"{_off(release)} That is so if {rests}; what clipping, curvature and the rest cost is by a model of what is public."


def nearer(gain: float) -> str:
    """Return a gain in words.

    >>> nearer(1.94), nearer(1.01), nearer(0.9)
    ('1.9 times nearer', 'hardly nearer', 'no nearer')
    """
    if gain <= 1:
        return "no nearer"
    return "hardly nearer" if gain < 1.05 else f"{gain:.2g} times nearer"


def _how(release: Release) -> Fact:
    c = release.calibration
    drawn = f"mechanism '{release.mechanism.name}' with scale {c.sigma:.6g} = {c.formula}; {release.sampler}"
    lattice = f"rounded to a public lattice of spacing {release.lattice_spacing:g}"
    made = f"{drawn}; randomness from {release.generator}; {lattice}"
    return Fact("How", f"{made}. {rounding(release)} {running_time(release)}")


def _together(release: Release) -> Iterator[Fact]:
    """Yield with what else this was released, or of what it was combined."""
    if release.guarantee.grouped:
        cost = "All of them together cost this epsilon, as each unit is in one group; who is in which group is public."
        yield Fact("Groups", f"this is the mean of one of several groups that were released together. {cost}")
    how = release.mechanism.options
    if release.mechanism.name == SITES:
        who = ", ".join(f"{name} ({n})" for name, n in how["sites"].items())
        holds = f"It protects from these sites too if {how['trusted']} of them drew their noise; any one can spoil the value"
        yield Fact("Sites", f"{printable(who)} added up, in round {how['round']}, what no one has seen alone. {holds}.")
    if release.mechanism.name == COMBINED:
        parts = ", ".join(f"{part['share']:.0%} of {part['n']} units" for part in how["releases"])
        apart = how["people"] == "apart"
        who = "as was said, nobody is in two of them" if apart else "somebody may be in several of them"
        yield Fact("Studies", f"the means of {len(how['releases'])} are weighted ({parts}); {who}.")


def _of_chart(release: Release, chart: ChartOf) -> Iterator[Fact]:
    """Yield what a release by chart estimates, what it leaves out, and what was looked at before."""
    here = None if release.bias == chart.bias else release.bias
    bounds = {"whatever the records are": chart.bias, "if the error is as stated above": here}
    close = [f"at most {bound:.3g} away {when}" for when, bound in bounds.items() if telling(release, bound)]
    near = "That may be close to their Fréchet mean; how close is not known here."
    if chart.bias == 0:
        near = "Here that is their Fréchet mean."
    elif close:
        near = f"Their Fréchet mean is {', and '.join(close)}."
    centre = "centre of the ball" if release.found_privately else "public centre"
    robust = f" {ROBUST.format(2 * release.ball.radius / release.n)}"
    robust = "" if release.mechanism.name in (COMBINED, SITES) else robust
    yield Fact("Estimated", f"the mean of the clipped records as they look from the {centre}. {near}{robust}")
    if chart.frozen:
        stay, them = ("stays", "it") if chart.frozen == 1 else ("stay", "them")
        words = f"{chart.frozen} of {len(chart.axes) + chart.frozen} directions {stay} as in the public centre"
        counted = "no error above counts" if release.gain is None else "the whole error counts, by a model,"
        yield Fact("Left out", f"{words}; nothing is learned about {them}, and {counted} what is left out.")
    if chart.look is not None:
        moved = "it may not, so the ball was used in place of the ellipsoid"
        answer = moved if chart.look.get("fell_back") else "it does, so the ellipsoid was used"
        looked = "on a look at whether the public sample fits the records"
        spent = f"{100 * chart.look['share']:.3g}% of epsilon was spent {looked}"
        yield Fact("Before", f"{spent}: {answer}. That answer is private too.")
    elif release.whole is not None and release.whole.relation not in ("", "same"):
        rests = "that they do rests on what the curator said, and no region is given for the mean of the population"
        yield Fact("Before", f"no look was made at whether the public specimens fit the records; {rests}.")


def _beyond(release: Release) -> Iterator[Fact]:
    """Yield how far records count, what is known of the population, and what was done after the draw."""
    if release.scalar is not None and release.scalar.reach is not None:
        far = f"{release.scalar.reach:.4g}"
        smaller = "If many are, the released number is smaller than the variance of the records."
        yield Fact("Reach", f"a record farther than {far} from the released mean counts as {far} away. {smaller}")
    if release.spread is not None:
        why = no_region(release)
        none = f"no region can be given for the mean of the population: {why}."
        yield Fact("Population", none if why else release.region(0.95).words)
    if release.after:
        public = f"{release.after}, with public numbers alone"
        done = public if release.scalar is None else "kept between the public limits"
        kept = "this changed nothing" if release.unprojected is None else "release.raw is the draw before that"
        shrunk = release.chart is not None and After.SHRUNK in release.chart.after
        yield Fact("After", f"the draw was {done}; {kept}.{SHRUNK if shrunk else ''}")


def prepared(record: Record) -> list[str]:
    """Return what each specimen went through before anything else, as was asked for: a sentence, or none."""
    said: dict[str, Any] = {"reference": 1, "sliders": (), "symmetric": (), **record.prepared}
    known = f"{said['reference']} public specimens" if said["reference"] > 1 else "one public shape"
    least = {"bending": "bending energy", "distance": "Procrustes distance"}.get(said.get("slid", ""))
    words = {
        "curves": f"curves and outlines resampled to {said.get('curves')} points each",
        "missing": f"missing landmarks, if any, estimated from {known}",
        "slid": f"{len(said['sliders']) or 'all'} semilandmarks slid to the least {least} from {known}",
        "symmetric": f"left and right averaged ({len(said['symmetric'])} pairs)",
    }
    done = "; ".join(text for name, text in words.items() if name in record.prepared)
    return [f"each specimen by itself, by public knowledge alone: {done}."] if done else []


# -- parts of sentences -------------------------------------------------------------------------------------------------------
def in_words(value: Any) -> str:
    """Return a parameter of a space as text; one that is a list of spaces too.

    >>> in_words([{"name": "sphere", "parameters": {"dim": 2}}, {"name": "euclidean", "parameters": {"dim": 1}}])
    '[sphere (dim 2), euclidean (dim 1)]'
    """
    if isinstance(value, Mapping) and value.keys() == {"name", "parameters"}:
        inside = ", ".join(f"{k} {in_words(v)}" for k, v in value["parameters"].items())
        return f"{value['name']} ({inside})" if inside else str(value["name"])
    return f"[{', '.join(map(in_words, value))}]" if isinstance(value, list) else str(value)


def first(release: Release) -> str:
    """Return what was done to records before anything was computed of them."""
    if (scalar := release.scalar) is not None:
        least = "" if scalar.low == 0 else f"at least {scalar.low:.6g} and "
        each = f"{scalar.each[0].upper()}{scalar.each[1:]}"
        return f"{each} were first clipped to {least}at most {scalar.high:.6g}, which is public"
    so = "so the released statistic is that of the clipped records"
    return f"Every record was first clipped to {region(release)}, {so}"


def region(release: Release) -> str:
    """Return what records were clipped to."""
    chart = release.chart
    if chart is None or chart.basis is None:
        if release.found_privately:
            return f"a ball of radius {release.ball.radius:.6g} ({release.found})"
        return f"the public ball of radius {release.ball.radius:g} about a public centre"
    p = len(chart.axes)
    directions = f"{p} of {p + chart.frozen}" if chart.frozen else f"all {p}"
    lengths = f"semi-axes from {min(chart.axes):.3g} to {max(chart.axes):.3g} ({chart.source})"
    return f"the public ellipsoid with {directions} directions and {lengths} about a public centre"


def telling(release: Release, bound: float | None) -> bool:
    """Return whether a bound on the distance of two means says anything: less than the region and the space are wide."""
    space = release.space.known
    most = 2 * release.ball.radius
    if space is not None and has_bounds(space):
        most = min(most, bounds_of(space).injectivity_radius)
    return bound is not None and bound < most


def rounding(release: Release) -> str:
    """Return what rounding errors cost."""
    g = release.guarantee
    uses = f"at most {powers(f'{g.numerical_epsilon:.1e}')}" if g.numerical_epsilon else "none"
    if isinstance(g.privacy, ApproxDP):
        return f"Rounding is accounted for: it uses {uses} of ε, and what it adds to δ is part of the δ that is stated."
    does = "moves a draw with a probability of at most" if g.asked else "adds δ ="
    adds = f"{does} {powers(f'{g.numerical_delta:.1e}')}" if g.numerical_delta else "adds no δ"
    return f"Rounding is accounted for: it uses {uses} of ε and {adds}."


def powers(text: str) -> str:
    """Return 1.2e-09 as people write it, 1.2·10⁻⁹; likewise 2^-9.

    >>> powers("1.2e-09, 1e-06")
    '1.2·10⁻⁹, 10⁻⁶'
    """
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    text = re.sub(r"(?<![\d.])1e([+-]\d+)", lambda m: f"10^{int(m[1])}", text)
    text = re.sub(r"e([+-]\d+)", lambda m: f"·10^{int(m[1])}", text)
    return re.sub(r"\^(-?\d+)", lambda m: m[1].translate(digits), text)


def running_time(release: Release) -> str:
    """Return what the running time of the sampler may tell of the data."""
    delta = release.guarantee.clock_delta
    if delta is None:
        return "The running time of the sampler may depend on the data."
    if delta == 0:
        return "The sampler's number of proposals does not depend on the data."
    return f"The sampler's number of proposals depends on the data with probability at most {delta:.1e}."


def value_in_words(release: Release) -> str:
    """Return the released value for the screen, to six digits."""
    value = release.value
    if value.size > LONG_VALUE:
        return f"Value: {' x '.join(map(str, value.shape))} numbers, in the record"
    rows = value.reshape(len(value), -1) if value.ndim > 1 else value[None]
    return "Value, to six digits:\n" + "\n".join("".join(f"{x:14.6g}" for x in row) for row in rows)
