"""Pad: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged, same


def padded(rows, shape, value, dtype):
    """What Pad shall make: rows, masks of all dimensions, lengths of all dimensions."""
    out = np.full((len(rows), *shape), value, dtype)
    mask = np.zeros((len(rows), *shape), bool)
    lengths = np.zeros((len(rows), len(shape)), np.int64)
    for i, row in enumerate(rows):
        box = tuple(slice(0, min(a, b)) for a, b in zip(row.shape, shape, strict=True))
        out[(i, *box)] = row[box]
        mask[(i, *box)] = True
        lengths[i] = [part.stop for part in box]
    return out, mask, lengths


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("length", [0, 4, 9, 12])
def test_one_dimension(dtype, length):
    rows, value = ragged(dtype), 1 if dtype == bool else 77
    blob = flow.Pad(blob_of(rows, [-1], batch_size=200), shape=[length], value=value,
                    on_longer="truncate", with_mask=True, with_length=True)  # fmt: skip
    assert [one.shape for one in blob] == [(200, length), (200, length), (200,)]
    out, mask, lengths = load(*blob, num_threads=3)
    expected, masks, sizes = padded(rows, (length,), value, dtype)
    same(out, expected)
    same(mask, masks)
    same(lengths, sizes[:, 0])


@pytest.mark.parametrize("shape", [(5, 3), (4, 6), (7, 0), (1, 1)])
def test_two_dimensions_that_vary(shape):
    chance = np.random.default_rng(0)
    rows = [chance.normal(size=chance.integers(0, 6, 2)) for _ in range(300)]
    blobs = flow.Pad(blob_of(rows, [-1, -1], batch_size=40), shape=shape, value=-0.5,
                     on_longer="truncate", with_mask=True, with_length=True)  # fmt: skip
    out, mask, lengths = load(*blobs)
    expected, masks, sizes = padded(rows, shape, -0.5, np.float64)
    same(out, expected)
    same(mask, masks)
    same(lengths, sizes)


def test_fixed_dimensions_behind():
    rows = ragged("uint8", tail=(2, 3))
    blobs = flow.Pad(blob_of(rows, [-1, 2, 3]), shape=[9, 2, 3], with_mask=True)
    out, mask = load(*blobs)
    expected, masks, _ = padded(rows, (9, 2, 3), 0, np.uint8)
    same(out, expected)
    same(mask, masks[:, :, 0, 0])
    out, mask = load(*flow.Pad(blob_of(rows, [-1, 2, 3]), shape=[9, 4, 3], with_mask=True))
    expected, masks, _ = padded(rows, (9, 4, 3), 0, np.uint8)
    same(out, expected)
    same(mask, masks[:, :, :, 0])


def test_dense_rows():
    rows = np.random.default_rng(0).normal(size=(500, 3, 4))
    same(load(flow.Pad(blob_of(rows), shape=[5, 4], value=np.nan)),
         padded(rows, (5, 4), np.nan, np.float64)[0])  # fmt: skip
    same(load(flow.Pad(blob_of(rows), shape=[3, 4])), rows)
    same(load(flow.Pad(blob_of(rows), shape=[2, 6], on_longer="truncate")),
         padded(rows, (2, 6), 0, np.float64)[0])  # fmt: skip
    with pytest.raises(flow.InvalidArgumentError, match="the rows are longer than the attr shape"):
        flow.Pad(blob_of(rows), shape=[2, 6])


def test_a_row_that_is_longer():
    rows = [np.arange(n) for n in (2, 5, 3)]
    with pytest.raises(flow.CorruptDataError, match="dimension 0 of the row is 5, but shape "
                       "allows 3") as caught:  # fmt: skip
        load(flow.Pad(blob_of(rows, [-1]), shape=[3]))
    assert (caught.value.op, caught.value.ordinal) == ("Pad", 1)
    found = load(flow.Pad(blob_of(rows, [-1], on_error="skip"), shape=[3]))
    assert found.tolist() == [[0, 1, 0], [0, 1, 2]]


def test_attrs():
    blob = blob_of(ragged("uint8"), [-1])
    with pytest.raises(flow.InvalidArgumentError, match="value = 256; the rows are uint8, which "
                       "holds 0 to 255"):  # fmt: skip
        flow.Pad(blob, shape=[3], value=256)
    with pytest.raises(flow.InvalidArgumentError, match="value = 0.5"):
        flow.Pad(blob, shape=[3], value=0.5)
    with pytest.raises(flow.InvalidArgumentError, match="a number for each dimension"):
        flow.Pad(blob, shape=[3, 3])
    with pytest.raises(flow.InvalidArgumentError, match="numbers have no dimension"):
        flow.Pad(blob_of(np.zeros(3)), shape=[])
    with pytest.raises(flow.InvalidArgumentError, match="shape"):
        flow.Pad(blob)
