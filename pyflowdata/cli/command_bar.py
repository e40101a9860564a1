"""What commands show on a terminal while they work."""

from __future__ import annotations

import math
import sys

from ..formats import Source
from ..progress_bars.bar import Bar

_AFTER = 1.0  # seconds


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


def with_types(source: Source, *, exact: bool = False) -> Source:
    """The source with types that hold all records, for which they may all be read; as
    `Source.with_types`."""
    with command_bar("finding the types of columns", -1) as bar:
        return source.with_types(exact=exact, told=bar.update)
