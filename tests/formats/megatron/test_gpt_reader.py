"""GPTReader: against NumPy, against samples of Megatron-LM's, and against its rules."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats.damage import Format, check_cuts, check_flips
from formats.megatron import token_files
from formats.megatron.token_files import FIXTURES, Document, documents, join
from support.files import overwrite
from support.oracle import fewer

import pyflowdata as flow


def read(files: object, seq_length: int, batch_size: int = 7, **attrs: Any) -> np.ndarray:
    """All windows of an epoch."""
    blob = flow.GPTReader(files=files, seq_length=seq_length, batch_size=batch_size, **attrs)
    with flow.DataLoader(blob) as loader:
        return np.concatenate([*loader])


def windows(tokens: np.ndarray, seq_length: int) -> np.ndarray:
    count = (len(tokens) - 1) // seq_length
    return np.stack([tokens[i * seq_length :][: seq_length + 1] for i in range(count)])


def tokens_of(docs: list[Document]) -> np.ndarray:
    return join([sequence for document in docs for sequence in document])


# ---- Our own order -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["uint16", "int32"])
@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("seq_length", [1, 16, 2231])
def test_windows_of_megatrons_files(name: str, access: str, seq_length: int) -> None:
    expected = windows(tokens_of(token_files.fixture(name)), seq_length)
    found = read(FIXTURES / f"{name}.idx", seq_length, 300, file_access=access)
    assert found.dtype == np.int64 and np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", token_files.CODES)
def test_dtypes_of_files(tmp_path: Path, dtype: str) -> None:
    docs = documents(1, dtype=dtype)
    path = token_files.write(tmp_path / "a", docs, dtype)
    expected = windows(tokens_of(docs), 37)
    assert np.array_equal(read(path, 37), expected)
    assert np.array_equal(read(token_files.write_legacy(tmp_path / "a", docs, dtype), 37), expected)


@pytest.mark.parametrize("dtype", ["uint16", "int32", "uint32", "int64"])
def test_dtypes_of_rows(dtype: str) -> None:
    expected = windows(tokens_of(token_files.fixture("uint16")), 100)
    blob = flow.GPTReader(files=FIXTURES / "uint16.bin", seq_length=100, dtype=dtype, batch_size=4)
    assert (blob.shape, blob.dtype) == ((4, 101), np.dtype(dtype))
    with flow.DataLoader(blob) as loader:
        assert np.array_equal(np.concatenate([*loader]), expected)


def test_negative_tokens(tmp_path: Path) -> None:
    tokens = np.arange(-100, 100)
    for dtype in ("int8", "int16", "int32", "int64"):
        path = token_files.write(tmp_path / "a", [[tokens]], dtype)
        assert np.array_equal(read(path, 7), windows(tokens, 7))
        with pytest.raises(flow.InvalidArgumentError, match=f"are {dtype}, which do not all fit"):
            read(path, 7, dtype="uint32")


def test_windows_go_from_file_to_file(tmp_path: Path) -> None:
    docs = [documents(i, count) for i, count in enumerate((3, 0, 1, 8))]
    paths = [token_files.write(tmp_path / f"{i}", each) for i, each in enumerate(docs)]
    tokens = join([tokens_of(each) for each in docs])
    for seq_length in (3, 60, len(tokens) - 1):
        for access in ("map", "read"):
            found = read(paths, seq_length, file_access=access)
            assert np.array_equal(found, windows(tokens, seq_length))
    with pytest.raises(flow.InvalidArgumentError, match=f"have {len(tokens)} tokens together"):
        read(paths, len(tokens))


def test_gaps(tmp_path: Path) -> None:
    """Without the fast way: sequences in another order, over several blocks of the index."""
    docs = [[sequence] for sequence in
            [np.arange(i, i + i % 7, dtype=np.uint16) for i in range(3000)]]
    path = token_files.write(tmp_path / "a", docs)
    content = bytearray(path.with_suffix(".idx").read_bytes())
    n = len(docs)
    lengths = np.frombuffer(content, "<i4", n, 34)
    pointers = np.frombuffer(content, "<i8", n, 34 + 4 * n)
    content[34 : 34 + 12 * n] = lengths[::-1].tobytes() + pointers[::-1].tobytes()
    path.with_suffix(".idx").write_bytes(content)
    tokens = tokens_of(docs[::-1])
    for seq_length in (1, 50):
        for access in ("map", "read"):
            found = read(path, seq_length, 500, gaps=True, file_access=access)
            assert np.array_equal(found, windows(tokens, seq_length))
    with pytest.raises(flow.CorruptDataError, match="gaps=True"):
        read(path, 50)


# ---- Flat files ----------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"])
@pytest.mark.parametrize("header", [0, 1, 256])
def test_flat_files(tmp_path: Path, dtype: str, header: int) -> None:
    tokens = np.random.default_rng(1).integers(0, 2**63, 500).astype(dtype)
    path = tmp_path / "train.bin"
    path.write_bytes(bytes(header) + tokens.tobytes())
    attrs = {"file_dtype": dtype, "header_bytes": header}
    assert np.array_equal(read(path, 32, **attrs), windows(tokens.astype(np.int64), 32))
    assert np.array_equal(read(path, 32, format="flat", **attrs), read(path, 32, **attrs))
    with pytest.raises(flow.CorruptDataError, match="ends at byte"):
        read(path, 32, file_dtype=dtype, header_bytes=9000)


def test_flat_files_of_other_names(tmp_path: Path) -> None:
    tokens = np.arange(300, dtype=np.uint16)
    (tmp_path / "tokens").write_bytes(tokens[:101].tobytes())
    (tmp_path / "more.bin").write_bytes(tokens[101:].tobytes())
    found = read([tmp_path / "tokens", tmp_path / "more.bin"], 30, file_dtype="uint16")
    assert np.array_equal(found, windows(tokens, 30))


def test_flat_beside_an_index(tmp_path: Path) -> None:
    docs = documents(1)
    path = token_files.write(tmp_path / "a", docs)
    flat = read(path, 16, format="flat", file_dtype="uint8")
    content = np.frombuffer(path.read_bytes(), np.uint8)
    assert np.array_equal(flat, windows(content, 16))
    with pytest.raises(flow.InvalidArgumentError, match="'file_dtype' = 'uint8'.*says uint16"):
        read(path, 16, file_dtype="uint8")
    with pytest.raises(flow.InvalidArgumentError, match="'header_bytes' = 2, but files with an"):
        read(path, 16, header_bytes=2)


def test_what_is_wrong_with_flat_files(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(101))
    with pytest.raises(flow.InvalidArgumentError, match="has no .idx.*file_dtype"):
        read(path, 4)
    with pytest.raises(flow.FileError, match="a.idx"):
        read(path, 4, format="megatron", file_dtype="uint16")
    with pytest.raises(flow.InvalidArgumentError, match="'flat' needs file_dtype"):
        read(path, 4, format="flat")
    with pytest.raises(flow.CorruptDataError, match="has 1 of 2 bytes") as caught:
        read(path, 4, file_dtype="uint16")
    assert caught.value.byte == 100
    with pytest.raises(flow.InvalidArgumentError, match="'order' = 'megatron'.*no .idx"):
        read(path, 4, file_dtype="uint8", order="megatron")
    with pytest.raises(flow.InvalidArgumentError, match="101 tokens together.* = 102"):
        read(path, 101, file_dtype="uint8")


def test_compressed_files(tmp_path: Path) -> None:
    """Tokens that look compressed, and what is compressed."""
    docs = [[np.array([0x8B1F, 8, *range(300)], np.uint16)]]
    path = token_files.write(tmp_path / "a", docs)
    content, index = path.read_bytes(), path.with_suffix(".idx").read_bytes()
    expected = windows(tokens_of(docs), 16)
    assert np.array_equal(read(path, 16), expected)
    flat = {"file_dtype": "uint16", "format": "flat"}
    assert np.array_equal(read(path, 16, compression="none", **flat), expected)
    path.write_bytes(gzip.compress(content))
    with pytest.raises(flow.UnsupportedError, match="compressed by gzip.*compression='none'"):
        read(path, 16, **flat)
    with pytest.raises(flow.CorruptDataError):
        read(path, 16)
    path.write_bytes(content)
    path.with_suffix(".idx").write_bytes(gzip.compress(index))
    with pytest.raises(flow.UnsupportedError, match="compressed by gzip.*decompress it first"):
        read(path, 16)
    path.with_suffix(".idx").write_bytes(index)
    with pytest.raises(flow.UnsupportedError, match="compressed by zstd"):
        read(path, 16, compression="zstd")


def test_files_of_two_dtypes(tmp_path: Path) -> None:
    paths = [token_files.write(tmp_path / dtype, documents(1), dtype)
             for dtype in ("uint16", "int32")]
    with pytest.raises(flow.InvalidArgumentError, match="int32, and the first file.*uint16.bin"):
        read(paths, 8)


# ---- Shuffled, on ranks, resumed -----------------------------------------------------------------
@pytest.mark.parametrize("attrs", [{"order": "own", "random_shuffle": True, "seed": 5},
                                   {"order": "megatron", "num_samples": 333}],
                         ids=["own", "megatron"])
def test_ranks_and_resume(attrs: dict[str, Any]) -> None:
    attrs = {"files": FIXTURES / "int32.bin", "seq_length": 16, "batch_size": 12, **attrs}
    with flow.DataLoader(flow.GPTReader(**attrs)) as loader:
        whole = [batch.tolist() for batch in loader]
    parts = []
    for rank in range(3):
        with flow.DataLoader(flow.GPTReader(**attrs, rank=rank, world_size=3)) as loader:
            parts.append([batch.tolist() for batch in loader])
    assert [a + b + c for a, b, c in zip(*parts, strict=True)] == whole
    with flow.DataLoader(flow.GPTReader(**attrs, rank=0, world_size=2)) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        state = loader.state_dict()
    with flow.DataLoader(flow.GPTReader(**attrs)) as loader:
        loader.load_state_dict(state)
        assert [batch.tolist() for batch in loader] == whole[2:]


def test_shuffled_windows_are_all_windows() -> None:
    expected = windows(tokens_of(token_files.fixture("uint16")), 16)
    found = read(FIXTURES / "uint16.bin", 16, random_shuffle=True, seed=1)
    assert found.tolist() != expected.tolist()
    assert sorted(found.tolist()) == sorted(expected.tolist())


# ---- Megatron's order ----------------------------------------------------------------------------

# As in fixtures/make_megatron.py: file, seq_length, samples, weights, part, seed.
ORDERS: dict[str, tuple[str, int, int, list[float], int, int]] = {
    "one-epoch": ("uint16", 16, 0, [], 0, 1234),
    "last-with-the-others": ("uint16", 16, 400, [1], 0, 1234),
    "last-apart": ("int32", 16, 250, [1], 0, 7),
    "part-0": ("int32", 9, 400, [80, 15, 5], 0, 99),
    "part-1": ("int32", 9, 20, [80, 15, 5], 1, 99),
    "long": ("uint16", 333, 12, [], 0, 4294967295),
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("access", ["map", "read"])
def test_samples_of_megatrons(name: str, access: str) -> None:
    file, seq_length, samples, split, part, seed = ORDERS[name]
    found = read(FIXTURES / f"{file}.bin", seq_length, order="megatron", num_samples=samples,
                 split=split, split_index=part, megatron_seed=seed, file_access=access)
    assert np.array_equal(found, np.load(FIXTURES / f"{name}.npy"))


def shuffled(random: np.random.RandomState, first: int, last: int, dtype: Any) -> np.ndarray:
    """Two ranges, each shuffled by itself: [0, first) and [first, last)."""
    parts = [np.arange(first, dtype=dtype), np.arange(first, last, dtype=dtype)]
    for part in parts:
        random.shuffle(part)
    return np.concatenate(parts)


def megatrons(sequences: list[np.ndarray], seq: int, samples: int, seed: int) -> np.ndarray:
    """Samples by the rules: epochs, shuffled sequences, cuts that overlap by a token, a shuffle."""
    lengths = [len(sequence) for sequence in sequences]
    total, epochs = sum(lengths), 1
    while epochs * total < samples * seq + 1:
        epochs += 1
    count = (epochs * total - 1) // seq
    before_last = ((epochs - 1) * total - 1) // seq
    apart = epochs > 1 and samples - before_last < int(0.80 * ((total - 1) // seq))
    random = np.random.RandomState(seed)
    n = len(sequences)
    split = n * (epochs - 1) if apart else n * epochs
    order = shuffled(random, split, n * epochs, np.int32) if not apart else None
    if order is None:  # the numbers of sequences are shuffled, not those of their places
        first = np.tile(np.arange(n, dtype=np.int32), epochs - 1)
        last = np.arange(n, dtype=np.int32)
        random.shuffle(first)
        random.shuffle(last)
        order = np.concatenate([first, last])
    stream = np.concatenate([sequences[i % n] for i in order]).astype(np.int64)
    cuts = np.stack([stream[i * seq : i * seq + seq + 1] for i in range(count)])
    return cuts[shuffled(random, before_last if apart else count, count, np.uint32)]


@pytest.mark.parametrize(
    "count, most", [(1, 40), (2, 30), (7, 3), pytest.param(300, 50, marks=pytest.mark.slow)]
)
def test_megatrons_rules(tmp_path: Path, count: int, most: int) -> None:
    docs = documents(count, count, most)
    sequences = [sequence for document in docs for sequence in document]
    path = token_files.write(tmp_path / "a", docs)
    total = sum(map(len, sequences))
    for seq in (1, 2, 5, total - 1):
        epoch = (total - 1) // seq
        for samples in (0, 1, epoch, epoch + 1, 2 * epoch + epoch // 2, 3 * epoch - 1, 4 * epoch):
            seed = 17 * seq + samples
            expected = megatrons(sequences, seq, samples, seed)
            for attrs in ({}, {"gaps": True}):
                found = read(path, seq, 1000, order="megatron", num_samples=samples,
                             megatron_seed=seed, **attrs)
                assert np.array_equal(found, expected), (seq, samples)


def test_files_are_one_dataset_for_megatron(tmp_path: Path) -> None:
    docs = [documents(1, 5), [], documents(2, 9)]
    paths = [token_files.write(tmp_path / f"{i}", each) for i, each in enumerate(docs)]
    merged = [sequence for each in docs for document in each for sequence in document]
    found = read(paths, 11, order="megatron", num_samples=100, megatron_seed=3)
    assert np.array_equal(found, megatrons(merged, 11, 100, 3))


def test_shuffling_megatrons_order_is_refused() -> None:
    for attrs in ({"random_shuffle": True}, {"shuffle": "global"}, {"shuffle": "window"}):
        with pytest.raises(flow.InvalidArgumentError, match="already a random order"):
            read(FIXTURES / "uint16.bin", 16, order="megatron", **attrs)


def test_attrs_of_megatrons_order() -> None:
    def attempt(message: str, **attrs: Any) -> None:
        with pytest.raises(flow.InvalidArgumentError, match=message):
            read(FIXTURES / "uint16.bin", 16, **attrs)

    attempt("'num_samples' is only for order='megatron'", num_samples=5)
    attempt("'split' is only for", split=[1, 2])
    attempt("'split_index' is only for", split_index=1)
    attempt("too many parts", order="megatron", split=[1, 1, 1, 1])
    attempt("no such part", order="megatron", split=[1, 1], split_index=2)
    attempt("no such part", order="megatron", split_index=1)
    attempt("not a weight", order="megatron", split=[1, -1])
    attempt("not a weight", order="megatron", split=[1, float("nan")])
    attempt("all 0", order="megatron", split=[0, 0])
    attempt("has the weight 0", order="megatron", split=[1, 0, 1], split_index=1)
    attempt("0 sequences of this part have 0 tokens", order="megatron", split=[1e9, 1],
            split_index=1)
    attempt("megatron_seed", order="megatron", megatron_seed=2**32)
    for seq_length, kind in ((16, flow.OutOfMemoryError), (2000, flow.InvalidArgumentError)):
        with pytest.raises(kind, match="no memory for the index|more than can be counted"):
            read(FIXTURES / "uint16.bin", seq_length, order="megatron", num_samples=9 * 10**15)


# ---- Damage --------------------------------------------------------------------------------------
def bin_first(folder: Path) -> list[Path]:
    return [token_files.write(folder / "a", documents(5, 12))]


def index_first(folder: Path) -> list[Path]:
    return [bin_first(folder)[0].with_suffix(".idx")]


@pytest.mark.parametrize("attrs", [{}, {"gaps": True}, {"order": "megatron"}],
                         ids=["own", "gaps", "megatron"])
@pytest.mark.parametrize("make", [bin_first, index_first])
def test_damaged_files(tmp_path: Path, attrs: dict[str, Any], make: Any) -> None:
    form = Format(make, lambda files, **common: flow.GPTReader(
        files=files[0], seq_length=16, **attrs, **common))
    check_cuts(form, tmp_path)
    check_flips(form, tmp_path, fewer(200))


def test_cut_flat_files(tmp_path: Path) -> None:
    """A flat file that is cut between two tokens is a shorter one: nothing in it can tell."""
    path = bin_first(tmp_path)[0]
    content = path.read_bytes()
    for size in [*range(80), *range(80, len(content), 7)]:
        overwrite(path, content[:size])
        try:
            found = read(path, 16, format="flat", file_dtype="uint16")
        except flow.Error:
            assert size % 2 == 1 or size < 34
            continue
        assert size % 2 == 0
        assert np.array_equal(found, windows(np.frombuffer(content[:size], np.uint16), 16))
