"""A batch that is to be made, and what may come in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .workers import WorkerError


@dataclass(slots=True)
class Task:
    """A batch that is to be made.

    Attributes:
        number: Of the epoch.
        indices: Of its samples.
        key: Of its random numbers.
        sampler: State of the program's sampler after it.
    """

    number: int
    indices: Any
    key: int
    sampler: Any


class TimedOut(WorkerError):
    """A batch takes longer than `timeout`; the next next() waits for it again."""


class FailedBatch:
    """An exception in place of a batch."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure


END = object()


def len_of(batch: Any) -> int:
    """Samples of a batch: the length of its first tensor; 1 if there is none."""
    while type(batch) is not torch.Tensor and isinstance(batch, (list, tuple, dict)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    if isinstance(batch, torch.Tensor) and batch.is_nested:  # which has no shape
        return int(batch.size(0))
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape else 1
