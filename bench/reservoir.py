"""Shuffling in NumPy, for parsers that have none: in a buffer, or all rows in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

Columns = np.ndarray[Any, Any]
SIZE = 65_536  # rows


def slices(x: Columns, y: Columns, rows: int) -> Iterator[tuple[Columns, Columns]]:
    for at in range(0, len(x), rows):
        yield x[at : at + rows], y[at : at + rows]


def shuffled(
    tables: Iterable[tuple[Columns, Columns]], rows: int, seed: int = 7
) -> Iterator[tuple[Columns, Columns]]:
    """Batches of rows chosen at random out of SIZE rows that wait.

    Args:
        tables: Columns of any length.
        rows: The rows of a batch; at most SIZE.
    """
    random = np.random.default_rng(seed)
    waiting = np.empty((2, SIZE))
    filled = 0
    for table in tables:
        for batch in slices(*table, rows):
            size = len(batch[0])
            if filled + size <= SIZE:
                waiting[:, filled : filled + size] = batch
                filled += size
                continue
            places = random.choice(filled, size, replace=False)
            x, y = waiting[0, places], waiting[1, places]
            waiting[0, places], waiting[1, places] = batch
            yield x, y
    rest = waiting[:, random.permutation(filled)]
    yield from slices(rest[0], rest[1], rows)


def permuted(x: Columns, y: Columns, rows: int, seed: int = 7) -> Iterator[tuple[Columns, Columns]]:
    """Batches of all rows in a random order."""
    order = np.random.default_rng(seed).permutation(len(x))
    for at in range(0, len(order), rows):
        chosen = order[at : at + rows]
        yield x[chosen], y[chosen]
