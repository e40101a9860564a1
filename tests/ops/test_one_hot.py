"""OneHot: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, same

INTEGERS = [d for d in ALL_DTYPES if d.kind in "iu"]


@pytest.mark.parametrize("source", INTEGERS, ids=lambda d: d.name)
def test_numbers(source):
    labels = np.random.default_rng(0).integers(0, 10, 300).astype(source)
    blob = blob_of(labels, batch_size=64)
    found = load(*(flow.OneHot(blob, depth=10, dtype=target) for target in ALL_DTYPES))
    for target, of_target in zip(ALL_DTYPES, found, strict=True):
        same(of_target, np.eye(10, dtype=target)[labels.astype(int)])


def test_values_and_shapes():
    labels = np.random.default_rng(0).integers(0, 4, (600, 2, 3))
    blob = flow.OneHot(blob_of(labels, batch_size=160), depth=4, on_value=0.9, off_value=-0.1)
    assert (blob.shape, blob.dtype) == ((160, 2, 3, 4), np.float32)
    expected = np.where(np.eye(4, dtype=bool)[labels], np.float32(0.9), np.float32(-0.1))
    same(load(blob, num_threads=3), expected)


def test_ragged_rows():
    chance = np.random.default_rng(0)
    rows = [chance.integers(0, 5, int(chance.integers(0, 7))) for _ in range(400)]
    blob = flow.OneHot(blob_of(rows, [-1], batch_size=60), depth=5, dtype="int8")
    assert blob.shape == (60, None, 5)
    same(load(blob), [np.eye(5, dtype=np.int8)[row] for row in rows])


@pytest.mark.parametrize("label", [-1, 3, 2**62, 1 - 2**63])
def test_a_class_that_there_is_not(label):
    rows = np.array([[0, 1], [2, label], [2, 0]])
    with pytest.raises(flow.CorruptDataError, match=f"element 1 of the row is {label}; with depth "
                       "= 3 a class is 0 to 2") as caught:  # fmt: skip
        load(flow.OneHot(blob_of(rows), depth=3))
    assert (caught.value.op, caught.value.ordinal) == ("OneHot", 1)
    assert len(load(flow.OneHot(blob_of(rows, on_error="skip"), depth=3))) == 2


def test_a_missing_date_has_a_class_where_it_gets_one():
    days = flow.from_arrays({"day": [b"2024-01-01", b""]})
    parsed = {"unit": "weekday", "on_bad": "fill"}
    with pytest.raises(flow.CorruptDataError, match="a missing date: ParseDate with fill = 7, and "
                       "depth = 8"):  # fmt: skip
        list(days.map(flow.ParseDate, "day", **parsed).map(flow.OneHot, "day", depth=7))
    filled = days.map(flow.ParseDate, "day", fill=7, **parsed).map(flow.OneHot, "day", depth=8)
    assert [int(one["day"].argmax()) for one in filled] == [0, 7]


def test_a_uint64_beyond_int64():
    with pytest.raises(flow.CorruptDataError, match="is 18446744073709551615; with depth"):
        load(flow.OneHot(blob_of(np.array([2**64 - 1], np.uint64)), depth=3))


def test_attrs():
    blob = blob_of(np.zeros(3, np.int64))
    with pytest.raises(flow.InvalidArgumentError, match="on_value = 300; uint8 holds the integers "
                       "0 to 255"):  # fmt: skip
        flow.OneHot(blob, depth=3, on_value=300, dtype="uint8")
    with pytest.raises(flow.InvalidArgumentError, match="off_value = 0.5; int32"):
        flow.OneHot(blob, depth=3, off_value=0.5, dtype="int32")
    with pytest.raises(flow.InvalidArgumentError, match="depth"):
        flow.OneHot(blob, depth=0)
    for dtype in ("float32", "bool"):
        with pytest.raises(flow.InvalidArgumentError, match="must be integers: use Cast first"):
            flow.OneHot(blob_of(np.zeros(3, dtype)), depth=3)
    with pytest.raises(flow.InvalidArgumentError, match="too many dimensions"):
        flow.OneHot(blob_of(np.zeros((2, *[1] * 8), np.int8)), depth=3)
