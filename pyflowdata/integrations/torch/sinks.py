"""Sink mode with torch tensors, as pyflowdata.integrations.torch.sink()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from ... import DataLoader
from ...batch_forms import map_arrays
from ...nodes.argument_hints import takes_own_arguments
from ...loader.sinks import Sink
from .checks import check_blobs, find_device
from .loader import TorchLoader
from .copies import DeviceCopies, counted

ResultT = TypeVar("ResultT")


class _HostTensors:
    """What a sink does with batches on the host."""

    def send(self, batch: Any) -> Any:
        """Tensors that view the batch."""
        return map_arrays(batch, torch.from_numpy)

    def receive(self, made: Any) -> Any:
        """As it was sent."""
        return made

    def __str__(self) -> str:
        return "on cpu: tensors view the loader's memory, nothing is pinned or copied"


class _DeviceTensors:
    """What a sink does with batches for a CUDA device."""

    def __init__(self, loader: DataLoader[Any], device: torch.device) -> None:
        self._loader, self._device = loader, device
        self._copies = DeviceCopies(device)

    def send(self, batch: Any) -> Any:
        """Starts the copy, in the sink's thread: the tensors, and what tells that it is done."""
        with torch.cuda.device(self._device):  # each thread has a current device of its own
            return counted(
                self._loader, batch, str(self._device), self._copies.send, overlaps=True
            )

    def receive(self, made: Any) -> Any:
        """The tensors, for the stream of the training thread, which waits for their copy."""
        tensors, copied = made
        self._copies.receive(tensors, copied)
        return tensors

    def __str__(self) -> str:
        return f"on {self._device}: copied ahead through pinned memory, on a stream of its own"


@takes_own_arguments
def sink(
    loader: DataLoader[Any] | TorchLoader[Any],
    step: Callable[[Any], ResultT],
    *,
    sink_size: int = -1,
    device: torch.device | str | int | None = None,
    queue: int = 2,
) -> Sink[ResultT]:
    """Runs `step(batch)` many times per call, with tensors that a thread brings to the device.

    On a CUDA device the thread copies each batch to pinned memory, and from there on a stream of
    its own; the stream of the step waits for the copies, and no thread does.  The device has up
    to `queue` batches besides the one in use.  Without one the same thread and queue are used,
    and a tensor views the loader's memory.

    Args:
        loader: A DataLoader, whose batches have the form of TorchLoader's; its position is where
            this goes on.  Of a TorchLoader its DataLoader is taken, and its device.
        step: Trains with a batch.  What it returns stays on the device: `loss.detach()` makes
            nothing wait, `loss.item()` does.
        sink_size: Steps of a call; calls go on over the ends of epochs.  -1: a call ends where its
            epoch does.
        device: As of TorchLoader.
        queue: Batches that wait for steps at most.

    Returns:
        `run`: run() makes a call and returns what its steps returned; `for results in run` makes
        calls without end.  It has state_dict(), load_state_dict(), report(), stats() and
        close().

    Raises:
        InvalidArgumentError: A number is out of range, a blob is ragged, or the device does not
            exist.
        UnsupportedError: torch has no CUDA here, or no dtype for one of the blobs.
    """
    if isinstance(loader, TorchLoader):
        device = loader.device if device is None else device
        loader.load_state_dict(loader.state_dict())  # a batch taken ahead does not count
        loader = loader.loader
    found = find_device(device)
    if isinstance(loader, DataLoader):
        check_blobs(loader.blobs)
    hand_over = _DeviceTensors(loader, found) if found.type == "cuda" else _HostTensors()
    return Sink(loader, step, sink_size, queue, hand_over)
