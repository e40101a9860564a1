"""Takes the next batch before it gives one: copies overlap, and the last one is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _Taken:
    """A batch, or what came in its place.

    Attributes:
        failure: The error of this batch, or StopIteration.
        place: Where the batches are when this one is delivered.
    """

    batch: Any
    failure: Exception | None
    place: Any


class Lookahead(Iterator[Any]):
    """The batches that a function takes, one of them ahead.

    A failure takes the place of its batch, and no later batch is taken before it was raised.  An
    interrupt loses no batch: what was taken stays, and what was not finished is taken again.

    Attributes:
        place: Where the batches are after the one that was handed out last.
    """

    def __init__(
        self,
        take: Callable[[], Any],
        snapshot: Callable[[], Any],
        restore: Callable[[Any], None],
        failures: tuple[type[Exception], ...],
    ) -> None:
        """Takes nothing before the first batch is asked for.

        Args:
            take: Gives the next batch; StopIteration: there is none.
            snapshot: Says where the batches are.
            restore: After an interrupt of take(): goes back to such a place, if they are beyond it.
            failures: Those of take() that come in the place of the batch; others go through.
        """
        self._take_next, self._snapshot, self._restore = take, snapshot, restore
        self._failures: tuple[type[Exception], ...] = (*failures, StopIteration)
        self._taken: deque[_Taken] = deque()
        self.place = snapshot()

    @property
    def at_end(self) -> bool:
        """The last batch was handed out."""
        return bool(self._taken) and isinstance(self._taken[0].failure, StopIteration)

    @property
    def end(self) -> Any:
        """Where the batches are after their end; where at_end is true."""
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
