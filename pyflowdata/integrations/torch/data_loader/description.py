"""What print() says of a DataLoader."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Protocol

from .orders import EpochOrder


class Described(Protocol):
    """The DataLoader; the attributes are its own."""

    dataset: Any
    batch_size: int | None
    sampler: Any
    batch_sampler: Any
    num_workers: int
    workers: str
    order: EpochOrder | None
    seed: int
    rank: int
    world_size: int

    @property
    def epoch(self) -> int: ...

    def __len__(self) -> int: ...


def describe(loader: Described) -> str:
    """Its dataset, order, batches, workers and steps, in a line."""
    dataset, samples = type(loader.dataset).__name__, _len_of(loader.dataset)
    parts = [
        dataset if samples is None else f"{dataset} of {samples} samples",
        _batches_of(loader),
        _order_of(loader),
        f"rank={loader.rank}/{loader.world_size}" if loader.world_size > 1 else "",
        f"{loader.num_workers} worker {loader.workers}" if loader.num_workers else "no workers",
        f"steps={_or_unknown(_len_of(loader))}, epoch={loader.epoch}",
    ]
    return f"DataLoader({'; '.join(filter(None, parts))})"


def _batches_of(loader: Described) -> str:
    if loader.batch_sampler is None:
        return "single samples"
    last = "" if loader.order is None or loader.order.last == "short" else loader.order.last
    size = f"batch_size={loader.batch_size}" if loader.batch_size is not None else ""
    return ", ".join(filter(None, (size, f"last={last!r}" if last else "")))


def _order_of(loader: Described) -> str:
    if loader.order is not None:
        return f"shuffle={loader.order.shuffle}, seed={loader.seed}"
    is_own = loader.batch_size is None and loader.batch_sampler is not None
    sampler = type(loader.batch_sampler if is_own else loader.sampler).__name__
    return "" if sampler == "StreamSampler" else f"{'batch_' * is_own}sampler={sampler}"


def _len_of(one: Any) -> int | None:
    try:
        return len(one) if isinstance(one, Sized) else None
    except (TypeError, NotImplementedError):
        return None


def _or_unknown(number: int | None) -> str:
    return "unknown" if number is None else str(number)
