"""Batches in the same tensors again and again, for CUDA graphs and torch.compile."""

from __future__ import annotations

from typing import Any

import torch

from ... import DataLoader, InvalidArgumentError
from ..equal_rows import check_equal_rows


class StaticBuffers:
    """Copies each batch into one set of tensors: their shapes, strides and addresses stay.

    On a device the copy is in the order of the current stream, so that work on the batch before,
    which was launched there, is done with it.
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
        """The buffers, with these numbers in them until the next call."""
        if self._buffers is None:
            with torch.inference_mode(False):  # an inference tensor could not be written later
                self._buffers = [torch.empty_like(tensor) for tensor in tensors]
        with torch.no_grad():  # the user may have asked for the gradient of one
            for buffer, tensor in zip(self._buffers, tensors, strict=True):
                buffer.copy_(tensor)
        return self._buffers
