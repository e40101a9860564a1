"""Python objects for another process: their arrays are copied once, into shared memory."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import sys
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .... import InvalidArgumentError
from ....workers.shared_memory import SharedFile, aligned

try:
    import cloudpickle
except ImportError:
    cloudpickle = None

# ---- Slots --------------------------------------------------------------------------------------
# A worker shares one file in memory with the program.  The file is divided into slots, far apart;
# only their used pages exist.  The program chooses the slot of a batch, and uses the slot for
# another batch when the tensors and arrays in it are collected.

_APART = 1 << 36  # bytes from one slot to the next
_LEAST_MAPPED = 1 << 16  # bytes of a slot


def _offset_of(slot: int) -> int:
    """The offset of a slot; before the slots is the first page, see worker_main.FIRST_PAGE."""
    return (slot + 1) * _APART


def _write_at(fd: int, content: memoryview, offset: int) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(fd, content[written:], offset + written)


class WorkerSlot:
    """A slot in the worker: arrays are placed in it one after the other.

    Attributes:
        size: Bytes of the mapping.
        end: Bytes of the slot that are in use.
    """

    def __init__(self, file: SharedFile, number: int) -> None:
        self._file = file
        self._offset = _offset_of(number)
        self._memory: mmap.mmap | None = None
        self.size = 0
        self._address = 0
        self.end = 0

    def clear(self) -> None:
        """Makes the slot empty for the next batch."""
        self.end = 0

    def _grow(self, size: int) -> None:
        size = -(-max(size, 2 * self.size, _LEAST_MAPPED) // mmap.PAGESIZE) * mmap.PAGESIZE
        if os.fstat(self._file.fd).st_size < self._offset + size:
            os.ftruncate(self._file.fd, self._offset + size)
        self._memory = mmap.mmap(self._file.fd, size, offset=self._offset)
        self.size = size
        self._address = np.frombuffer(self._memory, np.uint8).ctypes.data

    def allocate(self, size: int) -> memoryview:
        """Memory for an array, in the slot."""
        begin = self.end
        self.end = aligned(begin + size)
        if self.end > self.size or self._memory is None:
            self._grow(self.end)  # what was placed before keeps the former mapping of the pages
        assert self._memory is not None
        return memoryview(self._memory)[begin : begin + size]

    def place(self, content: memoryview) -> tuple[int, int]:
        """The place of this content in the slot; content of other memory is copied into the
        slot."""
        size = content.nbytes
        if size and self._memory is not None and not content.readonly:
            begin = np.frombuffer(content, np.uint8).ctypes.data - self._address
            if 0 <= begin and begin + size <= self.end:
                return begin, size
        begin = self.end
        self.allocate(size)[:] = content
        return begin, size


class SlotPool:
    """The slots of a worker, in the program."""

    def __init__(self, file: SharedFile) -> None:
        self._file = file
        self._mappings: list[mmap.mmap | None] = []
        self._free: deque[int] = deque()
        self._owners: dict[int, weakref.ref[Any]] = {}

    def take(self) -> int:
        """The number of a slot for a batch."""
        try:
            return self._free.popleft()
        except IndexError:
            self._mappings.append(None)
            return len(self._mappings) - 1

    def give_back(self, number: int) -> None:
        self._owners.pop(number, None)
        if number not in self._free:  # Ctrl-C may have an answer read twice
            self._free.append(number)

    def write(self, number: int, content: bytes) -> None:
        """Puts a message into a slot that the worker does not use yet."""
        offset = _offset_of(number)
        if os.fstat(self._file.fd).st_size < offset + len(content):
            os.ftruncate(self._file.fd, offset + len(content))
        with memoryview(content) as rest:
            _write_at(self._file.fd, rest, offset)

    def copy(self, number: int, offset: int, size: int) -> bytes:
        """Bytes that the worker wrote into a slot."""
        return os.pread(self._file.fd, size, _offset_of(number) + offset)

    def read(self, number: int, size: int) -> memoryview:
        """The memory of a slot; the slot is used again when all views of the memory are
        collected."""
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
        """The size of all slots, as they are mapped in the program."""
        return sum(len(mapping) for mapping in self._mappings if mapping is not None)

    def __len__(self) -> int:
        return len(self._mappings)

    @property
    def held(self) -> int:
        """The number of slots with views in the program."""
        return len(self._owners)


# ---- Pickles ------------------------------------------------------------------------------------
# An object becomes a few bytes, and buffers for its large arrays and tensors.  This is pickle with
# buffers out of band; tensors are buffers, too, in a batch or a dataset of any structure.

_LEAST_BUFFER = 256  # bytes of a tensor that becomes a buffer


def _tensor_of(
    memory: Any, dtype: torch.dtype, shape: tuple[int, ...], requires_grad: bool
) -> torch.Tensor:
    if not isinstance(memory, memoryview):
        memory = memoryview(memory)
    if memory.readonly:  # a small tensor, which came with the message
        memory = memoryview(bytearray(memory))
    tensor = torch.frombuffer(memory, dtype=dtype).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _reduced(value: Any) -> Any:
    """How a plain tensor of the host is pickled; NotImplemented for any other value."""
    if type(value) is not torch.Tensor or value.device.type != "cpu":
        return NotImplemented
    is_plain = value.layout is torch.strided and value.is_leaf
    if not is_plain or value.is_quantized or value.is_nested:
        return NotImplemented
    if value.is_conj() or value.is_neg() or value.numel() == 0:
        return NotImplemented
    content = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    given = pickle.PickleBuffer(content) if content.nbytes >= _LEAST_BUFFER else content.tobytes()
    return _tensor_of, (given, value.dtype, tuple(value.shape), value.requires_grad)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        return _reduced(value)


def _pickled(value: Any, kind: Any) -> tuple[bytes, list[memoryview]]:
    file, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    kind(file, 5, buffer_callback=buffers.append).dump(value)
    return file.getvalue(), [one.raw() for one in buffers]


def pack(value: Any) -> tuple[bytes, list[memoryview]]:
    """An object as bytes, and the memory of its arrays and tensors.

    Raises:
        Exception: The exception of pickle for an object that cannot be pickled.
    """
    return _pickled(value, _Pickler)


def unpack(content: Any, buffers: Sequence[Any]) -> Any:
    """The object; its arrays and tensors view the buffers."""
    return pickle.loads(content, buffers=buffers)


# ---- Pickles for new processes ------------------------------------------------------------------


class SharedPickle(NamedTuple):
    """An object in a file in memory, for several processes.

    Each process maps it privately: pages that no process writes to exist once.

    Attributes:
        file: The content, then the buffers.
        content: Length of the content.
        places: Offset and length of each buffer.
    """

    file: SharedFile
    content: int
    places: list[tuple[int, int]]

    def open(self) -> Any:
        """The object, in the other process. It may write to the arrays, which no other process
        sees."""
        memory = mmap.mmap(self.file.fd, 0, flags=mmap.MAP_PRIVATE)
        view = memoryview(memory)
        buffers = [view[begin : begin + size] for begin, size in self.places]
        return unpack(view[: self.content], buffers)


def pickle_to_memory(value: Any) -> SharedPickle:
    """An object for new processes: by reference to its classes, or by value if that is impossible.

    Raises:
        InvalidArgumentError: It cannot be sent.
    """
    content, buffers = _for_processes(value)
    places, end = [], aligned(len(content))
    for buffer in buffers:
        places.append((end, buffer.nbytes))
        end = aligned(end + buffer.nbytes)
    file = SharedFile()
    try:
        os.ftruncate(file.fd, max(end, 1))
        _write_at(file.fd, memoryview(content), 0)
        for (begin, _), buffer in zip(places, buffers, strict=True):
            _write_at(file.fd, buffer, begin)
    except BaseException:
        file.close()
        raise
    return SharedPickle(file, len(content), places)


def _for_processes(value: Any) -> tuple[bytes, list[memoryview]]:
    try:
        content, buffers = pack(value)
        if b"__main__" not in content or _has_main_file():
            return content, buffers
        failure: Exception = pickle.PicklingError(
            "it is of the module __main__, which is not of a file here"
        )
    except Exception as raised:  # noqa: BLE001  (what __reduce__ of a user's class raises)
        failure = raised
    if cloudpickle is None:
        raise NotPicklable(
            f"the dataset, or what goes with it, cannot be sent to worker processes ({failure}): "
            "define its classes and functions at the top of a module, or install cloudpickle, "
            'which sends them as they are; or say multiprocessing_context="fork"'
        ) from failure

    class ByValue(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            found = _reduced(value)
            return super().reducer_override(value) if found is NotImplemented else found

    try:
        return _pickled(value, ByValue)
    except Exception as other:  # noqa: BLE001
        raise NotPicklable(
            f"the dataset, or what goes with it, cannot be sent to worker processes: {other}; "
            'say multiprocessing_context="fork", which copies the program in place of it'
        ) from other


class NotPicklable(InvalidArgumentError):
    """An object cannot go to a process that is not a fork of this one."""


def _has_main_file() -> bool:
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None) or ""
    return bool(getattr(main, "__spec__", None)) or os.path.isfile(file)
