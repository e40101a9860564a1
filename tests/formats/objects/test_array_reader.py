"""ArrayReader and flow.from_arrays, beside NumPy."""

import gc
import time
import weakref

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.nodes.tables import Table

DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


def batches_of(data, batch_size, **attrs):
    with flow.DataLoader(data.batch(batch_size, **attrs).blobs) as loader:
        return [{name: np.array(one) for name, one in batch.items()} for batch in loader]


def test_rows_of_every_dtype_are_those_of_the_arrays():
    draw = np.random.default_rng(0)
    arrays = {f"scalars_{name}": draw.integers(0, 2, 70).astype(name) for name in DTYPES}
    arrays |= {f"rows_{name}": draw.integers(0, 99, (70, 2, 3)).astype(name) for name in DTYPES}
    data = flow.from_arrays(arrays)
    assert {name: data.fields[name].dtype for name in arrays} == {
        name: array.dtype.name for name, array in arrays.items()
    }
    order = np.array([record["scalars_int64"] for record in data.shuffle(seed=1)])
    assert order.tolist() != arrays["scalars_int64"].tolist()
    for number, batch in enumerate(batches_of(data, 16)):
        for name, array in arrays.items():
            wanted = array[16 * number : 16 * number + 16]
            assert batch[name].dtype == wanted.dtype and np.array_equal(batch[name], wanted)


def test_rows_of_several_lengths():
    lengths = np.random.default_rng(1).integers(0, 5, 50)
    splits = np.cumsum([0, *lengths])
    values = np.arange(2 * splits[-1], dtype=np.int32).reshape(-1, 2)
    texts = ["ä" * length for length in lengths]
    data = flow.from_arrays({
        "pairs": flow.Ragged(values, splits), "text": texts, "fixed": np.array(texts),
        "raw": [text.encode("latin-1") for text in texts],
    })  # fmt: skip
    assert data.fields["pairs"].shape == (None, 2) and data.fields["raw"].dtype == "bytes"
    rows = [3, 49, 0, 3]
    found = data.rows(rows)
    for place, row in enumerate(rows):
        assert np.array_equal(found["pairs"][place], values[splits[row] : splits[row + 1]])
    assert found["text"].to_bytes_list() == [texts[row].encode() for row in rows]
    assert found["fixed"].to_bytes_list() == found["text"].to_bytes_list()
    assert found["raw"].to_bytes_list() == [b"\xe4" * lengths[row] for row in rows]


def test_arrays_are_read_where_they_are_and_others_copied():
    array = np.zeros((5, 2))
    data = flow.from_arrays({"x": array, "y": np.arange(10)[::2], "z": np.arange(5, dtype=">i2")})
    array[3] = 7
    record = data[3]
    assert record["x"].tolist() == [7, 7] and record["y"] == 6 and record["z"] == 3


def test_loaders_keep_the_arrays_that_they_read():
    for seed in range(4):
        array = np.full((5000, 16), seed)
        alive = weakref.ref(array)
        loader = flow.DataLoader(flow.from_arrays({"x": array}).shuffle(seed=seed).batch(8)["x"])
        del array
        gc.collect()
        batch = next(iter(loader))
        assert alive() is not None and (batch == seed).all()
        del loader
    end = time.monotonic() + 10
    while alive() is not None and time.monotonic() < end:  # threads of the loader may still end
        gc.collect()
        time.sleep(0.01)
    assert alive() is None and (batch == 3).all()


def test_states_tell_other_contents():
    def loader(array):
        return flow.DataLoader(flow.from_arrays({"x": array}).batch(2)["x"])

    first = loader(np.arange(10))
    rows = iter(first)
    next(rows)
    resumed = loader(np.arange(10))
    resumed.load_state_dict(first.state_dict())
    assert next(iter(resumed)).tolist() == [2, 3]
    with pytest.raises(flow.InvalidArgumentError, match="state"):
        loader(np.arange(10) + 1).load_state_dict(first.state_dict())


class Tensor:
    """As a tensor of another library: it gives its memory by one of two protocols."""

    def __init__(self, array):
        self.array, self.shape = np.asarray(array), np.shape(array)


class ByDLPack(Tensor):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ByArray(Tensor):
    def __array__(self, dtype=None, copy=None):
        return self.array


def rows_of(data):
    return [{name: value.tolist() if isinstance(value, np.ndarray) else value
             for name, value in record.items()} for record in data]  # fmt: skip


def test_what_arrays_can_be_in():
    x, y = np.arange(3), np.ones(3)
    x0_x1 = [{"x0": n, "x1": 1.0} for n in range(3)]
    for given in ((x, y), [x, y], (ByDLPack(x), ByArray(y)), [ByArray(x), ByDLPack(y)]):
        assert rows_of(flow.from_arrays(given)) == x0_x1
    for given in (x, ByDLPack(x), [0, 1, 2], {"x": ByDLPack(x)}, [{"x": n} for n in range(3)]):
        assert rows_of(flow.from_arrays(given)) == [{"x": 0}, {"x": 1}, {"x": 2}]
    records = [{"id": 7, "t": "ab", "v": [1, 2]}, {"id": 8, "t": b"", "v": np.array([3])}]
    assert rows_of(flow.from_arrays(records)) == [
        {"id": 7, "t": b"ab", "v": [1, 2]}, {"id": 8, "t": b"", "v": [3]}
    ]  # fmt: skip
    lists = flow.from_arrays({"v": [np.zeros((0, 2)), np.ones((2, 2)), np.ones((1, 2))]})
    assert [row["v"] for row in rows_of(lists)] == [[], [[1, 1], [1, 1]], [[1, 1]]]
    assert lists.fields["v"].shape == (None, 2)
    # Weights and numbers may be tensors as well.
    data = flow.range(6)
    for kind in (ByDLPack, ByArray):
        assert data.select(kind([4, -6])).column("id").tolist() == [4, 0]
        assert data[kind([False, True] * 3)].column("id").tolist() == [1, 3, 5]
        assert {r["id"] for r in data.sample(kind([0.0, 0, 1, 0, 0, 0]), 9, seed=1)} == {2}
        assert len(data.repeat_by(kind([0, 0, 2, 3, 0, 0]))) == 5
        mixed = flow.mix([data, data], kind([1, 3]), length=8)
        assert len(mixed) == 8


def test_ranges_and_a_field_named_id():
    assert rows_of(flow.range(2, 9, 3)) == [{"id": 2}, {"id": 5}, {"id": 8}]
    assert len(flow.range(0)) == 0 and len(flow.range(10)) == 10
    data = flow.range(10).where("id % 2 == 1").shuffle(seed=1)
    with flow.DataLoader(data.batch(3).blobs) as loader:
        assert sorted(sum((batch["id"].tolist() for batch in loader), [])) == [1, 3, 5, 7, 9]
    with pytest.raises(flow.InvalidArgumentError, match="there is a field of this name: rename"):
        data.batch(3, with_id=True)


def test_wrong_arrays_are_refused():
    x = np.zeros((4, 2))
    for arrays, words in (
        ({}, "give a dict of arrays"),
        ([], "give a dict of arrays"),
        (3, "give a dict of arrays"),
        ([{"x": 1}, {"y": 2}], r"record 0 is a dict of \['x'\], and record 1 has \['y'\]"),
        ([{"x": 1}, 2], "record 1 has 2"),
        ([{}], "record 0 has no field"),
        ([{"tags": ["a", "b"]}, {"tags": ["c"]}], "tags has several texts in a record"),
        ([{"tags": ["a", "b"]}] * 2, "tags has several texts in a record"),
        ({"tags": [[b"a"], []]}, "tags has several texts in a record"),
        ((x, x[:3]), "x0 has 4 rows, and x1 has 3"),
        ({"x": x, "y": x[:3]}, "x has 4 rows, and y has 3"),
        ({"x": 3.0}, "which has no rows"),
        ({"x": np.zeros((4, 0))}, "not empty"),
        ({"x": [[1], [[1, 2]]]}, "rows may differ in their first dimension"),
        ({"x": [[1], [None, 2]]}, "dtype object"),
        ({"x": np.array([None])}, "dtype object"),
        ({"x": np.zeros(3, "M8[s]")}, "datetime64"),
        ({"x": ["a", 3]}, "row 1 of x is 3, beside bytes or texts"),
        ({1: x}, "the name 1 must be a str"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=words):
            flow.from_arrays(arrays)
    none = flow.from_arrays({"x": x[:0]})
    assert len(none) == 0 and list(none) == []


def test_the_op_checks_its_tables():
    def opened(array, splits, **attrs):
        attrs = {"shape": [], "dtype": "int64", **attrs}
        return flow.DataLoader(flow.ArrayReader(array, splits, **attrs))

    none, six = Table(np.zeros(0, np.int64)), Table(np.arange(6))
    for arguments, attrs, words in (
        ((six, none), {"dtype": "int32"}, "'array' has int64, not int32"),
        ((six, none), {"shape": [4]}, "has 48 bytes, which are no rows of 32"),
        ((six, none), {"shape": [None]}, "'splits'; it must be int64, and go from 0 to 6"),
        ((six, Table(np.array([0, 5]))), {"shape": [None]}, "from 0 to 6, the length of the array"),
        ((six, Table(np.array([0, 4, 3, 6]))), {"shape": [None]}, "has 3 after 4"),
        ((six, Table(np.array([0.0, 6.0]))), {"shape": [None]}, "it must be int64"),
        ((np.arange(6), none), {}, r"'array' is not a Table; flow.from_arrays\(\)"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=words):
            opened(*arguments, **attrs)
    with opened(six, Table(np.array([0, 2, 2, 6])), shape=[None], batch_size=3) as loader:
        assert [row.tolist() for row in next(iter(loader))] == [[0, 1], [], [2, 3, 4, 5]]
