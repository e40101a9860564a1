"""Takes the next batch before it delivers one: copies overlap, and the last batch is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

PlaceT = TypeVar("PlaceT")


@dataclass(frozen=True)
class _Taken(Generic[PlaceT]):
    """A batch, or the exception in its place.

    Attributes:
        failure: The error of this batch, or StopIteration.
        place: The place of the batches after this one.
    """

    batch: Any
    failure: Exception | None
    place: PlaceT


class Lookahead(Iterator[Any], Generic[PlaceT]):
    """The batches that a function takes, one of them ahead.

    A failure takes the place of its batch, and no later batch is taken before the failure was
    raised.  An interrupt loses no batch: taken batches stay, and an unfinished one is taken again.

    Attributes:
        place: The place of the batches after the last delivered one.
    """

    def __init__(
        self,
        take: Callable[[], Any],
        snapshot: Callable[[], PlaceT],
        restore: Callable[[PlaceT], None],
        failures: tuple[type[Exception], ...],
    ) -> None:
        """Takes nothing before the first batch is asked for.

        Args:
            take: Gives the next batch, or raises StopIteration.
            snapshot: Gives the place of the batches.
            restore: Called after an interrupt of take(): goes back to such a place, if the batches
                are beyond it.
            failures: The exceptions of take() that take the place of the batch; others are raised
                at once.
        """
        self._take_next, self._snapshot, self._restore = take, snapshot, restore
        self._failures: tuple[type[Exception], ...] = (*failures, StopIteration)
        self._taken: deque[_Taken[PlaceT]] = deque()
        self.place = snapshot()

    @property
    def at_end(self) -> bool:
        """Whether the last batch was delivered."""
        return bool(self._taken) and isinstance(self._taken[0].failure, StopIteration)

    @property
    def end(self) -> PlaceT:
        """The place of the batches after their end; only if at_end is true."""
        return self._taken[0].place

    def __next__(self) -> Any:
        taken = self._taken
        while len(taken) < 2 and not (taken and taken[-1].failure is not None):
            self._take()
        current = taken[0]
        self.place = current.place
        if not self.at_end:
            taken.popleft()
        if current.failure is not None:
            raise current.failure
        return current.batch

    def _take(self) -> None:
        batch = failure = None
        try:
            try:
                batch = self._take_next()
            except self._failures as caught:
                failure = caught
            self._taken.append(_Taken(batch, failure, self._snapshot()))
        except BaseException:
            self._restore(self._taken[-1].place if self._taken else self.place)
            raise
