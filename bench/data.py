"""The data sets: text files made once, the same everywhere, and what is true of them.

`python -m bench.data 1000` makes the data of 1000 MB and prints its digest.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

FOLDER = Path(__file__).resolve().parent.parent / "build" / "bench" / "data"
VERSION = 1  # of the generator: another one makes the files anew
ROW_BYTES = {0.5: 23.57, 1.0: 10.01}  # mean bytes of a row, by the share of short rows
# What the digest of a data set has to be, where it is known.
DIGESTS = {
    "text-1000mb-16-0.5": "63e1d90882028a890db49d4aba42b4f6c200bc127bffe6137fefcca84fb05eb3",
}

Column = npt.NDArray[np.float64]


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
    def of(cls, x: Column, y: Column) -> Truth:
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
class Text:
    """Files with two numbers a row: "4.1,8.205", or two doubles in full as repr() writes them."""

    megabytes: float
    short: float = 0.5  # share of the rows that are short decimals
    parts: int = 16

    @property
    def name(self) -> str:
        return f"text-{self.megabytes:g}mb-{self.parts}-{self.short:g}"

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    def scaled(self, scale: float) -> Text:
        return dataclasses.replace(self, megabytes=self.megabytes * scale)

    def files(self, parts: int | None = None) -> list[str]:
        """The paths of the first `parts` files; None: of all."""
        return [str(self.folder / f"part-{part:03}") for part in range(parts or self.parts)]

    def truth(self, parts: int | None = None) -> tuple[Truth, int]:
        """What is true of the first `parts` files, and their bytes."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        chosen = manifest["parts"][: parts or self.parts]
        truth = sum((Truth(**part["truth"]) for part in chosen), Truth())
        return truth, sum(part["bytes"] for part in chosen)

    def prepare(self) -> str:
        """Makes the files that are not there, and verifies all; returns the digest.

        Raises:
            SystemExit: The files are not what this generator makes elsewhere.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with multiprocessing.Pool(os.cpu_count()) as pool:
            if not self._is_made():
                parts = pool.starmap(_write_part, [(self, i) for i in range(self.parts)], 1)
                manifest = {"version": VERSION, "parts": parts}
                (self.folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
            found = pool.map(_digest, self.files())
        manifest = json.loads((self.folder / "manifest.json").read_text())
        if found != [part["sha256"] for part in manifest["parts"]]:
            raise SystemExit(f"files in {self.folder} were changed; remove the folder")
        digest = hashlib.sha256("".join(found).encode()).hexdigest()
        if DIGESTS.get(self.name, digest) != digest:
            raise SystemExit(f"{self.name} has the digest {digest}, not that of bench/data.py")
        return digest

    def _is_made(self) -> bool:
        try:
            manifest = json.loads((self.folder / "manifest.json").read_text())
        except FileNotFoundError:
            return False
        return manifest["version"] == VERSION and all(map(os.path.exists, self.files()))


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


def _write_part(text: Text, part: int) -> dict[str, object]:
    rows = max(1, round(text.megabytes * 1e6 / ROW_BYTES[text.short] / text.parts))
    x, y = _columns(rows, text.short, part)
    lines = [f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), y.tolist())]
    content = "".join(lines).encode()
    Path(text.files()[part]).write_bytes(content)
    return {
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "truth": dataclasses.asdict(Truth.of(x, y)),
    }


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


def prepare(texts: Iterable[Text]) -> None:
    for text in sorted(set(texts), key=lambda text: text.name):
        print(f"{text.name}: {text.prepare()[:16]}", flush=True)


if __name__ == "__main__":
    prepare(Text(float(argument)) for argument in sys.argv[1:])
