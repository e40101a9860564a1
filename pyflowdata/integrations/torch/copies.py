"""Copies of batches: to pinned memory, and from there to a CUDA device, asynchronously."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import torch

from ... import DataLoader
from ...batch_forms import arrays_of, map_arrays
from ...loader.batches import Array


def pinned(batch: Any) -> Any:
    """Tensors in pinned memory, as a batch of the same form."""
    return map_arrays(batch, torch.Tensor.pin_memory)


def counted(
    loader: DataLoader[Any], batch: Any, device: str, copy_batch: Callable[[Any], Any], *,
    overlaps: bool = False,
) -> Any:  # fmt: skip
    """What a function that copies a batch of a loader returns; counted for reports."""
    begin = time.perf_counter()
    copied = copy_batch(batch)
    seconds = time.perf_counter() - begin
    size = sum(array.nbytes for array in arrays_of(batch))
    loader.count_copy(seconds, size, device, overlaps=overlaps)
    return copied


class _PinnedBuffers:
    """Pinned memory for one batch; `copied` is the event after the last copies out of it."""

    __slots__ = ("_buffers", "copied")

    def __init__(self) -> None:
        self._buffers: list[torch.Tensor] = []
        self.copied: torch.cuda.Event | None = None

    def fill(self, index: int, array: Array) -> torch.Tensor:
        """Puts an array into the buffer of this index, which is replaced if it is too small."""
        source = torch.from_numpy(array)
        if index == len(self._buffers) or len(self._buffers[index]) < len(source):
            pin = torch.cuda.is_available()
            made = torch.empty(source.shape, dtype=source.dtype, pin_memory=pin)
            self._buffers[index : index + 1] = [made]
        return self._buffers[index][: len(source)].copy_(source)


class DeviceCopies:
    """Copies batches to a device, on a stream of its own, through two sets of pinned buffers.

    A buffer is written again only when the copy out of it is done.  The loader's own memory is
    free as soon as send() returns.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._free = [_PinnedBuffers(), _PinnedBuffers()]  # the one used longest ago first

    def send(self, batch: Any) -> tuple[Any, torch.cuda.Event]:
        """Starts the copies; returns the tensors, and the event after which they are complete."""
        buffers = self._free[0]
        if buffers.copied is not None:
            buffers.copied.synchronize()
        self._free.reverse()
        copied = torch.cuda.Event(blocking=True)  # waits without taking a processor
        number = itertools.count()
        try:
            with torch.cuda.stream(self._stream):
                return map_arrays(
                    batch, lambda array: self._start_copy(buffers.fill(next(number), array))
                ), copied
        finally:  # also after the copies that were started before an interrupt
            copied.record(self._stream)
            buffers.copied = copied

    def _start_copy(self, pinned: torch.Tensor) -> torch.Tensor:
        return pinned.to(self._device, non_blocking=True)

    def receive(self, tensors: Any, copied: torch.cuda.Event) -> None:
        """Makes the current stream wait for the copies, and tells the allocator of its use."""
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(copied)
        for tensor in arrays_of(tensors):
            tensor.record_stream(stream)
