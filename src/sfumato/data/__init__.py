"""Data from files, and released values to files."""

from .files import Dataset, FileError, read, write_points

__all__ = ["Dataset", "FileError", "read", "write_points"]
