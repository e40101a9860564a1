"""Says in a sentence who is at work on a batch that does not come, on what, and since when."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ..native import CData, ffi, lib, new_struct
from ..native.calling_line import PACKAGE, frames_of, is_ours
from ..native.calls import inside, waits_for
from ..plain_text import seconds

_MOST = 3  # threads that are described
_CALLS = os.path.join(PACKAGE, "pyops", "callbacks.py")  # below it: what C calls


@dataclass(frozen=True)
class ThreadSince:
    """What a thread of a loader does, and since when it has been seen to.

    Attributes:
        mark: Changes when it goes on to other rows or to another item of work.
        now: The `pfd_thread_now`.
    """

    index: int
    num_threads: int
    mark: tuple[int, int]
    since: float
    now: CData

    @classmethod
    def all(cls, handle: CData, seen: float) -> Iterator[ThreadSince]:
        """Those of the pool, then the one in next(); none of a loader that is closed."""
        found: list[CData] = []
        now = new_struct("pfd_thread_now")
        while lib.pfd_loader_get_thread(handle, len(found), now) == 0:
            found.append(now)
            now = new_struct("pfd_thread_now")
        for index, now in enumerate(found):
            yield cls(index, len(found) - 1, (now.count, now.work), seen, now)

    @property
    def name(self) -> str:
        in_next = self.index == self.num_threads
        return "the thread in next()" if in_next else f"thread {self.index} of {self.num_threads}"

    @property
    def is_idle(self) -> bool:
        return bool(self.now.work < 0)

    def is_on(self, epoch: int, step: int) -> bool:
        return bool(not self.is_idle and (self.now.epoch, self.now.step) == (epoch, step))


def describe(
    handle: CData, epoch: int, step: int, waited: float, threads: list[ThreadSince], now: float
) -> str:
    """What a StallWarning says."""
    on_it = sorted((each for each in threads if each.is_on(epoch, step)), key=lambda t: t.since)
    busy = on_it or sorted((each for each in threads if not each.is_idle), key=lambda t: t.since)
    said = [_of_thread(handle, each, now) for each in busy[:_MOST]]
    if not on_it:
        said.insert(0, "no thread is at work on it")
    others = [each for each in threads if each not in busy[:_MOST]]
    others = [each for each in others if not (each.is_idle and each.index == each.num_threads)]
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
    from ..reports.counters import read_work

    work = read_work(handle)[thread.now.work]
    rows = _files(handle, work.reader) if work.kind == "read" else _rows(handle, thread)
    return f"{thread.name} has been {work.doing} for {seconds(now - thread.since)}{rows}"


def _rows(handle: CData, thread: ThreadSince) -> str:
    now = thread.now
    count, first, last = now.num_rows, now.first_ordinal, now.last_ordinal
    rows = f", on {count} rows" if count != 1 else ", on a row"
    if now.file < 0:
        return rows
    file = _file(handle, now.reader, now.file)
    of_file = f" of {file}" if file else ""
    if count == 1:
        return f"{rows}, record {first}{of_file}"
    if last - first == count - 1:
        return f"{rows}, records {first} to {last}{of_file}"
    return f"{rows}, of which the first is record {first}{of_file}"


def _file(handle: CData, reader: int, file: int) -> str:
    path = lib.pfd_loader_file(handle, reader, file)
    return "" if path == ffi.NULL else os.fsdecode(ffi.string(path))


def _files(handle: CData, reader: int) -> str:
    """Of a stream, which does not tell in which of its files it is."""
    info = new_struct("pfd_reader_info")
    lib.pfd_loader_get_reader(handle, reader, info)
    first = _file(handle, reader, 0)
    if not first:
        return ""
    others = info.num_files - 1
    return f", of {first}" + (f" or one of {others} other files" if others > 0 else "")


def _python_places() -> list[str]:
    """At which line each Python function is that loaders of this process have called."""
    frames, said = sys._current_frames(), []
    for thread in [*inside]:
        found = ""
        for frame in frames_of(frames.get(thread)):
            code = frame.f_code
            if code.co_filename == _CALLS:
                break
            if not is_ours(frame):
                found = f"{code.co_name}() is at {code.co_filename}:{frame.f_lineno}"
        found = waits_for.get(thread, found)
        if found and found not in said:
            said.append(found)
    return said[:_MOST]
