"""DataLoader: takes batches of the wanted blobs, epoch after epoch."""

from __future__ import annotations

import atexit
import dataclasses
import operator
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from ._native import CData, check, exception, ffi, lib, new_error, new_struct, text
from .batches import Array, BatchArrays
from .errors import CancelledError, Error, InvalidArgumentError, UnsupportedError
from .graph import Blob
from .state import Reader, make_state, read_state

__all__ = ["DataLoader"]

BatchT = TypeVar("BatchT")

_SIGNALS_NS = 50_000_000  # how long a wait may keep Python from looking for signals
_ZIP = {"strict": lib.PFD_ZIP_STRICT, "shortest": lib.PFD_ZIP_SHORTEST}
_END = lib.PFD_END
_next = lib.pfd_loader_next
_OPEN, _CLOSED, _FORKED = "open", "closed", "forked"
_open_loaders: weakref.WeakSet[DataLoader[Any]] = weakref.WeakSet()


class DataLoader(Generic[BatchT]):
    """Opens the readers behind some blobs, and yields batches as NumPy arrays.

    `for batch in loader` is one epoch.  What a batch is depends on how the blobs are given:
    one blob gives bare arrays, several or a tuple give tuples of arrays, a dict gives dicts.

    An array has the rows of this rank first, then the dimensions of a row, and the blob's dtype.
    It views memory of the loader, is writable, and belongs to the caller until it and all views
    of it are collected; also after close().

    A loader may be used by several threads; they take turns.  It belongs to the process that
    opened it: in a forked child its calls raise UnsupportedError.

    Attributes:
        epoch: The epoch that was begun last, or is to be continued.
    """

    @overload
    def __init__(
        self: DataLoader[Array],
        blob: Blob,
        /,
        *,
        num_threads: int | None = ...,
        prefetch: int | None = ...,
        memory_budget: int | None = ...,
        zip: str = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[dict[str, Array]],
        blobs: Mapping[str, Blob],
        /,
        *,
        num_threads: int | None = ...,
        prefetch: int | None = ...,
        memory_budget: int | None = ...,
        zip: str = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[tuple[Array, ...]],
        blobs: Sequence[Blob],
        /,
        *,
        num_threads: int | None = ...,
        prefetch: int | None = ...,
        memory_budget: int | None = ...,
        zip: str = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[tuple[Array, ...]],
        first: Blob,
        second: Blob,
        /,
        *blobs: Blob,
        num_threads: int | None = ...,
        prefetch: int | None = ...,
        memory_budget: int | None = ...,
        zip: str = ...,
    ) -> None: ...

    def __init__(
        self,
        *blobs: Any,
        num_threads: int | None = None,
        prefetch: int | None = None,
        memory_budget: int | None = None,
        zip: str = "strict",
    ) -> None:
        """Opens the readers; batches are made from here on, before they are asked for.

        Args:
            *blobs: Blobs, or one tuple or dict of blobs.
            num_threads: Threads that work on batches; None: as many as this process may use.
            prefetch: Batches that are made ahead; None: chosen from their size.
            memory_budget: Bytes that batches may take, those still held included; None: half of
                what the process may use.
            zip: What several readers must be: "strict", of equal length; "shortest": the one
                that ends first ends the epoch.

        Raises:
            InvalidArgumentError: What is given is wrong, or the readers do not fit together.
            FileError: Files are missing or cannot be read.
        """
        self._form: Callable[[list[Array]], BatchT]
        wanted, self._form = _arrange(blobs)
        self._life = _OPEN
        self._taking = threading.RLock()  # held by who takes batches or moves the loader
        self._iterator = 0  # number of the iterator that may go on
        self._over = 0  # number of the one whose epoch ended last
        self._epoch = self._position = 0  # of the next batch to deliver
        self._passed = 0  # batches from there on that failed, and that the loop went past
        self._begun = -1  # the epoch begun last
        self._resume = False  # a state was loaded, and the next iterator is to continue there
        self._unsure = False  # whether the library is at the position, and may go on there
        self._err = new_error()
        self._handle = _open(wanted, num_threads, prefetch, memory_budget, zip)
        _open_loaders.add(self)
        info = new_struct("pfd_loader_info")
        check(lib.pfd_loader_get_info(self._handle, info), self._err)
        arrays = BatchArrays(wanted, info)
        self._batch, self._take, self._give_back = arrays.batch, arrays.take, arrays.give_back
        self._num_batches: int = info.num_batches
        self._threads: int = info.num_threads
        self._prefetch: int = info.prefetch
        self._num_readers: int = info.num_readers
        self._names = tuple(blob.name for blob in wanted)
        self._readers = self._read_readers()
        self._warn_of_default_seeds()

    # ---- Epochs -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[BatchT]:
        """Begins the epoch after the one begun last; after load_state_dict() continues there.

        An iterator made before, and not at its end, raises CancelledError from now on.
        """
        with self._taking:
            place = (self._epoch, self._position) if self._resume else (self._begun + 1, 0)
            return self._begin(place, endless=False)

    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is.

        Raises, from next():
            InvalidArgumentError: An epoch has no batches.
        """
        with self._taking:
            return self._begin(self._next_place(), endless=True)

    def _begin(self, place: tuple[int, int], *, endless: bool) -> Iterator[BatchT]:
        self._check_life()
        self._iterator += 1
        self._epoch, self._position = place
        self._passed = 0
        self._unsure = True
        self._seek()
        self._resume = False
        self._begun = self._epoch
        return _Batches(self, self._iterator, endless)

    def _seek(self) -> None:
        """Makes the library go on at the position, or behind what failed there."""
        step = self._position + self._passed
        status = lib.PFD_PENDING
        while status == lib.PFD_PENDING:
            self._check_life()
            status = lib.pfd_loader_seek(self._handle, self._epoch, step, self._err)
        if status < 0:
            raise self._failure(status)
        self._unsure = False

    def _next_place(self) -> tuple[int, int]:
        """Epoch and position of the next batch, where the end of an epoch is the next one."""
        if 0 < self._num_batches <= self._position:
            return self._epoch + 1, 0
        return self._epoch, self._position

    def _deliver(self, iterator: int, endless: bool) -> BatchT | None:
        """The next batch for an iterator; None when its epoch is over."""
        with self._taking:
            if (iterator != self._iterator or self._unsure) and not self._prepare(iterator):
                return None
            self._unsure = True  # until an interrupt can no longer come in between
            try:
                while True:
                    status = _next(self._handle, _SIGNALS_NS, self._batch, self._err)
                    if status == 0:
                        arrays, self._epoch, step = self._take()
                        self._position = step + 1
                        self._passed = 0
                        self._unsure = False
                        return self._form(arrays)
                    if status < 0:
                        raise self._batch_failure(status)
                    if status == _END:
                        self._end_epoch(iterator, endless)
                        if not endless:
                            return None
                    self._check_life()
            except BaseException:
                self._give_back()
                raise

    def _prepare(self, iterator: int) -> bool:
        """Whether the iterator may go on, from the position; False if its epoch is over."""
        if iterator == self._over:
            return False
        self._check_life()
        if iterator != self._iterator:
            raise CancelledError(
                "this iterator is over: a newer one was begun, or a state was loaded"
            )
        self._seek()
        return True

    def _end_epoch(self, iterator: int, endless: bool) -> None:
        empty = self._position + self._passed == 0
        self._epoch, self._position, self._passed = self._epoch + 1, 0, 0
        if not endless:
            self._over = iterator
        elif empty:
            raise InvalidArgumentError(
                "repeat() of an epoch without batches would never end; is last_batch='drop' with "
                "fewer records than batch_size meant?"
            )
        else:
            self._begun = self._epoch

    def _batch_failure(self, status: int) -> Error:
        """The exception for a batch that failed: it is passed over."""
        failure = self._failure(status)
        if not isinstance(failure, (CancelledError, UnsupportedError)):
            self._passed += 1
            self._unsure = False
        return failure

    def _failure(self, status: int) -> Error:
        self._check_life()
        failure = exception(status, self._err)
        self._err = new_error()
        return failure

    # ---- State --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: a dict for JSON, below 1 KB, the same on every rank.

        It counts the batches that were delivered, not those made ahead.  A batch that failed is
        met again, unless a later one was delivered.  After the last batch of an epoch it means the
        next epoch.
        """
        with self._taking:
            return make_state(*self._next_place(), self._readers)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iter() or repeat() go on exactly where the state was taken.

        The loader may have another world size, rank, number of threads or prefetch.  Seeds are
        taken from the state.  Iterators made before raise CancelledError from now on.

        Args:
            state: What state_dict() returned, also through JSON.

        Raises:
            InvalidArgumentError: Attrs or files differ from those of the state; the text lists
                each difference.
        """
        with self._taking:
            self._check_life()
            place = read_state(state, self._readers, self._num_batches)
            for index, seed in enumerate(place.seeds):
                if self._readers[index].seed != seed:
                    status = lib.pfd_loader_set_seed(self._handle, index, seed, self._err)
                    if status < 0:
                        raise self._failure(status)
            self._readers = tuple(
                dataclasses.replace(reader, seed=seed, seed_is_default=False)
                for reader, seed in zip(self._readers, place.seeds, strict=True)
            )
            self._epoch, self._position, self._passed = place.epoch, place.position, 0
            self._epoch, self._position = self._next_place()
            self._resume = True
            self._unsure = True
            self._iterator += 1

    # ---- Facts --------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Batches of an epoch, the same on every rank.

        Raises:
            TypeError: A reader is a stream that has to be read to be counted.
        """
        if self._num_batches < 0:
            raise TypeError("this DataLoader has no len(): a reader is a stream of unknown length")
        return self._num_batches

    def __bool__(self) -> bool:
        return True

    @property
    def epoch(self) -> int:
        return self._epoch if self._resume else max(self._begun, 0)

    def stats(self) -> dict[str, float]:
        """Counters since the loader was opened, also after close(); they cost next to nothing.

        Keys as in `pfd_stats` (pyflowdata.h), and *_seconds for every time in *_ns.
        """
        self._check_process()
        stats = new_struct("pfd_stats")
        check(lib.pfd_loader_get_stats(self._handle, stats), new_error())
        found: dict[str, float] = {
            name: getattr(stats, name)
            for name, _ in ffi.typeof("pfd_stats").fields
            if name != "struct_size"
        }
        for name in [name for name in found if name.endswith("_ns")]:
            found[name.removesuffix("_ns") + "_seconds"] = found[name] / 1e9
        return found

    @property
    def skipped(self) -> list[Error]:
        """The records that on_error="skip" or "pad" left out, as exceptions, in order of delivery.

        The latest 1000 are kept, also after close()."""
        self._check_process()
        found: list[Error] = []
        err = new_error()
        while lib.pfd_loader_get_skipped(self._handle, len(found), err) == lib.PFD_OK:
            found.append(exception(err.status, err))
        return found

    def _read_readers(self) -> tuple[Reader, ...]:
        return tuple(_read_reader(self._handle, index) for index in range(self._num_readers))

    def _warn_of_default_seeds(self) -> None:
        for reader in self._readers:
            if reader.seed_is_default and reader.spec.get("random_shuffle") == "true":
                warnings.warn(
                    f"{reader.name}: seed is left open with world_size = {reader.world_size}; "
                    f"{reader.seed} is used, so that all ranks have the same order. Give a seed.",
                    stacklevel=3,
                )

    def __repr__(self) -> str:
        parts = [
            f"{one.name}: seed={one.seed}, files={one.files}, batch_size={one.batch_size}"
            + (f", records={one.records}" if one.records >= 0 else "")
            + (f", rank={one.rank}/{one.world_size}" if one.world_size > 1 else "")
            for one in self._readers
        ]
        steps = self._num_batches if self._num_batches >= 0 else "unknown"
        parts.append(
            f"steps={steps}, epoch={self.epoch}, num_threads={self._threads}, "
            f"prefetch={self._prefetch}" + ("" if self._life == _OPEN else f", {self._life}")
        )
        return f"DataLoader({', '.join(self._names)}; {'; '.join(parts)})"

    # ---- Life ---------------------------------------------------------------------------------

    def _check_life(self) -> None:
        if self._life == _CLOSED:
            raise CancelledError("the DataLoader is closed")
        self._check_process()

    def _check_process(self) -> None:
        if self._life == _FORKED:
            raise UnsupportedError(
                f"the DataLoader was opened by another process than this one ({os.getpid()}), "
                "which was forked from it; open a DataLoader in this process"
            )

    def close(self) -> None:
        """Stops the threads and closes the files.  Arrays that are held stay valid, and state,
        counters and skipped records can still be read.

        Another thread that waits for a batch gets a CancelledError.  Closing twice is fine.
        """
        if self._life == _OPEN:
            self._life = _CLOSED
            _open_loaders.discard(self)
            lib.pfd_loader_close(self._handle)

    def __enter__(self) -> DataLoader[BatchT]:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _forget(self) -> None:
        """In a forked child: the threads are the parent's, and the lock may be held for ever."""
        self._taking = threading.RLock()
        self._life = _FORKED
        self._unsure = True


class _Batches(Iterator[BatchT]):
    """One epoch of a loader, or all of them."""

    __slots__ = ("_deliver", "_endless", "_number")

    def __init__(self, loader: DataLoader[BatchT], number: int, endless: bool) -> None:
        self._deliver = loader._deliver
        self._number = number
        self._endless = endless

    def __next__(self) -> BatchT:
        batch = self._deliver(self._number, self._endless)
        if batch is None:
            raise StopIteration
        return batch


# ---- Opening ------------------------------------------------------------------------------------


def _arrange(given: tuple[Any, ...]) -> tuple[list[Blob], Callable[[list[Array]], Any]]:
    """The blobs of DataLoader's arguments, and what makes a batch of their arrays."""
    form: Callable[[list[Array]], Any] = tuple
    blobs: list[Any] = list(given)
    if len(given) == 1:
        if isinstance(given[0], Mapping):
            keys = list(given[0])
            blobs = list(given[0].values())
            form = _dict_form(keys)
        elif isinstance(given[0], (tuple, list)):
            blobs = list(given[0])
        else:
            form = operator.itemgetter(0)
    if not blobs:
        raise InvalidArgumentError("no blobs were given; a DataLoader needs at least one")
    for blob in blobs:
        if not isinstance(blob, Blob):
            raise InvalidArgumentError(
                f"{blob!r:.80} was given as a blob; a DataLoader takes blobs, or one tuple or "
                "dict of blobs, as op functions return them"
            )
    return blobs, form


def _dict_form(keys: list[Any]) -> Callable[[list[Array]], dict[Any, Array]]:
    return lambda arrays: dict(zip(keys, arrays, strict=True))


def _whole(name: str, value: object, bits: int) -> int:
    """An option as C takes it; None is 0, which stands for "choose"."""
    if value is None:
        return 0
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgumentError(
            f"{name} = {value!r} ({type(value).__name__}); it must be an int or None"
        ) from None
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise InvalidArgumentError(f"{name} = {number}; it must be a number of {bits} bits")
    return number


def _open(
    blobs: list[Blob], num_threads: object, prefetch: object, memory_budget: object, rule: object
) -> CData:
    options = new_struct("pfd_loader_options")
    options.num_threads = _whole("num_threads", num_threads, 32)
    options.prefetch = _whole("prefetch", prefetch, 32)
    options.memory_budget = _whole("memory_budget", memory_budget, 64)
    if not isinstance(rule, str) or rule not in _ZIP:
        raise InvalidArgumentError(f"zip = {rule!r}; it must be one of {', '.join(_ZIP)}")
    options.zip = _ZIP[rule]
    slots = ffi.new("pfd_blob[]", len(blobs))
    for slot, blob in zip(slots, blobs, strict=True):
        blob.fill(slot)
    out, err = ffi.new("pfd_loader **"), new_error()
    check(lib.pfd_loader_open(options, slots, len(blobs), out, err), err)
    return ffi.gc(out[0], lib.pfd_loader_release)


def _read_reader(handle: CData, index: int) -> Reader:
    info, err = new_struct("pfd_reader_info"), new_error()
    check(lib.pfd_loader_get_reader(handle, index, info), err)
    return Reader(
        name=text(info.name),
        op=text(info.op),
        seed=info.seed,
        seed_is_default=info.seed_origin == lib.PFD_SEED_DEFAULT,
        spec=_read_spec(text(info.spec)),
        files=info.num_files,
        bytes=info.num_bytes,
        records=info.num_records,
        data=f"{info.data_fingerprint:016x}",
        batch_size=info.batch_size,
        rank=info.rank,
        world_size=info.world_size,
    )


def _read_spec(lines: str) -> dict[str, str]:
    spec: dict[str, str] = {}
    name = ""
    for line in lines.split("\n"):
        key, found, value = line.partition("=")
        if found:
            name = key
            spec[name] = value
        elif name:  # the rest of a value with a line break in it
            spec[name] += "\n" + line
    return spec


# ---- The end of a process, and forks ------------------------------------------------------------


def _close_all() -> None:
    for loader in list(_open_loaders):
        loader.close()


def _forget_all() -> None:
    for loader in list(_open_loaders):
        loader._forget()
    _open_loaders.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
