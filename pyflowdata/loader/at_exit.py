"""The end of a process, and its forks: open loaders are closed, or told that they lack threads."""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from typing import Protocol


class Closable(Protocol):
    """An open loader."""

    def close(self) -> None: ...

    def forget(self) -> None:
        """In a forked child."""


open_loaders: weakref.WeakSet[Closable] = weakref.WeakSet()  # of this process


def _close_all() -> None:
    with contextlib.ExitStack() as closing:  # all of them, also if one cannot write its trace
        for loader in list(open_loaders):
            closing.callback(loader.close)


def _forget_all() -> None:
    for loader in list(open_loaders):
        loader.forget()
    open_loaders.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
