"""Batches as Arrow data, as pyarrow reads them."""

import gc
import sys
import threading

import numpy as np
import pytest
from support import programs
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import Ragged
from pyflowdata.integrations.arrow import to_arrow

pa = pytest.importorskip("pyarrow")

TEXTS = ["grün", "", "a\0b"]


def _bytes_of(texts):
    data = [text.encode() for text in texts]
    return Ragged(np.frombuffer(b"".join(data), np.uint8), np.cumsum([0, *map(len, data)]))


COLUMNS = {
    "flag": (np.array([True, False, True]), pa.bool_(), [True, False, True]),
    "half": (np.array([1, 2, 0.5], np.float16), pa.float16(), [1.0, 2.0, 0.5]),
    "box": (
        np.arange(12, dtype=np.uint8).reshape(3, 2, 2),
        None,
        np.arange(12).reshape(3, 2, 2).tolist(),
    ),
    "strided": (np.arange(6, dtype=np.int32)[::2], pa.int32(), [0, 2, 4]),
    "text": (_bytes_of(TEXTS), pa.large_string(), TEXTS),
    "data": (_bytes_of(TEXTS), pa.large_binary(), [text.encode() for text in TEXTS]),
    "list": (
        Ragged(np.arange(5, dtype=np.float64), np.array([0, 2, 2, 5])),
        None,
        [[0.0, 1.0], [], [2.0, 3.0, 4.0]],
    ),
    "pairs": (
        Ragged(np.arange(6, dtype=np.int16).reshape(3, 2), np.array([0, 1, 1, 3])),
        None,
        [[[0, 1]], [], [[2, 3], [4, 5]]],
    ),
    "pictures": (
        Ragged(np.arange(6, dtype=np.int32), np.array([0, 4, 4, 6]), row_shape=(None, None),
               shapes=np.array([[2, 2], [0, 7], [1, 2]])),  # fmt: skip
        None,
        [{"data": [0, 1, 2, 3], "shape": [2, 2]}, {"data": [], "shape": [0, 7]},
         {"data": [4, 5], "shape": [1, 2]}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
])  # fmt: skip
def test_numbers_are_not_copied(dtype):
    values = np.arange(4).astype(dtype)
    column = pa.record_batch(to_arrow({"x": values})).column("x")
    assert column.type == pa.from_numpy_dtype(dtype) and column.tolist() == [0, 1, 2, 3]
    assert column.buffers()[1].address == values.ctypes.data


def test_columns_have_the_values_and_types_of_the_batch():
    batch = pa.record_batch(to_arrow({name: one[0] for name, one in COLUMNS.items()}, text="text"))
    batch.validate(full=True)
    for name, (_, type, values) in COLUMNS.items():
        assert type is None or batch.schema.field(name).type == type
        assert batch.column(name).to_pylist() == values, name
    assert batch.schema.field("box").type.value_type.list_size == 2
    assert batch.column("list").buffers()[1].address == COLUMNS["list"][0].row_splits.ctypes.data


def test_a_table_of_the_batches_of_an_epoch():
    rows = flow.MiniReader(ROOT / "data", batch_size=4)
    with flow.DataLoader(flow.MiniDecoder(rows)) as loader:
        expected = [np.concatenate(parts) for parts in zip(*loader, strict=True)]
        for _ in range(2):  # each use is an epoch
            table = pa.table(to_arrow(loader))
            assert table.schema.names == ["x", "y"]
            for column, values in zip(table.columns, expected, strict=True):
                np.testing.assert_array_equal(column.to_pylist(), values)


def test_the_consumer_keeps_the_memory_of_a_batch():
    rows = flow.MiniReader(ROOT / "data", batch_size=4)
    with flow.DataLoader({"x": flow.MiniDecoder(rows)[0]}) as loader:
        batch = next(iter(loader))
        expected = batch["x"].tolist()
        column = pa.record_batch(to_arrow(batch)).column("x")
        held = loader.stats()["slots_held"]
        del batch
        gc.collect()
        assert loader.stats()["slots_held"] == held
        assert column.to_pylist() == expected
        del column
        gc.collect()
        assert loader.stats()["slots_held"] == held - 1


def test_what_nobody_takes_is_released():
    values = np.arange(3)
    before = sys.getrefcount(values)

    def fails():
        kept = to_arrow({"x": values}).__arrow_c_array__()
        raise ZeroDivisionError(len(kept))

    with pytest.raises(ZeroDivisionError):
        fails()
    gc.collect()
    assert sys.getrefcount(values) == before


def test_a_child_outlives_its_parent_in_another_thread():
    batch = to_arrow({"x": np.arange(1000), "y": np.ones(1000)})
    columns = []
    threads = [threading.Thread(target=lambda: columns.append(pa.record_batch(batch).column(0)))
               for _ in range(4)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del batch
    gc.collect()
    assert [sum(column.to_pylist()) for column in columns] == [499500] * 4


def test_an_error_of_the_loader_reaches_the_consumer():
    def rows():
        yield {"x": np.int64(1)}
        raise KeyError("the second row")

    x = flow.GeneratorReader(rows, fields=["x:int64"], batch_size=1)
    with flow.DataLoader(x) as loader, pytest.raises(OSError, match="the second row"):
        pa.table(to_arrow(loader))


@pytest.mark.parametrize(("arguments", "says"), [
    ({"data": [np.arange(3), np.arange(4)]}, "the columns 0, 1 have 3, 4 rows"),
    ({"data": {"a": np.arange(3)}, "text": "b"}, "text names 'b'; the columns are a"),
    ({"data": {"a": np.arange(3)}, "text": "a"}, "a is named in text=, but its rows are not bytes"),
    ({"data": 3}, "0 is 3; a column is an array"),
    ({"data": np.float32(1)}, "a column is an array"),
    ({"data": np.arange(3), "names": ["a", "b"]}, "names has 2 names, and the batch 1 columns"),
    ({"data": np.arange(3).astype(">i4")}, "0 has the dtype >i4, which Arrow has not"),
])  # fmt: skip
def test_what_is_no_batch_is_refused(arguments, says):
    with pytest.raises(flow.InvalidArgumentError, match=says):
        to_arrow(**arguments)


def test_arrow_data_may_outlive_the_program():
    code = (
        "import numpy as np, pyarrow as pa, sys\n"
        "from pyflowdata.integrations.arrow import to_arrow\n"
        "sys.kept = [pa.table(to_arrow({'x': np.arange(9)})), to_arrow(np.arange(3))]\n"
        "sys.kept += sys.kept[1].__arrow_c_array__()\n"
    )
    run = programs.run(code)
    assert (run.returncode, run.stderr) == (0, "")
