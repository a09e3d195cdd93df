"""Attacks on a mechanism's claim: by draws, by quadrature and by the clock."""

from .blackbox import Event, Verdict, audit, clopper_pearson, epsilon_bound, releases
from .exact import Loss, exact_loss
from .pairs import Pair, neighbours
from .timing import timing_audit

__all__ = [
    "Event",
    "Loss",
    "Pair",
    "Verdict",
    "audit",
    "clopper_pearson",
    "epsilon_bound",
    "exact_loss",
    "neighbours",
    "releases",
    "timing_audit",
]
