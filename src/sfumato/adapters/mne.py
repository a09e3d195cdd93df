"""Covariances from MNE, which is not needed to import this module."""

from typing import Any

import numpy as np

from ..numerics.arrays import Array


def from_mne(data: Any) -> Any:
    """Return MNE's epochs, or a list of epochs or of MNE's covariances, as matrices, (n, k, k); all else as it is.

    Of epochs these are the covariances of the data channels that are not marked as bad, each about its mean and divided by the
    number of samples, as pyRiemann's ``Covariances("scm")``.  Units are MNE's: V² for EEG.
    """
    parts = data if isinstance(data, list | tuple) else [data]
    if not parts or not all(hasattr(part, "ch_names") for part in parts):
        return data
    if len({tuple(part.ch_names) for part in parts}) > 1:
        raise ValueError("the channels of the recordings differ: pick the same ones, in the same order, for all")
    return np.concatenate([_covariances(part) for part in parts])


def _covariances(part: Any) -> Array:
    """Return the matrix of a covariance of MNE, or those of its epochs, (n, k, k)."""
    if not hasattr(part, "get_data"):
        return np.asarray(np.diag(part.data) if part["diag"] else part.data)[None]
    signals = part.get_data(picks="data")
    if signals.ndim != 3:
        raise ValueError(f"{type(part).__name__} of MNE has no epochs: cut the recording first, with mne.Epochs")
    centred = signals - signals.mean(axis=2, keepdims=True)
    return np.asarray(centred @ centred.transpose(0, 2, 1) / signals.shape[2])
