"""Where an iterator over batches is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .fetching import StreamPlace


@dataclass
class Progress:
    """Where an iterator is; the DataLoader has it for its state.

    Attributes:
        epoch: Of the iterator.
        position: Batches delivered; with in_order=False all before this one were.
        ahead: Batches from `position` on that were delivered, with in_order=False.
        start, sampler: Of the program's sampler, see SamplerIterator.
        after: As start, of the next epoch; None as long as the sampler is not at its end.
        streams: Of an iterable dataset: where each worker is.
        worker: Of an iterable dataset: which worker has the next batch.
        has_started: A batch was asked for.
        is_over: The epoch is at its end.
        after_streams: As streams, of the epoch that begins next, where workers keep their datasets.
        length: Batches of the epoch; None as long as the order is not at its end.
        delivered: Number of the batch that was delivered last, of this iterator.
        look_ahead: Takes the sampler's next indices, from which `length` may be known; None: they
            are taken ahead, or nothing is.
    """

    epoch: int = 0
    position: int = 0
    ahead: list[int] = field(default_factory=list)
    start: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    sampler: Any = None
    streams: list[StreamPlace] | None = None
    worker: int = 0
    has_started: bool = False
    is_over: bool = False
    after_streams: list[StreamPlace] | None = None
    length: int | None = None
    delivered: int | None = None
    look_ahead: Callable[[], None] | None = None

    def copy(self) -> Progress:
        """As it was before an iterator began here."""
        return Progress(
            self.epoch, self.position, list(self.ahead), self.start, None, self.sampler,
            list(self.streams) if self.streams is not None else None, self.worker,
            after_streams=self.after_streams,
        )  # fmt: skip

    def snapshot(self) -> Progress:
        """As it is now, in a Progress that does not change with this one."""
        streams = None if self.streams is None else [*self.streams]
        return dataclasses.replace(self, ahead=[*self.ahead], streams=streams)

    def next(self, epoch: int) -> Progress:
        """The start of an epoch that comes after this one."""
        return Progress(epoch, after_streams=self.after_streams)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "look_ahead": None}

    def become(self, other: Progress) -> None:
        """Takes over all that the other says, for whom holds this one."""
        for one in dataclasses.fields(self):
            setattr(self, one.name, getattr(other, one.name))
