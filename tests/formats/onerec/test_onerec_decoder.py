"""OneRecDecoder: files of the flatbuffers library."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from support.oracle import fewer
from support.paths import ROOT

import pyflowdata as flow

FIXTURES = ROOT / "tests/fixtures/flatbuffers"
FEATURES = FIXTURES / "features.onerec"


def decode(*features: str, path: Path = FEATURES, **attrs: object) -> list[list[np.ndarray]]:
    blobs = flow.OneRecDecoder(flow.OneRecReader(files=path, batch_size=5, **attrs),
                               features=list(features))  # fmt: skip
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    with flow.DataLoader(*blobs) as loader:
        batches = [batch if isinstance(batch, tuple) else (batch,) for batch in loader]
    return [[row for batch in batches for row in batch[i]] for i in range(len(blobs))]


@pytest.mark.parametrize("access", ["map", "read"])
def test_every_kind_of_list(access: str) -> None:
    dense, double, number, ids, label, small = decode(
        "dense:float32[2,3]", "double:float64", "id:int64", "ids:int64[?]", "label:int32[1]",
        "small:int8[2]", file_access=access,
    )  # fmt: skip
    for i in range(12):
        assert np.array_equal(dense[i], np.arange(6, dtype=np.float32).reshape(2, 3) * i)
        assert double[i] == i / 3 and number[i] == i * 10**12 and label[i] == [i % 2]
        assert ids[i].tolist() == [i + k for k in range(i % 5)] and small[i].tolist() == [i, -i]


def test_texts_bytes_and_shapes() -> None:
    text, image, flat, matrix, rows, signed = decode(
        "text:bytes", "image:uint8[?]", "flat=matrix:int16[?]", "matrix:int16[?,?]",
        "rows=matrix:int16[?,2]", "signed=small:bytes",
    )  # fmt: skip
    for i in range(12):
        assert text[i].tobytes() == b"number " + b"x" * i
        assert image[i].tolist() == [i + k for k in range(i)]
        expected = np.arange(i % 3 * 2).reshape(i % 3, 2)
        assert np.array_equal(matrix[i], expected) and np.array_equal(rows[i], expected)
        assert np.array_equal(flat[i], expected.ravel())
        assert signed[i].tolist() == [i, -i % 256]


def test_defaults() -> None:
    odd, row, none = decode("odd:int32=-1", "row=nothing:float32[2]=0.5", "nothing:int64[?]=")
    assert [int(value) for value in odd] == [i if i % 2 else -1 for i in range(12)]
    assert all(value.tolist() == [0.5, 0.5] for value in row)
    assert all(len(value) == 0 for value in none)


@pytest.mark.parametrize(
    "feature, says",
    [
        ("id:int32", r"feature 'id' is a list of int64, of 1 values, but the field is int32 \(\)"),
        ("two:bytes", "list of strings, of 2 values"),
        ("text:int8[?]", "list of strings"),
        ("dense:float32[5]", r"'dense' has 6 values, which do not fit a row of float32 \(5,\)"),
        ("ids:int64[?,3]", "do not fit a row"),
        ("dense:float32[?,?,?]", "do not fit a row"),
        ("dense:float32[?,2,?]", "do not fit a row"),
        ("odd:int32", "does not have it; it has 'dense', 'double', 'id'"),
    ],
)
def test_features_that_do_not_fit(feature: str, says: str) -> None:
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        decode(feature)
    assert caught.value.file == str(FEATURES) and caught.value.op == "OneRecDecoder"


@pytest.mark.parametrize(
    "features, says",
    [
        (["id"], "has no type"),
        (["x:uint16"], "OneRec has int8"),
        (["x:float16[3]"], "OneRec has int8"),
        (["x:int8=300"], "the default must be one number of dtype int8"),
        (["x:int8[?]=1"], "must be empty"),
        (["x:float32[0]"], "no feature has a row of this size|at least 1"),
        ([], "features"),
        (["a:int8", "a:int8"], "has the name of an earlier one"),
    ],
)
def test_refuses_attrs(features: list[str], says: str) -> None:
    record = flow.OneRecReader(files=FEATURES)
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.OneRecDecoder(record, features=features)


def test_refuses_other_inputs() -> None:
    number = flow.OneRecDecoder(flow.OneRecReader(files=FEATURES), features=["id:int64"])
    with pytest.raises(flow.InvalidArgumentError, match=r"rows of input 'in' are int64 \(\)"):
        flow.OneRecDecoder(number, features=["id:int64"])


# ---- Damage -------------------------------------------------------------------------------------


def test_damaged_tables_never_lead_astray(tmp_path: Path) -> None:
    """Without digests the decoder is alone with bytes that were changed."""
    data, draw = FEATURES.read_bytes(), random.Random(4)
    features = ["dense:float32[2,3]", "ids:int64[?]", "matrix:int16[?,?]", "image:bytes"]
    size = 24 + int.from_bytes(data[12:16], "little")
    unharmed, count = 0, fewer(600)
    for _ in range(count):
        changed = bytearray(data)
        at = draw.randrange(24, size)
        changed[at] = draw.choice((0, 255, changed[at] ^ 1 << draw.randrange(8)))
        (tmp_path / "part-0").write_bytes(bytes(changed))
        found = decode(*features, path=tmp_path / "part-0", check_digest=False, on_error="skip")
        unharmed += len(found[0]) == 12
        assert len(found[0]) >= 11
    assert count / 6 < unharmed < count * 0.98
