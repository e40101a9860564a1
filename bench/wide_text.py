"""CSV files of 64 float32 and one int64 a row, with a header."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from bench.columns import VALUES
from bench.data import Data, Truth

NAMES = [f"x{i}" for i in range(VALUES)]
HEADER = ",".join([*NAMES, "y"]) + "\n"


@dataclasses.dataclass(frozen=True)
class WideText(Data):
    """A row of the truth is a value and its row's label."""

    parts: int = 4

    KIND: ClassVar[str] = "wide"
    FILE: ClassVar[str] = "part-{:03}.csv"
    ROW_BYTES: ClassVar[float] = 610.2
    ROWS: ClassVar[int] = VALUES

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        random = np.random.RandomState(5000 + part)
        form = "%.6f," * VALUES + "%d\n"
        yield HEADER.encode(), Truth()
        for begin in range(0, self.part_records, 1024):
            some = min(1024, self.part_records - begin)
            values = random.standard_normal((some, VALUES)).round(6)
            labels = random.randint(0, 1000, some)
            lines = [form % (*row, y) for row, y in zip(values.tolist(), labels.tolist())]
            truth = Truth.of(values.astype(np.float32), np.repeat(labels, VALUES))
            yield "".join(lines).encode(), truth
