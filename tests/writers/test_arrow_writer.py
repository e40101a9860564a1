"""ArrowWriter and ParquetWriter: files as pyarrow reads them, the types of columns, and shards."""

import numpy as np
import pytest
from support.written import ragged, row_of

import pyflowdata as flow

pa = pytest.importorskip("pyarrow", reason="the package pyarrow is not here")

from pyflowdata.formats import read_seal, seal_damage  # noqa: E402
from pyflowdata.io import ArrowWriter, ParquetWriter  # noqa: E402

N = 250
LISTS = flow.Ragged(np.arange(2.0 * N).reshape(-1, 2)[: N - 1], np.cumsum([0, *[2, 0, 1] * 83, 0]))
BATCH = {
    "i": np.arange(N) - 5,
    "half": np.arange(N).astype(np.float16),
    "ok": np.arange(N) % 3 == 0,
    "text": [f"é{i}" * (i % 3) for i in range(N)],
    "data": [b"\xff" * (i % 4) for i in range(N)],
    "loaded": ragged(*[b"ab"[: i % 3] for i in range(N)]),
    "x": np.arange(6 * N, dtype=np.float32).reshape(N, 2, 3),
    "lists": LISTS,
    "both": [np.arange(i % 3 * (i % 2 + 1)).reshape(i % 3, i % 2 + 1) for i in range(N)],
}


def plain(value):
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return value.tobytes()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


ROWS = [{name: plain(column[i]) for name, column in BATCH.items()} for i in range(N)]


def table_of(path, stream=False):
    opened = (pa.ipc.open_stream if stream else pa.ipc.open_file)(pa.OSFile(str(path)))
    found = opened.read_all()
    found.validate(full=True)
    return found


@pytest.mark.parametrize("compression", [None, "snappy", "gzip", "none"])
def test_pyarrow_reads_the_values_of_parquet(compression, tmp_path):
    path = tmp_path / "a.parquet"
    with ParquetWriter(path, compression=compression, group_records=100) as writer:
        writer.write_batch(BATCH)
        for row in range(60):
            writer.write(row_of(BATCH, row))
    file = pytest.importorskip("pyarrow.parquet").ParquetFile(path, page_checksum_verification=True)
    assert file.read().to_pylist() == ROWS + ROWS[:60]
    groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    assert [one.num_rows for one in groups] == [100, 100, 100, 10]
    name = {None: "ZSTD", "none": "UNCOMPRESSED"}.get(compression, str(compression).upper())
    assert {groups[0].column(i).compression for i in range(len(BATCH))} == {name}


def test_a_changed_page_of_parquet_is_found(tmp_path):
    path = tmp_path / "a.parquet"
    with ParquetWriter(path, compression="none") as writer:
        writer.write_batch({"x": np.arange(5000)})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(flow.CorruptDataError, match=r"a\.parquet.*x"):
        flow.open(path).to_numpy()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_pyarrow_reads_the_values(stream, compression, tmp_path):
    with ArrowWriter(
        tmp_path / "a", stream=stream, compression=compression, batch_records=100
    ) as writer:
        writer.write_batch(BATCH)
        for row in range(60):
            writer.write(row_of(BATCH, row))
    table = table_of(tmp_path / "a", stream)
    assert table.to_pylist() == ROWS + ROWS[:60] and writer.records == N + 60
    assert [len(one) for one in table["i"].chunks] == [100, 100, 100, 10]
    assert [str(one.type).replace("item: ", "") for one in table.schema] == [
        "int64", "halffloat", "bool", "string", "binary", "binary",
        "fixed_size_list<fixed_size_list<float>[3]>[2]", "list<fixed_size_list<double>[2]>",
        "list<list<int64>>",
    ]  # fmt: skip


def test_shards_and_types_of_columns(tmp_path):
    types = {"text": "bytes", "data": "bytes", "i": "int16", "lists": "float32[?,?]"}
    with ArrowWriter(tmp_path / "a.arrow", columns=types, shard_records=100) as writer:
        writer.write_batch(BATCH)
    assert [path.name for path in writer.paths] == [f"a-0000{i}-of-00003.arrow" for i in range(3)]
    tables = [table_of(path) for path in writer.paths]
    kinds = {one.name: str(one.type).replace("item: ", "") for one in tables[2].schema}
    assert kinds["text"] == "binary" and kinds["i"] == "int16"
    assert kinds["lists"] == "list<list<float>>"
    rows = [row for table in tables for row in table.to_pylist()]
    assert [row | {"text": row["text"].decode()} for row in rows] == ROWS
    with ArrowWriter(tmp_path / "b.arrow", shard_bytes=800) as writer:
        writer.write_batch({"i": np.arange(N)})
    assert [table_of(path).num_rows for path in writer.paths] == [100, 100, 50]
    with ArrowWriter(tmp_path / "c.arrow", columns={"x": "float32[2]"}) as writer:
        pass
    assert table_of(tmp_path / "c.arrow").schema.names == ["x"]


@pytest.mark.parametrize(
    "options, sample, message",
    [
        ({"columns": {"x": "int9"}}, {}, r"columns\['x'\] = 'int9'; it must be str, bytes"),
        ({"columns": {"x": "float32[a]"}}, {}, r"columns\['x'\] = 'float32\[a\]'; it must be"),
        ({"columns": ["x"]}, {}, r"columns = \['x'\]; it must be a dict of names and types"),
        ({"columns": {"x": "str"}}, {"y": 1}, "columns names x, and the fields are y"),
        ({"columns": {"x": "str"}}, {"x": b"\xff"}, "is not text in UTF-8 at its byte 0; say"),
        ({"columns": {"x": "int8"}}, {"x": 300}, "values of int64 do not fit into int8"),
        ({"columns": {"x": "int8[2]"}}, {"x": [1]}, r"the row is of shape \(1,\); those of this"),
        ({"columns": {"x": "int8[?,2]"}}, {"x": [[1]]}, r"x has a row of shape \(1, 1\); those"),
        ({"compression": "gzip"}, {}, "must be None, 'none' or one of 'lz4', 'zstd'"),
        ({"compression": "lz4", "level": 99}, {}, "level = 99; it must be 1 to 12"),
        ({"batch_records": 0}, {}, "batch_records = 0; it must be 1 or more"),
        ({}, {"x": None}, "x = None; a value is a number, text, bytes or an array of numbers"),
        ({}, {"x": [None]}, r"x = \[None\]; a value is a number"),
    ],
)  # fmt: skip
def test_refused(options, sample, message, tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match=message):
        with ArrowWriter(tmp_path / "a.arrow", **options) as writer:
            writer.write(sample)


def test_a_row_that_is_refused_leaves_the_file_whole(tmp_path):
    with ArrowWriter(tmp_path / "a.arrow") as writer:
        writer.write({"x": 1})
        with pytest.raises(flow.InvalidArgumentError, match=r"\(record 2\): values of"):
            writer.write_batch({"x": [2, 0.5]})
        writer.write({"x": 4})
    assert table_of(tmp_path / "a.arrow").to_pydict() == {"x": [1, 4]}
    with pytest.raises(flow.InvalidArgumentError, match="zstd compresses the buffers of the file"):
        ArrowWriter(tmp_path / "a.arrow.zst")


@pytest.mark.parametrize("stream", [False, True])
def test_seals_see_every_changed_bit_that_arrow_does_not(stream, tmp_path):
    with ArrowWriter(
        tmp_path / "a.arrow", stream=stream, seal=True, batch_records=100, shard_records=200
    ) as writer:
        writer.write_batch({"x": np.arange(300)})
    paths = sorted(tmp_path.glob("*.arrow"))
    assert [read_seal(one).records for one in paths] == [200, 100]
    for path in paths:
        assert not seal_damage(path)
        reader = flow.ArrowReader(files=str(path), check="seal")
        with flow.DataLoader(reader) as loader:
            assert sum(len(batch) for batch in loader) == read_seal(path).records
    data = bytearray(paths[0].read_bytes())
    data[data.index(np.arange(50, 60).tobytes())] ^= 1
    paths[0].write_bytes(data)
    assert seal_damage(paths[0])
    with pytest.raises(flow.CorruptDataError, match="differ from the seal"):
        flow.DataLoader(flow.ArrowReader(files=str(paths[0]), check="seal"))
