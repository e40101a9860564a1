"""MegatronReader: against files of Megatron-LM, and against NumPy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats.damage import Format, check_cuts, check_flips
from formats.megatron import token_files
from formats.megatron.token_files import FIXTURES, documents, join

import pyflowdata as flow


def read(files: object, batch_size: int = 7, **attrs: Any) -> list[np.ndarray]:
    """All rows of an epoch."""
    blob = flow.MegatronReader(files=files, batch_size=batch_size, **attrs)
    with flow.DataLoader(blob) as loader:
        return [np.array(row) for batch in loader for row in batch]


def assert_rows(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert [row.tolist() for row in found] == [row.tolist() for row in expected]


# ---- Files of Megatron-LM ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["uint16", "int32", "modes"])
@pytest.mark.parametrize("suffix", [".bin", ".idx", ".*", ""])
def test_documents(name: str, suffix: str) -> None:
    expected = [join(document) for document in token_files.fixture(name)]
    assert_rows(read(f"{FIXTURES}/{name}{suffix}"), expected)


@pytest.mark.parametrize("access", ["map", "read"])
def test_sequences(access: str) -> None:
    expected = [sequence for document in token_files.fixture("int32") for sequence in document]
    assert_rows(read(FIXTURES / "int32.bin", unit="sequence", file_access=access), expected)


def test_the_files_dtype_or_a_wider_one() -> None:
    expected = join([join(document) for document in token_files.fixture("uint16")])
    for dtype in ("uint16", "int32", "uint32", "int64", "uint64"):
        rows = read(FIXTURES / "uint16.bin", dtype=dtype)
        assert {row.dtype for row in rows} == {np.dtype(dtype)}
        assert np.array_equal(join(rows), expected)
    with pytest.raises(flow.InvalidArgumentError, match="'int16', but the tokens.*are uint16"):
        read(FIXTURES / "uint16.bin", dtype="int16")
    with pytest.raises(flow.InvalidArgumentError, match="'uint16', but the tokens.*are int32"):
        read(FIXTURES / "int32.bin", dtype="uint16")


# ---- Files by the rules --------------------------------------------------------------------------
@pytest.mark.parametrize("write", [token_files.write, token_files.write_legacy])
@pytest.mark.parametrize("dtype", token_files.CODES)
def test_both_versions(tmp_path: Path, write: Callable[..., Path], dtype: str) -> None:
    docs = documents(3, dtype=dtype)
    path = write(tmp_path / "a", docs, dtype)
    for attrs in ({}, {"file_access": "read"}, {"dtype": dtype}, {"gaps": True}):
        assert_rows(read(path, **attrs), [join(document) for document in docs])


def test_several_files_are_one_dataset(tmp_path: Path) -> None:
    docs = [documents(seed, count) for seed, count in ((1, 5), (2, 1), (3, 9))]
    paths = [token_files.write(tmp_path / f"{i}", each) for i, each in enumerate(docs)]
    every = [join(document) for each in docs for document in each]
    assert_rows(read(paths), every)
    assert_rows(read([path.with_suffix(".idx") for path in paths]), every)
    assert_rows(read(f"{tmp_path}/*.bin"), every)
    blobs = flow.MegatronReader(files=paths, batch_size=15, with_id=True)
    with flow.DataLoader(*blobs) as loader:
        ids = next(iter(loader))[1]
    assert ids.tolist() == [[0, i] for i in range(5)] + [[1, 5]] + [[2, i] for i in range(6, 15)]


def test_files_without_documents_are_passed_over(tmp_path: Path) -> None:
    docs = documents(4, 6)
    paths = [token_files.write(tmp_path / name, each)
             for name, each in (("a", []), ("b", docs[:4]), ("c", []), ("d", docs[4:]))]
    assert_rows(read(paths), [join(document) for document in docs])
    with pytest.raises(flow.CorruptDataError, match="not one record"):
        read(paths[0])


@pytest.mark.parametrize("world", [1, 2, 3])
def test_shuffled_on_ranks(tmp_path: Path, world: int) -> None:
    docs = [[np.array([i] * (i % 4 + 1))] for i in range(50)]
    path = token_files.write(tmp_path / "a", docs)
    found = [
        tuple(row)
        for rank in range(world)
        for row in read(path, 6, random_shuffle=True, seed=3, rank=rank, world_size=world)
    ]
    assert sorted(found) == sorted(tuple(document[0]) for document in docs)
    assert found != [tuple(document[0]) for document in docs]


def test_gaps(tmp_path: Path) -> None:
    """Sequences backwards, one twice, and one left out; across a block of the index."""
    sequences = [np.arange(i, i + i % 5) for i in range(2500)]
    path = token_files.write(tmp_path / "a", [[sequence] for sequence in sequences])
    content = path.with_suffix(".idx").read_bytes()
    n = len(sequences)
    lengths = np.frombuffer(content, "<i4", n, 34)[::-1].copy()
    pointers = np.frombuffer(content, "<i8", n, 34 + 4 * n)[::-1].copy()
    lengths[7], pointers[7] = lengths[8], pointers[8]
    begins = np.arange(0, n + 1, 2, dtype="<i8")  # two sequences a document
    head = content[:26] + struct.pack("<Q", len(begins))
    body = lengths.tobytes() + pointers.tobytes() + begins.tobytes()
    path.with_suffix(".idx").write_bytes(head + body)
    with pytest.raises(flow.CorruptDataError, match="sequence 0 begins at byte 9992.*gaps=True"):
        read(path)
    expected = sequences[::-1]
    expected[7] = expected[8]
    pairs = [join(expected[i : i + 2]) for i in range(0, n, 2)]
    for access in ("map", "read"):
        assert_rows(read(path, 100, gaps=True, file_access=access), pairs)
    assert_rows(read(path, 100, gaps=True, dtype="uint16", unit="sequence"), expected)


# ---- What is wrong -------------------------------------------------------------------------------
def put(at: int, form: str, value: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        struct.pack_into(form, content, at, value)

    return change


def cut(at: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        del content[at:]

    return change


def be_fairseqs(content: bytearray) -> None:
    del content[26:34]
    del content[26 + 12 * 4 :]


LENGTHS, POINTERS, DOCUMENTS = 34, 34 + 4 * 4, 34 + 12 * 4

# Of an .idx with four sequences of 3, 0, 2 and 4 tokens in three documents.
WRONG = {
    "magic": (put(0, "<B", 7), flow.CorruptDataError, "begins with.*MMIDIDX", 0),
    "version": (put(9, "<Q", 2), flow.UnsupportedError, "the version is 2", 9),
    "float64": (put(17, "<B", 6), flow.UnsupportedError, "code is 6, which is float64;", 17),
    "float32": (put(17, "<B", 7), flow.UnsupportedError, "float32 in Megatron.*float64 in fai", 17),
    "uint32": (put(17, "<B", 9), flow.UnsupportedError, "code is 9, which is uint32 in fair", 17),
    "uint64": (put(17, "<B", 10), flow.UnsupportedError, "is uint64 in fairseq", 17),
    "dtype": (put(17, "<B", 77), flow.CorruptDataError, "code is 77, which is unknown", 17),
    "fairseq": (be_fairseqs, flow.UnsupportedError, "fairseq.*no index of documents", 18),
    "many": (put(18, "<Q", 2**60), flow.CorruptDataError, "counts 1152921504606846976 seq", 18),
    "many documents": (put(26, "<Q", 2**61), flow.CorruptDataError, "entries for documents", 26),
    "no documents": (put(26, "<Q", 0), flow.CorruptDataError, "by the counts in its header", 18),
    "counts": (put(18, "<Q", 3), flow.CorruptDataError, "by the counts in its header 102", 18),
    "cut": (cut(100), flow.CorruptDataError, "has 100 bytes, and by the counts.* 114", 18),
    "cut header": (cut(30), flow.CorruptDataError, "30", 0),
    "cut magic": (cut(5), flow.CorruptDataError, "begins with", 0),
    "empty": (cut(0), flow.CorruptDataError, "begins with nothing", 0),
    "negative": (put(LENGTHS + 4, "<i", -1), flow.CorruptDataError, "length of -1", LENGTHS + 4),
    "long": (put(LENGTHS, "<i", 2**31 - 1), flow.CorruptDataError, "has tokens: 9", LENGTHS),
    "length": (put(LENGTHS, "<i", 2), flow.CorruptDataError, "begins at byte 6.*: 4", POINTERS + 8),
    "pointer": (put(POINTERS, "<q", -2), flow.CorruptDataError, "begins at byte -2", POINTERS),
    "far": (put(POINTERS + 24, "<q", 12), flow.CorruptDataError, "too short for it", POINTERS + 24),
    "first": (put(DOCUMENTS, "<q", 1), flow.CorruptDataError, "document 0 begins wi", DOCUMENTS),
    "down": (put(DOCUMENTS + 16, "<q", 0), flow.CorruptDataError, "never go down", DOCUMENTS + 16),
    "last": (put(DOCUMENTS + 24, "<q", 3), flow.CorruptDataError, "ends with sequence 3, but there "
             "are 4", DOCUMENTS + 24),
}


def four_sequences() -> list[token_files.Document]:
    return [[np.arange(3), np.arange(0)], [np.arange(2)], [np.arange(4)]]


@pytest.mark.parametrize("what", WRONG)
def test_wrong_indexes(tmp_path: Path, what: str) -> None:
    change, kind, message, byte = WRONG[what]
    path = token_files.write(tmp_path / "a", four_sequences())
    content = bytearray(path.with_suffix(".idx").read_bytes())
    change(content)
    path.with_suffix(".idx").write_bytes(content)
    with pytest.raises(kind, match=message) as caught:
        read(path)
    assert (caught.value.op, caught.value.byte) == ("MegatronReader", byte)
    assert str(caught.value.file).endswith("a.idx")


WRONG_LEGACY = {
    "version": (put(8, "<Q", 3), flow.UnsupportedError, "version is 3"),
    "dtype": (put(16, "<Q", 6), flow.UnsupportedError, "code is 6, which is float64"),
    "element": (put(24, "<Q", 4), flow.CorruptDataError, "a token has 4 bytes.*uint16, has 2"),
    "counts": (put(32, "<Q", 3), flow.CorruptDataError, "by the counts"),
    "many": (put(32, "<Q", 2**63), flow.CorruptDataError, "counts 9223372036854775808 sequences"),
    "ranks": (put(56 + 8, "<q", 0), flow.CorruptDataError, "has its size at place 0"),
    "starts": (put(56 + 48, "<q", 4), flow.CorruptDataError, "does not reach where the next"),
    "sizes": (put(56 + 80, "<q", 2), flow.CorruptDataError, "does not reach where the next"),
    "documents": (put(56 + 112, "<q", 5), flow.CorruptDataError, "begins with sequence 5"),
    "cut": (cut(150), flow.CorruptDataError, "has 150 bytes"),
}


@pytest.mark.parametrize("what", WRONG_LEGACY)
def test_wrong_legacy_indexes(tmp_path: Path, what: str) -> None:
    change, kind, message = WRONG_LEGACY[what]
    path = token_files.write_legacy(tmp_path / "a", four_sequences())
    content = bytearray(path.with_suffix(".idx").read_bytes())
    change(content)
    path.with_suffix(".idx").write_bytes(content)
    with pytest.raises(kind, match=message):
        read(path)


def test_fairseqs_legacy_index(tmp_path: Path) -> None:
    path = token_files.write_legacy(tmp_path / "a", four_sequences())
    content = path.with_suffix(".idx").read_bytes()
    path.with_suffix(".idx").write_bytes(content[:48] + content[56:-32])
    with pytest.raises(flow.UnsupportedError, match="stored plus one"):
        read(path)


def test_a_bin_of_another_length(tmp_path: Path) -> None:
    path = token_files.write(tmp_path / "a", four_sequences())
    content = path.read_bytes()
    path.write_bytes(content + b"\0\0")
    with pytest.raises(flow.CorruptDataError, match="has 20 bytes, but its .idx covers 18"):
        read(path)
    assert len(read(path, gaps=True)) == 3
    path.write_bytes(content[:-2])
    with pytest.raises(flow.CorruptDataError, match="too short for it, with bytes: 16"):
        read(path)


def test_what_both_names_begin_with(tmp_path: Path) -> None:
    docs = documents(1, 4), documents(2, 3)
    stems = [tmp_path / "a.x", tmp_path / "b"]
    for stem, each in zip(stems, docs, strict=True):
        path = token_files.write(tmp_path / "c", each)
        path.rename(f"{stem}.bin")
        path.with_suffix(".idx").rename(f"{stem}.idx")
    expected = [join(document) for each in docs for document in each]
    assert_rows(read(stems), expected)
    assert_rows(read([stems[0], f"{stems[1]}.bin"]), expected)
    with pytest.raises(flow.FileError, match="a: attr 'files': the file is not there"):
        read([tmp_path / "a", stems[1]])
    (tmp_path / "b.bin").unlink()
    with pytest.raises(flow.InvalidArgumentError, match="the .bin of this .idx is not"):
        read(stems)


def test_a_name_that_begins_like_another(tmp_path: Path) -> None:
    docs = documents(1, 4), documents(2, 3)
    token_files.write(tmp_path / "x.bin", docs[0])
    named = token_files.write(tmp_path / "y", docs[1])
    named.rename(tmp_path / "x.1.bin")
    named.with_suffix(".idx").rename(tmp_path / "x.1.idx")
    expected = [[join(document) for document in each] for each in docs]
    assert_rows(read([tmp_path / "x", tmp_path / "x.1.bin"]), expected[0] + expected[1])
    assert_rows(read([tmp_path / "x.1", tmp_path / "x"]), expected[1] + expected[0])
    assert_rows(read([tmp_path / "x.idx", tmp_path / "x"]), expected[0])
    with pytest.raises(flow.InvalidArgumentError, match="x.bin' is named twice"):
        read([tmp_path / "x", tmp_path / "x.bin"])


def test_halves_that_are_missing(tmp_path: Path) -> None:
    path = token_files.write(tmp_path / "a", four_sequences())
    with pytest.raises(flow.InvalidArgumentError, match="named twice"):
        read([path, path])
    path.with_suffix(".idx").rename(tmp_path / "b.idx")
    with pytest.raises(flow.FileError, match="a.idx"):
        read(path)
    with pytest.raises(flow.FileError, match="b.bin"):
        read(tmp_path / "b.idx")
    (tmp_path / "c").write_bytes(b"")
    with pytest.raises(flow.Error, match="the file has no .idx"):
        read([tmp_path / "c"])


def index_first(write: Callable[..., Path]) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        path = write(folder / "a", documents(5, 12))
        return [path.with_suffix(".idx"), path]

    return make


@pytest.mark.parametrize("write", [token_files.write, token_files.write_legacy])
@pytest.mark.parametrize("gaps", [False, True])
def test_damaged_indexes(tmp_path: Path, write: Callable[..., Path], gaps: bool) -> None:
    form = Format(index_first(write),
                  lambda files, **attrs: flow.MegatronReader(files=files[0], gaps=gaps, **attrs))
    check_cuts(form, tmp_path)
    check_flips(form, tmp_path)


def test_changed_lengths_and_pointers_are_noticed(tmp_path: Path) -> None:
    """An .idx has no checksum; yet no changed bit of an entry changes the tokens."""
    path = token_files.write(tmp_path / "a", documents(6, 5, most=9))
    index = path.with_suffix(".idx")
    content = index.read_bytes()
    n = struct.unpack_from("<Q", content, 18)[0]
    everything = path.read_bytes()
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        index.write_bytes(damaged)
        try:
            rows = read(path, dtype="uint16")
        except flow.Error:
            continue
        assert at >= 34 + 12 * n, f"byte {at}"  # a document ends elsewhere
        assert b"".join(row.tobytes() for row in rows) == everything
