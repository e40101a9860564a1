"""NpyReader: against NumPy, which wrote the files."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow

NUMPY = ROOT / "tests/fixtures/numpy"
DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float64".split()


def load(blob: flow.Blob) -> np.ndarray:
    with flow.DataLoader(blob) as loader:
        return np.concatenate(list(loader))


def read_npy(*names: str, **attrs: object) -> np.ndarray:
    return load(flow.NpyReader(files=[NUMPY / name for name in names], batch_size=3, **attrs))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_of_numpy(dtype: str) -> None:
    truth = np.load(NUMPY / f"{dtype}.npy")
    found = read_npy(f"{dtype}.npy", dtype=dtype, shape=(2,))
    assert found.dtype == truth.dtype and np.array_equal(found, truth)


def test_every_version_of_the_header() -> None:
    names = [f"float32-version-{number}.npy" for number in (1, 2, 3)]
    truth = np.concatenate([np.load(NUMPY / name) for name in names])
    assert np.array_equal(read_npy(*names, dtype="float32", shape=(2, 3)), truth)


def test_headers_of_different_lengths(tmp_path: Path) -> None:
    rows = np.arange(22, dtype=np.int64).reshape(11, 2)
    paths = []
    for number, part in enumerate((rows[:4], rows[4:4], rows[4:5], rows[5:])):
        paths.append(tmp_path / f"{number}.npy")
        np.save(paths[-1], part)
        if number != 2:
            continue
        content = paths[-1].read_bytes()  # with another 64 blanks, as other writers pad it
        length = int.from_bytes(content[8:10], "little")
        header = content[10 : 10 + length - 1] + b" " * 64 + b"\n"
        size = (length + 64).to_bytes(2, "little")
        paths[-1].write_bytes(content[:8] + size + header + content[10 + length :])
        assert np.array_equal(np.load(paths[-1]), part)
    for access in ("map", "read"):
        blob = flow.NpyReader(files=paths, dtype="int64", shape=(2,), batch_size=4,
                              file_access=access)  # fmt: skip
        assert np.array_equal(load(blob), rows)


def test_other_shapes() -> None:
    assert read_npy("one-axis.npy", dtype="int64", shape=()).tolist() == list(range(-3, 4))
    names = ("no-rows.npy", "float32-version-1.npy")
    assert read_npy(*names, dtype="float32", shape=(2, 3)).shape == (10, 2, 3)
    with pytest.raises(flow.CorruptDataError, match="not one record"):
        read_npy("no-rows.npy", dtype="float32", shape=(2, 3))


def test_big_endian() -> None:
    truth = np.load(NUMPY / "big-endian.npy")
    attrs = {"dtype": "float32", "shape": (2, 3)}
    assert np.array_equal(read_npy("big-endian.npy", byte_order="big", **attrs), truth)
    with pytest.raises(flow.CorruptDataError, match=r"big-endian, but .*little-endian"):
        read_npy("big-endian.npy", byte_order="little", **attrs)


@pytest.mark.parametrize(
    "name, attrs, says",
    [
        ("fortran.npy", {}, "Fortran order.*ascontiguousarray"),
        ("objects.npy", {}, "Python objects, which are pickled"),
        ("structured.npy", {}, "structured"),
        ("texts.npy", {}, "dtype of the array is '<U3', texts"),
        ("complex.npy", {}, "complex numbers"),
        ("no-axis.npy", {}, "no axis"),
        ("float32-version-1.npy", {"shape": (3, 2)}, r"float32 \(2, 3\).*float32 \(3, 2\)"),
        ("float32-version-1.npy", {"dtype": "float64"}, r"float32 \(2, 3\).*float64 \(2, 3\)"),
        ("float32-version-1.npy", {"shape": (2, 3, 1)}, r"float32 \(2, 3\).*\(2, 3, 1\)"),
    ],
)
def test_refuses_arrays(name: str, attrs: dict[str, object], says: str) -> None:
    with pytest.raises(flow.Error, match=says) as caught:
        read_npy("float32-version-2.npy", name, **{"dtype": "float32", "shape": (2, 3)} | attrs)
    if not attrs:
        assert caught.value.file == str(NUMPY / name)


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda data: data[:-1], r"the array has 240 bytes, but the file only has 239"),
        (lambda data: data + b"x", r"1 bytes follow"),
        (lambda data: b"PK\3\4" + data, "zip archive"),
        (lambda data: data[:6] + b"\4" + data[7:], r"version 4\.0; 1\.0, 2\.0 and 3\.0"),
        (lambda data: data.replace(b"(10, 2, 3)", b"(10, 2, x)"), "expected a dimension, found 'x"),
        (lambda data: data.replace(b"'descr'", b"'dexcr'"), "descr, fortran_order and shape"),
        (lambda data: data.replace(b"False", b"Maybe"), "expected True or False, found 'Maybe"),
        (lambda data: data.replace(b"(10, 2, 3), }      ", b"(%d, 2, 3)}" % (2**63 - 1)), "2.63"),
        (lambda data: b"", "ends after 0 bytes of 8"),
    ],
)
def test_damaged_npy(tmp_path: Path, change: Callable[[bytes], bytes], says: str) -> None:
    path = tmp_path / "damaged.npy"
    path.write_bytes(change((NUMPY / "float32-version-1.npy").read_bytes()))
    with pytest.raises(flow.Error, match=says) as caught:
        load(flow.NpyReader(files=path, dtype="float32", shape=(2, 3)))
    assert caught.value.file == str(path)


def test_a_compressed_file_stays_within_the_memory_budget(tmp_path: Path) -> None:
    """The file is decompressed as a whole: 6 MB of zeros, in a file of 6 KB."""
    file = io.BytesIO()
    np.save(file, np.zeros((3 << 18, 1)))
    path = tmp_path / "zeros.npy.gz"
    path.write_bytes(gzip.compress(file.getvalue()))
    blob = flow.NpyReader(files=[str(path)], batch_size=1024)
    with pytest.raises(flow.OutOfMemoryError, match="memory_budget") as caught:
        flow.DataLoader(blob, memory_budget=2 << 20)
    assert caught.value.file == str(path)
    with flow.DataLoader(blob, memory_budget=32 << 20) as loader:
        assert sum(len(batch) for batch in loader) == 3 << 18
