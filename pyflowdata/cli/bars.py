"""The progress of a command on a terminal."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Iterator

from ..insight.progress import Bar

_AFTER, _REDRAW = 1.0, 0.2  # seconds before anything is shown, and between two drawings


def command_bar(
    what: str, total: int, *, done: int = 0, quiet: bool = False, unit: str = "records"
) -> Bar:
    """A bar that appears after a second, where stderr is a terminal, unless `quiet`.

    Args:
        what: The work, in a few words.
        total: The units of work; -1: not known.
        done: The units that were done before.
        unit: The name of a unit.
    """
    is_shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
    return Bar(what, total, done=done, unit=unit, quiet=_AFTER if is_shown else math.inf)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A line that counts the seconds of work of unknown length."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    is_done, start = threading.Event(), time.monotonic()

    def show() -> None:
        seconds = 0.0
        while not is_done.wait(_AFTER if not seconds else _REDRAW):
            seconds = time.monotonic() - start
            sys.stderr.write(f"\r{what}: {seconds:.0f} s")
            sys.stderr.flush()
        if seconds:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
