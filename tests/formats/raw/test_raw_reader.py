"""RawReader: against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow

DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


def load(*blobs: flow.Blob) -> np.ndarray:
    with flow.DataLoader(*blobs) as loader:
        return np.concatenate(list(loader))


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 100, shape).astype(dtype)


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
