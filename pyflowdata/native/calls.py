"""Calls from C into Python: exceptions that pass through C, and the threads inside such calls.

An exception cannot pass through C.  C gets its text and a number, the `cause` of a pfd_error.  When
C's error becomes a Python exception again, the number finds the original one, which becomes its
`__cause__`.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from types import FrameType

_MOST_KEPT = 64  # with the locals of their frames, for a debugger
_MOST_LIGHT = 2000  # without them: a loader keeps the reports of 1000 records

# The order of these steps makes each safe without a lock, which a signal handler could not take.
_numbers = itertools.count(2, 2)  # even ones; 0 stands for no exception
_kept: dict[int, BaseException] = {}
_light_numbers = itertools.count(1, 2)
_light: dict[int, BaseException] = {}

# Threads inside a Python function that C called -> the depth of such calls.
inside: dict[int, int] = {}
# Threads that wait there for another process -> in words.
waits_for: dict[int, str] = {}
# Threads that were interrupted there -> the KeyboardInterrupt that is still to be raised.
interrupts: dict[int, BaseException] = {}


def keep(failure: BaseException, *, is_light: bool) -> int:
    """Keeps an exception, and returns its number for C.

    Args:
        is_light: For exceptions of which there may be many: locals are not kept, and the exception
            may be fetched more than once.
    """
    if is_light:
        import traceback  # few programs need it

        link: BaseException | None = failure
        for _ in range(10):
            if link is None:
                break
            traceback.clear_frames(link.__traceback__)
            link = link.__cause__ if link.__cause__ is not None else link.__context__
        number = next(_light_numbers)
        _light[number] = failure
        _light.pop(number - 2 * _MOST_LIGHT, None)
        return number
    number = next(_numbers)
    _kept[number] = failure
    _kept.pop(number - 2 * _MOST_KEPT, None)
    return number


def kept(number: int) -> BaseException | None:
    """The exception with a number; None for 0, and if it is no longer kept."""
    return _light.get(number) if number % 2 else _kept.pop(number, None)


def interrupt(failure: KeyboardInterrupt, *, is_main: bool) -> None:
    """Notes that Ctrl-C came while this thread was in a function that C called.

    Args:
        is_main: Whether this is the main thread; in other threads it is an ordinary exception,
            even if the main thread has got the same object before.
    """
    # A frozen class may refuse attributes.
    BaseException.__setattr__(failure, "came_while_inside", is_main)
    if is_main:
        interrupts[threading.get_ident()] = failure


def look_for_signals(_unused: object) -> int:
    """Called by C in the main thread, in a pause: Python runs the handlers of signals here."""
    return 0


def is_in_pause() -> bool:
    """Whether the caller is such a handler: then a call of C further up the stack waits for it."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not look_for_signals.__code__:
        frame = frame.f_back
    return frame is not None


def end_pause(_type: object, failure: BaseException, _trace: object) -> int:
    """Keeps what a handler raised, for the caller of C."""
    interrupts[threading.get_ident()] = failure
    return 1


def take_interrupt() -> None:
    """Raises the KeyboardInterrupt that came in a function that C called in this thread."""
    if interrupts and threading.get_ident() in interrupts:
        raise interrupts.pop(threading.get_ident())


def is_interrupt(failure: BaseException | None) -> bool:
    """Whether a call failed only because of Ctrl-C during the call."""
    return isinstance(failure, KeyboardInterrupt) and getattr(failure, "came_while_inside", False)


def raised(failure: BaseException) -> BaseException:
    """The exception to raise for a failed call; this is the cause, if the cause is a BaseException
    such as KeyboardInterrupt or SystemExit.
    """
    cause = failure.__cause__
    return failure if cause is None or isinstance(cause, Exception) else cause


def _forget() -> None:
    """In a forked child, which has one thread."""
    mine = threading.get_ident()
    for threads in (inside, interrupts, waits_for):
        for thread in [*threads]:
            if thread != mine:
                threads.pop(thread, None)


os.register_at_fork(after_in_child=_forget)
