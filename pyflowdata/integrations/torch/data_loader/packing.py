"""Python objects as a few bytes, and the large arrays and tensors in them apart.

This is pickle with buffers out of band.  Tensors are buffers, too, so that a batch or a dataset of
any structure goes to another process with one copy of its arrays, into shared memory.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from .... import InvalidArgumentError
from ....workers.shared_memory import SharedFile, aligned

try:
    import cloudpickle
except ImportError:
    cloudpickle = None

_APART_FROM = 256  # bytes of a tensor


def _tensor_of(
    memory: Any, dtype: torch.dtype, shape: tuple[int, ...], requires_grad: bool
) -> torch.Tensor:
    if not isinstance(memory, memoryview):
        memory = memoryview(memory)
    if memory.readonly:  # it was small, and came with the message
        memory = memoryview(bytearray(memory))
    tensor = torch.frombuffer(memory, dtype=dtype).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _reduced(value: Any) -> Any:
    """How a plain tensor of the host is pickled; NotImplemented for anything else."""
    if type(value) is not torch.Tensor or value.device.type != "cpu":
        return NotImplemented
    is_plain = value.layout is torch.strided and value.is_leaf
    if not is_plain or value.is_quantized or value.is_nested:
        return NotImplemented
    if value.is_conj() or value.is_neg() or value.numel() == 0:
        return NotImplemented
    content = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    given = pickle.PickleBuffer(content) if content.nbytes >= _APART_FROM else content.tobytes()
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
        Exception: What pickle says of an object that cannot be pickled.
    """
    return _pickled(value, _Pickler)


def unpack(content: Any, buffers: Sequence[Any]) -> Any:
    """The object; its arrays and tensors view the buffers."""
    return pickle.loads(content, buffers=buffers)


# ---- Into memory of a new process ----------------------------------------------------------------


class SharedPickle(NamedTuple):
    """An object in a file in memory, which several processes open.

    Each maps it privately: pages that nobody writes to are there once for all of them.

    Attributes:
        file: The content, then the buffers.
        content: Length of the content.
        places: Offset and length of each buffer.
    """

    file: SharedFile
    content: int
    places: list[tuple[int, int]]

    def open(self) -> Any:
        """The object, in the other process.  Its arrays may be written to, which nobody sees."""
        memory = mmap.mmap(self.file.fd, 0, flags=mmap.MAP_PRIVATE)
        view = memoryview(memory)
        buffers = [view[begin : begin + size] for begin, size in self.places]
        return unpack(view[: self.content], buffers)


def pickle_to_memory(value: Any) -> SharedPickle:
    """An object for new processes: by reference to its classes, or by value if need be.

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
        for (begin, size), part in zip(
            [(0, len(content)), *places], [memoryview(content), *buffers], strict=True
        ):
            written = 0
            while written < size:
                written += os.pwrite(file.fd, part[written:], begin + written)
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
    return bool(getattr(main, "__spec__", None)) or os.path.isfile(
        getattr(main, "__file__", None) or ""
    )
