"""Attacks on a mechanism's claim: by draws and by times (``blackbox``), and by quadrature (``exact``)."""

from .blackbox import audit as audit
from .blackbox import releases as releases
from .blackbox import timing_audit as timing_audit
from .exact import Loss as Loss
from .exact import exact_loss as exact_loss
from .pairs import Pair as Pair
from .pairs import neighbours as neighbours
from .verdict import Event as Event
from .verdict import Verdict as Verdict
from .verdict import clopper_pearson as clopper_pearson
from .verdict import epsilon_bound as epsilon_bound
