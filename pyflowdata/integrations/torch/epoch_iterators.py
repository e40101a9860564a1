"""The iterators of a TorchLoader, and where its user is in an epoch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ... import CancelledError, DataLoader, Error
from ...loader.epochs import OVER, as_epoch
from ...loader.open_loader import open_loader_of
from .hand_over import HandOver
from .lookahead import Lookahead


# ---- The place in an epoch ----------------------------------------------------------------------
# Where the user of a TorchLoader is, and where its next iterator begins.


class EpochPlace:
    """Where the user of a TorchLoader is.

    A batch that was taken ahead does not count; what set_epoch() says counts when the next iterator
    begins.

    Attributes:
        ahead: The iterator that is ahead of the user; None: the user is where the DataLoader is.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader, self._open_loader = loader, open_loader_of(loader)
        self.ahead: Ahead | None = None
        self._chosen: int | None = None  # epoch of the next iterator, if set_epoch() said so

    # ---- Where the user is --------------------------------------------------------------------

    def next(self) -> tuple[int, int]:
        """Epoch and step of the batch after the last one that the user has.

        After the last one of an epoch it is the start of the next epoch; of a stream, once that
        batch is known to be the last.  Where other loaders have steps of the epoch it is not over.
        """
        ahead = self.ahead
        if ahead is None:
            return self._open_loader.place
        return ahead.end if ahead.at_end and not self._open_loader.is_shared else ahead.place

    @property
    def epoch(self) -> int:
        """The last started epoch; before any, the one that the first iterator starts."""
        return self._loader.epoch if self.ahead is None else self.ahead.epoch

    def state_dict(self) -> dict[str, Any]:
        """As TorchLoader.state_dict()."""
        if self.ahead is None:
            return self._loader.state_dict()
        return self._open_loader.state_at(*self.next())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As TorchLoader.load_state_dict()."""
        self._loader.load_state_dict(state)
        self.ahead = self._chosen = None

    # ---- Where the next iterator begins -------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        """As TorchLoader.set_epoch()."""
        epoch = as_epoch(epoch)
        here, step = self.next()
        started = self._open_loader.started
        self._chosen = None
        if started is not None and step > 0:
            self._chosen = epoch
        elif here != epoch or here == started:
            self._go(epoch, 0)
        else:
            self._open_loader.stay_in_epoch()

    def go_to_step(self, step: int) -> None:
        """A step of the next epoch; after load_state_dict() or set_epoch(), of that epoch."""
        epoch = self.next()[0]
        if self._chosen is not None:
            epoch = self._chosen
        elif self._open_loader.started is not None and step == 0:
            epoch = self.epoch + 1
        self._go(epoch, step)

    def go_to_epoch(self) -> None:
        """To where iter() of the DataLoader begins the next epoch, or continues a loaded one."""
        started_ahead = self.ahead is not None and self.ahead.epoch != self._loader.epoch
        if started_ahead or self._chosen is not None:
            self.go_to_user()

    def go_to_user(self) -> None:
        """To the batch after the last one that the user has, or to the epoch that was chosen."""
        if self._chosen is not None:
            self._go(self._chosen, 0)
        elif self.ahead is not None:
            self._go(*self.next())

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """As TorchLoader.keep_place()."""
        kept = self.ahead, self._chosen
        with self._loader.keep_place():
            self.ahead = None
            try:
                yield
            finally:
                self.ahead, self._chosen = kept

    def _go(self, epoch: int, step: int) -> None:
        self._loader.seek(step, epoch=epoch)
        self.ahead = self._chosen = None

    # ---- For iterators ------------------------------------------------------------------------

    def of_loader(self) -> tuple[tuple[int, int], int]:
        """Where the DataLoader is, and its last started epoch."""
        return self._open_loader.place, self._loader.epoch

    def move_loader_back(self, place: tuple[int, int]) -> bool:
        """Moves the DataLoader to where it was, if it is elsewhere; its iterators end then."""
        if self._open_loader.place == place:
            return False
        self._loader.seek(place[1], epoch=place[0])
        return True


# ---- Iterators ----------------------------------------------------------------------------------
# As batches come, and one batch ahead.


class _Iterator(Iterator[Any]):
    """The batches of a loader as tensors."""

    def __init__(
        self,
        place: EpochPlace,
        hand_over: HandOver,
        move: Callable[[], None],
        iterate: Callable[[], Iterator[Any]],
    ) -> None:
        """Moves nothing before the first batch is asked for.

        Args:
            place: Where the user of the loader is.
            hand_over: Makes tensors of its batches.
            move: Moves the DataLoader to where the batches begin.
            iterate: Makes the iterator over the DataLoader.
        """
        self._place, self._hand_over = place, hand_over
        self._move, self._iterate = move, iterate
        self._batches: Iterator[Any]


class OnHost(_Iterator):
    """The batches as tensors of the host."""

    _is_begun = False

    def __next__(self) -> Any:
        if not self._is_begun:
            self._move()
            self._batches = self._iterate()
            self._place.ahead, self._is_begun = None, True
        return self._hand_over.on_host(next(self._batches))

    @property
    def at_end(self) -> bool:
        """The last batch was handed out; only of an epoch with a known number of batches."""
        return self._place.next()[1] == 0


class Ahead(_Iterator):
    """Starts the copy of the next batch before it hands out one; on the host, without copies, it
    only takes the next one, and so knows the last batch of a stream.
    """

    _lookahead: Lookahead | None = None
    _has_ended = False

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
