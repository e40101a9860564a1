"""Records of two numbers, x and n, and what functions of records make of them: W16 and W17."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bench.columns import Flat
from bench.contender import Batch, Source
from bench.data import Data, Truth

LENGTH, STEP = 16, 4  # of a window
_TYPE = np.dtype([("x", "<f8"), ("n", "<i8")])
Array = npt.NDArray[Any]
Record = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Records(Data):
    """A row of the truth is x, and what `mapped` gives."""

    parts: int = 4

    KIND: ClassVar[str] = "records"
    VERSION: ClassVar[int] = 1
    ROW_BYTES: ClassVar[float] = 16

    @property
    def part_records(self) -> int:
        return max(1000, super().part_records)

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        random = np.random.RandomState(8000 + part)
        found = np.empty(self.part_records, _TYPE)
        found["x"], found["n"] = random.random_sample(len(found)), random.randint(0, 8, len(found))
        yield found.tobytes(), self.delivered(found["x"], found["n"])

    def delivered(self, x: Array, n: Array) -> Truth:
        return Truth.of(x, mapped({"x": x, "n": n})["y"])


@dataclasses.dataclass(frozen=True)
class Parts(Records):
    """A row is x, and one of the parts of its record."""

    KIND: ClassVar[str] = "parts"

    def delivered(self, x: Array, n: Array) -> Truth:
        places = np.arange(n.sum()) - np.repeat(n.cumsum() - n, n)
        return Truth.of(np.repeat(x, n), np.repeat(x, n) + places)


@dataclasses.dataclass(frozen=True)
class Windows(Records):
    """A row is x and n of one of the LENGTH places of a window."""

    parts: int = 1

    KIND: ClassVar[str] = "windows"
    ROWS: ClassVar[int] = LENGTH

    def delivered(self, x: Array, n: Array) -> Truth:
        return Truth.of(*(_sliding(each).ravel() for each in (x, n)))


def _sliding(values: Array) -> Array:
    return np.lib.stride_tricks.sliding_window_view(values, LENGTH)[::STEP]


def load(source: Source) -> tuple[Array, Array]:
    found = np.concatenate([np.fromfile(path, _TYPE) for path in source.files])
    return found["x"].copy(), found["n"].copy()


# ---- The functions, the same for all ------------------------------------------------------------


def mapped(record: Record) -> Record:
    """Of a record, or of columns."""
    return {"y": record["x"] * 2 + record["n"]}


def with_mapped(record: Record) -> Record:
    """For libraries that keep no field by themselves."""
    return {**record, "y": record["x"] * 2 + record["n"]}


def parts_of(record: Record) -> list[Record]:
    return [{"part": record["x"] + place} for place in range(record["n"])]


def whole_parts_of(record: Record) -> list[Record]:
    x = record["x"]
    return [{"x": x, "part": x + place} for place in range(record["n"])]


class Rows:
    """Random access to the records."""

    def __init__(self, source: Source, transform: Callable[[Record], Any] | None = None) -> None:
        self._x, self._n = load(source)
        self._transform = transform

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, index: int) -> Any:
        record = {"x": self._x[index], "n": self._n[index]}
        return self._transform(record) if self._transform else record


class Slices(Rows):
    """Random access to the windows."""

    def __len__(self) -> int:
        return (len(self._x) - LENGTH) // STEP + 1

    def __getitem__(self, index: int) -> Any:
        place = slice(index * STEP, index * STEP + LENGTH)
        return {"x": self._x[place], "n": self._n[place]}


class Listed:
    """A column of a batch that is a list of records: only what checks an epoch makes one of it."""

    def __init__(self, records: list[Record], name: str) -> None:
        self._records, self._name = records, name

    def __len__(self) -> int:
        return len(self._records)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([record[self._name] for record in self._records], dtype)


class Epochs:
    """What a contender returns: of each epoch, x and a second column of the batches it iterates."""

    def __init__(self, batches: Callable[[], Iterable[Any]], second: str) -> None:
        self._batches, self._second = batches, second

    def __iter__(self) -> Iterator[Batch]:
        return ((batch["x"], batch[self._second]) for batch in self._batches())


class WindowEpochs(Epochs):
    """The same of windows: their values, one after the other."""

    def __init__(self, batches: Callable[[], Iterable[Any]]) -> None:
        super().__init__(batches, "n")

    def __iter__(self) -> Iterator[Batch]:
        return ((Flat(x), Flat(n)) for x, n in super().__iter__())
