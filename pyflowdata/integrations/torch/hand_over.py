"""Makes tensors of a DataLoader's batches for a TorchLoader: cut, pinned, copied and placed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ... import DataLoader, InvalidArgumentError
from ...loader.loader_wrapper import WrappedLoader
from ..equal_rows import check_equal_rows
from .devices import copies_to, counted, pinned
from .meshes import MeshPlacement
from .options import LoaderOptions
from .tensors import HostTensors

# ---- Static tensors -----------------------------------------------------------------------------
# CUDA graphs and torch.compile need all batches in the same tensors.


class _StaticBuffers:
    """Copies each batch into one set of tensors, with the same shapes, strides and addresses.

    On a device the copy is in the order of the current stream: work on the batch before, launched
    on that stream, is done first.
    """

    def __init__(self, loader: DataLoader[Any], pin_memory: bool) -> None:
        """Refuses loaders whose batches differ in shape.

        Raises:
            InvalidArgumentError: A blob is ragged, a batch may have fewer rows than others, or
                pin_memory is set.
        """
        if pin_memory:
            raise InvalidArgumentError(
                "static=True and pin_memory=True: a copy out of pinned memory could still run when "
                "the next batch is written there; give device=, which waits for its copies"
            )
        for blob in loader.blobs:
            if blob.is_ragged:
                raise InvalidArgumentError(
                    f"static=True, and {blob.name} has rows of shape {blob.shape[1:]}: batches of "
                    "one shape are needed; Pad makes rows of one size"
                )
        try:
            check_equal_rows(loader)
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(f"static=True, and {failure}") from None
        self._buffers: list[torch.Tensor] | None = None

    def hold(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The buffers, with these numbers until the next call."""
        if self._buffers is None:
            with torch.inference_mode(False):  # an inference tensor could not be written later
                self._buffers = [torch.empty_like(tensor) for tensor in tensors]
        with torch.no_grad():  # the user may have asked for the gradient of one
            for buffer, tensor in zip(self._buffers, tensors, strict=True):
                buffer.copy_(tensor)
        return self._buffers


# ---- The hand-over ------------------------------------------------------------------------------


class HandOver:
    """Splits batches into leaves, one for each blob, and forms the batches for the user from them.

    Attributes:
        pins: Whether tensors on the host are copied to pinned memory.
        copies: Copies to the device; None: tensors stay on the host.
    """

    def __init__(
        self, placement: MeshPlacement, device: torch.device, options: LoaderOptions
    ) -> None:
        """Takes the options of TorchLoader, whose errors it raises, and an existing device."""
        pin_memory = bool(options.get("pin_memory"))
        self._loader = placement.loader
        self._shows = WrappedLoader(self._loader).shows
        self._device = device
        self._placement = placement
        self._tensors = HostTensors(self._loader, options.get("ragged"))
        self._convert = self._tensors.convert
        self._static: _StaticBuffers | None = None
        if options.get("static"):
            self._static = _StaticBuffers(self._loader, pin_memory)
        self.pins = pin_memory and torch.cuda.is_available()
        self.copies: Any = copies_to(device)

    def on_host(self, batch: Any) -> Any:
        """A batch for the user, on the host."""
        if self._static is None:
            return self._placement.to_dtensors(self.tensors_of(batch))
        return self.handed_out(self._leaves(self._placement.cut(batch)))

    def tensors_of(self, batch: Any) -> Any:
        """Tensors on the host that no later batch changes, of this process alone."""
        batch = self._placement.cut(batch)
        return self._tensors.unflatten(self._leaves(batch)) if self.pins else self._convert(batch)

    def send(self, batch: Any) -> tuple[list[Any], Any]:
        """Starts the copies of a batch; returns its leaves, and the event after the copies."""
        batch = self._placement.cut(batch)
        if self.copies is None:
            return self._leaves(batch), None
        sent: tuple[list[Any], Any]
        sent = self._copied(self._tensors.flatten(batch), str(self._device), self.copies.send)
        return sent

    def receive(self, leaves: list[Any], copied: Any) -> Any:
        """The batch for the user, from the results of send()."""
        if self.copies is not None:
            self.copies.receive(leaves, copied)
        return self.handed_out(leaves)

    def handed_out(self, leaves: list[Any]) -> Any:
        """The batch for the user, of leaves that are on their device."""
        if self._static is not None:
            leaves = self._static.hold(leaves)
        return self._placement.to_dtensors(self._tensors.unflatten(leaves))

    def _leaves(self, batch: Any) -> list[Any]:
        leaves = self._tensors.flatten(batch)
        return self._copied(leaves, "pinned memory", pinned) if self.pins else leaves

    def _copied(self, leaves: list[Any], device: str, copy_batch: Callable[[Any], Any]) -> Any:
        """The result of a function that copies a batch; counted for report()."""
        with self._shows(f"copy to {device}"):
            return counted(self._loader, leaves, device, copy_batch)
