"""ArrowReader: what pyarrow and datasets wrote, read again; nulls, paths, damage."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.files import overwrite
from support.oracle import COUNTS_BYTES, allocated_bytes, fewer
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import cli
from pyflowdata.formats.base import detection

FIXTURES = ROOT / "tests/fixtures/arrow"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
TYPES = EXPECTED["types"]
FILES = ["types.arrow", "types.arrows", "types-lz4.feather", "types-zstd.arrows"]


def read(files, *columns, **attrs):
    """The rows of each column, as lists of values."""
    attrs = {"batch_size": 3, "columns": list(columns)} | attrs
    blobs = flow.ArrowReader(files=str(files), **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    rows = [[] for _ in blobs]
    with flow.DataLoader(*blobs, num_threads=2) as loader:
        for batch in loader:
            for into, part in zip(rows, batch if len(blobs) > 1 else [batch], strict=True):
                into.extend(np.array(row) for row in part)
    return rows if len(rows) > 1 else rows[0]


def texts(rows):
    return [row.tobytes().hex() for row in rows]


def nested(value):
    """Values of expected.json as NumPy compares them."""
    if isinstance(value, list):
        return [nested(one) for one in value]
    return float.fromhex(value) if isinstance(value, str) else value


def check(rows, expected, dtype):
    assert {row.dtype.name for row in rows} == {dtype}
    assert len(rows) == len(expected)
    for row, values in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(row, np.array(nested(values), dtype))


# ---- Types ---------------------------------------------------------------------------------------

NUMBERS = [name for name in TYPES if name.startswith(("int", "uint", "float"))]
TIMES = {f"timestamp_{unit}": "int64" for unit in ("s", "ms", "us", "ns")} | {
    "date32": "int32", "date64": "int64", "time32": "int32", "time64": "int64",
    "duration": "int64",
}  # fmt: skip
LISTS = {
    "list": "float32[?]", "large_list": "int16[?]", "list_bool": "bool[?]",
    "fixed_list": "int32[2]", "matrix": "int64[?,?]", "pairs": "float64[?,2]",
    "tensor": "float32[4]",
}  # fmt: skip
TEXTS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view",
         "dictionary_int8", "dictionary_uint16", "dictionary_int64"]  # fmt: skip


@pytest.mark.parametrize("file", FILES[:2])
def test_numbers_and_times(file):
    kinds = {name: name for name in NUMBERS if name != "uuid"} | TIMES | {"bool": "bool"}
    found = read(FIXTURES / file, *(f"{name}:{kind}" for name, kind in kinds.items()))
    for (name, kind), rows in zip(kinds.items(), found, strict=True):
        check(rows, TYPES[name], kind)
    (numbers,) = [read(FIXTURES / file, "dictionary_of_numbers:float64")]
    check(numbers, TYPES["dictionary_of_numbers"], "float64")


@pytest.mark.parametrize("file", FILES[:2])
def test_texts(file):
    found = read(FIXTURES / file, *TEXTS)
    for name, rows in zip(TEXTS, found, strict=True):
        assert texts(rows) == TYPES[name], name
    fixed, uuid = read(FIXTURES / file, "fixed_binary:uint8[2]", "uuid:uint8[16]")
    assert texts(fixed) == TYPES["fixed_binary"]
    assert texts(uuid) == TYPES["uuid"]


@pytest.mark.parametrize("file", FILES[:2])
def test_lists(file):
    found = read(FIXTURES / file, *(f"{name}:{kind}" for name, kind in LISTS.items()))
    for (name, kind), rows in zip(LISTS.items(), found, strict=True):
        for row, expected in zip(rows, TYPES[name], strict=True):
            values = np.array(nested(expected), kind.partition("[")[0])
            assert row.dtype == values.dtype
            assert row.size == values.size
            assert values.size == 0 or row.tolist() == values.tolist()
    rows = read(FIXTURES / file, "lists_of_binary:uint8[?,2]")
    assert texts(rows) == ["".join(one) for one in TYPES["lists_of_binary"]]


@pytest.mark.parametrize("file", FILES[:2])
def test_members_of_structs(file):
    number, text, x, y = read(
        FIXTURES / file, "struct.number:int64", "t=struct.'a.b'.text", "structs.x:int32[?]",
        "structs.y:float32[?,2]",
    )  # fmt: skip
    assert [int(one) for one in number] == [one["number"] for one in TYPES["struct"]]
    assert texts(text) == [one["a.b"]["text"] for one in TYPES["struct"]]
    for i, objects in enumerate(TYPES["structs"]):
        assert x[i].tolist() == [one["x"] for one in objects]
        assert y[i].tolist() == [[float.fromhex(v) for v in one["y"]] for one in objects]


@pytest.mark.parametrize("file", FILES[2:])
@pytest.mark.parametrize("order", [{}, {"shuffle": "global", "seed": 3, "with_id": True}])
def test_compressed_bodies(file, order):
    columns = ["int64:int64", "bool:bool", "string", "string_view", "list:float32[?]",
               "pairs:float64[?,2]", "dictionary_int8", "struct.number:int64"]  # fmt: skip
    found = read(FIXTURES / file, *columns, **order)
    places = [int(one[1]) for one in found.pop()] if order else range(8)
    assert sorted(places) == list(range(8))
    int64, bools, string, view, lists, pairs, dictionary, number = found
    for row, i in enumerate(places):
        assert int(int64[row]) == TYPES["int64"][i]
        assert bool(bools[row]) == TYPES["bool"][i]
        assert string[row].tobytes().hex() == view[row].tobytes().hex() == TYPES["string"][i]
        assert lists[row].tolist() == nested(TYPES["list"][i])
        assert pairs[row].tolist() == nested(TYPES["pairs"][i])
        assert dictionary[row].tobytes().hex() == TYPES["dictionary_int8"][i]
        assert int(number[row]) == TYPES["struct"][i]["number"]


def test_streams_of_before_0_15():
    numbers, text = read(FIXTURES / "legacy.arrows", "int64:int64", "string")
    assert [int(one) for one in numbers] == TYPES["int64"]
    assert texts(text) == TYPES["string"]


def test_a_file_of_polars():
    """With views, large lists, and a dictionary of views."""
    text, kind, lists, pair = read(FIXTURES / "polars.arrow", "text", "kind", "list:float64[?]",
                                   "pair:int32[2]")  # fmt: skip
    expected = EXPECTED["polars"]
    assert (texts(text), texts(kind)) == (expected["text"], expected["kind"])
    assert [one.tolist() for one in lists] == nested(expected["list"])
    assert [one.tolist() for one in pair] == expected["pair"]


def random_table(draw, rows):
    """A table of pyarrow, with nulls, and with slices of longer arrays."""
    pa = pytest.importorskip("pyarrow")
    words = [bytes(draw.randbytes(draw.choice((0, 3, 12, 13, 90)))) for _ in range(rows)]
    numbers = [None if draw.random() < 0.2 else draw.random() for _ in range(rows)]
    lists = [None if draw.random() < 0.2 else numbers[: draw.randrange(5)] for _ in range(rows)]
    pairs = [[draw.random(), draw.random()] for _ in range(rows)]
    kinds = {
        "pair": pa.array(pairs, pa.list_(pa.float64())),
        "bytes": pa.array(words), "view": pa.array(words, pa.binary_view()),
        "large": pa.array(words, pa.large_binary()), "key": pa.array(words).dictionary_encode(),
        "number": pa.array(numbers, pa.float64()),
        "bit": pa.array([one is None for one in numbers]),
        "list": pa.array(lists, pa.list_(pa.float64())),
    }  # fmt: skip
    cut = draw.randrange(rows)
    return pa.table({name: array[cut:] for name, array in kinds.items()})


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_pyarrow(seed, tmp_path):
    draw = random.Random(seed)
    table = random_table(draw, draw.choice((1, 7, 64, 900)))
    ipc = pytest.importorskip("pyarrow.ipc")
    options = ipc.IpcWriteOptions(compression=draw.choice((None, "lz4", "zstd")))
    opener = draw.choice((ipc.new_file, ipc.new_stream))
    with opener(str(tmp_path / "a.arrow"), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=draw.choice((1, 10, 1000)))
    *found, ids = read(
        tmp_path / "a.arrow", "bytes", "view", "large", "key", "number:float64=nan", "bit:bool",
        "list:float64[?]=nan", "pair:float64[2]", "p=pair:float64[?]", with_id=True, batch_size=16,
        **draw.choice(({"shuffle": "global", "seed": seed}, {"shuffle": "none"})),
    )  # fmt: skip
    rows = table.to_pylist()
    assert sorted(int(one[1]) for one in ids) == list(range(len(rows)))
    read_rows = zip(*found, strict=True)
    for i, (*parts, number, bit, items, pair, same_pair) in zip(ids, read_rows, strict=True):
        row = rows[int(i[1])]
        assert {part.tobytes() for part in parts} == {row["bytes"]}
        assert bool(bit) == row["bit"] == np.isnan(number)
        assert bit or float(number) == row["number"]
        expected = [np.nan if one is None else one for one in row["list"] or []]
        np.testing.assert_array_equal(items, expected)
        assert pair.tolist() == same_pair.tolist() == row["pair"]


def test_decoded_batches_are_dropped_within_a_budget(tmp_path):
    """Twelve batches of 1.5 MB each, in a cache of half of 16 MB, of three threads."""
    pa, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
    table = pa.table({"n": np.arange(12_000), "text": ["abc" * 500] * 12_000})
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream(str(tmp_path / "a.arrow"), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1000)
    blobs = flow.ArrowReader(files=str(tmp_path / "a.arrow"), batch_size=8, shuffle="global",
                             seed=1)  # fmt: skip
    with flow.DataLoader(*blobs, num_threads=3, memory_budget=16 << 20) as loader:
        seen = [number for _, batch in zip(range(30), loader) for number in batch[0].tolist()]
    assert len(seen) == len(set(seen)) == 240


def most_kept(kinds, folder):
    """The most that this process allocates for a mix of files of 12 batches of 1.5 MB each."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    options = ipc.IpcWriteOptions(compression="lz4")

    def allocated():
        return allocated_bytes() + pa.total_allocated_bytes()

    table, data = pa.table({"n": np.arange(12_000), "text": ["abc" * 500] * 12_000}), []
    for i, kind in enumerate(kinds.split()):
        path = f"{folder}/{i}.{kind}"
        if kind == "parquet":
            parquet.write_table(table, path, row_group_size=1000, use_dictionary=False)
        else:
            with ipc.new_file(path, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=1000)
        data.append(flow.open(path).shuffle(seed=i))
    before, most = allocated(), 0
    blobs = flow.mix(data, weights=[1, 1, 1]).batch(8).blobs
    with flow.DataLoader(blobs, num_threads=1, prefetch=1, memory_budget=32 << 20) as loader:
        for _, batch in zip(range(60), loader):
            assert {bytes(text) for text in batch["text"]} == {b"abc" * 500}
            most = max(most, allocated() - before)
    return most


@pytest.mark.parametrize("kinds", ["arrow arrow arrow", "arrow parquet parquet"])
def test_the_readers_of_a_loader_share_what_they_keep_decoded(kinds, tmp_path):
    """Half of 32 MB for them.  Beside them a thread has the batch that it decodes, and its pages.
    In a process of its own: others of this one allocate too."""
    pytest.importorskip("pyarrow")
    if not COUNTS_BYTES:
        pytest.skip("the C library does not count what is allocated")
    script = """
import sys
from formats.arrow.test_arrow_reader import most_kept
for _ in range(3):  # threads may decode at a time
    most = most_kept(*sys.argv[1:])
    if most < 22 << 20:
        break
print(most)
"""
    most = int(programs.run(script, kinds, tmp_path, check=True).stdout)
    assert 14 << 20 < most < 22 << 20


def test_compressed_bodies_are_read_once(tmp_path):
    """A second look could find other sizes, in a file that is being written, than the first."""
    pa, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
    values = np.random.default_rng(1).integers(0, 256, 1 << 20).astype(np.uint8)
    path = tmp_path / "values.arrow"
    table = pa.table({"x": values})
    options = ipc.IpcWriteOptions(compression="lz4")
    with ipc.new_file(str(path), table.schema, options=options) as to:
        to.write_table(table)

    def bytes_read():
        return int(Path("/proc/self/io").read_text().split()[1])

    before = bytes_read()
    with flow.DataLoader(
        flow.ArrowReader(files=str(path), columns=["x:uint8"], batch_size=1024, file_access="read"),
        num_threads=1,
    ) as loader:
        next(iter(loader))
        assert bytes_read() - before < 1.5 * path.stat().st_size


def test_unmapped_files_give_the_same(tmp_path):
    columns = ["int64:int64", "string", "string_view", "pairs:float64[?,2]", "dictionary_int8",
               "null_float:float32=nan"]  # fmt: skip
    for file in FILES:
        mapped = read(FIXTURES / file, *columns)
        unmapped = read(FIXTURES / file, *columns, file_access="read")
        for a, b in zip(mapped, unmapped, strict=True):
            for one, other in zip(a, b, strict=True):
                np.testing.assert_array_equal(one, other)


def test_order_ranks_and_resuming():
    """In the same order as IDs say, whatever the ranks."""
    attrs = {"with_id": True, "shuffle": "global", "seed": 5, "batch_size": 4}
    whole, ids = read(FIXTURES / "types.arrow", "int64:int64", **attrs)
    assert [int(one) for one in whole] == [TYPES["int64"][int(one[1])] for one in ids]
    parts = [
        read(FIXTURES / "types.arrow", "int64:int64", rank=rank, world_size=2, **attrs)[0]
        for rank in (0, 1)
    ]
    assert sorted(map(int, parts[0] + parts[1])) == sorted(TYPES["int64"])


# ---- Nulls ---------------------------------------------------------------------------------------

LISTED = [("null_float:float32", "null_float:float32=nan"), ("null_text", "null_text:bytes="),
          ("null_list:int32[?]", "null_list:int32[?]="), ("null_int:int64", "null_int:int64=0"),
          ("null_struct.text", "null_struct.text:bytes="), ("null_key", "null_key:bytes=")]


@pytest.mark.parametrize("column, advice", LISTED)
def test_a_null_without_a_default_is_an_error(column, advice):
    typed = column if ":" in column else f"{column}:bytes"
    with pytest.raises(flow.CorruptDataError, match="has a null here; a default") as caught:
        read(FIXTURES / "types.arrow", typed)
    assert f"'{advice}'" in str(caught.value)
    assert caught.value.ordinal == 1 and caught.value.byte > 0
    skipped = flow.ArrowReader(files=str(FIXTURES / "types.arrow"), columns=[typed],
                               on_error="skip", batch_size=8)
    with flow.DataLoader(skipped) as loader:
        assert sum(len(batch) for batch in loader) == 5
        assert [one.ordinal for one in loader.skipped] == [1, 4, 7]


def test_defaults():
    number, text, other, ints, items, key, member = read(
        FIXTURES / "types.arrow", "null_float:float32=-1.5", "null_text:bytes=none",
        "null_list:int32[?]=", "null_int:int64=-7", "null_item:float64[?]=nan", "null_key:bytes=?",
        "null_struct.number:int64=9",
    )  # fmt: skip
    for i, there in enumerate(one is not None for one in TYPES["null_int"]):
        assert float(number[i]) == (float.fromhex(TYPES["null_float"][i]) if there else -1.5)
        assert text[i].tobytes().hex() == (TYPES["null_text"][i] if there else b"none".hex())
        assert other[i].tolist() == (TYPES["null_list"][i] if there else [])
        assert int(ints[i]) == (TYPES["null_int"][i] if there else -7)
        assert key[i].tobytes().hex() == (TYPES["null_key"][i] if there else b"?".hex())
        assert int(member[i]) == (TYPES["null_struct"][i]["number"] if there else 9)
        expected = [np.nan if one is None else float.fromhex(one) for one in TYPES["null_item"][i]]
        np.testing.assert_array_equal(items[i], expected)
    with pytest.raises(flow.CorruptDataError, match="'null_item:float64.*has a null"):
        read(FIXTURES / "types.arrow", "null_item:float64[?]")


@pytest.mark.parametrize("column", ["null_int:int64=x", "null_int:int8=200", "null_text:bool=2",
                                    "null_list:int32[?]=x"])
def test_wrong_defaults(column):
    with pytest.raises(flow.InvalidArgumentError, match="default that is not one"):
        read(FIXTURES / "types.arrow", column)


# ---- Columns -------------------------------------------------------------------------------------


def test_columns_are_inferred():
    blobs = flow.ArrowReader(files=str(FIXTURES / "types.arrow"), batch_size=2)
    found = dict(one.split(":", 1) for one in blobs[0].node.values["columns"])
    assert {name: found[name] for name in TIMES} == TIMES
    assert {name: found[name] for name in LISTS} == LISTS
    assert {found[name] for name in TEXTS} == {"bytes"}
    assert found["struct.'a.b'.text"] == "bytes" and found["structs.y"] == "float32[?,2]"
    assert found["null_float"] == "float32=nan" and found["null_text"] == "bytes="
    assert found["null_list"] == "int32[?]=" and found["null_item"] == "float64[?]=nan"
    assert found["texts"] == found["map"] == "json"
    assert found["decimal"] == "int64"
    left_out = {"nothing", "union", "runs", "list_view", "null_int",
                "null_struct.number"}  # fmt: skip
    assert not found.keys() & left_out


def test_commands_say_what_is_left_out(capsys):
    """Also of a column of which a part is read, and for a folder."""
    assert cli.main(["head", "-n", "1", str(FIXTURES / "types.arrow")]) == 0
    said = capsys.readouterr().err
    for name in ("nothing", "union", "runs", "list_view", "null_int",
                 "null_struct.number"):  # fmt: skip
        assert f"left out: {name}, which" in said
    assert "struct, which" not in said and "map, which" not in said
    assert cli.main(["verify", str(FIXTURES / "types.arrow")]) == 0


def test_a_loader_of_all_fields_says_once_what_is_left_out(monkeypatch):
    monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
    data = flow.open(FIXTURES / "types.arrow")
    named = flow.open(FIXTURES / "types.arrow", fields=["int8", "null_int:int64=0"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for chosen in (data.batch(2)["int8"], data.project("int8").batch(2), named.batch(2).blobs):
            flow.DataLoader(chosen).close()
    with pytest.warns(UserWarning, match="without some columns") as told:
        flow.DataLoader(data.batch(2).blobs).close()
        flow.DataLoader(data.map(lambda r: {"z": 1}).shuffle(seed=1).batch(2)).close()
    assert [one.filename for one in told] == [__file__]
    said = str(told[0].message)
    assert 'null_int, which has nulls and needs a default, as in fields=["null_int:int' in said
    assert "union, which is no field" in said and "; and" not in said
    monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
    monkeypatch.setattr("pyflowdata.loader.reader_advice._MOST_COLUMNS", 5)
    with pytest.warns(UserWarning, match="; and 1 more. Name"):
        flow.DataLoader(data.batch(2).blobs).close()


@pytest.mark.parametrize("use", [
    list, lambda data: data.head(1), lambda data: data[0], lambda data: data.rows([0]),
    lambda data: data.to_numpy(1), lambda data: data.take(1).cache(),
])  # fmt: skip
def test_a_data_set_that_gives_all_fields_says_once_what_is_left_out(monkeypatch, use):
    monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
    data = flow.open(FIXTURES / "types.arrow")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(data) and len(data.column("int8")) and len(data.where("int8 > 0")) >= 0
        use(data.project("int8"))
    with pytest.warns(UserWarning, match="without some columns.*null_int, which") as told:
        for _ in range(2):
            use(data)
    assert [one.filename for one in told] == [__file__]


def test_types_may_be_left_out():
    blobs = flow.ArrowReader(files=str(FIXTURES / "types.arrow"), batch_size=2,
                             columns=["int8", "n=null_float", "struct.'a.b'.text", "x=bool:bool"])
    assert blobs[0].node.values["columns"] == [
        "int8:int8", "n=null_float:float32=nan", "struct.'a.b'.text:bytes", "x=bool:bool"
    ]  # fmt: skip


@pytest.mark.parametrize("columns, error, says", [
    (["absent:int8"], flow.InvalidArgumentError, "no column 'absent'.*there are int8, int16"),
    (["struct.x:int8"], flow.InvalidArgumentError, "no column 'x'.*there are number, a.b"),
    (["int8.x:int8"], flow.InvalidArgumentError, "names a member of 'int8', which is int"),
    (["struct..x:int8"], flow.InvalidArgumentError, "a name is empty"),
    (["struct.'a:int8"], flow.InvalidArgumentError, "a quote is not closed"),
    (["int8:int16"], flow.InvalidArgumentError, "is int here .* as int16.*write 'int8:int8'"),
    (["fixed_list:int32[3]"], flow.InvalidArgumentError, r"write 'fixed_list:int32\[2\]'"),
    (["list:float32[?,?]"], flow.InvalidArgumentError, r"write 'list:float32\[\?\]'"),
    (["string:int8"], flow.InvalidArgumentError, "write 'string:bytes'"),
    (["struct:bytes"], flow.UnsupportedError, "it is a struct: name a member"),
    (["structs:bytes"], flow.UnsupportedError, "it is a list of structs: name a member"),
    (["texts:bytes"], flow.UnsupportedError, "is list and .* it is a list of texts"),
    (["decimal:bytes"], flow.InvalidArgumentError, "is decimal here .* write 'decimal:int64'"),
    (["union:bytes"], flow.UnsupportedError, "is union and cannot be read"),
    (["runs:bytes"], flow.UnsupportedError, "is run_end_encoded and cannot be read"),
    (["list_view:int32[?]"], flow.UnsupportedError, "is list_view and cannot be read"),
])  # fmt: skip
def test_what_is_refused(columns, error, says):
    with pytest.raises(error, match=says):
        read(FIXTURES / "types.arrow", *columns)


def test_sizes_that_the_user_states_are_checked():
    rows = read(FIXTURES / "types.arrow", "fixed_binary:uint8[?]")
    assert texts(rows) == TYPES["fixed_binary"]
    with pytest.raises(flow.CorruptDataError, match="0 items along dimension 0.*output has 2"):
        read(FIXTURES / "types.arrow", "list:float32[2]")
    with pytest.raises(flow.CorruptDataError, match="0 bytes here, but the output has 1"):
        read(FIXTURES / "types.arrow", "string:uint8[1]")


def test_files_that_differ(tmp_path):
    """A file is named where a column has another type, or is not there."""
    shutil.copy(FIXTURES / "types.arrow", tmp_path / "a.arrow")
    shutil.copy(FIXTURES / "hf" / "data-00000-of-00002.arrow", tmp_path / "b.arrow")
    with pytest.raises(flow.InvalidArgumentError, match=r"b\.arrow.*no column 'int8'"):
        read(tmp_path / "*.arrow", "int8:int8")
    shutil.copy(FIXTURES / "order.arrow", tmp_path / "b.arrow")
    with pytest.raises(flow.InvalidArgumentError, match=r"b\.arrow.*an indices mapping"):
        read(tmp_path / "*.arrow", "int8:int8")
    shutil.copy(FIXTURES / "legacy.arrows", tmp_path / "b.arrow")
    assert len(read(tmp_path / "*.arrow", "int64:int64")) == 16


# ---- Data sets of Hugging Face -------------------------------------------------------------------


@pytest.mark.parametrize("given", ["hf", "hf/state.json"])
def test_a_saved_data_set(given):
    data = flow.open(FIXTURES / given)
    hf = EXPECTED["hf"]
    assert list(data.fields) == [
        "id", "text", "label", "image.bytes", "image.path", "x", "tokens", "tags", "box",
        "objects.x", "score", "meta.lang", "meta.size", "when",
    ]  # fmt: skip
    assert len(data) == 8
    for i in range(8):
        row = data[i]
        assert (row["id"], row["label"], row["when"]) == (i, i % 2, i * 1000)
        assert row["text"].hex() == hf["text"][i]
        assert [one.encode().hex() for one in json.loads(row["tags"])] == hf["tags"][i]
        assert row["image.bytes"].hex() == hf["image"][i]["bytes"]
        assert row["x"].tolist() == nested(hf["x"][i])
        assert row["tokens"].tolist() == hf["tokens"][i] == row["objects.x"].tolist()
        assert row["box"].tolist() == nested(hf["box"][i])
        assert np.isnan(row["score"]) if i == 2 else row["score"] == i / 4
        assert (row["meta.lang"].hex(), row["meta.size"]) == tuple(hf["meta"][i].values())
    assert np.array(data[3]["x"]).shape == (2, 3)


def test_a_list_of_files_that_is_longer_than_a_head(tmp_path):
    shutil.copytree(FIXTURES / "hf_splits" / "train", tmp_path, dirs_exist_ok=True)
    text = (tmp_path / "state.json").read_text()
    (tmp_path / "state.json").write_text(text.replace("]", " " * 70_000 + "]", 1))
    assert len(flow.open(tmp_path)) == 3


def test_folders_that_are_not_one_data_set(tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match="several data sets.*such as train"):
        flow.ArrowReader(str(FIXTURES / "hf_splits"), columns=["text"])
    with pytest.raises(flow.InvalidArgumentError, match="several data sets"):
        flow.open(FIXTURES / "hf_splits")
    assert len(flow.open(FIXTURES / "hf_splits" / "train")) == 3
    state = {"_data_files": [{"filename": "../x.arrow"}], "_fingerprint": ""}
    (tmp_path / "state.json").write_text(json.dumps(state))
    with pytest.raises(flow.CorruptDataError, match="which is not in its folder"):
        flow.ArrowReader(str(tmp_path), columns=["text"])
    state["_indices_data_files"] = [{"filename": "indices.arrow"}]
    (tmp_path / "state.json").write_text(json.dumps(state))
    with pytest.raises(flow.UnsupportedError, match=r"an indices mapping.*flatten_indices\(\)"):
        flow.ArrowReader(str(tmp_path), columns=["text"])


def test_a_state_json_of_another_program(tmp_path):
    (tmp_path / "state.json").write_text('{"step": 3}')
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(flow.InvalidArgumentError, match=r"not of one format.*state\.json"):
        flow.open(tmp_path)
    shutil.copy(FIXTURES / "legacy.arrows", tmp_path / "a.arrows")
    with pytest.raises(flow.CorruptDataError, match=r"state\.json.*the member _data_files"):
        flow.open(tmp_path)
    assert len(flow.open(tmp_path / "*.arrows")) == 8


@pytest.mark.parametrize("name, data, says", [
    ("f03.arrows", b"a,b\n1,2\n", r"f03\.arrows.*it looks like CSV"),
    ("f90.arrows", b"a,b\n1,2\n", r"f90\.arrows.*it looks like CSV"),
    ("f90.arrows", b"", r"f90\.arrows.*neither an Arrow IPC file"),
    ("f90.arrows", gzip.compress(b"a", mtime=0), r"f90\.arrows.*compressed by gzip"),
    ("f90.txt", b"a,b\n1,2\n", r"not of one format.*f90\.txt is"),
])  # fmt: skip
def test_few_of_many_files_are_read_to_find_their_format(
    tmp_path, monkeypatch, name, data, says
):
    counted = []
    head_of = detection.head_of
    monkeypatch.setattr(detection, "head_of", lambda path: counted.append(path) or head_of(path))
    for number in range(100):
        shutil.copy(FIXTURES / "legacy.arrows", tmp_path / f"f{number:02}.arrows")
    assert len(flow.open(tmp_path)) == 800 and len(counted) <= 16
    (tmp_path / name).write_bytes(data)
    with pytest.raises(flow.Error, match=says):
        len(flow.open(tmp_path))


# ---- Damage --------------------------------------------------------------------------------------


def test_a_damaged_batch_costs_its_rows(tmp_path):
    data = (FIXTURES / "types-zstd.arrows").read_bytes()
    (tmp_path / "a.arrow").write_bytes(data.replace(b"\x28\xb5\x2f\xfd", bytes(4)))
    shutil.copy(FIXTURES / "types-zstd.arrows", tmp_path / "b.arrow")
    blobs = flow.ArrowReader(files=str(tmp_path / "*.arrow"), batch_size=16, on_error="skip",
                             columns=["int64:int64", "string:bytes", "list:float32[?]"])
    with flow.DataLoader(*blobs) as loader:
        (batch,) = loader
        assert batch[0].tolist() == TYPES["int64"]
        assert [one.ordinal for one in loader.skipped] == list(range(8))
        assert all("compressed by zstd" in str(one) for one in loader.skipped)


DAMAGED = {
    "types.arrow": ["int64:int64", "string", "string_view", "matrix:int64[?,?]",
                    "list_bool:bool[?]", "dictionary_int8", "null_text:bytes=",
                    "structs.y:float32[?,2]"],
    "hf/data-00000-of-00002.arrow": ["n=id:int64", "text", "x:float32[2,3]", "image.bytes"],
    "types-lz4.feather": ["int64:int64", "string", "list:float32[?]", "dictionary_int8"],
    "types-zstd.arrows": ["string", "string_view", "pairs:float64[?,2]"],
}  # fmt: skip


def tried(path, columns):
    """The rows, or None where an error was raised."""
    try:
        return read(path, *columns, batch_size=8)
    except flow.InternalError:
        raise
    except flow.Error as error:
        assert str(error)
        return None


def same(found, whole):
    return all(
        len(a) == len(b) and all(map(np.array_equal, a, b))
        for a, b in zip(found, whole, strict=True)
    )


@pytest.mark.parametrize("name", DAMAGED)
def test_every_cut_is_noticed(name, tmp_path):
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / "a.arrow"
    path.touch()
    for size in range(0, len(data), max(1, len(data) // 300)):
        overwrite(path, data[:size])
        assert tried(path, DAMAGED[name]) is None, size


@pytest.mark.parametrize("name", DAMAGED)
def test_offsets_that_point_anywhere(name, tmp_path):
    """Words of the metadata and of the bodies become numbers that no buffer has."""
    data, draw = (FIXTURES / name).read_bytes(), random.Random(4)
    whole = read(FIXTURES / name, *DAMAGED[name], batch_size=8)
    path, others = tmp_path / "a.arrow", 0
    path.touch()
    words = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0, 1, 7, 64, len(data), len(data) - 8)
    for _ in range(fewer(250)):
        at = draw.randrange(len(data) // 4) * 4
        overwrite(path, data[:at] + struct.pack("<I", draw.choice(words)) + data[at + 4 :])
        found = tried(path, DAMAGED[name])
        others += found is None or not same(found, whole)
    assert others > fewer(250) // 12


def test_wrong_rows_among_neighbours_are_found_one_by_one(tmp_path):
    """The text of row 6 ends before it begins, so that rows 5 and 7 are in doubt; rows 2 and 3 have
    lists of 3 and 1 items."""
    pa = pytest.importorskip("pyarrow")
    ends, lists = np.arange(0, 42, 2, np.int32), np.arange(0, 42, 2, np.int32)
    ends[7], lists[3] = 11, 7
    text = pa.StringArray.from_buffers(20, pa.py_buffer(ends), pa.py_buffer(bytes(range(60, 100))))
    pairs = pa.ListArray.from_arrays(pa.array(lists), pa.array(np.arange(40, dtype=np.int32)))
    table = pa.table({"text": text, "pair": pairs})
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    columns = ["text", "pair:int32[2]"]
    with pytest.raises(flow.CorruptDataError, match=r"'pair:int32\[2\]' has 3 items") as caught:
        read(tmp_path / "a.arrow", *columns, batch_size=20)
    assert caught.value.ordinal == 2
    blobs = flow.ArrowReader(files=str(tmp_path / "a.arrow"), columns=columns, batch_size=20,
                             on_error="skip")  # fmt: skip
    with flow.DataLoader(*blobs) as loader:
        ((found, pair),) = loader
        assert [one.ordinal for one in loader.skipped] == [2, 3, 5, 6, 7]
    good = [i for i in range(20) if i not in (2, 3, 5, 6, 7)]
    assert pair.tolist() == [[2 * i, 2 * i + 1] for i in good]
    assert [bytes(one) for one in found] == [bytes(range(60, 100))[2 * i : 2 * i + 2] for i in good]


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("column", ["text", "list:int32[?]", "list:json"])
def test_every_flip_of_an_offset_leaves_rows_right_or_refused(column, access, is_large, tmp_path):
    """Six rows, once for each bit of their seven offsets, of which the bit is flipped.

    8 flips of 224 (of 448 in 64 bits) keep the offsets in order and inside the values: the two
    rows beside such an offset differ, and nothing can tell.  All others are seen."""
    pa = pytest.importorskip("pyarrow")
    rows = [[1001, 1002], [], [1003, 1004, 1005], [1006], [1007, 1008, 1009, 1010], [1011, 1012]]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64 if is_large else np.int32)
    values, name = [list(bytes(i % 251 for i in row)) for row in rows], column.partition(":")[0]
    if name == "list":
        kind, values = (pa.large_list if is_large else pa.list_)(pa.int32()), rows
        given = pa.array(rows, kind)
    else:
        kind = pa.large_binary() if is_large else pa.binary()
        given = pa.array([bytes(row) for row in values], kind)
    flips, path = 8 * offsets.nbytes, tmp_path / "a.arrow"
    batch = pa.record_batch({name: given})
    with pa.ipc.new_file(str(path), pa.schema({"n": pa.int64(), name: kind})) as writer:
        for i in range(flips):
            numbers = pa.array(range(6 * i, 6 * i + 6), pa.int64())
            writer.write_batch(pa.record_batch({"n": numbers, name: batch[0]}))
    data, at, damaged = bytearray(path.read_bytes()), -1, []
    for i in range(flips):
        at = data.index(offsets.tobytes(), at + 1)
        data[at + i // 8] ^= 1 << i % 8
        damaged.append([0, *np.frombuffer(data, offsets.dtype, 7, at).tolist(), 12])
    assert data.find(offsets.tobytes(), at + 1) < 0
    path.write_bytes(data)
    sizes = ((5, "none"), (6 * flips, "none"), (96, "global"))
    for size, order in [(1, "none"), *sizes] if access == "map" else sizes:
        blobs = flow.ArrowReader(files=str(path), columns=["n:int64", column], batch_size=size,
                                 shuffle=order, file_access=access, on_error="skip",
                                 max_skipped=-1)  # fmt: skip
        found, unseen = {}, 0
        with flow.DataLoader(*blobs) as loader:
            for numbers, batch in loader:
                found |= zip(numbers.tolist(), map(plain_of(column), batch), strict=True)
        for i, all_offsets in enumerate(damaged):
            delivered = {row for row in range(6) if 6 * i + row in found}
            differ = {row for row in delivered if found[6 * i + row] != values[row]}
            bit_of = i // 8 // offsets.itemsize  # the offset that the bit is of
            beside = {bit_of - 1, bit_of} & {*range(6)}
            if all_offsets == sorted(all_offsets):
                assert delivered == {*range(6)} and differ == beside
                unseen += 1
            else:
                assert not differ and delivered >= {*range(6)} - beside - {bit_of - 2, bit_of + 1}
        assert unseen == 8


def plain_of(column):
    return (lambda row: json.loads(bytes(row))) if column.endswith("json") else list


def test_a_compressed_dictionary_that_states_too_many_buffers(tmp_path):
    """7 * 2^56 buffers of views, over which a loop would not end."""
    data = bytearray((FIXTURES / "polars.arrow").read_bytes())
    data[1519] = 7  # the highest byte of their number
    (tmp_path / "a.arrow").write_bytes(data)
    with pytest.raises(flow.CorruptDataError, match="more buffers for views than it has"):
        read(tmp_path / "a.arrow", "kind")


def test_orders_of_runs_and_lone_rows_over_several_batches(tmp_path):
    """Runs are copied in place, lone rows are gathered by columns, also those that need a look."""
    pa = pytest.importorskip("pyarrow")
    rows = 400
    table = pa.table({
        "bool": [i % 7 == 0 for i in range(rows)],
        "x": np.arange(rows, dtype=np.float32),
        "text": [None if i % 5 == 0 else f"row {i}" for i in range(rows)],
        "word": pa.array([f"w{i % 9}" for i in range(rows)]).dictionary_encode(),
        "list": [[[i]] * (i % 3) for i in range(rows)],
    })  # fmt: skip
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=30)
    data = flow.open(path)
    rng = np.random.default_rng(3)
    for _ in range(30):
        order: list[int] = []
        while len(order) < 60:
            first = int(rng.integers(rows - 3))
            order += range(first, first + int(rng.choice([1, 1, 1, 2, 3])))
        found = data.rows(order)
        assert found["x"].tolist() == order
        assert found["bool"].tolist() == [i % 7 == 0 for i in order]
        assert found["text"].to_bytes_list() == [
            b"" if i % 5 == 0 else f"row {i}".encode() for i in order
        ]
        assert found["word"].to_bytes_list() == [f"w{i % 9}".encode() for i in order]
        lists = [found["list"][k].reshape(-1).tolist() for k in range(len(order))]
        assert lists == [[i] * (i % 3) for i in order]
