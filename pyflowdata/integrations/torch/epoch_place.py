"""Where the user of a TorchLoader is, and where its next iterator begins."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ... import DataLoader
from ...loader.epochs import as_epoch
from ...loader.loader_wrapper import WrappedLoader


class AheadOfUser(Protocol):
    """An iterator that has taken batches which the user does not have yet."""

    @property
    def at_end(self) -> bool:
        """The user has the last batch of the epoch."""

    @property
    def place(self) -> tuple[int, int]:
        """Where the DataLoader was after the last batch that the user has."""

    @property
    def end(self) -> tuple[int, int]:
        """Where it was after the end of the epoch; where at_end is true."""

    @property
    def epoch(self) -> int:
        """Its last started epoch, when that batch came."""


class EpochPlace:
    """Where the user of a TorchLoader is.

    A batch that was taken ahead does not count; what set_epoch() says counts when the next iterator
    begins.

    Attributes:
        ahead: The iterator that is ahead of the user; None: the user is where the DataLoader is.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader, self._wrapped = loader, WrappedLoader(loader)
        self.ahead: AheadOfUser | None = None
        self._chosen: int | None = None  # epoch of the next iterator, if set_epoch() said so

    # ---- Where the user is --------------------------------------------------------------------

    def next(self) -> tuple[int, int]:
        """Epoch and step of the batch after the last one that the user has.

        After the last one of an epoch it is the start of the next epoch; of a stream, once that
        batch is known to be the last.  Where other loaders have steps of the epoch it is not over.
        """
        ahead = self.ahead
        if ahead is None:
            return self._wrapped.place
        return ahead.end if ahead.at_end and not self._wrapped.is_shared else ahead.place

    @property
    def epoch(self) -> int:
        """The last started epoch; before any, the one that the first iterator starts."""
        return self._loader.epoch if self.ahead is None else self.ahead.epoch

    def state_dict(self) -> dict[str, Any]:
        """As TorchLoader.state_dict()."""
        if self.ahead is None:
            return self._loader.state_dict()
        return self._wrapped.state_at(*self.next())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As TorchLoader.load_state_dict()."""
        self._loader.load_state_dict(state)
        self.ahead = self._chosen = None

    # ---- Where the next iterator begins -------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        """As TorchLoader.set_epoch()."""
        epoch = as_epoch(epoch)
        here, step = self.next()
        started = self._wrapped.started
        self._chosen = None
        if started is not None and step > 0:
            self._chosen = epoch
        elif here != epoch or here == started:
            self._go(epoch, 0)
        else:
            self._wrapped.stay_in_epoch()

    def go_to_step(self, step: int) -> None:
        """A step of the next epoch; after load_state_dict() or set_epoch(), of that epoch."""
        epoch = self.next()[0]
        if self._chosen is not None:
            epoch = self._chosen
        elif self._wrapped.started is not None and step == 0:
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
        return self._wrapped.place, self._loader.epoch

    def move_loader_back(self, place: tuple[int, int]) -> bool:
        """Moves the DataLoader to where it was, if it is elsewhere; its iterators end then."""
        if self._wrapped.place == place:
            return False
        self._loader.seek(place[1], epoch=place[0])
        return True
