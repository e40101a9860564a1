"""Memory that a worker process and the program share: batches on their way, without pickling.

A worker has one file in memory.  It is divided into slots, far apart, of which only the pages that
are used exist.  The program says which slot a batch goes to, and uses that slot for another batch
once the tensors and arrays in it are collected.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from typing import Any

import numpy as np

from ....workers.shared_memory import SharedFile, aligned

_APART = 1 << 36  # bytes from one slot to the next
_LEAST_MAPPED = 1 << 16  # bytes of a slot


def _offset_of(slot: int) -> int:
    """Where it begins; what comes before is that of the first page, see `messages.FIRST_PAGE`."""
    return (slot + 1) * _APART


class WorkerSlot:
    """A slot as the worker has it: arrays are placed in it one after the other."""

    def __init__(self, file: SharedFile, number: int) -> None:
        self._file = file
        self._offset = _offset_of(number)
        self._memory: mmap.mmap | None = None
        self._size = 0
        self._address = 0
        self.end = 0

    def clear(self) -> None:
        """The next batch begins."""
        self.end = 0

    def _grow(self, size: int) -> None:
        size = -(-max(size, 2 * self._size, _LEAST_MAPPED) // mmap.PAGESIZE) * mmap.PAGESIZE
        if os.fstat(self._file.fd).st_size < self._offset + size:
            os.ftruncate(self._file.fd, self._offset + size)
        self._memory = mmap.mmap(self._file.fd, size, offset=self._offset)
        self._size = size
        self._address = np.frombuffer(self._memory, np.uint8).ctypes.data

    def allocate(self, size: int) -> memoryview:
        """Memory for an array, in the slot."""
        begin = self.end
        self.end = aligned(begin + size)
        if self.end > self._size or self._memory is None:
            self._grow(self.end)  # what was placed before keeps the former mapping of the pages
        assert self._memory is not None
        return memoryview(self._memory)[begin : begin + size]

    def place(self, content: memoryview) -> tuple[int, int]:
        """Where this content is in the slot, which it is copied to unless it is there."""
        size = content.nbytes
        if size and self._memory is not None and not content.readonly:
            begin = np.frombuffer(content, np.uint8).ctypes.data - self._address
            if 0 <= begin and begin + size <= self.end:
                return begin, size
        begin = self.end
        self.allocate(size)[:] = content
        return begin, size

    @property
    def size(self) -> int:
        """Of the mapping."""
        return self._size


class SlotPool:
    """The slots of a worker, as the program has them."""

    def __init__(self, file: SharedFile) -> None:
        self._file = file
        self._mappings: list[mmap.mmap | None] = []
        self._free: deque[int] = deque()
        self._owners: dict[int, weakref.ref[Any]] = {}

    def take(self) -> int:
        """The number of a slot for a batch that is to be made."""
        try:
            return self._free.popleft()
        except IndexError:
            self._mappings.append(None)
            return len(self._mappings) - 1

    def give_back(self, number: int) -> None:
        """Releases the slot."""
        self._owners.pop(number, None)
        if number not in self._free:  # Ctrl-C may have an answer read twice
            self._free.append(number)

    def write(self, number: int, content: bytes) -> None:
        """Puts a message into a slot that the worker does not use yet."""
        offset = _offset_of(number)
        if os.fstat(self._file.fd).st_size < offset + len(content):
            os.ftruncate(self._file.fd, offset + len(content))
        with memoryview(content) as rest:
            written = 0
            while written < len(content):
                written += os.pwrite(self._file.fd, rest[written:], offset + written)

    def copy(self, number: int, offset: int, size: int) -> bytes:
        """What the worker wrote into a slot."""
        return os.pread(self._file.fd, size, _offset_of(number) + offset)

    def read(self, number: int, size: int) -> memoryview:
        """The memory of a slot; the slot is used again when all that views it is collected."""
        mapping = self._mappings[number]
        if mapping is None or len(mapping) < size:
            mapping = self._mappings[number] = mmap.mmap(
                self._file.fd, size, offset=_offset_of(number)
            )
        owner: Any = np.frombuffer(mapping, np.uint8)
        free, owners = self._free, self._owners

        def collected(which: Any) -> None:
            if owners.get(number) is which:
                del owners[number]
                free.append(number)

        owners[number] = weakref.ref(owner, collected)
        return memoryview(owner)

    @property
    def bytes(self) -> int:
        """Of all slots, as they are mapped here."""
        return sum(len(mapping) for mapping in self._mappings if mapping is not None)

    def __len__(self) -> int:
        return len(self._mappings)

    @property
    def held(self) -> int:
        """Slots that something here views."""
        return len(self._owners)
