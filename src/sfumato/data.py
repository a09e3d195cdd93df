"""The former name of :mod:`sfumato.files`; synthetic data are in :mod:`sfumato.studies.synthetic`."""

import sys
import warnings

from .files import Dataset, FileError, read, write_points
from .studies import synthetic

__all__ = ["Dataset", "FileError", "read", "synthetic", "write_points"]

sys.modules[f"{__name__}.synthetic"] = synthetic
warnings.warn("sfumato.data is now sfumato.files: from sfumato.files import …", DeprecationWarning, stacklevel=2)
