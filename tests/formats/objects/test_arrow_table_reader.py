"""ArrowTableReader and flow.from_arrow, beside pyarrow, ArrowReader and polars."""

import gc
import itertools
import pickle
import time

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.datasets import opening
from pyflowdata.integrations.arrow import to_arrow

TYPES = ROOT / "tests/fixtures/arrow/types.arrow"


class Stream:
    """Any object that gives a stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def plain(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.mark.parametrize("sizes", [[], [3], [1, 2], [0, 1, 0, 9]], ids=str)
def test_all_types_have_the_values_of_arrow_reader(sizes):
    """Also of slices, whose arrays begin anywhere in bytes of bits, and of several chunks."""
    with pa.ipc.open_file(TYPES) as file:
        whole = file.read_all()
    ends = [min(end, len(whole)) for end in itertools.accumulate(sizes)]
    chunks = [whole.slice(a, b - a) for a, b in itertools.pairwise([0, *ends, len(whole)])]
    table = pa.Table.from_batches([one for chunk in chunks for one in chunk.to_batches()])
    ours, theirs = flow.from_arrow(table), flow.open(TYPES)
    assert len(ours.fields) > 40 and len(ours) == len(theirs) == len(whole)
    assert [*map(str, ours.fields.values())] == [*map(str, theirs.fields.values())]
    for i in reversed(range(len(ours))):
        for name in ours.fields:
            np.testing.assert_array_equal(ours[i][name], theirs[i][name], err_msg=name)


def test_columns_with_nulls_are_those_of_pyarrow():
    draw = np.random.default_rng(3)
    rows = [
        {"n": None if draw.random() < 0.3 else i, "b": bool(i % 3),
         "t": None if i % 7 == 0 else "é" * (i % 4),
         "l": None if i % 5 == 0 else [float(k) for k in range(i % 4)],
         "f": [i, -i], "s": None if i % 6 == 0 else {"a": i, "deep": {"x": i / 2}}}
        for i in range(200)
    ]  # fmt: skip
    schema = pa.schema({
        "n": pa.int32(), "b": pa.bool_(), "t": pa.large_string(), "l": pa.large_list(pa.float32()),
        "f": pa.list_(pa.int16(), 2),
        "s": pa.struct({"a": pa.int64(), "deep": pa.struct({"x": pa.float64()})}),
    })  # fmt: skip
    table = pa.concat_tables([
        pa.Table.from_pylist(rows[a:b], schema).slice(skip)
        for a, b, skip in ((0, 70, 3), (70, 71, 0), (71, 180, 13), (180, 200, 8))
    ])  # fmt: skip
    columns = ["n:int32=-1", "b:bool", "t:bytes=none", "l:float32[?]=", "f:int16[2]",
               "s.a:int64=-1", "x=s.deep.x:float64=nan"]  # fmt: skip
    data = flow.from_arrow(table, columns=columns)
    assert "n" not in flow.from_arrow(table).fields  # no integer says that there is none
    assert flow.from_arrow(table.slice(0, 0)).fields["n"].dtype == "int32"
    order = draw.permutation(len(table))
    wanted = [row["b"] for row in table.to_pylist()]
    assert data.rows(order)["b"].tolist() == [wanted[i] for i in order]
    for i, row in enumerate(table.to_pylist()):
        found, deep = {name: plain(one) for name, one in data[i].items()}, row["s"]
        x = found.pop("x")
        assert x == deep["deep"]["x"] if deep else np.isnan(x)
        assert found == {
            "n": -1 if row["n"] is None else row["n"], "b": row["b"], "f": row["f"],
            "t": b"none" if row["t"] is None else row["t"].encode(), "l": row["l"] or [],
            "s.a": deep["a"] if deep else -1,
        }  # fmt: skip


def test_dictionaries_are_decoded():
    words = ["é" * 20, "", "b", "a word of more than twelve bytes"]
    keys = np.random.default_rng(0).integers(0, 4, 50)
    of = [None if i % 9 == 0 else words[key] for i, key in enumerate(keys)]
    plain = pa.array(of, pa.string())
    table = pa.table({
        "t": plain.dictionary_encode(), "v": plain.dictionary_encode().cast(
            pa.dictionary(pa.uint8(), pa.large_string())),
        "n": pa.array(keys).cast(pa.float32()).dictionary_encode(),
        "l": pa.ListArray.from_arrays([*range(51)], pa.array(keys * 3).dictionary_encode()),
    })  # fmt: skip
    other = pa.table({"t": pa.array(["new"], pa.string()).dictionary_encode()})
    both = pa.concat_tables([table.slice(3), other], promote_options="default")  # two dictionaries
    data = flow.from_arrow(both, columns=["t:bytes=", "v:bytes=", "n:float32=nan", "l:int64[?]="])
    for i in range(47):
        said = (of[i + 3] or "").encode()
        assert (data[i]["t"], data[i]["v"]) == (said, said)
        assert data[i]["n"] == keys[i + 3] and data[i]["l"].tolist() == [keys[i + 3] * 3]
    assert data[47]["t"] == b"new" and data[47]["v"] == b"" and np.isnan(data[47]["n"])
    state = flow.DataLoader(flow.from_arrow(table).batch(2)["n"]).state_dict()
    changed = table.set_column(2, "n", pa.array(keys + 1).cast(pa.float32()).dictionary_encode())
    with pytest.raises(flow.InvalidArgumentError, match="state"):
        flow.DataLoader(flow.from_arrow(changed).batch(2)["n"]).load_state_dict(state)


def test_other_objects_with_tables():
    table = pa.table({"x": [1, 2, 3], "t": ["a", "", "ccc"]})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(2))
    loader = flow.DataLoader(flow.from_arrow(table).batch(2).blobs)
    for given in (table, reader, table.to_batches()[0], Stream(table), to_arrow(loader)):
        data = flow.from_arrow(given)
        assert data.rows([2, 0])["x"].tolist() == [3, 1] and data[2]["t"] == b"ccc"
    empty = flow.from_arrow(table.slice(3))
    assert len(empty) == 0 and list(empty) == [] and list(empty.fields) == ["x", "t"]
    assert "ArrowTable(3 rows: x, t)" in repr(data) and "t: bytes" in repr(data)


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": [1.5, None, 3.5], "t": ["a", None, "a text that is no view"],
                              "l": [[1], [], [2, 3]]})  # fmt: skip
    data = flow.from_arrow(polars.concat([frame, frame], rechunk=False)[1:])
    assert [row["t"] for row in data] == [b"", *[one.encode() for one in
            ("a text that is no view", "a")], b"", b"a text that is no view"]  # fmt: skip
    assert np.isnan(data[0]["x"]) and data[4]["x"] == 3.5 and data[4]["l"].tolist() == [2, 3]


def test_states_tell_other_contents_and_ranks_share():
    def loader(table, **attrs):
        return flow.DataLoader(flow.from_arrow(table).shuffle(seed=4).batch(2, **attrs)["x"])

    def table(last):
        return pa.table({"x": [*range(9), last], "t": [f"{i}" for i in range(10)]})

    first = loader(table(9))
    whole = [batch.tolist() for batch in loader(table(9))]
    rows = iter(first)
    assert [next(rows).tolist() for _ in range(2)] == whole[:2]
    resumed = loader(table(9))
    resumed.load_state_dict(first.state_dict())
    assert [batch.tolist() for batch in resumed] == whole[2:]
    for other in (table(10), table(9).rename_columns(["x", "u"]), table(9).slice(0, 9)):
        with pytest.raises(flow.InvalidArgumentError, match="state"):
            loader(other).load_state_dict(first.state_dict())
    halves = [loader(table(9), rank=rank, world_size=2) for rank in range(2)]
    assert sorted(i for half in halves for batch in half for i in batch.tolist()) == [*range(10)]


def test_the_table_lives_as_long_as_a_loader_reads_it(monkeypatch):
    released, release = [], opening._release
    monkeypatch.setattr(opening, "_release", lambda structs: (released.append(1), release(structs)))
    before = pa.total_allocated_bytes()
    table = pa.table({"x": pa.array(range(100_000)), "t": pa.array(["text"] * 100_000)})
    loader = flow.DataLoader(flow.from_arrow(table).shuffle(seed=1).batch(100).blobs)
    del table
    gc.collect()
    batches = iter(loader)
    batch = next(batches)
    assert not released and pa.total_allocated_bytes() > before + 800_000
    kept = batch["t"].to_bytes_list()
    end = time.monotonic() + 10
    loader.close()
    del loader, batches, batch
    while not released and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert released == [1] and kept == [b"text"] * 100
    assert pa.total_allocated_bytes() < before + 800_000


class Broken:
    def __iter__(self):
        yield pa.record_batch({"x": [1]})
        raise ValueError("the disk is on fire")


def test_from_arrays_takes_tables_as_well():
    table = pa.table({"x": [3, 1], "t": ["a", None]})
    data = flow.from_arrays(table.select(["x"]))
    assert data.column("x").tolist() == [3, 1] and data.fields.keys() == {"x"}


def test_columns_may_be_named_as_outputs_of_readers():
    table = pa.table({"id": [5, 6], "mask": [1, 0], "m": [True, False], "t": ["a", "b"]})
    for given in (None, ["id:int64", "mask:int64", "m:bool", "t:bytes"]):
        data = flow.from_arrow(table, columns=given)
        assert [*data.fields] == ["id", "mask", "m", "t"]
        assert data.where("id == 6 and not m").head() == [
            {"id": 6, "mask": 0, "m": False, "t": b"b"}
        ]
    assert flow.from_arrow(table, columns="id:int64").batch(2).blobs.keys() == {"id"}


def test_wrong_tables_are_refused():
    with pytest.raises(flow.CorruptDataError, match="the table, array or source has no rows"):
        list(flow.DataLoader(flow.from_arrow(pa.table({"x": pa.array([], "i8")})).batch(2)))
    table = pa.table({"n": [1, None], "d": ["a", "b"]})
    broken = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), Broken())
    for what, kind, said in (
        (lambda: flow.from_arrow([1]), flow.InvalidArgumentError, "give a table"),
        (lambda: flow.from_arrow(pa.Table), flow.InvalidArgumentError, "give a table"),
        (lambda: flow.from_arrow(pa.array([1])), flow.InvalidArgumentError, "is no table"),
        (lambda: flow.from_arrow(broken), flow.UserFunctionError, "the disk is on fire"),
        (lambda: flow.from_arrow(table, columns="e"), flow.InvalidArgumentError, "there are n, d"),
        (lambda: flow.from_arrow(table, columns="d:int8"), flow.InvalidArgumentError, "d:bytes"),
        (lambda: flow.from_arrow(table.select(["n"])), flow.UnsupportedError, "need a default"),
        (lambda: [*flow.from_arrow(table, columns="n:int64")], flow.CorruptDataError, "n:int64=0"),
        (lambda: flow.ArrowTableReader(table), flow.InvalidArgumentError, r"call flow\.from_arrow"),
        (lambda: flow.open(table), flow.InvalidArgumentError, r"flow\.from_arrow\(table\)"),
        (lambda: flow.GeneratorReader(table, fields=["n:int64"], batch_size=1),
         flow.InvalidArgumentError, r"flow\.from_arrow\(table\)"),
    ):  # fmt: skip
        with pytest.raises(kind, match=said):
            what()


def test_tables_are_pickled_and_streams_are_not():
    table = pa.table({"x": [*range(9)], "t": ["text"] * 9})
    data = pickle.loads(pickle.dumps(flow.from_arrow(table.slice(2))))
    assert data.rows([6, 0])["x"].tolist() == [8, 2] and data[1]["t"] == b"text"
    with pytest.raises(TypeError, match="cannot be pickled, as the object cannot"):
        pickle.dumps(flow.from_arrow(table.to_reader()))


def test_columns_that_are_left_out_are_named_with_what_reads_them(tmp_path):
    """In the repr of a data set and its views, and where one of them is asked for."""
    values = {"text": ["a", "b"], "label": [1, None], "flag": [None, True]}
    table, path = pa.table(values), tmp_path / "x.parquet"
    pa.parquet.write_table(table, path)
    of_lines = tmp_path / "x.jsonl"
    of_lines.write_text('{"text": "a", "label": 1}\n{"text": "b", "label": "c"}\n')
    reason = "left out: label, which has nulls and needs a default, as in {}="
    for data, said in (
        (flow.from_arrow(table), reason.format("columns") + '["label:int64=0"]'),
        (flow.open(path), reason.format("fields") + '["label:int64=0", ...]'),
        (flow.open(of_lines), "left out: label, which is an integer and a string"),
    ):
        view = data.take(1).map(lambda r: {"m": r["text"]})
        assert said in repr(data) and said in repr(view) and "label" in data._repr_html_()
        for use in (
            lambda data: data["label"],
            lambda data: data.project("label"),
            lambda data: data.batch(2)["label"],
            lambda data: data.where("label > 0"),
            lambda data: data.where(lambda label, text: label > 0),
            lambda data: data.map(lambda r: {"n": r["label"]}),
            lambda data: list(data.where(lambda r: r["label"] > 0)),
        ):
            with pytest.raises(flow.Error) as caught:
                use(view.drop("m").take(1))
            assert said in str(caught.value)
    assert "left out" not in repr(flow.open(path, fields=["label:int64=0", "text"]))


@pytest.mark.parametrize(
    ("values", "spec", "advice", "expected"),
    [
        ([[1, None], [2]], "n:int64[?]=", "n:int64[?]=0", [[1, 0], [2]]),
        ([[1, None], [2]], "n:int64[?]", "n:int64[?]=0", [[1, 0], [2]]),
        ([1, None], "n:float64=nan", "n:int64=0", [1, 0]),
        ([1, None], "n:float64", "n:int64=0", [1, 0]),
        ([True, None], "n:int64=0", "n:bool=false", [True, False]),
    ],
)
def test_the_advised_default_replaces_nulls(values, spec, advice, expected):
    table = pa.table({"n": values})
    with pytest.raises(flow.Error) as caught:
        list(flow.from_arrow(table, columns=[spec]))
    assert f"'{advice}'" in str(caught.value)
    found = flow.from_arrow(table, columns=[advice])
    assert [plain(one["n"]) for one in found] == expected
