"""The iterators of a TorchLoader: batches become tensors, which are cut, pinned, copied and placed;
and the place of its user in an epoch."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from ... import CancelledError, DataLoader, Error, InvalidArgumentError
from ...loader.epochs import OVER, as_epoch
from ...loader.open_loader import open_loader_of
from ..equal_rows import check_equal_rows
from .devices import copies_to, counted, pinned
from .lookahead import Lookahead
from .meshes import LoaderOptions, MeshPlacement
from .tensors import HostTensors

# ---- Static tensors -----------------------------------------------------------------------------
# CUDA graphs and torch.compile need all batches in the same tensors.


class _StaticBuffers:
    """Copies each batch into one set of tensors, with the same shapes, strides and addresses.

    On a device the copy is in the order of the current stream: work on the batch before, launched
    on that stream, is done first.
    """

    def __init__(self, loader: DataLoader[Any], pin_memory: bool) -> None:
        """Refuses loaders whose batches differ in shape.

        Raises:
            InvalidArgumentError: A blob is ragged, a batch may have fewer rows than others, or
                pin_memory is set.
        """
        if pin_memory:
            raise InvalidArgumentError(
                "static=True and pin_memory=True: a copy out of pinned memory could still run when "
                "the next batch is written there; give device=, which waits for its copies"
            )
        for blob in loader.blobs:
            if blob.is_ragged:
                raise InvalidArgumentError(
                    f"static=True, and {blob.name} has rows of shape {blob.shape[1:]}: batches of "
                    "one shape are needed; Pad makes rows of one size"
                )
        try:
            check_equal_rows(loader)
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(f"static=True, and {failure}") from None
        self._buffers: list[torch.Tensor] | None = None

    def hold(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The buffers, with these numbers until the next call."""
        if self._buffers is None:
            with torch.inference_mode(False):  # an inference tensor could not be written later
                self._buffers = [torch.empty_like(tensor) for tensor in tensors]
        with torch.no_grad():  # the user may have asked for the gradient of one
            for buffer, tensor in zip(self._buffers, tensors, strict=True):
                buffer.copy_(tensor)
        return self._buffers


# ---- The hand-over ------------------------------------------------------------------------------


class HandOver:
    """Splits batches into leaves, one for each blob, and forms the batches for the user from them.

    Attributes:
        pins: Whether tensors on the host are copied to pinned memory.
        copies: Copies to the device; None: tensors stay on the host.
    """

    def __init__(
        self, placement: MeshPlacement, device: torch.device, options: LoaderOptions
    ) -> None:
        """Takes the options of TorchLoader, whose errors it raises, and an existing device."""
        pin_memory = bool(options.get("pin_memory"))
        self._loader = placement.loader
        self._shows = open_loader_of(self._loader).observation.shows
        self._device = device
        self._placement = placement
        self._tensors = HostTensors(self._loader, options.get("ragged"))
        self._convert = self._tensors.convert
        self._static: _StaticBuffers | None = None
        if options.get("static"):
            self._static = _StaticBuffers(self._loader, pin_memory)
        self.pins = pin_memory and torch.cuda.is_available()
        self.copies: Any = copies_to(device)

    def on_host(self, batch: Any) -> Any:
        """A batch for the user, on the host."""
        if self._static is None:
            return self._placement.to_dtensors(self.tensors_of(batch))
        return self.handed_out(self._leaves(self._placement.cut(batch)))

    def tensors_of(self, batch: Any) -> Any:
        """Tensors on the host that no later batch changes, of this process alone."""
        batch = self._placement.cut(batch)
        return self._tensors.unflatten(self._leaves(batch)) if self.pins else self._convert(batch)

    def send(self, batch: Any) -> tuple[list[Any], Any]:
        """Starts the copies of a batch; returns its leaves, and the event after the copies."""
        batch = self._placement.cut(batch)
        if self.copies is None:
            return self._leaves(batch), None
        sent: tuple[list[Any], Any]
        sent = self._copied(self._tensors.flatten(batch), str(self._device), self.copies.send)
        return sent

    def receive(self, leaves: list[Any], copied: Any) -> Any:
        """The batch for the user, from the results of send()."""
        if self.copies is not None:
            self.copies.receive(leaves, copied)
        return self.handed_out(leaves)

    def handed_out(self, leaves: list[Any]) -> Any:
        """The batch for the user, of leaves that are on their device."""
        if self._static is not None:
            leaves = self._static.hold(leaves)
        return self._placement.to_dtensors(self._tensors.unflatten(leaves))

    def _leaves(self, batch: Any) -> list[Any]:
        leaves = self._tensors.flatten(batch)
        return self._copied(leaves, "pinned memory", pinned) if self.pins else leaves

    def _copied(self, leaves: list[Any], device: str, copy_batch: Callable[[Any], Any]) -> Any:
        """The result of a function that copies a batch; counted for report()."""
        with self._shows(f"copy to {device}"):
            return counted(self._loader, leaves, device, copy_batch)


# ---- The place in an epoch ----------------------------------------------------------------------


_LoaderPlace = tuple[tuple[int, int], int]  # epoch and step of the next batch; started epoch


class EpochPlace:
    """The place of the user of a TorchLoader, and of its next iterator.

    A batch that was taken ahead does not count; set_epoch() counts when the next iterator begins.

    Attributes:
        open_loader: That of the DataLoader.
        ahead: The iterator that is ahead of the user; None: the user is at the place of the
            DataLoader.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader, self.open_loader = loader, open_loader_of(loader)
        self.ahead: Ahead | None = None
        self._chosen: int | None = None  # epoch of the next iterator, if set_epoch() said so

    # ---- Where the user is --------------------------------------------------------------------

    def next(self) -> tuple[int, int]:
        """Epoch and step of the batch after the last one that the user has.

        After the last batch of an epoch it is the start of the next epoch; in a stream, when that
        batch is known to be the last.  If other loaders have steps of the epoch, the epoch is not
        over.
        """
        ahead = self.ahead
        if ahead is None:
            return self.open_loader.place
        return ahead.end if ahead.at_end and not self.open_loader.is_shared else ahead.place

    @property
    def epoch(self) -> int:
        """The last started epoch; before any, the epoch of the first iterator."""
        return self._loader.epoch if self.ahead is None else self.ahead.epoch

    def state_dict(self) -> dict[str, Any]:
        """As TorchLoader.state_dict()."""
        if self.ahead is None:
            return self._loader.state_dict()
        is_last = self.ahead.at_end and not self.ahead.has_ended
        return self.open_loader.state_at(*self.next(), is_last and not self.open_loader.is_shared)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As TorchLoader.load_state_dict(). After the last batch of a stream, the next iterator has
        none."""
        self._loader.load_state_dict(state)
        self.open_loader.stay_in_epoch()
        self.ahead = self._chosen = None

    # ---- Where the next iterator begins -------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        """As TorchLoader.set_epoch()."""
        epoch = as_epoch(epoch)
        self.open_loader.tell_epoch()
        here, step = self.next()
        started = self.open_loader.started
        self._chosen = None
        if started is not None and step > 0:
            self._chosen = epoch
        elif here != epoch or here == started:
            self._go(epoch, 0)
        else:
            self.open_loader.stay_in_epoch()

    def go_to_step(self, step: int) -> None:
        """Goes to a step of the next epoch; after load_state_dict() or set_epoch(), of that
        epoch."""
        epoch = self.next()[0]
        if self._chosen is not None:
            epoch = self._chosen
        elif self.open_loader.started is not None and step == 0:
            epoch = self.epoch + 1
        self._go(epoch, step)

    def begin(self, epoch: int) -> None:
        """Goes to the first batch of an epoch."""
        self.open_loader.tell_epoch()
        if self.next() != (epoch, 0) or self.open_loader.started is not None:
            self._go(epoch, 0)

    def go_to_epoch(self) -> None:
        """Goes to the place where iter() of the DataLoader begins the next epoch, or continues a
        loaded one."""
        started_ahead = self.ahead is not None and self.ahead.epoch != self._loader.epoch
        if started_ahead or self._chosen is not None:
            self.go_to_user()

    def go_to_user(self) -> None:
        """Goes to the batch after the last one that the user has, or to the chosen epoch."""
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
        if self.ahead is not None:
            self.open_loader.take_back(*self.next())
        self._loader.seek(step, epoch=epoch)
        self.ahead = self._chosen = None

    # ---- For iterators ------------------------------------------------------------------------

    def of_loader(self) -> _LoaderPlace:
        """The place of the DataLoader, and its last started epoch."""
        return self.open_loader.place, self._loader.epoch

    def move_loader_back(self, place: tuple[int, int]) -> bool:
        """Moves the DataLoader to a place, unless it is there; its iterators end then."""
        if self.open_loader.place == place:
            return False
        self.open_loader.take_back(*place)
        self._loader.seek(place[1], epoch=place[0])
        return True


# ---- Iterators ----------------------------------------------------------------------------------


class _Iterator(Iterator[Any]):
    """The batches of a loader as tensors.

    Threads that share it take turns, and each batch is given to one of them.
    """

    def __init__(
        self,
        place: EpochPlace,
        hand_over: HandOver,
        move: Callable[[], None],
        iterate: Callable[[], Iterator[Any]],
    ) -> None:
        """Moves nothing before the first batch is asked for.

        Args:
            place: The place of the user.
            hand_over: Makes tensors of the batches.
            move: Moves the DataLoader to the first batch.
            iterate: Makes the iterator over the DataLoader.
        """
        self._place, self._hand_over = place, hand_over
        self._note_converted = place.open_loader.note_converted
        self._move, self._iterate = move, iterate
        self._batches: Iterator[Any]
        self._turns = threading.RLock()


class OnHost(_Iterator):
    """The batches as tensors of the host."""

    _is_started = False

    def __next__(self) -> Any:
        if not self._is_started:
            with self._turns:
                self._begin()
        batch = self._hand_over.on_host(next(self._batches))
        self._note_converted()
        return batch

    def _begin(self) -> None:
        if self._is_started:  # by another thread
            return
        self._move()
        self._batches = self._iterate()
        self._place.ahead, self._is_started = None, True

    @property
    def at_end(self) -> bool:
        """Whether the last batch was delivered; only for an epoch with a known number of
        batches."""
        return self._place.next()[1] == 0


class Ahead(_Iterator):
    """Starts the copy of the next batch before it delivers one. On the host, without copies, it
    takes the next batch only to know the last batch of a stream."""

    _lookahead: Lookahead[_LoaderPlace] | None = None
    has_ended = False

    def __next__(self) -> Any:
        with self._turns:
            return self._next_in_turn()

    def _next_in_turn(self) -> Any:
        if self._lookahead is None:
            self._lookahead = self._start()
        elif self._place.ahead is not self:
            if self._lookahead.at_end and not self.has_ended:
                raise CancelledError(OVER)
            return next(self._batches)  # which raises why this iterator is over
        try:
            leaves, copied = next(self._lookahead)
        except StopIteration:
            self.has_ended = True
            raise
        batch = self._hand_over.receive(leaves, copied)
        self._note_converted()
        return batch

    @property
    def at_end(self) -> bool:
        """Whether the last batch was delivered."""
        return self._lookahead is not None and self._lookahead.at_end

    @property
    def place(self) -> tuple[int, int]:
        """The place of the DataLoader after the last delivered batch."""
        assert self._lookahead is not None
        return self._lookahead.place[0]

    @property
    def end(self) -> tuple[int, int]:
        """The place after the end; only if at_end is true."""
        assert self._lookahead is not None
        return self._lookahead.end[0]

    @property
    def epoch(self) -> int:
        """The started epoch after the last delivered batch."""
        assert self._lookahead is not None
        return self._lookahead.place[1]

    def _start(self) -> Lookahead[_LoaderPlace]:
        self._move()
        self._batches = self._iterate()
        lookahead = Lookahead(self._send, self._place.of_loader, self._go_back, (Error,))
        self._lookahead, self._place.ahead = lookahead, self
        return lookahead

    def _send(self) -> tuple[list[Any], Any]:
        return self._hand_over.send(next(self._batches))

    def _go_back(self, snapshot: _LoaderPlace) -> None:
        if self._place.move_loader_back(snapshot[0]):
            self._batches = self._iterate()
