"""CacheReader: files that Dataset.cache() wrote, and damaged ones."""

import struct

import numpy as np
import pytest

import pyflowdata as flow

SAMPLES = [{"x": np.arange(3) + i, "name": b"ab" * (i % 7)} for i in range(50)]
FIELDS = ["x:int64[3]", "name:bytes"]
HEADER = struct.Struct("=8sII5qQ")


@pytest.fixture
def cache(tmp_path):
    """The values of the reader's attrs, and the path of its file."""
    data = flow.Dataset(flow.GeneratorReader(SAMPLES, fields=FIELDS)).cache(tmp_path, version="1")
    assert len(data) == 50
    (path,) = tmp_path.glob("*/records")
    return data["x"].node.values["cache"].value, path


def reader(cache, **attrs):
    """Without the object that would make a good file in place of a damaged one."""
    return flow.CacheReader(object(), fields=FIELDS, files=[str(cache[1])], **attrs)


@pytest.mark.parametrize("access", ["map", "read"])
def test_records_in_any_order(cache, access):
    attrs = dict(batch_size=7, random_shuffle=True, seed=3, file_access=access, with_id=True)
    with flow.DataLoader(reader(cache, **attrs), num_threads=2) as loader:
        seen = []
        for x, name, ids in loader:
            seen += ids[:, 1].tolist()
            for row, number in enumerate(ids[:, 1]):
                assert np.array_equal(x[row], SAMPLES[number]["x"])
                assert name[row].tobytes() == SAMPLES[number]["name"]
    assert sorted(seen) == list(range(50))


@pytest.mark.parametrize("access", ["map", "read"])
def test_windows_are_read_ahead(cache, access):
    attrs = dict(shuffle="window", shuffle_block_size=4, shuffle_window=3, file_access=access)
    with flow.DataLoader(reader(cache, batch_size=5, seed=1, **attrs)) as loader:
        assert sorted(x for batch, _ in loader for x in batch[:, 0]) == list(range(50))


def change(path, offset, data):
    whole = bytearray(path.read_bytes())
    whole[offset : offset + len(data)] = data
    path.write_bytes(whole)


def fails(cache, words):
    with pytest.raises((flow.CorruptDataError, flow.FileError), match=words):
        with flow.DataLoader(reader(cache)) as loader:
            list(loader)


def test_damage_is_found(cache):
    path = cache[1]
    good = path.read_bytes()
    magic, version, num_fields, records, record_bytes, first, table, sums, _ = HEADER.unpack_from(
        good
    )
    assert (magic, version, num_fields, records, record_bytes) == (b"PFDCACHE", 2, 2, 50, 0)
    assert sums == table + 51 * 8 and len(good) == sums + 8
    for offset, data, words in (
        (0, b"X", "not a cache"),
        (8, b"\1", "version 1, and 2 is read"),
        (12, b"\3", "3 fields, and 2"),
        (16, b"\x33", "damaged or truncated"),  # the number of records
        (24, b"\x08", "damaged or truncated"),  # a size for all
        (40, b"\xff" * 6, "damaged or truncated"),  # where the table is
        (64, b"\7", "other types"),
        (table + 80, b"\xff" * 8, "do not have their checksum"),
        (first + 24, b"\xff" * 8, "do not have their checksum"),  # the length of a name
        (first, b"\xff", f"{path}.*checksum.*delete the file"),  # a number
        (sums, b"\xff", "checksums of the cache are damaged"),
    ):
        path.write_bytes(good)
        change(path, offset, data)
        fails(cache, words)
    for end in (0, 50, 100, first + 9, table - 8, len(good) - 1):
        path.write_bytes(good[:end])
        with pytest.raises((flow.CorruptDataError, flow.FileError)):
            flow.DataLoader(reader(cache))


@pytest.mark.parametrize("access", ["map", "read"])
def test_each_block_has_its_checksum(tmp_path, access):
    samples = [{"x": np.full(1000, i)} for i in range(100)]  # 8000 bytes: some cross a block's end
    made = flow.Dataset(flow.GeneratorReader(samples, fields=["x:int64[1000]"]))
    made = made.cache(tmp_path, version="1")
    assert len(made) == 100
    (path,) = tmp_path.glob("*/records")
    change(path, 4096 + 40 * 8000 + 16, b"12345678")
    attrs = dict(files=[str(path)], batch_size=1, file_access=access, on_error="skip")
    with flow.DataLoader(
        flow.CacheReader(object(), fields=["x:int64[1000]"], **attrs), num_threads=2
    ) as loader:
        wrong = []
        for number in range(100):
            try:
                assert (loader.read([number])[0] == number).all()
            except flow.CorruptDataError as failure:  # of the file: on_error="skip" keeps it
                assert str(path) in str(failure)
                wrong.append(number)
    block = range((40 * 8000 + 16) // 65536 * 65536, (40 * 8000 + 16) // 65536 * 65536 + 65536)
    assert wrong == [i for i in range(100)
                     if i * 8000 < block.stop and i * 8000 + 8000 > block.start]  # fmt: skip


def test_its_attrs_are_checked(cache):
    with pytest.raises(flow.InvalidArgumentError, match="'x' must be NAME:TYPE"):
        flow.CacheReader(object(), fields=["x"], files=["nowhere"])
    other = cache[1].with_name("other")
    other.write_bytes(cache[1].read_bytes())
    two = flow.CacheReader(object(), fields=FIELDS, files=[str(cache[1]), str(other)])
    with pytest.raises(flow.InvalidArgumentError, match="a cache is one file, and 2"):
        flow.DataLoader(two)
