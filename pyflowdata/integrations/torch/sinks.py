"""Sink mode with torch tensors, as pyflowdata.integrations.torch.sink()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch

from ... import DataLoader, InvalidArgumentError
from ...nodes.argument_hints import takes_own_arguments
from ...loader.sinks import Sink
from .copies import DeviceCopies, PlainCopies, copies_to, counted
from .devices import current_device, find_device
from .loader import TorchLoader
from .tensors import HostTensors

ResultT = TypeVar("ResultT")


class _OnHost:
    """What a sink does with batches on the host."""

    def __init__(self, tensors: HostTensors) -> None:
        self._tensors = tensors

    def send(self, batch: Any) -> Any:
        """Tensors that view the batch."""
        return self._tensors.convert(batch)

    def receive(self, made: Any) -> Any:
        """As it was sent."""
        return made

    def __str__(self) -> str:
        return "on cpu: tensors view the loader's memory, nothing is pinned or copied"


class _OnDevice:
    """What a sink does with batches for a device."""

    def __init__(
        self,
        loader: DataLoader[Any],
        tensors: HostTensors,
        device: torch.device,
        copies: DeviceCopies | PlainCopies,
    ) -> None:
        self._loader, self._tensors, self._device = loader, tensors, device
        self._copies = copies

    def send(self, batch: Any) -> Any:
        """Starts the copy, in the sink's thread: the leaves, and what tells that it is done."""
        leaves = self._tensors.flatten(batch)
        with current_device(self._device):
            return counted(
                self._loader, leaves, str(self._device), self._copies.send, overlaps=True
            )

    def receive(self, made: Any) -> Any:
        """The tensors, for the stream of the training thread, which waits for their copy."""
        leaves, copied = made
        self._copies.receive(leaves, copied)
        return self._tensors.unflatten(leaves)

    def __str__(self) -> str:
        return f"on {self._device}: {self._copies}"


@takes_own_arguments
def sink(
    loader: DataLoader[Any] | TorchLoader[Any],
    step: Callable[[Any], ResultT],
    *,
    sink_size: int = -1,
    device: torch.device | str | int | None = None,
    queue: int = 2,
    ragged: Literal["dense", "jagged"] | None = None,
) -> Sink[ResultT]:
    """Runs `step(batch)` many times per call, with tensors that a thread brings to the device.

    On a CUDA or XPU device the thread copies each batch to pinned memory, and from there on a
    stream of its own; the stream of the step waits for the copies, and no thread does.  The device
    has up to `queue` batches besides the one in use.  Without one the same thread and queue are
    used, and a tensor views the loader's memory.

    Args:
        loader: A DataLoader, whose batches have the form of TorchLoader's; its position is where
            this goes on.  Of a TorchLoader its DataLoader is taken, and its device.
        step: Trains with a batch.  What it returns stays on the device: `loss.detach()` makes
            nothing wait, `loss.item()` does.
        sink_size: Steps of a call; calls go on over the ends of epochs.  -1: a call ends where its
            epoch does.
        device: As of TorchLoader.
        queue: Batches that wait for steps at most.
        ragged: As of TorchLoader, and of a TorchLoader its own.

    Returns:
        `run`: run() makes a call and returns what its steps returned; `for results in run` makes
        calls without end.  It has state_dict(), load_state_dict(), report(), stats() and
        close().

    Raises:
        InvalidArgumentError: A number is out of range, a blob is ragged and `ragged` does not say
            what it becomes, the device does not exist, or the TorchLoader has static=True.
        UnsupportedError: torch has no such device here, or no dtype for one of the blobs.
    """
    if isinstance(loader, TorchLoader):
        if loader.static:
            raise InvalidArgumentError(
                "a TorchLoader with static=True was given, and sink() gives new tensors with each "
                "batch: give its DataLoader, loader.loader"
            )
        device = loader.device if device is None else device
        ragged = loader.ragged if ragged is None else ragged
        loader._place.go_to_user()
        loader = loader.loader
    found = find_device(device)
    hand_over: Any = None  # Sink refuses what is not a loader
    if isinstance(loader, DataLoader):
        hand_over = _hand_over(loader, ragged, found)
    return Sink(loader, step, sink_size, queue, hand_over)


def _hand_over(
    loader: DataLoader[Any], ragged: str | None, device: torch.device
) -> _OnHost | _OnDevice:
    tensors, copies = HostTensors(loader, ragged), copies_to(device)
    return _OnHost(tensors) if copies is None else _OnDevice(loader, tensors, device, copies)
