"""Cast: against NumPy."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged, same
from support.oracle import SANITIZED

RANDOM = 40 if SANITIZED else 200
every_source = pytest.mark.parametrize("source", ALL_DTYPES, ids=lambda d: d.name)


def samples(dtype: np.dtype) -> np.ndarray:
    """Limits, numbers at edges of others' limits, and hundreds of random ones."""
    chance = np.random.default_rng(1)
    if dtype == bool:
        return chance.integers(0, 2, RANDOM).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = {s * 2**k + d for k in range(65) for s in (1, -1) for d in (-1, 0, 1)}
        edges |= {65504, 65519, 65520, -65519, -65520, 2**24 + 1, 2**53 + 1}
        inside = [edge for edge in edges if info.min <= edge <= info.max]
        some = chance.integers(info.min, info.max, RANDOM, dtype, endpoint=True)
        return np.concatenate([np.array(inside, dtype), some, some // dtype.type(7)])
    edges = [0.0, -0.0, 0.5, -0.5, 0.999, -0.999, np.inf, -np.inf, np.nan, 65504, 65519.99, 65520]
    edges += [s * (2.0**k + d) for k in range(-26, 65) for s in (1, -1) for d in (-1, 0, 0.5, 1)]
    edges += [3.4028235e38, 3.4028236e38, 1e300, -1e300, 2.0**-24, 2.0**-25, 2.0**-25 * 1.0001]
    bits = chance.integers(0, 2 ** (8 * dtype.itemsize), RANDOM, np.uint64, endpoint=False)
    with np.errstate(all="ignore"):
        values = np.array(edges).astype(dtype)
    some = bits.astype(f"u{dtype.itemsize}").view(dtype)
    small = chance.normal(0, 300, RANDOM).astype(dtype)
    return np.concatenate([values, some, small])


limits = functools.cache(np.iinfo)


def exact(value, dtype: np.dtype, overflow: str):
    """One number by the rules in words; None: it does not fit."""
    if dtype == bool:
        return value != 0
    if dtype.kind in "iu":
        info = limits(dtype)
        if isinstance(value, float) and not math.isfinite(value):
            if overflow == "saturate" and not math.isnan(value):
                return info.max if value > 0 else info.min
            return None if overflow == "raise" else 0
        whole = int(value)
        if info.min <= whole <= info.max:
            return whole
        if overflow == "raise":
            return None
        if overflow == "saturate":
            return info.max if whole > 0 else info.min
        return (whole - info.min) % 2**info.bits + info.min
    found = dtype.type(value) if dtype.itemsize == 8 else narrowed(value, dtype)
    if np.isinf(found) and math.isfinite(float(value)):
        limit = np.finfo(dtype).max
        return None if overflow == "raise" else found if overflow == "wrap" else (
            limit if value > 0 else -limit
        )
    return found


def narrowed(value, dtype: np.dtype):
    """Rounded once: NumPy goes from int64 to float16 by way of float64, which is exact enough
    below 2^53, and above it the result is infinite."""
    if isinstance(value, int) and dtype == np.float32:
        return np.array([value], np.int64 if value < 2**63 else np.uint64).astype(dtype)[0]
    return np.float64(value).astype(dtype)


def expected_of(rows: np.ndarray, dtype: np.dtype, overflow: str) -> list:
    with np.errstate(all="ignore"):
        return [exact(value, dtype, overflow) for value in rows.tolist()]


@every_source
@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_every_pair_of_dtypes(source, overflow):
    rows = samples(source)
    blob = blob_of(rows, batch_size=1024)
    casts = [flow.Cast(blob, dtype=target, overflow=overflow) for target in ALL_DTYPES]
    for target, found in zip(ALL_DTYPES, load(*casts), strict=True):
        expected = np.array(expected_of(rows, target, overflow), target)
        assert found.dtype == target
        nan = np.isnan(expected) if target.kind == "f" else np.zeros(len(rows), bool)
        assert np.array_equal(nan, np.isnan(found) if target.kind == "f" else nan), target
        assert found[~nan].tobytes() == expected[~nan].tobytes(), target


@every_source
def test_what_does_not_fit_is_left_out(source):
    rows = samples(source)[:2000]
    for target in ALL_DTYPES:
        blob = blob_of(rows, batch_size=512, on_error="skip", max_errors=5000)
        found = load(flow.Cast(blob, dtype=target))
        values = expected_of(rows, target, "raise")
        kept = np.array([value for value in values if value is not None], target)
        assert np.array_equal(found, kept, equal_nan=target.kind == "f"), target


def test_float16_is_that_of_numpy():
    every = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(256, 256)
    wide = load(flow.Cast(blob_of(every), dtype="float32"))
    nan = np.isnan(every)
    assert np.array_equal(np.isnan(wide), nan)
    same(wide[~nan], every[~nan].astype(np.float32))
    back = load(flow.Cast(flow.Cast(blob_of(every), dtype="float32"), dtype="float16"))
    same(back[~nan], every[~nan])
    # All that lies around the midpoints between two neighbours.
    ordered = np.sort(every[~nan]).astype(np.float64)
    middle = (ordered[1:] + ordered[:-1]) / 2
    middle = middle[np.isfinite(middle)]
    middle = middle[:: 50 if SANITIZED else 1]
    for dtype in (np.float32, np.float64):
        there = middle.astype(dtype)
        near = np.stack([np.nextafter(there, dtype(-1e9)), there,
                         np.nextafter(there, dtype(1e9))])  # fmt: skip
        found = load(flow.Cast(blob_of(near), dtype="float16", overflow="wrap"))
        with np.errstate(over="ignore"):
            same(found, near.astype(np.float16))


def test_a_double_is_rounded_once():
    twice = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-11 - 2.0**-40])
    same(load(flow.Cast(blob_of(twice), dtype="float16")), twice.astype(np.float16))


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("source, target", [("int32", "float16"), ("float64", "uint8"),
                                            ("uint8", "uint8"), ("bool", "int64")])  # fmt: skip
def test_ragged_rows(source, target, num_threads):
    rows = [np.abs(row) for row in ragged("int64", tail=(2,))]
    rows = [row.astype(source) for row in rows]
    blob = flow.Cast(blob_of(rows, [-1, 2], batch_size=100), dtype=target)
    assert blob.is_ragged and blob.dtype == np.dtype(target)
    same(load(blob, num_threads=num_threads), [row.astype(target) for row in rows])


def test_a_row_that_does_not_fit_is_named():
    rows = np.array([[1, 2, 3], [4, 300, 6], [7, 8, 9]])
    with pytest.raises(flow.CorruptDataError, match="element 1 of the row is 300; uint8 holds 0 "
                       "to 255") as caught:  # fmt: skip
        load(flow.Cast(blob_of(rows), dtype="uint8"))
    assert (caught.value.op, caught.value.ordinal) == ("Cast", 1)
    lists = [row for row in rows]
    with pytest.raises(flow.CorruptDataError, match="element 1 of the row is 300") as caught:
        load(flow.Cast(blob_of(lists, [-1]), dtype="uint8"))
    assert caught.value.ordinal == 1
    blob = flow.Cast(blob_of(rows, on_error="pad"), dtype="uint8")
    assert load(blob).tolist() == [[1, 2, 3], [0, 0, 0], [7, 8, 9]]


def test_rows_without_elements():
    same(load(flow.Cast(blob_of(np.zeros((5, 0, 3))), dtype="int8")), np.zeros((5, 0, 3), "int8"))


def test_attrs():
    blob = blob_of(np.zeros(3))
    with pytest.raises(flow.InvalidArgumentError, match="dtype"):
        flow.Cast(blob)
    with pytest.raises(flow.InvalidArgumentError, match="raise, wrap, saturate"):
        flow.Cast(blob, dtype="int8", overflow="clip")
