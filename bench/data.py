"""Data sets: files made once, the same everywhere, and what is true of them.

A data set is a subclass of Data that generates the blocks of its files; here is all the rest.
"""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import importlib
import json
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

FOLDER = Path(__file__).resolve().parent.parent / "build" / "bench" / "data"

Column = npt.NDArray[np.float64]
AnyData = TypeVar("AnyData", bound="Data")


@dataclasses.dataclass(frozen=True)
class Truth:
    """What is true of a set of rows in whatever order.  Sums of bits are modulo 2**64."""

    rows: int = 0
    x_sum: float = 0.0
    y_sum: float = 0.0
    x_bits: int = 0  # sum of the float64 as uint64: one wrong bit changes it
    y_bits: int = 0
    pair_bits: int = 0  # sum of the products of x's and y's: a row torn apart changes it

    @classmethod
    def of(cls, x: npt.ArrayLike, y: npt.ArrayLike) -> Truth:
        x, y = (np.ascontiguousarray(column, np.float64).ravel() for column in (x, y))
        u, v = x.view(np.uint64), y.view(np.uint64)
        bits = [int(part.sum(dtype=np.uint64)) for part in (u, v, u * v)]
        return cls(len(x), float(x.sum()), float(y.sum()), *bits)

    def __add__(self, other: Truth) -> Truth:
        mine, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        sums = [a + b for a, b in zip(mine, theirs)]
        return Truth(*sums[:3], *(bits % 2**64 for bits in sums[3:]))

    def compare(self, found: Truth) -> str:
        """ "exact", "rounded" (other last bits, the same numbers), or what is wrong."""
        if found.rows != self.rows:
            return f"WRONG: {found.rows} rows instead of {self.rows}"
        bits = ("x_bits", "y_bits", "pair_bits")
        if all(getattr(self, name) == getattr(found, name) for name in bits):
            return "exact"
        for name in ("x_sum", "y_sum"):
            mine, theirs = getattr(self, name), getattr(found, name)
            if not abs(mine - theirs) <= 1e-6 * abs(mine):
                return f"WRONG: {name} is {theirs!r} instead of {mine!r}"
        return "rounded"


@dataclasses.dataclass(frozen=True)
class Data(abc.ABC):
    """Files of one kind, of so many bytes together."""

    megabytes: float
    parts: int

    KIND: ClassVar[str]
    FILE: ClassVar[str] = "part-{:03}"
    VERSION: ClassVar[int] = 2  # of the generator: another one makes the files again
    ROW_BYTES: ClassVar[float] = 1  # mean, of a record
    ROWS: ClassVar[int] = 1  # of the truth, for a record
    DIGESTS: ClassVar[dict[str, str]] = {}  # what they have to be, by name, where that is known

    @abc.abstractmethod
    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        """The bytes of a file, piece by piece, and what is true of the rows in them."""

    @property
    def name(self) -> str:
        return f"{self.KIND}-{self.megabytes:g}mb-{self.parts}"

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def part_records(self) -> int:
        return max(1, round(self.megabytes * 1e6 / self.ROW_BYTES / self.parts))

    def scaled(self: AnyData, scale: float) -> AnyData:
        return dataclasses.replace(self, megabytes=self.megabytes * scale)

    def files(self, parts: int | None = None) -> list[str]:
        """The paths of the first `parts` files; None: of all."""
        return [str(self.folder / self.FILE.format(part)) for part in range(parts or self.parts)]

    def truth(self, parts: int | None = None) -> tuple[Truth, int]:
        """What is true of an epoch of the first `parts` files, and its bytes."""
        chosen = json.loads(self._manifest.read_text())["parts"][:parts]
        truth = sum((Truth(**part["truth"]) for part in chosen), Truth())
        return truth, sum(part["bytes"] for part in chosen)

    def prepare(self) -> str:
        """Makes the files that are not there, and verifies all; returns the digest.

        Raises:
            SystemExit: The files are not what this generator makes elsewhere.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        count = len(self.files())
        with multiprocessing.Pool(os.cpu_count()) as pool:
            if not self._is_made():
                parts = pool.map(self._write, range(count), 1)
                manifest = {"version": self.VERSION, "parts": parts}
                self._manifest.write_text(json.dumps(manifest, indent=1))
            found = pool.map(_digest, self.files())
        manifest = json.loads(self._manifest.read_text())
        if found != [part["sha256"] for part in manifest["parts"]]:
            raise SystemExit(f"files in {self.folder} were changed; remove the folder")
        digest = hashlib.sha256("".join(found).encode()).hexdigest()
        if self.DIGESTS.get(self.name, digest) != digest:
            raise SystemExit(f"{self.name} has the digest {digest}, not that of its generator")
        return digest

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    def _is_made(self) -> bool:
        try:
            version = json.loads(self._manifest.read_text())["version"]
        except FileNotFoundError:
            return False
        return version == self.VERSION and all(map(os.path.exists, self.files()))

    def _write(self, part: int) -> dict[str, Any]:
        truth, size, digest = Truth(), 0, hashlib.sha256()
        with open(self.files()[part], "wb") as file:
            for block, rows in self.blocks(part):
                truth += rows
                size += file.write(block)
                digest.update(block)
        return {"bytes": size, "sha256": digest.hexdigest(), "truth": dataclasses.asdict(truth)}


def _digest(path: str) -> str:
    """Of a file that is read from the disk, as a training job finds it: what was just written
    stands otherwise in the page cache, in smaller pages."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def described(data: Data | None) -> dict[str, Any] | None:
    """For JSON; `from_description` is the way back."""
    if data is None:
        return None
    return {"class": [type(data).__module__, type(data).__name__], **dataclasses.asdict(data)}


def from_description(description: dict[str, Any] | None) -> Data | None:
    if description is None:
        return None
    module, name = description.pop("class")
    data: Data = getattr(importlib.import_module(module), name)(**description)
    return data


def prepare(sets: Iterable[Data]) -> None:
    for data in sorted(set(sets), key=lambda data: data.name):
        print(f"{data.name}: {data.prepare()[:16]}", flush=True)


class Check:
    """Adds up what a loader delivers.  Small batches are copied and summed together."""

    TOGETHER = 4096  # rows

    def __init__(self) -> None:
        self._truth = Truth()
        self._waiting: list[tuple[Column, Column]] = []
        self._rows = 0

    def add(self, x: npt.ArrayLike, y: npt.ArrayLike) -> None:
        self._waiting.append((np.array(x).ravel(), np.array(y).ravel()))
        self._rows += len(self._waiting[-1][0])
        if self._rows >= self.TOGETHER:
            self._sum()

    def _sum(self) -> None:
        if self._waiting:
            x, y = (np.concatenate(columns) for columns in zip(*self._waiting))
            self._truth += Truth.of(x, y)
        self._waiting, self._rows = [], 0

    def found(self) -> Truth:
        self._sum()
        return self._truth
