"""A small good file of every format, and how it is read."""

from __future__ import annotations

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


FORMATS = {
    "MiniReader": Format(
        mini, lambda files, **attrs: flow.MiniReader(files=files, **attrs), may_be_cut=400
    ),
    "TFRecordReader": Format(
        tfrecord,
        lambda files, **attrs: flow.TFRecordReader(files=files, **attrs),
        has_checksums=True,
    ),
}
