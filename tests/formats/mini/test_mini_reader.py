"""MiniReader: which files it reads, what a record is, and the extra outputs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from support.files import lines, read, rows, write_parts


def test_reads_the_parts_in_order(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 4), lines(4, 5), lines(5, 11))
    assert np.array_equal(read(data), rows(0, 11))
    blob = flow.MiniReader(data, batch_size=4)
    assert (blob.shape, blob.dtype, blob.sbp) == ((4, 2), np.dtype(np.float64), "split(0)")
    with flow.DataLoader(blob) as loader:
        assert [len(batch) for batch in loader] == [4, 4, 3]
        assert len(loader) == 3
        assert np.array_equal(np.concatenate(list(loader)), rows(0, 11))


@pytest.mark.parametrize(
    "content",
    [
        b"1,10\n2,20\n",
        b"1,10\n2,20",
        b"1,10\r\n2,20\r\n",
        b"1,10\r\n2,20\r",
        b"\n\n1,10\n\n \n\t\r\n2,20\n\r\n  \t",
        b" 1 ,\t10 \n\t2\t,  20\t",
        b"+1,1e1\n02,20",
    ],
)
def test_what_a_line_is(tmp_path: Path, content: bytes) -> None:
    data = write_parts(tmp_path, content)
    assert np.array_equal(read(data), [[1, 10], [2, 20]])


def test_files_are_never_glued(tmp_path: Path) -> None:
    data = write_parts(tmp_path, b"1,10", b"", b"2,20\r\n3,30", b"\n\n", b"4,40")
    assert np.array_equal(read(data), rows(1, 5))


def test_numbers_are_those_of_float(tmp_path: Path) -> None:
    texts = ["0.1", "-0.0", "1e-400", "5e-324", "1.7976931348623157e308", "1e400", "-inf",
             "2.2250738585072011e-308", "0.1000000000000000055511151231257827021181583404541015625"]
    data = write_parts(tmp_path, "".join(f"{text},nan\n" for text in texts).encode())
    got = read(data)
    assert got[:, 0].tobytes() == np.array([float(text) for text in texts]).tobytes()
    assert np.isnan(got[:, 1]).all() and math.copysign(1, got[1, 0]) == -1


@pytest.mark.parametrize("num_lines", [0, 1, 63, 64, 65, 128, 1000])
def test_counts_around_the_index_step(tmp_path: Path, num_lines: int) -> None:
    data = write_parts(tmp_path, lines(0, num_lines), b"" if num_lines else b"7,70")
    assert np.array_equal(read(data, 50), rows(0, num_lines) if num_lines else [[7, 70]])
    got = read(data, 50, random_shuffle=True, seed=3)
    assert np.array_equal(got[np.argsort(got[:, 0])], read(data))


def test_prefix_and_suffix_length(tmp_path: Path) -> None:
    a = write_parts(tmp_path / "a", lines(0, 2), lines(2, 3), prefix="train_", width=5)
    names = {"part_name_prefix": "train_", "part_name_suffix_length": 5}
    assert np.array_equal(read(a, data_part_num=2, **names), rows(0, 3))
    assert np.array_equal(read(a, data_part_num=1, **names), rows(0, 2))
    b = write_parts(tmp_path / "b", lines(0, 2), lines(2, 3), width=1)
    assert np.array_equal(read(b, data_part_num=2), rows(0, 3))
    assert np.array_equal(read(b, data_part_num=2, part_name_suffix_length=1), rows(0, 3))


def test_a_number_longer_than_its_padding(tmp_path: Path) -> None:
    parts = [lines(i, i + 1) for i in range(12)]
    data = write_parts(tmp_path, *parts, width=1)
    assert np.array_equal(read(data, part_name_suffix_length=1), rows(0, 12))
    assert np.array_equal(read(data, part_name_suffix_length=1, data_part_num=11), rows(0, 11))


def test_all_parts_are_read_in_numeric_order(tmp_path: Path) -> None:
    for i in (10, 2, 100, 1):
        (tmp_path / f"part-{i}").write_bytes(lines(i, i + 1))
    for name in ("part-", "part-3.csv", "part-3~", "xpart-3", "_SUCCESS", "part-x"):
        (tmp_path / name).write_bytes(b"not a row")
    assert read(str(tmp_path))[:, 0].tolist() == [1, 2, 10, 100]


def test_all_parts_of_one_length(tmp_path: Path) -> None:
    for name, i in (("part-001", 1), ("part-1", 5), ("part-1000", 1000), ("part-0002", 6)):
        (tmp_path / name).write_bytes(lines(i, i + 1))
    assert read(str(tmp_path), part_name_suffix_length=3)[:, 0].tolist() == [1, 1000]


def test_two_parts_of_one_number(tmp_path: Path) -> None:
    (tmp_path / "part-1").write_bytes(lines(0, 1))
    (tmp_path / "part-001").write_bytes(lines(0, 1))
    with pytest.raises(flow.FileError, match="'part-001' and 'part-1'"):
        read(str(tmp_path))


def test_with_id_and_mask(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 3), b"", lines(3, 5))
    blobs = flow.MiniReader(data, batch_size=4, last_batch="pad", with_mask=True, with_id=True)
    with flow.DataLoader(*blobs) as loader:
        out, mask, ids = (np.concatenate(column) for column in zip(*loader, strict=True))
    assert (out.dtype, mask.dtype, ids.dtype) == (np.float64, np.bool_, np.int64)
    assert mask.tolist() == [True] * 5 + [False] * 3
    assert ids[mask].tolist() == [[0, 0], [0, 1], [0, 2], [2, 3], [2, 4]]
    assert np.array_equal(out[mask], rows(0, 5))


def test_ids_name_the_same_records_in_any_order(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 100), lines(100, 150), lines(150, 400))
    out, ids = flow.MiniReader(data, batch_size=7, with_id=True, random_shuffle=True, seed=1)
    with flow.DataLoader(out, ids) as loader:
        for values, id_ in loader:
            assert np.array_equal(values[:, 0], id_[:, 1])
            assert np.array_equal(id_[:, 0], np.searchsorted([100, 150], id_[:, 1], "right"))


def test_a_line_of_ten_megabytes(tmp_path: Path) -> None:
    long = b"1" + b"0" * 5_000_000 + b"e-5000000," + b" " * 5_000_000 + b"2"
    data = write_parts(tmp_path, b"0,0\n" + long + b"\n3,3")
    assert np.array_equal(read(data), [[0, 0], [1, 2], [3, 3]])
