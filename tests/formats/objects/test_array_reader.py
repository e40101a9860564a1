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
    for seed in range(8):
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
    assert alive() is None and (batch == 7).all()


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


def test_wrong_arrays_are_refused():
    x = np.zeros((4, 2))
    for arrays, words in (
        ([x], "give a dict of arrays"),
        ({}, "give a dict of arrays"),
        ({"x": x, "y": x[:3]}, "x has 4 rows, and y has 3"),
        ({"x": 3.0}, "which has no rows"),
        ({"x": np.zeros((4, 0))}, "not empty"),
        ({"x": [[1], [1, 2]]}, "a Ragged has rows of several lengths"),
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
        ((six, none), {"shape": [None]}, "'splits'; it must be int64, from 0 to the 6"),
        ((six, Table(np.array([0, 5]))), {"shape": [None]}, "from 0 to the 6 of the array"),
        ((six, Table(np.array([0, 4, 3, 6]))), {"shape": [None]}, "has 3 after 4"),
        ((six, Table(np.array([0.0, 6.0]))), {"shape": [None]}, "it must be int64"),
        ((np.arange(6), none), {}, r"'array' is no Table; flow.from_arrays\(\)"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=words):
            opened(*arguments, **attrs)
    with opened(six, Table(np.array([0, 2, 2, 6])), shape=[None], batch_size=3) as loader:
        assert [row.tolist() for row in next(iter(loader))] == [[0, 1], [], [2, 3, 4, 5]]
