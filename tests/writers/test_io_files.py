"""How the files of writers come to be: whole, all shards together, or not at all."""

import gzip
import multiprocessing
import os
import re
import signal
import textwrap
import threading
import zlib

import numpy as np
import pytest
from support import programs

import pyflowdata as flow
from pyflowdata.io import (
    CSVWriter,
    IDXWriter,
    MegatronWriter,
    NpyWriter,
    RawWriter,
    TFRecordWriter,
    TextLineWriter,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_nothing_has_its_name_before_the_end(tmp_path):
    writer = TextLineWriter(tmp_path / "a.txt")
    writer.write("one")
    (only,) = names(tmp_path)
    assert only.startswith(".a.txt.") and only.endswith(".tmp")
    writer.close()
    assert names(tmp_path) == ["a.txt"] and writer.paths == (tmp_path / "a.txt",)
    writer.close()
    with pytest.raises(flow.InvalidArgumentError, match="it is closed"):
        writer.write("two")
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_an_exception_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), TextLineWriter(tmp_path / "a", shard_records=1) as writer:
        writer.write_batch(["one", "two", "three"])
        raise KeyError
    assert names(tmp_path) == [] and writer.paths == ()


def test_a_writer_that_is_forgotten_leaves_nothing_and_says_so(tmp_path):
    writer = TextLineWriter(tmp_path / "a")
    with pytest.warns(ResourceWarning, match="never closed"):
        del writer
    assert names(tmp_path) == []


def test_shards_by_count(tmp_path):
    with TextLineWriter(tmp_path / "a.txt", shard_records=2) as writer:
        writer.write("0")
        writer.write_batch(["1", "2", "3", "4"])
    assert names(tmp_path) == [f"a-0000{i}-of-00003.txt" for i in range(3)]
    assert [path.read_text() for path in writer.paths] == ["0\n1\n", "2\n3\n", "4\n"]
    assert writer.records == 5


def test_shards_by_bytes(tmp_path):
    lines = ["a", "bb", "c" * 20, "", "d", "e" * 9, "f"]
    with TextLineWriter(tmp_path / "a.txt.gz", shard_bytes=5) as writer:
        writer.write_batch(lines)
    assert [path.name for path in writer.paths] == [
        f"a-0000{i}-of-00005.txt.gz" for i in range(5)
    ]
    texts = [gzip.decompress(path.read_bytes()).decode() for path in writer.paths]
    assert texts == ["a\nbb\n", "c" * 20 + "\n", "\nd\n", "e" * 9 + "\n", "f\n"]


@pytest.mark.parametrize("pattern", ["part-{shard:03d}", "x{shard:03d}-{shards}.txt"])
def test_names_by_pattern(pattern, tmp_path):
    with TextLineWriter(tmp_path / pattern, shard_records=1) as writer:
        writer.write_batch(["a", "b"])
    assert names(tmp_path) == [pattern.format(shard=i, shards=2) for i in range(2)]
    with pytest.raises(flow.FileError, match="there already"):
        TextLineWriter(tmp_path / pattern)


@pytest.mark.parametrize("path", ["", "a/..", "{shard", "{shardx}", "{shards}"])
def test_names_that_are_none(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(flow.InvalidArgumentError, match="path = "):
        TextLineWriter(path)


def test_parts_are_what_a_reader_finds(tmp_path):
    with TextLineWriter(tmp_path / "part-{shard:03d}", shard_records=4) as writer:
        writer.write_batch([f"{i},{2 * i}" for i in range(10)])
    rows = flow.MiniReader(tmp_path, batch_size=10, data_part_num=3, part_name_suffix_length=3)
    with flow.DataLoader(rows) as loader:
        assert next(iter(loader)).tolist() == [[i, 2 * i] for i in range(10)]


def test_a_record_stays_whole(tmp_path):
    with NpyWriter(tmp_path / "a.npy", shard_records=3) as writer:
        writer.write_batch(np.arange(14).reshape(7, 2))
    assert [np.load(path).tolist() for path in writer.paths] == [
        [[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]], [[12, 13]],
    ]  # fmt: skip


# ---- What is there already ----------------------------------------------------------------------


def test_a_file_is_not_overwritten_unless_asked(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(flow.FileError, match="/a: it is there already; .*overwrite=True"):
        TextLineWriter(path)
    with TextLineWriter(path, overwrite=True) as writer:
        writer.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new\n" and names(tmp_path) == ["a"]


def test_shards_of_an_earlier_run_do_not_stay_beside_new_ones(tmp_path):
    for count in (3, 2):
        with TextLineWriter(tmp_path / "a", shard_records=1, overwrite=True) as writer:
            writer.write_batch(["x"] * count)
    assert names(tmp_path) == ["a-00000-of-00002", "a-00001-of-00002"]
    with pytest.raises(flow.FileError, match="a-00000-of-00002: it is there already"):
        TextLineWriter(tmp_path / "a", shard_records=5)
    TextLineWriter(tmp_path / "a").close()  # another name


def test_the_first_of_two_writers_stays(tmp_path):
    first, second = (TextLineWriter(tmp_path / "a") for _ in range(2))
    first.write("first")
    second.write("second")
    second.close()
    with pytest.raises(flow.FileError, match="there already"):
        first.close()
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "second\n"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(flow.FileError, match="not a regular file"):
        TextLineWriter(tmp_path, overwrite=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_many_writers_of_one_name(overwrite, tmp_path):
    """What is there in the end is whole, and of one of them."""
    lines = 2000
    ready, failures = threading.Barrier(6), []

    def write(number):
        try:
            with TextLineWriter(tmp_path / "a", overwrite=overwrite) as writer:
                ready.wait()
                writer.write_batch([str(number)] * lines)
        except flow.FileError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=write, args=[i]) for i in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(failures) == (0 if overwrite else 5)
    found = (tmp_path / "a").read_text().split()
    assert len(found) == lines and len(set(found)) == 1
    assert names(tmp_path) == ["a"]


# ---- Crashes ------------------------------------------------------------------------------------

KILLED = """
    import sys
    from pyflowdata.io import MegatronWriter
    writer = MegatronWriter(sys.argv[1], shard_records=1000)
    for _ in range(50):
        writer.write_batch([[1] * 100] * 100)
    print("ready", flush=True)
    sys.stdin.read()
"""


def script(source, *arguments, **options):
    return programs.start(
        textwrap.dedent(source), *arguments, stdout=programs.PIPE, **options
    )


def test_a_process_that_is_killed_leaves_no_file(tmp_path):
    process = script(KILLED, tmp_path / "a", stdin=programs.PIPE)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    left = names(tmp_path)
    assert left and all(name.startswith(".a") and name.endswith(".tmp") for name in left)
    with MegatronWriter(tmp_path / "a") as writer:
        writer.write([1])
    assert (tmp_path / "a.idx").stat().st_size == 34 + 12 + 16


FULL = """
    import resource, sys
    from pyflowdata.io import RawWriter
    from pyflowdata import FileError
    import numpy as np
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    writer = RawWriter(sys.argv[1], shard_records=50000)
    try:
        for _ in range(100):
            writer.write_batch(np.zeros((1000, 16), np.uint8))
        writer.close()
    except FileError as failure:
        print(failure)
        try:
            writer.close()
        except ValueError as failure:
            print(failure)
"""


def test_a_full_disk_is_an_error_that_leaves_nothing(tmp_path):
    """A limit on the size of a file fails as a full disk does: a write that is short."""
    said, _ = script(FULL, tmp_path / "a").communicate()
    first, second = said.splitlines()
    assert "a-00000-of-00001: writing" in first and "File too large; nothing is left" in first
    assert "writing failed before" in second
    assert names(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(flow.FileError, match="/no/a: no file can be made in .*No such file"):
        TextLineWriter(tmp_path / "no" / "a")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(flow.FileError, match="Permission denied"):
        TextLineWriter(tmp_path / "a")


def test_a_rename_that_fails_leaves_none_of_the_shards(tmp_path):
    writer = TextLineWriter(tmp_path / "a", shard_records=1)
    writer.write_batch(["x"] * 3)
    (tmp_path / "a-00002-of-00003").mkdir()
    with pytest.raises(flow.FileError):
        writer.close()
    assert names(tmp_path) == ["a-00002-of-00003"]


def test_a_forked_child_leaves_the_files_alone(tmp_path):
    writer = TextLineWriter(tmp_path / "a")
    writer.write("x")
    child = multiprocessing.get_context("fork").Process(target=writer.discard)
    child.start()
    child.join()
    writer.close()
    assert (tmp_path / "a").read_text() == "x\n"


def test_large_rows_go_through(tmp_path):
    rows = np.random.default_rng(0).integers(0, 255, (2, (1 << 20) + 5), np.uint8)
    with RawWriter(tmp_path / "a") as writer:
        writer.write(rows[0, :100].repeat(rows.shape[1], 0)[: rows.shape[1]])
        writer.write_batch(rows)
    assert (tmp_path / "a").read_bytes()[rows.shape[1] :] == rows.tobytes()


# ---- Arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, says",
    [
        ({"shard_records": 0}, "shard_records = 0; it must be 1 or more"),
        ({"shard_records": 1.5}, "shard_records = 1.5; it must be a whole number, 1 or more"),
        ({"shard_records": "3"}, "shard_records = '3'; it must be a whole number"),
        ({"shard_bytes": True}, "shard_bytes = True; it must be a whole number"),
        ({"compression": "lz4"}, "compression = 'lz4'; it must be None, 'none' or one of 'gzip'"),
        ({"compression": 3}, "compression = 3; it must be"),
        ({"compression": "gzip", "level": 99}, "level = 99; it must be 0 to 9"),
        ({"compression": "zlib", "level": -5}, "level = -5; it must be 0 to 9"),
        ({"compression": "zstd", "level": 23}, "level = 23; it must be -131072 to 22"),
        ({"level": "a"}, "level = 'a'; it must be a whole number"),
        ({"compression": "gzip", "level": 1.5}, "level = 1.5; it must be a whole number"),
    ],
)
def test_options_are_checked(options, says, tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match=f"TFRecordWriter: {says}"):
        TFRecordWriter(tmp_path / "a", **options)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "writer, options, says",
    [
        (RawWriter, {"dtype": "foo"}, "dtype = 'foo': data type 'foo' not understood"),
        (IDXWriter, {"dtype": "foo"}, "dtype = 'foo'"),
        (MegatronWriter, {"dtype": "foo"}, "dtype = 'foo'; Megatron's files hold"),
        (RawWriter, {"shape": 3}, "shape = 3; it must be a tuple of sizes"),
        (NpyWriter, {"shape": (2, -1)}, r"shape = \(2, -1\); it must be a tuple"),
        (RawWriter, {"header": "x"}, "header = 'x'; it must be bytes"),
        (CSVWriter, {"delimiter": "e"}, "nor a part of numbers"),
        (CSVWriter, {"delimiter": 3}, "delimiter = 3; it must be one ASCII character"),
        (CSVWriter, {"columns": "ab"}, "columns = 'ab'; it must be a list of names"),
        (CSVWriter, {"columns": ["a", "a"]}, "a name is given twice"),
        (CSVWriter, {"columns": ["\ud800"]}, r"name in columns = '\\ud800' is not valid Unicode"),
    ],
)
def test_options_of_formats_are_checked(writer, options, says, tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match=says):
        writer(tmp_path / "a", **options)
    assert names(tmp_path) == []


def test_whole_numbers_may_be_those_of_numpy(tmp_path):
    options = {"shard_records": np.int64(1), "compression": "gzip", "level": np.int8(0)}
    with TextLineWriter(tmp_path / "a", **options) as writer:
        writer.write_batch(["x", "y"])
    assert [gzip.decompress(path.read_bytes()) for path in writer.paths] == [b"x\n", b"y\n"]


# ---- Names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["a\0b", "a\ud800", 3, None, b"a", "a-{shard.x}.c", "a-{shard[0]}.c", "h-{shard:x}",
     "h-{shard:5d}", "h-{shard:+d}", "h-{shard!r}", "h-{shard:{shards}}", "h-{shard:09999d}"],
)  # fmt: skip
def test_paths_that_are_none(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(flow.InvalidArgumentError, match=re.escape(f"path = {path!r}; it")):
        TextLineWriter(path)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "pattern", ["h-{shard}.x", "h-{shard:d}.x", "h-{shard:03}.x", "{{h}}-{shard:02d}"]
)
def test_patterns_replace_all_shards_of_an_earlier_run(pattern, tmp_path):
    other = tmp_path / (pattern.replace("{{h}}", "{h}").partition("{shard")[0] + "٣.x")
    other.write_text("not a shard")
    for count in (12, 1):
        with TextLineWriter(tmp_path / pattern, shard_records=1, overwrite=True) as writer:
            writer.write_batch(["x"] * count)
    assert {*tmp_path.iterdir()} == {tmp_path / pattern.format(shard=0), other}


def test_names_may_be_as_long_as_the_folder_allows(tmp_path):
    for name in ("日" * 84, "a" + "日" * 84, "x" * 255):
        with TextLineWriter(tmp_path / name) as writer:
            writer.write("x")
            (temporary,) = (one for one in names(tmp_path) if one.startswith("."))
            assert len(temporary.encode()) <= 255  # and is valid UTF-8
        assert name in names(tmp_path)
    with pytest.raises(flow.FileError, match="name too long"):
        TextLineWriter(tmp_path / ("月" * 84), shard_records=1)
    with pytest.raises(flow.FileError, match="name too long"):
        TextLineWriter(tmp_path / ("日" * 86))


@pytest.mark.parametrize("suffix, unpack", [(".gz", gzip.decompress), (".zlib", zlib.decompress)])
def test_the_name_says_the_compression(suffix, unpack, tmp_path):
    with CSVWriter(tmp_path / f"c.csv{suffix}") as writer:
        writer.write({"x": 1})
    assert unpack(writer.paths[0].read_bytes()) == b"x\n1\n"
    with TextLineWriter(tmp_path / f"c-{{shard}}{suffix.upper()}") as writer:
        writer.write("1")
    assert unpack(writer.paths[0].read_bytes()) == b"1\n"
    with TextLineWriter(tmp_path / f"p{suffix}", compression="none") as writer:
        writer.write("1")
    assert writer.paths[0].read_bytes() == b"1\n"
    with MegatronWriter(tmp_path / f"m{suffix}") as writer:  # m.gz.bin
        writer.write([1])
    assert writer.paths[0].read_bytes() == b"\1\0\0\0"


@pytest.mark.parametrize("writer", [RawWriter, NpyWriter])
def test_files_that_are_never_compressed(writer, tmp_path):
    says = "; it must be None or 'none', as what this writer makes is never compressed"
    with pytest.raises(flow.InvalidArgumentError, match=f"{writer.__name__}: .*'gzip'{says}"):
        writer(tmp_path / "a", compression="gzip")
    with pytest.raises(flow.InvalidArgumentError, match=f"'a.x.gz' says .* 'gzip'{says}"):
        writer(tmp_path / "a.x.gz")
    writer(tmp_path / "a.x.gz", compression="none").close()
    assert names(tmp_path) == ["a.x.gz"]


def test_a_row_that_is_refused_does_not_set_the_shape(tmp_path):
    with RawWriter(tmp_path / "a", dtype="float32") as writer:
        with pytest.raises(flow.InvalidArgumentError, match="too large"):
            writer.write([1e39, 0])
        writer.write([1, 2, 3])
    assert (tmp_path / "a").stat().st_size == 12
