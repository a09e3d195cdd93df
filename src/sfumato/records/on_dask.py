"""Partitions held by the workers of Dask: each is summed where it is, and only sums come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from .memory import one_thread

T = TypeVar("T")


def dask_parts(collection: Any) -> list[Any]:
    if hasattr(collection, "rechunk"):
        if any(len(sizes) > 1 for sizes in collection.chunks[1:]):
            collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
        return list(collection.to_delayed().ravel())
    if (
        hasattr(collection, "to_delayed")
        and hasattr(collection, "map_partitions")
        and not hasattr(collection, "columns")
    ):
        return list(collection.to_delayed())
    if type(collection).__module__ == "dask.delayed":
        return [collection]
    raise TypeError(
        f"records as {type(collection).__name__} are not understood; give a dask.array, a dask.bag of records or a list of "
        "dask.delayed arrays (of a data frame: frame.to_dask_array())"
    )


def _alone(job: Callable[[Any], T], parts: list[Any]) -> list[T]:
    with one_thread():
        return [job(part) for part in parts]


def together(client: Any, parts: list[Any]) -> list[list[int]]:
    """Which partitions go in one task: those that one worker holds in memory, a task for each of its threads, as a task costs
    the scheduler as much time as a worker takes for a million records.  Others, which would all be loaded at once, alone."""
    from distributed import Future

    states = [client.futures.get(getattr(part, "key", None)) for part in parts]
    if not all(state is not None and state.status == "finished" for state in states):
        return [[i] for i in range(len(parts))]
    holders = client.who_has([Future(part.key, client) for part in parts])
    groups: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        groups.setdefault(min(holders[part.key], default=""), []).append(i)
    threads = client.nthreads()
    return [held[j :: threads.get(worker, 1)] for worker, held in groups.items() for j in range(threads.get(worker, 1))]


def on_dask(job: Callable[[Any], T], parts: list[Any], tick: Callable[[int], None]) -> list[T]:
    """A task for each partition or for some that are held together, on whatever scheduler is set; only sums come back.

    Tasks have no effects and are named by what they compute: one that is lost with its worker is run again elsewhere.
    """
    from dask.base import compute, get_scheduler
    from dask.callbacks import Callback
    from dask.delayed import delayed

    task = delayed(partial(_alone, job), pure=True)
    client: Any = getattr(get_scheduler(collections=[task(parts[:1])]), "__self__", None)
    if hasattr(client, "scheduler_info"):  # a client of distributed
        from distributed import as_completed

        groups = [group for group in together(client, parts) if group]
        futures = client.compute([task([parts[i] for i in group]) for group in groups])
        sizes, done = {future.key: len(group) for future, group in zip(futures, groups, strict=True)}, 0
        for future in as_completed(futures):
            done += sizes[future.key]
            tick(done)
        sums = dict(zip(chain(*groups), chain(*client.gather(futures)), strict=True))
        return [sums[i] for i in range(len(parts))]
    tasks = [task([part]) for part in parts]
    ended = 0

    def count(key: Any, *_: object) -> None:
        nonlocal ended
        if key in names:
            ended += 1
            tick(ended)

    names = {task.key for task in tasks}
    with Callback(posttask=count):
        return [only for (only,) in compute(*tasks)]
