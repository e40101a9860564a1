"""Images like MNIST's: an IDX file of them and one of their labels."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bench.contender import Batch
from bench.data import Data, Truth

SIDE = 28
SCALE = 1 / 255
HEADS = {"images": 16, "labels": 8}  # bytes in front of the numbers


@dataclasses.dataclass(frozen=True)
class Images(Data):
    """A row of the truth is a sum over a scaled image, and its label."""

    megabytes: float = 47.04
    parts: int = 1
    epochs: int = 5  # that are measured together, as one: of few images one takes milliseconds

    KIND: ClassVar[str] = "images"
    ROW_BYTES: ClassVar[float] = SIDE**2

    @property
    def part_records(self) -> int:
        return max(64, super().part_records)

    def files(self, parts: int | None = None) -> list[str]:
        return [str(self.folder / name) for name in HEADS]

    def truth(self, parts: int | None = None) -> tuple[Truth, int]:
        truth, size = super().truth()
        return sum([truth] * self.epochs, Truth()), self.epochs * size

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        count = self.part_records
        labels = np.random.RandomState(4001).randint(0, 10, count).astype(np.uint8)
        if part == 1:
            yield struct.pack(">4BI", 0, 0, 8, 1, count) + labels.tobytes(), Truth()
            return
        random = np.random.RandomState(4000)
        yield struct.pack(">4B3I", 0, 0, 8, 3, count, SIDE, SIDE), Truth()
        for begin in range(0, count, 4096):
            some = labels[begin : begin + 4096]
            pixels = random.randint(0, 256, (len(some), SIDE, SIDE)).astype(np.uint8)
            yield pixels.tobytes(), Truth.of(np.asarray(Sums(pixels)), some)


class Sums:
    """Images of a batch; only what checks the epoch makes a number of each, in which every pixel
    and its place count.  Bytes are scaled for it as the loaders of float32 do."""

    def __init__(self, images: Any) -> None:
        self._images = images

    def __len__(self) -> int:
        return len(self._images)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[np.float64]:
        pixels = np.asarray(self._images).reshape(len(self), -1)
        if pixels.dtype == np.uint8:
            pixels = (np.arange(256) * SCALE).astype(np.float32)[pixels]
        return (pixels.astype(np.float64) * np.arange(1, SIDE**2 + 1)).sum(1)


def load(path: str) -> npt.NDArray[np.uint8]:
    """The numbers of a file, in memory."""
    head = HEADS[Path(path).name]
    numbers = np.fromfile(path, np.uint8, offset=head)
    return numbers.reshape(-1, SIDE, SIDE) if head == 16 else numbers


class Epochs:
    """What a contender returns: it is iterated again for each measurement, and then iterates a
    loader once for each epoch."""

    def __init__(self, loader: Iterable[Any], epochs: int = Images.epochs) -> None:
        self._loader, self._epochs = loader, epochs

    def __iter__(self) -> Iterator[Batch]:
        for _ in range(self._epochs):
            for images, labels in self._loader:
                yield Sums(images), labels
