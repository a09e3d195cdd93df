"""Data from files, and released values to files: one file a format, told apart by content (``registry.py``)."""

from .base import Dataset, FileError
from .reading import read
from .writing import write_points

__all__ = ["Dataset", "FileError", "read", "write_points"]
