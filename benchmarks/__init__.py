"""Comparisons with other packages: ``make agreement`` and ``make bench``.  Not installed."""

# set to 1 before NumPy is imported, each makes its library compute on one thread
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
