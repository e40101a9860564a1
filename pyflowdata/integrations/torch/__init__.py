"""Batches as torch tensors: a loader for training loops and checkpoints, and sink mode."""

from __future__ import annotations

from .data_loader import DataLoader, sample_generator
from .loader import TorchLoader
from .meshes.ranks import rank_and_world_size
from .meshes.sequences import ContextParallel
from .sinks import sink

__all__ = [
    "ContextParallel", "DataLoader", "TorchLoader", "rank_and_world_size", "sample_generator",
    "sink",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


TorchLoader.__module__ = __name__  # where users import it from
DataLoader.__module__ = __name__
