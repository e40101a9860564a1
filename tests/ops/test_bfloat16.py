"""bfloat16 as a dtype of blobs: each conversion against all its numbers, and what NumPy gets."""

from __future__ import annotations

import bisect

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.nodes.row_types import BITS, bfloat16, converted, dtype_name, widened
from support.decoder_rows import ALL_DTYPES, load, same

EVERY = np.arange(2**16, dtype=np.uint16)
with np.errstate(invalid="ignore"):
    WIDE = (EVERY.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
# The numbers from 0 on, without infinity; their place is their bits.
FINITE = WIDE[: 0x7F80].tolist()
LIMIT = float.fromhex("0x1.ffp127")  # halfway to what would come after the largest one


def of_bits(bits) -> np.ndarray:
    return np.asarray(bits, np.uint16).view(bfloat16())


def bits_of(array) -> np.ndarray:
    return array.view(np.uint16)


def nearest(value) -> int:
    """The bits of the nearest number, of two the even one; Python compares exactly."""
    size = abs(value)
    sign = 0x8000 if np.signbit(np.float64(value)) else 0
    if size >= LIMIT:
        return sign | 0x7F80
    above = bisect.bisect_left(FINITE, size)
    if above == len(FINITE):
        return sign | 0x7F7F
    if above == 0 or FINITE[above] == size:
        return sign | above
    if isinstance(value, int):  # of an integer, the bf16 neighbours are integers too above 2**8
        low, high = size - int(FINITE[above - 1]), int(FINITE[above]) - size
    else:
        low, high = size - FINITE[above - 1], FINITE[above] - size  # exact: both are near
    return sign | (above - 1 if low < high or (low == high and above % 2) else above)


def numbers(dtype: np.dtype) -> np.ndarray:
    """Numbers around the middles of neighbours, and random ones."""
    chance = np.random.default_rng(3)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = {s * (2**k + d * 2 ** max(k - 8, 0) + e) for k in range(64) for s in (1, -1)
                 for d in (0, 1, 3) for e in (-1, 0, 1)}  # fmt: skip
        inside = [edge for edge in edges if info.min <= edge <= info.max]
        some = chance.integers(info.min, info.max, 300, dtype, endpoint=True)
        return np.concatenate([np.array(sorted(inside), dtype), some])
    if dtype == np.float16:
        return np.arange(0x7C00, dtype=np.uint16).view(np.float16)
    middle = (np.array(FINITE[1:]) + FINITE[:-1]) / 2
    middle = np.concatenate([middle[::37], middle[:300], middle[-300:], [LIMIT, -LIMIT / 3]])
    there = middle.astype(dtype)
    below, above = np.nextafter(there, dtype.type(0)), np.nextafter(there, dtype.type(np.inf))
    return np.concatenate([below, there, above, -there])


def test_every_number_is_the_upper_half_of_a_float32():
    nan = np.isnan(WIDE)
    for dtype in ("float32", "float64"):
        wide = flow.Cast(of_bits(EVERY), dtype=dtype)
        same(wide[~nan], WIDE[~nan].astype(dtype))
        assert np.isnan(wide[nan]).all()
    back = bits_of(flow.Cast(flow.Cast(of_bits(EVERY), dtype="float32"), dtype="bfloat16"))
    same(back, np.where(nan, EVERY | 0x40, EVERY).astype(np.uint16))  # quiet, sign and rest kept


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != bool], ids=lambda d: d.name)
def test_numbers_are_rounded_once_to_the_nearest(dtype):
    given = numbers(dtype)
    found = bits_of(flow.Cast(given, dtype="bfloat16", overflow="wrap"))
    same(found, np.array([nearest(one) for one in given.tolist()], np.uint16))
    same(bits_of(converted(given, bfloat16())), found)


def test_what_overflows():
    given = np.array([1.0, LIMIT, -1e300, np.inf, np.nan])
    with pytest.raises(flow.CorruptDataError, match=r"element 1 .*bfloat16 holds about -3\.39e38"):
        flow.Cast(given[None], dtype="bfloat16")
    most = bits_of(flow.Cast(given, dtype="bfloat16", overflow="saturate"))
    assert most.tolist() == [0x3F80, 0x7F7F, 0xFF7F, 0x7F80, 0x7FC0]


def test_to_other_dtypes():
    some = of_bits(np.concatenate([EVERY[:0x7F80:5], EVERY[0x8000:0xFF80:7]]))
    as_double = flow.Cast(some, dtype="float64")
    for dtype in ("bool", "uint8", "int32", "int64", "uint64", "float16"):
        for overflow in ("wrap", "saturate"):
            same(flow.Cast(some, dtype=dtype, overflow=overflow),
                 flow.Cast(as_double, dtype=dtype, overflow=overflow))  # fmt: skip


def test_ops_compute_in_float32_and_float64_and_round_once():
    x = np.random.default_rng(0).integers(0, 256, (3, 5, 4, 3), np.uint8)
    how = {"scale": [0.3, 0.01, 7.0], "shift": -1.5}
    same(bits_of(flow.Affine(x, **how, dtype="bfloat16")),
         bits_of(flow.Cast(flow.Affine(x, **how), dtype="bfloat16")))  # fmt: skip
    for layout in ("CHW", "HWC"):
        for image in (x[0], x[1].astype(np.float32) / 255):
            how = {"mean": [0.4, 0.5, 0.6], "std": 0.2, "layout": layout}
            found = flow.Normalize(image, **how, dtype="bfloat16")
            same(bits_of(found), bits_of(flow.Cast(flow.Normalize(image, **how), dtype="bfloat16")))


def test_a_file_of_them_and_how_graphs_call_the_dtype(tmp_path):
    path = tmp_path / "x.bin"
    EVERY[:4096].tofile(path)
    x = flow.RawReader(files=path, dtype="bfloat16", shape=[8], batch_size=512)
    assert x.dtype == bfloat16() and "dtype=bfloat16" in repr(x)
    assert "bfloat16[8]" in str(flow.graph(x))
    padded = flow.Pad(x, shape=[9], value=1.5)
    rows = bits_of(load(padded))
    same(rows[:, :8], EVERY[:4096].reshape(-1, 8))
    assert (rows[:, 8] == 0x3FC0).all()


def test_numbers_of_python_fit_where_nothing_whole_is_lost():
    def given(value):
        def samples():
            yield {"x": value, "r": [0.1, 256]}

        return flow.GeneratorReader(samples, fields=["x:bfloat16", "r:bfloat16[?]"], batch_size=1)

    ((x, r),) = flow.DataLoader(given(0.1))
    assert bits_of(x).tolist() == [nearest(0.1)]
    assert bits_of(r[0]).tolist() == [nearest(0.1), 0x4380] and r.dtype == bfloat16()
    for value, said in ((257, "does not fit into the declared bfloat16"),
                        (np.float32(1), r"flow\.Cast\(x, dtype='bfloat16'\)")):  # fmt: skip
        with pytest.raises(flow.CorruptDataError, match=said):
            list(flow.DataLoader(given(value)))


def test_numpy_without_ml_dtypes_has_the_bits_and_their_name(monkeypatch):
    from pyflowdata.nodes import row_types as dtypes

    monkeypatch.setattr(dtypes, "bfloat16", lambda: BITS)
    found = flow.Cast(np.array([1.0, 2.0]), dtype="bfloat16")
    assert found.dtype == BITS and found["bfloat16"].tolist() == [0x3F80, 0x4000]
    assert dtype_name(found.dtype) == "bfloat16"
    with pytest.raises(TypeError):
        found + found  # the bits are no numbers
    same(flow.Cast(found, dtype="float32"), np.array([1, 2], np.float32))
    same(widened(found), np.array([1, 2], np.float32))


def test_encoders_write_what_reads_as_the_same_number():
    some = of_bits(EVERY[np.isfinite(WIDE)][::11])
    read = [float(bytes(line)) for line in flow.CSVEncoder(list(some[:, None]))]
    same(bits_of(flow.Cast(np.array(read), dtype="bfloat16")), bits_of(some))
    rows = some.reshape(5, -1)
    found = flow.ExampleEncoder(list(rows), names=["x"])
    wanted = flow.ExampleEncoder(list(flow.Cast(rows, dtype="float32")), names=["x"])
    assert [bytes(one) for one in found] == [bytes(one) for one in wanted]


@pytest.mark.parametrize("writer, ending", [
    ("TFRecordWriter", "tfrecord"), ("CSVWriter", "csv"), ("JSONLinesWriter", "jsonl"),
    ("OFRecordWriter", "bin"), ("NpyWriter", "npy"),
])  # fmt: skip
def test_writers_write_them_as_float32(writer, ending, tmp_path):
    rows = of_bits(EVERY[0x3F00:0x3F20]).reshape(16, 2)
    wide = flow.Cast(rows, dtype="float32")
    for name, given in (("narrow", rows), ("wide", wide)):
        (tmp_path / name).mkdir()
        with getattr(flow.io, writer)(tmp_path / name / f"x.{ending}") as out:
            is_array = writer == "NpyWriter"
            out.write(given[0] if is_array else {"x": given[0]})
            out.write_batch(given[1:] if is_array else {"x": given[1:]})
    narrow, wide = ((tmp_path / name / f"x.{ending}").read_bytes() for name in ("narrow", "wide"))
    assert narrow == wide
