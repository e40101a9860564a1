"""A loader below Lightning: each epoch begins where the Trainer is, and a state counts the batches
that the model has had.

A Trainer takes a batch ahead from loaders without `len()`, loads states of loaders only in the
middle of an epoch, and tells epochs to samplers.  So a loader asks the Trainer's fit loop, which it
finds among the callers of its `iter()`, and needs neither a callback nor a DataModule.  The program
may stand between them: an object that it gave to the Trainer, and that iterates over the loader.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, Protocol

from ...errors import UnsupportedError, WrongUseError, shown
from ...loader.epochs import as_epoch

_LIGHTNING = ("lightning.pytorch.", "pytorch_lightning.")
#: What this module reads of the loop itself; attributes without documentation may change.
_READ = (
    "trainer", "epoch_progress", "epoch_loop", "restarting", "_restarting", "_data_fetcher",
    "_combined_loader", "_combined_loader_states_to_load",
)  # fmt: skip
#: The same of its `epoch_loop`.
_READ_OF_EPOCH_LOOP = ("batch_progress", "_batches_that_stepped")


# ---- The Trainer's numbers ----------------------------------------------------------------------


class TrainerEpochs:
    """The epochs of a loader for a trainer's numbers.

    A trainer may count from a resumption: Fabric counts the iterators of the process from 0.  Its
    first epoch after load_state_dict() is at least the epoch of the state.
    """

    def __init__(self, ahead: int | None = 0) -> None:
        """Takes the epochs before the trainer's first one; None: they are not known yet, as a state
        was loaded."""
        self.ahead = ahead

    def epoch_of(self, number: int, current: int) -> int:
        """The loader's epoch for a trainer's number; `current` is the epoch of the loader's
        place."""
        if self.ahead is None:
            self.ahead = max(0, current - number)
        return number + self.ahead


# ---- The callers of a loader --------------------------------------------------------------------


@dataclasses.dataclass
class _Call:
    """A call of a loader by a fit loop.

    Attributes:
        loop: The fit loop.
        method: The method of the fit loop, or of a loop in it, that calls.
        batches: The iterator over the loop's loaders that begins or continues one of them; None:
            something else does, such as a callback, or nothing is iterated over.
        between: The values of the functions between that iterator and the loader.
    """

    loop: Any
    method: str
    batches: Any
    between: list[Any]

    @property
    def part(self) -> tuple[int, Any]:
        """The place among the loop's loaders, and the loader, or what iterates over it."""
        parts = _parts_of(self.loop)
        found = [pair for pair in enumerate(parts) if any(pair[1] is one for one in self.between)]
        if not found and len(parts) > 1:
            raise UnsupportedError(
                "the Trainer has several loaders, and something iterates over this one for it that "
                "is not among them: give the Trainer this loader itself, or an object whose "
                "__iter__() is a method that iterates over it"
            )
        return found[-1] if found else (0, parts[0])


def _call_from(frame: FrameType | None) -> _Call | None:
    """The call by the fit loop of Lightning that is nearest above a frame; None: something else
    calls, such as another loop of the Trainer, or the program."""
    batches: Any = None
    inner: list[FrameType] = []  # a frame keeps what its locals were when they are asked for
    while frame is not None:
        if not str(frame.f_globals.get("__name__")).startswith(_LIGHTNING):
            inner += [frame] if batches is None else []
            frame = frame.f_back
            continue
        caller = frame.f_locals.get("self")
        kinds = {one.__name__ for one in type(caller).__mro__}  # a program may derive its own
        if "_ModeIterator" in kinds:
            batches = caller
        elif any(kind.endswith("Loop") for kind in kinds):
            if caller is None or kinds & {"_EvaluationLoop", "_PredictionLoop"}:
                return None
            loop = _known(caller.trainer.fit_loop)
            if batches is not None and batches.iterables is not _parts_of(loop):
                batches = None
            between = [] if batches is None else [one.f_locals.values() for one in inner]
            return _Call(loop, frame.f_code.co_name, batches, [*itertools.chain(*between)])
        frame = frame.f_back
    return None


def _fit_loop_call() -> _Call | None:
    """The call of a loader by a fit loop in this thread."""
    return _call_from(sys._getframe(1)) if _has_lightning() else None


def _has_lightning() -> bool:
    return "lightning.pytorch" in sys.modules or "pytorch_lightning" in sys.modules


def _parts_of(loop: Any) -> list[Any]:
    """The loaders that a fit loop has."""
    combined = loop._combined_loader
    return [] if combined is None else combined.flattened


def _holder_in(loop: Any, loader: Any) -> Any:
    """The loader, if a fit loop has it, or the object with it as an attribute; None: neither."""
    for part in _parts_of(loop):
        inside = getattr(part, "__dict__", {}).values()
        if part is loader or any(one is loader for one in inside):
            return part
    return None


def _known(loop: Any) -> Any:
    """A fit loop that has what this module reads in it.

    Raises:
        UnsupportedError: A version of Lightning changed that.
    """
    lacking = [name for name in _READ if not hasattr(loop, name)]
    epoch_loop = getattr(loop, "epoch_loop", None)
    lacking += [
        f"epoch_loop.{name}" for name in _READ_OF_EPOCH_LOOP if not hasattr(epoch_loop, name)
    ]
    if lacking:
        raise UnsupportedError(
            f"the fit loop of this Lightning has no {' or '.join(lacking)}, so that a loader "
            "cannot tell where the Trainer is; use the Lightning 2.6 that this version of "
            "pyflowdata knows"
        )
    return loop


def _settle(call: _Call) -> None:
    """Lets a loop that was restored after the last batch of an epoch begin the next epoch.

    It would take itself to be in the middle of that one: it would not count it, so that the
    second resume from there repeats batches, or would end it without a batch.
    """
    loop = call.loop
    epochs, batches = loop.epoch_progress, loop.epoch_loop.batch_progress
    current, total = epochs.current, batches.total
    if not loop.restarting:
        return
    has_ended = current.ready == current.started == current.processed
    if not has_ended and batches.is_last_batch and total.completed == total.processed - 1:
        batches.increment_completed()  # the checkpoint was saved in on_train_batch_end
        loop.epoch_loop._batches_that_stepped += 1
        epochs.increment_processed()
        has_ended = True
    if has_ended and call.method == "advance":  # it has started the epoch, and not counted it
        epochs.increment_ready()
        epochs.increment_started()
    if has_ended:
        _end_restart(loop)


def _end_restart(loop: Any) -> None:
    loop._restarting = False
    for one in vars(loop).values():
        if hasattr(one, "_restarting"):
            _end_restart(one)


# ---- The batches that a fit loop takes ----------------------------------------------------------


class _Noted(Iterator[Any]):
    """The batches of a loader for one epoch of a fit loop, with the states from which the loader
    makes those again that were not trained with.

    Attributes:
        loop: The fit loop.
        source: The iterator over the loop's loaders that takes the batches.
        had_ended: Its place among the loaders, if its epoch was over before the resume.
    """

    def __init__(self, call: _Call, loader: _Loader, make: Callable[[], Iterator[Any]]) -> None:
        self.loop, self.source = call.loop, call.batches
        self._loader, self._make, self._batches = loader, make, make()
        self._before: deque[tuple[int, Any]] = deque()  # which batch of the loop, state before it
        self._done_before = self._progress.total.processed
        # A training step with `dataloader_iter` takes batches itself, any number of them.
        self._is_counted = hasattr(call.loop._data_fetcher, "batches")
        self._epoch: int | None = None  # the loader's epoch of the last batch; None: there is none
        self.had_ended: int | None = None

    @property
    def _progress(self) -> Any:
        return self.loop.epoch_loop.batch_progress

    def __next__(self) -> Any:
        if self.had_ended is not None:
            self.source._consumed[self.had_ended] = True
            self.had_ended = None
            if all(self.source._consumed):  # saved after the last batch, not known as such
                raise StopIteration
        if self._loader._left_at is not None:
            epoch = self._epoch
            self.again()
            if epoch not in (None, self._loader._next_epoch()):  # the last batch was taken before
                raise StopIteration
        unused, number = self.state(), self.source._idx
        is_first = unused is None or self._before[-1][0] != number
        if is_first:
            self._before.append((number, self._loader._own_state()))
        try:
            batch = next(self._batches)
        except StopIteration:
            if is_first:
                self._before.pop()
            raise
        self._epoch = self._loader.epoch
        return batch

    def again(self) -> Iterator[Any]:
        """Goes on with another iterator, from where this one is, in the same epoch of the loop."""
        if self._loader._left_at is not None:
            self._loader._go_back(self._loader._left_at)
        self._batches, self._epoch = self._make(), None
        return self

    def state(self) -> Any:
        """The state before the batches that the loop has taken and not trained with; None: there
        are none."""
        before, progress = self._before, self._progress
        done = progress.total.processed - self._done_before
        if not self._is_counted and before:
            done = before[-1][0] + (progress.current.ready == progress.current.processed)
        while before and before[0][0] < done:
            before.popleft()
        return before[0][1] if before else None


class _Loader(Protocol):
    _trainer_epochs: TrainerEpochs
    _noted: _Noted | None
    _is_begun_elsewhere: bool
    _is_trained: bool | None
    _left_at: Any

    @property
    def epoch(self) -> int: ...

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None: ...

    def set_epoch(self, epoch: int) -> None: ...

    def _begin_epoch(self, epoch: int) -> None: ...

    def _own_state(self) -> dict[str, Any]: ...

    def _next_epoch(self) -> int:
        """The epoch of the loader's place."""

    def _go_back(self, state: Mapping[str, Any]) -> None: ...


class FitLoopLoader:
    """The part of a loader that follows a fit loop of Lightning."""

    _noted: _Noted | None = None  # of the fit loop's last iterator
    _is_begun_elsewhere = False  # by an iterator that is not a fit loop's, since a state was loaded
    _is_trained: bool | None = None  # the last batch before the checkpoint; None: not known
    _left_at: Any = None  # the state before an iterator of something else in the run of a fit loop

    def _followed(self: _Loader, make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """The iterator of `make()`; for a fit loop, after going to the place where the loop is."""
        call, noted = _fit_loop_call(), self._noted
        if call is None or call.batches is None:
            _leave_fit_loop(self, call)
            return make()
        if noted is not None and noted.source is call.batches:
            return noted.again()
        unused = (noted and noted.state()) or self._left_at
        if unused is not None:  # the loop drops a batch ahead, or something else took batches
            self._go_back(unused)
        if unused is not None and noted is not None:
            self._begin_epoch(self._next_epoch())
        self._noted, self._is_begun_elsewhere = None, False
        _settle(call)
        number, part = call.part
        try:
            has_batches = _goes_to(call.loop, self, part)
        except WrongUseError as error:  # for the first batch: here Lightning would hide it
            return _failing(error)
        if not has_batches:
            return iter(())
        self._noted = _Noted(call, self, make)
        cycles = call.loop._combined_loader._mode == "max_size_cycle"
        in_epoch = call.loop.epoch_progress.current.processed
        if call.loop.restarting and cycles and self._next_epoch() > in_epoch:
            self._noted.had_ended = number
        return self._noted

    def _state_of_user(self: _Loader) -> dict[str, Any]:
        """The state after the last batch that was used.

        Raises:
            UnsupportedError: A Trainer asks for it, and another thread takes the batches.
        """
        unused = (self._noted and self._noted.state()) or self._left_at
        if self._noted is None and unused is None and self._is_begun_elsewhere:
            call = _fit_loop_call()
            if call is not None and call.method == "on_save_checkpoint":
                raise UnsupportedError(
                    "the Trainer saves the state of this loader, and has not started the iterator "
                    "that takes its batches, so that the state may count batches that the model "
                    f"has not had; {_REMEDY}"
                )
        return self._own_state() if unused is None else unused

    def _go_back(self: _Loader, state: Mapping[str, Any]) -> None:
        """Goes to a place of this run."""
        kept = self._noted, self._trainer_epochs
        self.load_state_dict(state)
        self._noted, self._trainer_epochs = kept

    def _has_loaded(self: _Loader) -> None:
        """A state was loaded."""
        self._noted, self._is_begun_elsewhere, self._left_at = None, False, None
        self._trainer_epochs, self._is_trained = TrainerEpochs(None), None
        call = _fit_loop_call()
        if call is not None and call.method == "_load_combined_loader_states":
            self._is_trained = _is_trained(call.loop)
            _settle(call)  # the iterator may be made too late for both

    @contextlib.contextmanager
    def _apart(self: _Loader) -> Iterator[None]:
        """Iterators of this context leave the loader where it is."""
        kept = self._noted, self._is_begun_elsewhere, self._left_at
        self._noted = None
        try:
            yield
        finally:
            self._noted, self._is_begun_elsewhere, self._left_at = kept

    def _set_epoch_of_trainer(self: _Loader, epoch: int) -> None:
        """Hears an epoch by a trainer's own count; a fit loop is asked in iter()."""
        call = _fit_loop_call()
        if call is None or _holder_in(call.loop, self) is None:
            self.set_epoch(self._trainer_epochs.epoch_of(as_epoch(epoch), self._next_epoch()))


_REMEDY = (
    "give the Trainer the loader itself, which makes batches ahead in threads or processes of its "
    "own, or an object that takes a batch of the loader when the Trainer asks for one"
)


def _leave_fit_loop(loader: _Loader, call: _Call | None) -> None:
    """Something else than a fit loop begins an iterator: the loop's own goes on afterwards where it
    was.

    Args:
        loader: The loader.
        call: The fit loop that runs the code which begins it; None: there is none.
    """
    noted = loader._noted
    if noted is not None and noted.loop._data_fetcher is None:  # the run is over
        loader._noted = loader._left_at = None
    elif noted is not None or (call is not None and call.method != "setup_data"):
        loader._left_at = loader._left_at or loader._own_state()
    else:
        loader._is_begun_elsewhere = True


def _goes_to(loop: Any, loader: _Loader, part: Any) -> bool:
    """Brings a loader to the epoch of a fit loop, and to its place in a restored one; False: the
    loader has no batch left in this epoch.

    Args:
        loop: The fit loop.
        loader: The loader.
        part: The loader, or what the loop has in its place.

    Raises:
        WrongUseError: The checkpoint has no state of the loader, and needs one.
    """
    overfits = loop.trainer.overfit_batches > 0
    epoch = 0 if overfits else loop.epoch_progress.current.processed
    state = _take_state(loop, part)
    if state is not None:
        part.load_state_dict(state)
    elif not (loop.restarting or getattr(loop, "is_resuming", False)):
        wanted = loader._trainer_epochs.epoch_of(epoch, loader._next_epoch())
        loader.set_epoch(wanted)
        if loader._next_epoch() != wanted:  # its state must be of that epoch before the first batch
            loader._begin_epoch(wanted)
        return True
    is_loaded = loader._trainer_epochs.ahead is None
    loader._trainer_epochs = TrainerEpochs()
    if not loop.restarting:
        loader._begin_epoch(epoch)
        return True
    batches = loop.epoch_loop.batch_progress
    if not is_loaded and not batches.current.processed:
        loader._begin_epoch(epoch)
        return True
    if batches.is_last_batch and loader._is_trained is not False and _is_trained(loop):
        loader._begin_epoch(0 if overfits else epoch + 1)
        return False  # only a validation is left of the epoch
    if batches.current.processed and not is_loaded:
        raise WrongUseError(
            f"the checkpoint was saved after batch {batches.current.processed} of epoch {epoch}, "
            f"and has no state of this loader, as that of {shown(part)} has none: give it "
            "state_dict() and load_state_dict() that call those of the loader, or give the "
            "Trainer the loader itself; go on from a checkpoint at the end of an epoch, or load a "
            "state into the loader before fit()"
        )
    if loader._next_epoch() == epoch:
        loader.set_epoch(epoch)  # after the last batch of a stream the epoch has no other one
        return True
    return bool(loop._combined_loader._mode == "max_size_cycle")  # else its batches have ended


def _is_trained(loop: Any) -> bool:
    """Whether the loop has trained with the last batch that it took."""
    current = loop.epoch_loop.batch_progress.current
    return bool(current.ready == current.processed)


def _failing(error: Exception) -> Iterator[Any]:
    raise error
    yield


def _take_state(loop: Any, part: Any) -> Any:
    """The state of a loader in the checkpoint, once; None: the loop has loaded it, which it does
    only in the middle of an epoch, or there is none."""
    states = loop._combined_loader_states_to_load
    if not states or not hasattr(part, "load_state_dict"):
        return None
    parts = [one for one in _parts_of(loop) if hasattr(one, "load_state_dict")]
    number = next(i for i, one in enumerate(parts) if one is part)
    if number >= len(states):
        raise WrongUseError(
            f"the checkpoint has the states of {len(states)} loaders, and the Trainer was given "
            "more: give it the loaders with which the checkpoint was saved"
        )
    state, states[number] = states[number], None
    return state
