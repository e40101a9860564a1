"""Which line of the program has called this package."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from types import FrameType

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
