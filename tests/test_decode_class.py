"""DecodeClass: against int()."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from decoder_rows import blob_of, bytes_of, load

GOOD = [b"0", b"7\n", b" 42 ", b"\t-3\r\n", b"+5", b"007", b"9223372036854775807",
        b"-9223372036854775808", b"\n\n1"]  # fmt: skip
BAD = [b"", b" ", b"x", b"1x", b"1 2", b"-", b"+", b"+-1", b"1.0", b"0x10", b"1_000", b"\xd9\xa1",
       b"9223372036854775808", b"-9223372036854775809", b"9" * 100, b"1\0"]  # fmt: skip


def test_good_ones():
    found = load(flow.DecodeClass(bytes_of(GOOD)))
    assert found.dtype == np.int64 and found.tolist() == [int(text) for text in GOOD]


def test_thousands_on_threads():
    numbers = np.random.default_rng(0).integers(-(2**62), 2**62, 5000)
    blob = bytes_of([b"%d\n" % n for n in numbers.tolist()], batch_size=1700)
    assert np.array_equal(load(flow.DecodeClass(blob), num_threads=3), numbers)


@pytest.mark.parametrize("text", BAD)
def test_any_other_text(text):
    rows = [b"1", text, b"2"]
    with pytest.raises(flow.CorruptDataError, match="it must be one decimal integer") as caught:
        load(flow.DecodeClass(bytes_of(rows)))
    assert (caught.value.op, caught.value.ordinal) == ("DecodeClass", 1)
    assert load(flow.DecodeClass(bytes_of(rows, on_error="skip"))).tolist() == [1, 2]


def test_dense_rows():
    rows = np.frombuffer(b"12 -3", np.uint8)[[[0, 1, 2], [2, 3, 4]]]
    assert load(flow.DecodeClass(blob_of(rows))).tolist() == [12, -3]


def test_refuses_other_rows():
    with pytest.raises(flow.InvalidArgumentError, match=r"the rows of input 'in' are int8 \(2,\)"):
        flow.DecodeClass(blob_of(np.zeros((3, 2), np.int8)))
