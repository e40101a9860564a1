"""The options of a TorchLoader."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import torch


class LoaderOptions(TypedDict, total=False):
    """The keyword arguments of TorchLoader, which documents them.

    Attributes:
        device, pin_memory, ragged, static: The device and form of the tensors.
        mesh, process_group, dtensor, context_parallel: The part of the data that this process gets.
    """

    device: torch.device | str | int | None
    pin_memory: bool
    ragged: Literal["dense", "jagged"] | None
    static: bool
    mesh: Any  # a DeviceMesh
    process_group: Any
    dtensor: Any  # bool or a DeviceMesh
    context_parallel: Any  # a DeviceMesh or a ContextParallel
