"""Slots, threads, memory and signals: what holds whatever the records mean."""

import gc
import itertools
import os
import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyflowdata as flow
import pytest

from support import programs
from support.oracle import (
    MODES,
    SANITIZED,
    Table,
    COUNTS_BYTES,
    allocated_bytes,
    deliver,
    deliver_epochs,
    open_loader,
    step_of,
)

NEW_ORDERS = MODES["new orders"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Table(tmp_path_factory.mktemp("parts"), [40, 0, 60])


def tasks():
    """The threads of this process."""
    return {*os.listdir("/proc/self/task")}


def eventually(condition, seconds=30.0):
    """Waits for what other threads will do; true as soon as the condition is."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
    return condition()


# ---- How far ahead -------------------------------------------------------------------------------


def test_a_short_epoch_is_read_about_once_more():
    """A program that takes one batch of 4 pays for no dozens of epochs that nobody takes."""
    calls = []

    class Indexed:
        def __len__(self):
            return 16

        def __getitem__(self, i):
            calls.append(i)
            return (np.float32(i),)

    class Stream:
        def __iter__(self):
            return map(Indexed().__getitem__, range(16))

    for source in (Indexed(), Stream()):
        x = flow.GeneratorReader(source, fields=["x:float32"], batch_size=4)
        calls.clear()
        with flow.DataLoader(x, num_threads=2) as loader:
            next(iter(loader))
            assert eventually(lambda: loader.stats()["slots_ready"] >= 5)
            time.sleep(0.01)  # for those that must not come
            assert len(calls) <= 4 * (1 + 6 + 1) and loader.prefetch == 6
    for batches, threads, given, ahead in (
        (1, 1, None, 4), (1, 4, None, 10), (20, 2, None, 20), (200, 2, None, 64), (1, 2, 50, 50)
    ):  # fmt: skip
        x = flow.from_arrays({"x": range(batches)}).batch(1)["x"]
        with flow.DataLoader(x, num_threads=threads, prefetch=given) as loader:
            assert loader.prefetch == ahead


# ---- Arrays and slots ----------------------------------------------------------------------------


def test_arrays_held_across_epochs_keep_their_values(table):
    options = dict(batch_size=7, seed=1, num_threads=2, prefetch=2, **NEW_ORDERS)
    expected = [step for steps in deliver_epochs(table, 4, **options) for step in steps]
    with open_loader(table, **options) as loader:
        held = list(itertools.islice(loader.repeat(), len(expected)))
        assert loader.stats()["slots_held"] == len(expected)
        assert [step_of(table, batch) for batch in held] == expected
    assert [step_of(table, batch) for batch in held] == expected, "after close"
    del loader
    gc.collect()
    assert [step_of(table, batch) for batch in held] == expected, "without the loader"


def test_arrays_are_the_users_own_to_write(table):
    with open_loader(table, batch_size=10, num_threads=2, prefetch=3) as loader:
        for rows, mask, ids in loader:
            assert rows.flags.writeable and rows.flags.c_contiguous and rows.ctypes.data % 64 == 0
            rows[:], mask[:], ids[:] = -1, False, -1
        assert len(deliver(table, loader)) == 10, "the next epoch is as clean as the first"


def test_a_slot_comes_back_when_the_last_view_of_it_goes(table):
    with open_loader(table, batch_size=10, num_threads=1, prefetch=1) as loader:
        batches = iter(loader)
        rows, mask, ids = next(batches)
        last = rows[3:5, 1].reshape(2, 1)
        values = last.copy()
        del rows, mask, ids
        gc.collect()
        assert loader.stats()["slots_held"] == 1
        for _ in range(5):
            next(batches)
        assert np.array_equal(last, values)
        del last
        gc.collect()
        assert loader.stats()["slots_held"] == 0


def test_steady_state_takes_no_more_slots(table):
    with open_loader(table, batch_size=3, num_threads=2, prefetch=3) as loader:
        deliver(table, loader)
        before = loader.stats()
        for _ in range(20):
            deliver(table, loader)
        after = loader.stats()
    assert after["slots"] == before["slots"] <= 3 + 2
    assert after["slot_bytes"] == before["slot_bytes"]


def test_holding_everything_ends_at_the_budget_and_releasing_goes_on(table):
    blobs = flow.MiniReader(str(table.folder), batch_size=100, with_mask=True, with_id=True)
    budget = 1 << 20
    with flow.DataLoader(*blobs, num_threads=2, prefetch=2, memory_budget=budget) as loader:
        batches, held = loader.repeat(), []
        with pytest.raises(flow.OutOfMemoryError, match="memory_budget") as caught:
            for _ in range(budget // 100):
                held.append(next(batches))
        assert isinstance(caught.value, MemoryError)
        assert re.search("release|held|hold", str(caught.value)), "it says what to do"
        stats = loader.stats()
        assert len(held) <= stats["slots"] and budget // 2 < stats["slot_bytes"] <= budget
        assert stats["slots_held"] == len(held) >= budget // 2 // (100 * 33)
        with pytest.raises(flow.OutOfMemoryError):
            next(batches)
        for batch in held:
            assert step_of(table, batch).ordinals == tuple(range(100))
        del batch, held[1:]
        gc.collect()
        for _ in range(50):
            assert len(step_of(table, next(batches)).ordinals) == 100
        assert step_of(table, held[0]).ordinals == tuple(range(100))


def test_no_batch_is_lost_to_a_full_budget(table):
    options = dict(batch_size=10, seed=1, **NEW_ORDERS)
    epochs = deliver_epochs(table, 40, **options)
    expected = [step for steps in epochs for step in steps]
    blobs = flow.MiniReader(str(table.folder), with_mask=True, with_id=True, **options)
    with flow.DataLoader(*blobs, num_threads=2, prefetch=2, memory_budget=16384) as loader:
        batches, held, got, refused = loader.repeat(), [], [], 0
        while len(got) < len(expected):
            try:
                held.append(next(batches))
                got.append(step_of(table, held[-1]))
            except flow.OutOfMemoryError:
                refused += 1
                held.clear()
        assert got == expected and refused > 0


@pytest.mark.parametrize("budget", [1, 100])
def test_a_budget_that_holds_no_batch_is_refused_with_what_is_needed(table, budget):
    out = flow.MiniReader(str(table.folder), batch_size=100)
    with pytest.raises((flow.InvalidArgumentError, flow.OutOfMemoryError), match="memory_budget"):
        flow.DataLoader(out, prefetch=4, memory_budget=budget)


@pytest.mark.slow
def test_memory_is_flat_over_many_batches(tmp_path):
    """Less than 16 bytes are kept of a batch, and less than 1 KB of an epoch."""
    table = Table(tmp_path, [25, 25])
    most = 20_000
    out = flow.MiniReader(str(table.folder), batch_size=1, seed=1, **NEW_ORDERS)
    with flow.DataLoader(out, num_threads=1, prefetch=4) as loader:
        batches = loader.repeat()
        total = sum(float(rows[0, 0]) for rows in itertools.islice(batches, most // 10))
        before = allocated_bytes()
        total += sum(float(rows[0, 0]) for rows in itertools.islice(batches, most * 9 // 10))
        grown = allocated_bytes() - before
        assert total == most / table.size * table.rows[:, 0].sum()
        assert loader.stats()["slots"] <= 8
    if not COUNTS_BYTES:
        pytest.skip("the C library does not count what is allocated")
    assert grown < 256 << 10


def test_opening_and_closing_many_loaders_leaves_nothing(table):
    def cycle(count):
        for i in range(count):
            loader = open_loader(table, batch_size=4, num_threads=2, prefetch=3)
            kept = next(iter(loader))
            if i % 2:
                loader.close()
            del loader, kept
        gc.collect()

    cycle(20)
    threads, files = len(tasks()), len(os.listdir("/proc/self/fd"))

    def growth():
        before = allocated_bytes()
        cycle(40)
        assert eventually(lambda: len(tasks()) <= threads)
        assert len(os.listdir("/proc/self/fd")) <= files
        return allocated_bytes() - before

    # Other threads of the tests allocate, too; 2 KB of each loader are there in every round.
    is_flat = any(growth() < 2 * 40 << 10 for _ in range(10))
    if not COUNTS_BYTES:
        pytest.skip("the C library does not count what is allocated")
    assert is_flat


# ---- Threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_threads_end_at_close(table, num_threads):
    gc.collect()
    before = tasks()
    loader = open_loader(table, batch_size=4, num_threads=num_threads, prefetch=4)
    next(iter(loader))
    assert 0 < len(tasks() - before) <= num_threads + 1  # those of earlier tests may be ending
    start = time.monotonic()
    loader.close()
    assert time.monotonic() - start < 30
    assert eventually(lambda: tasks() <= before)
    loader.close()
    with pytest.raises(flow.CancelledError, match="closed"):
        next(iter(loader))
    assert "closed" in repr(loader)
    assert loader.state_dict()["position"] == 1, "what is known stays readable"
    assert loader.stats()["batches"] == 1 and loader.skipped == []


def test_a_loader_out_of_sight_ends_its_threads(table):
    gc.collect()
    before = tasks()
    for _ in open_loader(table, batch_size=4, num_threads=3, prefetch=2):
        break
    gc.collect()
    assert eventually(lambda: tasks() <= before)


def test_closing_while_another_thread_waits_or_works(table):
    for _ in range(30):
        loader = open_loader(table, batch_size=1, num_threads=2, prefetch=2)
        counted, failed = [], []

        def read(loader=loader, counted=counted, failed=failed):
            try:
                for batch in loader.repeat():
                    counted.append(len(batch))
            except Exception as error:  # what kind is checked below
                failed.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        eventually(lambda counted=counted: len(counted) > 3)
        loader.close()
        reader.join(10)
        assert not reader.is_alive()
        assert all(isinstance(error, (flow.Error, ValueError)) for error in failed), failed


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_one_iterator(table, threads):
    """Each batch goes to one of them, and the end of the epoch is the end for all."""
    options = dict(batch_size=3, seed=1, **NEW_ORDERS)
    epochs = deliver_epochs(table, 40, **options)
    with open_loader(table, num_threads=2, prefetch=4, **options) as loader:
        for expected in epochs:
            batches, got, failed = iter(loader), [], []

            def read(batches=batches, got=got, failed=failed):
                try:
                    got.extend(deliver(table, batches))
                except BaseException as error:
                    failed.append(error)

            readers = [threading.Thread(target=read) for _ in range(threads)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join(30)
            assert not failed
            assert sorted(got) == sorted(expected)


@pytest.mark.parametrize("is_stream", [False, True])
def test_an_epoch_ends_while_batches_of_the_next_are_made(is_stream):
    """A thread of the loader checks the files once an epoch.  The end of the epoch waits for that
    check, not for all the work that was started before it."""
    training, is_whole, has_ended = threading.get_ident(), threading.Event(), threading.Event()
    waited_for = []

    def record(x):
        time.sleep(0.002)
        if is_whole.is_set() and threading.get_ident() != training and not waited_for:
            if not has_ended.wait(20):
                waited_for.append(x)
        return x

    data = flow.from_arrays({"x": np.arange(8)})
    if is_stream:
        data = data.filter(lambda record: record["x"] >= 0)
    batches = data.map(record, "x").batch(2)
    with flow.DataLoader(batches, num_threads=1, prefetch=64) as loader:
        steps = iter(loader)
        for _ in range(4):
            next(steps)
        is_whole.set()
        assert not list(steps)
        has_ended.set()
    assert not waited_for


def test_an_iterator_at_its_end_stays_there(table):
    options = dict(batch_size=30, seed=1, **NEW_ORDERS)
    first, second = deliver_epochs(table, 2, **options)
    with open_loader(table, **options) as loader:
        batches = iter(loader)
        assert deliver(table, batches) == first
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(batches)
        assert deliver(table, loader) == second


def test_an_endless_iterator_over_nothing_does_not_hang(tmp_path):
    table = Table(tmp_path, [3])
    with open_loader(table, batch_size=4, last_batch="drop") as loader:
        assert len(loader) == 0 and list(loader) == []
        with pytest.raises((flow.Error, StopIteration)):
            next(loader.repeat())


AFFINITY = """
import os, re, sys, threading
os.environ["PYFLOWDATA_STALL_SECONDS"] = "0"  # no threads that look for stalls
import pyflowdata as flow
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
first = threading.Thread(target=int)  # a sanitizer starts a thread of its own with it
first.start()
first.join()
before = len(os.listdir("/proc/self/task"))
loader = flow.DataLoader(flow.MiniReader(sys.argv[1], batch_size=4))
next(iter(loader))
print(re.search(r"threads=(\\d+)", repr(loader)).group(1))
print(len(os.listdir("/proc/self/task")) - before)
"""


def test_the_default_number_of_threads_keeps_to_the_affinity(table):
    chosen, started = map(int, programs.run(AFFINITY, table.folder, check=True).stdout.split())
    assert chosen == 1 and started <= 1
    with flow.DataLoader(flow.MiniReader(str(table.folder), batch_size=4)) as loader:
        chosen = int(re.search(r"threads=(\d+)", repr(loader)).group(1))
        assert 1 <= chosen <= len(os.sched_getaffinity(0))


# ---- Signals and fork ----------------------------------------------------------------------------

ENDLESS = """
import sys
import pyflowdata as flow
out = flow.MiniReader(sys.argv[1], batch_size=int(sys.argv[2]), random_shuffle=True, seed=1)
loader = flow.DataLoader(out, num_threads=2)
batches = loader.repeat()
next(batches)
try:
    print("ready", flush=True)
    for batch in batches:
        pass
except KeyboardInterrupt:
    rows = len(next(batches))  # the loader is still good
    loader.close()
    print("interrupted", rows, flush=True)
"""


@pytest.mark.parametrize("batch_size", [1, 200_000], ids=["short waits", "long waits"])
def test_control_c_while_iterating(tmp_path, batch_size):
    table = Table(tmp_path, [max(100, batch_size)])
    process = programs.start(
        ENDLESS, table.folder, batch_size, stdout=programs.PIPE, stderr=programs.PIPE
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
        took = time.monotonic() - start
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert said == f"interrupted {batch_size}\n"
    assert SANITIZED or took < 30


FORK = """
import os, sys, time
import pyflowdata as flow
def opened():
    return flow.DataLoader(flow.MiniReader(sys.argv[1], batch_size=10), num_threads=2, prefetch=2)
loader = opened()
batches = iter(loader)
held = next(batches)
child = os.fork()
if child == 0:
    refused = 0
    for call in (lambda: next(batches), lambda: next(iter(loader)),
                 lambda: loader.load_state_dict(loader.state_dict())):
        try:
            call()
        except flow.UnsupportedError as error:
            refused += "fork" in str(error)
    assert held[0, 0] == 0
    del held, batches
    loader.close()
    del loader
    rows = 30
    if sys.argv[2] == "new loader":
        rows = sum(len(batch) for batch in opened())
        rows -= 70
    os._exit(refused * 10 + (rows == 30))
deadline = time.monotonic() + 30
while True:
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    if time.monotonic() > deadline:
        os.kill(child, 9)
        sys.exit("the child hangs")
    time.sleep(0.01)
print(os.waitstatus_to_exitcode(status), 1 + sum(1 for _ in batches))
loader.close()
"""


@pytest.mark.parametrize("then", ["only the old loader", "new loader"])
def test_a_forked_child_is_told_and_the_parent_goes_on(table, then):
    if then == "new loader" and SANITIZED:
        pytest.skip("in the child of a threaded process, sanitizers forbid new threads (TSan) or "
                    "have their own locks taken for ever (ASan of GCC 12)")  # fmt: skip
    child, parent = programs.run(FORK, table.folder, then, check=True).stdout.split()
    assert (child, parent) == ("31", "10")


# ---- Several readers -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def longer(tmp_path_factory):
    return Table(tmp_path_factory.mktemp("longer"), [104])


def test_readers_are_zipped_by_position(table, tmp_path):
    other = Table(tmp_path, [10] * 10)
    options = dict(batch_size=7, seed=3, order_key="pair", **NEW_ORDERS)
    left = flow.MiniReader(str(table.folder), name="left", **options)
    right = flow.MiniReader(str(other.folder), name="right", **options)
    x, y = flow.MiniDecoder(right)
    with flow.DataLoader({"left": left, "x": x, "y": y}, num_threads=2, prefetch=3) as loader:
        for _ in range(3):
            seen = []
            for batch in loader:
                assert list(batch) == ["left", "x", "y"]
                assert np.array_equal(batch["left"], np.hstack([batch["x"], batch["y"]]))
                seen += batch["x"][:, 0].tolist()
            assert sorted(seen) == list(range(100)) != seen


def test_readers_of_unequal_length_are_refused(table, longer):
    blobs = [flow.MiniReader(str(t.folder), batch_size=4) for t in (table, longer)]
    with pytest.raises(flow.InvalidArgumentError, match="25") as caught:
        flow.DataLoader(*blobs)
    assert "26" in str(caught.value) and "shortest" in str(caught.value)


def test_the_shortest_reader_ends_the_epoch_if_asked(table, longer):
    blobs = [flow.MiniReader(str(t.folder), batch_size=4) for t in (table, longer)]
    with flow.DataLoader(*blobs, zip="shortest", num_threads=2, prefetch=8) as loader:
        assert len(loader) == 25
        for _ in range(3):
            epoch = [(a[:, 0].tolist(), b[:, 0].tolist()) for a, b in loader]
            assert len(epoch) == 25 and all(a == b for a, b in epoch)
            assert epoch[0][0][0] == 0, "both start again"


def test_an_unknown_zip_is_refused(table):
    with pytest.raises(flow.InvalidArgumentError, match="shortest"):
        flow.DataLoader(flow.MiniReader(str(table.folder), batch_size=4), zip="longest")


# ---- Errors and counters -------------------------------------------------------------------------


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_iterating_goes_on_behind_a_failed_batch(tmp_path, num_threads):
    lines = [f"{i},{i}" for i in range(30)]
    lines[4], lines[13], lines[14], lines[29] = "4;4", "x,13", "14", "29,"
    (tmp_path / "part-0").write_text("\n".join(lines[:20]))
    (tmp_path / "part-1").write_text("\n".join(lines[20:]))
    out = flow.MiniReader(str(tmp_path), batch_size=3)
    with flow.DataLoader(out, num_threads=num_threads, prefetch=4) as loader:
        for _ in range(3):
            batches, got = iter(loader), []
            while True:
                try:
                    got.append(next(batches)[:, 0].tolist())
                except flow.CorruptDataError as error:
                    got.append((Path(error.file).name, error.line, error.ordinal))
                except StopIteration:
                    break
            expected = [[i, i + 1, i + 2] for i in range(0, 30, 3)]
            expected[1], expected[4] = ("part-0", 5, 4), ("part-0", 14, 13)
            expected[9] = ("part-1", 10, 29)
            assert got == expected


def test_a_state_taken_after_an_error_meets_it_again(tmp_path):
    """The failed batch was not delivered: a new run tries it, as the old one could not know better.

    Once a later batch is delivered, the state is behind both."""
    (tmp_path / "part-0").write_text("0,0\n1,1\n2;2\n3,3\n4,4\n5,5\n6,6\n")
    out = flow.MiniReader(str(tmp_path), batch_size=2)
    states = []
    with flow.DataLoader(out, num_threads=2, prefetch=4) as loader:
        batches = iter(loader)
        assert next(batches)[:, 0].tolist() == [0, 1]
        with pytest.raises(flow.CorruptDataError):
            next(batches)
        states.append(loader.state_dict())
        assert next(batches)[:, 0].tolist() == [4, 5]
        states.append(loader.state_dict())
    with flow.DataLoader(out) as loader:
        loader.load_state_dict(states[0])
        batches = iter(loader)
        with pytest.raises(flow.CorruptDataError):
            next(batches)
        assert [batch[:, 0].tolist() for batch in batches] == [[4, 5], [6]]
        loader.load_state_dict(states[1])
        assert [batch[:, 0].tolist() for batch in loader] == [[6]]


def test_counters(table):
    with open_loader(table, batch_size=8, num_threads=2, prefetch=4) as loader:
        empty = loader.stats()
        assert empty["batches"] == empty["records"] == empty["slots_held"] == 0
        kept = [batch for _, batch in zip(range(3), loader.repeat())]
        some = loader.stats()
        assert (some["batches"], some["records"], some["slots_held"]) == (3, 24, 3)
        del kept
        gc.collect()
        for _ in range(2):
            deliver(table, loader)
        stats = loader.stats()
        assert stats["batches"] == 3 + 2 * 13 and stats["records"] == 24 + 2 * 100
        assert stats["slots_held"] == 0 and stats["skipped"] == 0
        line_bytes = sum(path.stat().st_size for path in table.folder.iterdir()) - 98
        assert 2 * line_bytes <= stats["bytes"] <= 4 * line_bytes
        assert 1 <= stats["slots"] and stats["slots_ready"] <= stats["slots"]
        assert stats["slot_bytes"] >= stats["slots"] * 8 * (16 + 1 + 16)
        assert all(stats[key] >= 0 for key in ("wait_seconds", "help_seconds", "idle_seconds"))
        time.sleep(0.05)  # nobody has anything to do
        deliver(table, loader)
        assert eventually(lambda: loader.stats()["idle_seconds"] - stats["idle_seconds"] > 0.04)


def test_records_left_out_are_counted_and_reported(tmp_path):
    (tmp_path / "part-0").write_text("0,0\n1;1\n2,2\n3,x\n4,4\n")
    blobs = flow.MiniReader(str(tmp_path), batch_size=2, on_error="skip", with_id=True)
    with flow.DataLoader(*blobs, num_threads=2, prefetch=2) as loader:
        assert [ids[:, 1].tolist() for _, ids in loader] == [[0], [2], [4]]
        assert loader.stats()["skipped"] == 2 and loader.stats()["records"] == 3
        assert [(e.line, e.ordinal) for e in loader.skipped] == [(2, 1), (4, 3)]
        assert all(isinstance(e, flow.CorruptDataError) for e in loader.skipped)


@pytest.mark.parametrize(
    "options",
    [{"num_threads": -1}, {"prefetch": -1}, {"memory_budget": -1}, {"num_threads": 10**6}],
    ids=str,
)
def test_settings_out_of_range_are_refused_by_name(table, options):
    with pytest.raises(flow.InvalidArgumentError, match=next(iter(options))):
        flow.DataLoader(flow.MiniReader(str(table.folder), batch_size=4), **options)
