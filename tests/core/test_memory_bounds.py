"""What does not fit into memory_budget is refused before it is allocated."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from support import programs
import pyflowdata as flow

MIB = 1 << 20
BUDGET = 16 * MIB
PROGRAM = """
import resource, sys
import pyflowdata as flow

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def loader(path):
    blob = {blob}
    return flow.DataLoader(blob, memory_budget={budget}, num_threads=1, prefetch=1)

before = peak()
try:
    with loader(sys.argv[1]) as batches:
        for _ in batches:
            pass
except flow.OutOfMemoryError as failure:
    print(peak() - before, failure)
"""


def refused(path: Path, blob: str) -> tuple[int, str]:
    """By how many MiB the peak of the process's memory grew, and what the failure said."""
    program = PROGRAM.format(blob=blob, budget=BUDGET)
    grown, said = programs.run(program, path, check=True).stdout.split(maxsplit=1)
    return int(grown) // 1024, said


def packed(before: bytes, byte: bytes, size: int, after: bytes = b"") -> bytes:
    """Members of gzip: so many bytes of one kind, in pieces of 5 MiB, between others."""
    piece = gzip.compress(byte * (5 * MIB), 1)
    return gzip.compress(before) + piece * (size // (5 * MIB)) + gzip.compress(after)


def zeros(folder: Path, size: int) -> Path:
    """A compressed text file: lines, one of which is of this size."""
    path = folder / "a.txt.gz"
    path.write_bytes(packed(b"1\n2\n", b"0", size, b"\n3\n"))
    return path


def test_rows_that_are_padded_to_the_longest(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * (4 * MIB) + b"\n" + b"y\n" * 99)
    grown, said = refused(path, "flow.PadBatch(flow.TextLineReader(files=path, batch_size=100))")
    assert re.search(r"PadBatch: 4194[0-9]{5} bytes are needed at once, and memory_budget allows "
                     "16777216; lower batch_size or raise memory_budget", said)  # fmt: skip
    assert grown < 100, "there is no memory for 400 MiB"


@pytest.mark.slow
@pytest.mark.parametrize("reader", [
    "TextLineReader(files=path, batch_size=1)", "OFRecordReader(files=path, batch_size=1)",
    "CSVReader(files=path, columns=['x=0:bytes'], batch_size=1, multiline=True)",
])  # fmt: skip
def test_a_record_without_an_end_in_a_compressed_file(tmp_path: Path, reader: str) -> None:
    size = 120 * MIB
    if reader.startswith("OFRecord"):
        path = tmp_path / "a.txt.gz"
        path.write_bytes(packed(size.to_bytes(8, "little"), b"\0", size))
    else:
        path = zeros(tmp_path, size)
    grown, said = refused(path, f"flow.{reader}")
    assert "half of memory_budget" in said and "a.txt.gz" in said
    assert grown < 80, "the record has 120 MiB"


def test_what_fits_is_read(tmp_path: Path) -> None:
    blob = flow.TextLineReader(files=zeros(tmp_path, 5 * MIB), batch_size=1)
    with flow.DataLoader(blob, memory_budget=BUDGET) as loader:
        assert [len(batch.values) for batch in loader] == [1, 1, 5 * MIB, 1]


def test_a_batch_takes_no_room_for_more_records_than_there_are():
    """This holds beside a reader with more rows, too; filling up a batch needs all its rows."""
    x, y = flow.from_arrays({"x": np.arange(10)}), flow.from_arrays({"y": np.arange(12)})
    for last, rows in (("short", 10), ("even", 9)):
        for rank in range(3):
            batches = x.batch(999_999_999, last=last, rank=rank, world_size=3, seed=1)
            with flow.DataLoader(batches, memory_budget=BUDGET) as loader:
                ((batch,),) = loader
            assert batch.tolist() == np.array_split(np.arange(rows), 3)[rank].tolist()
    with flow.DataLoader(x.batch(10**9, last="drop"), memory_budget=BUDGET) as loader:
        assert len(loader) == 0
    for blobs in (x.batch(10**9, last="pad"), x.batch(10**9, last="wrap")):
        with pytest.raises(flow.InvalidArgumentError, match="1000000000 rows takes .*batch_size"):
            flow.DataLoader(blobs, memory_budget=BUDGET)
    both = (x.batch(11)["x"], y.batch(11)["y"])
    for blobs in (both, both[::-1]):
        with flow.DataLoader(*blobs, zip="shortest") as loader:
            assert [[one.tolist() for one in batch] for batch in loader] == [[[*range(10)]] * 2]
