"""Tells accelerate where a loader is in its epoch, as the loaders that accelerate makes do.

At the last batch of an epoch accelerate steps the optimizer, even if few batches were accumulated,
and `gather_for_metrics` leaves out the rows that only fill this batch.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ...errors import UnsupportedError


class Batches(Iterator[Any], Protocol):
    """An iterator of one epoch; `at_end`: the last batch was delivered."""

    @property
    def at_end(self) -> bool: ...

    def __next__(self) -> Any: ...


class PreparedLoader:
    """A loader that accelerate's prepare() takes as it is, and whose state it saves."""

    _is_accelerate_prepared = True
    use_stateful_dataloader = True


def announced(batches: Batches, remainder: int) -> Iterator[Any]:
    """The same batches; if an Accelerator was made, accelerate is told of their end.

    Args:
        remainder: Rows of the last batch, of all ranks together; 0: it is full; -1: not known.
    """
    return batches if gradient_state() is None else ActiveLoader(batches, remainder)


def gradient_state() -> Any:
    """accelerate's GradientState; None: no Accelerator was made."""
    module = sys.modules.get("accelerate.state")
    is_initialized = getattr(module, "is_initialized", None)  # not yet there while it is imported
    return module.GradientState() if module and is_initialized and is_initialized() else None


def _tell(method: str, end: _EndOfLoader) -> None:
    """Calls a method of accelerate's GradientState, if an Accelerator was made.

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


@dataclass(eq=False)
class _EndOfLoader:
    """The attributes that accelerate reads of its active loader.

    Attributes:
        end_of_dataloader: Whether the last batch of the epoch was delivered.
        remainder: As in announced().
    """

    remainder: int
    end_of_dataloader: bool = False


class ActiveLoader(Iterator[Any]):
    """The batches of an iterator, which is accelerate's active loader from its first batch to its
    end."""

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
