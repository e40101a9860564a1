"""What ops need for as long as a loader of them is open, such as processes; and what runs them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

from ..native import CData, ffi, lib
from .node import Blob, Node, nodes_of


class Resource(Protocol):
    """Something that is there from the first acquire() to the last release()."""

    def acquire(self) -> None:
        """A loader is about to open."""

    def release(self) -> None:
        """A loader is closed."""


_resources: dict[int, Resource] = {}  # by the address of the compute() of an op
_interpreted: set[int] = set()  # addresses of those that call Python

_own = threading.local()


@contextlib.contextmanager
def nothing_in_use() -> Iterator[None]:
    """Loaders that this thread opens meanwhile do without: for a look at a few records."""
    former = getattr(_own, "is_off", False)
    _own.is_off = True
    try:
        yield
    finally:
        _own.is_off = former


def _address(compute: CData) -> int:
    return int(ffi.cast("uintptr_t", compute))


def provide(compute: CData, resource: Resource) -> None:
    """Loaders of the op with this compute() use the resource from here on."""
    _resources[_address(compute)] = resource


def note_interpreted(compute: CData) -> None:
    """The op with this compute() is Python, which runs under the interpreter's lock."""
    _interpreted.add(_address(compute))


def language_of(node: Node) -> str:
    """What computes a node's op: "C", "Python", or "processes" that run Python."""
    address = _address(lib.pfd_node_op(node.handle).compute)
    if address in _resources:
        return "processes"
    return "Python" if address in _interpreted else "C"


class InUse:
    """The resources of the ops upstream of some blobs, acquired."""

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
    addresses = [_address(lib.pfd_node_op(node.handle).compute) for node in nodes_of(blobs)]
    return [_resources[address] for address in dict.fromkeys(addresses) if address in _resources]
