"""What calls from C into Python need: exceptions on their way through C, and who is inside.

An exception cannot pass through C.  Its text goes there with a mark, by which the exception itself
is found again where C's error becomes one of Python: it is then the `__cause__`.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
import traceback

_MOST_KEPT = 64  # with the locals of their frames, for a debugger
_MOST_LIGHT = 2000  # without them: a loader keeps the reports of 1000 records
_MARK = re.compile("\x1e([lk])([0-9]+)\x1e")

# The order of these steps makes each safe without a lock, which a signal handler could not take.
_numbers = itertools.count()
_kept: dict[int, BaseException] = {}
_light_numbers = itertools.count()
_light: dict[int, BaseException] = {}

# Threads that are in a Python function which C called -> how deep.
inside: dict[int, int] = {}
# Threads that were interrupted there -> the KeyboardInterrupt that waits to go on.
interrupts: dict[int, BaseException] = {}


def carry(failure: BaseException, *, is_light: bool) -> str:
    """Keeps an exception, and returns the mark for the message in C.

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
        _light.pop(number - _MOST_LIGHT, None)
        return f"\x1el{number}\x1e"
    number = next(_numbers)
    _kept[number] = failure
    _kept.pop(number - _MOST_KEPT, None)
    return f"\x1ek{number}\x1e"


def carried(message: str) -> tuple[str, BaseException | None]:
    """The message without its mark, and the exception; None where there is none any more."""
    found = _MARK.search(message)
    if found is None:
        return message, None
    number = int(found[2])
    failure = _light.get(number) if found[1] == "l" else _kept.pop(number, None)
    return message[: found.start()] + message[found.end() :], failure


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
