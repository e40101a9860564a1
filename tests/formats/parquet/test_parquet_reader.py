"""ParquetReader: what pyarrow wrote, read again; row groups of any sizes, statistics, damage."""

from __future__ import annotations

import collections
import datetime
import decimal
import json
import os
import random
import sys
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from support import programs
from support.oracle import block_order
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import cli
from pyflowdata.native import ffi
from pyflowdata.pyops import row_groups

TYPES = ROOT / "tests/fixtures/arrow/types.arrow"
TABLES = ROOT / "tests/fixtures/tables"


def write(path, *tables, **options):
    """A file with a row group for each table."""
    with pq.ParquetWriter(path, tables[0].schema, **options) as writer:
        for one in tables:
            writer.write_table(one, row_group_size=len(one) or 1)
    return str(path)


def numbered(*sizes):
    """Tables that follow each other."""
    begins = np.cumsum([0, *sizes])
    return [
        pa.table({"i": np.arange(a, b),
                  "text": pa.array([f"text {i}" for i in range(a, b)], pa.string())})
        for a, b in zip(begins, begins[1:], strict=False)
    ]


def read(blobs, **options):
    """Rows of i, and the texts."""
    found, texts = [], []
    with flow.DataLoader(*blobs, **options) as loader:
        for i, text in loader:
            found.extend(i.tolist())
            texts.extend(one.decode() for one in text.to_bytes_list())
    assert texts == [f"text {i}" for i in found]
    return found


@pytest.fixture
def decoded(monkeypatch):
    """How often each row group was decoded."""
    counts = collections.Counter()
    decode = row_groups._File.decode

    def counted(self, readable, group, leaves, rows):
        counts[ffi.string(readable.file.path).decode(), group] += 1
        return decode(self, readable, group, leaves, rows)

    monkeypatch.setattr(row_groups._File, "decode", counted)
    return counts


# ---- Nested columns as JSON ----------------------------------------------------------------------

NESTED = pa.table({
    "tags": pa.array([["a", None, 'q"\\\n\x01\u00e9'], None, [], ["x"]], pa.list_(pa.string())),
    "pairs": pa.array([[("k", 1), ("j", None)], [], None, [("z", 3)]],
                      pa.map_(pa.string(), pa.int32())),
    "chat": pa.array([[{"role": "u", "text": "hi"}, None], None, [], [{"role": "", "text": None}]]),
    "jagged": pa.array([[[1], [2, 3]], [], None, [[None]]], pa.large_list(pa.list_(pa.int64()))),
    "any": pa.array([{"names": ["x"], "f": 1.5, "h": 0.1, "no": None}, None,
                     {"names": None, "f": float("-inf"), "h": None, "no": None},
                     {"names": [], "f": 1e300, "h": -2.0, "no": None}],
                    pa.struct([("names", pa.list_(pa.large_string())), ("f", pa.float64()),
                               ("h", pa.float32()), ("no", pa.null())])),
    "far": pa.array([[2**64 - 1], None, [0], []], pa.list_(pa.uint64())),
    "box": pa.array([[True, None], None, [False, True], [None, None]], pa.list_(pa.bool_(), 2)),
    "one": pa.array([-5, None, 7, 2**60], pa.int64()),
})  # fmt: skip


def listed(value):
    """A value of pyarrow as JSON has it: a pair of a map is a list."""
    if isinstance(value, dict):
        return {name: listed(one) for name, one in value.items()}
    return list(map(listed, value)) if isinstance(value, (list, tuple)) else value


def texts_of(blob):
    with flow.DataLoader(blob) as loader:
        return [json.loads(one) for rows in loader for one in rows.to_bytes_list()]


@pytest.fixture(params=["parquet", "arrow", "lz4", "stream", "table"])
def nested(request, tmp_path):
    """What gives columns of the table, as each reader of Arrow's types has it."""
    kind, path = request.param, tmp_path / "x"
    if kind == "table":
        return lambda *columns: flow.from_arrow(NESTED, columns=columns).batch(3)
    if kind == "parquet":
        pq.write_table(NESTED, path, row_group_size=3)
        return lambda *columns: flow.ParquetReader(files=str(path), columns=columns, batch_size=3)
    packed = pa.ipc.IpcWriteOptions(compression="lz4" if kind == "lz4" else None)
    make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with make(path, NESTED.schema, options=packed) as file:
        file.write_table(NESTED, max_chunksize=3)
    return lambda *columns: flow.ArrowReader(files=str(path), columns=columns, batch_size=3)


def test_nested_columns_are_the_values_of_pyarrow_in_json(nested):
    names = NESTED.column_names
    blobs = nested(*[f"{name}:json" for name in names], "roles=chat.role:json=[]")
    columns = [blobs[name] for name in [*names, "roles"]] if hasattr(blobs, "fields") else blobs
    for name, blob in zip(names, columns, strict=False):
        assert texts_of(blob) == listed(NESTED[name].to_pylist()), name
    assert texts_of(columns[-1]) == [["u", None], [], [], [""]]  # the path goes through the list


def test_columns_of_json_are_found_and_others_say_why(tmp_path):
    more = {"raw": [[b"x"]] * 4, "days": [[datetime.date(2020, 1, 1)]] * 4, "meta.lang": ["de"] * 4}
    table = NESTED
    for name, rows in more.items():
        table = table.append_column(name, pa.array(rows))
    path = write(tmp_path / "x.parquet", table)
    columns = flow.ParquetReader(files=path, batch_size=4)[0].node.values["columns"]
    assert [one.partition(":")[0] for one in columns if one.endswith(":json")] == [
        "tags", "pairs", "chat", "any.names"
    ]  # fmt: skip
    assert {"far:uint64[?]=", "any.f:float64=nan", "'meta.lang':bytes"} <= {*columns}
    assert cli.main(["convert", path, str(tmp_path / "x.jsonl"), "--fields", "tags,chat"]) == 0
    with open(tmp_path / "x.jsonl") as lines:  # values, and not texts of them
        assert [json.loads(one) for one in lines] == NESTED.select(["tags", "chat"]).to_pylist()
    assert json.loads(flow.open(path, fields=["jagged:json"])[0]["jagged"]) == [[1], [2, 3]]
    dotted = flow.ParquetReader(files=path, columns=["meta.lang:bytes"], batch_size=4)
    with flow.DataLoader(dotted) as of:
        assert next(iter(of)).to_bytes_list() == [b"de"] * 4  # the name of the column has the dot
    for column, says in (("raw:json", "as JSON: it has binary values"),
                         ("days:json", "as JSON: it has dates or times"),
                         ("tags:bytes", "list of texts.*write 'tags:json'"),
                         ("chat:json={", "has a default that is not JSON")):  # fmt: skip
        with pytest.raises(flow.Error, match=says):
            flow.DataLoader(flow.ParquetReader(files=path, columns=[column], batch_size=1))
    broken = pa.array([b"\xff"] * 2).cast(pa.string(), safe=False)
    with pa.ipc.new_file(tmp_path / "y.arrow", pa.schema([("t", pa.string())])) as file:
        file.write(pa.record_batch([broken], ["t"]))
    blob = flow.ArrowReader(files=str(tmp_path / "y.arrow"), columns=["t:json"], batch_size=1)
    with flow.DataLoader(blob) as loader, pytest.raises(flow.CorruptDataError, match="not UTF-8"):
        next(iter(loader))


# ---- Values --------------------------------------------------------------------------------------


def test_all_types_have_the_values_of_arrow_reader(tmp_path):
    """The fixture has each type of Arrow; Parquet cannot store a few of them."""
    with pa.ipc.open_file(TYPES) as file:
        table = file.read_all()
    for name in [*table.column_names]:
        try:
            pq.write_table(table.select([name]), tmp_path / "one")
            pq.read_table(tmp_path / "one").validate()
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            table = table.drop_columns([name])
    path = tmp_path / "types.parquet"
    pq.write_table(table, path, row_group_size=2)
    fields = flow.open(TYPES).fields
    stored, names = flow.open(path), []
    for name in stored.fields:
        if name == "timestamp_s":  # Parquet has no seconds
            continue
        if name in fields and str(stored.fields[name]) == str(fields[name]):
            names.append(name)
    assert len(names) > 30
    ours, theirs = flow.open(path, fields=names), flow.open(TYPES, fields=names)
    assert len(ours) == len(theirs) == len(table)
    for i in range(len(ours)):
        for name in names:
            np.testing.assert_array_equal(ours[i][name], theirs[i][name], err_msg=name)


@pytest.mark.parametrize("skipped", [0, 3, 8])
def test_nested_columns_and_nulls(tmp_path, monkeypatch, skipped):
    """Also where arrays do not begin at their first item, as slices do not."""
    decode = row_groups._File._decode

    def sliced(self, readable, number, leaves, rows):
        (batch,) = decode(self, readable, number, leaves, rows)
        before = pa.concat_tables([pa.table(batch)] * 4).slice(0, skipped)
        both = pa.concat_tables([before, pa.table(batch)]).combine_chunks()
        return [both.to_batches()[0].slice(skipped)]

    monkeypatch.setattr(row_groups._File, "_decode", sliced)
    table = pa.table({
        "s": pa.array([{"a": i, "deep": {"x": [float(i)] * (i % 3)}} if i % 5 else None
                       for i in range(20)]),
        "objects": [[{"k": i, "name": "n"}] * (i % 4) for i in range(20)],
        "fixed": pa.array([[i, -i] for i in range(20)], pa.list_(pa.int16(), 2)),
        "word": pa.array(["ab" * (i % 3) for i in range(20)]).dictionary_encode(),
        "words": pa.array([[i % 2 == 0, True] for i in range(20)]),
        "n": pa.array([None if i == 7 else i for i in range(20)], pa.uint8()),
    })  # fmt: skip
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=6)
    fields = ["s.a:int64=-1", "s.deep.x:float64[?]=", "objects.k:int64[?]", "fixed:int16[2]"]
    data = flow.open(path, fields=[*fields, "word", "words:bool[?]", "n:uint8=255"])
    for i, row in enumerate(table.to_pylist()):
        found, s = data[i], row["s"]
        assert found["s.a"] == (s["a"] if s else -1)
        assert found["s.deep.x"].tolist() == (s["deep"]["x"] if s else [])
        assert found["objects.k"].tolist() == [one["k"] for one in row["objects"]]
        assert found["fixed"].tolist() == row["fixed"]
        assert found["word"] == row["word"].encode()
        assert found["words"].tolist() == row["words"]
        assert found["n"] == (255 if row["n"] is None else row["n"])
    with pytest.raises(flow.CorruptDataError, match=r"column 'n:uint8' has a null here"):
        list(flow.DataLoader(flow.ParquetReader(files=str(path), columns=["n:uint8"])))


def decimals(digits, scale):
    """Numbers of up to as many digits, with a null where a default says so by itself."""
    draw, found = random.Random(digits), []
    for place in range(40):
        unscaled = draw.randrange(10 ** (1 + place % min(digits, 38))) * (-1) ** place
        found.append(None if place == 7 and scale else decimal.Decimal(f"{unscaled}e{-scale}"))
    return found


@pytest.mark.parametrize("form", ["parquet", "arrow", "table"])
def test_decimals_are_the_nearest_float64_and_whole_ones_int64(tmp_path, form):
    types = {"a": pa.decimal128(15, 2), "b": pa.decimal128(38, 10), "c": pa.decimal256(76, 30),
             "whole": pa.decimal128(18, 0), "wide": pa.decimal256(60, 0)}  # fmt: skip
    columns = {name: pa.array(decimals(min(of.precision, 38 if of.scale else 18), of.scale), of)
               for name, of in types.items()}  # fmt: skip
    columns["list"] = pa.array([[one] * (i % 3) for i, one in enumerate(columns["a"])], pa.list_(
        types["a"]))  # fmt: skip
    columns["word"] = columns["b"].take(pa.array([1, 2, 3, 7] * 10)).dictionary_encode()
    table, path = pa.table(columns), tmp_path / f"a.{form}"
    if form == "parquet":
        pq.write_table(table, path, row_group_size=13)
    elif form == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    data = flow.from_arrow(table) if form == "table" else flow.open(path)
    for order in (range(40), list(np.random.default_rng(0).permutation(40))):
        found = data.rows(order)
        for name, values in columns.items():
            wanted = [values[int(i)].as_py() for i in order]
            kind = int if name in ("whole", "wide") else float
            if name == "list":
                wanted = [[float("nan") if x is None else kind(x) for x in one] for one in wanted]
                assert str(found[name].tolist()) == str(wanted)
                continue
            assert found[name].dtype == (np.int64 if kind is int else np.float64)
            want = np.array([kind("nan") if one is None else kind(one) for one in wanted])
            np.testing.assert_array_equal(found[name], want)


def test_a_whole_decimal_beyond_int64_costs_its_record(tmp_path):
    values = [decimal.Decimal(n) for n in (1, 2**63 - 1, 2**63, -(2**63))]
    pq.write_table(pa.table({"n": pa.array(values, pa.decimal128(38, 0))}), tmp_path / "a.parquet")
    data = flow.open(tmp_path / "a.parquet")
    assert [data[i]["n"] for i in (0, 1, 3)] == [1, 2**63 - 1, -(2**63)]
    with pytest.raises(flow.CorruptDataError, match="'n:int64' has a decimal that does not fit"):
        data[2]


def test_one_default_is_given_beside_all_other_fields(tmp_path):
    table = pa.table({"a": [1, 2], "n": pa.array([1, None]), "t": ["x", "y"],
                      "yes": pa.array([True, None])})  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    data = flow.open(tmp_path / "a.parquet", fields=["n:int64=-1", ..., "yes:bool=false"])
    assert list(data.fields) == ["n", "a", "t", "yes"] and data[1]["n"] == -1
    with pytest.warns(UserWarning, match=r'Left out: yes, .* fields=\["yes:bool=false", ...\]'):
        renamed = flow.open(tmp_path / "a.parquet", fields=["z=a", "n:int64=-1", ...]).head(1)
    assert renamed == [{"z": 1, "n": 1, "t": b"x"}]


# ---- Row groups ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[], [5]])
def test_groups_of_several_pieces(tmp_path, monkeypatch, cuts):
    """Each piece has 1 MB or less and a power of two of rows, also where pyarrow's batches end
    earlier; lists, texts and nulls of all pieces stand in their rows."""
    sizes, decode, plain = [], row_groups._File._decode, row_groups._plain_batches

    def noted(*args):
        pieces = decode(*args)
        sizes.append([piece.num_rows for piece in pieces])
        return pieces

    def cut(arrow, batches):
        ends = [0, *cuts, 1000]
        return [one.slice(a, b - a) for one in plain(arrow, batches)
                for a, b in zip(ends, ends[1:], strict=False) if a < one.num_rows]  # fmt: skip

    monkeypatch.setattr(row_groups._File, "_decode", noted)
    monkeypatch.setattr(row_groups, "_plain_batches", cut)
    table = pa.table({
        "i": np.arange(150),
        "text": [f"{i} " * (7000 + 10 * i) for i in range(150)],
        "x": pa.array([None if i % 7 == 0 else [float(i)] * (i % 5) for i in range(150)]),
        "word": pa.array([f"word {i % 9}" for i in range(150)]).dictionary_encode(),
    })  # fmt: skip
    path = write(tmp_path / "a.parquet", table.slice(0, 101), table.slice(101))
    columns = ["i:int64", "text:str", "x:float64[?]=", "word:str"]
    truth = table.to_pylist()
    for kind in ("none", "window", "global"):
        blobs = flow.ParquetReader(files=path, columns=columns, batch_size=40, shuffle=kind)
        found = []
        with flow.DataLoader(*blobs) as loader:
            for i, text, x, word in loader:
                found += i.tolist()
                rows = zip(i.tolist(), text.to_bytes_list(), x.to_list(), word.to_bytes_list(),
                           strict=True)  # fmt: skip
                for n, said, items, one in rows:
                    assert said.decode() == truth[n]["text"] and one.decode() == truth[n]["word"]
                    assert np.array_equal(items, truth[n]["x"] or [])
        assert (found == list(range(150))) == (kind == "none") and len(set(found)) == 150
    assert set(map(tuple, sizes)) == {(32, 32, 32, 5), (32, 17)}


def test_rows_of_more_groups_than_a_call_holds(tmp_path, decoded):
    """A batch has rows of 30 groups or more, of which a call holds 16."""
    path = write(tmp_path / "a.parquet", *numbered(*[41] * 60))
    total = 41 * 60
    for order in (dict(shuffle="window", shuffle_block_size=1, shuffle_window=30),
                  dict(random_shuffle=True)):  # fmt: skip
        blobs = flow.ParquetReader(files=path, columns=["i:int64", "text"], batch_size=60, **order)
        found = read(blobs, num_threads=2)
        assert sorted(found) == list(range(total)) != found
    assert len(decoded) == 60 and set(decoded.values()) == {2}
    # And where groups that no call holds are dropped at once.
    wide = [pa.table({"x": pa.FixedSizeListArray.from_arrays(np.repeat(np.arange(a, a + 40.0), 100),
                                                             100)}) for a in range(0, 2400, 40)]
    x = flow.ParquetReader(files=write(tmp_path / "b.parquet", *wide), columns=["x:float64[100]"],
                           batch_size=60, random_shuffle=True)  # fmt: skip
    decoded.clear()
    with flow.DataLoader(x, num_threads=1, prefetch=1, memory_budget=1_000_000) as loader:
        for _, rows in zip(range(4), loader, strict=False):
            assert (rows == rows[:, :1]).all() and len(set(rows[:, 0])) == 60
    assert sum(decoded.values()) > 100


def test_each_group_is_decoded_once_in_an_epoch(tmp_path, decoded):
    sizes = [[700, 1300, 3, 256, 3000], [100, 50, 0, 900, 411]]
    tables = numbered(*sizes[0], *sizes[1])
    files = [write(tmp_path / "a.parquet", *tables[:5]), write(tmp_path / "b.parquet", *tables[5:])]
    total = sum(map(sum, sizes))

    def blobs(**attrs):
        return flow.ParquetReader(files=files, columns=["i:int64", "text"], batch_size=64, **attrs)

    assert read(blobs()) == list(range(total))
    assert set(decoded.values()) == {1} and len(decoded) == 9
    decoded.clear()
    window = dict(shuffle="window", shuffle_block_size=200, shuffle_window=2, seed=5)
    found = read(blobs(**window), memory_budget=400_000)
    assert set(decoded.values()) == {1} and len(decoded) == 9
    assert sorted(found) == list(range(total)) != found
    # A block is a group, or several with 200 records together.
    bounds = np.cumsum([0, 700, 1300, 259, 3000, 1050, 411])
    blocks = [int(np.searchsorted(bounds, i, "right")) - 1 for i in found]
    order = list(dict.fromkeys(blocks))
    for pair in (order[:2], order[2:4], order[4:]):
        rows = sum(bounds[b + 1] - bounds[b] for b in pair)
        assert set(blocks[:rows]) == set(pair) and len(set(blocks[: rows // 4])) == len(pair)
        del blocks[:rows]
    parts = [read(blobs(**window, rank=rank, world_size=2)) for rank in range(2)]
    rows = [iter(part) for part in parts]
    mixed = [next(rows[half]) for at in range(0, total - total % 64, 64)
             for half in (0, 1) for _ in range(32)]  # fmt: skip
    assert mixed == found[: len(mixed)]


def test_shuffled_rows_of_files_with_other_types(tmp_path):
    """Neighbours in the order are of files whose columns lie elsewhere, or are stored otherwise."""
    table = numbered(300, 300)[0].append_column("x", pa.array([[i, -i] for i in range(300)]))
    wide = pa.schema([("x", pa.large_list(pa.int64())), ("i", pa.int64()),
                      ("text", pa.large_string())])  # fmt: skip
    other = table.select(wide.names).cast(wide)
    files = [write(tmp_path / "a.parquet", table), write(tmp_path / "b.parquet", other)]
    for columns in (["i:int64", "text:str", "x:int64[2]"], ["i:int64", "text:str", "x:int64[?]"]):
        blobs = flow.ParquetReader(files=files, columns=columns, batch_size=200,
                                   random_shuffle=True)  # fmt: skip
        found = []
        with flow.DataLoader(*blobs) as loader:
            for i, text, x in loader:
                found += i.tolist()
                assert text.to_bytes_list() == [b"text %d" % n for n in i]
                assert np.concatenate(list(x)).tolist() == [k for n in i.tolist() for k in (n, -n)]
        assert sorted(found) == sorted(2 * list(range(300)))


WINDOW = dict(shuffle="window", shuffle_block_size=1, shuffle_window=2)


@pytest.mark.parametrize("order", [{}, WINDOW])
def test_threads_decode_other_groups_while_one_is_decoded(tmp_path, monkeypatch, order):
    """No thread waits for a group while it needs another one that nobody decodes: a thread stays
    in its first group until a second one is started."""
    path, decode = write(tmp_path / "a.parquet", *numbered(400, 400)), row_groups._File.decode
    started, waited = [], []

    def slow(self, readable, group, leaves, rows):
        started.append(group)
        if len(started) == 1:
            deadline = time.monotonic() + 20
            while len(started) < 2 and time.monotonic() < deadline:
                time.sleep(0.001)
            waited.append(len(started) < 2)
        return decode(self, readable, group, leaves, rows)

    def blobs(seed):
        return flow.ParquetReader(files=path, columns=["i:int64", "text"], batch_size=16, seed=seed,
                                  **order)

    def is_first(seed):  # the threads and the caller begin with the same group
        rows = np.reshape(read(blobs(seed))[:48], (3, 16))
        return len(set((rows[:, 0] >= 400).tolist())) == 1

    seed = next(filter(is_first, range(1000)))
    monkeypatch.setattr(row_groups._File, "decode", slow)
    assert len(read(blobs(seed), num_threads=2)) == 800
    assert waited == [False]


def lanes_of(path, lanes, window, block_size=1, **attrs):
    return flow.ParquetReader(
        files=path, batch_size=32, shuffle="window", shuffle_lanes=lanes, shuffle_window=window,
        shuffle_block_size=block_size, seed=5, shuffle_after_epoch=True, **attrs,
    )  # fmt: skip


@pytest.mark.parametrize(
    "sizes, shapes",
    [([41, 17, 60, 33, 5, 8, 70, 25, 31, 12] * 4, [(1, 3, 1), (4, 2, 1), (8, 1, 50)]),
     ([3], [(4, 2, 1)]), ([70, 130, 3, 256, 300, 10], [(2, 2, 30), (4, 1, 1), (8, 9, 1)])],
)  # fmt: skip
def test_the_order_of_groups_in_lanes_is_the_models(tmp_path, sizes, shapes):
    path = write(tmp_path / "a.parquet", *numbered(*sizes))
    for lanes, window, block_size in shapes:
        for size in (1, 2, 4):
            loaders = [
                flow.DataLoader(lanes_of(path, lanes, window, block_size, columns=["i:int64"],
                                         rank=rank, world_size=size, last_batch="pad"))
                for rank in range(size)
            ]  # fmt: skip
            for epoch in range(2):
                found = [i for parts in zip(*loaders, strict=True)
                         for rows in parts for i in rows.tolist()]  # fmt: skip
                order = block_order(
                    5, epoch, "ParquetReader_0", sizes, block_size, window, lanes, 32
                )
                assert found == order + order[-1:] * (len(found) - len(order)), (lanes, size)
            for loader in loaders:
                loader.close()


@pytest.fixture
def wide(tmp_path):
    """A file of 64 groups, of which 25 fit into half of 16 MB."""
    sizes = np.random.default_rng(3).integers(80, 120, 64).tolist()
    return write(tmp_path / "a.parquet", *(
        one.append_column("pad", pa.FixedSizeListArray.from_arrays(np.zeros(400 * len(one)), 400))
        for one in numbered(*sizes)
    ))  # fmt: skip


def test_lanes_decode_each_group_once(wide, decoded):
    """The lanes read 8 groups, which two of them may share."""
    columns = ["i:int64", "pad:float64[400]"]
    with flow.DataLoader(*lanes_of(wide, 4, 2, columns=columns), prefetch=1,
                         memory_budget=16_000_000) as loader:  # fmt: skip
        for _ in zip(range(len(loader) - 4), loader, strict=False):
            pass  # and nothing is read for the next epoch
        assert set(decoded.values()) == {1} and len(decoded) == 64


@pytest.mark.parametrize("order", [{}, WINDOW | dict(shuffle_after_epoch=True)])
def test_groups_that_fit_stay_for_the_next_epoch(wide, decoded, order):
    blobs = flow.ParquetReader(files=wide, columns=["i:int64", "pad:float64[400]"], batch_size=32,
                               **order)
    with flow.DataLoader(*blobs, prefetch=1, memory_budget=16_000_000) as loader:
        for _ in range(3):
            found = [i for rows, _ in loader for i in rows.tolist()]
            assert sorted(found) == list(range(len(found)))
    assert 64 + 2 * 30 < sum(decoded.values()) < 64 + 2 * 50  # 39 in each later epoch, and some


def test_only_the_columns_asked_for_are_decoded(tmp_path, monkeypatch):
    asked = []
    decode = row_groups._File._decode

    def noted(self, readable, number, leaves, rows):
        asked.append(leaves)
        return decode(self, readable, number, leaves, rows)

    monkeypatch.setattr(row_groups._File, "_decode", noted)
    table = pa.table({"a": [[{"x": 1, "y": 2}]], "a.b": [3], "c": [4]})
    path = write(tmp_path / "a.parquet", table)
    data = flow.open(path, fields=["c", "'a.b':int64", "a.y:int64[?]"])
    assert {name: np.array(one).tolist() for name, one in data[0].items()} == {
        "c": 4, "'a.b'": 3, "a.y": [2]
    }  # fmt: skip
    assert asked == [[1, 2, 3]]


def test_statistics_leave_out_row_groups(tmp_path, decoded):
    path = write(tmp_path / "a.parquet", *numbered(10, 10, 10))
    expected = {"i >= 20": range(20, 30), "9 < i < 20": range(10, 20), "i > 99": [], "": range(30)}
    expected["i == 5 and text < 'text 2'"] = range(10)
    for said, rows in expected.items():
        blobs = flow.ParquetReader(files=path, columns=["i:int64", "text"], batch_size=4,
                                   row_groups_where=said)  # fmt: skip
        if rows:
            assert read(blobs) == list(rows)
        else:
            with pytest.raises(flow.Error, match="not one record"):
                read(blobs)
    for said, why in {"j > 1": "there is no column 'j'; there are i, text", "i > 'a'": "compared",
                      "i != 2": "in another way", "i": "no comparison", "i >": "invalid syntax",
                      "i > text": "neither a number nor a text"}.items():  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError, match=why):
            flow.open(path, row_groups_where=said)[0]


@pytest.mark.parametrize(
    ("dtype", "number", "texts"),
    [
        ("float16", 0.1, ["0.1", "0.099975586", "0"]),
        ("float16", 65472, ["65472", "65504", "65519", "1e9"]),
        ("float32", 0.1, ["0.1", "0.10000000149011612", "1"]),
        ("float32", 2**24, ["16777217", "16777216.0"]), ("float32", np.inf, ["1e39", "1e999"]),
        ("float64", 0.1, ["0.1", "0.10000000000000002"]),
        ("float64", 2**53, ["9007199254740993", "9007199254740992"]),
        ("int64", 2**53, ["9007199254740992.0", "9007199254740993", "9007199254740994.0"]),
        ("int32", 7, ["7", "7.0", "6.999999999"]), ("uint64", 2**63, ["9223372036854775807", "0"]),
    ],
)  # fmt: skip
def test_statistics_leave_out_no_row_that_where_keeps(tmp_path, dtype, number, texts):
    """0.1 as a double is below 0.1 as a float32: groups with rows that fit were left out."""
    middle = np.array(number, dtype)
    is_float = middle.dtype.kind == "f"
    least, most = (np.array(one, dtype) for one in ("-inf", "inf")) if is_float else (0, 0)
    values = [np.nextafter(middle, least) if is_float else middle - 1, middle,
              np.nextafter(middle, most) if is_float else middle + 1]  # fmt: skip
    table = pa.table({"x": np.array(values, dtype)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    path = tmp_path / "a.parquet"
    data = flow.open(path)
    hows = ("<", "<=", ">", ">=", "==")
    asked = [f"x{how}{one}" for one in texts for how in hows]
    asked += [f"{one}{how}x" for i, one in enumerate(texts) for how in hows[i % 3 :: 3]]
    for said in asked:  # fewer rows, or all of them
        kept = flow.open(path, row_groups_where=said).where(said)
        assert len(kept) == len(data.where(said)), said


def test_bounds_of_decimals_keep_all_digits(tmp_path):
    """The bounds were rounded to 28, a number that is no bound any more."""
    with decimal.localcontext(prec=38):
        price = decimal.Decimal(10**29 + 6) / 10
    table = pa.table({"i": [5], "price": pa.array([price], pa.decimal128(38, 1))})
    path = write(tmp_path / "a.parquet", table)
    for said in f"price < {10**28 + 1}", f"price > {10**28}":
        assert len(flow.open(path, fields=["i"], row_groups_where=said)) == 1, said


def replace_in_footer(path, old, new):
    """Writes the file with other bytes in its footer, whose size may differ."""
    whole = path.read_bytes()
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    footer = whole[begin:-8]
    assert old in footer
    footer = footer.replace(old, new)
    path.write_bytes(whole[:begin] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def test_a_scale_that_no_decimal_has_is_damage(tmp_path):
    """2^32 + 2 was read as 2, and 10^6 was a failure in a callback; in both fields with scales."""
    path = tmp_path / "a.parquet"
    values = [decimal.Decimal(i) / 100 for i in range(40)]
    table = pa.table({"i": np.arange(40), "price": pa.array(values, pa.decimal128(9, 2))})
    write(path, table[:20], table[20:])
    whole = path.read_bytes()
    assert len(flow.open(path, fields=["i"], row_groups_where="price >= 0.2")) == 20
    older, logical = b"\x25\x0a\x15\x04\x15\x12", b"\x5c\x15\x04\x15\x12"
    for old in older, logical:
        for scale in 77, 10**6, 2**31, 2**32 + 2:
            replace_in_footer(path, old, old.replace(b"\x15\x04", b"\x15" + varint(2 * scale)))
            with pytest.raises(flow.CorruptDataError, match="more than 76 digits") as caught:
                flow.open(path, fields=["i"], row_groups_where="price >= 0.2")[0]
            assert caught.value.file == str(path) and caught.value.byte is not None
            path.write_bytes(whole)


def varint(number):
    """As Thrift's compact protocol writes it."""
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


# ---- Commands ------------------------------------------------------------------------------------


def test_commands(tmp_path, capsys):
    path = write(tmp_path / "a.parquet", *numbered(5, 6))
    for command in ("head", "stats", "verify"):
        assert cli.main([command, path]) == 0
        assert "11 records" in capsys.readouterr().out
    assert cli.main(["convert", path, str(tmp_path / "b.arrow")]) == 0
    with pa.ipc.open_file(tmp_path / "b.arrow") as file:
        assert file.read_all()["i"].to_pylist() == list(range(11))


# ---- Damage --------------------------------------------------------------------------------------


def test_damage_is_an_error_or_a_skipped_record(tmp_path):
    rng = random.Random(4)
    path = tmp_path / "a.parquet"
    write(path, *numbered(50, 60, 70), write_page_checksum=True)
    whole = path.read_bytes()
    wrong = 0
    for case in range(150):
        data = bytearray(whole)
        if case < 50:
            del data[rng.randrange(len(data)) :]
        else:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            blobs = flow.ParquetReader(files=str(path), columns=["i:int64", "text"], batch_size=7,
                                       on_error="skip", max_skipped=1.0)  # fmt: skip
            with flow.DataLoader(*blobs) as loader:
                sum(len(i) for i, _ in loader)
                wrong += bool(loader.skipped)
        except flow.Error as failure:
            assert str(path) in str(failure)
            wrong += 1
    assert wrong > 100


FLIPS = """
import json, struct, sys
import numpy as np, pyflowdata as flow

def read(columns, where):
    blobs = flow.ParquetReader(files=path, columns=columns, batch_size=64, row_groups_where=where)
    with flow.DataLoader(*blobs, num_threads=1, prefetch=1) as loader:
        return [[[np.array(row).tobytes() for row in blob] for blob in batch] for batch in loader]

path = sys.argv[1]
for source, where, more in json.loads(sys.argv[2]):
    columns = list(flow.ParquetReader(files=source, batch_size=1)[0].node.values["columns"])
    whole = open(source, "rb").read()
    begin = len(whole) - 8 - struct.unpack("<I", whole[-8:-4])[0]
    flips = [(at, 1 << at % 8) for at in range(begin, len(whole), 13)]
    flips += [(begin + at, 1 << bit) for at in more for bit in range(8)]
    right = wrong = 0
    for at, flip in [(begin, 0), *flips]:
        data = bytearray(whole)
        data[at] ^= flip
        open(path, "wb").write(data)
        try:
            found = read(columns, where)
            flow.open(path).fields  # statistics of nulls
            truth = found if not flip else truth
            right += found == truth
        except flow.Error as failure:
            assert path in str(failure) or "not one record" in str(failure), failure
            wrong += 1
    assert right > 20 and wrong > 50, (source, right, wrong)
"""


def test_a_damaged_footer_is_an_error_that_names_the_file(tmp_path):
    """In a process, which ended where objects of pyarrow were made for columns: at byte 920."""
    own = write(tmp_path / "own", *numbered(*[3] * 8))
    sources = [(own, "i < 1000", []), (f"{TABLES}/legacy.parquet", "id >= 0", [920]),
               (f"{TABLES}/duckdb.parquet", "", [])]  # fmt: skip
    programs.run(FLIPS, tmp_path / "x.parquet", json.dumps(sources), check=True)


def test_a_damaged_page_names_row_group_and_column(tmp_path):
    path = tmp_path / "a.parquet"
    write(path, *numbered(50, 60), write_page_checksum=True, compression="none")
    data = bytearray(path.read_bytes())
    place = data.index(b"text 77")
    data[place] ^= 1
    path.write_bytes(data)
    blobs = flow.ParquetReader(files=str(path), columns=["i:int64", "text"], batch_size=7)
    with pytest.raises(flow.CorruptDataError, match="row group 1, column text: .*(CRC|crc)") as got:
        read(blobs)
    assert got.value.file == str(path)
    blobs = flow.ParquetReader(files=str(path), columns=["i:int64", "text"], batch_size=7,
                               on_error="skip", max_skipped=1.0)  # fmt: skip
    assert read(blobs) == list(range(50))


@pytest.mark.parametrize("access", ["map", "read"])
def test_pages_are_compared_with_the_seal(tmp_path, access):
    path = tmp_path / "a.parquet"
    write(path, *numbered(40_000, 40_000), compression="none", use_dictionary=False)
    assert cli.main(["seal", str(path)]) == 0
    data = bytearray(path.read_bytes())
    data[data.index(b"text 60000")] ^= 1
    path.write_bytes(data)
    blobs = flow.ParquetReader(files=str(path), columns=["i:int64", "text"], batch_size=1000,
                               file_access=access, check="seal")  # fmt: skip
    with pytest.raises(flow.CorruptDataError, match="seal"):
        read(blobs)


def test_a_file_that_is_replaced_after_open_gives_no_row(tmp_path):
    path = write(tmp_path / "a.parquet", *numbered(5000, 5000))
    other = write(tmp_path / "b.parquet", *numbered(5000, 5000), *numbered(7))
    blobs = flow.ParquetReader(files=path, columns=["i:int64", "text"], batch_size=10)
    with flow.DataLoader(*blobs, num_threads=1, prefetch=1) as loader:
        batches = iter(loader)
        next(batches)
        os.replace(other, path)
        with pytest.raises(flow.FileError, match="changed|replaced"):
            list(batches)


def test_columns_that_are_left_out_are_named(tmp_path):
    columns = {"i": [1, 2], "value": [None, 3], "meta": [{"x": 1}, {"x": 2}]}
    path = write(tmp_path / "a.parquet", pa.table(columns))
    for name, says in (
        ("value", r"^the column 'value' has nulls .*\[\"value:int64=0\", ...\]; there are i, meta"),
        ("valeu", "^there is no field 'valeu'; .*Left out: value, which has nulls"),
        ("j", "^there is no field 'j'; there are i, meta.x$"),
        ("meta", "^'meta' is an object: 'meta:json' takes it whole, and 'meta.x' one of"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.open(path, fields=[name])
    assert flow.open(path, fields=["value:int64=7"]).column("value").tolist() == [7, 3]


def test_files_that_differ_in_the_type_of_a_number(tmp_path):
    """No type fits both; what the message says does."""
    for name, ids in (("1", [1, 2]), ("2", [3.0, 4.5])):
        write(tmp_path / f"m{name}.parquet", pa.table({"id": ids}))
    says = r"write 'id:float64'.*; if files differ .* a.map\(flow.Cast, 'id', dtype='float64'\), .*"
    with pytest.raises(flow.InvalidArgumentError, match="column of 'id:int64' is float.*" + says):
        flow.open(tmp_path / "m*.parquet").rows([0, 3])
    one, other = (flow.open(tmp_path / f"m{name}.parquet") for name in "12")
    both = one.map(flow.Cast, "id", dtype="float64").concat(other)
    assert both.column("id").tolist() == [1, 2, 3, 4.5]


def test_without_pyarrow_the_package_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", *numbered(5))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(flow.UnsupportedError, match=r"pip install pyflowdata\[arrow\]"):
        flow.ParquetReader(files=path, columns=["i:int64"])
        flow.open(path)[0]


# ---- Memory and advice ---------------------------------------------------------------------------


@pytest.mark.parametrize("budget, access", [(3 << 20, "map"), (1 << 30, "read")])
def test_rows_stay_when_their_groups_are_dropped(tmp_path, budget, access):
    """Groups are lent to the batches as long as there is room; else their rows are copied.  Values
    are no part of the bytes of the file, which are gone after a group is decoded."""
    tables = [
        pa.table({"i": np.arange(a, a + 50), "text": [f"{i}" * 400 for i in range(a, a + 50)]})
        for a in range(0, 1000, 50)
    ]
    path = write(tmp_path / "x", *tables, compression="none", use_dictionary=False)
    blobs = flow.ParquetReader(files=path, seed=3, shuffle="global", file_access=access,
                               columns=["i:int64", "text:bytes"], batch_size=64)  # fmt: skip
    held = []
    with flow.DataLoader(*blobs, memory_budget=budget, num_threads=3) as loader:
        for i, text in loader:
            assert text.to_bytes_list() == [b"%d" % one * 400 for one in i.tolist()]
            held.extend(i.tolist())
    assert sorted(held) == list(range(1000)) != held
    # Ops after the reader get its rows; their own rows, and rows that repeat, are copied.
    data = flow.open(path, fields=["i:int64", "text:bytes"])
    data = data.map(lambda text: np.frombuffer(text, np.uint8)[::-1], "text",
                    outputs={"turned": "uint8[?]"})  # fmt: skip
    data = flow.mix({"a": data.repeat(2), "b": data.shuffle(seed=1)}, seed=2, stop="all_exhausted")
    batches = data.shuffle(seed=3).batch(64)
    blobs, held = [batches[name] for name in ("i", "text", "turned")], []
    with flow.DataLoader(*blobs, memory_budget=budget, num_threads=3) as loader:
        for i, text, turned in loader:
            expected = [b"%d" % one * 400 for one in i.tolist()]
            assert text.to_bytes_list() == expected
            assert turned.to_bytes_list() == [one[::-1] for one in expected]
            held.extend(i.tolist())
    assert set(held) == set(range(1000))


def test_a_global_shuffle_that_does_not_fit_is_warned_of(tmp_path):
    tables = [pa.table({"text": [os.urandom(500).hex() for _ in range(500)]}) for _ in range(8)]
    data = flow.open(write(tmp_path / "warned.parquet", *tables))
    for kind, budget, warns in (("window", 2 << 20, 0), ("global", 1 << 30, 0),
                                ("global", 2 << 20, 1), ("global", 2 << 20, 0)):  # fmt: skip
        text = data.shuffle(seed=1, kind=kind).batch(32)["text"]
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            flow.DataLoader(text, memory_budget=budget).close()
        said = [str(one.message) for one in seen if "row group" in str(one.message)]
        assert len(said) == warns, (kind, budget)
        for words in ("ParquetReader", "8 row groups have about 4.0 MB", "pyflowdata convert",
                      "shuffle(kind='window', window=8)") * warns:  # fmt: skip
            assert words in said[0]


def test_convert_makes_shards_of_parquet(tmp_path):
    source = write(tmp_path / "x.parquet", *numbered(3))
    assert cli.main(["convert", source, str(tmp_path / "y.parquet"), "--shards", "2",
                     "--fields", "i,text:str"]) == 0  # fmt: skip
    shards = [pq.read_table(tmp_path / f"y-0000{i}-of-00002.parquet") for i in range(2)]
    assert pa.concat_tables(shards).to_pydict() == pq.read_table(source).to_pydict()


def test_a_kind_of_shuffle_that_is_not_there(tmp_path):
    source = write(tmp_path / "x.parquet", *numbered(3))
    with pytest.raises(flow.InvalidArgumentError, match="the kinds are .*mean 'window'") as failure:
        flow.open(source).shuffle(kind="windows")
    assert (failure.value.op, failure.value.attr) == ("shuffle", "kind")
