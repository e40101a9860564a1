"""ToNumber: against MindSpore's values, and Python."""

import json
import struct

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import blob_of, load
from support.paths import ROOT

MINDSPORE = json.loads((ROOT / "tests/fixtures/mindspore/text.json").read_text())


def as_bytes(texts):
    return [np.frombuffer(text.encode(), np.uint8) for text in texts]


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


def test_numbers_against_python():
    draw = np.random.default_rng(0)
    integers = [str(one) for one in [0, -(2**63), *draw.integers(-(2**63), 2**63, 200)]]
    found = load(flow.ToNumber(blob_of(as_bytes(integers), [-1]), dtype="int64"))
    assert found.tolist() == [*map(int, integers)]
    bits = draw.integers(0, 2**63, 300).astype(np.uint64)
    floats = [repr(one) for one in bits.view(np.float64).tolist() if np.isfinite(one)]
    found = load(flow.ToNumber(blob_of(as_bytes(floats), [-1]), dtype="float64"))
    assert found.tobytes() == struct.pack(f"{len(floats)}d", *map(float, floats))


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
    with pytest.raises(flow.InvalidArgumentError, match="dtype"):
        flow.ToNumber(b"1", dtype="bool")
