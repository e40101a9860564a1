"""Ops that are written in Python, which run in the interpreter or in separate processes.

The processes of an op exist while a loader of the op is open.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ..errors import UnsupportedError
from ..native import CData, address_of, lib
from .node import Blob, Node, nodes_of
from .op_facts import Op


class Resource(Protocol):
    """Something that exists from the first acquire() to the last release()."""

    processes: int  # how many it has
    row_seconds: float  # time of a row in a process; 0: not known
    row_wait_seconds: float  # the part in which the process does not compute
    # For each start of processes, the moments at which the first call began to wait for them, and
    # at which they had started, on the monotonic clock; None: no call was answered yet.
    starts: list[tuple[float, float] | None]

    def first_line_again(self) -> str:
        """The first statement of the program that would run again in the processes, as
        "train.py:12"; "": there is none, or the processes do not import the main module.

        Raises:
            InvalidArgumentError: The function cannot run in processes.
        """

    def has_started(self, seconds: float) -> bool:
        """Whether all processes have imported what they run, after at most this wait; called
        between acquire() and release()."""

    def acquire(self) -> None:
        """Called before a loader opens."""

    def release(self) -> None:
        """Called when a loader is closed."""


_resources: dict[int, Resource] = {}  # by the address of the compute() of an op
_interpreted: dict[int, bool] = {}  # addresses of those that call Python: for each row or not
_variants: dict[int, Callable[[int], Op]] = {}  # by address: the same op in so many processes

_own = threading.local()


_is_importing = False  # whether this process imports a module of the program that started it


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """In the block, this process imports a function of the program that started it, and no loader
    opens here but for a look at a few records: a program whose main module is not guarded would run
    again.
    """
    global _is_importing
    _is_importing = True
    try:
        yield
    finally:
        _is_importing = False


def _check_not_importing() -> None:
    if _is_importing and not getattr(_own, "is_off", False):
        raise UnsupportedError(
            "a worker process of a Python op opens a DataLoader: the main module was imported "
            "there. What the program does belongs under if __name__ == '__main__':"
        )


@contextlib.contextmanager
def nothing_in_use() -> Iterator[None]:
    """In the block, loaders of this thread acquire no resources: for a look at a few records."""
    with _use(is_off=True):
        yield


@contextlib.contextmanager
def all_in_use() -> Iterator[None]:
    """In the block, loaders of this thread acquire their resources: for a pass over all records,
    even inside `nothing_in_use()`.
    """
    with _use(is_off=False):
        yield


@contextlib.contextmanager
def _use(*, is_off: bool) -> Iterator[None]:
    former = getattr(_own, "is_off", False)
    _own.is_off = is_off
    try:
        yield
    finally:
        _own.is_off = former


def provide(compute: CData, resource: Resource) -> None:
    """Makes loaders of the op with this compute() use the resource, from now on."""
    _resources[address_of(compute)] = resource


def note_variants(compute: CData, variant: Callable[[int], Op]) -> None:
    """Notes that `variant` makes the same op with another number of processes."""
    _variants[address_of(compute)] = variant


def in_processes(node: Node, count: int) -> Op:
    """The Python op of a node, with this number of processes; 0: in threads.

    Raises:
        InvalidArgumentError: The function cannot run there.
    """
    return _variants[address_of(lib.pfd_node_op(node.handle).compute)](count)


def note_interpreted(compute: CData, *, by_row: bool) -> None:
    """Notes that the op with this compute() is Python code under the interpreter's lock, and
    whether it is called for each row or for many rows.
    """
    _interpreted[address_of(compute)] = by_row


def language_of(node: Node) -> str:
    """The language of a node's op: "C", "Python", or "processes" for Python in processes."""
    address = address_of(lib.pfd_node_op(node.handle).compute)
    if address in _resources:
        return "processes"
    return "Python" if address in _interpreted else "C"


def calls_by_row(node: Node) -> bool:
    """Whether a node's op is Python code that is called for each row."""
    return _interpreted.get(address_of(lib.pfd_node_op(node.handle).compute), False)


def processes_of(node: Node) -> int:
    """How many processes run a node's op; 0: none."""
    resource = _resources.get(address_of(lib.pfd_node_op(node.handle).compute))
    return 0 if resource is None else resource.processes


def process_times_of(node: Node, begin: float, end: float) -> dict[str, float]:
    """The times of a `Resource` of a node's op in processes, by name; {}: it has none.

    Args:
        begin, end: The time of a loader of the op, on the monotonic clock: "start_seconds" is how
            long it lasted while a first call waited for processes to start.
    """
    resource = _resources.get(address_of(lib.pfd_node_op(node.handle).compute))
    if resource is None:
        return {}
    waits = [min(last, end) - max(first, begin) for first, last in filter(None, resource.starts)]
    return {
        "row_seconds": resource.row_seconds,
        "row_wait_seconds": resource.row_wait_seconds,
        "start_seconds": sum(wait for wait in waits if wait > 0),
    }


def first_line_again(blobs: Sequence[Blob]) -> str:
    """`Resource.first_line_again()` of the ops upstream of the blobs: the first that is not ""."""
    return next(filter(None, (one.first_line_again() for one in _resources_of(blobs))), "")


class SourceTimes:
    """The times of a loader's calls of one object of the program that gives records by number.  Any
    thread may use it.

    Attributes:
        call_seconds: How long the calls took.
        turn_seconds: How long they waited for their turn before, where the object is called by one
            thread at a time.
    """

    def __init__(self) -> None:
        self.call_seconds = self.turn_seconds = 0.0
        self._lock = threading.Lock()

    def add(self, call_seconds: float, turn_seconds: float) -> None:
        """Adds the times of a call."""
        with self._lock:
            self.call_seconds += call_seconds
            self.turn_seconds += turn_seconds


def source_times(number: int) -> SourceTimes:
    """The times of the source with this number, for the loader that this thread opens."""
    sources: dict[int, SourceTimes] = getattr(_own, "sources", {})
    return sources.setdefault(number, SourceTimes())


class InUse:
    """What an open loader uses of Python.

    Attributes:
        sources: The times of its sources that give records by number, by the numbers of these
            objects.
    """

    def __init__(self, blobs: Sequence[Blob]) -> None:
        """Acquires the resources of the ops upstream of the blobs.

        Raises:
            UnsupportedError: This process only imports a function, see `importing()`.
        """
        _check_not_importing()
        self.sources: dict[int, SourceTimes] = {}
        self._held: list[Resource] = []
        try:
            for resource in _resources_of(blobs):
                resource.acquire()
                self._held.append(resource)
        except BaseException:
            self.release()
            raise

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """In the block, this thread opens the loader, with its sources."""
        _own.sources = self.sources
        try:
            yield
        finally:
            del _own.sources

    def has_started(self, seconds: float) -> bool:
        """Whether all processes have started, after at most this wait."""
        until = time.monotonic() + seconds
        return all(one.has_started(max(0.0, until - time.monotonic())) for one in self._held)

    def release(self) -> None:
        """Releases the resources; may be called again."""
        held, self._held = self._held, []
        for resource in held:
            resource.release()


def _resources_of(blobs: Sequence[Blob]) -> list[Resource]:
    if not _resources or getattr(_own, "is_off", False):
        return []
    addresses = [address_of(lib.pfd_node_op(node.handle).compute) for node in nodes_of(blobs)]
    return [_resources[address] for address in dict.fromkeys(addresses) if address in _resources]
