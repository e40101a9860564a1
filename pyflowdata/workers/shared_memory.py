"""Memory that two processes share: a file without a name, which ends with the last of them."""

from __future__ import annotations

import mmap
import multiprocessing.reduction
import os
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_ALIGNMENT = 64
_MIN_BYTES = 1 << 16


def aligned(offset: int) -> int:
    """The next offset at which an array may begin."""
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


class SharedFile:
    """A file in memory, or a socket, for another process.

    It can be pickled for a new process of multiprocessing.

    Attributes:
        fd: Its descriptor in this process; -1: it is closed.
    """

    def __init__(self, fd: int | None = None) -> None:
        self.fd = os.memfd_create("pyflowdata", os.MFD_CLOEXEC) if fd is None else fd

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __getstate__(self) -> Any:
        return multiprocessing.reduction.DupFd(self.fd)

    def __setstate__(self, sent: Any) -> None:
        self.fd = sent.detach()


class SharedMemory(SharedFile):
    """A mapped file in memory. One of the two processes uses it at a time.

    Attributes:
        size: Its bytes, as far as this process knows.
    """

    def __init__(self, fd: int | None = None) -> None:
        super().__init__(fd)
        self.size = 0
        self._memory: mmap.mmap | None = None

    def grow(self, size: int) -> None:
        """Makes the memory at least this large. Existing arrays in it stay valid."""
        if size <= self.size:
            return
        size = -(-max(size, 2 * self.size, _MIN_BYTES) // mmap.PAGESIZE) * mmap.PAGESIZE
        os.ftruncate(self.fd, size)
        self.follow(size)

    def follow(self, size: int) -> None:
        """Maps the memory again after the other process has enlarged it."""
        if size != self.size:
            self._memory, self.size = mmap.mmap(self.fd, size), size

    def array(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        assert self._memory is not None
        found: Array = np.ndarray(shape, dtype, self._memory, offset)
        return found

    @property
    def place(self) -> memoryview:
        """The first number in the memory: the current row of the worker."""
        assert self._memory is not None
        return memoryview(self._memory)[:8].cast("q")

    def close(self) -> None:
        """Returns the memory to the system when no array in it is left."""
        self._memory, self.size = None, 0
        super().close()
