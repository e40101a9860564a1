"""What the writers write, against bytes made by hand, the readers of Python and NumPy, and parsers
of a few lines that know nothing of the writers."""

import gzip
import struct
import sys
import zlib

import numpy as np
import pytest
from formats.tfrecord.tfrecords import framed
from support.written import ragged, row_of, written

import pyflowdata as flow
from pyflowdata.io import (
    IDXWriter,
    NpyWriter,
    OFRecordWriter,
    RawWriter,
    TFRecordWriter,
    encode_example,
    encode_examples,
    encode_ofrecord,
    encode_ofrecords,
    encode_sequence_example,
)


# ---- A parser of protocol buffers ---------------------------------------------------------------


def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """[(number of the field, bytes)]: all that these messages have is of wire type 2."""
    at, found = 0, []
    while at < len(data):
        tag, at = number(data, at)
        assert tag & 7 == 2
        size, at = number(data, at)
        assert at + size <= len(data)
        found.append((tag >> 3, data[at : at + size]))
        at += size
    return found


def integers(data):
    at, found = 0, []
    while at < len(data):
        value, at = number(data, at)
        found.append(value - 2**64 if value >= 2**63 else value)
    return found


def feature(data, kinds):
    ((kind, values),) = fields(data)
    values = [one for _, one in fields(values)]
    if kinds[kind] == "bytes":
        return values
    packed = b"".join(values)
    if kinds[kind] == "int":
        return integers(packed)
    return np.frombuffer(packed, kinds[kind]).tolist()


EXAMPLE = {1: "bytes", 2: "<f4", 3: "int"}
OFRECORD = {1: "bytes", 2: "<f4", 3: "<f8", 4: "int", 5: "int"}


def features(data, kinds):
    entries = [dict(fields(entry)) for _, entry in fields(data)]
    return {entry[1].decode(): feature(entry[2], kinds) for entry in entries}


def example(data):
    return features(dict(fields(data))[1], EXAMPLE)


# ---- Messages -----------------------------------------------------------------------------------

BYTES = [  # as TensorFlow's writer makes them
    ({"a": [1, -1, 300]}, "0a18 0a16 0a0161 1211 1a0f 0a0d 01 ffffffffffffffffff01 ac02"),
    ({"f": [1.5, 2.0]}, "0a13 0a11 0a0166 120c 120a 0a08 0000c03f 00000040"),
    ({"b": ["xy", b""]}, "0a0f 0a0d 0a0162 1208 0a06 0a02 7879 0a00"),
    ({"e": np.zeros(0, np.int64)}, "0a09 0a07 0a0165 1202 1a00"),
    ({}, "0a00"),
]


@pytest.mark.parametrize("sample, wanted", BYTES)
def test_examples_have_the_known_bytes(sample, wanted):
    assert encode_example(sample) == bytes.fromhex(wanted)


def test_an_ofrecord_has_the_known_bytes():
    made = encode_ofrecord({"x": [5.0, 5.5], "y": np.int32([5]), "b": b"\x05\xc8"})
    parts = [
        "0a110a0178120c120a0a080000a0400000b040",
        "0a0a0a0179120522030a0105",
        "0a0b0a016212060a040a0205c8",
    ]
    assert made == bytes.fromhex("".join(parts))


COLUMNS = {
    "x": np.linspace(-2, 2, 21, dtype=np.float32).reshape(7, 3),
    "half": np.arange(7, dtype=np.float16),
    "y": np.array([0, 1, 127, 128, -1, 2**62, -(2**63)]),
    "small": np.arange(14, dtype=np.int16).reshape(7, 2) * -300,
    "flag": np.arange(7) % 2 == 0,
    "wide": np.arange(7 * 40).reshape(7, 40) ** 5,
    "raw": np.arange(35, dtype=np.uint8).reshape(7, 5),
    "image": [b"", b"a", bytes(200), b"\0\xff", "é", b"x" * 127, b"y" * 128],
    "words": [["a", b"bc"], ["d"], ["e"], ["f"], ["g"], ["h"], ["i", "j", "k"]],
    "tokens": ragged(*(np.arange(n) * 99 for n in (3, 0, 1, 5, 0, 0, 2)), dtype=np.int64),
    "floats": ragged(*(np.arange(n) / 3 for n in (0, 0, 4, 1, 1, 0, 2)), dtype=np.float32),
    "parts": ragged(b"", b"ab", b"c", b"", b"d", b"e", b"fgh"),
    "k" * 200: np.arange(7, dtype=np.uint32) + 2**31,
}


def plain(value):
    """What a reader finds of it: a list of bytes or of numbers."""
    if isinstance(value, (bytes, str)):
        value = [value]
    if isinstance(value, list):
        return [one.encode() if isinstance(one, str) else one for one in value]
    value = np.asarray(value)
    if value.dtype == np.uint8:
        return [value.tobytes()]
    return value.ravel().astype(value.dtype if value.dtype.kind == "f" else np.int64).tolist()


@pytest.mark.parametrize("kinds", [EXAMPLE, OFRECORD], ids=["example", "ofrecord"])
def test_batches_hold_what_samples_hold(kinds):
    one, all_, read = (
        (encode_example, encode_examples, example)
        if kinds is EXAMPLE
        else (encode_ofrecord, encode_ofrecords, lambda data: features(data, OFRECORD))
    )
    made = all_(COLUMNS)
    assert len(made) == 7
    for row, data in enumerate(made):
        sample = row_of(COLUMNS, row)
        assert data == one(sample)
        assert read(data) == {name: plain(value) for name, value in sample.items()}


def test_an_ofrecord_keeps_double_and_int32_apart():
    data = encode_ofrecord({"d": np.float64([0.1]), "i": np.int64([1]), "j": np.int32([1])})
    kinds = {dict(fields(e))[1]: fields(dict(fields(e))[2])[0][0] for _, e in fields(data)}
    assert kinds == {b"d": 3, b"i": 5, b"j": 4}


def test_a_sequence_example_holds_steps():
    steps = ragged([1, 2], [], [3], dtype=np.int64)
    data = encode_sequence_example(
        {"id": 7}, {"t": steps, "w": ["a", "b"], "x": np.float32([[1, 2], [3, 4]]), "none": []}
    )
    parts = dict(fields(data))
    assert features(parts[1], EXAMPLE) == {"id": [7]}
    lists = {}
    for _, entry in fields(parts[2]):
        entry = dict(fields(entry))
        lists[entry[1].decode()] = [feature(one, EXAMPLE) for _, one in fields(entry[2])]
    wanted = {"t": [[1, 2], [], [3]], "w": [[b"a"], [b"b"]], "x": [[1, 2], [3, 4]], "none": []}
    assert lists == wanted


@pytest.mark.parametrize(
    "sample, says",
    [
        ({"x": np.zeros(2)}, r"x is of float64.*astype\('float32'\)"),
        ({"x": []}, r"x = \[\] has no type"),
        ({"x": np.uint64(2**63)}, "9223372036854775808, which does not fit"),
        ({"x": [b"a", 1]}, "x has 1 beside bytes"),
        ({"x": {"y": 1}}, "x = {'y': 1}; a feature is"),
        ({"x": [[1, 2], [3]]}, r"x = \[\[1, 2\], \[3\]\]"),
        ({"x": 2**70}, "x = 1180591620717411303424"),
        ({1: 2}, "the name of a feature is 1"),
        ({"\ud800": 2}, "not valid Unicode"),
        (3, "this is 3"),
    ],
)
def test_what_an_example_has_not_is_an_error(sample, says):
    with pytest.raises(flow.InvalidArgumentError, match=says):
        encode_example(sample)


def test_columns_of_different_lengths_are_an_error():
    with pytest.raises(flow.InvalidArgumentError, match="a 2, b 3"):
        encode_examples({"a": np.zeros(2, np.int64), "b": [b""] * 3})


# ---- Framed records -----------------------------------------------------------------------------


def test_tfrecords_have_the_known_bytes(tmp_path):
    found = written(TFRecordWriter, tmp_path / "a", ("write", b"abc"), ("write_batch", [b"", "é"]))
    abc = "0300000000000000 b099490e 616263 6e57f121"
    empty = "0000000000000000 29039807 d8ea82a2"
    assert found == bytes.fromhex(abc + empty) + framed("é".encode())


def test_tfrecords_of_examples(tmp_path):
    calls = [("write", row_of(COLUMNS, 0)), ("write_batch", COLUMNS), ("write_batch", ragged(b"z"))]
    records = encode_examples(COLUMNS)
    wanted = b"".join(map(framed, [records[0], *records, b"z"]))
    assert written(TFRecordWriter, tmp_path / "a", *calls) == wanted


def test_ofrecords_have_the_known_bytes(tmp_path):
    calls = [("write", row_of(COLUMNS, 0)), ("write_batch", COLUMNS), ("write", b"raw")]
    records = encode_ofrecords(COLUMNS)
    wanted = b"".join(
        struct.pack("<q", len(one)) + one for one in [records[0], *records, b"raw"]
    )
    assert written(OFRecordWriter, tmp_path / "a", *calls) == wanted
    with pytest.raises(flow.InvalidArgumentError, match=r"/b \(record 1\): the record is empty"):
        written(OFRecordWriter, tmp_path / "b", ("write_batch", [b"a", b""]))


@pytest.mark.parametrize("name", ["gzip", "zlib"])
def test_compressed_streams_are_one_and_repeat(name, tmp_path):
    unpack = {"gzip": gzip.decompress, "zlib": zlib.decompress}[name]
    plain_bytes = written(TFRecordWriter, tmp_path / "a", ("write_batch", COLUMNS))
    packed = [
        written(TFRecordWriter, tmp_path / file, ("write_batch", COLUMNS), compression=name)
        for file in "bc"
    ]
    assert packed[0] == packed[1] and unpack(packed[0]) == plain_bytes
    if name == "zlib":
        assert packed[0][:2] == b"\x78\x9c"


def test_zstd_needs_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(flow.UnsupportedError, match="pip install zstandard"):
        TFRecordWriter(tmp_path / "a", compression="zstd")
    assert not [*tmp_path.iterdir()]


def test_zstd(tmp_path):
    zstandard = pytest.importorskip("zstandard", reason="the package zstandard is not here")
    packed = written(TFRecordWriter, tmp_path / "a", ("write", b"abc"), compression="zstd")
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == framed(b"abc")


# ---- Arrays -------------------------------------------------------------------------------------

ROWS = np.arange(24, dtype=np.int32).reshape(4, 3, 2) * 1000


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("pack", [None, "gzip"])
def test_idx_is_big_endian(dtype, pack, tmp_path):
    rows = (ROWS // 1000).astype(dtype)
    calls = [("write", rows[0]), ("write_batch", {"images": rows[1:]})]
    found = written(IDXWriter, tmp_path / "a", *calls, compression=pack)
    found = gzip.decompress(found) if pack else found
    code = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}[dtype]
    assert found[:16] == struct.pack(">4B3I", 0, 0, code, 3, 4, 3, 2)
    assert found[16:] == rows.astype(rows.dtype.newbyteorder(">")).tobytes()


def test_idx_labels_and_empty_files(tmp_path):
    labels = written(IDXWriter, tmp_path / "a", ("write_batch", np.arange(3)), dtype="uint8")
    assert labels == struct.pack(">II", 0x801, 3) + bytes([0, 1, 2])
    empty = written(IDXWriter, tmp_path / "b", dtype="uint8", shape=(28, 28))
    assert empty == struct.pack(">4I", 0x803, 0, 28, 28)


@pytest.mark.parametrize("dtype", ["<f4", ">i2", "bool", "uint64"])
def test_npy_is_what_numpy_reads(dtype, tmp_path):
    rows = (ROWS // 1000).astype(dtype)
    written(NpyWriter, tmp_path / "a.npy", ("write_batch", rows[:3]), ("write", rows[3]))
    found = np.load(tmp_path / "a.npy")
    assert found.dtype == rows.dtype.newbyteorder("=") and np.array_equal(found, rows)
    assert (tmp_path / "a.npy").read_bytes().find(b"\n") % 64 == 63
    written(NpyWriter, tmp_path / "b.npy", ("write_batch", rows[:, 0, 0]))
    assert np.array_equal(np.load(tmp_path / "b.npy"), rows[:, 0, 0])
    written(NpyWriter, tmp_path / "c.npy")
    assert np.load(tmp_path / "c.npy").shape == (0,)


def test_raw_is_little_endian_with_a_header(tmp_path):
    calls = [("write_batch", ROWS.astype(">i4")), ("write", ROWS[0])]
    found = written(RawWriter, tmp_path / "a", *calls, header=b"head")
    assert found == b"head" + ROWS.astype("<i4").tobytes() + ROWS[0].astype("<i4").tobytes()


@pytest.mark.parametrize(
    "writer, options, given, says",
    [
        (RawWriter, {}, np.zeros((2, 4)), r"record 4\).*shape \(4,\).*of this file.*\(3, 2\)"),
        (RawWriter, {}, ROWS + np.int64(2**40), r"record 4\).*int64 do not fit into int32"),
        (RawWriter, {"dtype": "uint8"}, ROWS, r"record 0\).*int32 do not fit into uint8"),
        (NpyWriter, {}, "text", "the file holds numbers"),
        (NpyWriter, {}, {"a": ROWS, "b": ROWS}, "has the fields a, b: choose one"),
        (NpyWriter, {}, ragged(b"a", b"bc"), r"\(record 5\): rows of the shapes \(1,\) and \(2,\)"),
        (IDXWriter, {"dtype": "int32"}, 5, "no dimension of rows"),
    ],
)
def test_rows_that_do_not_fit_are_errors_and_left_out(writer, options, given, says, tmp_path):
    with writer(tmp_path / "a", **options) as one:
        if "dtype" not in options:
            one.write_batch(ROWS)
        count = one.records
        with pytest.raises(flow.InvalidArgumentError, match=says):
            one.write_batch(given)
        assert one.records == count
        one.write_batch(ROWS[:1] * 0)
    assert one.records == count + 1


def test_idx_has_no_int64(tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match="IDX files hold uint8.*this is int64"):
        written(IDXWriter, tmp_path / "a", ("write", np.arange(3)))
    with pytest.raises(flow.InvalidArgumentError, match="this is bool"):
        IDXWriter(tmp_path / "a", dtype=bool)
