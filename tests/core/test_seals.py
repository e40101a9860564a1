"""Seals: a flipped bit that no format sees is an error of the records that have it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import io
from pyflowdata.formats import read_seal, seal_damage, seal_path, write_seal
from pyflowdata.native import ffi, lib

BLOCK = 256 * 1024
ROWS = np.arange(400_000, dtype=np.int32).reshape(-1, 40)  # 1.6 MB: seven blocks
FLIPPED = 700_000  # a byte of the third block
LINES = [f"{i},{i * i},{'.' * 140}".encode() for i in range(10_000)]


# ---- The hash ------------------------------------------------------------------------------------

# By the package xxhash (4.1.0), xxh3_128_hexdigest(); the bytes are those of _pattern().
GOLDEN = {
    0: "99aa06d3014798d86001c324468d497f",
    1: "a6cd5e9392000f6ac44bdff4074eecdb",
    2: "01719c582f2665609aaf71d6a8c4da34",
    3: "32e943e52e9a67f309fa62ce4c680afd",
    4: "3aa9d89c10a9fb3e8c5a85d1c581f84c",
    7: "117d99cf9d4f4c57c9a71f9e3f42e24c",
    8: "c7915d57494aca31ada567529d6f9ba7",
    9: "cf6faa9a53f51c4596d5daf106ca419e",
    15: "49afc26a24fea81e8aa8a2c4fc138d63",
    16: "ac94b48552f060329bbcac6868b9f85c",
    17: "7f84dcddcce94d8ff7e133447d6e2837",
    31: "426d00bc198d7bb23f8a03b670a8d4e8",
    32: "559e7d39e6aa47699a8bc863c9dd18aa",
    33: "a04cd21e4394022cf06c55ab03774f18",
    64: "5c0cf92fadca107af61084aa7ae53585",
    65: "78e461ee2ddf13834f4ab8ac4e702398",
    96: "e0fd7d6df2abc57fc2a2ce1c8de2cb86",
    97: "68b6248e8a9c90f8166a0586a682ec97",
    128: "a1f1bab67ee914e9838800a29b3511a1",
    129: "981200521b626b33729f2d150ea1b608",
    160: "58b2ff97afa07541341d6c13591b5aa0",
    161: "e3c62c0e247deaf10fe00a199fbd95a5",
    239: "9f5ab10240be5fb21fafc471261c9ddf",
    240: "6473e19a2ec96d61734d1e8060ce8d8f",
    241: "cb944383928480229953dcc39642e886",
    256: "503f04683dfc23713d9266d0ee68f1e7",
    512: "e8760ab0e0a9aff1021c51f3053e4919",
    1023: "783c37c2a1737f3fe0b22040df1d6ad1",
    1024: "5055094a916cadad790241df082b58b9",
    1025: "170a7a275215cde2039e940b990e880f",
    1088: "52e200063060e2bbe27bf2b988a61e67",
    2047: "fa6e92235e19f5b317aa713ddd6dcedb",
    2048: "40b99455765b6f21fe10aad369818c4c",
    2049: "4873c3ca365ef32fcb0c5f98c11c4d33",
    4096: "2a08fd848c922a80ef3a034ec89b284a",
    100000: "37321f9fc137316c7bf1384b568f53a6",
}


def _pattern(size: int) -> bytes:
    return bytes((i * i * 7 + i * 31 + (i >> 3)) & 255 for i in range(size))


def test_xxh3_has_the_values_of_the_package_xxhash():
    digest = ffi.new("uint8_t[16]")
    for size, expected in GOLDEN.items():
        unaligned = ffi.from_buffer(b"-" + _pattern(size))
        lib.pfd_xxh128(unaligned + 1, size, digest)
        assert ffi.buffer(digest)[:].hex() == expected, size


# ---- Readers -------------------------------------------------------------------------------------


def _flip(path: Path, at: int) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 4]))


def _npy(folder: Path) -> Path:
    with io.NpyWriter(folder / "a.npy", seal=True) as writer:
        writer.write_batch(ROWS)
    return folder / "a.npy"


def _lines(folder: Path) -> Path:
    with io.TextLineWriter(folder / "a.txt", seal=True) as writer:
        writer.write_batch(LINES)
    return folder / "a.txt"


def _frames(folder: Path) -> Path:
    with io.OFRecordWriter(folder / "a.ofrecord", seal=True) as writer:
        writer.write_batch({"x": ROWS})
    return folder / "a.ofrecord"


def _ids(reader: str, path: Path, **attrs: object) -> tuple[list[int], list[flow.Error]]:
    """The records that are delivered, by their numbers, and the errors of those left out."""
    skips = {"on_error": "skip", "max_skipped": -1}
    attrs = {"batch_size": 500, **skips, "check": "seal", "with_id": True, **attrs}
    *_, ids = getattr(flow, reader)(files=str(path), **attrs)
    with flow.DataLoader(ids) as loader:
        found = np.concatenate([batch[:, 1].copy() for batch in loader])
        return sorted(found.tolist()), loader.skipped


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_only_records_of_the_damaged_block_are_left_out(tmp_path, access, shuffle):
    attrs = {"file_access": access, "random_shuffle": shuffle, "seed": 3}
    path = _npy(tmp_path)
    header = os.path.getsize(path) - ROWS.nbytes
    block = FLIPPED // BLOCK * BLOCK
    size = ROWS[0].nbytes
    lost = range((block - header) // size, -(-(block + BLOCK - header) // size))
    assert _ids("NpyReader", path, **attrs)[0] == list(range(len(ROWS)))
    _flip(path, FLIPPED)
    found, skipped = _ids("NpyReader", path, **attrs)
    assert found == [i for i in range(len(ROWS)) if i not in lost]
    assert skipped[0].byte == block and skipped[0].file == str(path)
    assert len(_ids("NpyReader", path, **{**attrs, "check": "format"})[0]) == len(ROWS)


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_only_lines_of_the_damaged_block_are_left_out(tmp_path, access, shuffle):
    attrs = {"file_access": access, "random_shuffle": shuffle, "seed": 3}
    path = _lines(tmp_path)
    ends = np.cumsum([len(line) + 1 for line in LINES])
    begins = ends - [len(line) + 1 for line in LINES]
    block = FLIPPED // BLOCK * BLOCK
    touched = np.flatnonzero((ends + 1 > block) & (begins < block + BLOCK))
    _flip(path, FLIPPED)
    found, skipped = _ids("TextLineReader", path, **attrs)
    assert found == sorted({*range(len(LINES))} - {*touched.tolist()})
    assert skipped[0].byte == block


def test_a_line_end_that_became_another_character_is_seen_in_both_lines(tmp_path):
    """Also where it is the first byte of a block, after a line that is whole."""
    path, others = tmp_path / "a.txt", (b"y" * 99 + b"\n") * (2 * BLOCK // 100)
    path.write_bytes(b"x" * (BLOCK - 1) + b"\n" + others)
    write_seal(path)
    _flip(path, BLOCK - 1)
    assert 0 not in _ids("TextLineReader", path)[0]
    path.write_bytes(b"x" * BLOCK + b"\n" + others)
    write_seal(path)
    _flip(path, BLOCK)
    assert 0 not in _ids("TextLineReader", path)[0]


@pytest.mark.parametrize("access", ["map", "read"])
def test_frames_without_checksums(tmp_path, access):
    path = _frames(tmp_path)
    whole, _ = _ids("OFRecordReader", path, file_access=access)
    assert len(whole) == len(ROWS)
    _flip(path, FLIPPED)
    found, skipped = _ids("OFRecordReader", path, file_access=access)
    assert 0 < len(whole) - len(found) and skipped and BLOCK * 2 in [one.byte for one in skipped]


def test_without_on_error_the_batch_fails(tmp_path):
    path = _npy(tmp_path)
    _flip(path, FLIPPED)
    with pytest.raises(flow.CorruptDataError, match="differ from the seal") as raised:
        _ids("NpyReader", path, on_error="raise")
    assert raised.value.byte == 2 * BLOCK and raised.value.file == str(path)


def test_compressed_files_are_sealed_as_they_lie_there(tmp_path):
    path = tmp_path / "a.csv.gz"
    with io.CSVWriter(path, seal=True) as writer:
        writer.write_batch({"x": np.arange(50_000)})
    attrs = {"columns": ["x:int64"], "on_error": "raise"}
    assert len(_ids("CSVReader", path, **attrs)[0]) == 50_000
    _flip(path, 4)  # the time in the header, which no checksum covers
    assert len(_ids("CSVReader", path, **attrs, check="format")[0]) == 50_000
    with pytest.raises(flow.CorruptDataError, match="differ from the seal"):
        _ids("CSVReader", path, **attrs)


def _images(folder: Path) -> Path:
    pixels = np.random.default_rng(1).integers(0, 256, (6, 5, 4, 3), np.uint8)
    with io.ImageFolderWriter(folder / "train", format="bmp", seal=True) as writer:
        writer.write_batch({"image": pixels, "label": np.arange(6) % 2})
    return folder / "train"


def test_a_folder_of_images_has_one_seal(tmp_path):
    folder = _images(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["train", "train.pfdseal"]
    seal = read_seal(folder)
    assert seal is not None and (seal.records, seal.files) == (6, 6)

    def read() -> tuple[int, list[flow.Error]]:
        image, label = flow.ImageFolderReader(
            str(folder), check="seal", on_error="skip", batch_size=6
        )
        with flow.DataLoader(label, image) as loader:
            return sum(len(batch[0]) for batch in loader), loader.skipped

    assert read() == (6, [])
    damaged = next(folder.glob("*/*.bmp"))
    _flip(damaged, 60)
    count, skipped = read()
    assert count == 5 and "differ from the seal" in str(skipped[0])
    assert [one.file for one in seal_damage(folder)] == [str(damaged)]
    damaged.with_name("new.bmp").write_bytes(damaged.read_bytes())
    assert read()[0] == 5 and len(seal_damage(folder)) == 2


# ---- Seals that do not fit -----------------------------------------------------------------------


def test_a_missing_seal_is_an_error_that_names_the_command(tmp_path):
    path = _npy(tmp_path)
    seal_path(path).unlink()
    with pytest.raises(flow.FileError, match="pyflowdata seal") as raised:
        _ids("NpyReader", path)
    assert raised.value.file == str(path)


def test_the_seal_of_another_file_is_an_error(tmp_path):
    path, other = _npy(tmp_path), tmp_path / "b.npy"
    np.save(other, ROWS[:100])
    seal_path(path).rename(seal_path(other))
    with pytest.raises(flow.CorruptDataError, match="the seal of one with"):
        _ids("NpyReader", other)


@pytest.mark.parametrize("at", [0, 8, 20, 50, 70, 90, 120])
def test_a_damaged_seal_is_an_error(tmp_path, at):
    path = _npy(tmp_path)
    _flip(seal_path(path), at)
    with pytest.raises(flow.CorruptDataError, match="seal") as raised:
        _ids("NpyReader", path)
    assert raised.value.file == str(seal_path(path))


def test_a_cut_seal_is_an_error(tmp_path):
    path = _npy(tmp_path)
    data = seal_path(path).read_bytes()
    for size in (0, 5, 63, 64, len(data) - 1):
        seal_path(path).write_bytes(data[:size])
        with pytest.raises(flow.CorruptDataError, match="seal"):
            seal_damage(path)


def test_seals_are_not_data(tmp_path):
    path = _npy(tmp_path)
    assert len(flow.open(str(tmp_path / "*"))) == len(flow.open(str(path)))
    assert len(flow.open(str(tmp_path))) == len(ROWS)
    with flow.DataLoader(flow.NpyReader(files=str(tmp_path / "a*"), batch_size=9)) as loader:
        assert loader.readers[0].files == 1


# ---- Writers -------------------------------------------------------------------------------------


def test_a_writer_removes_the_seal_of_what_it_replaces(tmp_path):
    path = _npy(tmp_path)
    with io.NpyWriter(path, overwrite=True) as writer:
        writer.write_batch(ROWS[:5])
    assert not seal_path(path).exists()


def test_every_shard_has_a_seal_with_its_records(tmp_path):
    with io.TFRecordWriter(tmp_path / "a.tfrecord", shard_records=4, seal=True) as writer:
        writer.write_batch({"x": np.arange(10)})
    assert len(writer.paths) == 3
    seals = [read_seal(path) for path in writer.paths]
    assert [one.records for one in seals if one] == [4, 4, 2]
    assert all(seal_damage(path) == [] for path in writer.paths)
    assert all(one.bytes == os.path.getsize(path) for one, path in zip(seals, writer.paths) if one)


def test_zstd_frames_end_with_a_checksum(tmp_path):
    pytest.importorskip("zstandard")
    with io.TextLineWriter(tmp_path / "a.txt.zst") as writer:
        writer.write_batch(LINES[:50])
    data = (tmp_path / "a.txt.zst").read_bytes()
    assert data[4] & 4, "the flag of the frame's header"
