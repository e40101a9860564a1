"""Sources that can be pickled, imported where they are unpickled, and the reading of sources."""

from __future__ import annotations

import numpy as np

import pyflowdata as flow


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
    """An iterable that starts again each time."""

    def __iter__(self):
        return iter(range(100))


def epochs(blobs, count=1, **options):
    with flow.DataLoader(blobs, **options) as loader:
        return [list(loader) for _ in range(count)]


def numbers(source, count=1, field="x:int64", **attrs):
    """The values of a single field, epoch after epoch."""
    blob = flow.GeneratorReader(source, fields=field, **{"batch_size": 7, **attrs})
    return [np.concatenate(batches).tolist() for batches in epochs(blob, count)]
