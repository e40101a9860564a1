"""The iterators of a TorchLoader: as batches come, and one batch ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ... import DataLoader, Error
from .hand_over import HandOver


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

    def __init__(self, owner: Owner, begin: Callable[[], Iterator[Any]]) -> None:
        self._owner = owner
        self._hand_over = owner._hand_over
        self._begin = begin
        self._batches: Iterator[Any] | None = None

    def __next__(self) -> Any:
        if self._batches is None:
            self._batches = self._begin()
            self._owner.current = None
        return self._hand_over.on_host(next(self._batches))

    @property
    def at_end(self) -> bool:
        """The last batch was handed out; only of an epoch with a known number of batches."""
        return self._owner.place()[1] == 0


@dataclass(frozen=True)
class _Made:
    """A batch that is on its way to the device, or what came in its place.

    Attributes:
        leaves, copied: What HandOver.send() returned.
        failure: The error of this batch, or StopIteration.
        place, epoch: Of the loader when this is delivered.
    """

    leaves: list[Any]
    copied: Any
    failure: Exception | None
    place: tuple[int, int]
    epoch: int


class Ahead(Iterator[Any]):
    """Starts the copy of the next batch before it hands out one; on the host, without copies, it
    only takes the next one, and so knows the last batch of a stream.

    An error takes the place of its batch, and no later batch is made before it was raised.

    Attributes:
        place, epoch: Of the loader after the last batch that was handed out.
    """

    def __init__(self, owner: Owner, begin: Callable[[], Iterator[Any]]) -> None:
        self._owner = owner
        self._hand_over = owner._hand_over
        self._begin = begin
        self._batches: Iterator[Any] | None = None
        self._made: _Made | None = None

    def __next__(self) -> Any:
        if self._batches is None:
            self._batches = self._start()
        elif self._owner.current is not self:
            return next(self._batches)  # which says why this iterator is over
        if self._made is None:
            self._made = self._make(self._batches)
        made = self._made  # stays there if making the following one is interrupted
        following = self._make(self._batches) if made.failure is None else None
        place = made.place
        if following is not None and isinstance(following.failure, StopIteration):
            place = following.place  # the next epoch
        self._made, self.place, self.epoch = following, place, made.epoch
        if made.failure is not None:
            raise made.failure
        return self._hand_over.receive(made.leaves, made.copied)

    @property
    def at_end(self) -> bool:
        """The last batch was handed out."""
        return self._made is not None and isinstance(self._made.failure, StopIteration)

    def _start(self) -> Iterator[Any]:
        loader = self._owner.loader
        batches = self._begin()
        self.place = self._made_until = loader._core.cursor.consumed()
        self.epoch = loader.epoch
        self._owner.current = self
        return batches

    def _make(self, batches: Iterator[Any]) -> _Made:
        loader = self._owner.loader
        leaves: list[Any] = []
        copied = failure = None
        try:
            try:
                batch = next(batches)
            except (Error, StopIteration) as caught:
                failure = caught
            else:
                leaves, copied = self._hand_over.send(batch)
            place = loader._core.cursor.consumed()
            made = _Made(leaves, copied, failure, place, loader.epoch)
        except BaseException:
            if loader._core.cursor.consumed() != self._made_until:  # a batch was taken and lost
                epoch, step = self._made_until
                loader.seek(step, epoch=epoch)
                self._batches = self._begin()
            raise
        self._made_until = made.place
        return made
