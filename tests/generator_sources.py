"""Sources that can be pickled: this module is imported where they are unpickled."""

from __future__ import annotations

import numpy as np


class Squares:
    """Sample i is a dict of values of every kind."""

    def __init__(self, size: int = 1000) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, object]:
        if not 0 <= index < self.size:
            raise IndexError(index)
        return {
            "x": np.full(3, index, np.float32),
            "y": index**2,
            "name": f"no. {index}",
            "boxes": np.full((index % 4, 2), index, np.int16),
            "ignored": object(),
        }


FIELDS = ["x:float32[3]", "y:int64", "name:bytes", "boxes:int16[?,2]"]


def squares():
    for index in range(1000):
        sample = Squares()[index]
        yield tuple(sample[key] for key in ("x", "y", "name", "boxes"))


class Counting:
    """An iterable that begins anew each time."""

    def __iter__(self):
        return iter(range(100))
