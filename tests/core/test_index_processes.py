"""Several processes with one index cache: one builds, others wait, and builders are killed."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.indexes import (  # noqa: F401
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


OPENER = """
import sys
import pyflowdata as flow
print("ready", flush=True)
sys.stdin.readline()
reader = flow.MiniReader(sys.argv[1], batch_size=1000, random_shuffle=True, seed=7,
                         index_dir=sys.argv[2])
with flow.DataLoader(reader) as loader:
    index = loader.readers[0].index
    print(index.is_new, index.path != "", sum(batch.sum() for batch in loader), flush=True)
"""


def start(data_dir, cache):
    process = programs.start(
        OPENER, data_dir, cache, stdin=programs.PIPE, stdout=programs.PIPE
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
def test_many_at_once_build_one(large, cache):
    processes = [start(large, cache) for _ in range(3)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=120)[0].split() for process in processes]
    assert sorted(answer[0] for answer in answers) == ["False"] * 2 + ["True"]
    assert len({answer[2] for answer in answers}) == 1
    assert all(answer[1] == "True" for answer in answers)
    assert stored(cache, "*") == stored(cache)


@pytest.mark.slow
def test_a_killed_builder_leaves_nothing_that_hurts(large, cache):
    expected = run_sum(large)
    for delay in (0.001, 0.004, 0.01, 0.02, 0.03, 0.05):
        process = start(large, cache)
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()
    for found in stored(cache):
        found.unlink()
    Path(cache).mkdir(parents=True, exist_ok=True)
    with open_reader(large, index_dir=cache, **SHUFFLED) as loader:
        path = Path(loader.readers[0].index.path)
    path.rename(f"{path}.tmp-1-2")  # as one killed before it renamed
    with open_reader(large, index_dir=cache, **SHUFFLED) as loader:
        assert loader.readers[0].index.is_new
        assert sum(batch.sum() for batch in loader) == expected
    assert stored(cache, "*") == [path]


def run_sum(data_dir):
    return epoch(data_dir, index_dir="none").sum()


def test_who_waits_goes_on_when_the_builder_is_killed(data, cache):
    path = index_of(data, index_dir=cache, **SHUFFLED).path
    os.unlink(path)
    holder = programs.start(
        "import fcntl, sys, time\n"
        "file = open(sys.argv[1], 'w')\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True)\n"
        "time.sleep(100)",
        f"{path}.lock", stdout=programs.PIPE,
    )  # fmt: skip
    assert holder.stdout.readline() == "locked\n"
    found = []
    thread = threading.Thread(
        target=lambda: found.append(index_of(data, index_dir=cache, **SHUFFLED))
    )
    thread.start()
    time.sleep(0.2)
    assert not found  # it waits
    holder.kill()
    holder.wait()
    holder.stdout.close()
    thread.join(30)
    assert found[0].is_new and found[0].path == path
    assert stored(cache, "*") == stored(cache)


@pytest.mark.parametrize("kind", ["index", "column"])
def test_who_waits_for_a_lock_that_was_removed_waits_for_the_new_one(data, cache, kind):
    """The lock file of a builder that ended, and that of the next one."""

    def make():
        if kind == "index":
            return index_of(data, index_dir=cache, **SHUFFLED)
        (x, _) = flow.MiniDecoder(flow.MiniReader(data, index_dir=cache))
        return flow.Dataset({"x": x}).column("x")

    make()
    (path,) = stored(cache, f"*.{kind}")
    path.unlink()
    lock, of_new = Path(f"{path}.lock"), Path(f"{path}.tmp-1")
    with open(lock, "w") as first, open(of_new, "w"):
        fcntl.flock(first, fcntl.LOCK_EX)
        thread = threading.Thread(target=make)
        thread.start()
        time.sleep(0.2)
        lock.unlink()
        with open(lock, "w") as second:
            fcntl.flock(second, fcntl.LOCK_EX)
            first.close()
            time.sleep(0.2)
            assert thread.is_alive() and of_new.exists() and not path.exists()
            lock.unlink()
    thread.join(30)
    assert path.exists() and not of_new.exists() and not lock.exists()


@pytest.mark.slow
def test_waiting_ends(data, cache):
    expected = epoch(data, index_dir="none", **SHUFFLED)
    path = index_of(data, index_dir=cache, **SHUFFLED).path
    os.unlink(path)
    with open(f"{path}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        since = time.monotonic()
        found = index_of(data, index_dir=cache, **SHUFFLED)
        assert 5 < time.monotonic() - since < 40
    assert found.is_new and found.path == ""
    np.testing.assert_array_equal(epoch(data, index_dir=cache, **SHUFFLED), expected)


NO_LOCKS = """
#include <errno.h>
int flock(int fd, int operation) { (void)fd, (void)operation; errno = ENOLCK; return -1; }
"""


def test_file_systems_without_locks(data, cache, tmp_path):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None or "LD_PRELOAD" in os.environ:
        pytest.skip("needs a C compiler, and LD_PRELOAD for itself")
    (tmp_path / "nolocks.c").write_text(NO_LOCKS)
    library = str(tmp_path / "nolocks.so")
    subprocess.run(
        [*compiler, "-shared", "-fPIC", "-o", library, str(tmp_path / "nolocks.c")], check=True
    )
    answers = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", OPENER, data, cache], input="\n", text=True, check=True,
            env=programs.environment(LD_PRELOAD=library), capture_output=True,
        )  # fmt: skip
        answers.append(done.stdout.split()[1:3])
    assert answers == [["True", "True"], ["False", "True"]]
    assert stored(cache, "*") == stored(cache)
