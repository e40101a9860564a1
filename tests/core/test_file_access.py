"""Files that are read instead of mapped, and files larger than the memory there is."""

import ctypes
import mmap
import os
import random
import resource
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from support import programs
import pyflowdata as flow

from support.oracle import lanes

ROWS = 30_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of two numbers a line; lines of many lengths, blank ones between, CR at ends."""
    folder = tmp_path_factory.mktemp("text")
    numbers = random.Random(5)
    row = 0
    for part in range(3):
        lines = []
        for _ in range(ROWS // 3):
            blanks = " " * numbers.choice([0, 1, 7, 300])
            lines.append(f"{row},{blanks}{numbers.random()!r}{numbers.choice(['', chr(13)])}\n")
            if numbers.random() < 0.01:
                lines.append("  \n")
            row += 1
        (folder / f"part-{part}").write_bytes("".join(lines).encode()[: -1 if part == 1 else None])
    return folder


def epoch(folder, **attrs):
    blobs = flow.MiniReader(str(folder), batch_size=512, seed=3, with_id=True, **attrs)
    with flow.DataLoader(blobs) as loader:
        batches = list(loader)
        return np.concatenate([b[0] for b in batches]), np.concatenate([b[2] for b in batches])


@pytest.mark.parametrize("shuffle", ["none", "global", "window", "buffer"])
def test_reading_delivers_what_mapping_does(folder, shuffle):
    attrs = dict(shuffle=shuffle, with_mask=True)
    if shuffle == "window":
        attrs |= dict(shuffle_block_size=64, shuffle_window=16)
    mapped, mapped_ids = epoch(folder, file_access="map", **attrs)
    read, read_ids = epoch(folder, file_access="read", **attrs)
    assert (mapped.view(np.uint64) == read.view(np.uint64)).all() and (mapped_ids == read_ids).all()
    assert sorted(read[:, 0]) == list(range(ROWS))


def test_bytes_that_were_read_are_counted(folder):
    size = sum(path.stat().st_size for path in folder.iterdir())
    for access, least, most in [("map", 0, 0), ("read", size, 4 * size)]:
        blob = flow.MiniReader(str(folder), batch_size=512, file_access=access, index_dir="none")
        with flow.DataLoader(blob, prefetch=1) as loader:
            for _ in loader:
                pass
            assert least <= loader.stats()["read_bytes"] <= most


def test_ranks_read_their_shares_of_the_bytes(folder):
    """Four ranks together read the files once, and each about a quarter."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    shares = []
    for rank in range(4):
        blob = flow.MiniReader(
            str(folder), batch_size=512, shuffle="window", seed=1, rank=rank, world_size=4
        )
        with flow.DataLoader(blob, prefetch=1) as loader:
            for _ in loader:
                pass
            shares.append(loader.stats()["bytes"])
    assert all(abs(share - size / 4) < 0.1 * size / 4 for share in shares)


def test_damage_in_a_file_that_is_read_is_named(folder, tmp_path):
    (tmp_path / "part-0").write_text("1,2\n3,4\nfive,6\n")
    blob = flow.MiniReader(str(tmp_path), batch_size=2, file_access="read")
    with flow.DataLoader(blob) as loader, pytest.raises(flow.CorruptDataError) as caught:
        list(loader)
    assert caught.value.line == 3 and caught.value.byte == 8


def test_a_file_cut_short_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "part-0"
    path.write_text("1,2\n" * 200_000)
    blob = flow.MiniReader(str(tmp_path), batch_size=512, file_access="read", random_shuffle=True)
    with flow.DataLoader(blob, prefetch=1) as loader:
        batches = iter(loader)
        next(batches)
        os.truncate(path, 1000)
        with pytest.raises(flow.FileError, match="800000 bytes when it was opened"):
            list(batches)


def test_more_files_than_descriptors(tmp_path):
    """Files beyond half of the limit are opened for each read."""
    for part in range(80):
        (tmp_path / f"part-{part}").write_text(f"{part},1\n{part},2\n")
    code = f"""
import resource, pyflowdata as flow
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
blob = flow.MiniReader({str(tmp_path)!r}, batch_size=16, file_access="read", random_shuffle=True)
rows = [row for batch in flow.DataLoader(blob) for row in batch.tolist()]
assert sorted(rows) == [[part, y] for part in range(80) for y in (1, 2)]
"""
    programs.run(code, check=True)


def test_a_folder_that_cannot_be_read_is_no_folder_without_matches(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "part-0").write_text("1,2\n")
    blob = flow.MiniReader(files=str(tmp_path / "*" / "part-*"), batch_size=1)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(tmp_path, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        with pytest.raises(flow.FileError, match=f"'{tmp_path}': Too many open files") as caught:
            flow.DataLoader(blob)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert caught.value.reason == "environment"


LIMITED = """
import resource, sys
import numpy as np
import pyflowdata as flow

folder, shuffle, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 120_000_000, used + 120_000_000))
before = peak()
blob = flow.MiniReader(folder, batch_size=4096, shuffle=shuffle, seed=1, index_dir="none")
with flow.DataLoader(blob, num_threads=2, memory_budget=16_000_000) as loader:
    total = count = 0
    for batch in loader:
        total += batch[:, 0].sum()
        count += len(batch)
    assert loader.stats()["read_bytes"] > 0, "the files were mapped"
assert count == rows and total == rows * (rows - 1) / 2, (count, total)
assert peak() - before < 60_000_000, peak() - before
"""


LARGE_ROWS = 80_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """240 MB of text, removed when both tests have read it."""
    folder, blanks = tmp_path_factory.mktemp("large"), " " * 3000
    rows = LARGE_ROWS // 4
    for part in range(4):
        with open(folder / f"part-{part}", "w") as file:
            file.writelines(f"{i},{i}{blanks}\n" for i in range(part * rows, (part + 1) * rows))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("shuffle", ["none", "window"])
def test_files_larger_than_the_memory_that_is_allowed(large, shuffle):
    """240 MB of text within 120 MB of address space, and 60 MB of resident memory."""
    programs.run(LIMITED, large, shuffle, LARGE_ROWS, check=True)


def resident_pages(path):
    """Which pages of a file are in the page cache, as an array of bool."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        array = np.frombuffer(mapped, np.uint8)
        found = (ctypes.c_ubyte * -(-len(array) // mmap.PAGESIZE))()
        address, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(len(array))
        failed = libc.mincore(address, size, found)
        del array
        assert not failed, os.strerror(ctypes.get_errno())
        return np.frombuffer(found, np.uint8) & 1 == 1


def forget_pages(path):
    """Takes a file out of the page cache, where its file system allows that."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if resident_pages(path).mean() > 0.5:
        pytest.skip("this file system keeps its files in memory")


@pytest.mark.parametrize("shuffle", ["none", "window"])
def test_the_disk_is_asked_for_what_comes_next(tmp_path, shuffle):
    """If a file is not in the page cache, a batch brings more than its own bytes there."""
    path = tmp_path / "part-0"
    line_bytes, lines = 4096, 8192
    path.write_text("".join(f"{i},{i}".ljust(line_bytes - 1) + "\n" for i in range(lines)))
    window = {"shuffle_block_size": 64, "shuffle_window": 8} if shuffle == "window" else {}
    blob = flow.MiniReader(
        str(tmp_path), batch_size=8, shuffle=shuffle, seed=1, file_access="read", **window
    )
    with flow.DataLoader(blob, prefetch=1, num_threads=1) as loader:
        list(loader)
        for _ in range(5):  # while the disk is busy, the kernel may ignore what it is asked for
            forget_pages(path)
            batches = iter(loader)
            own = sum(len(next(batches)) for _ in range(200))  # one record a page
            until = time.monotonic() + 2
            while resident_pages(path).sum() < own + 400 and time.monotonic() < until:
                time.sleep(0.02)
            resident = resident_pages(path)
            if own + 400 <= resident.sum():
                break
    assert own + 400 <= resident.sum() <= 0.75 * len(resident), resident.sum()
    if shuffle == "window":  # whole blocks, here and there
        whole = resident.reshape(-1, 64).all(axis=1)
        assert own / 64 - 16 <= whole.sum() <= 96 and not whole[: whole.sum()].all()


def test_the_disk_is_asked_for_the_ranks_own_lane(tmp_path):
    """The read-ahead knows the next blocks of each lane, and skips the other rank's blocks."""
    path = tmp_path / "part-0"
    line_bytes, lines = 4096, 8192
    path.write_text("".join(f"{i},{i}".ljust(line_bytes - 1) + "\n" for i in range(lines)))
    blob = flow.MiniReader(
        str(tmp_path), batch_size=16, shuffle="window", seed=1, file_access="read",
        shuffle_block_size=64, shuffle_window=8, shuffle_lanes=4, rank=1, world_size=2,
    )  # fmt: skip
    found = lanes(1, "MiniReader_0", lines, 64, 4)
    own, others = ([i for lane in pair for i in lane] for pair in (found[2:], found[:2]))
    with flow.DataLoader(blob, prefetch=1, num_threads=1) as loader:
        list(loader)
        forget_pages(path)
        batches = iter(loader)
        read = sum(len(next(batches)) for _ in range(200))
        until = time.monotonic() + 10
        while resident_pages(path)[own].sum() < read + 400 and time.monotonic() < until:
            time.sleep(0.02)
        resident = resident_pages(path)
    assert resident[own].sum() >= read + 400
    # The blocks that the division leaves over are of both ranks, and a block's last line takes a
    # few pages more with it.
    assert resident[others].mean() < 0.1 < resident[own].mean()


def test_files_leave_mappings_for_all_else(tmp_path):
    """A process may have only so many mappings, and threads need some for their stacks."""
    most = int(Path("/proc/sys/vm/max_map_count").read_text())
    if most > 200_000:
        pytest.skip(f"vm.max_map_count is {most}: that many files take too long to make")
    num_files = most // 2 + 1000
    for i in range(num_files):
        if i % 20_000 == 0:  # file systems limit how many names a file has
            first = f"{tmp_path}/part-{i}"
            Path(first).write_text(f"{i},0\n")
        else:
            os.link(first, f"{tmp_path}/part-{i}")
    blob = flow.MiniReader(str(tmp_path), batch_size=10_000)
    with flow.DataLoader(blob, num_threads=2) as loader:
        maps = Path("/proc/self/maps").read_text()
        assert maps.count(f"{tmp_path}/") <= most // 2
        assert sum(len(batch) for batch in loader) == num_files
    shutil.rmtree(tmp_path)  # pytest would keep that many files
