"""OneRecReader: files of the flatbuffers library with digests by xxhash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow

FIXTURES = ROOT / "tests/fixtures/flatbuffers"
FEATURES = FIXTURES / "features.onerec"


def load(blob: flow.Blob) -> list[np.ndarray]:
    with flow.DataLoader(blob) as loader:
        return [row for batch in loader for row in batch]


def test_payloads_of_every_size() -> None:
    """The digests are those of xxhash: of 0 to 69 bytes, which are all ways through XXH64."""
    rows = load(flow.OneRecReader(files=FIXTURES / "sizes.onerec", batch_size=8))
    assert [row.tobytes() for row in rows] == [bytes(range(n)) for n in range(70)]


def test_shuffled_rows_are_those_in_order() -> None:
    record, ids = flow.OneRecReader(files=FEATURES, batch_size=5, random_shuffle=True, seed=1,
                                    with_id=True)  # fmt: skip
    number = flow.OneRecDecoder(record, features=["id:int64"])
    with flow.DataLoader(number, ids) as loader:
        for values, places in loader:
            assert np.array_equal(np.asarray(values), places[:, 1] * 10**12)


def damaged(folder: Path, at: int, bit: int = 3) -> Path:
    data = bytearray(FEATURES.read_bytes())
    data[at] ^= 1 << bit
    (folder / "part-0").write_bytes(bytes(data))
    return folder / "part-0"


@pytest.mark.parametrize(
    "at, says",
    [(0, "magic '.ONEREC.' is missing"), (9, "header is damaged"), (13, "header is damaged"),
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
    number = flow.OneRecDecoder(flow.OneRecReader(files=path, on_error="skip"),
                                features=["id:int64"])  # fmt: skip
    assert [int(value) for value in load(number)] == [i * 10**12 for i in range(1, 12)]


@pytest.mark.parametrize("cut", [1, 8, 9, 100])
def test_a_file_cut_short(tmp_path: Path, cut: int) -> None:
    (tmp_path / "part-0").write_bytes(FEATURES.read_bytes()[:-cut])
    with pytest.raises(flow.CorruptDataError, match="missing|truncated"):
        load(flow.OneRecReader(tmp_path))
