"""Batches of an iterable dataset, one taken ahead, so that the last one is known as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .iterators import BatchIterator
from .progress import Progress


class OneAhead(Iterator[Any]):
    """Gives the batches of an iterator, and keeps a progress that does not count the one ahead.

    Attributes:
        at_end: The last batch was handed out.
    """

    def __init__(self, make: Callable[[Progress], BatchIterator], shown: Progress) -> None:
        """Args: what makes the iterator, and the progress of the DataLoader."""
        self._make = make
        self._shown = shown
        self._batches: BatchIterator | None = None
        self._own: Progress
        self._batch: Any = None
        self._failure: Exception | None = None
        self._after: dict[str, Any] = {}  # the progress when _batch is delivered

    def __next__(self) -> Any:
        if self._batches is None:
            self._own = self._shown.copy()
            self._batches = self._make(self._own)
            self._take(self._batches)
        self._shown.__dict__.update(self._after)
        if self._failure is None:
            batch = self._batch
            self._take(self._batches)
            return batch
        failure = self._failure
        if not isinstance(failure, StopIteration):
            self._take(self._batches)
        raise failure

    @property
    def at_end(self) -> bool:
        return isinstance(self._failure, StopIteration)

    def _take(self, batches: BatchIterator) -> None:
        self._batch = self._failure = None
        try:
            self._batch = next(batches)
        except Exception as failure:
            self._failure = failure
        streams = self._own.streams
        self._after = {**vars(self._own), "streams": None if streams is None else [*streams]}
