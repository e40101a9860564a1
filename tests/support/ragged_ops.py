"""Lines for the ops of tests/support/ragged_ops.c to read, and how they are read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import pyflowdata as flow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


@pytest.fixture(scope="module")
def lines(folder):
    """The lines of the files in `folder`."""
    return write_lines(folder)


@pytest.fixture(scope="module")
def bad_folder(tmp_path_factory):
    """A folder for lines of which a module makes some damaged, its `bad_lines`."""
    return tmp_path_factory.mktemp("bad_lines")


LETTERS = bytes(b"abcxyz"[i % 6] for i in range(256))


def write_lines(
    folder: Path, count: int = 600, special: dict[int, str] | None = None, most: int = 40
) -> list[str]:
    """Writes lines of 1 to `most` letters, some of thousands, in four parts; returns them."""
    folder.mkdir(exist_ok=True)
    chance = random.Random(7)
    lines = []
    for i in range(count):
        size = chance.randrange(1, most) if i % 50 else 3000 + i
        lines.append(chance.randbytes(size).translate(LETTERS).decode())
    for i, line in (special or {}).items():
        lines[i] = line
    third = count // 3
    for part, end in enumerate(["\n", "\r\n", "\n", "\n\n"]):
        text = "".join(line + end for line in lines[part * third : (part + 1) * third])
        (folder / f"part-{part}").write_bytes(text.encode())
    return lines[: 4 * third]


def read(make, *args, num_threads=2, prefetch=None, memory_budget=None, epochs=1, **kwargs):
    """All batches of a loader of the blobs that `make` makes, in a list; arrays are copied."""
    blobs = make(*args, **kwargs)
    options = dict(num_threads=num_threads, prefetch=prefetch, memory_budget=memory_budget)
    with flow.DataLoader(blobs, **options) as loader:
        return [batch for _ in range(epochs) for batch in loader]
