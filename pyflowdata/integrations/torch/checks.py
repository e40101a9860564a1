"""What torch can take: devices that it finds, and blobs that it has tensors for."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ... import Blob, DataLoader, InvalidArgumentError, UnsupportedError
from ...errors import WrongUseError
from ...nodes import is_bfloat16
from ...nodes.world import ALONE
from .devices import is_available, module_of


def find_device(device: Any) -> torch.device:
    """The device of None or "cpu", or one with its number of a type that torch has here.

    Raises:
        InvalidArgumentError: It does not exist.
        UnsupportedError: torch has no such devices here, or none that hold tensors' numbers.
    """
    try:
        found = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError):
        raise InvalidArgumentError(
            f"device = {device!r} is none that torch knows; use 'cpu', 'cuda' or 'cuda:0'"
        ) from None
    if found.type == "cpu":
        return found
    module = module_of(found.type)
    if module is None:
        raise UnsupportedError(
            f"device = {device!r}; TorchLoader brings batches to 'cpu' or 'cuda', or to what torch "
            "has a module for, as torch.xpu: leave device out and copy the tensors with .to()"
        )
    if not is_available(found.type):
        is_cuda = found.type == "cuda"
        raise UnsupportedError(
            f"device = {device!r}, but torch.{found.type}.is_available() is false: this torch "
            f"({torch.__version__}) is built without {'CUDA' if is_cuda else found.type}, or it "
            f"finds no {'GPU' if is_cuda else 'device'}; leave device out for tensors on the host"
        )
    current = getattr(module, "current_device", None)
    index = found.index if found.index is not None else current() if current else 0
    count = module.device_count() if hasattr(module, "device_count") else 1
    if index >= count:
        raise InvalidArgumentError(
            f"device = {device!r}, but torch finds {count} {found.type.upper()} devices"
        )
    return torch.device(found.type, index)


def check_dtype(blob: Blob) -> None:
    """Refuses a dtype that torch lacks.

    Raises:
        UnsupportedError: It does.
    """
    if is_bfloat16(blob.dtype):
        return
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
