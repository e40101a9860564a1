"""TFRecordReader: TensorFlow's own files, damage, and where it is said to be."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
import zlib

import numpy as np
import pytest
from formats.tfrecord.tfrecords import FIXTURES, crc32c, framed, unframed, write
from support.oracle import fewer

import pyflowdata as flow
from pyflowdata.native import ffi, lib

RECORDS = [b"abc", b"", bytes(range(40)), b"x" * 300, b"last"]


def read(files, batch_size=4, **attrs):
    """The records of an epoch, as bytes, and what was skipped."""
    rows = flow.TFRecordReader(files=files, batch_size=batch_size, **attrs)
    with flow.DataLoader(rows, num_threads=2) as loader:
        records = [bytes(row.tobytes()) for batch in loader for row in batch]
        return records, loader.skipped


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "a.tfrecord", RECORDS)


# ---- What is in the files ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["examples", "wire", "sequences"])
def test_files_of_tensorflow(name):
    file = FIXTURES / f"{name}.tfrecord"
    expected = unframed(file.read_bytes())
    assert len(expected) >= 17
    assert read(file)[0] == expected
    assert sorted(read(file, random_shuffle=True, seed=3)[0]) == sorted(expected)


def test_several_files_and_empty_ones(tmp_path, path):
    empty = write(tmp_path / "b.tfrecord", [])
    joined = tmp_path / "c.tfrecord"
    joined.write_bytes(2 * path.read_bytes())
    assert read([path, empty, joined])[0] == 3 * RECORDS
    with pytest.raises(flow.CorruptDataError, match="not one record"):
        read(empty)


def test_known_bytes(tmp_path):
    file = tmp_path / "known"
    file.write_bytes(bytes.fromhex("0300000000000000b099490e6162636e57f121"))
    assert read(file)[0] == [b"abc"]
    file.write_bytes(bytes.fromhex("000000000000000029039807d8ea82a2"))
    assert read(file)[0] == [b""]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 63, 64, 300, 1535, 1536, 5000, 12288, 40000])
def test_the_checksum(size):
    data = np.random.RandomState(size).bytes(size)
    assert lib.pfd_crc32c(data, size) == crc32c(data)
    assert lib.pfd_crc32c(b"123456789", 9) == 0xE3069283
    assert lib.pfd_crc32c(ffi.NULL, 0) == 0


def test_the_next_record_in_damaged_bytes():
    """At every offset; a length that does not fit is of no record, whatever its checksum is."""
    data = b"\0" * 40 + framed(b"abc") + b"\xff" * 7 + framed(b"") + framed(b"x" * 50)[:-1]
    starts = [40, 40 + 19 + 7]
    for at in range(len(data) + 1):
        expected = next((one for one in starts if one >= at), len(data))
        assert lib.pfd_format_resync(b"tfrecord", data, len(data), at) == expected
    for size in range(40):
        assert lib.pfd_format_resync(b"tfrecord", data, size, 0) == size
    assert lib.pfd_format_resync(b"csv", data, len(data), 0) == -1
    assert lib.pfd_format_resync(b"no_such", data, len(data), 0) == -1


# ---- Damage --------------------------------------------------------------------------------------


def frame_ends(records):
    ends = [0]
    for record in records:
        ends.append(ends[-1] + len(framed(record)))
    return ends


def test_a_file_cut_anywhere_is_an_error(tmp_path, path):
    data, ends = path.read_bytes(), frame_ends(RECORDS)
    cut = tmp_path / "cut"
    near = {end + by for end in ends for by in range(-8, 24)}  # checksums and lengths
    for size in sorted({*range(1, len(data), 9), *near} & {*range(1, len(data))}):
        cut.write_bytes(data[:size])
        if size in ends:  # a good file, of fewer records
            assert read(cut)[0] == RECORDS[: ends.index(size)]
            continue
        for policy in ("raise", "skip"):
            with pytest.raises(flow.CorruptDataError, match="missing") as caught:
                read(cut, on_error=policy)
        before = max(i for i, end in enumerate(ends) if end < size)
        assert caught.value.file == str(cut)
        assert caught.value.byte == ends[before]
        before_it = f"({before} records of the file are before it)"
        assert (before_it in str(caught.value)) == (before > 0)
        missing = ends[before] + 12 - size if size < ends[before] + 12 else ends[before + 1] - size
        assert f"{missing} " in caught.value.message


def test_a_flipped_bit_is_found(tmp_path, path):
    """In a length it ends the file, in bytes or their checksum it costs one record."""
    data, ends = path.read_bytes(), frame_ends(RECORDS)
    flipped = tmp_path / "flipped"
    for bit in random.Random(5).sample(range(8 * len(data)), fewer(1000)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        flipped.write_bytes(damaged)
        number = max(i for i, end in enumerate(ends) if end <= bit // 8)
        if bit // 8 < ends[number] + 12:
            with pytest.raises(flow.CorruptDataError) as caught:
                read(flipped, on_error="skip")
            assert caught.value.byte == ends[number]
            continue
        kept, skipped = read(flipped, on_error="skip")
        assert kept == RECORDS[:number] + RECORDS[number + 1 :]
        assert [(e.ordinal, e.byte) for e in skipped] == [(number, ends[number] + 12)]


def test_order_and_resume_stay_under_skipping(tmp_path):
    records = [b"record %d" % i for i in range(200)]
    data = bytearray(write(tmp_path / "a", records).read_bytes())
    data[100 * 25 + 14] ^= 4
    (tmp_path / "b").write_bytes(data)

    def batches(name, loader_state=None):
        rows = flow.TFRecordReader(
            files=tmp_path / name, batch_size=8, random_shuffle=True, seed=2, on_error="skip"
        )
        with flow.DataLoader(rows) as loader:
            found, states = [], []
            for batch in loader:
                found.append([row.tobytes() for row in batch])
                states.append(loader.state_dict())
            return found, states, rows

    good, (bad, states, rows) = batches("a")[0], batches("b")
    lost = {record for batch in good for record in batch} - {r for batch in bad for r in batch}
    assert len(lost) == 1
    assert bad == [[record for record in batch if record not in lost] for batch in good]
    with flow.DataLoader(rows) as loader:
        loader.load_state_dict(states[6])
        assert [[row.tobytes() for row in batch] for batch in loader] == bad[7:]


def test_what_the_error_says(tmp_path, path):
    data = bytearray(path.read_bytes())
    data[12] ^= 1
    path.write_bytes(data)
    with pytest.raises(flow.CorruptDataError) as caught:
        read(path)
    assert (caught.value.op, caught.value.ordinal, caught.value.byte) == ("TFRecordReader", 0, 12)
    assert "checksum 0x" in caught.value.message and "the 3 bytes" in caught.value.message
    assert read(path, check_crc=False)[0] == [b"\x60bc", *RECORDS[1:]]


def test_a_length_that_no_file_has(tmp_path):
    for length in (2**63 - 1, 2**64 - 1, 2**62):
        header = struct.pack("<Q", length)
        file = tmp_path / "long"
        file.write_bytes(framed(b"a") + header + struct.pack("<I", _masked(header)) + b"xyz")
        with pytest.raises(flow.CorruptDataError, match="missing|no file is that large") as caught:
            read(file)
        assert caught.value.byte == 17


def _masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def tar_bytes():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("a.txt"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "seems"),
    [
        (b"BZh91AY&SY" + bytes(40), "bzip2"),
        (tar_bytes(), "tar .TarReader reads it"),
        (b"1.5,2.5\n3.5,4.5\n", "CSV .CSVReader reads it"),
        (b"some words\nmore\n", "text lines .TextLineReader reads it"),
        (b"\x93NUMPY\x01\x00" + bytes(60), "NumPy .npy .NpyReader reads it"),
        (struct.pack("<Q", 11) + b"\x0a\x09\x0a\x01x\x12\x04\x2a\x02\x0a\x00",
         "OFRecord .OFRecordReader reads it"),
        (b"PAR1" + bytes(30), "Parquet"),
    ],
)  # fmt: skip
def test_other_formats_are_named(tmp_path, content, seems):
    file = tmp_path / "other"
    file.write_bytes(content)
    with pytest.raises(flow.Error, match=f"it looks like {seems}"):
        read(file)


def test_bytes_of_no_known_format(tmp_path):
    file = tmp_path / "other"
    file.write_bytes(bytes(100))
    with pytest.raises(flow.CorruptDataError, match="not a TFRecord file, or its first record's"):
        read(file)
    file.write_bytes(framed(b"abc") + bytes(20))
    with pytest.raises(flow.CorruptDataError, match="cannot find the records after it") as caught:
        read(file)
    assert caught.value.byte == 19


# ---- Compressed files ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gz", "zlib"])
def test_compressed_files_of_tensorflow(kind):
    file = FIXTURES / f"examples.tfrecord.{kind}"
    expected = unframed((FIXTURES / "examples.tfrecord").read_bytes())
    assert read(file)[0] == expected
    shuffled = read(file, shuffle="buffer", shuffle_buffer_size=8, seed=1)[0]
    assert sorted(shuffled) == sorted(expected) and shuffled != expected
    seems = {"gz": "gzip"}.get(kind, kind)
    with pytest.raises(flow.CorruptDataError, match=f"it looks like {seems}"):
        read(file, compression="none")


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_damage_behind_compression(tmp_path, compress):
    file, ends = tmp_path / "compressed", frame_ends(RECORDS)
    good = b"".join(map(framed, RECORDS))
    for size in range(1, len(good), 7):
        file.write_bytes(compress(good[:size]))
        if size in ends:
            continue
        with pytest.raises(flow.CorruptDataError, match="missing") as caught:
            read(file, on_error="skip")
        begin = max(end for end in ends if end < size)
        assert caught.value.byte in (begin, begin + 12)
    damaged = bytearray(good)
    damaged[ends[2] + 20] ^= 8
    file.write_bytes(compress(bytes(damaged)))
    kept, skipped = read(file, on_error="skip")
    assert kept == RECORDS[:2] + RECORDS[3:]
    assert [(e.ordinal, e.byte) for e in skipped] == [(2, ends[2] + 12)]
    damaged[ends[2] + 2] ^= 8
    file.write_bytes(compress(bytes(damaged)))
    said = "length of the record.*is damaged.*`pyflowdata verify` searches"
    with pytest.raises(flow.CorruptDataError, match=said) as caught:
        read(file, on_error="skip")
    assert caught.value.byte == ends[2]
    file.write_bytes(compress(b"some text\n" * 5))
    with pytest.raises(flow.CorruptDataError, match="it looks like text"):
        read(file)


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_compressed_bytes_that_are_cut_or_flipped(tmp_path, compress):
    """Nothing else than the records, or an error."""
    data, file = compress(b"".join(map(framed, RECORDS))), tmp_path / "compressed"
    for size in range(1, len(data), 3):
        file.write_bytes(data[:size])
        with pytest.raises(flow.CorruptDataError):
            read(file)
    for bit in random.Random(9).sample(range(8 * len(data)), fewer(360)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        try:
            assert read(file)[0] == RECORDS  # the bit stood for nothing
        except flow.CorruptDataError:
            pass
