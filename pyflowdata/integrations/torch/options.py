"""The options of a TorchLoader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import torch

from ...nodes.argument_hints import refuse_arguments


class LoaderOptions(TypedDict, total=False):
    """The arguments by name of a TorchLoader, which says what they mean.

    Attributes:
        device, pin_memory, ragged, static: Where the tensors are, and in which form.
        mesh, process_group, dtensor, context_parallel: Which part of the data this process gets.
    """

    device: torch.device | str | int | None
    pin_memory: bool
    ragged: Literal["dense", "jagged"] | None
    static: bool
    mesh: Any  # a DeviceMesh
    process_group: Any
    dtensor: Any  # bool or a DeviceMesh
    context_parallel: Any  # a DeviceMesh or a ContextParallel


def check_options(given: dict[str, Any]) -> LoaderOptions:
    """Keyword arguments as options.

    Raises:
        TypeError: One is not an option; the text names the nearest.
    """
    names = tuple(LoaderOptions.__annotations__)
    refuse_arguments({k: v for k, v in given.items() if k not in names}, "TorchLoader", names)
    options: Any = given
    found: LoaderOptions = options
    return found


def names_ranks(options: Mapping[str, object]) -> bool:
    """Whether they say what rank the readers have, so that a TorchLoader takes blobs."""
    return options.get("mesh") is not None or options.get("process_group") is not None
