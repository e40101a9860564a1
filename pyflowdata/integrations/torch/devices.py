"""The devices of torch on this machine, and copies of batches to them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections.abc import Callable
from typing import Any

import torch

from ... import DataLoader, InvalidArgumentError, UnsupportedError
from .tensors import each_tensor, tensors_of

# ---- Devices ------------------------------------------------------------------------------------

_OF_STREAMS = ("Stream", "Event", "stream", "current_stream")


def find_device(device: Any) -> torch.device:
    """The device for None or "cpu", or a device with its number, of a type that torch supports.

    Raises:
        InvalidArgumentError: The device does not exist.
        UnsupportedError: torch has no such devices on this machine, or none that hold tensors.
    """
    try:
        chosen = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError):
        raise InvalidArgumentError(
            f"device = {device!r} is not a device that torch knows; use 'cpu', 'cuda' or 'cuda:0'"
        ) from None
    if chosen.type == "cpu":
        if chosen.index:
            raise InvalidArgumentError(f"device = {device!r}; there is one device 'cpu'")
        return chosen
    module = _module_of(chosen.type)
    if module is None:
        raise UnsupportedError(
            f"device = {device!r}; TorchLoader brings batches to 'cpu' or 'cuda', or to what torch "
            "has a module for, as torch.xpu: leave device out and copy the tensors with .to()"
        )
    if not _is_available(chosen.type):
        is_cuda = chosen.type == "cuda"
        raise UnsupportedError(
            f"device = {device!r}, but torch.{chosen.type}.is_available() is false: this torch "
            f"({torch.__version__}) is built without {'CUDA' if is_cuda else chosen.type}, or it "
            f"finds no {'GPU' if is_cuda else 'device'}; leave device out for tensors on the host"
        )
    current = getattr(module, "current_device", None)
    index = chosen.index if chosen.index is not None else current() if current else 0
    count = module.device_count() if hasattr(module, "device_count") else 1
    if index >= count:
        raise InvalidArgumentError(
            f"device = {device!r}, but torch finds {count} {chosen.type.upper()} devices"
        )
    return torch.device(chosen.type, index)


def _module_of(kind: str) -> Any:
    """torch.cuda for "cuda", and so on; None: torch has no module with is_available()."""
    module = getattr(torch, kind, None)
    return module if module is not None and _availability(kind, module) is not None else None


def _is_available(kind: str) -> bool:
    """Whether torch finds devices of a type that it has a module for."""
    asked = _availability(kind, getattr(torch, kind))
    return bool(asked is not None and asked())


def _availability(kind: str, module: Any) -> Any:
    """The function that returns whether there are such devices; for some types only torch.backends
    has it."""
    backend = getattr(torch.backends, kind, None)
    return getattr(module, "is_available", None) or getattr(backend, "is_available", None)


def _has_streams(device: torch.device) -> bool:
    """Whether copies can run beside computations, and be waited for: CUDA and XPU.  The streams of
    MPS, which torch 2.15 has, are not used."""
    module = None if device.type == "mps" else _module_of(device.type)
    return module is not None and all(hasattr(module, name) for name in _OF_STREAMS)


def _make_event(device: torch.device) -> Any:
    """An event; on CUDA one that waits without using a processor."""
    event = _module_of(device.type).Event
    return event(blocking=True) if device.type == "cuda" else event()


def current_device(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Makes it the current device of this thread: each thread has its own."""
    chosen = getattr(_module_of(device.type), "device", None)
    found: contextlib.AbstractContextManager[Any]
    found = contextlib.nullcontext() if chosen is None else chosen(device)
    return found


@functools.cache
def can_pin() -> bool:
    """Whether torch has pinned memory on this machine."""
    try:
        return bool(torch.empty(1, pin_memory=True).is_pinned())
    except RuntimeError:
        return False


# ---- Copies -------------------------------------------------------------------------------------
# Batches are copied to pinned memory, and from there to a device, asynchronously where possible.  A
# batch is a list of the leaves into which tensors.py splits it.

_Leaves = list[Any]


def pinned(leaves: _Leaves) -> _Leaves:
    """The same leaves in pinned memory."""
    return each_tensor(leaves, torch.Tensor.pin_memory)


def counted(
    loader: DataLoader[Any], leaves: _Leaves, device: str, copy_batch: Callable[[_Leaves], Any], *,
    overlaps: bool = False,
) -> Any:  # fmt: skip
    """The result of a function that copies a batch of a loader; the copy is counted for reports."""
    begin = time.perf_counter()
    copied = copy_batch(leaves)
    seconds = time.perf_counter() - begin
    size = sum(tensor.nbytes for tensor in tensors_of(leaves))
    loader.count_copy(seconds, size, device, overlaps=overlaps)
    return copied


def copies_to(device: torch.device) -> DeviceCopies | PlainCopies | None:
    """The copies of batches to a device; None: they stay on the host."""
    if device.type == "cpu":
        return None
    return DeviceCopies(device) if _has_streams(device) else PlainCopies(device)


class _PinnedBuffers:
    """Pinned memory for one batch; `copied` is the event after the last copies from it."""

    __slots__ = ("_buffers", "copied")

    def __init__(self) -> None:
        self._buffers: list[torch.Tensor] = []  # bytes
        self.copied: Any = None

    def fill(self, index: int, source: torch.Tensor) -> torch.Tensor:
        """Copies a tensor into the buffer with this index, which is replaced if it is too small."""
        size = source.nbytes
        if index == len(self._buffers) or len(self._buffers[index]) < size:
            made = torch.empty(size, dtype=torch.uint8, pin_memory=can_pin())
            self._buffers[index : index + 1] = [made]
        buffer = self._buffers[index][:size].view(source.dtype).view(source.shape)
        return buffer.copy_(source)


class DeviceCopies:
    """Copies batches to a device, on a separate stream, through two sets of pinned buffers.

    A buffer is written again after the copy from it is done.  The loader's own memory is free when
    send() returns.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._streams = _module_of(device.type)
        self._stream = self._streams.Stream(device)
        self._free = [_PinnedBuffers(), _PinnedBuffers()]  # the oldest first

    def send(self, leaves: _Leaves) -> tuple[_Leaves, Any]:
        """Starts the copies; returns the leaves, and the event after which they are complete."""
        buffers = self._free[0]
        if buffers.copied is not None:
            buffers.copied.synchronize()
        self._free.reverse()
        copied = _make_event(self._device)
        number = itertools.count()
        try:
            with self._streams.stream(self._stream):
                return each_tensor(
                    leaves, lambda tensor: self._start_copy(buffers.fill(next(number), tensor))
                ), copied
        finally:  # also after the copies that were started before an interrupt
            copied.record(self._stream)
            buffers.copied = copied

    def _start_copy(self, pinned: torch.Tensor) -> torch.Tensor:
        return pinned.to(self._device, non_blocking=True)

    def receive(self, leaves: _Leaves, copied: Any) -> None:
        """Makes the current stream wait for the copies, and tells the allocator that it uses
        them."""
        stream = self._streams.current_stream(self._device)
        stream.wait_event(copied)
        for tensor in tensors_of(leaves):
            tensor.record_stream(stream)

    def __str__(self) -> str:
        return "copied ahead through pinned memory, on a separate stream"


class PlainCopies:
    """Copies batches to a device without streams of torch, as MPS: send() returns after the
    copy."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def send(self, leaves: _Leaves) -> tuple[_Leaves, None]:
        return each_tensor(leaves, lambda tensor: tensor.to(self._device)), None

    def receive(self, leaves: _Leaves, copied: None) -> None:
        """Does nothing: no copy is left to wait for."""

    def __str__(self) -> str:
        return "copied ahead; the device has no streams of torch to copy beside the step"
