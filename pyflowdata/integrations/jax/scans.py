"""Many steps as one jitted jax.lax.scan, over batches that are stacked ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from ... import DataLoader, InvalidArgumentError
from ...errors import shown
from ...loader.sinks import HandOver, Sink
from ..equal_rows import check_equal_rows

__all__ = ["Scan"]


class _Stacks(Iterator[Any]):
    """Several batches as one, in arrays with one more dimension in front."""

    def __init__(self, batches: Iterator[Any], size: int) -> None:
        self._batches, self._size = batches, size
        self._stack: Any = None
        self._filled = 0  # stays where it is if the loader fails

    def __next__(self) -> Any:
        while self._filled < self._size:
            batch = next(self._batches)
            if self._stack is None:
                self._stack = jax.tree.map(
                    lambda array: np.empty((self._size, *array.shape), array.dtype), batch
                )
            jax.tree.map(lambda stack, array: np.copyto(stack[self._filled], array),
                         self._stack, batch)  # fmt: skip
            self._filled += 1
        stack, self._stack, self._filled = self._stack, None, 0
        return stack


class Scan:
    """What scan() makes.

    Attributes:
        carry: After the last call.
        sink: Has stats() and report(); a batch of it is a stack of `sink_size` batches.
    """

    def __init__(
        self,
        loader: DataLoader[Any],
        hand_over: HandOver,
        step: Callable[[Any, Any], tuple[Any, Any]],
        carry: Any,
        sink_size: int,
        queue: int,
    ) -> None:
        if type(sink_size) is not int or sink_size < 1:
            raise InvalidArgumentError(
                f"sink_size = {shown(sink_size)}; a scan needs an int above 0, such as len(loader)"
            )
        check_equal_rows(loader)
        self.carry = carry
        self._scan = jax.jit(lambda carry, stack: jax.lax.scan(step, carry, stack))
        self.sink: Sink[Any] = Sink(
            loader, self._run, 1, queue, hand_over,
            lambda: _Stacks(loader.repeat(), sink_size), sink_size,
        )  # fmt: skip

    def _run(self, stack: Any) -> Any:
        self.carry, results = self._scan(self.carry, stack)
        return results

    def __call__(self) -> Any:
        """Runs the next `sink_size` steps; returns what they returned, stacked."""
        return self.sink()[0]

    def __iter__(self) -> Iterator[Any]:
        """Calls without end, epoch after epoch."""
        while True:
            yield self()

    def state_dict(self) -> dict[str, Any]:
        """As DataLoader.state_dict(), of the batches in the carry; save the carry with it."""
        return self.sink.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As DataLoader.load_state_dict(); set the carry as well."""
        self.sink.load_state_dict(state)

    def close(self) -> None:
        """As Sink.close()."""
        self.sink.close()

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
