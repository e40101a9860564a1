"""What a sink with torch tensors does with batches, on the host and for a CUDA device."""

from __future__ import annotations

from typing import Any

import torch

from .. import DataLoader
from ..batch_forms import map_arrays
from ..loader.sinks import HandOver
from .torch_checks import check_blobs, find_device
from .torch_copies import DeviceCopies, counted


class _HostTensors:
    """What a sink does with batches on the host."""

    def send(self, batch: Any) -> Any:
        return map_arrays(batch, torch.from_numpy)

    def receive(self, made: Any) -> Any:
        return made

    def __str__(self) -> str:
        return "on cpu: tensors view the loader's memory, nothing is pinned or copied"


class _DeviceTensors:
    """What a sink does with batches for a CUDA device."""

    def __init__(self, loader: DataLoader[Any], device: torch.device) -> None:
        self._loader, self._device = loader, device
        self._copies = DeviceCopies(device)

    def send(self, batch: Any) -> Any:
        with torch.cuda.device(self._device):  # each thread has a current device of its own
            return counted(
                self._loader, batch, str(self._device), self._copies.send, overlaps=True
            )

    def receive(self, made: Any) -> Any:
        tensors, copied = made
        self._copies.receive(tensors, copied)
        return tensors

    def __str__(self) -> str:
        return f"on {self._device}: copied ahead through pinned memory, on a stream of its own"


def hand_over_of(loader: DataLoader[Any], device: Any) -> HandOver:
    """What brings a loader's batches to a device; as of sink(), which refuses other loaders."""
    found = find_device(device)
    if isinstance(loader, DataLoader):
        check_blobs(loader.blobs)
    return _DeviceTensors(loader, found) if found.type == "cuda" else _HostTensors()
