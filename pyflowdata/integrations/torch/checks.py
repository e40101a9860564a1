"""What torch can take: devices that it finds, and blobs that it has tensors for."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ... import Blob, DataLoader, InvalidArgumentError, UnsupportedError
from ...errors import WrongUseError
from ...nodes.world import ALONE


def find_device(device: Any) -> torch.device:
    """The device of None or "cpu", or a CUDA device with its number.

    Raises:
        InvalidArgumentError: It does not exist.
        UnsupportedError: It is of another kind, or torch has no CUDA here.
    """
    try:
        found = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError):
        raise InvalidArgumentError(
            f"device = {device!r} is none that torch knows; use 'cpu', 'cuda' or 'cuda:0'"
        ) from None
    if found.type not in ("cpu", "cuda"):
        raise UnsupportedError(
            f"device = {device!r}; TorchLoader brings batches to 'cpu' or 'cuda': leave device out "
            "and copy the tensors with .to()"
        )
    if found.type == "cpu":
        return found
    if not torch.cuda.is_available():
        raise UnsupportedError(
            f"device = {device!r}, but torch.cuda.is_available() is false: this torch "
            f"({torch.__version__}) is built without CUDA, or it finds no GPU; leave device out "
            "for tensors on the host"
        )
    index = torch.cuda.current_device() if found.index is None else found.index
    if index >= torch.cuda.device_count():
        raise InvalidArgumentError(
            f"device = {device!r}, but torch finds {torch.cuda.device_count()} CUDA devices"
        )
    return torch.device("cuda", index)


def check_blobs(blobs: tuple[Blob, ...]) -> None:
    """Refuses blobs that cannot be tensors: ragged ones, and dtypes that torch lacks."""
    for blob in blobs:
        _ = blob.dense_row_shape  # refuses ragged ones
        _check_dtype(blob)


def _check_dtype(blob: Blob) -> None:
    try:
        torch.from_numpy(np.empty(0, blob.dtype))
    except TypeError:
        raise UnsupportedError(
            f"{blob.name} has dtype {blob.dtype}, for which torch {torch.__version__} has no "
            "tensors of NumPy's; leave the blob out, use an op that gives another dtype, or take "
            "a newer torch"
        ) from None


def check_ranks(loader: DataLoader[Any]) -> None:
    """Refuses a graph that was made before torch's process group, for the only rank.

    Raises:
        WrongUseError: There are several ranks.
    """
    dist = torch.distributed
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return
    if any(world.source == ALONE for blob in loader.blobs for world in blob.node.worlds):
        raise WrongUseError(
            "the readers are for rank 0 of 1, and torch.distributed has rank "
            f"{dist.get_rank()} of {dist.get_world_size()}: make the graph when the process group "
            "is there, with Lightning in train_dataloader(), or give the readers rank and "
            "world_size"
        )
