"""TFRecord files of tf.train.Examples with 64 float32 and an int64; OFRecord files of the same."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import data

VALUES = 64  # of an Example
RECORD_BYTES = 302.9  # mean, with its frame


@dataclasses.dataclass(frozen=True)
class Examples:
    """What bench.data.Text is for text.  A row of the truth is a value and its record's label."""

    megabytes: float
    parts: int = 4
    kind: str = "examples"  # or "ofrecords"

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.megabytes:g}mb-{self.parts}"

    @property
    def folder(self) -> Path:
        return data.FOLDER / self.name

    def scaled(self, scale: float) -> Examples:
        return dataclasses.replace(self, megabytes=self.megabytes * scale)

    def files(self, parts: int | None = None) -> list[str]:
        return [str(self.folder / f"part-{part:03}") for part in range(parts or self.parts)]

    def truth(self, parts: int | None = None) -> tuple[data.Truth, int]:
        chosen = json.loads((self.folder / "manifest.json").read_text())[: parts or self.parts]
        truth = sum((data.Truth(**part["truth"]) for part in chosen), data.Truth())
        return truth, sum(part["bytes"] for part in chosen)

    def prepare(self) -> str:
        """Makes the files that are not there, and verifies all; returns the digest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / "manifest.json"
        if not manifest.exists():
            records = max(1, round(self.megabytes * 1e6 / RECORD_BYTES / self.parts))
            write = _write if self.kind == "examples" else _write_ofrecords
            parts = [write(Path(path), i, records) for i, path in enumerate(self.files())]
            manifest.write_text(json.dumps(parts))
        found = [data._digest(path) for path in self.files()]
        if found != [part["sha256"] for part in json.loads(manifest.read_text())]:
            raise SystemExit(f"files in {self.folder} were changed; remove the folder")
        for path in self.files():  # into the page cache
            with open(path, "rb") as file:
                while file.read(1 << 24):
                    pass
        return hashlib.sha256("".join(found).encode()).hexdigest()


def _field(number: int, content: bytes) -> bytes:
    return bytes([number * 8 + 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    return bytes([value] if value < 128 else [value % 128 + 128, value // 128])


def _entry(key: bytes, kind: int, packed: bytes) -> bytes:
    return _field(1, _field(1, key) + _field(2, _field(kind, _field(1, packed))))


def _masked(content: bytes) -> bytes:
    from pyflowdata._native import lib

    crc = lib.pfd_crc32c(content, len(content))
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)


def _write(path: Path, part: int, records: int) -> dict[str, Any]:
    headers: dict[int, bytes] = {}
    labels = [_entry(b"y", 3, _varint(label)) for label in range(1000)]

    def frame(row: bytes, label: int) -> tuple[bytes, ...]:
        record = _field(1, _entry(b"x", 2, row) + labels[label])
        if len(record) not in headers:
            length = struct.pack("<Q", len(record))
            headers[len(record)] = length + _masked(length)
        return headers[len(record)], record, _masked(record)

    return _write_frames(path, part, records, frame)


def _write_ofrecords(path: Path, part: int, records: int) -> dict[str, Any]:
    labels = [_entry(b"y", 5, _varint(label)) for label in range(1000)]

    def frame(row: bytes, label: int) -> tuple[bytes, ...]:
        record = _entry(b"x", 2, row) + labels[label]
        return struct.pack("<Q", len(record)), record

    return _write_frames(path, part, records, frame)


def _write_frames(
    path: Path, part: int, records: int, frame: Callable[[bytes, int], tuple[bytes, ...]]
) -> dict[str, Any]:
    random = np.random.RandomState(4000 + part)
    labels = random.randint(0, 1000, records)
    truth, size, digest = data.Truth(), 0, hashlib.sha256()
    with path.open("wb") as file:
        for begin in range(0, records, 1024):
            some = labels[begin : begin + 1024]
            values = random.standard_normal((len(some), VALUES)).astype("<f4")
            truth += data.Truth.of(values.astype(np.float64), np.repeat(some, VALUES))
            content: list[bytes] = []
            for row, label in zip(values, some.tolist()):
                content += frame(row.tobytes(), label)
            block = b"".join(content)
            file.write(block)
            size += len(block)
            digest.update(block)
    return {"bytes": size, "sha256": digest.hexdigest(), "truth": dataclasses.asdict(truth)}


class Values:
    """A batch of values as one column; only what checks the epoch makes an array of it."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __len__(self) -> int:
        return int(self._x.shape[0]) * VALUES

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._x).astype(dtype or np.float64).ravel()


class Labels:
    """The label of each value of a batch."""

    def __init__(self, y: Any) -> None:
        self._y = y

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.repeat(np.asarray(self._y), VALUES).astype(dtype or np.float64)


def columns(x: Any, y: Any) -> tuple[Any, Any]:
    """A batch as a contender yields it."""
    return Values(x), Labels(y)
