"""The iterators of a TorchLoader: as batches come, and one batch ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ... import DataLoader, Error
from .hand_over import HandOver
from .lookahead import Lookahead


class Owner(Protocol):
    """What iterators use of their TorchLoader.

    Attributes:
        loader: The DataLoader.
        current: The iterator that is a batch ahead of the user, and says where the user is.
    """

    loader: DataLoader[Any]
    current: Any
    _hand_over: HandOver

    def place(self) -> tuple[int, int]: ...


class OnHost(Iterator[Any]):
    """The batches of a loader as tensors of the host."""

    def __init__(
        self, owner: Owner, find_place: Callable[[], None], iterate: Callable[[], Iterator[Any]]
    ) -> None:
        """Args: what moves the loader before the first batch, and makes its iterator."""
        self._owner = owner
        self._hand_over = owner._hand_over
        self._find_place, self._iterate = find_place, iterate
        self._batches: Iterator[Any] | None = None

    def __next__(self) -> Any:
        if self._batches is None:
            self._find_place()
            self._batches = self._iterate()
            self._owner.current = None
        return self._hand_over.on_host(next(self._batches))

    @property
    def at_end(self) -> bool:
        """The last batch was handed out; only of an epoch with a known number of batches."""
        return self._owner.place()[1] == 0


class Ahead(Iterator[Any]):
    """Starts the copy of the next batch before it hands out one; on the host, without copies, it
    only takes the next one, and so knows the last batch of a stream.
    """

    def __init__(
        self, owner: Owner, find_place: Callable[[], None], iterate: Callable[[], Iterator[Any]]
    ) -> None:
        """Args: as of OnHost."""
        self._owner = owner
        self._hand_over = owner._hand_over
        self._find_place, self._iterate = find_place, iterate
        self._batches: Iterator[Any]
        self._lookahead: Lookahead | None = None

    def __next__(self) -> Any:
        if self._lookahead is None:
            self._lookahead = self._start()
        elif self._owner.current is not self:
            return next(self._batches)  # which says why this iterator is over
        leaves, copied = next(self._lookahead)
        return self._hand_over.receive(leaves, copied)

    @property
    def at_end(self) -> bool:
        """The last batch was handed out."""
        return self._lookahead is not None and self._lookahead.at_end

    @property
    def place(self) -> tuple[int, int]:
        """Epoch and step of the loader after the last batch that was handed out; after the last one
        of an epoch, those of the next epoch.
        """
        ahead = self._lookahead
        assert ahead is not None
        place: tuple[int, int] = (ahead.end if ahead.at_end else ahead.place)[0]
        return place

    @property
    def epoch(self) -> int:
        """The epoch that the loader was in then."""
        assert self._lookahead is not None
        epoch: int = self._lookahead.place[1]
        return epoch

    def _start(self) -> Lookahead:
        self._find_place()
        self._batches = self._iterate()
        lookahead = Lookahead(self._send, self._snapshot, self._go_back, (Error,))
        self._lookahead, self._owner.current = lookahead, self
        return lookahead

    def _send(self) -> tuple[list[Any], Any]:
        return self._hand_over.send(next(self._batches))

    def _snapshot(self) -> tuple[tuple[int, int], int]:
        loader = self._owner.loader
        return loader._core.cursor.consumed(), loader.epoch

    def _go_back(self, snapshot: tuple[tuple[int, int], int]) -> None:
        loader, (place, _) = self._owner.loader, snapshot
        if loader._core.cursor.consumed() != place:
            loader.seek(place[1], epoch=place[0])
            self._batches = self._iterate()
