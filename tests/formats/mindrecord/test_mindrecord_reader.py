"""MindRecordReader: what MindSpore wrote, read again; and what is no such file."""

from __future__ import annotations

import gzip
import json
import struct

import numpy as np
import pytest
from formats.mindrecord import mindrecord_files
from support.paths import ROOT

import pyflowdata as flow

FIXTURES = ROOT / "tests/fixtures/mindspore"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
SCALARS = ["i32:int32", "i64:int64", "f32:float32", "f64:float64", "text"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("mindrecord")
    for path in FIXTURES.glob("*.gz"):
        (out / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return out


def read(files, *columns, **attrs):
    """The rows of each column, one list each."""
    blobs = flow.MindRecordReader(files=files, columns=list(columns), batch_size=4, **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    rows = [[] for _ in blobs]
    with flow.DataLoader(*blobs) as loader:
        for batch in loader:
            for into, part in zip(rows, batch if len(blobs) > 1 else [batch], strict=True):
                into.extend(np.array(row) for row in part)
    return rows if len(rows) > 1 else rows[0]


def column(name, key):
    return [row[key] for row in EXPECTED[name]]


def shown(data):
    """Bytes as expected.json has them."""
    return data.hex() if len(data) < 100 else f"{len(data)} x {data[0]:02x}"


# ---- What the library wrote ----------------------------------------------------------------------


def test_scalars_are_exact(folder):
    i32, i64, f32, f64, text = read(folder / "all", *SCALARS)
    assert [int(v) for v in i32] == column("all", "i32")
    assert [int(v) for v in i64] == column("all", "i64")
    assert [float(v).hex() for v in f32] == column("all", "f32")
    assert [float(v).hex() for v in f64] == column("all", "f64")
    assert [v.tobytes().decode() for v in text] == column("all", "text")
    assert [v.dtype.name for v in (i32[0], i64[0], f32[0], f64[0])] == [
        "int32", "int64", "float32", "float64"]


def test_bytes_are_whole(folder):
    rows = read(folder / "all", "image")
    assert [row.tobytes().hex() for row in rows] == column("all", "image")
    assert all(row.tobytes().endswith(b"\0\0") for row in rows)


@pytest.mark.parametrize(("key", "type_"), [
    ("ints", "int32[?]"), ("longs", "int64[2,?]"), ("longs", "int64[?,?]"), ("x", "float32[3]"),
    ("x", "float32[?]"), ("y", "float64[?,2]"),
])
def test_arrays(folder, key, type_):
    rows = read(folder / "all", f"{key}:{type_}")
    for row, (dtype, shape, values) in zip(rows, column("all", key), strict=True):
        values = [float.fromhex(v) if isinstance(v, str) else v for v in values]
        assert row.dtype.name == dtype and list(row.shape) == shape
        np.testing.assert_array_equal(row, np.array(values, dtype).reshape(shape))


def test_fields_may_be_chosen_in_any_order_and_twice(folder):
    text, longs, i32, again = read(folder / "all", "text", "longs:int64[2,?]", "i32:int32",
                                   "again=text")
    assert [v.tobytes() for v in text] == [v.tobytes() for v in again]
    assert [int(v) for v in i32] == column("all", "i32") and len(longs) == 12


def test_rows_without_blobs_and_without_scalars(folder):
    label, name = read(folder / "scalars", "label:int32", "name")
    assert [int(v) for v in label] == column("scalars", "label")
    assert [v.tobytes().decode() for v in name] == column("scalars", "name")
    a, b = read(folder / "blobs", "a", "b:int64[?]")
    assert [v.tobytes().hex() for v in a] == column("blobs", "a")
    assert [v.tolist() for v in b] == [v[2] for v in column("blobs", "b")]


@pytest.mark.parametrize("shard", [0, 1, 2])
def test_one_shard_stands_for_its_set(folder, shard):
    number, data = read(folder / f"many{shard}", "n=id:int64", "data")
    assert [int(v) for v in number] == column("many", "id")
    assert [shown(v.tobytes()) for v in data] == column("many", "data")


def test_several_shards_are_those_alone(folder):
    counts = [len(read(folder / f"many{i}", "n=id:int64", whole_set=False)) for i in range(3)]
    numbers = column("many", "id")
    parts = [numbers[: counts[0]], numbers[counts[0] : -counts[2]], numbers[-counts[2] :]]
    rows = read([folder / "many2", folder / "many0"], "n=id:int64")
    assert [int(v) for v in rows] == parts[2] + parts[0]
    assert [int(v) for v in read(folder / "many1", "n=id:int64", whole_set=False)] == parts[1]


def test_a_missing_shard_is_named(folder, tmp_path):
    (tmp_path / "many0").write_bytes((folder / "many0").read_bytes())
    with pytest.raises(flow.FileError, match="one of 3 shards.*many1.*whole_set=False"):
        read(tmp_path / "many0", "n=id:int64")


def test_appended_rows(folder):
    number, data = read(folder / "appended", "n=id:int64", "data")
    assert [int(v) for v in number] == column("appended", "id")
    assert [shown(v.tobytes()) for v in data] == column("appended", "data")


def test_shuffled_and_on_several_ranks(folder):
    rows = []
    for rank in range(2):
        blob = flow.MindRecordReader(files=folder / "many0", columns=["n=id:int64"], batch_size=8,
                                     random_shuffle=True, seed=1, rank=rank, world_size=2)
        with flow.DataLoader(blob) as loader:
            assert len(loader) == 4
            rows += np.concatenate(list(loader)).tolist()
    assert rows != column("many", "id") and sorted(rows) == sorted(column("many", "id"))


# ---- Written by hand -----------------------------------------------------------------------------

SCHEMA = {"label": {"type": "int32"}, "score": {"type": "float32"}, "name": {"type": "string"},
          "data": {"type": "bytes"}, "ids": {"type": "int32", "shape": [-1]},
          "longs": {"type": "int64", "shape": [2, 2]}}


def rows_of(n):
    return [{"label": 5 * i - 7, "score": i + 0.1, "name": f"n{i}", "data": b"\0" * i,
             "ids": np.arange(i, dtype=np.int32) * 1000,
             "longs": np.array([[i, -i], [2**40, -(2**62)]], np.int64)} for i in range(n)]


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_both_versions(tmp_path, version):
    rows = rows_of(9)
    path = tmp_path / "shard"
    path.write_bytes(mindrecord_files.shard_bytes(SCHEMA, [rows[:4], rows[4:5], rows[5:]],
                                                  version=version, page_size=4096))
    label, score, name, data, ids, longs = read(
        path, "label:int32", "score:float32", "name", "data", "ids:int32[?]", "longs:int64[2,2]")
    assert [int(v) for v in label] == [row["label"] for row in rows]
    assert [float(v) for v in score] == [float(np.float32(row["score"])) for row in rows]
    assert [v.tobytes().decode() for v in name] == [row["name"] for row in rows]
    assert [v.tobytes() for v in data] == [row["data"] for row in rows]
    assert [v.tolist() for v in ids] == [row["ids"].tolist() for row in rows]
    assert [v.tolist() for v in longs] == [row["longs"].tolist() for row in rows]


def write_header(path, header, data):
    text = json.dumps(header).encode()
    assert header["header_size"] < 400 or len(text) + 8 <= header["header_size"]
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + len(text) :])


def one_group(tmp_path, **changes):
    path = tmp_path / "shard"
    path.write_bytes(mindrecord_files.shard_bytes(SCHEMA, [rows_of(4)], **changes))
    return path


@pytest.mark.parametrize(("changes", "message"), [
    ({"header_size": 300}, "not below the header.s size"),
    ({"page_size": 1 << 40}, "page_size up to 1 GiB"),
    ({"page_size": 8}, "no page to use more than page_size"),
    ({"shard_id": 1}, "shard_id below the number"),
    ({"page": []}, "the last page ends here"),
    ({"schema": []}, "expected one schema"),
    ({"schema": None}, "expected an array"),
    ({"schema": [{"blob_fields": ["x"], "schema": {"x": {"type": "int8"}}}]}, "expected a type"),
    ({"schema": [{"blob_fields": [], "schema": {"x": {"type": "bytes"}}}]}, "to be blob fields"),
    ({"schema": [{"blob_fields": ["x", "x"], "schema": {"x": {"type": "bytes"}}}]}, "each once"),
    ({"schema": [{"blob_fields": ["x"],
                  "schema": {"x": {"type": "int32", "shape": [-1, -1]}}}]}, "one of -1"),
])
def test_a_header_that_is_wrong(tmp_path, changes, message):
    path = one_group(tmp_path)
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size]) | changes
    write_header(path, header, data)
    with pytest.raises(flow.CorruptDataError, match=message):
        read(path, "label:int32")


@pytest.mark.parametrize(("page", "changes", "message"), [
    (0, {"page_id": 7}, "page_id 0, 1, 2"),
    (0, {"page_id": 1}, "page_id 0, 1, 2"),
    (0, {"page_type": "NEW_COLUMN_DATA"}, "RAW_DATA or BLOB_DATA"),
    (0, {"page_type_id": 2}, "page_type_id 0, 1, 2"),
    (0, {"start_row_id": 1}, "rows of blob pages to follow"),
    (0, {"end_row_id": 3}, "bytes follow the last .* in its page"),
    (0, {"end_row_id": 5}, "raw row 4 of 5 is expected"),
    (0, {"end_row_id": 1 << 40}, "more than fit"),
    (0, {"page_size": 60}, "the length of blob|the page ends here, but blob"),
    (0, {"shard_id": 3}, "a page of this shard"),
    (1, {"row_group_ids": []}, "blob page has no row group"),
    (1, {"row_group_ids": [{"id": 1, "offset": 0}]}, "refers to a blob page that does not exist"),
    (1, {"row_group_ids": [{"id": 0, "offset": 0}, {"id": 0, "offset": 9}]}, "same blob page"),
    (1, {"row_group_ids": [{"id": 0, "offset": 1000}]}, "not in order, or lie outside"),
    (1, {"row_group_ids": [{"id": 0, "offset": -1}]}, "a row group with id and offset"),
    (1, {"page_size": 500}, "the file ends here, but page 1|bytes follow the last .* in its page"),
])
def test_pages_that_are_wrong(tmp_path, page, changes, message):
    path = one_group(tmp_path)
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header["page"][page] |= changes
    write_header(path, header, data)
    with pytest.raises(flow.CorruptDataError, match=message):
        read(path, "label:int32")


@pytest.mark.parametrize("cut", [0, 5, 8, 100, 1280, 1281, -1])
def test_a_file_that_was_cut(tmp_path, cut):
    path = one_group(tmp_path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(flow.CorruptDataError):
        read(path, "label:int32")


@pytest.mark.parametrize("version", ["1.0", "3.1"])
def test_other_versions(tmp_path, version):
    with pytest.raises(flow.UnsupportedError, match="version 2.0 or 3.0"):
        read(one_group(tmp_path, version=version), "label:int32")


def test_encrypted_files(tmp_path):
    path = tmp_path / "shard"
    path.write_bytes(struct.pack(">i", 100) + bytes(range(100)) + struct.pack(">i", 0)
                     + b"AES-GCMENCRYPT")
    with pytest.raises(flow.UnsupportedError, match="is encrypted; decrypt it with MindSpore"):
        read(path, "label:int32")


def test_shards_of_other_fields(tmp_path):
    first = one_group(tmp_path)
    second = tmp_path / "other"
    second.write_bytes(mindrecord_files.shard_bytes({"label": {"type": "int64"}}, [[{"label": 1}]]))
    with pytest.raises(flow.CorruptDataError, match="other.*has other fields.*than.*shard"):
        read([first, second], "label:int32")


@pytest.mark.parametrize(("field", "message"), [
    ("i32", "i32.*is int32 in the shards.*without a type; write 'i32:int32'"),
    ("i32:int64", "cannot be read as int64.*write 'i32:int32'"),
    ("longs:int64[?]", r"write 'longs:int64\[2,\?\]'"),
    ("longs:int64[3,?]", r"write 'longs:int64\[2,\?\]'"),
    ("image:int8[?]", "write 'image:bytes'"),
    ("none", "no field 'none'.*f32, f64, i32"),
])
def test_fields_that_do_not_fit(folder, field, message):
    with pytest.raises(flow.InvalidArgumentError, match=message):
        read(folder / "all", field)


def test_rows_that_do_not_fit(folder):
    with pytest.raises(flow.CorruptDataError, match="'ints' has 1 along dimension 0.*the output 4"):
        read(folder / "all", "ints:int32[4]")


@pytest.mark.parametrize(("find", "put", "message"), [
    (b"\xdb\x00\x00\x00\x05score\xcb", b"\xdb\x00\x00\x00\x05score\xc1", "unused byte 0xc1"),
    (b"\xdb\x00\x00\x00\x05score", b"\xdb\x00\x00\x00\x05scorf", "'score' is not in the raw row"),
    (b"\x84\xdb", b"\x83\xdb", "bytes follow the fields"),
    (b"\x84\xdb", b"\x94\xdb", "expected a map"),
])
def test_a_damaged_raw_row_costs_one_record(tmp_path, find, put, message):
    schema = {key: SCHEMA[key] for key in ("label", "score", "name")}
    schema["more"] = {"type": "int64"}
    rows = [row | {"more": -1} for row in rows_of(6)]
    data = mindrecord_files.shard_bytes(schema, [rows])
    at = data.index(find, data.index(find) + 1)  # of row 1
    path = tmp_path / "shard"
    path.write_bytes(data[:at] + put + data[at + len(put) :])
    blobs = flow.MindRecordReader(files=path, columns=["label:int32", "score:float32"],
                                  batch_size=4, on_error="skip")
    with flow.DataLoader(*blobs) as loader:
        rows = np.concatenate([label for label, _ in loader]).tolist()
        assert rows == [5 * i - 7 for i in range(6) if i != 1]
        (error,) = loader.skipped
    assert error.ordinal == 1 and error.byte > 512 and message in str(error)


@pytest.mark.parametrize("name", ["all", "many0", "appended"])
def test_files_that_are_not_mapped(folder, name):
    fields = ["text", "longs:int64[2,?]"] if name == "all" else ["n=id:int64", "data"]
    mapped, unmapped = (
        read(folder / name, *fields, random_shuffle=True, seed=1, file_access=access)
        for access in ("map", "read")
    )
    for left, right in zip(mapped, unmapped, strict=True):
        assert [v.tobytes() for v in left] == [v.tobytes() for v in right]


def test_large_rows_and_a_header_of_many_pages(tmp_path):
    """A page that is walked in several windows, and more pages than anybody writes by hand."""
    schema = {"label": {"type": "int32"}, "data": {"type": "bytes"}}
    groups = [[{"label": 3 * i + k, "data": b"x" * (i * 97 % 20000)} for k in range(3)]
              for i in range(300)]
    path = tmp_path / "shard"
    path.write_bytes(mindrecord_files.shard_bytes(schema, groups, page_size=1 << 16))
    for access in ("map", "read"):
        label, data = read(path, "label:int32", "data", file_access=access)
        assert [int(v) for v in label] == list(range(900))
        assert [v.size for v in data] == [i * 97 % 20000 for i in range(300) for _ in range(3)]
