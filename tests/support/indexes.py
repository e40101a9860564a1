"""Text files and a cache folder for tests of indexes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.files import lines, read, write_parts

import pyflowdata as flow

SHUFFLED = {"random_shuffle": True, "seed": 7}
ROWS = 3000
LEAST_CACHED_BYTES = 16 << 20  # less is cached only where index_dir says so


def open_reader(data_dir, **attrs):
    return flow.DataLoader(flow.MiniReader(data_dir, batch_size=64, **attrs))


def index_of(data_dir, **attrs):
    """How a loader came to its index."""
    with open_reader(data_dir, **attrs) as loader:
        return loader.readers[0].index


def epoch(data_dir, **attrs):
    return read(data_dir, 500, **attrs)


def stored(folder, suffix="*.index"):
    return sorted(Path(folder).glob(suffix))


@pytest.fixture
def data(tmp_path):
    return write_parts(tmp_path / "data", lines(0, 1000), b"", lines(1000, ROWS).rstrip(b"\n"))


@pytest.fixture
def cache(tmp_path):
    return str(tmp_path / "cache" / "deep")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Enough text for the cache by convention: rows (i, 10 i), in four parts."""
    rows = [lines(i * 400_000, (i + 1) * 400_000) for i in range(4)]
    assert sum(map(len, rows)) > LEAST_CACHED_BYTES
    return write_parts(tmp_path_factory.mktemp("large") / "data", *rows)
