"""A small good file of every format, and how it is read."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
from damage import Format

import pyflowdata as flow


def mini(folder: Path) -> list[Path]:
    numbers = np.random.default_rng(1).normal(size=(20, 2)).round(3)
    path = folder / "part-0"
    path.write_text("".join(f"{a},{b}\n" for a, b in numbers.tolist()))
    return [path]


def gzipped(folder: Path) -> list[Path]:
    (path,) = mini(folder)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return [path]


def shard(folder: Path) -> list[Path]:
    """Of WebDataset, with long names, and without the zeros that fill up its last block."""
    path = folder / "shard.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for i in range(4):
            for ending, content in (("txt", b"text" * i), ("cls", b"%d" % i)):
                info = tarfile.TarInfo(f"{i}/{'long' * 30 * (i == 1)}name.{ending}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        end = tar.offset
    path.write_bytes(path.read_bytes()[: end + 2 * tarfile.BLOCKSIZE])
    return [path]


FORMATS = {
    "MiniReader": Format(
        mini, lambda files, **attrs: flow.MiniReader(files=files, **attrs), may_be_cut=400
    ),
    "MiniReader gzip": Format(
        gzipped,
        lambda files, **attrs: flow.MiniReader(files=files, compression="gzip", **attrs),
        has_checksums=True,
    ),
    "TarReader": Format(
        shard,
        lambda files, **attrs: flow.TarReader(
            files=files, fields=["key=__key__", "txt", "cls"], **attrs
        ),
    ),
}
