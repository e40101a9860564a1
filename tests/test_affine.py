"""Affine: against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from files import lines, rows, write_parts


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
