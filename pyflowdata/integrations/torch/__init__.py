"""Batches as torch tensors: a loader for training loops and checkpoints, and sink mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import torch
except ImportError as failure:
    raise type(failure)(
        f"pyflowdata.integrations.torch needs PyTorch: pip install torch ({failure})"
    ) from failure

from .loader import TorchLoader, sink
from .meshes import ContextParallel, rank_and_world_size

if TYPE_CHECKING:
    from .data_loader import DataLoader, sample_generator

__all__ = [
    "ContextParallel", "DataLoader", "TorchLoader", "rank_and_world_size", "sample_generator",
    "sink",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """DataLoader and sample_generator.  They use more of torch than TorchLoader, and so are
    imported when they are asked for."""
    if name not in ("DataLoader", "sample_generator"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import data_loader
    except (ImportError, AttributeError) as failure:
        raise ImportError(
            f"pyflowdata.integrations.torch.{name} cannot be used with torch {torch.__version__}: "
            f"{failure}; it needs torch 2.6 or newer"
        ) from failure
    for each in ("DataLoader", "sample_generator"):
        globals()[each] = getattr(data_loader, each)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)


for _public in (ContextParallel, TorchLoader, rank_and_world_size, sink):
    _public.__module__ = __name__  # where users import it from
