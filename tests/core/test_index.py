"""Indexes: what they find, where they are kept, and that no cached file is trusted blindly."""

from __future__ import annotations

import grp
import os
import pwd
import random
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.files import read, write_parts
from support.indexes import (  # noqa: F401
    ROWS,
    SHUFFLED,
    cache,
    data,
    epoch,
    index_of,
    large,
    open_reader,
    stored,
)

import pyflowdata as flow

# ---- Found again -------------------------------------------------------------------------------


@pytest.mark.parametrize("attrs", [{}, SHUFFLED], ids=["in order", "shuffled"])
@pytest.mark.parametrize("access", ["map", "read"])
def test_it_is_built_once_and_changes_nothing(data, cache, attrs, access):
    expected = epoch(data, index_dir="none", **attrs)
    built, found = (index_of(data, index_dir=cache, file_access=access, **attrs) for _ in range(2))
    assert built.is_new and not found.is_new
    assert built.path == found.path == str(stored(cache)[0]) and len(stored(cache)) == 1
    assert stored(cache, "*.lock") == stored(cache, "*.tmp*") == []
    np.testing.assert_array_equal(
        epoch(data, index_dir=cache, file_access=access, **attrs), expected
    )
    if not attrs:
        i = np.arange(ROWS)
        np.testing.assert_array_equal(expected, np.stack([i, 10 * i], axis=1))
    else:
        assert sorted(expected[:, 0]) == list(range(ROWS))


@pytest.mark.slow
def test_reading_in_order_needs_next_to_none(large):
    size = sum(path.stat().st_size for path in Path(large).iterdir())
    in_order, shuffled = (index_of(large, index_dir="none", **attrs) for attrs in ({}, SHUFFLED))
    assert in_order.bytes < size / 1500 and size / 50 < shuffled.bytes < size / 8
    assert in_order.path == shuffled.path == ""


def test_each_order_of_reading_has_its_own(data, cache):
    assert index_of(data, index_dir=cache).path != index_of(data, index_dir=cache, **SHUFFLED).path
    assert not index_of(data, index_dir=cache).is_new
    assert not index_of(data, index_dir=cache, shuffle="window").is_new
    assert not index_of(data, index_dir=cache, shuffle="buffer").is_new
    assert len(stored(cache)) == 2


@pytest.mark.parametrize("attrs", [{}, SHUFFLED], ids=["in order", "shuffled"])
def test_state_and_length_do_not_depend_on_it(data, cache, attrs):
    with open_reader(data, index_dir="none", **attrs) as first:
        batches = iter(first)
        for _ in range(5):
            next(batches)
        state, rest = first.state_dict(), list(batches)
        assert len(first) == -(-ROWS // 64)
    for _ in range(2):
        with open_reader(data, index_dir=cache, **attrs) as second:
            second.load_state_dict(state)
            for ours, theirs in zip(second, rest, strict=True):
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("attrs", [{}, SHUFFLED], ids=["in order", "shuffled"])
def test_long_and_short_lines_in_files_of_many_pieces(tmp_path, attrs):
    """Lines of 3 bytes to a megabyte, blank ones between, LF and CRLF, read in every way."""
    chance = random.Random(5)
    numbers, parts = [], []
    for part in range(3):
        text = []
        for _ in range(1500):
            blanks = " " * (chance.choice([0, 0, 0, 1, 70, 5000]))
            if chance.random() < 0.001:
                blanks = " " * 1_200_000
            numbers.append(len(numbers))
            text.append(f"{blanks}{numbers[-1]},1")
            text += [" \t"] * chance.choice([0, 0, 0, 0, 1, 3])
        parts.append((["\n", "\r\n", "\n"][part]).join(text).encode())
    folder = write_parts(tmp_path / "data", *parts)
    ways = [{"file_access": access} for access in ("map", "read")]
    found = [epoch(folder, index_dir="none", **way, **attrs)[:, 0] for way in ways]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0].tolist() if not attrs else sorted(found[0])) == numbers


# ---- Where -------------------------------------------------------------------------------------


def test_where_it_is_kept(large, tmp_path, monkeypatch):
    for name in ("PYFLOWDATA_INDEX_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert Path(index_of(large).path).parent == tmp_path / "home/.cache/pyflowdata"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the convention says to pass over
    assert Path(index_of(large).path).parent == tmp_path / "home/.cache/pyflowdata"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Path(index_of(large).path).parent == tmp_path / "xdg/pyflowdata"
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(tmp_path / "own"))
    assert Path(index_of(large).path).parent == tmp_path / "own"
    assert Path(index_of(large, index_dir=str(tmp_path / "attr")).path).parent == tmp_path / "attr"
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", "none")
    assert index_of(large).path == ""
    monkeypatch.delenv("PYFLOWDATA_INDEX_DIR")
    assert index_of(large, index_dir="none").path == ""


def test_small_files_have_none_unless_asked_for(data, tmp_path, monkeypatch):
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(tmp_path / "own"))
    assert index_of(data).path == "" and not (tmp_path / "own").exists()


def test_folders_that_cannot_be_written(data, tmp_path):
    expected = epoch(data, index_dir="none", **SHUFFLED)
    (tmp_path / "file").write_bytes(b"")
    for folder in ("/proc/none/here", str(tmp_path / "file"), str(tmp_path / "file" / "below")):
        found = index_of(data, index_dir=folder, **SHUFFLED)
        assert found.path == "" and found.is_new
        np.testing.assert_array_equal(epoch(data, index_dir=folder, **SHUFFLED), expected)


def test_a_full_disk_is_no_failure(data, cache):
    """/dev/full for the file: here, a limit on file sizes."""
    script = f"""
import resource, signal
import pyflowdata as flow
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with flow.DataLoader(flow.MiniReader({data!r}, random_shuffle=True, index_dir={cache!r})) as loader:
    print(len(list(loader)), loader.readers[0].index.path == "")
"""
    assert programs.run(script, check=True).stdout == f"{ROWS} True\n"
    assert stored(cache, "*") == []


# ---- Never trusted -----------------------------------------------------------------------------


def check_rebuilt(data, cache, attrs, expected):
    """The next loader builds a new index and is right; the one after it finds that."""
    assert index_of(data, index_dir=cache, **attrs).is_new
    np.testing.assert_array_equal(epoch(data, index_dir=cache, **attrs), expected)
    assert not index_of(data, index_dir=cache, **attrs).is_new


def test_stale(data, cache):
    part = Path(data) / "part-002"
    index_of(data, index_dir=cache, **SHUFFLED)
    before = part.stat()

    part.write_bytes(part.read_bytes() + b"\n7,8\n")
    expected = epoch(data, index_dir="none", **SHUFFLED)
    assert len(expected) == ROWS + 1
    check_rebuilt(data, cache, SHUFFLED, expected)

    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))  # as old as at first: still another
    check_rebuilt(data, cache, SHUFFLED, expected)

    text = part.read_bytes()
    part.write_bytes(b"1\n," + text[3:])  # as long and as old as before
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert index_of(data, index_dir=cache, **SHUFFLED).is_new
    assert len(stored(cache)) == 1


def test_truncated_or_foreign(data, cache):
    expected = epoch(data, index_dir="none", **SHUFFLED)
    path = Path(index_of(data, index_dir=cache, **SHUFFLED).path)
    whole = path.read_bytes()
    for size in (0, 1, 7, 64, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        check_rebuilt(data, cache, SHUFFLED, expected)
    for content in (whole + b"x", b"\0" * len(whole), b"\xff" * len(whole), whole[::-1]):
        path.write_bytes(content)
        check_rebuilt(data, cache, SHUFFLED, expected)
    other = Path(index_of(data, index_dir=cache).path)  # of another kind, whole in itself
    shutil.copy(other, path)
    check_rebuilt(data, cache, SHUFFLED, expected)


def test_who_else_may_write_an_index_is_not_believed(data, cache, monkeypatch):
    expected = epoch(data, index_dir="none", **SHUFFLED)
    path = Path(index_of(data, index_dir=cache, **SHUFFLED).path)
    assert path.stat().st_mode & 0o022 == 0
    for mode in (0o646, 0o666):
        path.chmod(mode)
        check_rebuilt(data, cache, SHUFFLED, expected)
    path.chmod(0o664)  # of a group, which may be that of this user alone, as that of a folder
    user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(path.stat().st_gid)
    is_own = (group.gr_gid, group.gr_name) == (user.pw_gid, user.pw_name) and not group.gr_mem
    assert index_of(data, index_dir=cache, **SHUFFLED).is_new != is_own
    path.chmod(0o666)
    monkeypatch.setenv("PYFLOWDATA_SHARED_INDEXES", "1")
    assert not index_of(data, index_dir=cache, **SHUFFLED).is_new


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_an_index_of_another_user_is_not_believed(data, cache, monkeypatch):
    expected = epoch(data, index_dir="none", **SHUFFLED)
    path = Path(index_of(data, index_dir=cache, **SHUFFLED).path)
    os.chown(path, 12345, -1)
    monkeypatch.setenv("PYFLOWDATA_SHARED_INDEXES", "1")
    assert not index_of(data, index_dir=cache, **SHUFFLED).is_new
    monkeypatch.setenv("PYFLOWDATA_SHARED_INDEXES", "0")
    check_rebuilt(data, cache, SHUFFLED, expected)
    assert path.stat().st_uid == os.geteuid()


FOREIGN = {
    "it belongs to another user": 0o755,
    "users other than this one can write into it": 0o777,
}


@pytest.mark.parametrize("risk", FOREIGN)
def test_a_cache_that_another_user_can_change_is_left_alone(data, cache, monkeypatch, risk):
    """Such a folder is refused: indexes and columns stay in memory, cache('disk') is an error."""
    if "belongs" in risk and os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    expected = epoch(data, index_dir="none", **SHUFFLED)
    folder = Path(cache)
    folder.mkdir(parents=True, exist_ok=True)
    os.chown(folder, 12345 if "belongs" in risk else -1, -1)
    folder.chmod(FOREIGN[risk])
    with pytest.warns(UserWarning, match=f"stays in memory.*{cache}: {risk}; choose another"):
        assert index_of(data, index_dir=cache, name=str(cache), **SHUFFLED).path == ""
    np.testing.assert_array_equal(epoch(data, index_dir=cache, **SHUFFLED), expected)
    blob = flow.MiniDecoder(flow.MiniReader(str(data), index_dir=cache))[0]
    dataset = flow.Dataset({"x": blob})
    with pytest.warns(UserWarning, match=f"columns stay in memory, as .*{cache}: {risk}"):
        column = dataset.column("x")
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", cache)
    cached = dataset.cache("disk")
    with pytest.raises(flow.FileError, match=f"cache.'disk'. makes no files there.*{risk}"):
        flow.DataLoader(cached.batch(5)["x"])
    assert stored(cache, "*") == []
    monkeypatch.setenv("PYFLOWDATA_SHARED_INDEXES", "1")
    assert index_of(data, index_dir=cache, **SHUFFLED).path != ""
    np.testing.assert_array_equal(dataset.column("x"), column)
    flow.DataLoader(cached.batch(5)["x"]).close()
    assert {path.suffix for path in stored(cache, "*")} == {".index", ".column", ".cache"}


def test_links_in_the_cache_are_not_followed(data, cache, tmp_path):
    expected = epoch(data, index_dir="none", **SHUFFLED)
    path = Path(index_of(data, index_dir=cache, **SHUFFLED).path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    lock = Path(f"{path}.lock")
    lock.symlink_to(tmp_path / "made by a lock")
    np.testing.assert_array_equal(epoch(data, index_dir=cache, **SHUFFLED), expected)
    assert not (tmp_path / "made by a lock").exists()
    lock.unlink()
    os.mkfifo(lock)  # which can be locked, and is no lock
    np.testing.assert_array_equal(epoch(data, index_dir=cache, **SHUFFLED), expected)
    assert lock.is_fifo() and path.is_symlink()
    lock.unlink()
    assert index_of(data, index_dir=cache, **SHUFFLED).is_new and not path.is_symlink()


def test_things_that_are_no_files_stay(data, cache):
    expected = epoch(data, index_dir="none", **SHUFFLED)
    path = Path(index_of(data, index_dir=cache, **SHUFFLED).path)
    path.unlink()
    path.mkdir()
    assert index_of(data, index_dir=cache, **SHUFFLED).path == ""
    np.testing.assert_array_equal(epoch(data, index_dir=cache, **SHUFFLED), expected)
    assert path.is_dir() and stored(cache, "*") == [path]
    path.rmdir()
    os.mkfifo(path)  # which a rename replaces
    check_rebuilt(data, cache, SHUFFLED, expected)


def header_bytes():
    return struct.calcsize("=8s2I4i4Q4q2Q")


def test_a_flipped_bit_anywhere(data, cache):
    """Every byte of the header, and some of the rest."""
    expected = epoch(data, index_dir="none", **SHUFFLED)
    path = Path(index_of(data, index_dir=cache, **SHUFFLED).path)
    whole = path.read_bytes()
    chance = random.Random(3)
    rest = [chance.randrange(header_bytes(), len(whole)) for _ in range(30)]
    unsummed = range(header_bytes(), -(-header_bytes() // 64) * 64)  # filling, which nobody reads
    for place in [*range(header_bytes()), *rest]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        found = index_of(data, index_dir=cache, **SHUFFLED)
        assert found.is_new or place in unsummed, place
    np.testing.assert_array_equal(epoch(data, index_dir=cache, **SHUFFLED), expected)


def mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def hash_of(seed, data):
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
    for word in [*words, *([] if len(data) % 8 else [0]), len(data)]:
        seed = mix(((seed ^ word) + 0x9E3779B97F4A7C15) % 2**64)
    return seed


@pytest.mark.parametrize("attrs", [{}, SHUFFLED], ids=["in order", "shuffled"])
def test_garbage_in_every_field_under_a_right_checksum(data, cache, attrs):
    expected = epoch(data, index_dir="none", **attrs)
    path = Path(index_of(data, index_dir=cache, **attrs).path)
    whole = path.read_bytes()
    size = header_bytes()
    assert hash_of(1, whole[: size - 8]) == int.from_bytes(whole[size - 8 : size], "little")
    fields = [(8, 4), (12, 4), *((16 + 4 * i, 4) for i in range(4))]
    fields += [(place, 8) for place in range(32, size - 8, 8)]
    for place, width in fields:
        true = int.from_bytes(whole[place : place + width], "little", signed=True)
        most = 2 ** (8 * width - 1) - 1
        for value in (-1, 0, 1, true + 1, true - 1, 2 * true, 64, most, -most - 1):
            if value == true or not -most - 1 <= value <= most:
                continue
            header = bytearray(whole[: size - 8])
            header[place : place + width] = value.to_bytes(width, "little", signed=True)
            check = hash_of(1, bytes(header)).to_bytes(8, "little")
            path.write_bytes(bytes(header) + check + whole[size:])
            np.testing.assert_array_equal(epoch(data, index_dir=cache, **attrs), expected)


def test_cut_short_while_it_is_used(large, cache):
    """The pages of a truncated index are gone: an error, never a crash or wrong records."""
    with open_reader(large, index_dir=cache, **SHUFFLED) as loader:
        path = Path(loader.readers[0].index.path)
        os.truncate(path, 5000)
        with pytest.raises(flow.FileError, match="index cache was truncated") as caught:
            for _ in loader:
                pass
        assert caught.value.file == str(path)
    assert index_of(large, index_dir=cache, **SHUFFLED).is_new


@pytest.mark.parametrize("cut", [0, 64, 1000])
@pytest.mark.parametrize("shuffle", ["none", "global", "window"])
def test_a_small_index_cut_short_while_it_is_used_does_no_harm(tmp_path, cache, shuffle, cut):
    (tmp_path / "part-0").write_text("".join(f"{i},{i}\n" for i in range(20_000)))
    loaders = [
        flow.DataLoader(
            flow.MiniReader(str(tmp_path), batch_size=500, shuffle=shuffle, seed=1, index_dir=cache)
        )
        for _ in range(2)
    ]
    for file in Path(cache).iterdir():
        os.truncate(file, cut)
    for loader in loaders:
        with loader:
            assert sorted(x for batch in loader for x in batch[:, 0]) == list(range(20_000))
