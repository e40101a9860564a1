"""Warnings at the line of the program that has called this package."""

from __future__ import annotations

import gc
import operator
import os
import sys
import threading
import warnings
from collections.abc import Hashable, Iterator
from types import FrameType

_given: dict[Hashable, object] = {}  # by the keys of the warnings that this process has given

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def frames_of(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


_MAY_HANG = (3, 11) <= sys.version_info < (3, 11, 10)


def _all_threads() -> dict[int, FrameType]:
    """The innermost frames of all threads.

    CPython 3.11 makes objects in this call while it holds a lock that each thread needs at its end.
    A garbage collection there can wait for such a thread, which has the interpreter's lock: all
    would hang, or the list of threads would change under the call (gh-106883 of CPython;
    3.11.10 and 3.12 do not).
    """
    if not _MAY_HANG or not gc.isenabled():
        return sys._current_frames()
    # No other thread and no signal handler runs between these, as one call of C makes all three.
    calls = gc.disable, sys._current_frames, gc.enable
    _, frames, _ = map(operator.call, calls)  # type: ignore[attr-defined, unused-ignore]
    found: dict[int, FrameType] = frames
    return found


def other_threads() -> dict[int, FrameType]:
    """The innermost frames of all other threads.  A frame that has itself in a local variable forms
    a cycle, which would keep the variables of all these frames alive.
    """
    frames = _all_threads()
    frames.pop(threading.get_ident(), None)
    return frames


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs a function of this package."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def calling_frame(frame: FrameType | None) -> FrameType | None:
    """The frame of the program that called this frame of the package; None: a thread of the package
    runs the frame.
    """
    for outer in frames_of(frame):
        if not is_ours(outer):
            return None if outer.f_code.co_filename == threading.__file__ else outer
    return None


def warn_at(frame: FrameType, warning: Warning) -> None:
    """Warns at the line of a frame."""
    warnings.warn_explicit(
        warning,
        type(warning),
        frame.f_code.co_filename,
        frame.f_lineno or 0,  # None: its code has no numbers of lines
        frame.f_globals.get("__name__", "<unknown>"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def warn_program_once(key: Hashable, warning: Warning) -> None:
    """Warns at the line of the program that has called this package; in a thread of this package,
    at the line where the main thread is.  A second warning with the same key is not given."""
    own = object()
    # In one step: without the interpreter's lock two threads may come at once.
    if _given.setdefault(key, own) is not own:
        return
    frame = calling_frame(sys._getframe())
    if frame is None:
        frame = calling_frame(_all_threads().get(threading.main_thread().ident or 0))
    if frame is None:
        warnings.warn(warning, stacklevel=1)
    else:
        warn_at(frame, warning)
