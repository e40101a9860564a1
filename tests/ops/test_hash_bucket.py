"""HashBucket: against the definition of its hash in Python."""

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.native import xxh64
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged

U64 = 2**64 - 1


def mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & U64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & U64
    return x ^ (x >> 31)


def bucket(data: bytes, buckets: int, seed: int) -> int:
    """`tests/core` compares XXH64 with published values."""
    return mix(xxh64(data) ^ mix(seed)) % buckets


@pytest.mark.parametrize("buckets, seed", [(1, 0), (10, 0), (1000, 7), (2**40 + 1, 2**53)])
def test_texts(buckets, seed):
    given = [f"text {i}".encode() * (i % 5) for i in range(500)]
    blob = blob_of([np.frombuffer(one, np.uint8) for one in given], [-1])
    found = load(flow.HashBucket(blob, buckets=buckets, seed=seed), num_threads=2)
    assert found.dtype == np.int64
    assert found.tolist() == [bucket(one, buckets, seed) for one in given]


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d.kind in "iu"], ids=lambda d: d.name)
def test_integers(dtype):
    info = np.iinfo(dtype)
    given = np.random.default_rng(0).integers(info.min, info.max, (60, 2, 3), dtype, endpoint=True)
    found = load(flow.HashBucket(blob_of(given), buckets=100, seed=1))
    stored = [int(one).to_bytes(16, "little", signed=True)[:8] for one in given.ravel().tolist()]
    assert found.ravel().tolist() == [bucket(one, 100, 1) for one in stored]
    assert found.shape == given.shape


def test_ragged_integers_and_spread():
    rows = ragged("int64", 200)
    found = load(flow.HashBucket(blob_of(rows, [-1]), buckets=1000))
    assert [len(row) for row in found] == [len(row) for row in rows]
    counts = np.bincount(flow.HashBucket(np.arange(100_000), buckets=100), minlength=100)
    assert abs(counts - 1000).max() < 6 * 1000**0.5


def test_floats_are_refused():
    for wrong in (np.zeros(3), np.zeros(3, bool)):
        with pytest.raises(flow.InvalidArgumentError, match="texts or integers"):
            flow.HashBucket(wrong, buckets=3)
    with pytest.raises(flow.InvalidArgumentError, match="buckets"):
        flow.HashBucket(b"a", buckets=0)
