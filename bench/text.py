"""Text files with two numbers a row: "4.1,8.205", or two doubles in full as repr() writes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from bench.data import Column, Data, Truth


@dataclasses.dataclass(frozen=True)
class Text(Data):
    """A row of the truth is a row of the text."""

    parts: int = 16
    short: float = 0.5  # share of the rows that are short decimals

    KIND: ClassVar[str] = "text"
    VERSION: ClassVar[int] = 1
    DIGESTS: ClassVar[dict[str, str]] = {
        "text-1000mb-16-0.5": "63e1d90882028a890db49d4aba42b4f6c200bc127bffe6137fefcca84fb05eb3",
    }

    @property
    def name(self) -> str:
        return f"{super().name}-{self.short:g}"

    @property
    def part_records(self) -> int:
        row_bytes = {0.5: 23.57, 1.0: 10.01}[self.short]
        return max(1, round(self.megabytes * 1e6 / row_bytes / self.parts))

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        x, y = _columns(self.part_records, self.short, part)
        lines = [f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), y.tolist())]
        yield "".join(lines).encode(), Truth.of(x, y)


def _columns(rows: int, short: float, part: int) -> tuple[Column, Column]:
    """The values of a part; y is about 2 x.  RandomState's numbers never change."""
    random = np.random.RandomState(1000 + part)
    tenths = random.randint(0, 100, rows)
    x = np.where(random.random_sample(rows) < short, tenths / 10, np.nan)
    y = (200 * tenths + random.randint(0, 1000, rows)) / 1000
    full = np.flatnonzero(np.isnan(x))
    x[full] = 10 * random.random_sample(len(full))
    y[full] = 2 * x[full] + random.random_sample(len(full))
    return x, y
