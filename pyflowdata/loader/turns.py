"""Whose turn it is to take batches of a loader, or to move it."""

from __future__ import annotations

import threading
from typing import Any

from ..errors import UnsupportedError
from ..native.calls import inside


class Turns:
    """The threads that use a loader take turns.

    Attributes:
        lock: Held by the thread that takes batches or moves the loader.
        is_busy: Whether its holder is inside a call that must not be entered again.
    """

    __slots__ = ("is_busy", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_busy = False

    def is_mine(self) -> bool:
        """Whether this thread has the lock, as further out where a signal handler runs."""
        lock: Any = self.lock
        return bool(lock._is_owned())

    def check_idle(self) -> None:
        """Only for who holds the lock: then a busy holder is this same thread, further out."""
        if self.is_busy:
            raise UnsupportedError(
                "this thread is inside next() of the DataLoader already, and a signal handler or "
                "__del__ called it again; there only close(), state_dict(), stats() and skipped "
                "may be used"
            )

    def check_not_inside(self) -> None:
        """A function that C runs for a batch must not wait for that batch, nor for who does."""
        if threading.get_ident() in inside and not self.is_mine():
            raise UnsupportedError(
                "a function that a DataLoader calls, of register_decoder or in the source of a "
                "reader, takes batches or the state of a DataLoader; it would wait for itself if "
                "that is the loader which runs it"
            )
