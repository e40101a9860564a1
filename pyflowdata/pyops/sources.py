"""Python objects as sources of records: the functions that C calls to read them."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import GeneratorType, SimpleNamespace
from typing import Any

from ..errors import (
    CancelledError,
    CorruptDataError,
    Error,
    InvalidArgumentError,
    UserFunctionError,
    shown,
)
from ..nodes.objects import Identity, object_of
from ..native import CData, ffi, lib, new_struct, text
from .callbacks import Handles, c_function, is_ctrl_c, message_of, status_of
from .function_digest import Digest, place_of
from ..nodes.python_ops import SourceTimes, source_times
from ..nodes.row_types import read_row_type
from ..words.remedies import FROM_ARROW, is_arrow
from .samples import Damaged, Raised, Samples, samples_of, values_by_field

_END = lib.PFD_END
_MOST_LISTED = 100_000  # numbers of a range, or elements of a tuple, compared as those of a list
_OWN_FILES = (
    __file__,
    *(f.__code__.co_filename for f in (c_function, Samples.write, samples_of, values_by_field)),
)
_sessions: Handles[_Indexed | _Stream] = Handles()
_locks: dict[int, tuple[threading.Lock, int]] = {}  # id of a source -> lock, number of users
_locks_lock = threading.Lock()
_NO_LOCK = contextlib.nullcontext()
_clock = time.perf_counter


# ---- What can be a source -----------------------------------------------------------------------


def _is_indexed(source: Any) -> bool:
    kind = type(source)
    if any(base.__name__ == "IterableDataset" for base in kind.__mro__):  # has __getitem__ too
        return False
    return hasattr(kind, "__len__") and hasattr(kind, "__getitem__")


def _check(source: Any) -> None:
    if isinstance(source, (str, bytes, Mapping)):
        raise InvalidArgumentError(
            f"source = {shown(source)}; a {type(source).__name__} is not a sequence of samples"
        )
    if is_arrow(source) and not hasattr(type(source), "__getitems__"):
        raise InvalidArgumentError(f"source is a {type(source).__name__}, a table; {FROM_ARROW}")
    if isinstance(source, Iterator):
        raise InvalidArgumentError(
            f"source = {shown(source)}, an iterator, which can be read only once; give the "
            "function that makes it: it is called for each epoch"
        )
    if not (_is_indexed(source) or hasattr(type(source), "__iter__") or callable(source)):
        raise InvalidArgumentError(
            f"source = {shown(source)} ({type(source).__name__}); it must have __len__ and "
            "__getitem__, or be an iterable, or a function that returns one"
        )


def _name_of(source: Any) -> str:
    name = getattr(source, "__qualname__", None)
    return f"{name}()" if isinstance(name, str) else type(source).__name__


# ---- Sessions, one for each open reader ---------------------------------------------------------


class _Indexed:
    """Samples by number."""

    def __init__(
        self, source: Any, samples: Samples, times: SourceTimes, *, is_concurrent: bool
    ) -> None:
        self.source = source
        self.samples = samples
        self._times = times
        self.name = _name_of(source)
        self.num_records = len(source)
        if self.num_records < 1:
            raise InvalidArgumentError(
                f"len({self.name}) is {self.num_records}; there must be at least one sample"
            )
        self._takes_many = hasattr(type(source), "__getitems__")
        self._lock = None if is_concurrent else _take_lock(source)

    def at(self, ordinals: list[int], host: CData, scratch: CData, out: CData) -> None:
        asked = _clock()
        with self._lock or _NO_LOCK:
            began = _clock()
            try:
                found = self._read(ordinals, host, scratch)
            finally:
                self._times.add(_clock() - began, began - asked)
        try:
            self.samples.write(found, None, host, scratch, out)
        except Raised as raised:
            raised.said = raised.said or self._at(ordinals[raised.row])
            raise
        for index, ordinal in enumerate(ordinals):
            out[index].ordinal = ordinal

    def _at(self, ordinal: int) -> str:
        return f"{self.name}[{ordinal}]"

    def _read(self, ordinals: list[int], host: CData, scratch: CData) -> Sequence[Any]:
        if not self._takes_many:
            return self._read_each(ordinals, host, scratch)
        if host.is_cancelled(scratch):
            raise CancelledError("the batch was given up")
        try:
            given = self.source.__getitems__([*ordinals])  # the source may change its list
        except Exception as failure:  # noqa: BLE001  (what the user's code raises)
            return self._read_failed(failure, ordinals, host, scratch)
        except BaseException as failure:
            raise Raised(failure, -1, f"{self.name}.__getitems__()") from None
        return samples_of(f"{self.name}.__getitems__()", given, len(ordinals))

    def _read_failed(
        self, failure: Exception, ordinals: list[int], host: CData, scratch: CData
    ) -> Sequence[Any]:
        """Reads one by one after a failure, which finds the sample that fails."""
        found = self._read_each(ordinals, host, scratch)
        if any(isinstance(sample, Damaged) for sample in found):
            return found
        said = f"{self.name}.__getitems__(), of {len(ordinals)} samples that can be read each,"
        if isinstance(failure, CorruptDataError):  # no sample could be left out
            raise UserFunctionError(f"{said} raised CorruptDataError: {failure}") from failure
        raise Raised(failure, -1, said)

    def _read_each(self, ordinals: list[int], host: CData, scratch: CData) -> list[Any]:
        found, source = [], self.source
        for index, ordinal in enumerate(ordinals):
            if host.is_cancelled(scratch):
                raise CancelledError("the batch was given up")
            try:
                found.append(source[ordinal])
            except CorruptDataError as failure:
                found.append(Damaged(*message_of(failure, self.name, _OWN_FILES)))
            except BaseException as failure:
                raise Raised(failure, index, self._at(ordinal)) from None
        return found

    def close(self) -> None:
        if self._lock is not None:
            _give_lock(self.source)


class _Stream:
    """Samples one after the other, epoch after epoch."""

    num_records = -1

    def __init__(self, source: Any, samples: Samples) -> None:
        self.source = source
        self.samples = samples
        self.name = _name_of(source)
        self._start: Callable[[], Any] = source
        if hasattr(type(source), "__iter__"):
            self._start = lambda: source
        self._iterator: Iterator[Any] | None = None
        self._failure: BaseException | None = None  # raised after the samples before it
        self._epoch = self._position = -1  # of the sample that the iterator yields next
        self._has_yielded = False  # in some epoch

    def seek(self, epoch: int, position: int, host: CData, scratch: CData) -> None:
        is_there = (epoch, position) == (self._epoch, self._position)
        if is_there and self._iterator is not None and self._failure is None:
            return
        former, self._iterator, self._failure = self._iterator, None, None
        try:
            _close(former)
            self._epoch, self._position = epoch, 0
            self._iterator = iter(self._start())
        except BaseException as failure:
            raise self._raised(failure, self._position) from None
        while self._position < position and self._next_or_end(host, scratch) is not _OVER:
            pass

    def _raised(self, failure: BaseException, position: int) -> Raised:
        return Raised(failure, -1, f"{self.name}, at sample {position},")

    def _next_or_end(self, host: CData, scratch: CData) -> Any:
        """The next sample; _OVER at the end of the epoch."""
        if host.is_cancelled(scratch):
            raise CancelledError("the batch was given up")
        assert self._iterator is not None
        try:
            sample = next(self._iterator)
        except StopIteration:
            self._iterator = None
            if self._position == 0 and self._has_yielded:
                raise UserFunctionError(
                    f"{self.name} yields nothing, and did in a former epoch; is it an iterator "
                    "that can be read only once? Give a function that makes a new one each "
                    "time"
                ) from None
            return _OVER
        except CorruptDataError as failure:
            if isinstance(self._iterator, GeneratorType):
                raise UserFunctionError(
                    f"{self.name} raised CorruptDataError, which ends a generator, so that later "
                    "samples cannot be read; an object with __next__, or __getitem__, can "
                    "go on"
                ) from failure
            sample = Damaged(*message_of(failure, self.name, _OWN_FILES))
        except BaseException as failure:
            raise self._raised(failure, self._position) from None
        self._position += 1
        self._has_yielded = True
        return sample

    def next(self, most: int, host: CData, scratch: CData, out: CData) -> int:
        if self._failure is not None:
            raise self._failure
        first = self._position
        try:
            found = self._read(most, host, scratch)
            if found:
                self.samples.write(found, first, host, scratch, out)
        except BaseException as failure:
            self._iterator = None  # samples may be lost: the host seeks back to them
            if isinstance(failure, Raised) and not failure.said:
                failure = self._raised(failure.failure, first + failure.row)
                raise failure from None
            raise
        return len(found)

    def _read(self, most: int, host: CData, scratch: CData) -> list[Any]:
        found: list[Any] = []
        while self._iterator is not None and len(found) < most:
            try:
                sample = self._next_or_end(host, scratch)
            except BaseException as failure:
                self._iterator, self._failure = None, failure
                if not found or _cannot_wait(failure):
                    raise
                break
            if sample is not _OVER:
                found.append(sample)
        return found

    def close(self) -> None:
        _close(self._iterator)


_OVER = object()


def _cannot_wait(failure: BaseException) -> bool:
    """Whether to drop the samples before a failure; they will be read again."""
    raised = failure.failure if isinstance(failure, Raised) else failure
    return isinstance(failure, CancelledError) or is_ctrl_c(raised)


def _close(iterator: Any) -> None:
    close = getattr(iterator, "close", None)
    if isinstance(iterator, GeneratorType) and close is not None:
        close()


def _take_lock(source: Any) -> threading.Lock:
    """The lock of a source, the same for all loaders that read it."""
    with _locks_lock:
        lock, users = _locks.get(id(source), (threading.Lock(), 0))
        _locks[id(source)] = (lock, users + 1)
        return lock


def _give_lock(source: Any) -> None:
    with _locks_lock:
        lock, users = _locks.pop(id(source))
        if users > 1:
            _locks[id(source)] = (lock, users - 1)


def _renew_locks() -> None:
    """Makes new locks in a forked child, which lacks the threads that held them."""
    global _locks_lock
    _locks_lock = threading.Lock()
    for source, (_, users) in [*_locks.items()]:
        _locks[source] = (threading.Lock(), users)


os.register_at_fork(after_in_child=_renew_locks)


# ---- What C calls -------------------------------------------------------------------------------


def fail(args: tuple[Any, ...], failure: BaseException) -> int:
    """Writes an exception into the pfd_error, which is always the last argument."""
    row, said, is_told = -1, "the source", False
    if isinstance(failure, Raised):
        row, said, failure = failure.row, failure.said, failure.failure
    else:
        is_told = _is_told(failure)
    err = args[-1]
    err.status, err.row, err.byte = status_of(failure, lib.PFD_USER_FUNCTION), row, -1
    err.message, err.cause = message_of(failure, said, _OWN_FILES, is_told=is_told)
    return int(err.status)


def _is_told(failure: BaseException) -> bool:
    """Whether the message is complete: this package raised the error, not the user's code."""
    if not isinstance(failure, Error) or failure.__cause__ is not None:
        return False
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename in _OWN_FILES


def _run_check(number: int, _err: CData) -> int:
    try:
        source = object_of(number)
    except KeyError:
        raise InvalidArgumentError(
            f"source = {number}, which is the number of no object; give the object itself"
        ) from None
    _check(source.value)
    if source.identity is None:
        is_short = type(source.value) in (range, tuple) and len(source.value) <= _MOST_LISTED
        held = [*source.value] if is_short else source.value  # a list of the samples is the same
        source.identity = Identity(Digest(held).now, place_of(source.value))
    return 0


def _run_open(
    number: int, fields: CData, is_concurrent: int, _host: CData, session: CData,
    num_records: CData, _err: CData,
) -> int:  # fmt: skip
    source = object_of(number).value
    keys = [text(fields.keys[i]) for i in range(fields.size)]
    samples = Samples(keys, [read_row_type(fields.types[i]) for i in range(fields.size)])
    opened: _Indexed | _Stream
    if _is_indexed(source):
        times = source_times(number)
        opened = _Indexed(source, samples, times, is_concurrent=bool(is_concurrent))
    else:
        opened = _Stream(source, samples)
    session[0], num_records[0] = _sessions.add(opened), opened.num_records
    return 0


def _run_at(
    session: int, ordinals: CData, n: int, host: CData, scratch: CData, out: CData, _err: CData
) -> int:
    opened = _sessions[session]
    assert isinstance(opened, _Indexed)
    opened.at(ffi.unpack(ordinals, n), host, scratch, out)
    return 0


def _run_next(
    session: int, most: int, host: CData, scratch: CData, out: CData, n: CData, _err: CData
) -> int:
    opened = _sessions[session]
    assert isinstance(opened, _Stream)
    n[0] = 0
    n[0] = opened.next(most, host, scratch, out)
    return 0 if n[0] else int(_END)


def _run_seek(
    session: int, epoch: int, position: int, host: CData, scratch: CData, _err: CData
) -> int:
    opened = _sessions[session]
    assert isinstance(opened, _Stream)
    try:
        opened.seek(epoch, position, host, scratch)
    except BaseException as failure:
        opened._iterator, opened._failure = None, failure
        raise
    return 0


def _run_close(session: int) -> int:
    opened = _sessions.pop(session, None)
    if opened is not None:
        opened.close()
    return 0


def _fail_to_close(_args: tuple[Any, ...], failure: BaseException) -> int:
    """Reports an exception as Python does for __del__: no caller can take it."""
    sys.unraisablehook(
        SimpleNamespace(
            exc_type=type(failure), exc_value=failure, exc_traceback=failure.__traceback__,
            err_msg="Exception ignored at the end of a reader's source", object=None,
        )
    )  # fmt: skip
    return 0


def _make() -> tuple[CData, list[CData]]:
    source, kept = new_struct("pfd_object_source"), []
    for name, run in (("check", _run_check), ("open", _run_open), ("at", _run_at),
                      ("next", _run_next), ("seek", _run_seek)):  # fmt: skip
        signature = _signature(name)
        kept.append(c_function(signature, run, fail))
        setattr(source, name, kept[-1])
    kept.append(c_function(_signature("close"), _run_close, _fail_to_close))
    source.close = kept[-1]
    return source, kept


def _signature(name: str) -> Any:
    return dict(ffi.typeof("pfd_object_source").fields)[name].type


source, _kept = _make()  # C calls it as long as the process lives
lib.pfd_object_source_set(source)
