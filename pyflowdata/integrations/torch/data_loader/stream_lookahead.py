"""Batches of an iterable dataset, one taken ahead, so that the last one is known as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..lookahead import Lookahead
from .iterators import BatchIterator
from .progress import Progress


class StreamLookahead(Iterator[Any]):
    """Gives the batches of an iterator, and keeps a progress that does not count the one ahead."""

    def __init__(self, make: Callable[[Progress], BatchIterator], shown: Progress) -> None:
        """Args: what makes the iterator, and the progress of the DataLoader."""
        self._make = make
        self._shown = shown
        self._own: Progress
        self._batches: BatchIterator
        self._lookahead: Lookahead | None = None

    def __next__(self) -> Any:
        lookahead = self._lookahead
        if lookahead is None:
            self._own = self._shown.copy()
            self._batches = self._make(self._own)
            lookahead = self._lookahead = Lookahead(
                lambda: next(self._batches), self._own.snapshot, self._go_back, (Exception,)
            )
        try:
            return next(lookahead)
        finally:
            self._shown.become(lookahead.place)

    @property
    def at_end(self) -> bool:
        """The last batch was handed out."""
        return self._lookahead is not None and self._lookahead.at_end

    def _go_back(self, place: Progress) -> None:
        own = self._own
        if (own.epoch, own.position) != (place.epoch, place.position):
            own.become(place.snapshot())
            self._batches = self._make(own)
