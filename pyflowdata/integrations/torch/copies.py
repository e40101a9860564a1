"""Copies of batches: to pinned memory, and from there to a device, asynchronously where it can be.

A batch is a list of leaves here, as tensors.py takes it apart.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import torch

from ... import DataLoader
from .devices import can_pin, has_streams, make_event, module_of
from .tensors import each_tensor, tensors_of

Leaves = list[Any]


def pinned(leaves: Leaves) -> Leaves:
    """The same in pinned memory."""
    return each_tensor(leaves, torch.Tensor.pin_memory)


def counted(
    loader: DataLoader[Any], leaves: Leaves, device: str, copy_batch: Callable[[Leaves], Any], *,
    overlaps: bool = False,
) -> Any:  # fmt: skip
    """What a function that copies a batch of a loader returns; counted for reports."""
    begin = time.perf_counter()
    copied = copy_batch(leaves)
    seconds = time.perf_counter() - begin
    size = sum(tensor.nbytes for tensor in tensors_of(leaves))
    loader.count_copy(seconds, size, device, overlaps=overlaps)
    return copied


def copies_to(device: torch.device) -> DeviceCopies | PlainCopies | None:
    """What brings batches to a device; None: they stay on the host."""
    if device.type == "cpu":
        return None
    return DeviceCopies(device) if has_streams(device) else PlainCopies(device)


class _PinnedBuffers:
    """Pinned memory for one batch; `copied` is the event after the last copies out of it."""

    __slots__ = ("_buffers", "copied")

    def __init__(self) -> None:
        self._buffers: list[torch.Tensor] = []  # bytes
        self.copied: Any = None

    def fill(self, index: int, source: torch.Tensor) -> torch.Tensor:
        """Puts a tensor into the buffer of this index, which is replaced if it is too small."""
        size = source.nbytes
        if index == len(self._buffers) or len(self._buffers[index]) < size:
            made = torch.empty(size, dtype=torch.uint8, pin_memory=can_pin())
            self._buffers[index : index + 1] = [made]
        buffer = self._buffers[index][:size].view(source.dtype).view(source.shape)
        return buffer.copy_(source)


class DeviceCopies:
    """Copies batches to a device, on a stream of its own, through two sets of pinned buffers.

    A buffer is written again only when the copy out of it is done.  The loader's own memory is
    free as soon as send() returns.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._streams = module_of(device.type)
        self._stream = self._streams.Stream(device)
        self._free = [_PinnedBuffers(), _PinnedBuffers()]  # the one used longest ago first

    def send(self, leaves: Leaves) -> tuple[Leaves, Any]:
        """Starts the copies; returns the leaves, and the event after which they are complete."""
        buffers = self._free[0]
        if buffers.copied is not None:
            buffers.copied.synchronize()
        self._free.reverse()
        copied = make_event(self._device)
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

    def receive(self, leaves: Leaves, copied: Any) -> None:
        """Makes the current stream wait for the copies, and tells the allocator of its use."""
        stream = self._streams.current_stream(self._device)
        stream.wait_event(copied)
        for tensor in tensors_of(leaves):
            tensor.record_stream(stream)

    def __str__(self) -> str:
        return "copied ahead through pinned memory, on a stream of its own"


class PlainCopies:
    """Copies batches to a device without streams of torch, as MPS: a copy ends before send()."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def send(self, leaves: Leaves) -> tuple[Leaves, None]:
        """The leaves on the device, and None."""
        return each_tensor(leaves, lambda tensor: tensor.to(self._device)), None

    def receive(self, leaves: Leaves, copied: None) -> None:
        """Nothing is left to wait for."""

    def __str__(self) -> str:
        return "copied ahead; the device has no streams of torch to copy beside the step"
