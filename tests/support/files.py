"""Part files for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import pyflowdata as flow


def write_parts(folder: Path, *contents: bytes, prefix: str = "part-", width: int = 3) -> str:
    """Writes one part per argument, numbered from 0; returns the folder as data_dir."""
    folder.mkdir(exist_ok=True)
    for number, content in enumerate(contents):
        (folder / f"{prefix}{number:0{width}d}").write_bytes(content)
    return str(folder)


def overwrite(path: Path, content: bytes) -> None:
    """Replaces what is in a file; one that is truncated first may wait for the disk each time."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


def lines(begin: int, end: int) -> bytes:
    """The rows (i, 10 * i) for begin <= i < end, with a newline after each."""
    numbers = [0] * (2 * (end - begin))
    numbers[::2], numbers[1::2] = range(begin, end), range(10 * begin, 10 * end, 10)
    return b"%d,%d\n" * (end - begin) % tuple(numbers)


def rows(begin: int, end: int) -> npt.NDArray[np.float64]:
    """What `lines` of the same range is read as."""
    i = np.arange(begin, end, dtype=np.float64)
    return np.stack([i, 10 * i], axis=1)


def read(data_dir: str, batch_size: int = 3, **attrs: object) -> npt.NDArray[np.float64]:
    """One epoch of MiniReader, all batches in one array."""
    with flow.DataLoader(flow.MiniReader(data_dir, batch_size=batch_size, **attrs)) as loader:
        return np.concatenate([np.zeros((0, 2)), *loader])
