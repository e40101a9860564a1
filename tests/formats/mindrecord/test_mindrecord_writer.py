"""MindRecordWriter: pages, the index, sets of shards, and what MindRecord cannot hold."""

import gzip
import hashlib
import json
import sqlite3
import struct

import numpy as np
import pytest
from support.command import here  # noqa: F401  (a fixture)
from support.paths import ROOT
from support.written import ragged, row_of

import pyflowdata as flow
from pyflowdata.formats import open_source
from pyflowdata.io import MindRecordWriter

MINDSPORE = ROOT / "tests/fixtures/mindspore"
N = 300
WIDE = [(-1) ** i * 2 ** (i % 63) for i in range(N)]
BATCH = {
    "i": np.array(WIDE), "small": np.arange(N).astype(np.int16), "ok": np.arange(N) % 2 == 0,
    "f": np.linspace(0, 1, N, dtype=np.float32), "d": np.linspace(0, 1, N),
    "t": ["é" * (i * 7 % 400) for i in range(N)], "b": [b"\xff\0" * (i % 9) for i in range(N)],
    "ids": ragged(*[WIDE[i : i + i % 7] for i in range(N)], dtype=np.int64),
    "x": np.arange(4 * N, dtype=np.float32).reshape(N, 2, 2),
    "pairs": ragged(*[np.arange(2.0 * (i % 3)) for i in range(N)], dtype=np.float64),
    "n": np.arange(5 * N, dtype=np.int32).reshape(N, 5) * 1000,
}  # fmt: skip
SMALL = {"header_bytes": 1 << 14, "page_bytes": 1 << 15}


def rows_of(columns):
    """The rows as Python's values, text as bytes."""
    found = []
    for i in range(N):
        row = {name: column[i] for name, column in columns.items()}
        found.append({
            name: value.encode() if isinstance(value, str) else
            np.asarray(value).tolist() if not isinstance(value, bytes) else value
            for name, value in row.items()
        })  # fmt: skip
    return found


def batch_of(path):
    source = open_source([path])
    with source.loader(batch_size=N) as loader:
        (batch,) = loader
    are_bytes = {field.name for field in source.fields if field.dtype == "bytes"}
    return {n: one.to_bytes_list() if n in are_bytes else one for n, one in batch.items()}


def header_of(path):
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + size])


@pytest.mark.parametrize("options", [{}, {**SMALL, "shard_records": 130, "index": ["t", "i"]}])
@pytest.mark.parametrize("names", [list(BATCH), ["i", "f", "t"], ["b", "ids"], ["x"]])
def test_all_types_are_read_back(options, names, tmp_path):
    columns = {name: BATCH[name] for name in names}
    options = options if "i" in names else {**options, "index": []}
    with MindRecordWriter(tmp_path / "a.mindrecord", **options) as writer:
        writer.write_batch({name: column[:100] for name, column in columns.items()})
        for row in range(100, 110):
            writer.write(row_of(columns, row))
        writer.write_batch({name: column[110:] for name, column in columns.items()})
    assert writer.records == N and len(writer.paths) == (6 if "shard_records" in options else 2)
    assert rows_of(batch_of(writer.paths[-2])) == rows_of(columns)  # one shard names the others


def test_the_index_has_the_place_of_each_row(tmp_path):
    with MindRecordWriter(tmp_path / "a-{shard}", **SMALL, index=["d", "t"]) as writer:
        writer.write_batch(BATCH)
    header = header_of(tmp_path / "a-0")
    pages = {one["page_id"]: one for one in header["page"]}
    assert len(pages) > 4 and header["shard_addresses"] == ["a-0"]
    with sqlite3.connect(tmp_path / "a-0.db") as db:
        assert db.execute("SELECT NAME FROM SHARD_NAME").fetchall() == [("a-0",)]
        rows = db.execute("SELECT * FROM INDEXES ORDER BY ROW_ID").fetchall()
    data = (tmp_path / "a-0").read_bytes()
    for number, row in enumerate(rows):
        assert row[0] == number and row[8::2] == (0, 0)
        assert row[9::2] == (BATCH["d"][number], BATCH["t"][number])
        for kind, page, begin, end in (("RAW_DATA", *row[1:4]), ("BLOB_DATA", *row[5:8])):
            assert pages[page]["page_type"] == kind and end <= pages[page]["page_size"] <= 1 << 15
            at = (1 << 14) + page * (1 << 15) + begin
            assert struct.unpack_from("<Q", data, at) == (end - begin - 8,)
        assert pages[row[5]]["page_type_id"] == row[4]
        assert pages[row[5]]["start_row_id"] <= number < pages[row[5]]["end_row_id"]


# Digests of the files that MindSpore 2.10 reads in the test after the next one, which is left out
# where MindSpore is not installed.
READ_BY_MINDSPORE = {
    "a-00000-of-00003": "2407b5ee56ef0914", "a-00001-of-00003": "95dac3e2cf2f3427",
    "a-00002-of-00003": "d064951611116dcb", "index": "86c142ba61675642",
}  # fmt: skip


@pytest.fixture
def written(tmp_path):
    """The paths of three shards, and digests of them and of what is in their indexes."""
    with MindRecordWriter(tmp_path / "a", **SMALL, shard_records=130) as writer:
        writer.write_batch(BATCH)
    digests, index = {}, hashlib.sha256()
    for path in writer.paths:
        if path.suffix == ".db":  # its bytes differ with the version of SQLite
            with sqlite3.connect(path) as db:
                index.update("".join(db.iterdump()).encode())
        else:
            digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return writer.paths, {**digests, "index": index.hexdigest()[:16]}


def test_bytes_are_those_that_mindspore_has_read(written):
    assert written[1] == READ_BY_MINDSPORE


def test_mindspore_reads_it(written):
    mindrecord = pytest.importorskip("mindspore.mindrecord", reason="MindSpore is not here")
    reader = mindrecord.FileReader(str(written[0][0]), 1)
    found = [*reader.get_next()]
    reader.close()
    for row, wanted in zip(found, rows_of(BATCH), strict=True):
        row["t"] = row["t"].encode()
        assert {name: getattr(one, "tolist", lambda: one)() for name, one in row.items()} == wanted
    assert written[1] == READ_BY_MINDSPORE


def test_pages_are_those_that_mindspore_makes_of_the_same_values(tmp_path):
    """All but integers, which MindSpore stores in as few bytes as they need."""
    theirs = gzip.decompress((MINDSPORE / "blobs.gz").read_bytes())
    rows = json.loads((MINDSPORE / "expected.json").read_text())["blobs"]
    columns = {"a": "bytes", "b": "int64[?]"}
    options = {"columns": columns, "description": "a set", **SMALL}
    with MindRecordWriter(tmp_path / "blobs", **options) as writer:
        for row in rows:
            dtype, shape, values = row["b"]
            b = np.array(values, dtype).reshape(shape)
            writer.write({"a": bytes.fromhex(row["a"]), "b": b})
    assert (tmp_path / "blobs").read_bytes() == theirs


@pytest.mark.parametrize(
    "options, sample, message",
    [
        ({}, {"u": np.uint64(1)}, "u is of uint64; MindRecord has int32, int64, float32, float64"),
        ({}, {"a.b": 1}, "the field 'a.b': MindRecord has names of letters, digits, _ and - only"),
        ({"columns": {"x": "int32[?,?]"}}, {}, "in MindRecord one size may vary: pad them"),
        ({"columns": {"x": "int8"}}, {}, r"columns\['x'\] = 'int8'; it must be str, bytes"),
        ({"columns": {"x": "int32"}}, {"x": 2**31}, "values of int64 do not fit into int32"),
        ({"columns": {"x": "str"}}, {"x": b"\xff"}, "x = .* is not text in UTF-8 at its byte 0"),
        ({"page_bytes": 1 << 15}, {"x": bytes(1 << 15)}, "the arrays and bytes of the record have"),
        ({"page_bytes": 5}, {}, "page_bytes = 5; it must be 32768 to 268435456"),
        ({"header_bytes": (1 << 14) + 1}, {}, "header_bytes = 16385; it must be a multiple of 4"),
        ({"index": ["b"]}, {"b": b"x", "i": 1}, "index names 'b'; it must be a field of numbers"),
        ({"index": "b"}, {}, "index = 'b'; it must be a list of names"),
        ({}, {f"x{i}": i for i in range(101)}, "there are 101 fields; MindRecord has at most 100"),
        ({**SMALL, "description": "x" * 20000}, {"x": 1}, "the header has .* say header_bytes=N"),
    ],
)  # fmt: skip
def test_refused(options, sample, message, tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match=message):
        with MindRecordWriter(tmp_path / "a", **options) as writer:
            writer.write(sample)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shards", [1, 3])
def test_convert_to_mindrecord(shards, tmp_path, here):  # noqa: F811
    lines = [{"i": i, "t": "é" * (i % 3), "x": [i, 0.5]} for i in range(9)]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    target = tmp_path / "b.mindrecord"
    arguments = "--fields", "i,t,x:float64[2]", "--shards", shards, "--seal"
    status, _, err = here("convert", tmp_path / "a.jsonl", target, *arguments)
    assert status == 0, err
    made = sorted(tmp_path.glob("b*.mindrecord"))
    assert header_of(made[-1])["shard_addresses"] == [one.name for one in made]
    assert len(made) == shards and here("verify", *made)[0] == 0
    assert here("convert", *made, tmp_path / "c.jsonl")[0] == 0
    again = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert again == lines
