"""CSV files of 64 float32 and one int64 a row, with a header."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np

from bench import data

VALUES = 64  # of a row
NAMES = [f"x{i}" for i in range(VALUES)]
ROW_BYTES = 610.2  # mean
HEADER = ",".join([*NAMES, "y"]) + "\n"


@dataclasses.dataclass(frozen=True)
class WideText:
    """What bench.data.Text is for text.  A row of the truth is a value and its row's label."""

    megabytes: float
    parts: int = 4

    @property
    def name(self) -> str:
        return f"wide-{self.megabytes:g}mb-{self.parts}"

    @property
    def folder(self) -> Path:
        return data.FOLDER / self.name

    def scaled(self, scale: float) -> WideText:
        return dataclasses.replace(self, megabytes=self.megabytes * scale)

    def files(self, parts: int | None = None) -> list[str]:
        return [str(self.folder / f"part-{part:03}.csv") for part in range(parts or self.parts)]

    def truth(self, parts: int | None = None) -> tuple[data.Truth, int]:
        chosen = json.loads((self.folder / "manifest.json").read_text())[: parts or self.parts]
        truth = sum((data.Truth(**part["truth"]) for part in chosen), data.Truth())
        return truth, sum(part["bytes"] for part in chosen)

    def prepare(self) -> str:
        """Makes the files that are not there, and verifies all; returns the digest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / "manifest.json"
        with multiprocessing.Pool(os.cpu_count()) as pool:
            if not manifest.exists():
                rows = max(1, round(self.megabytes * 1e6 / ROW_BYTES / self.parts))
                jobs = [(path, i, rows) for i, path in enumerate(self.files())]
                manifest.write_text(json.dumps(pool.starmap(_write, jobs, 1)))
            found = pool.map(data._digest, self.files())
        if found != [part["sha256"] for part in json.loads(manifest.read_text())]:
            raise SystemExit(f"files in {self.folder} were changed; remove the folder")
        return hashlib.sha256("".join(found).encode()).hexdigest()


def _write(path: str, part: int, rows: int) -> dict[str, Any]:
    random = np.random.RandomState(5000 + part)
    form = "%.6f," * VALUES + "%d\n"
    truth, size, digest = data.Truth(), 0, hashlib.sha256()
    with open(path, "wb") as file:
        for begin in range(0, rows, 1024):
            some = min(1024, rows - begin)
            values = random.standard_normal((some, VALUES)).round(6)
            labels = random.randint(0, 1000, some)
            lines = [form % (*row, y) for row, y in zip(values.tolist(), labels.tolist())]
            block = ("" if begin else HEADER).encode() + "".join(lines).encode()
            exact = values.astype(np.float32).astype(np.float64)
            truth += data.Truth.of(exact, np.repeat(labels, VALUES))
            file.write(block)
            size += len(block)
            digest.update(block)
    return {"bytes": size, "sha256": digest.hexdigest(), "truth": dataclasses.asdict(truth)}


class _Values:
    """A batch of values as one column; only what checks the epoch makes an array of it."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __len__(self) -> int:
        return int(self._x.shape[0]) * VALUES

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._x).astype(dtype or np.float64).ravel()


class _Labels:
    """The label of each value of a batch."""

    def __init__(self, y: Any) -> None:
        self._y = y

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.repeat(np.asarray(self._y), VALUES).astype(dtype or np.float64)


def columns(x: Any, y: Any) -> tuple[Any, Any]:
    """A batch as a contender yields it: a matrix of float32 and a column of int64."""
    return _Values(x), _Labels(y)
