"""OneRecReader and OneRecDecoder: files of the flatbuffers library with digests by xxhash."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow

FIXTURES = Path(__file__).parent / "fixtures" / "flatbuffers"
FEATURES = FIXTURES / "features.onerec"


def load(blob: flow.Blob, **options: object) -> list[np.ndarray]:
    with flow.DataLoader(blob, **options) as loader:
        return [row for batch in loader for row in batch]


def decode(*features: str, path: Path = FEATURES, **attrs: object) -> list[list[np.ndarray]]:
    blobs = flow.OneRecDecoder(flow.OneRecReader(files=path, batch_size=5, **attrs),
                               features=list(features))  # fmt: skip
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    with flow.DataLoader(*blobs) as loader:
        batches = [batch if isinstance(batch, tuple) else (batch,) for batch in loader]
    return [[row for batch in batches for row in batch[i]] for i in range(len(blobs))]


def test_payloads_of_every_size() -> None:
    """The digests are those of xxhash: of 0 to 69 bytes, which are all ways through XXH64."""
    rows = load(flow.OneRecReader(files=FIXTURES / "sizes.onerec", batch_size=8))
    assert [row.tobytes() for row in rows] == [bytes(range(n)) for n in range(70)]


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


def test_shuffled_rows_are_those_in_order() -> None:
    record, ids = flow.OneRecReader(files=FEATURES, batch_size=5, random_shuffle=True, seed=1,
                                    with_id=True)  # fmt: skip
    number = flow.OneRecDecoder(record, features=["id:int64"])
    with flow.DataLoader(number, ids) as loader:
        for values, places in loader:
            assert np.array_equal(np.asarray(values), places[:, 1] * 10**12)


@pytest.mark.parametrize(
    "feature, says",
    [
        ("id:int32", r"feature 'id' is a list of int64, of 1 values; asked for is int32 \(\)"),
        ("two:bytes", "list of strings, of 2 values"),
        ("text:int8[?]", "list of strings"),
        ("dense:float32[5]", r"'dense' has 6 values, which do not fill rows of float32 \(5,\)"),
        ("ids:int64[?,3]", "do not fill rows"),
        ("dense:float32[?,?,?]", "do not fill rows"),
        ("dense:float32[?,2,?]", "do not fill rows"),
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
        (["x:int8[?]=1"], "can only be empty"),
        (["x:float32[0]"], "no feature has a row of this size|at least 1"),
        ([], "features"),
        (["a:int8", "a:int8"], "has the name of one before"),
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


def damaged(folder: Path, at: int, bit: int = 3) -> Path:
    data = bytearray(FEATURES.read_bytes())
    data[at] ^= 1 << bit
    (folder / "part-0").write_bytes(bytes(data))
    return folder / "part-0"


@pytest.mark.parametrize(
    "at, says",
    [(0, "magic '.ONEREC.' is not there"), (9, "header is damaged"), (13, "header is damaged"),
     (17, "header is damaged")],
)  # fmt: skip
def test_a_damaged_header_ends_the_file(tmp_path: Path, at: int, says: str) -> None:
    path = damaged(tmp_path, at)
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        load(flow.OneRecReader(files=path, on_error="skip"))
    assert caught.value.file == str(path)


def test_a_damaged_payload_costs_one_record(tmp_path: Path) -> None:
    path = damaged(tmp_path, 24 + 100)
    with pytest.raises(flow.CorruptDataError, match="payload is damaged: its digest is"):
        load(flow.OneRecReader(files=path))
    (number,) = decode("id:int64", path=path, on_error="skip")
    assert [int(value) for value in number] == [i * 10**12 for i in range(1, 12)]


@pytest.mark.parametrize("cut", [1, 8, 9, 100])
def test_a_file_cut_short(tmp_path: Path, cut: int) -> None:
    (tmp_path / "part-0").write_bytes(FEATURES.read_bytes()[:-cut])
    with pytest.raises(flow.CorruptDataError, match="missing|cut short"):
        load(flow.OneRecReader(tmp_path))


def test_damaged_tables_never_lead_astray(tmp_path: Path) -> None:
    """Without digests the decoder is alone with bytes that were changed."""
    data, draw = FEATURES.read_bytes(), random.Random(4)
    features = ["dense:float32[2,3]", "ids:int64[?]", "matrix:int16[?,?]", "image:bytes"]
    size = 24 + int.from_bytes(data[12:16], "little")
    unharmed = 0
    for _ in range(600):
        changed = bytearray(data)
        at = draw.randrange(24, size)
        changed[at] = draw.choice((0, 255, changed[at] ^ 1 << draw.randrange(8)))
        (tmp_path / "part-0").write_bytes(bytes(changed))
        found = decode(*features, path=tmp_path / "part-0", check_digest=False, on_error="skip")
        unharmed += len(found[0]) == 12
        assert len(found[0]) >= 11
    assert 100 < unharmed < 590
