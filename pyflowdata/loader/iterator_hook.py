"""A hook on the iterators of loaders, which `pyflowdata speed` sets.

The hook gets each iterator when it is made, and may return another one in its place.  Without a
hook, a step costs nothing more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

Watch = Callable[[Any, Iterator[Any]], Iterator[Any]]

_watch: Watch | None = None


def hooked(loader: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """The iterator to hand out for one that a loader, or what takes a loader over, has made."""
    return batches if _watch is None else _watch(loader, batches)


@contextlib.contextmanager
def hook_with(watch: Watch) -> Iterator[None]:
    """Gives the iterators that all threads make in the meantime to `watch(loader, iterator)`."""
    global _watch
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before
