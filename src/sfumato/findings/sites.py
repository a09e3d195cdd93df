"""One release of the records of several sites: each sends one masked file, and only the sum, noise and all, can be read.

A part is kept beside its site's key before it is given out, and given out ever after: no mask hides two things (Result 13).
"""

import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from operator import index
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..atomic import check_writable
from ..errors import Fix, Refusal, printable
from ..files import Dataset, as_data
from ..files.labels import group_name
from ..files.people import RECORD
from ..laws.privacy import Privacy, as_privacy
from ..laws.sampling import secure_generator
from ..laws.sampling.divided import GRID, Divided
from ..mechanisms.base import gather
from ..mechanisms.inference import check_share
from ..mechanisms.parted import Parted, PartedSpread, Total
from ..mechanisms.paying import paying
from ..mechanisms.stages import Composition
from ..mechanisms.tangent import BITS, whole_sums
from ..numerics.arrays import Array, Points, as_numbers
from ..records import Records
from ..regions import Ball, Ellipsoid, Region, Settled
from ..release import Release
from ..release.document import Document
from ..release.ledger import Ledger
from ..release.masks import MODULUS, SiteKey, code_of
from ..release.record import MechanismOf, SpaceOf, WholeOf
from ..release.terms import SITES, Neighbours
from .groups import Comparison, by_group, take_label

MOST = 1 << 40  # records of a site
WIDEST = 2.0**20  # scale of the noise of a sum, times directions: sums stay far below 2^127
EQUAL = 1e-8  # how far scales may differ that two sites compute


@dataclass(frozen=True)
class SiteOf:
    """A site of a study: its public key, and between which numbers that of its units lies."""

    key: str
    least: int
    most: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(Document):
    """What one site sends: whole numbers modulo 2^128, uniform to all who do not have those of every other site."""

    study: str  # the SHA-256 of the study, which stands for its round too
    site: str
    units: list[int]  # how many, of each group
    numbers: list[int]
    format: ClassVar[str] = "sfumato site part 1"
    noun: ClassVar[str] = "part of a site"

    def check(self) -> None:
        if not all(type(x) is int and 0 <= x < MODULUS for x in [*self.numbers, *self.units]):
            raise ValueError("its numbers are not whole ones below 2^128")


@dataclass(frozen=True, eq=False, kw_only=True)
class Study(Document):
    """The public plan of one release by several sites; the same ``code`` at all of them stands for all of it.

    >>> import tempfile
    >>> from sfumato import Euclidean
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keys = [SiteKey.create(f"{folder}/{name}.key", name) for name in ("Lima", "Oslo", "Rome")]
    ...     study = Study.of(Ball(Euclidean(dim=2), [0.0, 0.0], 1.0), dict.fromkeys(keys, 200), trusted=2, epsilon=1.0)
    ...     books = {name: Ledger.create(f"{folder}/{name}.ledger", epsilon=1) for name in study.sites}
    ...     own = np.full((200, 2), 0.3)
    ...     release = study.combine(study.contribute(own, f"{folder}/{x}.key", y, agreed=study.code) for x, y in books.items())
    >>> release.n, release.guarantee.epsilon, bool(np.all(np.abs(release.value - 0.3) < 0.2))
    (600, 1.0, True)
    """

    space: SpaceOf
    region: Mapping[str, Any]  # the arguments of a ball or an ellipsoid
    privacy: Mapping[str, float]
    sites: Mapping[str, SiteOf]
    trusted: int
    groups: list[str] = field(default_factory=lambda: [""])  # one without a name: all records
    inference: float = 0.0  # share of ε for the spread of the records
    unit: str = RECORD
    round: int = 1
    scales: list[float] = field(default_factory=list)  # of the noise of sums, of any ``trusted`` sites together
    whole: WholeOf | None = None  # by a public sample or model, for as few records as are planned for
    prepared: Mapping[str, Any] = field(default_factory=dict)  # what all do to landmarks: terms.PREPARED
    newer: ClassVar[Mapping[str, Any]] = {"prepared": {}}
    format: ClassVar[str] = "sfumato study of sites 1"
    noun: ClassVar[str] = "study of sites"

    @classmethod
    def of(cls, region: Region, sites: Mapping[SiteKey, Any], trusted: int, epsilon: Any, **asked: Any) -> "Study":
        """Return the plan of a mean in a public region; with ``groups`` of one for each of these public names.

        ``sites`` are public keys with the number of units at each, or the least and the most.  Any ``trusted`` sites draw the
        noise of one curator together: the promise holds against all others, and the error is √(sites/trusted) of one curator's.
        ``inference``, a share of ε for the spread, the ``unit`` in words, ``round``, ``prepared``, what is done to landmarks
        everywhere, as {"slid": "bending"}, and ``allow_useless`` may be said too.
        """
        promise = as_privacy(epsilon, what="a study of sites").check()
        every = {key.name: SiteOf(key.public, *map(index, np.broadcast_to(n, 2).tolist())) for key, n in sites.items()}
        if len(every) < len(sites):
            raise Refusal("two sites have the same name: each needs one of its own")
        if region.found:
            raise Refusal("this region was found privately, and a study would lose its price: give a public one")
        allow = asked.pop("allow_useless", False)
        space = SpaceOf.of(region.space)
        made = cls(space=space, region={}, privacy=promise.to_dict(), sites=every, trusted=index(trusted), **asked)
        made._check_sites()
        n = made._fewest
        chart = region.settle(max(1, int(n / (len(every) / trusted) ** 0.5)), promise)  # whose noise alone is as much
        plan = made._plan(n, chart, promise, region)
        plan.check_useful(lambda region, n, privacy: made._plan(n, region, privacy), allow)
        whole = plan.chart.whole if plan.gain is not None else None
        made = replace(made, region=chart.parameters(), scales=[x.scale for x in plan.chart.divided()], whole=whole)
        made.check()
        return made

    @property
    def _fewest(self) -> int:
        """As few units, of each group, as are planned for."""
        return max(1, sum(one.least for one in self.sites.values()) // len(self.groups))

    def _plan(self, n: int, region: Any = None, privacy: Any = None, known: Region | None = None) -> Any:
        """Return the plan for n records; the noise of sums is the same for any n."""
        privacy = privacy or Privacy.from_dict(self.privacy)
        chart = (region or self.settled).settle(n, privacy)
        spread = PartedSpread.of(privacy, check_share(self.inference)) if self.inference else None
        rest = privacy.aside(self.inference)[1] if self.inference else privacy
        shared: dict[str, Any] = {"sites": len(self.sites), "trusted": self.trusted, "spread": spread}
        return Composition(chart, n, privacy, Parted(chart, rest, known=known, **shared).plan(n), spread=spread)

    @cached_property
    def settled(self) -> Settled:
        """The public region."""
        return (Ellipsoid if "axes" in self.region else Ball)(self.space.required, **self.region)

    @property
    def code(self) -> str:
        """What all sites must read the same: it stands for every number and every key of the study."""
        return code_of(self.sha256)

    @cached_property
    def _noise(self) -> list[Divided]:
        """The noise of the sums of each group in turn, with the scales of the study."""
        own = self._plan(self._fewest).chart.divided()
        if len(own) != len(self.scales) or not np.allclose([x.scale for x in own], self.scales, rtol=EQUAL, atol=0):
            raise ValueError("the noise is not what the promise needs")
        return [replace(x, scale=scale) for x, scale in zip(own, self.scales, strict=True)] * len(self.groups)

    def check(self) -> None:
        self._check_sites()
        if not self.region:
            raise ValueError("it says no public region")
        if max(one.scale * one.size for one in self._noise) > WIDEST:
            raise ValueError("so much noise cannot be added up: use a larger epsilon")

    def _check_sites(self) -> None:
        """Raise an error for what is wrong of sites, groups and round."""
        m = len(self.sites)
        named = {*map(group_name, self.groups)} & {*self.groups} - {""}
        if self.round < 1 or (self.groups != [""] and len(named) < max(1, len(self.groups))):
            raise ValueError("rounds count from 1, and each group has a name of its own, without spaces around it")
        for name, site in self.sites.items():
            SiteKey(name, site.key).check()
            if not 1 <= site.least <= site.most < MOST:
                raise ValueError(f"{name} has {site.least} to {site.most} units, and must have one at least")
        if m < 2 or min(len({*map(str.casefold, self.sites)}), len({one.key for one in self.sites.values()})) < m:
            raise ValueError("a study has two sites or more, each with a name and a key of its own")
        if not 1 <= self.trusted < m:
            why = f"of {m} trusted, one that shows or leaves out its part would leave less noise than is promised"
            raise Refusal(f"the number of trusted sites is from 1 to {m - 1}, not {self.trusted}: {why}")

    @property
    def words(self) -> list[str]:
        """What is planned and promised to whom, in sentences: for everybody to read before anything is charged."""
        m = len(self.sites)
        what = f"Round {self.round}: the mean of the records of {m} sites{', for each of ' * any(self.groups)}"
        held = f"{Privacy.from_dict(self.privacy)} protects {self.unit} from all who see parts, other sites too, as long as"
        rest = f"{held} {self.trusted} of the sites, the person's own included, draw their noise and keep their keys secret."
        lines = [
            f"{what}{', '.join(self.groups)}{' (who is in which is public)' * any(self.groups)}. {rest}",
            f"Error (95%): {self._plan(self._fewest).noise_95:.3g}, about {(m / self.trusted) ** 0.5:.3g} times one curator's.",
            "If a site sends no part nothing can be read; another round is another price. Who is at two sites pays twice.",
            f"How many units each site has{' of each group' * any(self.groups)} is public, and not protected.",
        ]
        who = (f"{name}: {x.least}–{x.most} units, key {SiteKey(name, x.key).code}" for name, x in self.sites.items())
        return [*map(printable, [*lines, *who, f"Code of the study: {self.code}"])]

    def contribute(
        self, points: ArrayLike | Dataset, key: str, ledger: Ledger, out: str | None = None, *, agreed: str, **how: Any
    ) -> Part:
        """Check, clip and sum the records of a site, charge its ledger, and return its part, which is written to ``out``.

        ``key`` is the file of the site's key, ``agreed`` the study's code, as all sites have read it out.  The part is kept
        beside the key: whoever asks again, after whatever interruption, gets the same one, and pays nothing.  ``labels`` are
        the groups of records, or their name in a Dataset; unit, invalid and the like are as in private_mean.
        """
        own = SiteKey.load(key)
        if agreed.strip().lower() != self.code:
            told = "read it out to every other site, by telephone say, and give it if all have the same"
            raise Refusal(f"the code of this study, {self.code}, was not agreed on: {told}. Nothing was charged")
        if not own.private or own.name not in self.sites or self.sites[own.name].key != own.public:
            raise Refusal(f"{key}: is not the key of one of the sites, {', '.join(self.sites)}. Nothing was charged")
        _check_out(out)
        kept = Path(f"{Path(key).resolve()}.{self.sha256[:32]}.part")  # one place, by whatever link the key is named
        with open(key, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # another process waits, and then finds the part
            paid, noted = self._charged(ledger, own.name)
            if not kept.exists() and not noted:
                sums = self._sums(points, self.sites[own.name], **how)
                check_writable(kept, str(kept))
                self._make(sums, own, ledger).save(kept, overwrite=False)
                paid, noted = self._charged(ledger, own.name)
            if kept.exists() and paid and not noted:
                ledger.complete(paid, Part.load(kept).sha256, once=True)
                noted = self._charged(ledger, own.name)[1]  # which a copy of this key may have been the first to write
            if not kept.exists() or (part := Part.load(kept)).sha256 != (noted or part.sha256):
                lost = f"{kept} is gone, or not what was given out: put that back, or agree on another round"
                raise Refusal(f"{lost}. A second part would unmask the first")
        if out is not None:
            part.save(out)
        return part

    def _charged(self, ledger: Ledger, site: str) -> tuple[Any, str]:
        """Return what this site was charged for this study, and the hash of its part, noted before that is given out."""
        ours = {"study": self.sha256, "site": site}.items()
        lines = [(x, json.loads(x.record)) for x in ledger.verify().entries]
        paid = next((x for x, said in lines if x.kind == "charge" and ours <= said.items()), None)
        notes = [y["release"] for x, y in lines if paid and x.kind == "release" and y["charge"] == paid.sequence]
        if paid and not notes and paid.dataset != ledger.dataset:
            raise Refusal(f"this study was charged to the data set {paid.dataset!r}: name that one")
        return paid, "".join(notes)

    def _rows(self, points: Points) -> Iterator[Array]:
        """Yield what is summed of each record, in blocks: of length 1 at most where it has one noise."""
        for w in self.settled.as_chart().chart_blocks(points):
            yield np.hstack([w, np.minimum(np.sum(w * w, axis=1, keepdims=True), 1.0)]) if self.inference else w

    def _check_prepared(self, data: object) -> None:
        """Raise a Refusal if semilandmarks slid in another way than the study says."""
        if getattr(data, "prepared", {}).get("slid") != self.prepared.get("slid"):
            told = f"semilandmarks by {self.prepared['slid']}" if "slid" in self.prepared else "no semilandmarks"
            raise Refusal(f"all sites of this study slide {told}, and these records do not: see ", Fix("slide", ...))

    def _sums(self, points: Any, site: SiteOf, labels: Any = None, unit: Any = None, **how: Any) -> tuple[Any, Any]:
        """Return the sums of records in whole numbers, of each group in turn, and how many units it has."""
        data, column = take_label(as_data(points, self.settled.space), labels)
        self._check_prepared(data)
        asked = (unit if unit is not None or self.unit == RECORD else self.unit, self.unit, how.pop("invalid", "raise"))
        if self.groups == [""]:
            groups = {"": gather(self.settled, data, *asked, **how)[0]}
        else:
            names = np.array([group_name(x) for x in np.ravel(np.asarray(column)).tolist()], dtype=np.str_)
            if len(names) != len(as_numbers(data)) or not {*names.tolist()} <= {*self.groups}:
                raise ValueError(f"each record needs the label of its group, one of {', '.join(self.groups)}")
            parts, _ = by_group(data, names, np.zeros(len(names)), self.settled, *asked, 1, **how)
            groups = {name: Records(self.settled.space, own) for name, (own, _) in parts.items()}
        units = [groups[name].n if name in groups else 0 for name in self.groups]
        if not site.least <= sum(units) <= site.most:
            said = f"this site is to have {site.least} to {site.most} units, and these are {sum(units)}"
            raise Refusal(f"{said}: agree on another study. Nothing was charged")
        none = [0] * (sum(one.size for one in self._noise) // len(units))
        sums = {name: own.reduce(partial(whole_sums, self._rows)).tolist() for name, own in groups.items()}
        return [int(x) << GRID - BITS for name in self.groups for x in sums.get(name, none)], units

    def _make(self, sums: tuple[list[int], list[int]], key: SiteKey, ledger: Ledger | None) -> Part:
        """Charge, once for this study, draw, and return the part: here data meet noise."""
        others = [SiteKey(name, one.key) for name, one in self.sites.items() if name != key.name]
        masks = key.mask(others, self.sha256, len(sums[0]))
        plan = self._plan(self._fewest)
        about = {"unit": self.unit, "study": self.sha256, "site": key.name, "round": self.round}
        if ledger is not None:
            ledger.charge(plan.facts, {**plan.record.document(), **about}, once=("study", "site"))
        with paying(None, plan.facts, {}) as payment:
            noise = [x for one in self._noise for x in one.part(payment.rng)]
            hidden = [sum(three) % MODULUS for three in zip(sums[0], noise, masks, strict=True)]
            return Part(study=self.sha256, site=key.name, units=sums[1], numbers=hidden)

    def combine(self, parts: Iterable[Part]) -> Release | Comparison:
        """Return what the parts of all sites add up to: a release like any other, or a comparison of groups."""
        every = self._all([*parts])
        units = np.sum([part.units for part in every], axis=0).tolist()
        numbers = iter(self._added(every, sum(units)))
        said = {"sites": {part.site: sum(part.units) for part in every}, "round": self.round, "study": self.sha256}
        done = {}
        for name, n in zip(self.groups, units, strict=True):
            total = Total(n, [next(numbers) for one in self._noise[: len(self.scales)] for _ in range(one.size)])
            if n:
                plan = self._plan(n)
                made = plan.made(plan.record, total, self.unit, secure_generator())
                promise = replace(made.guarantee, neighbours=Neighbours.GROUPS if name else Neighbours.UNITS)
                known = {"guarantee": promise, "whole": self._whole(made), "prepared": self.prepared}
                done[name] = replace(made, mechanism=MechanismOf(SITES, {**made.mechanism.options, **said}), **known)
        return done[""] if self.groups == [""] else Comparison(epsilon=promise.epsilon, groups=done)

    def _whole(self, release: Release) -> WholeOf | None:
        """Return the whole error: the noise, and what else a public sample or model says for as few records as are planned for.
        Of n that are fewer, as in a group, that is at most √(planned/n) times as long: 1/n is a part of its square."""
        if self.whole is None:
            return release.whole
        times = max(1.0, self._fewest / release.n)
        plan = self._plan(self._fewest)
        rest = {q: max(0.0, x**2 - plan.release_error(float(q)) ** 2) for q, x in self.whole.quantiles.items()}
        quantiles = {q: float(np.hypot(release.noise(float(q)), (times * x) ** 0.5)) for q, x in rest.items()}
        return replace(self.whole, quantiles=quantiles, rms=(self.whole.rms or 0.0) * times)

    def _added(self, every: list[Part], n: int) -> list[Fraction]:
        """Return the sums of all parts, without masks and the mean of the dithers, or raise a Refusal if masks are left."""
        sums = [(sum(x) + MODULUS // 2) % MODULUS - MODULUS // 2 for x in zip(*(y.numbers for y in every), strict=True)]
        noise = [one for one in self._noise for _ in range(one.size)]
        numbers = [Fraction(2 * x - y.sites * (y.dither - 1), 2 << GRID) for x, y in zip(sums, noise, strict=True)]
        most = [n + 1e6 * one.scale * one.sites / one.trusted * (one.size + 1) for one in noise]
        if any(abs(x) > limit for x, limit in zip(numbers, most, strict=True)):
            raise Refusal("nothing can be read, as masks do not cancel: a part was altered, or not made for this study")
        return numbers

    def _all(self, parts: list[Part]) -> list[Part]:
        """Return the part of each site, in the order of the study, or raise a Refusal."""
        found: dict[str, Part] = {}
        for part in parts:
            shown = printable(part.site)
            site = self.sites.get(part.site)
            if part.study != self.sha256 or site is None:
                raise Refusal(f"the part of {shown} is of another study, of another round, or of no site of this study")
            if part.site in found:
                raise Refusal(f"there are two parts of {shown}: give that of each site once")
            sizes = (len(part.numbers), len(part.units)) == (sum(x.size for x in self._noise), len(self.groups))
            if not (sizes and site.least <= sum(part.units) <= site.most):
                raise Refusal(f"the part of {shown} is not what the study says: ask for it again")
            found[part.site] = part
        if missing := [name for name in self.sites if name not in found]:
            raise Refusal(f"nothing can be read without the part of each site: {', '.join(missing)} missing")
        return [found[name] for name in self.sites]


def _check_out(out: str | None) -> None:
    """Raise an error if a part cannot be written there, or would replace something else than a part."""
    if out is not None:
        check_writable(Path(out), out)
        if Path(out).exists() and Part.format.encode() not in Path(out).read_bytes()[:100]:
            raise Refusal(f"{out}: is there already, and no part of a site: give another name. Nothing was charged")
