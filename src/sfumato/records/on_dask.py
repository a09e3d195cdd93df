"""Partitions in the memory of Dask's workers: each is summed where it is, and only sums come back."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate, chain, count
from typing import Any, TypeVar

from .memory import one_thread

T = TypeVar("T")

WAIT = 10  # seconds for the first worker to come, and for all to answer


def dask_parts(collection: Any) -> list[Any]:
    """Return the delayed partitions of a collection of Dask."""
    if hasattr(collection, "rechunk"):
        if any(len(sizes) > 1 for sizes in collection.chunks[1:]):
            collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
        return list(collection.to_delayed().ravel())
    if hasattr(collection, "map_partitions") and not hasattr(collection, "columns"):
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


def client_of(collections: list[Any]) -> Any:
    """Return the client of distributed that computes these, or None where another scheduler does."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=collections), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def check_workers(parts: list[Any]) -> None:
    """Raise a ValueError if a cluster has no workers, or if some, or the scheduler, lack this version of sfumato: such a worker
    dies of what it is sent, as does the one that takes its place, and the sums would never come."""
    client = client_of(parts)
    if client is None:
        return

    def version() -> str:  # of a function within a function the code itself is sent
        try:
            from sfumato import __version__ as number
        except ImportError:
            return "no sfumato"
        return f"sfumato {number}"

    address = client.scheduler.address
    ours = version()
    try:
        client.wait_for_workers(1, timeout=WAIT)
        versions = client.sync(client.run, version, callback_timeout=WAIT)
        versions["the scheduler"] = client.sync(client.run_on_scheduler, version, callback_timeout=WAIT)
    except TimeoutError:
        raise ValueError(
            f"the scheduler {address} has no workers that answer within {WAIT} seconds: start some, or wait for them with "
            "client.wait_for_workers(1), then try again. Nothing was charged"
        ) from None
    others = [name for name, other in versions.items() if other != ours]
    if others:
        more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        raise ValueError(
            f"{others[0]}{more} of the cluster {address} has {versions[others[0]]}, but {ours} is here: the scheduler and all "
            "workers need the same. Nothing was charged"
        )


def together(client: Any, parts: list[Any]) -> list[list[int]]:
    """Return which partitions go in one task: those in the memory of one worker, a task for each of its threads, as a task
    costs the scheduler as much time as a worker takes for a million records.  Others, which would all be loaded at once, go
    alone."""
    from distributed import Future

    states = [client.futures.get(getattr(part, "key", None)) for part in parts]
    if not all(state is not None and state.status == "finished" for state in states):
        return [[i] for i in range(len(parts))]
    holders = client.who_has([Future(part.key, client) for part in parts])
    groups: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        groups.setdefault(min(holders[part.key], default=""), []).append(i)
    threads = client.nthreads()
    tasks = [own[j :: threads.get(worker, 1)] for worker, own in groups.items() for j in range(threads.get(worker, 1))]
    return [task for task in tasks if task]


def on_dask(job: Callable[[Any], T], parts: list[Any], tick: Callable[[int], None]) -> list[T]:
    """Return the sums of a task for each partition, or for some together, on whatever scheduler is set.

    Tasks have no effects and are named by what they compute: one that is lost with its worker is run again elsewhere.
    """
    from dask.delayed import delayed

    task = delayed(partial(_alone, job), pure=True)
    client = client_of([task(parts[:1])])
    return _here(task, parts, tick) if client is None else _on_cluster(client, task, parts, tick)


def _on_cluster(client: Any, task: Any, parts: list[Any], tick: Callable[[int], None]) -> list[Any]:
    """Return the sums of all partitions from the workers of a cluster."""
    from distributed import as_completed

    groups = together(client, parts)
    futures = client.compute([task([parts[i] for i in group]) for group in groups])
    sizes = {future.key: len(group) for future, group in zip(futures, groups, strict=True)}
    for done in accumulate(sizes[future.key] for future in as_completed(futures)):
        tick(done)
    sums = dict(zip(chain(*groups), chain(*client.gather(futures)), strict=True))
    return [sums[i] for i in range(len(parts))]


def _here(task: Any, parts: list[Any], tick: Callable[[int], None]) -> list[Any]:
    """Return the sums of all partitions from a scheduler of Dask itself."""
    from dask.base import compute
    from dask.callbacks import Callback

    tasks = [task([part]) for part in parts]
    keys = {task.key for task in tasks}
    numbers = count(1)

    def finished(key: Any, *_: object) -> None:
        if key in keys:
            tick(next(numbers))

    with Callback(posttask=finished):
        return [only for (only,) in compute(*tasks)]
