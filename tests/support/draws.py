"""The random numbers of a record in an op, as csrc/images/pixels/random_draws.h makes them."""

from __future__ import annotations

import math
from typing import Any

import pyflowdata as flow
from support.decoder_rows import blob_of
from support.oracle import random_bits, random_key

SEED = 3


def seeded(rows: Any, shape: list[int] | None = None, **reader: Any) -> flow.Blob:
    """A blob with these rows, of which each run makes the same random draws."""
    return blob_of(rows, shape, seed=SEED, **reader)


class Draws:
    """The key of the number-th node of an op with this name, or of a node that was named so."""

    def __init__(self, seed: int, name: str, epoch: int = 0, number: int | None = 0) -> None:
        key = random_key(seed, epoch, name)
        self.key = key if number is None else random_bits(key, number)

    def bits(self, ordinal: int, draw: int) -> int:
        return random_bits(random_bits(self.key, ordinal), draw)

    def uniform(self, ordinal: int, draw: int, low: float = 0.0, high: float = 1.0) -> float:
        return low + (self.bits(ordinal, draw) >> 11) * 2.0**-53 * (high - low)

    def log_uniform(self, ordinal: int, draw: int, low: float, high: float) -> float:
        root, out = high / low, low
        for bit in range(31, -1, -1):
            root = math.sqrt(root)
            if self.bits(ordinal, draw) >> 32 >> bit & 1:
                out *= root
        return out

    def integer(self, ordinal: int, draw: int, n: int) -> int:
        return self.bits(ordinal, draw) * n >> 64
