"""RawReader and NpyReader: against NumPy, which wrote the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow

NUMPY = Path(__file__).parent / "fixtures" / "numpy"
DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


def load(*blobs: flow.Blob) -> np.ndarray:
    with flow.DataLoader(*blobs) as loader:
        return np.concatenate(list(loader))


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 100, shape).astype(dtype)


# ---- RawReader ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_in_both_byte_orders(tmp_path: Path, dtype: str, order: str) -> None:
    rows = numbers(dtype, 30, 3, 5)
    path = tmp_path / "rows.bin"
    path.write_bytes(rows.astype(rows.dtype.newbyteorder("<>"[order == "big"])).tobytes())
    blob = flow.RawReader(files=path, shape=(3, 5), dtype=dtype, byte_order=order, batch_size=7)
    assert (blob.shape, blob.dtype) == ((7, 3, 5), rows.dtype)
    assert np.array_equal(load(blob), rows)


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("header, footer", [(0, 0), (7, 0), (0, 5), (16, 3)])
def test_header_footer_and_several_files(
    tmp_path: Path, header: int, footer: int, access: str
) -> None:
    rows = numbers("float32", 50, 6)
    for number, part in enumerate((rows[:20], rows[20:20], rows[20:21], rows[21:])):
        content = bytes(header) + part.tobytes() + b"f" * footer
        (tmp_path / f"part-{number}").write_bytes(content)
    attrs = {"shape": [6], "dtype": "float32", "header_bytes": header, "footer_bytes": footer,
             "file_access": access}  # fmt: skip
    assert np.array_equal(load(flow.RawReader(tmp_path, batch_size=8, **attrs)), rows)
    out, ids = flow.RawReader(
        tmp_path, batch_size=8, random_shuffle=True, seed=5, with_id=True, **attrs
    )
    with flow.DataLoader(out, ids) as loader:
        batches = list(loader)
    order = np.concatenate([batch[1][:, 1] for batch in batches])
    assert sorted(order) == list(range(50)) and list(order) != list(range(50))
    assert np.array_equal(np.concatenate([batch[0] for batch in batches]), rows[order])


@pytest.mark.parametrize("name", ["FixedLengthRecordReader", "raw_reader"])
def test_other_names_and_one_number_a_record(tmp_path: Path, name: str) -> None:
    (tmp_path / "n").write_bytes(np.arange(10, dtype=np.int16).tobytes())
    built = flow.user_op_builder("r").Op(name).Output("out").Attr("files", str(tmp_path / "n"))
    built = built.Attr("data_type", "int16").Attr("shape", []).Attr("batch_size", 4).Build()
    assert load(built.SoleOutputBlob()).tolist() == list(range(10))


def test_bools_are_true_or_false(tmp_path: Path) -> None:
    (tmp_path / "n").write_bytes(bytes([0, 1, 2, 255]))
    blob = flow.RawReader(files=tmp_path / "n", shape=(), dtype="bool")
    assert load(blob).tobytes() == bytes([0, 1, 1, 1])


def test_ranks_share_the_rows(tmp_path: Path) -> None:
    rows = numbers("uint8", 40, 4)
    (tmp_path / "n").write_bytes(rows.tobytes())
    parts = [load(flow.RawReader(files=tmp_path / "n", shape=(4,), batch_size=8, rank=rank,
                                 world_size=2)) for rank in range(2)]  # fmt: skip
    together = np.concatenate([part.reshape(-1, 4, 4) for part in parts], 1)
    assert np.array_equal(together.reshape(-1, 4), rows)


@pytest.mark.parametrize(
    "attrs, size, says, byte",
    [
        ({"shape": (4,)}, 10, ["2 of 4 bytes"], 8),
        ({"shape": (4,), "header_bytes": 3}, 10, ["3 of 4 bytes"], 7),
        ({"shape": (4,), "header_bytes": 8, "footer_bytes": 4}, 10, ["(8 bytes)", "(4)"], 10),
    ],
)
def test_rows_that_do_not_fill_the_file(
    tmp_path: Path, attrs: dict[str, object], size: int, says: list[str], byte: int
) -> None:
    path = tmp_path / "short.bin"
    path.write_bytes(bytes(size))
    with pytest.raises(flow.CorruptDataError) as caught:
        load(flow.RawReader(files=path, **attrs))
    assert caught.value.file == str(path) and caught.value.byte == byte
    assert all(text in str(caught.value) for text in says)


@pytest.mark.parametrize(
    "attrs, says",
    [
        ({}, "'shape' is required"),
        ({"shape": (0,)}, "dimension 0; each must be at least 1"),
        ({"shape": (1,) * 9}, "9 dimensions; at most 8"),
        ({"shape": (2**40, 2**40)}, "more than 70368744177664 bytes"),
        ({"shape": (1,), "header_bytes": -1}, "header_bytes"),
        ({"shape": (1,), "byte_order": "middle"}, "little.*big"),
    ],
)
def test_refuses_attrs(attrs: dict[str, object], says: str) -> None:
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.RawReader(files="x", **attrs)


# ---- NpyReader ----------------------------------------------------------------------------------


def read_npy(*names: str, **attrs: object) -> np.ndarray:
    return load(flow.NpyReader(files=[NUMPY / name for name in names], batch_size=3, **attrs))


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "float32"])
def test_every_dtype_of_numpy(dtype: str) -> None:
    truth = np.load(NUMPY / f"{dtype}.npy")
    found = read_npy(f"{dtype}.npy", dtype=dtype, shape=(2,))
    assert found.dtype == truth.dtype and np.array_equal(found, truth)


def test_every_version_of_the_header() -> None:
    names = [f"float32-version-{number}.npy" for number in (1, 2, 3)]
    truth = np.concatenate([np.load(NUMPY / name) for name in names])
    assert np.array_equal(read_npy(*names, dtype="float32", shape=(2, 3)), truth)


def test_headers_of_different_lengths(tmp_path: Path) -> None:
    rows = numbers("int64", 11, 2)
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
    with pytest.raises(flow.InvalidArgumentError, match=r"big-endian;.*little-endian"):
        read_npy("big-endian.npy", **attrs)


@pytest.mark.parametrize(
    "name, attrs, says",
    [
        ("fortran.npy", {}, "Fortran order.*ascontiguousarray"),
        ("objects.npy", {}, "Python objects, which are pickled"),
        ("structured.npy", {}, "structured"),
        ("texts.npy", {}, "dtype '<U3', texts"),
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
        (lambda data: data[:-1], r"of the array's 240 bytes there are 239"),
        (lambda data: data + b"x", r"1 bytes follow"),
        (lambda data: b"PK\3\4" + data, r"no \.npy file.*zip archive"),
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
