"""Attacks on a mechanism's claim: by draws (``blackbox``), by quadrature (``exact``) and by times (``timing``)."""

from .blackbox import audit, releases
from .exact import Loss, exact_loss
from .pairs import Pair, neighbours
from .timing import timing_audit
from .verdict import Event, Verdict, clopper_pearson, epsilon_bound

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
