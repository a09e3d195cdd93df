"""Attacks on a mechanism's claim: by draws and by times (``blackbox``), and by quadrature (``exact``)."""

from .blackbox import audit, releases, timing_audit
from .exact import Loss, exact_loss
from .pairs import Pair, neighbours
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
