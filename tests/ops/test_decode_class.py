"""DecodeClass: against int()."""

from __future__ import annotations

import io

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.io import TFRecordWriter
from support.decoder_rows import blob_of, bytes_of, load

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


def test_the_place_of_damage(tmp_path):
    """Errors name the byte if a row lies in its record, also those of DecodeRaw and DecodeNpy."""
    file = io.BytesIO()
    np.save(file, np.arange(3, dtype=np.int16))
    npy = file.getvalue()
    for name, records in (("text", [b"12", b"x"]), ("npy", [npy, npy + b"more"])):
        with TFRecordWriter(tmp_path / name) as writer:
            for record in records:
                writer.write(record)
    first, second = 12, 12 + 2 + 4 + 12  # of the file: behind a record's length and its checksum
    for name, op, attrs, byte in (
        ("text", flow.DecodeClass, {}, second),
        ("text", flow.DecodeRaw, {"dtype": "int16"}, second),
        ("text", flow.DecodeNpy, {"dtype": "int16", "shape": [3]}, first),
        ("npy", flow.DecodeNpy, {"dtype": "int8", "shape": [3]}, first),
        ("npy", flow.DecodeNpy, {"dtype": "int16", "shape": [3]}, second - 2 + 2 * len(npy) - 6),
    ):
        rows = flow.TFRecordReader(files=tmp_path / name, batch_size=1)
        with pytest.raises(flow.CorruptDataError) as caught:
            load(op(rows, **attrs))
        assert caught.value.byte == byte, (name, op)


def test_dense_rows():
    rows = np.frombuffer(b"12 -3", np.uint8)[[[0, 1, 2], [2, 3, 4]]]
    assert load(flow.DecodeClass(blob_of(rows))).tolist() == [12, -3]


def test_refuses_other_rows():
    with pytest.raises(flow.InvalidArgumentError, match=r"the rows of input 'in' are int8 \(2,\)"):
        flow.DecodeClass(blob_of(np.zeros((3, 2), np.int8)))
