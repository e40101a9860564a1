"""Images like MNIST's: an IDX file of them and one of their labels."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import data
from bench.contender import Batch

SIDE = 28
EPOCHS = 5  # that are measured together: one takes milliseconds
SCALE = 1 / 255
HEADS = {"images": 16, "labels": 8}  # bytes in front of the numbers


@dataclasses.dataclass(frozen=True)
class Images:
    """What bench.data.Text is for text.  A row of the truth is a sum over an image, and its label;
    an epoch of the truth is EPOCHS epochs."""

    megabytes: float = 47.04
    parts: int = 1

    @property
    def count(self) -> int:
        return max(64, round(self.megabytes * 1e6 / SIDE**2))

    @property
    def name(self) -> str:
        return f"images-{self.count}"

    @property
    def folder(self) -> Path:
        return data.FOLDER / self.name

    def scaled(self, scale: float) -> Images:
        return dataclasses.replace(self, megabytes=self.megabytes * scale)

    def files(self, parts: int | None = None) -> list[str]:
        return [str(self.folder / "images"), str(self.folder / "labels")]

    def truth(self, parts: int | None = None) -> tuple[data.Truth, int]:
        images, labels = (load(path) for path in self.files())
        scaled = (images.astype(np.float64) * SCALE).astype(np.float32)
        truth = data.Truth.of(np.asarray(Sums(scaled)), labels)
        return sum([truth] * EPOCHS, data.Truth()), EPOCHS * self.count * SIDE**2

    def prepare(self) -> str:
        """Makes the files where they are not there; returns their digest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / "manifest.json"
        if not manifest.exists():
            random = np.random.RandomState(4000)
            images = random.randint(0, 256, (self.count, SIDE, SIDE)).astype(np.uint8)
            labels = random.randint(0, 10, self.count).astype(np.uint8)
            for path, array in zip(self.files(), (images, labels)):
                sizes = struct.pack(f">{array.ndim}I", *array.shape)
                Path(path).write_bytes(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())
            manifest.write_text(json.dumps([data._digest(path) for path in self.files()]))
        found = [data._digest(path) for path in self.files()]
        if found != json.loads(manifest.read_text()):
            raise SystemExit(f"files in {self.folder} were changed; remove the folder")
        for path in self.files():
            Path(path).read_bytes()  # into the page cache
        return hashlib.sha256("".join(found).encode()).hexdigest()


class Sums:
    """Images of a batch; only what checks the epoch makes a number of each, in which every pixel
    and its place count."""

    def __init__(self, images: Any) -> None:
        self._images = images

    def __len__(self) -> int:
        return len(self._images)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[np.float64]:
        pixels = np.asarray(self._images).reshape(len(self), -1).astype(np.float64)
        return (pixels * np.arange(1, SIDE**2 + 1)).sum(1)


def load(path: str) -> npt.NDArray[np.uint8]:
    """The numbers of a file, in memory."""
    head = HEADS[Path(path).name]
    numbers = np.fromfile(path, np.uint8, offset=head)
    return numbers.reshape(-1, SIDE, SIDE) if head == 16 else numbers


def repeated(epochs: Iterable[Any]) -> Iterator[Batch]:
    """EPOCHS epochs of what is iterated once for each."""
    for _ in range(EPOCHS):
        for images, labels in epochs:
            yield Sums(images), labels


class Epochs:
    """What a contender returns: it is iterated anew for each measurement."""

    def __init__(self, epochs: Iterable[Any]) -> None:
        self._epochs = epochs

    def __iter__(self) -> Iterator[Batch]:
        return repeated(self._epochs)
