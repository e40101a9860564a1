"""Where an iterator over batches is, and what it needs of its DataLoader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ....loader.epoch_steps import EpochSteps
from .counts import Counts
from .fetching import Fetcher, Fetching, StreamPlace
from .orders import EpochOrder
from .workers import Workers


@dataclass
class Progress:
    """Where an iterator is; the DataLoader has it for its state.

    Attributes:
        epoch: Of the iterator.
        position: Batches delivered; with in_order=False all before this one were.
        ahead: Batches from `position` on that were delivered, with in_order=False.
        start, sampler: Of the program's sampler, see SamplerRun.
        after: As start, of the next epoch; None as long as the sampler is not at its end.
        streams: Of an iterable dataset: where each worker is.
        worker: Of an iterable dataset: which worker has the next batch.
        has_begun: A batch was asked for.
        is_over: The epoch is at its end.
        after_streams: As streams, of the next epoch, where workers keep their datasets.
    """

    epoch: int = 0
    position: int = 0
    ahead: list[int] = field(default_factory=list)
    start: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    sampler: Any = None
    streams: list[StreamPlace] | None = None
    worker: int = 0
    has_begun: bool = False
    is_over: bool = False
    after_streams: list[StreamPlace] | None = None

    def copy(self) -> Progress:
        """As it was before an iterator began here."""
        return Progress(
            self.epoch, self.position, list(self.ahead), self.start, None, self.sampler,
            list(self.streams) if self.streams is not None else None, self.worker,
        )  # fmt: skip


class Source(Protocol):
    """The DataLoader, as its iterators use it; the attributes are those of DataLoader."""

    dataset: Any
    num_workers: int
    prefetch_factor: int | None
    pin_memory: bool
    persistent_workers: bool
    timeout: float
    in_order: bool
    seed: int
    rank: int
    order: EpochOrder | None
    counts: Counts
    is_iterable: bool
    most_ahead: int
    _auto_collation: bool
    _epoch_steps: EpochSteps | None
    _index_sampler: Any
    _IterableDataset_len_called: int | None

    def __len__(self) -> int: ...

    def fetching(self) -> Fetching: ...

    def is_at_end(self, progress: Progress) -> bool: ...

    def check_streams(self, progress: Progress, count: int) -> list[StreamPlace | None]: ...

    def kept_fetcher(self, how: Fetching, keep: Any) -> Fetcher: ...

    def told_epoch(self, progress: Progress) -> int | None: ...

    def take_workers(self) -> Workers: ...

    def give_back_workers(self, workers: Workers) -> None: ...
