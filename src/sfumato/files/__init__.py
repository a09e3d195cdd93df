"""Data from files, and released values to files: one file a format, recognised by content (``registry.py``)."""

from .base import Dataset, FileError
from .reading import as_data, read
from .writing import write_points

__all__ = ["Dataset", "FileError", "as_data", "read", "write_points"]
