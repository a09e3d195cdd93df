"""Data as sums over records: in memory, in chunks from Arrow, Zarr and HDF5, and on the workers of Dask."""

from .lazy import Progress, is_lazy, stream
from .memory import Mapped, Records, one_thread
from .sources import MEMORY, chunk_rows, delayed_parts

__all__ = ["MEMORY", "Mapped", "Progress", "Records", "chunk_rows", "delayed_parts", "is_lazy", "one_thread", "stream"]
