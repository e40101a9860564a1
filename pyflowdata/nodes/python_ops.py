"""Ops that are written in Python, which run in the interpreter or in separate processes.

The processes of an op exist while a loader of the op is open.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..native import CData, address_of, lib
from .node import Blob, Node, nodes_of
from .op_facts import Op


class Resource(Protocol):
    """Something that exists from the first acquire() to the last release()."""

    processes: int  # how many it has
    row_seconds: float  # time of a row in a process; 0: not known
    row_wait_seconds: float  # the part in which the process does not compute
    start_seconds: float  # how long the first call waited until they had started

    def acquire(self) -> None:
        """Called before a loader opens."""

    def release(self) -> None:
        """Called when a loader is closed."""


_resources: dict[int, Resource] = {}  # by the address of the compute() of an op
_interpreted: dict[int, bool] = {}  # addresses of those that call Python: for each row or not
_variants: dict[int, Callable[[int], Op]] = {}  # by address: the same op in so many processes

_own = threading.local()


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


def process_times_of(node: Node) -> dict[str, float]:
    """The times of a `Resource` of a node's op in processes, by name; {}: it has none."""
    resource = _resources.get(address_of(lib.pfd_node_op(node.handle).compute))
    if resource is None:
        return {}
    names = ("row_seconds", "row_wait_seconds", "start_seconds")
    return {name: getattr(resource, name) for name in names}


@dataclass
class SourceTimes:
    """Of the calls of objects of the program that give records by number, of all loaders.

    Attributes:
        source_call_seconds: How long they took.
        source_turn_seconds: How long they waited for their turn before, where one is called at a
            time.
    """

    source_call_seconds: float = 0.0
    source_turn_seconds: float = 0.0


source_times = SourceTimes()


class InUse:
    """The acquired resources of the ops upstream of some blobs."""

    def __init__(self, blobs: Sequence[Blob]) -> None:
        self._held: list[Resource] = []
        try:
            for resource in _resources_of(blobs):
                resource.acquire()
                self._held.append(resource)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Releases them; may be called again."""
        held, self._held = self._held, []
        for resource in held:
            resource.release()


def _resources_of(blobs: Sequence[Blob]) -> list[Resource]:
    if not _resources or getattr(_own, "is_off", False):
        return []
    addresses = [address_of(lib.pfd_node_op(node.handle).compute) for node in nodes_of(blobs)]
    return [_resources[address] for address in dict.fromkeys(addresses) if address in _resources]
