"""Sink mode: a thread fills a bounded queue ahead, and a call runs many steps from it.

    run = flow.sink(loader, step, sink_size=100)
    losses = run()                     # what 100 calls of step(batch) returned
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..nodes.argument_hints import takes_own_arguments

if TYPE_CHECKING:
    from .data_loader import DataLoader
    from .sinks import Sink

BatchT = TypeVar("BatchT")
ResultT = TypeVar("ResultT")


@takes_own_arguments
def sink(
    loader: DataLoader[BatchT],
    step: Callable[[BatchT], ResultT],
    *,
    sink_size: int = -1,
    queue: int = 2,
) -> Sink[ResultT]:
    """Runs `step(batch)` many times per call, with NumPy arrays that a thread takes ahead.

    Those for torch and jax bring the batches to a device; docs/speed/sink.md shows them.

    Args:
        loader: Its position is where this goes on.
        step: Trains with a batch.
        sink_size: Steps of a call; calls go on over the ends of epochs.  -1: a call ends where its
            epoch does.
        queue: Batches that wait for steps at most.

    Returns:
        `run`: run() makes a call and returns what its steps returned; `for results in run` makes
        calls without end.

    Raises:
        InvalidArgumentError: A number is out of range, or the loader is not a DataLoader.
    """
    from .sinks import OnHost, Sink  # others need not import it

    return Sink(loader, step, sink_size, queue, OnHost())
