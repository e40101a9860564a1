"""One batch that is given again and again, as by an infinitely fast loader."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ragged import Ragged


class Replay:
    """Gives one batch again and again.

    A step may change the arrays of its batch.  A copy for each call would be right, but it costs
    time and warms caches; so all calls get the same arrays, unless check() finds them changed.

    Attributes:
        is_copied: Whether each take() makes a copy.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._original = each(batch, _copy)
        self.is_copied = False

    def take(self) -> Any:
        """The batch; a tuple or a dict of its own each time."""
        return each(self._original, _copy) if self.is_copied else each(self._batch, lambda one: one)

    def check(self) -> None:
        """Finds out whether those who had the batch have changed it; copies are made from then."""
        if not self.is_copied:
            pairs = zip(leaves(self._batch), leaves(self._original), strict=True)
            self.is_copied = not all(_is_same(now, before) for now, before in pairs)


def each(batch: Any, function: Callable[[Any], Any]) -> Any:
    """A batch of the same form, of what the function makes of each of its arrays."""
    if isinstance(batch, tuple):
        return tuple(map(function, batch))
    if isinstance(batch, dict):
        return {key: function(array) for key, array in batch.items()}
    return function(batch)


def leaves(batch: Any) -> list[Any]:
    """The arrays of a batch."""
    found: list[Any] = []
    each(batch, found.append)
    return found


def rows_of(batch: Any) -> int:
    """The records of a batch, on this rank."""
    return len(leaves(batch)[0])


def _copy(array: Any) -> Any:
    """Of an array of NumPy, torch or jax, or a Ragged, where it is."""
    if isinstance(array, Ragged):
        return copy.deepcopy(array)
    return array.clone() if hasattr(array, "detach") else array.copy()  # a tensor has no copy()


def _is_same(now: Any, before: Any) -> bool:
    if isinstance(now, Ragged):
        return _is_same(now.values, before.values) and _is_same(now.row_splits, before.row_splits)
    if hasattr(now, "is_deleted"):  # of jax, whose arrays never change, but may be given away
        return not bool(now.is_deleted())
    if hasattr(now, "detach"):
        now, before = now.detach().cpu().numpy(), before.cpu().numpy()
    now, before = np.asarray(now), np.asarray(before)
    return bool(now.shape == before.shape and now.tobytes() == before.tobytes())  # also of NaNs


def wait_for_devices() -> None:
    """Returns when devices have done what torch and jax, where they are loaded, have asked for."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        cuda.synchronize()
    jax: Any = sys.modules.get("jax")
    if hasattr(jax, "live_arrays"):
        jax.block_until_ready(jax.live_arrays())
