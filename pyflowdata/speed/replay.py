"""One batch that is given again and again, as by an infinitely fast loader."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..batch_forms import arrays_of, map_arrays
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
        self._original = map_arrays(batch, _copy)
        self.is_copied = False

    def take(self) -> Any:
        """The batch; a tuple or a dict of its own each time."""
        if self.is_copied:
            return map_arrays(self._original, _copy)
        return map_arrays(self._batch, lambda array: array)

    def check(self) -> None:
        """Finds out whether those who had the batch have changed it; copies are made from then."""
        if not self.is_copied:
            pairs = zip(arrays_of(self._batch), arrays_of(self._original), strict=True)
            self.is_copied = not all(_is_same(now, before) for now, before in pairs)


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
