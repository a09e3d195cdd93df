"""Adapters for geomstats, MNE and OpenDP.  None of these packages is needed to import this room."""

from .geomstats import from_geomstats
from .mne import from_mne
from .opendp import as_opendp

__all__ = ["as_opendp", "from_geomstats", "from_mne"]
