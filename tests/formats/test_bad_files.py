"""Files that are missing, wrong, damaged or changing: exceptions with names, no crash, no hang."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.io import OFRecordWriter, TFRecordWriter
from support.files import lines, read, rows, write_parts


def fails(error: type[flow.Error], data: str, **attrs: object) -> flow.Error:
    """The error of reading one epoch, which must be of this class."""
    with pytest.raises(error) as caught:
        read(data, **attrs)
    assert caught.value.op == "MiniReader"
    return caught.value


# ---- Files that are not there --------------------------------------------------------------------


def test_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "dota").mkdir()
    error = fails(flow.FileError, str(tmp_path / "data"))
    assert isinstance(error, OSError)
    assert error.file == str(tmp_path / "data")
    assert "no such folder" in error.message and "'dota/'" in error.message


def test_missing_folders(tmp_path: Path) -> None:
    error = fails(flow.FileError, str(tmp_path / "a" / "b" / "c"))
    assert error.file == str(tmp_path / "a" / "b" / "c")
    assert "none above it" in error.message


def test_a_file_as_data_dir(tmp_path: Path) -> None:
    write_parts(tmp_path, lines(0, 2))
    error = fails(flow.FileError, str(tmp_path / "part-000"))
    assert error.file == str(tmp_path / "part-000")
    assert "data_dir is a file" in error.message and 'give files = "' in error.message


def test_an_empty_data_dir() -> None:
    assert "data_dir" in fails(flow.InvalidArgumentError, "").message


def test_missing_part(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 2), lines(2, 3))
    error = fails(flow.FileError, data, data_part_num=3, part_name_suffix_length=3)
    assert error.file == str(tmp_path / "part-002")
    assert "data_part_num = 3 (there are 2)" in error.message
    assert "'part-000', 'part-001'" in error.message


def test_a_huge_number_of_parts(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 2))
    error = fails(flow.FileError, data, data_part_num=2**31 - 1, part_name_suffix_length=3)
    assert error.file == str(tmp_path / "part-001")


@pytest.mark.parametrize(
    "attrs, hint",
    [
        ({}, "did you mean part_name_suffix_length=3?"),
        ({"part_name_suffix_length": 5}, "did you mean part_name_suffix_length=3?"),
        (
            {"part_name_prefix": "parts-", "part_name_suffix_length": 3},
            'did you mean part_name_prefix="part-"?',
        ),
        (
            {"part_name_prefix": "p"},
            'did you mean part_name_prefix="part-", part_name_suffix_length=3?',
        ),
    ],
)
def test_the_attr_that_would_fit(tmp_path: Path, attrs: dict[str, object], hint: str) -> None:
    data = write_parts(tmp_path, lines(0, 2), lines(2, 3))
    assert hint in fails(flow.FileError, data, data_part_num=2, **attrs).message


def test_no_part_at_all(tmp_path: Path) -> None:
    error = fails(flow.FileError, str(tmp_path))
    assert error.file == str(tmp_path)
    assert "no part found" in error.message and "is empty" in error.message
    for i in range(9):
        (tmp_path / f"shard-{i}").write_bytes(b"")
    error = fails(flow.FileError, str(tmp_path))
    assert "'shard-0', 'shard-1'" in error.message and "4 more" in error.message
    assert 'part_name_prefix="shard-"' in error.message


def test_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "part-0").symlink_to(tmp_path / "gone")
    error = fails(flow.FileError, str(tmp_path), data_part_num=1)
    assert error.file == str(tmp_path / "part-0") and "link" in error.message


def test_unreadable_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parts(tmp_path, lines(0, 2), lines(2, 3))
    (tmp_path / "part-001").chmod(0)
    monkeypatch.chdir(tmp_path)
    user, nobody = os.geteuid(), 65534
    if user == 0:  # reads anything, so be somebody else for the while
        os.chown(tmp_path, nobody, -1)
        os.seteuid(nobody)
    try:
        error = fails(flow.FileError, ".")
    finally:
        os.seteuid(user)
    assert error.file == "./part-001" and "Permission denied" in error.message


@pytest.mark.parametrize("num_parts", [-1, 2])
def test_a_folder_in_place_of_a_part(tmp_path: Path, num_parts: int) -> None:
    data = write_parts(tmp_path, lines(0, 2))
    (tmp_path / "part-001").mkdir()
    error = fails(flow.FileError, data, data_part_num=num_parts, part_name_suffix_length=3)
    assert error.file == str(tmp_path / "part-001") and "this is a folder" in error.message


def test_a_fifo_in_place_of_a_part(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "part-0")
    error = fails(flow.FileError, str(tmp_path))
    assert error.file == str(tmp_path / "part-0") and "FIFO" in error.message


def test_a_socket_in_place_of_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("part-0")
        error = fails(flow.FileError, ".")
    assert error.file == "./part-0" and "socket" in error.message


def test_a_device_in_place_of_a_part(tmp_path: Path) -> None:
    (tmp_path / "part-0").symlink_to("/dev/zero")
    assert "a device" in fails(flow.FileError, str(tmp_path)).message


# ---- Nothing to read, and sizes out of range -----------------------------------------------------


@pytest.mark.parametrize("contents", [[b""], [b"", b""], [b"\n \n\t\r\n", b"", b"  "]])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("last_batch", ["short", "drop", "pad", "wrap"])
def test_zero_records(
    tmp_path: Path, contents: list[bytes], shuffle: bool, last_batch: str
) -> None:
    data = write_parts(tmp_path, *contents)
    attrs = {"random_shuffle": shuffle, "last_batch": last_batch}
    error = fails(flow.CorruptDataError, data, **attrs)
    assert f"not one record in {len(contents)} file" in error.message


def test_fewer_records_than_a_batch_that_is_dropped(tmp_path: Path) -> None:
    blob = flow.MiniReader(
        write_parts(tmp_path, lines(0, 3)), batch_size=4, last_batch="drop"
    )
    with flow.DataLoader(blob) as loader:
        assert len(loader) == 0
        assert list(loader) == [] and list(loader) == []


@pytest.mark.parametrize(
    "name, value",
    [
        ("batch_size", 0),
        ("batch_size", -1),
        ("batch_size", 2**31),
        ("batch_size", 2**63 - 1),
        ("batch_size", 2**70),
        ("data_part_num", 0),
        ("data_part_num", -2),
        ("data_part_num", 2**40),
        ("part_name_suffix_length", -2),
        ("part_name_suffix_length", 10**6),
        ("shuffle_buffer_size", 0),
        ("seed", -2),
        ("seed", 2**64),
    ],
)
def test_numbers_out_of_range(tmp_path: Path, name: str, value: int) -> None:
    data = write_parts(tmp_path, lines(0, 2))
    error = fails(flow.InvalidArgumentError, data, **{"batch_size": 1, name: value})
    assert isinstance(error, ValueError)
    assert name in error.message and str(value) in error.message


def test_a_batch_much_larger_than_the_data(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 5))
    assert np.array_equal(read(data, 2**20), rows(0, 5))


# ---- Bad lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, byte, says",
    [
        (b"1", 1, "column 2: expected a comma, found the end of the line"),
        (b"1 ", 2, "column 3: expected a comma, found the end of the line"),
        (b"1,", 2, "column 3: expected a number, found the end of the line"),
        (b",2", 0, "column 1: expected a number, found an empty field"),
        (b"1,,2", 2, "column 3: expected a number, found an empty field"),
        (b"1,2,3", 3, "column 4: expected the end of the line, found one more comma"),
        (b"1,2,", 3, "column 4: expected the end of the line, found one more comma"),
        (b"1,abc", 2, "column 3: expected a number, found 'abc'"),
        (b"abc ,2", 0, "column 1: expected a number, found 'abc'"),
        (b"1e,2", 1, "column 2: expected a comma, found 'e' in '1e'"),
        (b"1.5,2x ", 5, "column 6: expected the end of the line, found 'x' in '2x'"),
        (b"1 2", 2, "column 3: expected a comma, found '2' in '1 2'"),
        (b"1;2", 1, "column 2: expected a comma, found ';' in '1;2'"),
        (b".,2", 0, "column 1: expected a number, found '.'"),
        (b"--1,2", 0, "column 1: expected a number, found '--1'"),
        (b"1_0,2", 1, "column 2: expected a comma, found '_' in '1_0'"),
        (b"0x1,2", 1, "column 2: expected a comma, found 'x' in '0x1'"),
        (b"1\0,2", 1, r"column 2: expected a comma, found '\x00' in '1\x00'"),
        (b"1,\0", 2, r"column 3: expected a number, found '\x00'"),
        ("1,２".encode(), 2, r"column 3: expected a number, found '\xef\xbc\x92'"),
        (b"\xef\xbb\xbf1,2", 0, r"column 1: expected a number, found '\xef\xbb\xbf1'"),
        (b"1,2\r3", 3, r"column 4: expected the end of the line, found '\x0d' in '2\x0d3'"),
        (b"1," + b"9" * 50 + b"z", 52, f"column 53: expected the end of the line, found 'z' in "
         f"'{'9' * 40}'..."),
        (b"x" * 10_000_000 + b",1", 0, f"column 1: expected a number, found '{'x' * 40}'..."),
    ],
    ids=range(24),
)
def test_a_bad_line(tmp_path: Path, line: bytes, byte: int, says: str) -> None:
    before = b"1,2\r\n\n3,4\n \n"
    data = write_parts(tmp_path, lines(0, 3), before + line + b"\n5,6\n")
    error = fails(flow.CorruptDataError, data)
    assert isinstance(error, ValueError)
    path = str(tmp_path / "part-001")
    assert (error.file, error.line, error.byte) == (path, 5, len(before) + byte)
    assert error.ordinal == 5
    assert error.message == f"{says}; a row is two numbers with one comma between"
    assert f"{path}:5 (byte {len(before) + byte}): {says}" in str(error)


def test_a_bad_last_line_without_newline(tmp_path: Path) -> None:
    error = fails(flow.CorruptDataError, write_parts(tmp_path, b"1,2\n3"))
    assert (error.line, error.byte) == (2, 5)


def damaged(tmp_path: Path) -> str:
    """Records 0..19, of which 4, 5 and 17 are damaged."""
    content = lines(0, 20).split(b"\n")
    for i in (4, 5, 17):
        content[i] = b"bad %d" % i
    return write_parts(tmp_path, b"\n".join(content))


def test_the_loop_goes_on_behind_a_bad_batch(tmp_path: Path) -> None:
    with flow.DataLoader(flow.MiniReader(damaged(tmp_path), batch_size=4)) as loader:
        batches = iter(loader)
        assert np.array_equal(next(batches), rows(0, 4))
        with pytest.raises(flow.CorruptDataError, match="bad 4"):
            next(batches)
        assert np.array_equal(next(batches), rows(8, 12))
        assert np.array_equal(next(batches), rows(12, 16))
        with pytest.raises(flow.CorruptDataError, match="bad 17"):
            next(batches)
        with pytest.raises(StopIteration):
            next(batches)


@pytest.mark.parametrize("num_threads", [1, 3])
def test_skip_leaves_bad_rows_out(tmp_path: Path, num_threads: int) -> None:
    blob = flow.MiniReader(damaged(tmp_path), batch_size=4, on_error="skip")
    with flow.DataLoader(blob, num_threads=num_threads) as loader:
        batches = list(loader)
        assert [len(batch) for batch in batches] == [4, 2, 4, 4, 3]
        good = [i for i in range(20) if i not in (4, 5, 17)]
        assert np.array_equal(np.concatenate(batches), rows(0, 20)[good])
        assert [(error.ordinal, error.line) for error in loader.skipped] == [
            (4, 5), (5, 6), (17, 18)
        ]
        assert all(isinstance(error, flow.CorruptDataError) for error in loader.skipped)
        assert loader.stats()["skipped"] == 3


def test_pad_puts_zero_rows_in_their_place(tmp_path: Path) -> None:
    blobs = flow.MiniReader(
        damaged(tmp_path), batch_size=4, on_error="pad", with_mask=True, with_id=True
    )
    with flow.DataLoader(*blobs) as loader:
        out, mask, ids = (np.concatenate(column) for column in zip(*loader, strict=True))
        assert len(loader.skipped) == 3
    assert np.flatnonzero(~mask).tolist() == [4, 5, 17]
    expected = rows(0, 20)
    expected[~mask] = 0
    assert np.array_equal(out, expected)
    assert ids[:, 1][mask].tolist() == [i for i in range(20) if mask[i]]


@pytest.mark.parametrize("on_error", ["skip", "pad"])
@pytest.mark.parametrize("max_errors", [-1, 0, 2, 3])
def test_max_errors(tmp_path: Path, on_error: str, max_errors: int) -> None:
    blob = flow.MiniReader(
        damaged(tmp_path), batch_size=4, on_error=on_error, max_errors=max_errors
    )
    with flow.DataLoader(blob) as loader:
        if max_errors in (-1, 3):
            for _ in range(2):  # the budget is that of an epoch
                assert len(list(loader)) == 5
        else:
            with pytest.raises(flow.CorruptDataError, match="max_errors"):
                list(loader)


def with_bad_lines(folder: Path, num_lines: int, num_bad: int) -> str:
    """Every 7th line is bad, from the first on, until there are so many."""
    texts = lines(0, num_lines).splitlines(keepends=True)
    for i in range(num_bad):
        texts[7 * i] = b"bad\n"
    return write_parts(folder, b"".join(texts))


def delivered(blob: flow.Blob) -> int:
    """Rows of one epoch."""
    with flow.DataLoader(blob) as loader:
        return sum(len(rows) for rows in loader)


@pytest.mark.parametrize("num_lines, num_bad, limit, most", [
    (100, 10, {}, None), (100, 11, {}, 10), (3000, 30, {}, None), (3000, 31, {}, 30),
    (3000, 61, {"max_skipped": 0.02}, 60), (3000, 5, {"max_skipped": 4}, 4),
    (3000, 4, {"max_skipped": 4}, None), (3000, 1, {"max_skipped": 0}, 0),
    (3000, 300, {"max_skipped": -1}, None), (3000, 300, {"max_errors": -1}, None),
    (3000, 300, {"max_skipped": 1.0}, None), (3000, 2, {"max_skipped": 1}, 1),
])  # fmt: skip
def test_max_skipped(
    tmp_path: Path, num_lines: int, num_bad: int, limit: dict[str, float], most: int | None
) -> None:
    data = with_bad_lines(tmp_path, num_lines, num_bad)
    blob = flow.MiniReader(data, batch_size=8, on_error="skip", **limit)
    if most is None:
        assert delivered(blob) == num_lines - num_bad
        return
    with flow.DataLoader(blob) as loader, pytest.raises(flow.CorruptDataError) as caught:
        for _ in loader:
            pass
    assert caught.value.line == 7 * most + 1  # the first record that is one too many
    share = limit.get("max_skipped", 0.01)
    said = "1 record of this epoch was" if most == 1 else f"{most} records of this epoch were"
    assert said in caught.value.message
    assert ("a share allows" in caught.value.message) == (0 < share < 1)
    assert f"max_skipped = {share:g}" in caught.value.message


def test_max_skipped_of_a_rank_and_of_a_stream(tmp_path: Path) -> None:
    """A rank has half of the records; of a stream the records so far count."""
    data = with_bad_lines(tmp_path / "lines", 4000, 80)
    shares = {"on_error": "skip", "max_skipped": 0.015, "batch_size": 8}
    with pytest.raises(flow.CorruptDataError, match="30 records"):
        for rank in range(2):
            delivered(flow.MiniReader(data, rank=rank, world_size=2, **shares))
    texts = lines(0, 4000).splitlines(keepends=True)
    texts[-30:] = [b"bad\n"] * 30
    packed = tmp_path / "late.txt.gz"
    packed.write_bytes(gzip.compress(b"".join(texts)))
    assert delivered(flow.MiniReader(files=str(packed), **shares)) == 3970
    texts = texts[::-1]
    packed.write_bytes(gzip.compress(b"".join(texts)))
    with pytest.raises(flow.CorruptDataError, match="10 records"):
        delivered(flow.MiniReader(files=str(packed), **shares))


@pytest.mark.parametrize("limit", [
    {"max_skipped": 1.5}, {"max_skipped": 5.0}, {"max_skipped": -0.5}, {"max_skipped": -2},
    {"max_skipped": 3, "max_errors": 3},
])  # fmt: skip
def test_a_limit_that_is_none(tmp_path: Path, limit: dict[str, float]) -> None:
    data = write_parts(tmp_path, lines(0, 3))
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniReader(data, on_error="skip", **limit)
    assert caught.value.attr in limit


def test_a_batch_of_bad_rows_only(tmp_path: Path) -> None:
    data = write_parts(tmp_path, b"x\ny\n1,10\n")
    with flow.DataLoader(flow.MiniReader(data, batch_size=2, on_error="skip")) as loader:
        assert [batch.tolist() for batch in loader] == [[], [[1, 10]]]


# ---- Files that change while open ----------------------------------------------------------------


def expect_change(loader: flow.DataLoader, path: Path, says: str) -> None:
    """Within two epochs the change is seen; no batch before has anything but true rows."""
    with pytest.raises(flow.FileError) as caught:
        for _ in range(2):
            for batch in loader:
                assert np.array_equal(batch[:, 1], 10 * batch[:, 0])
    assert caught.value.file == str(path)
    assert says in caught.value.message


@pytest.mark.parametrize("on_error", ["raise", "skip", "pad"])
@pytest.mark.parametrize("num_lines, keep", [(20, 0), (20, 37), (100_000, 0), (100_000, 10_000)])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_part_that_shrinks(
    tmp_path: Path, on_error: str, num_lines: int, keep: int, shuffle: bool
) -> None:
    data = write_parts(tmp_path, lines(0, 5), lines(5, num_lines))
    path = tmp_path / "part-001"
    size = path.stat().st_size
    blob = flow.MiniReader(
        data, batch_size=4, on_error=on_error, random_shuffle=shuffle, seed=5
    )
    with flow.DataLoader(blob, num_threads=3) as loader:
        next(iter(loader))
        os.truncate(path, keep)
        expect_change(loader, path, f"had {size} bytes when it was opened, and now has {keep}")


def test_a_part_that_vanishes(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 5), lines(5, 20))
    with flow.DataLoader(flow.MiniReader(data, batch_size=4)) as loader:
        next(iter(loader))
        (tmp_path / "part-001").unlink()
        expect_change(loader, tmp_path / "part-001", "vanished")


def test_a_part_that_is_replaced(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 5), lines(5, 20))
    with flow.DataLoader(flow.MiniReader(data, batch_size=4)) as loader:
        next(iter(loader))
        (tmp_path / "new").write_bytes(lines(5, 20))
        (tmp_path / "new").rename(tmp_path / "part-001")
        expect_change(loader, tmp_path / "part-001", "replaced")


def test_a_part_that_is_written_to(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 5))
    path = tmp_path / "part-000"
    with flow.DataLoader(flow.MiniReader(data, batch_size=4)) as loader:
        next(iter(loader))
        path.write_bytes(lines(0, 5))
        os.utime(path, ns=(1, 1))
        expect_change(loader, path, "modification time")
    with flow.DataLoader(flow.MiniReader(data, batch_size=4)) as loader:
        next(iter(loader))
        with path.open("ab") as file:
            file.write(b"\n")
        expect_change(loader, path, "bytes when it was opened")


def test_arrays_live_on_when_files_go(tmp_path: Path) -> None:
    data = write_parts(tmp_path, lines(0, 8))
    with flow.DataLoader(flow.MiniReader(data, batch_size=8)) as loader:
        (batch,) = loader
        os.truncate(tmp_path / "part-000", 0)
    assert np.array_equal(batch, rows(0, 8))


def test_a_relative_folder_holds_when_the_process_changes_its_own(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "part-0").write_text("1,2\n3,4\n")
    monkeypatch.chdir(tmp_path)
    with flow.DataLoader(flow.MiniReader("data", batch_size=2)) as loader:
        monkeypatch.chdir("/")
        for _ in range(2):
            assert [batch.tolist() for batch in loader] == [[[1, 2], [3, 4]]]


@pytest.mark.parametrize(
    ("reader", "own"),
    [
        (lambda file: flow.TFRecordReader(files=file, batch_size=1), "TFRecord"),
        (lambda file: flow.OFRecordReader(files=file, batch_size=1), "OFRecord"),
        (lambda file: flow.OneRecReader(files=file, batch_size=1), "OneRec"),
        # The others begin with a length, which is one of a MindRecord file's header, too.
        (lambda file: flow.MindRecordReader(files=file, columns=["x"]), "TFRecord OFRecord"),
        (lambda file: flow.IDXReader(files=file, batch_size=1), ""),
        (lambda file: flow.NpyReader(files=file, dtype="int8", shape=[1]), "NumPy"),
        (lambda file: flow.MDSReader(files=file, columns=["x"], batch_size=1), ""),
    ],
)
def test_readers_name_what_another_one_reads(tmp_path, reader, own):
    """Files of another format are told from damaged ones, and so is who reads them."""
    record = b"x" * 300
    with TFRecordWriter(tmp_path / "TFRecord") as writer:
        writer.write(record)
    with OFRecordWriter(tmp_path / "OFRecord") as writer:
        writer.write({"x": [1.5] * 100})
    (tmp_path / "OneRec").write_bytes(b"^ONEREC$" + bytes(100))
    np.save(tmp_path / "NumPy.npy", np.arange(200.0))
    for file in tmp_path.iterdir():
        if file.stem in own:
            continue
        with pytest.raises(flow.Error, match=f"it looks like {file.stem}.* reads it"):
            for _ in flow.DataLoader(reader(file)):
                pass
