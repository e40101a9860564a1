"""The iterators of a TorchLoader: as batches come, and one batch ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ... import CancelledError, Error
from ...loader.epochs import OVER
from .epoch_place import EpochPlace
from .hand_over import HandOver
from .lookahead import Lookahead


class OnHost(Iterator[Any]):
    """The batches of a loader as tensors of the host."""

    def __init__(
        self,
        place: EpochPlace,
        hand_over: HandOver,
        move: Callable[[], None],
        iterate: Callable[[], Iterator[Any]],
    ) -> None:
        """Moves nothing before the first batch is asked for.

        Args:
            place: Of the loader.
            hand_over: Makes tensors of its batches.
            move: Moves the DataLoader to where the batches begin.
            iterate: Makes the iterator over the DataLoader.
        """
        self._place, self._hand_over = place, hand_over
        self._move, self._iterate = move, iterate
        self._batches: Iterator[Any] | None = None

    def __next__(self) -> Any:
        if self._batches is None:
            self._move()
            self._batches = self._iterate()
            self._place.ahead = None
        return self._hand_over.on_host(next(self._batches))

    @property
    def at_end(self) -> bool:
        """The last batch was handed out; only of an epoch with a known number of batches."""
        return self._place.next()[1] == 0


class Ahead(Iterator[Any]):
    """Starts the copy of the next batch before it hands out one; on the host, without copies, it
    only takes the next one, and so knows the last batch of a stream.
    """

    def __init__(
        self,
        place: EpochPlace,
        hand_over: HandOver,
        move: Callable[[], None],
        iterate: Callable[[], Iterator[Any]],
    ) -> None:
        """Args: as of OnHost."""
        self._place, self._hand_over = place, hand_over
        self._move, self._iterate = move, iterate
        self._batches: Iterator[Any]
        self._lookahead: Lookahead | None = None
        self._has_ended = False

    def __next__(self) -> Any:
        if self._lookahead is None:
            self._lookahead = self._start()
        elif self._place.ahead is not self:
            if self._lookahead.at_end and not self._has_ended:
                raise CancelledError(OVER)
            return next(self._batches)  # which says why this iterator is over
        try:
            leaves, copied = next(self._lookahead)
        except StopIteration:
            self._has_ended = True
            raise
        return self._hand_over.receive(leaves, copied)

    @property
    def at_end(self) -> bool:
        """The last batch was handed out."""
        return self._lookahead is not None and self._lookahead.at_end

    @property
    def place(self) -> tuple[int, int]:
        """Where the DataLoader was after the last batch that was handed out."""
        assert self._lookahead is not None
        place: tuple[int, int] = self._lookahead.place[0]
        return place

    @property
    def end(self) -> tuple[int, int]:
        """Where it was after the end; where at_end is true."""
        assert self._lookahead is not None
        end: tuple[int, int] = self._lookahead.end[0]
        return end

    @property
    def epoch(self) -> int:
        """The epoch that it was in after the last batch that was handed out."""
        assert self._lookahead is not None
        epoch: int = self._lookahead.place[1]
        return epoch

    def _start(self) -> Lookahead:
        self._move()
        self._batches = self._iterate()
        lookahead = Lookahead(self._send, self._place.of_loader, self._go_back, (Error,))
        self._lookahead, self._place.ahead = lookahead, self
        return lookahead

    def _send(self) -> tuple[list[Any], Any]:
        return self._hand_over.send(next(self._batches))

    def _go_back(self, snapshot: tuple[tuple[int, int], int]) -> None:
        if self._place.move_loader_back(snapshot[0]):
            self._batches = self._iterate()
