"""Which line of the program has called this package."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Hashable, Iterator
from types import FrameType

_given: set[Hashable] = set()  # keys of the warnings that this process has given

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def frames_of(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that called it, from the inside."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_ours(frame: FrameType) -> bool:
    """Whether it runs a function of this package."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def calling_frame(frame: FrameType | None) -> FrameType | None:
    """From a frame of this package: the one of the program that called it; None: a thread of this
    package runs it."""
    for outer in frames_of(frame):
        if not is_ours(outer):
            return None if outer.f_code.co_filename == threading.__file__ else outer
    return None


def warn_at(frame: FrameType, warning: Warning) -> None:
    """Warns at the line where a frame is."""
    warnings.warn_explicit(
        warning,
        type(warning),
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__", "<unknown>"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def warn_program_once(key: Hashable, warning: Warning) -> None:
    """Warns at the line of the program that has called this package; in a thread of this package,
    at the line where the main thread is.  A second warning with the same key is not given."""
    if key in _given:
        return
    _given.add(key)
    main = sys._current_frames().get(threading.main_thread().ident or 0)
    frame = calling_frame(sys._getframe()) or calling_frame(main)
    if frame is None:
        warnings.warn(warning, stacklevel=1)
    else:
        warn_at(frame, warning)
