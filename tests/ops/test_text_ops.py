"""AddToken, SlidingWindow, ToNumber and TruncatePair: against MindSpore's values, and NumPy."""

import json
import struct

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged
from support.paths import ROOT

MINDSPORE = json.loads((ROOT / "tests/fixtures/mindspore/text.json").read_text())
ROW, OTHER = (np.array(one, np.int32) for one in MINDSPORE["rows"])


def lists(rows):
    return [row.tolist() for row in rows]


def as_bytes(texts):
    return [np.frombuffer(text.encode(), np.uint8) for text in texts]


# ---- Values of MindSpore ------------------------------------------------------------------------


def test_windows_and_lengths_are_those_of_mindspore():
    for width, expected in MINDSPORE["SlidingWindow"].items():
        assert flow.SlidingWindow(ROW, width=int(width)).tolist() == expected
    for n, expected in MINDSPORE["Truncate"].items():
        assert flow.Slice(ROW, stop=[int(n)]).tolist() == expected
    for n, expected in MINDSPORE["TruncateSequencePair"].items():
        assert lists(flow.TruncatePair(ROW, OTHER, max_length=int(n))) == expected
    for n, expected in MINDSPORE["Ngram"].items():
        windows = flow.SlidingWindow(np.array([0, 1, 2]), width=int(n))
        assert [" ".join("abc"[i] for i in one) for one in windows] == expected
    letters = {7: "t", 1: "a", 2: "b"}
    for begin, expected in zip((True, False), MINDSPORE["AddToken"], strict=True):
        found = flow.AddToken(np.array([1, 2]), token=7, begin=begin).tolist()
        assert [letters[one] for one in found] == expected


# MindSpore reads the beginning of a text as an integer, and hexadecimal numbers as floats; ours are
# errors.  An unsigned -0 is 0.
DIFFERENT = {
    "integer": {"1.5", "1e3", "0x10", "nan", "0.1", "1e400", "-0"},
    "float": {"0x10"},
}


@pytest.mark.parametrize("dtype", MINDSPORE["ToNumber"])
def test_numbers_are_those_of_mindspore(dtype):
    different = DIFFERENT["float" if "float" in dtype else "integer"]
    for text, expected in zip(MINDSPORE["numbers"], MINDSPORE["ToNumber"][dtype], strict=True):
        try:
            found = flow.ToNumber(text.encode(), dtype=dtype)
        except flow.CorruptDataError:
            found = None
        if text in different:
            assert found is None or text == "-0" and found == 0, text
        elif expected is None or found is None:
            assert found is None and expected is None, text
        else:
            assert np.dtype(dtype).type(expected).tobytes() == found.tobytes() or (
                np.isnan(expected) and np.isnan(found)
            ), text


# ---- Values of NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
def test_ragged_rows_of_each_dtype(dtype):
    rows = ragged(dtype)
    one = np.ones(1, dtype)
    blob = blob_of(rows, [-1], batch_size=100)
    windows = load(flow.SlidingWindow(blob, width=3, step=2), num_threads=3)
    for row, found in zip(rows, windows, strict=True):
        expected = [row[i : i + 3] for i in range(0, len(row) - 2, 2)]
        assert found.dtype == dtype and found.shape == (len(expected), 3)
        assert found.tobytes() == b"".join(one.tobytes() for one in expected)
    for begin in (True, False):
        found = load(flow.AddToken(blob, token=1, begin=begin), num_threads=3)
        joined = [np.concatenate([one, row] if begin else [row, one]) for row in rows]
        assert [row.tobytes() for row in found] == [row.tobytes() for row in joined]
    first, second = load(*flow.TruncatePair(blob, flow.Slice(blob, stop=[2]), max_length=5))
    for row, a, b in zip(rows, first, second, strict=True):
        lengths = [len(row), min(len(row), 2)]
        while sum(lengths) > 5:
            lengths[lengths[0] <= lengths[1]] -= 1
        assert (a.tobytes(), b.tobytes()) == tuple(row[:n].tobytes() for n in lengths)


def test_dense_rows_and_rows_of_several_dimensions():
    rows = np.arange(60.0).reshape(5, 6, 2)
    view = np.lib.stride_tricks.sliding_window_view(rows, 4, axis=1).transpose(0, 1, 3, 2)
    found = load(flow.SlidingWindow(blob_of(rows), width=4))
    assert found.shape == (5, 3, 4, 2) and np.array_equal(found, view)
    assert load(flow.SlidingWindow(blob_of(rows), width=7)).shape == (5, 0, 7, 2)
    first, second = load(*flow.TruncatePair(blob_of(rows), blob_of(rows), max_length=5))
    assert np.array_equal(first, rows[:, :3]) and np.array_equal(second, rows[:, :2])
    numbers = load(flow.AddToken(blob_of(rows[:, :, 0]), token=-1, begin=False))
    assert np.array_equal(numbers, np.pad(rows[:, :, 0], ((0, 0), (0, 1)), constant_values=-1))


def test_numbers_against_python():
    draw = np.random.default_rng(0)
    integers = [str(one) for one in [0, -(2**63), *draw.integers(-(2**63), 2**63, 200)]]
    found = load(flow.ToNumber(blob_of(as_bytes(integers), [-1]), dtype="int64"))
    assert found.tolist() == [*map(int, integers)]
    bits = draw.integers(0, 2**63, 300).astype(np.uint64)
    floats = [repr(one) for one in bits.view(np.float64).tolist() if np.isfinite(one)]
    found = load(flow.ToNumber(blob_of(as_bytes(floats), [-1]), dtype="float64"))
    assert found.tobytes() == struct.pack(f"{len(floats)}d", *map(float, floats))


# ---- Damage and limits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "byte"),
    [("12x", 2), ("-", 0), ("1 2", 1), ("1.", 1), ("99999999999999999999", 19),
     (" 1e3 ", 2), ("-9223372036854775809", 0), ("12\0", 2), ("x" * 5000, 0)],
)  # fmt: skip
def test_a_text_that_is_no_integer_names_its_byte(tmp_path, text, byte):
    (tmp_path / "part-0").write_text(f"7\n{text}\n8\n")
    rows = flow.TextLineReader(tmp_path, batch_size=2, on_error="raise")
    expected = "expected a decimal integer of int64"
    with pytest.raises(flow.CorruptDataError, match=expected) as caught:
        load(flow.ToNumber(rows, dtype="int64"))
    assert (caught.value.op, caught.value.line, caught.value.byte) == ("ToNumber", 2, 2 + byte)
    kept = flow.TextLineReader(tmp_path, batch_size=2, on_error="skip")
    assert load(flow.ToNumber(kept, dtype="int64")).tolist() == [7, 8]


def test_texts_without_a_number():
    for text in (b"", b"  ", b"+", b"e5", b".", b"1_0", b"0x10", b"1e400"):
        for dtype in ("int8", "bfloat16", "float64"):
            with pytest.raises(flow.CorruptDataError, match="ToNumber"):
                flow.ToNumber(text, dtype=dtype)
    assert np.isinf(flow.ToNumber(b"-inf", dtype="float32"))


def test_attrs():
    with pytest.raises(flow.InvalidArgumentError, match="token = 256; the rows are uint8"):
        flow.AddToken(np.zeros(3, np.uint8), token=256)
    with pytest.raises(flow.InvalidArgumentError, match="one dimension"):
        flow.AddToken(np.zeros((3, 2)), token=1)
    with pytest.raises(flow.InvalidArgumentError, match="width"):
        flow.SlidingWindow(ROW, width=0)
    with pytest.raises(flow.InvalidArgumentError, match="1 to 7 dimensions"):
        flow.SlidingWindow(blob_of(np.zeros(3)), width=1)
    with pytest.raises(flow.InvalidArgumentError, match="max_length"):
        flow.TruncatePair(ROW, ROW, max_length=-1)
    with pytest.raises(flow.InvalidArgumentError, match="dtype"):
        flow.ToNumber(b"1", dtype="bool")
