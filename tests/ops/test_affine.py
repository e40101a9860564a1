"""Affine: against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support import programs
import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, ragged, same
from support.decoder_rows import load as load_all
from support.files import lines, rows, write_parts


def load(blob: flow.Blob) -> np.ndarray:
    with flow.DataLoader(blob) as loader:
        return np.concatenate(list(loader))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale, shift", [(1, 0), (2.0, 1.0), (-0.1, 1e-3), (0, 7), (1e300, 0)])
def test_is_scale_then_shift(tmp_path: Path, dtype: str, scale: float, shift: float) -> None:
    record = flow.MiniReader(write_parts(tmp_path, lines(1, 40)), batch_size=7)
    blob = flow.Affine(record, scale=scale, shift=shift, dtype=dtype)
    assert (blob.shape, blob.dtype) == ((7, 2), np.dtype(dtype))
    with np.errstate(over="ignore"):
        expected = (rows(1, 40) * scale + shift).astype(dtype)
    assert load(blob).tobytes() == expected.tobytes()


def test_the_default_is_a_copy(tmp_path: Path) -> None:
    blob = flow.Affine(flow.MiniReader(write_parts(tmp_path, lines(0, 5)), batch_size=5))
    assert blob.dtype == np.float64
    assert np.array_equal(load(blob), rows(0, 5))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
def test_floats_keep_their_dtype_and_others_become_float32(dtype):
    given = numbers(dtype, (20, 3))
    target = dtype if dtype.kind == "f" else np.dtype("float32")
    found = load_all(flow.Affine(blob_of(given), scale=0.5, shift=1))
    same(found, expected_of(given, 0.5, 1, -1, target.name))
    again = flow.Affine(list(given), scale=0.5, shift=1, dtype=None)
    assert all(row.dtype == target for row in again) and np.array_equal(again, found)


def test_chains(tmp_path: Path) -> None:
    record = flow.MiniReader(write_parts(tmp_path, lines(0, 20)), batch_size=6)
    x, y = flow.MiniDecoder(record)
    blob = flow.Affine(flow.Affine(x, scale=3, dtype="float32"), shift=-1, dtype="float64")
    assert np.array_equal(load(blob), rows(0, 20)[:, :1] * 3 - 1)
    assert blob.shape == (6, 1)


def test_other_dtypes(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 5))
    _, mask, ids = flow.MiniReader(
        data, batch_size=4, last_batch="pad", with_mask=True, with_id=True
    )
    scaled = load(flow.Affine(mask, scale=2, shift=1, dtype="float32"))
    assert scaled.dtype == np.float32 and scaled.tolist() == [3] * 5 + [1] * 3
    assert load(flow.Affine(ids, shift=0.5))[:5].tolist() == [[0.5, i + 0.5] for i in range(5)]


def test_refuses_other_dtypes(tmp_path: Path) -> None:
    record = flow.MiniReader(write_parts(tmp_path, lines(0, 5)), batch_size=5)
    with pytest.raises(flow.InvalidArgumentError, match="float32.*float64") as caught:
        flow.Affine(record, dtype="int32")
    assert caught.value.op == "Affine"


# ---- Dtypes and channels ------------------------------------------------------------------------

SCALES = np.array([1 / 255, -0.37, 1e-3, 2.0, 1 / 3, 0.1, 7, 1e6])
SHIFTS = np.array([0.1, 1e-3, -0.485, 5, 0, 1 / 7, -1e6, 0.5])


def numbers(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    chance = np.random.default_rng(0)
    if dtype.kind == "f":
        return chance.normal(0, 100, shape).astype(dtype)
    if dtype == bool:
        return chance.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return chance.integers(info.min, info.max, shape, dtype, endpoint=True)


def expected_of(rows: np.ndarray, scale, shift, axis: int, dtype: str) -> np.ndarray:
    """In float64, rounded after each step."""
    form = [1] * (rows.ndim - 1)
    form[axis] = -1
    with np.errstate(over="ignore"):
        by = [np.reshape(np.asarray(one, np.float64), form if np.size(one) > 1 else ())
              for one in (scale, shift)]  # fmt: skip
        return (rows.astype(np.float64) * by[0] + by[1]).astype(dtype)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("shape, axis", [((3,), 0), ((5, 7, 3), -1), ((3, 5, 7), 0), ((2, 3, 5), 1),
                                         ((3, 40, 9), 0), ((1,), 0), ((2, 8), 1)])  # fmt: skip
def test_channels(dtype, shape, axis):
    rows, n = numbers(dtype, (150, *shape)), shape[axis]
    cases = [
        (scale, shift, target)
        for scale, shift in [(SCALES[:n], SHIFTS[:n]), (SCALES[:n], 0.25), (-0.5, SHIFTS[:n])]
        for target in ("float16", "float32", "float64")
    ]
    source, blobs = blob_of(rows, batch_size=128), []
    for *numbers_of, target in cases:
        scale, shift = (one.tolist() if np.size(one) > 1 else float(np.ravel(one)[0])
                        for one in numbers_of)  # fmt: skip
        blobs.append(flow.Affine(source, scale=scale, shift=shift, axis=axis, dtype=target))
    for blob, (scale, shift, target), found in zip(blobs, cases, load_all(*blobs), strict=True):
        assert blob.shape == (128, *shape)
        same(found, expected_of(rows, scale, shift, axis, target))


@pytest.mark.parametrize("target", ["float32", "float64"])
@pytest.mark.parametrize("axis, tail", [(-1, (3,)), (1, (3, 5)), (2, (3, 4))])
def test_channels_of_ragged_rows(axis, tail, target):
    rows = [np.abs(row).astype(np.uint8) for row in ragged("int64", 600, tail=tail)]
    n = tail[axis if axis < 0 else axis - 1]
    blob = blob_of(rows, [-1, *tail], batch_size=140)
    scaled = flow.Affine(blob, scale=SCALES[:n], shift=SHIFTS[:n], axis=axis, dtype=target)
    expected = [expected_of(row[None], SCALES[:n], SHIFTS[:n], axis, target)[0] for row in rows]
    same(load_all(scaled, num_threads=3), expected)


def test_channels_behind_what_varies():
    chance = np.random.default_rng(0)
    rows = [chance.integers(0, 255, (3, *chance.integers(0, 20, 2))).astype(np.uint8)
            for _ in range(200)]  # fmt: skip
    scaled = flow.Affine(blob_of(rows, [3, -1, -1]), scale=SCALES[:3], axis=0, dtype="float32")
    same(load_all(scaled), [expected_of(r[None], SCALES[:3], 0, 0, "float32")[0] for r in rows])


BYTES = """
import hashlib, numpy as np, pyflowdata as flow
from support.decoder_rows import blob_of, load
rows = np.arange(256 * 100, dtype=np.uint8).reshape(100, 256)
found = hashlib.sha256()
for scale, shift in [(1 / 255, 0), (0.1, -0.3), (1e-3, 1e3)]:
    found.update(load(flow.Affine(blob_of(rows), scale=scale, shift=shift, dtype="float32")))
    each = [scale * k for k in range(256)]
    found.update(load(flow.Affine(blob_of(rows), scale=each, shift=shift, dtype="float32")))
print(found.hexdigest())
"""


def test_every_processor_gives_the_same_bits():
    found = set()
    for level in ("plain", "avx2", "avx512"):
        with_level = programs.environment(PYFLOWDATA_SIMD=level)
        found.add(programs.run(BYTES, env=with_level, check=True).stdout)
    assert len(found) == 1


def test_channels_are_checked():
    blob = blob_of(np.zeros((3, 4, 3)))
    with pytest.raises(flow.InvalidArgumentError, match=r"dimension 0 of the rows must be 3"):
        flow.Affine(blob, scale=[1, 2, 3], axis=0)
    with pytest.raises(flow.InvalidArgumentError, match="scale has 3 numbers and shift has 2"):
        flow.Affine(blob, scale=[1, 2, 3], shift=[1, 2])
    with pytest.raises(flow.InvalidArgumentError, match="scale has 0 numbers"):
        flow.Affine(blob, scale=[])
    with pytest.raises(flow.InvalidArgumentError, match=r"\(\); with scale or shift of 2"):
        flow.Affine(blob_of(np.zeros(3)), scale=[1, 2])


@pytest.mark.parametrize("scale", [1 / 255, 1 / 256, 2 / 255, 0.0127, -1 / 127.5, 1e-40, 1.4e38, 0])
def test_every_byte_in_long_rows(tmp_path: Path, scale: float) -> None:
    """Where float32 arithmetic is taken instead of float64's, its bits are the same."""
    pixels = np.random.default_rng(1).permutation(np.arange(20 * 1024) % 256).astype(np.uint8)
    (tmp_path / "p").write_bytes(pixels.tobytes())
    images = flow.RawReader(files=tmp_path / "p", shape=(4, 1024), batch_size=5)
    shifts = (0.0, -1.0, 0.5, -0.42421296, 1e-3, 3e38)
    blobs = [flow.Affine(images, scale=scale, shift=one, dtype="float32") for one in shifts]
    for shift, found in zip(shifts, load_all(*blobs), strict=True):
        with np.errstate(over="ignore"):
            expected = (pixels.astype(np.float64) * scale + shift).astype(np.float32)
        assert found.tobytes() == expected.tobytes(), shift
