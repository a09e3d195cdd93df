"""Data as sums over records: in memory, in chunks from Arrow, Zarr and HDF5, and on the workers of Dask."""

from .lazy import Progress as Progress
from .lazy import is_lazy as is_lazy
from .lazy import stream as stream
from .memory import Mapped as Mapped
from .memory import Records as Records
from .memory import add_moments as add_moments
from .memory import one_thread as one_thread
from .sources import MEMORY as MEMORY
from .sources import chunk_rows as chunk_rows
from .sources import delayed_parts as delayed_parts
