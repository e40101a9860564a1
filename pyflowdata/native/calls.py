"""What calls from C into Python need: exceptions on their way through C, and who is inside.

An exception cannot pass through C.  Its text goes there with a number, the `cause` of a pfd_error.
By it the exception itself is found again where C's error becomes one of Python: it is then the
`__cause__`.
"""

from __future__ import annotations

import itertools
import os
import threading
import traceback

_MOST_KEPT = 64  # with the locals of their frames, for a debugger
_MOST_LIGHT = 2000  # without them: a loader keeps the reports of 1000 records

# The order of these steps makes each safe without a lock, which a signal handler could not take.
_numbers = itertools.count(2, 2)  # even ones; 0 stands for no exception
_kept: dict[int, BaseException] = {}
_light_numbers = itertools.count(1, 2)
_light: dict[int, BaseException] = {}

# Threads that are in a Python function which C called -> how deep.
inside: dict[int, int] = {}
# Threads that were interrupted there -> the KeyboardInterrupt that waits to go on.
interrupts: dict[int, BaseException] = {}


def keep(failure: BaseException, *, is_light: bool) -> int:
    """Keeps an exception, and returns its number for C.

    Args:
        is_light: There may be many of the kind: locals are not kept, and it may be asked for more
            than once.
    """
    if is_light:
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
    """The exception with a number; None for 0, and where it is not kept any more."""
    return _light.get(number) if number % 2 else _kept.pop(number, None)


def interrupt(failure: KeyboardInterrupt, *, is_main: bool) -> None:
    """Notes that Ctrl-C came while this thread was in a function that C called.

    Args:
        is_main: Whether this is the main thread; in another one it is an exception as any, even
            where the same object has come to the main one before.
    """
    _note(failure, "came_while_inside", is_main)
    if is_main:
        interrupts[threading.get_ident()] = failure


def is_interrupt(failure: BaseException | None) -> bool:
    """Whether a call failed only because Ctrl-C came while it ran."""
    return isinstance(failure, KeyboardInterrupt) and getattr(failure, "came_while_inside", False)


def pass_on(failure: KeyboardInterrupt | SystemExit) -> None:
    """Notes that it is to come out as it is, and not as the cause of an Error."""
    _note(failure, "is_passed_on", True)


def raised(failure: BaseException) -> BaseException:
    """What comes out for a failure of a call: its cause where that was noted."""
    cause = failure.__cause__
    if isinstance(cause, (KeyboardInterrupt, SystemExit)) and hasattr(cause, "is_passed_on"):
        return cause
    return failure


def _note(failure: BaseException, name: str, value: bool) -> None:
    BaseException.__setattr__(failure, name, value)  # a frozen class has one that refuses


def _forget() -> None:
    """In a forked child, which has one thread."""
    mine = threading.get_ident()
    for threads in (inside, interrupts):
        for thread in [*threads]:
            if thread != mine:
                threads.pop(thread, None)


os.register_at_fork(after_in_child=_forget)
