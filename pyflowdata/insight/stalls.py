"""Warns of a stall, a long wait in next(), and names the threads and ops that keep it waiting.

One thread per process looks at all loaders now and then: the thread in next() may itself be stuck
in an op of the batch that it waits for.  The steps of a loader do no work for this.  While a call
holds the interpreter's lock this thread cannot run, and a thread of the library speaks in its place
(csrc/loader/watch/watchdog.c).
"""

from __future__ import annotations

import contextlib
import faulthandler
import linecache
import os
import re
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from types import FrameType
from typing import Any, NamedTuple

from ..errors import InvalidArgumentError, StallWarning, shown
from ..native import CData, check, encode, ffi, lib, new_error, new_struct
from ..native.calling_line import (
    PACKAGE,
    calling_frame,
    frames_of,
    is_ours,
    other_threads,
    warn_at,
)
from ..native.calls import inside, waits_for
from ..words.plain_text import seconds
from .stats import read_doing, read_stats


# ---- Which op each thread works on --------------------------------------------------------------

_MOST = 3  # threads that are described
_ROOM = 4096  # bytes for the text about one of them
_CALLS = os.path.join(PACKAGE, "pyops", "callbacks.py")  # below it: what C calls
_SOURCES = os.path.join(PACKAGE, "pyops", "sources.py")
_SAMPLES: dict[str, Callable[[dict[str, Any]], int]] = {  # by functions there that ask for one
    "_read_each": lambda local: local["ordinal"],
    "_next_or_end": lambda local: local["self"]._position,
}


class ThreadSince(NamedTuple):
    """The work of a thread of a loader, and the time at which the watch first saw it.

    Attributes:
        number: The thread, counted from 0; the one in next() is the last.
        mark: Changes when the thread goes on to other rows or to another item of work.
        now: The `pfd_thread_now`.
    """

    number: int
    num_threads: int
    mark: tuple[int, int]
    since: float
    now: CData

    @classmethod
    def all(cls, handle: CData, seen: float) -> Iterator[ThreadSince]:
        """The threads of the pool, then the one in next(); none for a closed loader."""
        found: list[CData] = []
        now = new_struct("pfd_thread_now")
        while lib.pfd_loader_get_thread(handle, len(found), now) == 0:
            found.append(now)
            now = new_struct("pfd_thread_now")
        for number, now in enumerate(found):
            yield cls(number, len(found) - 1, (now.count, now.work), seen, now)

    @property
    def is_idle(self) -> bool:
        return bool(self.now.work < 0)

    def is_on(self, epoch: int, step: int) -> bool:
        return bool(not self.is_idle and (self.now.epoch, self.now.step) == (epoch, step))


def _describe(
    handle: CData, epoch: int, step: int, waited: float, threads: list[ThreadSince], now: float
) -> str:
    on_it = sorted((each for each in threads if each.is_on(epoch, step)), key=lambda t: t.since)
    busy = on_it or sorted((each for each in threads if not each.is_idle), key=lambda t: t.since)
    said = [text for each in busy[:_MOST] if (text := _of_thread(handle, each, now))]
    if not on_it:
        said.insert(0, "no thread is at work on it")
    others = [each for each in threads if each not in busy[:_MOST]]
    others = [each for each in others if not (each.is_idle and each.number == each.num_threads)]
    num_idle = sum(each.is_idle for each in others)
    if num_idle:
        said.append(f"{num_idle} of the loader's threads {_are(num_idle)} idle")
    if len(others) > num_idle:
        at_work = len(others) - num_idle
        said.append(f"{at_work} {_are(at_work)} at work on other rows")
    said += _python_places()
    waits = f"next() has waited {seconds(waited)} for step {step} of epoch {epoch}"
    return f"{waits}: {'; '.join(said)}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _of_thread(handle: CData, thread: ThreadSince, now: float) -> str:
    """What a thread does, in words; "": the loader was closed meanwhile."""
    doing = encode(read_doing(handle)[thread.now.work], "op")
    duration, text = encode(seconds(now - thread.since), "duration"), ffi.new("char[]", _ROOM)
    lib.pfd_loader_tell_thread(handle, thread.number, thread.now, doing, duration, text, _ROOM)
    return os.fsdecode(ffi.string(text))


def _python_places() -> list[str]:
    """The current lines of the Python functions that loaders of this process have called."""
    frames, said = other_threads(), []
    for thread in [*inside]:
        found = ""
        for frame in frames_of(frames.get(thread)):
            code = frame.f_code
            if code.co_filename == _CALLS:
                break
            if code.co_filename == _SOURCES and code.co_name in _SAMPLES:
                found = f"sample {_SAMPLES[code.co_name](frame.f_locals)}: {found}"
            if not is_ours(frame):
                found = f"{code.co_name}() is at {code.co_filename}:{frame.f_lineno}"
        found = waits_for.get(thread, found)
        if found and found not in said:
            said.append(found)
    return said[:_MOST]


# ---- Threads that wait for a lock of the program ------------------------------------------------


def python_threads_now() -> tuple[int, int]:
    """How many threads run Python for a loader now, and how many of them wait for a lock of the
    program.  Of the threads that share a lock, one is not counted as waiting.
    """
    if not inside:
        return 0, 0
    frames = other_threads()
    here = [frames[thread] for thread in list(inside) if thread in frames]
    return len(here), sum(map(_waits_for_lock, here))


def _waits_for_lock(frame: FrameType) -> bool:
    """Whether a thread is in `with lock:` or in acquire(), which are C: no frame is above them.

    The line of the program says so; without its source a thread counts as one that does not wait.
    """
    number = frame.f_lineno or 0  # None: its code has no numbers of lines
    line = linecache.getline(frame.f_code.co_filename, number, frame.f_globals)
    return _TAKES.search(line) is not None


# With a call in it, as in `with open(path):`, a `with` may be about something else than a lock.
_TAKES = re.compile(
    r"^\s*with\s+([\w.\[\]]+|[\w.\[\]]*(lock|mutex|semaphore|condition)\w*\(\))"
    r"\s*(as\b.*)?:\s*(#.*)?$|\.acquire\(|\.__enter__\(",
    re.IGNORECASE,
)


# ---- The thread that watches --------------------------------------------------------------------

VARIABLE = "PYFLOWDATA_STALL_SECONDS"  # in the environment: 0 for never
_SECONDS = 60.0
_LOOKS = 8  # before a wait counts as a stall
_LONGEST_PAUSE, _SHORTEST_PAUSE = 1.0, 0.01  # seconds between two of them
_LOADER = os.path.join(PACKAGE, "loader") + os.sep
_WAITING = ("_take", "read_rows", "go_to_position")  # functions there that wait in C, in their turn


@dataclass(frozen=True)
class Stall:
    """A wait in next() that took longer than a loader should need.

    Attributes:
        epoch, step: The place of the late batch.
        seconds: The length of the wait when the watch found it.
        text: The text of the StallWarning: the threads and their work.
    """

    epoch: int
    step: int
    seconds: float
    text: str

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def stall_seconds() -> float:
    """The seconds after which a wait is a stall; 0: never.

    Raises:
        InvalidArgumentError: PYFLOWDATA_STALL_SECONDS is not such a number.
    """
    given = os.environ.get(VARIABLE, "")
    try:
        seconds = float(given) if given else _SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InvalidArgumentError(
            f"{VARIABLE} = {shown(given)}; it must be a number of seconds, or 0 for no warnings"
        )
    return seconds


class _Failure(NamedTuple):
    """A StallWarning that is an error, and the batch that it is about."""

    epoch: int
    step: int
    warning: StallWarning


class Wait:
    """The state of the watch for one loader, an OpenLoader.

    Attributes:
        stall: The last one, or None.
        failure: A warning that a filter made an error, for the next() that waits for its batch.
        python_threads: What `python_threads_now()` found while next() waited, summed over looks.
    """

    def __init__(self, loader: Any, seconds: float) -> None:
        self.seconds = seconds
        self.stall: Stall | None = None
        self.failure: _Failure | None = None
        self.is_over = False
        self.python_threads = (0, 0)
        self._pause = _SHORTEST_PAUSE / 2
        self._loader = weakref.ref(loader, self._mark_over)
        self._turns = loader.turns
        self._place: tuple[int, ...] | None = None  # the batch that next() waits for
        self._since = 0.0
        self._threads: dict[int, ThreadSince] = {}
        self._is_told = False

    def _mark_over(self, _reference: object = None) -> None:
        self.is_over = True

    def end(self) -> None:
        """Called before the loader is closed: a wait that ends with the loader is not reported."""
        self.is_over = True

    def raise_failure(self, epoch: int, step: int) -> None:
        """Called in a next() that waits for a batch: raises the failure, if it is about this batch.
        """
        failure, self.failure = self.failure, None
        if failure is not None and (epoch, step) == (failure.epoch, failure.step):
            raise failure.warning

    def pause(self) -> float:
        """Seconds until the next look; the first ones are soon after the start."""
        longest = min(max(self.seconds / _LOOKS, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        self._pause = min(2 * self._pause, longest)
        return self._pause

    def look(self) -> None:
        """Warns if the loader's next() has waited for one batch too long."""
        if not self._turns.is_busy:
            self._place = self.failure = None
            return
        loader = self._loader()
        if loader is None:
            return
        self._look_at_python()
        now, place = time.monotonic(), (loader.cursor.iterator, *loader.cursor.next())
        if place != self._place:
            self._place, self._since, self._is_told = place, now, False
            self.failure = None  # the batch that it was about has been delivered
            self._threads.clear()
        if self._is_told:
            return
        for thread in ThreadSince.all(loader.handle, now):
            before = self._threads.get(thread.number)
            if before is None or before.mark != thread.mark:
                self._threads[thread.number] = thread
        if now - self._since >= self.seconds:
            self._is_told = True
            self._tell(loader, now)

    def _look_at_python(self) -> None:
        threads, waiters = python_threads_now()
        self.python_threads = self.python_threads[0] + threads, self.python_threads[1] + waiters

    def _tell(self, loader: Any, now: float) -> None:
        assert self._place is not None
        _, epoch, step = self._place
        asked = read_stats(loader.handle)["asked_seconds"]  # of this batch, as it is late
        waited = now - (asked or self._since)
        threads = [self._threads[index] for index in sorted(self._threads)]
        text = _describe(loader.handle, epoch, step, waited, threads, now)
        if self.is_over:
            return
        self.stall = Stall(epoch, step, waited, text)
        lib.pfd_watch_expect(-1)  # the program's own code may show the warning
        try:
            _warn(text, loader)
        except StallWarning as failure:
            self.failure = _Failure(epoch, step, failure)
        except Exception:  # noqa: BLE001  (of the program's own showwarning, or of a closed stderr)
            pass  # `last_stall` has it


def _warn(text: str, loader: object) -> None:
    """Warns at the line of the program that called next(), or a sink that has a thread for it."""
    frames = other_threads()
    threads = (_waiting(frames.values(), loader), frames.get(threading.main_thread().ident or 0))
    frame = next(filter(None, map(_caller, threads)), None)
    if frame is None:
        warnings.warn(StallWarning(text), stacklevel=1)
        return
    warn_at(frame, StallWarning(text))


def _waiting(threads: Iterable[FrameType], loader: object) -> FrameType | None:
    """The frame that waits for a batch of this loader, under the innermost frames of threads."""
    for thread in threads:
        for frame in frames_of(thread):
            if _is_of_loader(frame) and frame.f_code.co_name in _WAITING:
                local = frame.f_locals
                if local.get("loader", local.get("self")) is loader:
                    return frame
    return None


def _caller(thread: FrameType | None) -> FrameType | None:
    """The frame of the program that called the loader in this thread."""
    return calling_frame(next(filter(_is_of_loader, frames_of(thread)), None))


def _is_of_loader(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_LOADER)


@dataclass
class _Watch:
    """The loaders of this process, and the thread that looks at them, which sleeps without any."""

    lock: Any = field(default_factory=threading.RLock)  # a signal handler may begin a watch, too
    # Released for a change: an Event has locks of its own, in which a signal may come.
    changed: Any = field(default_factory=threading.Lock)
    waits: list[Wait] = field(default_factory=list)
    thread: threading.Thread | None = None

    def add(self, wait: Wait) -> None:
        with self.lock:
            self.waits.append(wait)
            is_starting = self.thread is not None and self.thread.ident is None
            if not is_starting and (self.thread is None or not self.thread.is_alive()):
                self.thread = threading.Thread(
                    target=self.run, name="pyflowdata watch", daemon=True
                )
                self.thread.start()
        lib.pfd_watch_expect(0)
        with contextlib.suppress(RuntimeError):  # it is released already
            self.changed.release()

    def run(self) -> None:
        while True:
            with self.lock:
                self.waits = [wait for wait in self.waits if not wait.is_over]
                waits = [*self.waits]
            for wait in waits:
                lib.pfd_watch_expect(0)
                with contextlib.suppress(Exception):  # one loader fails, the others are watched
                    wait.look()
            pause = min((wait.pause() for wait in waits), default=None)
            del waits[:]
            lib.pfd_watch_expect(-1 if pause is None else int(pause * 1e9))
            self.changed.acquire(timeout=-1 if pause is None else pause)


_watch = _Watch()


def begin(loader: Any) -> Wait | None:
    """Watches an OpenLoader from now on, until it is closed; None: the environment turns this off.
    """
    seconds = stall_seconds()
    if seconds == 0:
        return None
    _begin_without_lock(loader.handle, seconds)
    wait = Wait(loader, seconds)
    _watch.add(wait)
    return wait


_STDERR = 2
_signals: set[int] = set()  # for which faulthandler writes the stacks of all threads


def _begin_without_lock(handle: CData, seconds: float) -> None:
    """Lets a thread of the library watch the loader, too."""
    doing = [ffi.new("char[]", encode(one, "op")) for one in read_doing(handle)]
    err = new_error()
    most = min(seconds, 1e9)
    check(lib.pfd_loader_watch(handle, int(most * 1e9), ffi.new("char const *[]", doing), err), err)
    number = lib.pfd_watch_signal()
    if number and number not in _signals:
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # the rest is written anyway
            faulthandler.register(number, file=_STDERR, all_threads=True)
            _signals.add(number)


def _forget() -> None:
    """Called in a forked child, which lacks the thread."""
    global _watch
    _watch = _Watch()


os.register_at_fork(after_in_child=_forget)
