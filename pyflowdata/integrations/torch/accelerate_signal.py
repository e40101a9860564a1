"""Tells accelerate where in its epoch a loader is, as the loaders that accelerate makes do.

At the last batch of an epoch accelerate steps the optimizer, however few batches were accumulated,
and `gather_for_metrics` leaves out the rows that only fill this batch.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

from ...errors import UnsupportedError


class Batches(Iterator[Any], Protocol):
    """An iterator of one epoch; `at_end` says that the last batch was handed out."""

    @property
    def at_end(self) -> bool: ...

    def __next__(self) -> Any: ...


class PreparedLoader:
    """A loader that accelerate's prepare() takes as it is, and whose state it saves."""

    _is_accelerate_prepared = True
    use_stateful_dataloader = True


def announced(batches: Batches, remainder: int) -> Iterator[Any]:
    """The same batches; where an Accelerator was made, it is told of their end.

    Args:
        remainder: Rows of the last batch, of all ranks together; 0: it is full; -1: not known.
    """
    return batches if gradient_state() is None else ActiveLoader(batches, remainder)


def gradient_state() -> Any:
    """accelerate's GradientState, or None where no Accelerator was made."""
    module = sys.modules.get("accelerate.state")
    is_initialized = getattr(module, "is_initialized", None)  # not yet there while it is imported
    return module.GradientState() if module and is_initialized and is_initialized() else None


def _tell(method: str, end: _EndOfLoader) -> None:
    """Calls a method of accelerate's GradientState, where an Accelerator was made.

    Raises:
        UnsupportedError: This accelerate has no such method.
    """
    state = gradient_state()
    if state is None:
        return
    call = getattr(state, method, None)
    if call is None:
        version = sys.modules["accelerate"].__version__
        raise UnsupportedError(
            f"accelerate {version} has no GradientState.{method}(), by which a loader says where "
            "the last batch of its epoch is: install a version that has it, such as 1.15"
        )
    call(end)


class _EndOfLoader:
    """What accelerate asks of the loader that it takes for the active one.

    Attributes:
        end_of_dataloader: The last batch of the epoch was handed out.
        remainder: Rows in that batch, of all ranks together; 0: it is full; -1: not known.
    """

    def __init__(self, remainder: int) -> None:
        self.end_of_dataloader = False
        self.remainder = remainder


class ActiveLoader(Iterator[Any]):
    """The batches of an iterator; from its first batch to its end it is accelerate's active one."""

    def __init__(self, batches: Batches, remainder: int) -> None:
        self._batches = batches
        self._end = _EndOfLoader(remainder)
        self._leave: weakref.finalize[..., Any] | None = None

    def __next__(self) -> Any:
        if self._leave is None:
            _tell("_add_dataloader", self._end)
            self._leave = weakref.finalize(self, _tell, "_remove_dataloader", self._end)
            self._leave.atexit = False
        try:
            batch = next(self._batches)
        except StopIteration:
            self._leave()
            raise
        self._end.end_of_dataloader = self._batches.at_end
        return batch
