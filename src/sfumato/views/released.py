"""A release, shown: its picture, and what can be seen in it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..release import Release
from . import view_of
from .plots import html
from .plots import plot_release as plot
from .report import page
from .scene import Scene
from .subject import Links, Subject
from .words import describe, in_short

__all__ = ["describe", "html", "in_short", "in_words", "page", "plot", "scene"]


def scene(release: Release, links: Links | None = None, channels: Sequence[str] = (), p: float = 0.95) -> Scene:
    """Return the panels of its picture, with its error at probability p, and what is to be known of it above them."""
    view = view_of(release)
    if channels:
        view.check_names(channels, release.value.shape)
    s = Subject.of(release, p, links, channels)
    warned = [] if release.on_manifold else [view.not_a_point.format(length=np.linalg.norm(s.about))]
    if not release.guarantee.private:
        warned.append(release.guarantee.condition or "made for study: not a private release")
    return replace(view.scene(s), title="\n".join(warned))


def in_words(release: Release, channels: Sequence[str] = (), p: float = 0.95) -> str:
    """Return what the picture of a release shows, for those who do not see it."""
    view = view_of(release)
    s = Subject.of(release, p, names=channels)
    known = "" if s.error is None else f", with an error of up to {s.error:.3g} at {p:.0%}"
    what = f"{s.name.capitalize()} of {release.n} {view.things(s)}, beside the {s.public}{known}."
    if release.space.known is not None and release.on_manifold:
        far = float(np.ravel(s.space.distance(s.point[None], s.base))[0])
        what += f" It lies {far:.3g} from the {s.public}; records were clipped to within {s.radius:.3g} of it."
    return " ".join(filter(None, [what, view.seen(s)]))
