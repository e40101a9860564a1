"""A small good file of every format, and how it is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import tf_records
from damage import Format

import pyflowdata as flow


def mini(folder: Path) -> list[Path]:
    numbers = np.random.default_rng(1).normal(size=(20, 2)).round(3)
    path = folder / "part-0"
    path.write_text("".join(f"{a},{b}\n" for a, b in numbers.tolist()))
    return [path]


def tfrecord(folder: Path) -> list[Path]:
    return [tf_records.write(folder / "a.tfrecord", [b"record" * i for i in range(20)])]


def gzipped(folder: Path) -> list[Path]:
    (path,) = mini(folder)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return [path]


FORMATS = {
    "MiniReader": Format(
        mini, lambda files, **attrs: flow.MiniReader(files=files, **attrs), may_be_cut=400
    ),
    "TFRecordReader": Format(
        tfrecord,
        lambda files, **attrs: flow.TFRecordReader(files=files, **attrs),
        has_checksums=True,
    ),
    "MiniReader gzip": Format(
        gzipped,
        lambda files, **attrs: flow.MiniReader(files=files, compression="gzip", **attrs),
        has_checksums=True,
    ),
}
