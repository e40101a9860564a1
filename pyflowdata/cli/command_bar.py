"""What commands show on a terminal while they work."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Iterator

from ..formats import Source
from ..insight.progress import Bar

_AFTER, _REDRAW = 1.0, 0.2  # seconds before anything is shown, and between two drawings


def command_bar(
    what: str, total: int, *, done: int = 0, unit: str = "records", quiet: bool = False
) -> Bar:
    """A bar that is there after a second, where stderr is a terminal.

    Args:
        what: Is done, in a few words.
        total: How many of the unit; -1 if that is not known.
        done: How many of them were done before.
        unit: What is counted.
        quiet: Whether there is none.
    """
    is_shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
    return Bar(what, total, done=done, unit=unit, quiet=_AFTER if is_shown else math.inf)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A line that counts the seconds of what does not tell how far it is."""
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


def first_types(source: Source, *, exact: bool = False) -> tuple[Source, bool]:
    """The source with types that hold the first records, and whether these are all; as
    `Source.with_first_types`."""
    with command_bar("finding the types of columns", -1) as bar:
        return source.with_first_types(exact=exact, progress=bar.update)


def with_types(source: Source, *, exact: bool = False) -> Source:
    """The source with types that hold all records, for which they may all be read; as
    `Source.with_types`."""
    with command_bar("finding the types of columns", -1) as bar:
        return source.with_types(exact=exact, progress=bar.update)
