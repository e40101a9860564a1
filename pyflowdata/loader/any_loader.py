"""What all loaders can say of their speed: the DataLoader, and those that take one over."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..hints.loader_methods import LoaderHints

if TYPE_CHECKING:
    from ..insight.speed import Ceiling, Speed
    from ..insight.trace import Trace

BatchT = TypeVar("BatchT", covariant=True)


class AnyLoader(LoaderHints, Generic[BatchT]):
    """A loader that measures itself and the training that it is for."""

    @property
    @abstractmethod
    def data_loader(self) -> Any:
        """The DataLoader: this one, or the one that this took over."""

    @abstractmethod
    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is."""

    @abstractmethod
    def keep_place(self) -> AbstractContextManager[None]:
        """Makes what is done in a `with` block of this not count."""

    def speed(self, *, seconds: float = 3.0, steps: int | None = None) -> Speed:
        """What the loader does alone: takes batches and does nothing with them.

        The first batch, and those that are made ahead of it, come before the measured time.  The
        loader stays where it is, as with keep_place(); stats() count the batches.

        Args:
            seconds: How long to measure.
            steps: Batches to measure, in place of seconds.

        Returns:
            `batches_per_second`, `records_per_second`, `bytes_per_second` and more; str() is one
            line.

        Raises:
            InvalidArgumentError: A number is out of range, or an epoch has no batches.
        """
        from ..insight.speed import measure_speed

        return measure_speed(self, seconds, steps)

    def ceiling(
        self, step: Callable[[BatchT], object], *, steps: int = 100, warm_up: int = 3
    ) -> Ceiling:
        """What training could do with an infinitely fast loader: calls `step` with one batch again
        and again.

        The batch is the next one, or the first one of an epoch in place of its last.  If the first
        calls change its arrays, every call gets a copy, made before its time is taken.  Work that
        torch on CUDA and jax do asynchronously is waited for before the measured time and at its
        end.  The loader stays where it is, as with keep_place().

        Args:
            step: Trains with a batch; what it returns is dropped.
            steps: Calls to measure.
            warm_up: Calls before those, which may compile or allocate.

        Returns:
            `steps_per_second`, `records_per_second`, `median_seconds`, `p95_seconds` and more;
            str() is one line.

        Raises:
            InvalidArgumentError: A number is out of range, or an epoch has no batches.
        """
        from ..insight.speed import measure_ceiling

        return measure_ceiling(self, step, steps, warm_up)

    def trace(self, path: str | os.PathLike[str], *, memory: int = 32 << 20) -> Trace:
        """Writes down what threads and batches do, for https://ui.perfetto.dev to show.

            with loader.trace("trace.json"):
                for _, batch in zip(range(100), loader): ...

        The file has Chrome's trace events: each op of each row range on its thread, waits, and
        where each batch was.  Its clock is that of a torch profile.  It is written when the block
        ends, or the loader is closed.

        Args:
            path: Of the file; one that ends in ".gz" is compressed.
            memory: Bytes for events, 80 each.  When they are full, later events are dropped, with
                a RuntimeWarning.

        Raises, when the block begins:
            InvalidArgumentError: The loader is being traced already.
            FileError: The file cannot be written; this may come when the block ends, too.
        """
        core = self.data_loader._core
        core.check_life()
        trace: Trace = core.observed.trace(path, memory)
        return trace
