"""MiniDecoder: rows of two numbers to x and y."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from support.files import lines, rows, write_parts


def test_splits_rows_into_two_columns(tmp_path: Path) -> None:
    record = flow.MiniReader(write_parts(tmp_path, lines(0, 10)), batch_size=4)
    x, y = flow.MiniDecoder(record)
    assert x.shape == y.shape == (4, 1)
    assert x.dtype == y.dtype == np.float64
    with flow.DataLoader(x, y, record) as loader:
        for got_x, got_y, got in loader:
            assert got_x.shape == got_y.shape == (len(got), 1)
            assert got_x[:, 0].tobytes() == got[:, 0].tobytes()
            assert got_y[:, 0].tobytes() == got[:, 1].tobytes()


def test_keeps_float32(tmp_path: Path) -> None:
    record = flow.MiniReader(write_parts(tmp_path, lines(0, 5)), batch_size=5)
    x, y = flow.MiniDecoder(flow.Affine(record, scale=0.1, dtype="float32"))
    assert x.dtype == y.dtype == np.float32
    with flow.DataLoader(x, y) as loader:
        ((got_x, got_y),) = loader
    expected = (rows(0, 5) * 0.1).astype(np.float32)
    assert np.array_equal(np.hstack([got_x, got_y]), expected)


def test_bits_are_kept(tmp_path: Path) -> None:
    record = flow.MiniReader(write_parts(tmp_path, b"-0.0,nan\ninf,5e-324\n"), batch_size=2)
    with flow.DataLoader(*flow.MiniDecoder(record)) as loader:
        ((x, y),) = loader
    assert x.tobytes() == np.array([-0.0, np.inf]).tobytes()
    assert np.isnan(y[0, 0]) and y[1, 0] == 5e-324


def test_only_one_output_is_wanted(tmp_path: Path) -> None:
    x, y = flow.MiniDecoder(flow.MiniReader(write_parts(tmp_path, lines(0, 3)), batch_size=3))
    with flow.DataLoader(y) as loader:
        assert [batch.tolist() for batch in loader] == [[[0], [10], [20]]]


@pytest.mark.parametrize("output, found", [(0, r"float64 \(1,\)"), (1, r"int64 \(2,\)")])
def test_refuses_other_rows(tmp_path: Path, output: int, found: str) -> None:
    record, ids = flow.MiniReader(
        write_parts(tmp_path, lines(0, 3)), batch_size=3, with_id=True
    )
    wrong = (flow.MiniDecoder(record)[0], ids)[output]
    with pytest.raises(flow.InvalidArgumentError, match=found) as caught:
        flow.MiniDecoder(wrong)
    assert "float64 (2,)" in str(caught.value)
    assert caught.value.op == "MiniDecoder"
