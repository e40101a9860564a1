"""The forms of a batch: one array, or a tuple or dict of arrays (of NumPy, torch or jax, or
Ragged).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def identity(batch: Any) -> Any:
    return batch


def map_arrays(batch: Any, function: Callable[[Any], Any]) -> Any:
    """A batch of the same form, with the result of the function for each array."""
    if isinstance(batch, tuple):
        return tuple(map(function, batch))
    if isinstance(batch, dict):
        return {key: function(array) for key, array in batch.items()}
    return function(batch)


def map_items(batch: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Like map_arrays(), but the function also gets the key of each array, or its place from 0."""
    if isinstance(batch, tuple):
        return tuple(function(place, array) for place, array in enumerate(batch))
    if isinstance(batch, dict):
        return {key: function(key, array) for key, array in batch.items()}
    return function(0, batch)


def arrays_of(batch: Any) -> list[Any]:
    """The arrays of a batch, in its order."""
    found: list[Any] = []
    map_arrays(batch, found.append)
    return found


def rows_of(batch: Any) -> int:
    """The records of a batch, on this rank."""
    return len(arrays_of(batch)[0])
