"""Token files for tests, written and read by their rules alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from support.paths import ROOT

Tokens = npt.NDArray[Any]
Document = Sequence[Tokens]  # its sequences

CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}
FIXTURES = ROOT / "tests/fixtures/megatron"


def documents(seed: int, count: int = 30, most: int = 20, dtype: str = "uint16") -> list[Document]:
    """Documents of one to three sequences with 0 to `most` tokens each."""
    random = np.random.default_rng(seed)
    top = min(60_000, np.iinfo(dtype).max)
    return [
        [random.integers(0, top, random.integers(0, most + 1)).astype(dtype)
         for _ in range(random.integers(1, 4))]
        for _ in range(count)
    ]


def join(parts: Sequence[Tokens]) -> Tokens:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _entries(docs: Sequence[Document]) -> tuple[list[int], list[int]]:
    """The length of each sequence; the sequence that each document begins with, and the end."""
    lengths = [len(sequence) for document in docs for sequence in document]
    begins = np.cumsum([0, *(len(document) for document in docs)])
    return lengths, begins.tolist()


def write(stem: Path, docs: Sequence[Document], dtype: str = "uint16") -> Path:
    """stem.bin and stem.idx of the current version; returns the first."""
    stem.with_suffix(".bin").write_bytes(
        b"".join(sequence.astype(dtype).tobytes() for document in docs for sequence in document)
    )
    lengths, begins = _entries(docs)
    pointers = np.cumsum([0, *lengths])[:-1] * np.dtype(dtype).itemsize
    stem.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0"
        + struct.pack("<QBQQ", 1, CODES[dtype], len(lengths), len(begins))
        + np.array(lengths, "<i4").tobytes()
        + np.array(pointers, "<i8").tobytes()
        + np.array(begins, "<i8").tobytes()
    )
    return stem.with_suffix(".bin")


def write_legacy(stem: Path, docs: Sequence[Document], dtype: str = "uint16") -> Path:
    """The same with an .idx of the former version."""
    path = write(stem, docs, dtype)
    lengths, begins = _entries(docs)
    n, size = len(lengths), np.dtype(dtype).itemsize
    stem.with_suffix(".idx").write_bytes(
        b"TNTIDX\0\0"
        + struct.pack("<QQQQQQ", 1, CODES[dtype], size, n, n, len(begins))
        + np.arange(n + 1, dtype="<i8").tobytes()
        + np.cumsum([0, *lengths], dtype="<i8").tobytes()
        + np.array(lengths, "<i8").tobytes()
        + np.array(begins, "<i8").tobytes()
    )
    return path


def fixture(name: str) -> list[Document]:
    """The documents of a fixture, read by NumPy."""
    index = (FIXTURES / f"{name}.idx").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    _, code, n, entries = struct.unpack_from("<QBQQ", index, 9)
    dtype = next(name for name, each in CODES.items() if each == code)
    lengths = np.frombuffer(index, "<i4", n, 34)
    pointers = np.frombuffer(index, "<i8", n, 34 + 4 * n)
    begins = np.frombuffer(index, "<i8", entries, 34 + 12 * n)
    content = (FIXTURES / f"{name}.bin").read_bytes()
    sequences = [np.frombuffer(content, dtype, length, pointer)
                 for length, pointer in zip(lengths, pointers, strict=True)]
    return [sequences[a:b] for a, b in zip(begins[:-1], begins[1:], strict=True)]
