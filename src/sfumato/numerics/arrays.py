"""Arrays in blocks and runs, and the way to the compiled loops."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Points = NDArray[Any]  # float64, or complex128 for planar shapes
T = TypeVar("T")
_asked: Counter[str] = Counter()

BLOCK = 1 << 21  # numbers held at once by a kernel that works in blocks (16 MiB of float64)
CACHE = 1 << 18  # and by one that reads its block twice, which should then still be in the processor's cache
MANY = 1 << 14  # numbers from which on compiled loops pay for loading them
OFTEN = 6  # times that loops are asked for, for few records, until these load them too: a mean asks 3 to 5 times
RUN = 2048  # records whose sum is kept apart, so that rounding grows with their number and that of the runs, not with n


@lru_cache(maxsize=8)
def compiled(name: str = "kernels") -> ModuleType | None:
    """Return the compiled kernels of that file, or None where Numba is missing or does not load, for whatever reason."""
    try:
        return import_module(f".{name}", __package__)
    except Exception:
        return None


def loaded(name: str = "kernels") -> bool:
    """Return whether the process has loaded that file, as for many records, or asks so often that it is loaded now: a second
    or third mean of few records is rarely the last.  A private release must not ask, as the answer depends on the past."""
    _asked[name] += 1
    there = f"{__package__}.{name}" in sys.modules
    return there or (_asked[name] > OFTEN and compiled(name) is not None)


def as_numbers(points: ArrayLike) -> NDArray[Any]:
    """Return an array of numbers, or raise an error in words."""
    try:
        array = np.asarray(points)
    except ValueError:
        raise ValueError("the points are not an array: all records must have the same shape") from None
    except Exception as error:  # of whoever computes them only now
        raise ValueError(f"the points could not be computed ({type(error).__name__}: {error})") from None
    if array.dtype.kind not in "fiuc":
        raise ValueError(f"the points are not numbers but {array.dtype.name}; give an array of numbers, a row a record")
    return array


def blocks(count: int, numbers_each: int, most: int | None = None) -> list[slice]:
    """Return slices of range(count) such that each holds about ``most`` numbers (BLOCK unless told)."""
    step = max(1, (BLOCK if most is None else most) // max(1, numbers_each))
    return [slice(i, min(i + step, count)) for i in range(0, count, step)]


def in_pairs(combine: Callable[[T, T], T], values: Iterable[T]) -> T:
    """Return all values combined in their order, by pairs of pairs: rounding of a sum grows with the logarithm of their number.

    >>> in_pairs(lambda a, b: f"({a}{b})", "abcde")
    '(((ab)(cd))e)'
    """
    waiting: list[tuple[int, T]] = []  # sums of 2^level values each, the levels falling
    for value in values:
        level = 0
        while waiting and waiting[-1][0] == level:
            value = combine(waiting.pop()[1], value)
            level += 1
        waiting.append((level, value))
    found = waiting.pop()[1]
    while waiting:
        found = combine(waiting.pop()[1], found)
    return found


def add_each(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return sums of what stands in the same place."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def runs(count: int, numbers_each: int, most: int | None = None) -> list[slice]:
    """Return such slices with at most RUN records each: how sums over records are made."""
    return blocks(count, max(numbers_each, -(-(BLOCK if most is None else most) // RUN)), most)


def in_runs(
    of_run: Callable[[slice], tuple[Any, ...]], count: int, numbers_each: int, most: int | None = None
) -> tuple[Any, ...]:
    """Return sums of what a function gives for each run of records."""
    if count <= RUN and count * numbers_each <= CACHE:
        return of_run(slice(0, count))
    return in_pairs(add_each, map(of_run, runs(count, numbers_each, most)))


def uniform_weights(n: int, weights: Array | None) -> Array:
    """Return weights that sum to one."""
    if weights is None:
        return np.full(n, 1.0 / n)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise ValueError(f"weights must be {n} non-negative finite numbers that are not all zero")
    return np.asarray(weights / weights.sum())
