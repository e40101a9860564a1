"""Compressed files: lines and frames of them, in sequence, as Python's libraries compress them."""

from __future__ import annotations

import gzip
import os
import random
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import zstandard
from formats.damage import read_rows
from formats.format_samples import FORMATS
from support.files import overwrite

import pyflowdata as flow
from pyflowdata.cli import main

pytestmark = pytest.mark.usefixtures("test_ops")

FRAMES = b"FRAMES\r\n"
FLIPS = int(os.environ.get("FUZZ_FLIPS", "120" if "SOAK" in os.environ else "60"))


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def zstd_in_blocks(data: bytes) -> bytes:
    """Without the size of the content in the header, as a pipe writes it."""
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return compressor.compress(data) + compressor.flush()


def members(compress: Callable[[bytes], bytes], data: bytes) -> bytes:
    """Several members or frames, an empty one among them; cut where a record is not."""
    third = len(data) // 3
    return b"".join(compress(part) for part in (data[:third], b"", data[third:]))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "gzip members": lambda data: members(gzip.compress, data),
    "zlib": zlib.compress,
    "zlib fast": lambda data: zlib.compress(data, 1),
    "zlib small window": lambda data: small_window(data),
    "zstd": zstd,
    "zstd in blocks": zstd_in_blocks,
    "zstd frames": lambda data: members(zstd, data),
    "zstd skippable": lambda data: b"\x50\x2a\x4d\x18\x03\0\0\0abc" + members(zstd, data),
}


def small_window(data: bytes) -> bytes:
    """Begins with the bytes "X" and 0x85, or such."""
    compressor = zlib.compressobj(wbits=13)
    return compressor.compress(data) + compressor.flush()


def lines(begin: int, end: int, blank: str = "") -> bytes:
    return "".join(f"{i},{10 * i}\n{blank}" for i in range(begin, end)).encode()


def rows(n: int) -> npt.NDArray[np.float64]:
    return np.stack([np.arange(n), 10.0 * np.arange(n)], axis=1)


def write(folder: Path, *contents: bytes) -> list[str]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"file-{i}" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.touch()
        overwrite(path, content)
    return [str(path) for path in paths]


def mini(files: list[str], num_threads: int = 1, **attrs: object) -> flow.DataLoader:
    attrs.setdefault("batch_size", 7)
    return flow.DataLoader(flow.MiniReader(files=files, **attrs), num_threads=num_threads)


def read(files: list[str], **attrs: object) -> npt.NDArray[np.float64]:
    with mini(files, **attrs) as loader:
        return np.concatenate([np.zeros((0, 2)), *loader])


def frames(contents: list[bytes]) -> bytes:
    return FRAMES + b"".join(struct.pack("<II", len(c), 0) + c for c in contents)


def framed(files: list[str], **attrs: object) -> npt.NDArray[np.int64]:
    attrs.setdefault("batch_size", 7)
    with flow.DataLoader(flow.FramedReader(files=files, **attrs)) as loader:
        return np.concatenate([np.zeros((0, 3), np.int64), *loader])


def sums(contents: list[bytes]) -> npt.NDArray[np.int64]:
    at, out = len(FRAMES), []
    for content in contents:
        out.append((len(content), sum(content), at + 8))
        at += 8 + len(content)
    return np.array(out, np.int64).reshape(-1, 3)


def some_frames(n: int, largest: int, seed: int = 0) -> list[bytes]:
    draw = np.random.default_rng(seed)
    return [draw.integers(0, 255, draw.integers(0, largest), np.uint8).tobytes() for _ in range(n)]


# ---- What is in them ---------------------------------------------------------------------------


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("packer", PACKERS)
def test_lines_and_frames(tmp_path: Path, packer: str, access: str) -> None:
    pack = PACKERS[packer]
    for n in (1, 1000):
        files = write(tmp_path, pack(lines(0, n)))
        np.testing.assert_array_equal(read(files, file_access=access), rows(n))
        named = packer.split()[0]
        np.testing.assert_array_equal(read(files, file_access=access, compression=named), rows(n))
    contents = some_frames(30, 20_000)
    files = write(tmp_path, pack(frames(contents)))
    np.testing.assert_array_equal(framed(files, file_access=access), sums(contents))


def test_files_of_all_kinds_are_one_stream(tmp_path: Path) -> None:
    contents = [
        gzip.compress(lines(0, 100)),
        b"",
        lines(100, 200),
        zlib.compress(b""),
        zstd(lines(200, 300)[:-1]),
        gzip.compress(b"\n \n"),
        zlib.compress(lines(300, 400, blank="\r\n")),
    ]
    files = write(tmp_path, *contents)
    for threads in (1, 3):
        np.testing.assert_array_equal(read(files, num_threads=threads), rows(400))
    with flow.DataLoader(*flow.MiniReader(files=files, batch_size=9, with_id=True)) as loader:
        ids = np.concatenate([ids for _, ids in loader])
    np.testing.assert_array_equal(ids[:, 0], np.repeat([0, 2, 4, 6], 100))
    np.testing.assert_array_equal(ids[:, 1], np.arange(400))
    with mini(files) as loader, pytest.raises(TypeError):
        len(loader)


def test_programs_make_them(tmp_path: Path) -> None:
    (path,) = write(tmp_path, lines(0, 500))
    for program, suffix in (("gzip", "gz"), ("zstd", "zst")):
        try:
            subprocess.run([program, "-k", "-q", path], check=True)
        except FileNotFoundError:
            pytest.skip(f"{program} is not here")
        np.testing.assert_array_equal(read([f"{path}.{suffix}"]), rows(500))


def test_a_record_larger_than_any_window(tmp_path: Path) -> None:
    contents = [bytes([1]) * 3_000_000, b"", bytes([2]) * 5_000_000, b"abc"]
    files = write(tmp_path, zstd(frames(contents)))
    np.testing.assert_array_equal(framed(files), sums(contents))
    spaces = b" " * 3_000_000
    files = write(tmp_path, gzip.compress(b"0,0\n" + spaces + b"\n1," + spaces + b"10\n"))
    np.testing.assert_array_equal(read(files), rows(2))


def test_text_that_begins_like_zlib_is_text(tmp_path: Path) -> None:
    """A header of zlib in letters, "x^" and "HG": whatever follows, it is an error of line 1."""
    for text in (b"x^", b"x^2\n", b"x^" + 5000 * b"K\xc3\xa4se,1\n", b"HG 3\n1,2\n"):
        files = write(tmp_path, text)
        with pytest.raises(flow.CorruptDataError, match=r"file-0:1 .*expected a number"):
            read(files)


def test_numbers_that_begin_like_compressed_files_are_frames(tmp_path: Path) -> None:
    """78 01 00 00, or gzip's 1f 8b 00 00: a length, as other formats begin with."""
    for length in (0x178, 0x9C78, 0x8B1F):
        data = struct.pack("<Q", length) + bytes(length)
        with pytest.raises(flow.CorruptDataError, match="expected the header FRAMES"):
            framed(write(tmp_path, data))


# ---- Order -------------------------------------------------------------------------------------


def many(tmp_path: Path) -> list[str]:
    return write(tmp_path, gzip.compress(lines(0, 40)), zstd(lines(40, 41)), lines(41, 90),
                 zlib.compress(lines(90, 97)))  # fmt: skip


@pytest.mark.parametrize("rule", ["short", "drop", "pad", "wrap"])
def test_ranks_have_parts_of_the_same_batches(tmp_path: Path, rule: str) -> None:
    files = many(tmp_path)
    attrs = dict(batch_size=12, last_batch=rule, random_shuffle=True, shuffle_after_epoch=True,
                 shuffle_buffer_size=20, seed=3)  # fmt: skip
    with mini(files, **attrs) as loader:
        whole = [[*loader] for _ in range(2)]
    if rule == "short":
        assert sorted(np.concatenate(whole[0])[:, 0]) == list(range(97))
        assert not np.array_equal(whole[0][0], whole[1][0])
    for world in (2, 3):
        parts = []
        for rank in range(world):
            with mini(files, rank=rank, world_size=world, num_threads=1 + rank, **attrs) as loader:
                parts.append([[*loader] for _ in range(2)])
        for epoch in range(2):
            steps = zip(*(part[epoch] for part in parts), strict=True)
            for step, batch in zip(steps, whole[epoch], strict=True):
                np.testing.assert_array_equal(np.concatenate(step), batch)


@pytest.mark.parametrize("shuffle", [False, True])
def test_resume_at_every_batch(tmp_path: Path, shuffle: bool) -> None:
    files = many(tmp_path)
    attrs = dict(batch_size=6, random_shuffle=shuffle, shuffle_after_epoch=shuffle, seed=5,
                 shuffle_buffer_size=11)  # fmt: skip
    batches, states = [], []
    with mini(files, **attrs) as loader:
        for _ in range(2):
            for batch in loader:
                batches.append(batch)
                states.append(loader.state_dict())
    for k, state in enumerate(states):
        with mini(files, num_threads=1 + k % 3, **attrs) as loader:
            loader.load_state_dict(state)
            got: list[npt.NDArray[np.float64]] = []
            while len(got) < len(batches) - k - 1:
                got += loader
            for one, other in zip(got, batches[k + 1 :], strict=False):
                np.testing.assert_array_equal(one, other)


def test_frames_are_resumed_at_every_record(tmp_path: Path) -> None:
    contents = [some_frames(9, 3000, seed) for seed in range(3)]
    files = write(tmp_path, *(zstd(frames(c)) for c in contents))
    whole = np.concatenate([sums(c) for c in contents])
    np.testing.assert_array_equal(framed(files), whole)
    with flow.DataLoader(flow.FramedReader(files=files)) as loader:
        states = [loader.state_dict() for _ in loader]
        for position in [*range(27)][::-5] + [3, 20, 0, 26]:  # back and forth in one loader
            loader.load_state_dict(states[position])
            rest = [*loader]
            got = np.concatenate([np.zeros((0, 3), np.int64), *rest])
            np.testing.assert_array_equal(got, whole if position == 26 else whole[position + 1 :])


def test_only_a_buffer_shuffles_them(tmp_path: Path) -> None:
    with pytest.raises(flow.UnsupportedError, match="only be read in sequence"):
        mini(many(tmp_path), shuffle="global")


def test_a_reader_of_no_compressed_files_advises_to_decompress_and_not_to_cache(tmp_path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(6400), 1))
    data = flow.open(str(tmp_path / "a.gz"), format="raw", shape=[64], dtype="int32").take(5)
    with pytest.raises(flow.UnsupportedError, match="compressed.*decompress it first") as said:
        flow.DataLoader(data.batch(5))
    assert "cache()" not in str(said.value)


def test_the_command_index_says_that_there_is_none(tmp_path: Path,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "part-0").write_bytes(gzip.compress(lines(0, 9)))
    assert main(["index", "--op", "MiniReader", str(tmp_path)]) == 0
    assert "it can only be read in sequence" in capsys.readouterr().out


# ---- Damage ------------------------------------------------------------------------------------


def outcome(files: list[str], reader: Callable[..., npt.NDArray[np.generic]] = read) -> object:
    """What is read, or the text of the error."""
    try:
        return reader(files)
    except flow.InternalError:
        raise
    except flow.Error as error:
        return str(error)


def test_a_line_is_named_by_line_and_byte(tmp_path: Path) -> None:
    text = b"0,0\n\n\r\n" + lines(1, 3000) + b"\nx,1\n1,y"
    files = write(tmp_path, gzip.compress(lines(0, 5)), gzip.compress(text))
    with mini(files, on_error="skip", batch_size=100) as loader:
        assert sum(len(batch) for batch in loader) == 3005
        first, second = loader.skipped
    assert first.file == second.file == files[1]
    assert (first.line, first.byte) == (3004, text.index(b"x"))
    assert (second.line, second.byte) == (3005, text.index(b"y"))
    assert (first.ordinal, second.ordinal) == (3005, 3006)


def test_a_frame_is_named_by_byte(tmp_path: Path) -> None:
    contents = [b"abc", b"\xffbad", b"d"]
    files = write(tmp_path, zstd(frames(contents)))
    with flow.DataLoader(flow.FramedReader(files=files, on_error="skip", batch_size=3)) as loader:
        assert sum(len(batch) for batch in loader) == 2
        (error,) = loader.skipped
    assert (error.byte, error.ordinal) == (len(FRAMES) + 8 + 3 + 8, 1)


PACKED = {"gzip": gzip.compress, "zlib": zlib.compress, "zstd": zstd}


@pytest.mark.parametrize("packer", PACKED)
def test_every_cut_is_noticed(tmp_path: Path, packer: str) -> None:
    data = PACKED[packer](lines(0, 30))
    for size in range(1, len(data)):
        files = write(tmp_path, data[:size])
        found = outcome(files)
        assert isinstance(found, str), size
    assert "cut short" in str(found)


@pytest.mark.parametrize("packer", PACKED)
def test_every_cut_of_what_is_inside_is_noticed(tmp_path: Path, packer: str) -> None:
    """Compressed well, but the frames themselves are cut."""
    contents = some_frames(3, 20)
    data, ends = frames(contents), {0, len(FRAMES)}
    for size, _, offset in sums(contents):
        ends.add(offset + size)
    for size in range(len(data)):
        found = outcome(write(tmp_path, PACKED[packer](data[:size])), framed)
        if size in ends:
            assert not isinstance(found, str) or "there is not one record" in found
        else:
            assert isinstance(found, str) and "missing" in found, (size, found)


@pytest.mark.parametrize("packer", PACKED)
def test_flipped_bits_are_noticed(tmp_path: Path, packer: str) -> None:
    data, draw = members(PACKED[packer], lines(0, 60)), random.Random(2)
    if packer == "zlib":  # one stream only
        data = zlib.compress(lines(0, 60))
    truth = rows(60)
    for _ in range(FLIPS):
        damaged = bytearray(data)
        at = draw.randrange(len(data))
        damaged[at] ^= 1 << draw.randrange(8)
        found = outcome(write(tmp_path, bytes(damaged)))
        if not isinstance(found, str):  # a time in a header, or another field without a meaning
            np.testing.assert_array_equal(found, truth)


def test_what_follows_is_no_silence(tmp_path: Path) -> None:
    for data in (gzip.compress(lines(0, 9)) + b"rest",
                 gzip.compress(lines(0, 9)) + bytes(9) + b"rest",
                 zstd(b"0,0\n") + bytes(512), zlib.compress(lines(0, 9)) + bytes(512),
                 zlib.compress(lines(0, 9)) + zlib.compress(b""), zstd(b"0,0\n") + b"\n\n\n\n\n"):
        found = outcome(write(tmp_path, data))
        assert "file-0 (byte" in str(found) and "the bytes from here" in str(found)


@pytest.mark.parametrize("zeros", [1, 7, 512, 700_000])
def test_zeros_after_a_gzip_member_are_padding(tmp_path: Path, zeros: int) -> None:
    """As the gzip module takes them: at the end, and between members."""
    first, second = gzip.compress(lines(0, 9)), gzip.compress(lines(9, 20))
    for data, n in ((first + bytes(zeros), 9), (first + bytes(zeros) + second + bytes(zeros), 20)):
        assert gzip.decompress(data) == lines(0, n)
        np.testing.assert_array_equal(read(write(tmp_path, data)), rows(n))


def test_damage_names_both_offsets(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(lines(0, 5000)))
    data[-6] ^= 1
    files = write(tmp_path, bytes(data))
    with pytest.raises(flow.CorruptDataError) as caught:
        read(files, on_error="skip")
    assert caught.value.file == files[0] and 0 < len(data) - (caught.value.byte or 0) <= 8
    assert f"decompressed byte {len(lines(0, 5000))}" in caught.value.message


@pytest.mark.parametrize("shuffle", ["none", "buffer"])
def test_a_damaged_file_stays_an_error(tmp_path: Path, shuffle: str) -> None:
    """The same one on every call: no batch comes after it, and no end."""
    files = write(tmp_path, gzip.compress(lines(0, 21))[:-1], lines(21, 30))
    reader = flow.TextLineReader(files=files, batch_size=7, shuffle=shuffle, shuffle_buffer_size=1,
                                 seed=1, on_error="skip")  # fmt: skip
    with flow.DataLoader(reader) as loader:
        batches = iter(loader)
        assert sum(len(next(batches)) for _ in range(2)) == 14
        if shuffle == "none":  # a buffer looks one record ahead
            assert len(next(batches)) == 7
        for _ in range(4):
            with pytest.raises(flow.CorruptDataError, match="cut short") as caught:
                next(batches)
            assert (caught.value.file, caught.value.reason) == (files[0], "rest-unreadable")


def test_a_file_that_is_not_what_is_said(tmp_path: Path) -> None:
    files = write(tmp_path, lines(0, 5))
    for compression in ("gzip", "zlib", "zstd"):
        with pytest.raises(flow.CorruptDataError, match=f"not {compression} data"):
            read(files, compression=compression)
    with pytest.raises(flow.CorruptDataError, match="cut short"):
        read(write(tmp_path, b""), compression="gzip")
    with pytest.raises(flow.CorruptDataError, match="expected a number"):
        read(write(tmp_path, gzip.compress(lines(0, 5))), compression="none")


def test_a_large_window_is_refused(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    files = write(tmp_path, compressor.compress(lines(0, 50)) + compressor.flush())
    assert "too much memory" in str(outcome(files))


def test_claimed_sizes_take_no_memory(tmp_path: Path) -> None:
    data = FRAMES + struct.pack("<II", 2**32 - 1, 0) + b"little"
    files = write(tmp_path, gzip.compress(data))
    with pytest.raises(flow.CorruptDataError, match=f"{2**32 - 7} are missing"):
        framed(files)


def test_records_of_one_size_are_refused(tmp_path: Path) -> None:
    files = write(tmp_path, gzip.compress(bytes(64)))
    with pytest.raises(flow.UnsupportedError, match="compressed by gzip"):
        flow.DataLoader(flow.FixedReader(files=files)).close()


# ---- Every reader of text and of frames ----------------------------------------------------------


STREAMED = {"MiniReader", "CSVReader", "TextLineReader", "TFRecordReader", "OFRecordReader",
            "OneRecReader", "TarReader", "JSONLinesReader"}  # fmt: skip


@pytest.mark.parametrize("packer", PACKED)
@pytest.mark.parametrize(
    "name", [name for name in FORMATS if name.split()[0] in STREAMED and "gzip" not in name]
)
def test_readers_read_the_same(tmp_path: Path, name: str, packer: str) -> None:
    form = FORMATS[name]
    paths = form.make(tmp_path)
    plain, _ = read_rows(form, paths)
    for path in paths:
        path.write_bytes(PACKED[packer](path.read_bytes()))
    assert read_rows(form, paths) == (plain, 0)


def bytes_of(blob: flow.Blob | tuple[flow.Blob, ...]) -> list[bytes]:
    assert isinstance(blob, flow.Blob)
    with flow.DataLoader(blob) as loader:
        return [row.tobytes() for batch in loader for row in batch]


@pytest.mark.parametrize("attrs", [
    {}, {"skip_header_lines": 2}, {"keep_blank_lines": True},
    {"skip_header_lines": 3, "keep_blank_lines": True},
], ids=str)  # fmt: skip
def test_heads_of_text(tmp_path: Path, attrs: dict[str, int]) -> None:
    text = b"\xef\xbb\xbfname\n \t\nunit\n" + b"".join(b"%d\n \r\n" % i for i in range(9000))
    plain, packed = write(tmp_path, text, gzip.compress(text))
    expected = bytes_of(flow.TextLineReader(files=plain, batch_size=50, **attrs))
    assert bytes_of(flow.TextLineReader(files=packed, batch_size=50, **attrs)) == expected
    assert len(expected) >= 9000


def test_heads_of_tables(tmp_path: Path) -> None:
    files = write(tmp_path, gzip.compress(b"\n# by hand\na,b\n" + lines(0, 50)),
                  b"\n# by hand\na,b\n" + lines(50, 60),
                  zstd(b"\n# by hand\nb,a\n" + b"".join(b"%d,%d\n" % (10 * i, i)
                                                      for i in range(60, 90))))  # fmt: skip
    blob = flow.CSVReader(files=files, columns=["x=a|b:float64"], skip_header_lines=2, batch_size=7)
    with flow.DataLoader(blob) as loader:
        np.testing.assert_array_equal(np.concatenate([*loader]), rows(90))
    unclosed = gzip.compress(b'a,"b\n' + lines(0, 100_000))
    with pytest.raises(flow.CorruptDataError, match="not closed before the file ends"):
        bytes_of(flow.CSVReader(files=write(tmp_path, unclosed), columns=["a:bytes"],
                                multiline=True))  # fmt: skip


def test_flat_tokens_are_refused(tmp_path: Path) -> None:
    files = write(tmp_path, gzip.compress(bytes(range(200))))
    with pytest.raises(flow.UnsupportedError, match="compressed by gzip"):
        bytes_of(flow.GPTReader(files=files, seq_length=4, format="flat", file_dtype="uint8"))


@pytest.mark.parametrize("reader", ["mini", "lines", "csv", "multiline"])
def test_a_wrong_sum_at_the_end_comes_behind_the_records(tmp_path: Path, reader: str) -> None:
    text = "".join(f"{i},{i * 7919 % 100003}\n" for i in range(20_000)).encode()
    damaged = bytearray(gzip.compress(text, 1, mtime=0))
    damaged[-8] ^= 1
    path = tmp_path / "a.gz"
    path.write_bytes(bytes(damaged))
    attrs = {"files": path, "batch_size": 100}
    make = {
        "mini": lambda: flow.MiniReader(**attrs),
        "lines": lambda: flow.TextLineReader(**attrs),
        "csv": lambda: flow.CSVReader(columns="x=0..1", header="no", **attrs),
        "multiline": lambda: flow.CSVReader(columns="x=0..1", header="no", multiline=True, **attrs),
    }[reader]
    got = 0
    with flow.DataLoader(make()) as loader:
        with pytest.raises(flow.CorruptDataError, match="data check") as caught:
            for batch in loader:
                got += len(batch)
    assert caught.value.file == str(path) and got >= 15_000


def test_no_record_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"\n\n"))
    with flow.DataLoader(flow.MiniReader(files=path)) as loader:
        batches = iter(loader)
        for _ in range(3):
            with pytest.raises(flow.CorruptDataError, match="not one record in 1 files") as caught:
                next(batches)
            assert caught.value.reason == "no-records"
