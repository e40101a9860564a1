"""The link between a sink and its loader."""

from __future__ import annotations

from typing import Protocol

CLOSED = "the sink is closed"
REPLACED = (
    "this sink is over: a newer sink or iterator of its DataLoader was started, or that was moved"
)


class Stoppable(Protocol):
    """A thread that can be told to end, from a signal handler or finalizer too."""

    def stop(self) -> None: ...


class Lease:
    """The loader keeps the lease when its sink is dropped, so that the next iterator starts after
    the last consumed batch.

    Attributes:
        place: Epoch and position of the batch after the last consumed one.
        over: Why the sink makes no more calls; None: it still makes calls.
        thread: The thread that takes batches ahead; None: there is none.
    """

    __slots__ = ("over", "place", "thread")

    def __init__(self, place: tuple[int, int]) -> None:
        self.place = place
        self.over: str | None = None
        self.thread: Stoppable | None = None

    def stop(self) -> None:
        """Ends the thread soon; returns at once."""
        if self.thread is not None:
            self.thread.stop()  # again, if a signal comes before the next line
            self.thread = None

    def end(self, why: str) -> None:
        """The sink makes no more calls; a call that runs ends after its step."""
        if self.over is None:
            self.over = why
        self.stop()
