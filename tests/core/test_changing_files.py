"""Files that another process changes while they are open: no changed row is delivered."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.io import TFRecordWriter

ROWS = 2000
BATCH = 10

# ---- Formats: how rows (i, 10 * i) from a number on are written, and read -----------------------


@functools.cache
def pairs(first: int) -> np.ndarray[Any, Any]:
    i = np.arange(first, first + ROWS, dtype=np.float64)
    return np.stack([i, 10 * i], axis=1)


@functools.cache
def text(first: int) -> str:
    return "".join(f"{i:07.0f},{j:08.0f}\n" for i, j in pairs(first))


def write_text(path: Path, first: int) -> None:
    path.write_text(text(first))


def write_npy(path: Path, first: int) -> None:
    with path.open("wb") as file:
        np.save(file, pairs(first))


@functools.cache
def tfrecords(first: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with TFRecordWriter(Path(folder, "a")) as writer:
            writer.write_batch({"x": pairs(first).astype(np.float32)})
        return Path(folder, "a").read_bytes()


def write_tfrecord(path: Path, first: int) -> None:
    path.write_bytes(tfrecords(first))


def read_csv(path: Path, **attrs: Any) -> Any:
    return flow.CSVReader(files=str(path), columns=["0..1:float64"], header="no", **attrs)


def read_lines(path: Path, **attrs: Any) -> Any:
    return flow.MiniReader(files=str(path), **attrs)


def read_npy(path: Path, **attrs: Any) -> Any:
    return flow.NpyReader(files=str(path), **attrs)


def read_tfrecord(path: Path, **attrs: Any) -> Any:
    records = flow.TFRecordReader(files=str(path), **attrs)
    return flow.ExampleDecoder(records, features=["x:float32[2]"])


FORMATS = {
    "lines": (write_text, read_lines),
    "CSV": (write_text, read_csv),
    "npy": (write_npy, read_npy),
    "TFRecord": (write_tfrecord, read_tfrecord),
}

# ---- Changes ------------------------------------------------------------------------------------


def cut(path: Path, write: Callable[[Path, int], None]) -> None:
    os.truncate(path, path.stat().st_size // 2 + 100)


def grow(path: Path, write: Callable[[Path, int], None]) -> None:
    with path.open("ab") as file:
        file.write(b"0" * 100)


def replace(path: Path, write: Callable[[Path, int], None]) -> None:
    write(path.with_suffix(".new"), ROWS)
    os.replace(path.with_suffix(".new"), path)


def rewrite(path: Path, write: Callable[[Path, int], None]) -> None:
    """The file is changed in place, and keeps its size and time of modification."""
    before = path.stat()
    write(path.with_suffix(".new"), ROWS)
    with path.open("r+b") as file:
        file.write(path.with_suffix(".new").read_bytes())
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [cut, grow, replace, rewrite]


def expect_right_rows_and_an_error(loader: Any, path: Path, position: int) -> None:
    """The batches up to the error have the rows that were there at first."""
    with pytest.raises(flow.FileError) as caught:
        for batch in loader:
            assert np.array_equal(batch, pairs(0)[position : position + BATCH])
            position += BATCH
    assert caught.value.file == str(path) and position < ROWS


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_changes_between_steps(name: str, change: Any, access: str, tmp_path: Path) -> None:
    write, read = FORMATS[name]
    path = tmp_path / "part-0"
    write(path, 0)
    blob = read(path, batch_size=BATCH, file_access=access)
    with flow.DataLoader(blob, prefetch=4) as loader:
        batches = iter(loader)
        np.testing.assert_array_equal(np.asarray(next(batches)), pairs(0)[:BATCH])
        change(path, write)
        expect_right_rows_and_an_error(batches, path, BATCH)


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_changes_during_a_step(name: str, change: Any, access: str, tmp_path: Path) -> None:
    """A function of the graph changes the file: other batches are being made at that moment."""
    write, read = FORMATS[name]
    path = tmp_path / "part-0"
    write(path, 0)

    @flow.register_decoder(outputs={"out": lambda row: row}, per="row")
    def meddle(row: Any) -> Any:
        if row[0] == 305:
            change(path, write)
        return row

    blob = meddle(read(path, batch_size=BATCH, file_access=access))
    with flow.DataLoader(blob, prefetch=4, num_threads=2) as loader:
        expect_right_rows_and_an_error(loader, path, 0)


@pytest.mark.parametrize("attrs", [{}, {"random_shuffle": True, "seed": 1}], ids=["", "shuffled"])
def test_one_of_many_files_changes(tmp_path: Path, attrs: dict[str, Any]) -> None:
    """With so many files, a batch needs a look only at the files that it was read from."""
    paths = [tmp_path / f"part-{number:03d}" for number in range(100)]
    for number, path in enumerate(paths):
        path.write_text("".join(f"{20 * number + i:07d},1\n" for i in range(20)))
    blob = flow.MiniReader(str(tmp_path), batch_size=BATCH, with_id=True, **attrs)
    with flow.DataLoader(blob, prefetch=4) as loader:
        batches = iter(loader)
        next(batches)
        state = paths[70].stat()
        paths[70].write_text(paths[70].read_text().replace(",1", ",2"))
        os.utime(paths[70], ns=(state.st_atime_ns, state.st_mtime_ns))
        with pytest.raises(flow.FileError) as caught:
            for rows, _ in batches:
                assert (rows[:, 1] == 1).all()
    assert caught.value.file == str(paths[70])


def test_views_of_many_files(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02d}.csv").write_text("".join(f"{i},1\n" for i in range(20)))
    data = flow.open(str(tmp_path / "*.csv"), header="no").shuffle(seed=1).take(700)
    with flow.DataLoader(data.batch(BATCH), prefetch=4) as loader:
        batches = iter(loader)
        next(batches)
        path = tmp_path / "17.csv"
        path.write_text(path.read_text().replace(",1", ",2"))
        with pytest.raises(flow.FileError) as caught:
            for batch in batches:
                assert (batch[1] == 1).all()
    assert caught.value.file == str(path)


def test_rights_and_links_may_change(tmp_path: Path) -> None:
    path = tmp_path / "part-0"
    write_text(path, 0)
    with flow.DataLoader(flow.MiniReader(files=str(path), batch_size=BATCH)) as loader:
        batches = iter(loader)
        rows = [next(batches)]
        path.chmod(0o440)
        os.link(path, tmp_path / "backup")
        np.testing.assert_array_equal(np.concatenate([*rows, *batches]), pairs(0))


@pytest.mark.parametrize("attrs", [{}, {"random_shuffle": True}], ids=["", "shuffled"])
@pytest.mark.parametrize("read", [read_lines, read_csv])
def test_an_index_is_not_taken_for_an_edited_file(read: Any, attrs: Any, tmp_path: Path) -> None:
    """The edit leaves size, time of modification and all that the fingerprint looks at."""
    path = tmp_path / "part-0"
    path.write_text("".join(f"{i:07d},{10 * i:08d}\n" for i in range(10 * ROWS)))
    attrs = {"batch_size": BATCH, "index_dir": str(tmp_path / "indexes"), "seed": 1, **attrs}

    def rows() -> Any:
        with flow.DataLoader(read(path, **attrs)) as loader:
            found = np.concatenate(list(loader))
            return found[np.argsort(found[:, 0], kind="stable")]

    expected = rows()
    before = path.stat()
    text = path.read_bytes()
    assert text.count(b"0000500,00005000\n0000501,") == 1  # a line ends earlier
    path.write_bytes(text.replace(b"0000500,00005000\n0000501,", b"0000500,005000\n000000501,"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    np.testing.assert_array_equal(rows(), expected)
