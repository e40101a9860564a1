"""Sources that can only be read in sequence, and batches of one group each, through the public API.

The ops are those of tests/support/ops.
"""

from __future__ import annotations

import signal
import textwrap
import threading
import time
from collections import Counter

import pytest
from support import programs

import pyflowdata as flow

pytestmark = pytest.mark.usefixtures("test_ops")

RULES = ["short", "drop", "pad", "wrap"]
NUM_RECORDS = 23


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """NUM_RECORDS lines `i,2i` in three parts, with blank lines and both kinds of line ends."""
    parts = tmp_path_factory.mktemp("stream_parts")
    lines = [f"{i},{2 * i}" for i in range(NUM_RECORDS)]
    (parts / "part-0").write_bytes("\n".join(lines[:9]).encode())
    (parts / "part-1").write_bytes(b"")
    (parts / "part-2").write_bytes("\r\n\r\n".join([*lines[9:20], " "]).encode())
    (parts / "part-3").write_bytes("\n".join([*lines[20:], ""]).encode())
    return str(parts)


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """Lines `group,number`: 97 numbers in 6 groups of very different size, in one part."""
    parts = tmp_path_factory.mktemp("grouped_parts")
    lines = [f"{(i * i) % 11},{i}" for i in range(97)]
    (parts / "part-0").write_text("\n".join(lines))
    return str(parts)


# ---- What the tests do -------------------------------------------------------------------------


def open_loader(op, folder, num_threads=2, prefetch=None, **attrs):
    blobs = getattr(flow, op)(folder, with_mask=True, with_id=True, **attrs)
    return flow.DataLoader(*blobs, num_threads=num_threads, prefetch=prefetch)


def as_lists(batch):
    """A batch as a list of rows (ordinal, is no filler, first value, second value)."""
    values, mask, ids = batch
    return [(int(i[1]), bool(m), *v.tolist()) for v, m, i in zip(values, mask, ids, strict=True)]


def read(op, folder, epochs=1, **options):
    """Whole epochs: a list of lists of batches."""
    with open_loader(op, folder, **options) as loader:
        return [[as_lists(batch) for batch in loader] for _ in range(epochs)]


def read_with_states(op, folder, epochs, **options):
    """All batches of all epochs in one list, and the state before each of them and at the end."""
    batches, states = [], []
    with open_loader(op, folder, **options) as loader:
        states.append(loader.state_dict())
        for _ in range(epochs):
            for batch in loader:
                batches.append(as_lists(batch))
                states.append(loader.state_dict())
    return batches, states


def read_from(state, count, op, folder, **options):
    """The `count` batches that follow a state."""
    with open_loader(op, folder, **options) as loader:
        loader.load_state_dict(state)
        batches = []
        while len(batches) < count:
            batches += [as_lists(batch) for batch in loader]
        return batches[:count]


def length_error(op, folder):
    with open_loader(op, folder) as loader:
        try:
            return len(loader)
        except TypeError as error:
            return str(error)


def close_while_reading(**attrs):
    """Closes a loader while another thread waits for a batch; seconds, and what that thread got."""
    loader = flow.DataLoader(flow.SlowReader(**attrs), num_threads=2)
    got = []

    def wait():
        try:
            got.append(next(iter(loader)))
        except flow.Error as error:
            got.append(type(error).__name__)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.3)
    start = time.monotonic()
    loader.close()
    seconds = time.monotonic() - start
    waiting.join()
    return seconds, got


def read_with_error(op, folder, **options):
    """Batches and exceptions, in order; an exception as (its class, its text)."""
    out = []
    with open_loader(op, folder, **options) as loader:
        batches = iter(loader)
        while True:
            try:
                out.append(as_lists(next(batches)))
            except StopIteration:
                return out
            except flow.Error as error:
                out.append((type(error).__name__, str(error)))


def refusal(op, folder, **options):
    """The class and the text of the error with which the loader does not open."""
    try:
        open_loader(op, folder, **options).close()
    except flow.Error as error:
        return type(error).__name__, str(error)
    return None


# ---- Streams -----------------------------------------------------------------------------------


def flatten(batches):
    return [row for batch in batches for row in batch]


def ordinals(batches):
    return [row[0] for row in flatten(batches)]


def model(order, size, rule, following):
    """The batches of an epoch as lists of (ordinal, is no filler)."""
    rows = [(i, True) for i in order]
    rest = len(rows) % size
    if rest and rule == "drop":
        rows = rows[:-rest]
    if rest and rule == "pad":
        rows += [(order[-1], False)] * (size - rest)
    if rest and rule == "wrap":
        rows += [(i, False) for i in (following * size)[: size - rest]]
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def test_a_stream_gives_the_records_of_mini_reader(folder):
    (stream,), (indexed,) = (
        read(op, folder, batch_size=5) for op in ("StreamReader", "MiniReader")
    )
    assert stream == indexed
    assert flatten(stream) == [(i, True, i, 2.0 * i) for i in range(NUM_RECORDS)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1, 4, 23, 30])
def test_last_batch(folder, rule, size):
    order = list(range(NUM_RECORDS))
    for epoch in read("StreamReader", folder, epochs=2, batch_size=size, last_batch=rule):
        got = [[row[:2] for row in batch] for batch in epoch]
        assert got == model(order, size, rule, order)


@pytest.mark.parametrize("buffer", [1, 2, 7, 1000])
def test_shuffle_gives_every_record_once_an_epoch(folder, buffer):
    attrs = dict(batch_size=4, random_shuffle=True, shuffle_buffer_size=buffer, seed=3)
    same = read("StreamReader", folder, epochs=3, **attrs)
    new = read("StreamReader", folder, epochs=3, shuffle_after_epoch=True, **attrs)
    for epoch in same + new:
        assert sorted(ordinals(epoch)) == list(range(NUM_RECORDS))
        assert all(row[2:] == (row[0], 2 * row[0]) for row in flatten(epoch))
    assert same[0] == same[1] == same[2] == new[0]
    if buffer == 1:
        assert ordinals(new[1]) == list(range(NUM_RECORDS))
    else:
        assert len({tuple(ordinals(epoch)) for epoch in new}) == 3
        other_seed = read("StreamReader", folder, **{**attrs, "seed": 4})
        assert other_seed[0] != same[0]


def test_only_a_buffer_shuffles_a_stream(folder):
    attrs = dict(batch_size=4, shuffle_buffer_size=6, seed=3)
    by_attr = read("StreamReader", folder, shuffle="buffer", **attrs)
    assert by_attr == read("StreamReader", folder, random_shuffle=True, **attrs)
    _, (state, *_) = read_with_states("StreamReader", folder, 1, random_shuffle=True, **attrs)
    resumed = read_from(state, 6, "StreamReader", folder, shuffle="buffer", **attrs)
    assert [resumed] == by_attr
    assert "shuffle" not in state["readers"]["StreamReader_0"]["spec"]
    for shuffle in ("global", "window"):
        kind, message = refusal("StreamReader", folder, shuffle=shuffle)
        assert kind == "UnsupportedError"
        assert f"StreamReader: attr 'shuffle' = '{shuffle}'" in message
        assert "use 'buffer' or 'auto'" in message


def test_wrap_takes_the_next_epochs_first_records(folder):
    attrs = dict(random_shuffle=True, shuffle_after_epoch=True, shuffle_buffer_size=9, seed=8)
    orders = [ordinals(e) for e in read("StreamReader", folder, epochs=3, **attrs)]
    wrapped = read("StreamReader", folder, epochs=2, batch_size=10, last_batch="wrap", **attrs)
    for e in range(2):
        got = [[row[:2] for row in batch] for batch in wrapped[e]]
        assert got == model(orders[e], 10, "wrap", orders[e + 1])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("op", ["StreamReader", "GroupedReader"])
def test_ranks_interleave_to_the_logical_batches(folder, groups, op, rule):
    data = groups if op == "GroupedReader" else folder
    attrs = dict(batch_size=12, last_batch=rule, random_shuffle=True, shuffle_after_epoch=True,
                 shuffle_buffer_size=8, group_buffer_size=20, seed=2)  # fmt: skip
    logical = read(op, data, epochs=2, **attrs)
    for world in (2, 3, 4, 12):
        ranks = [
            read(op, data, epochs=2, rank=rank, world_size=world, num_threads=1 + rank % 3,
                  prefetch=1 + rank % 4, **attrs)
            for rank in range(world)
        ]  # fmt: skip
        for epoch, expected in enumerate(logical):
            steps = [rank[epoch] for rank in ranks]
            assert {len(batches) for batches in steps} == {len(expected)}
            assert [flatten(parts) for parts in zip(*steps, strict=True)] == expected
            for parts in zip(*steps, strict=True):
                sizes = [len(part) for part in parts]
                assert sizes == sorted(sizes, reverse=True) and sizes[0] - sizes[-1] <= 1


@pytest.mark.parametrize("rule", ["short", "wrap"])
@pytest.mark.parametrize("op", ["StreamReader", "GroupedReader"])
def test_resume_at_every_batch(folder, groups, op, rule):
    data = groups if op == "GroupedReader" else folder
    attrs = dict(batch_size=6, last_batch=rule, random_shuffle=True, shuffle_after_epoch=True,
                 shuffle_buffer_size=8, group_buffer_size=20, seed=2)  # fmt: skip
    batches, states = read_with_states(op, data, epochs=2, **attrs)
    assert len(states) == len(batches) + 1
    for k in range(len(batches)):
        rest = batches[k:]
        assert read_from(states[k], len(rest), op, data, num_threads=1 + k % 3, **attrs) == (rest)
    k = len(batches) // 3
    parts = [
        read_from(states[k], len(batches) - k, op, data, rank=r, world_size=2, **attrs)
        for r in range(2)
    ]
    assert [flatten(step) for step in zip(*parts, strict=True)] == batches[k:]


def first_pass_from(state, op, folder, **options):
    """What one `for` over a loader gives that took the state; its epoch, and the state then."""
    with open_loader(op, folder, **options) as loader:
        loader.load_state_dict(state)
        batches = [as_lists(batch) for batch in loader]
        return batches, loader.epoch, loader.state_dict()


@pytest.mark.parametrize("op", ["StreamReader", "GroupedReader"])
def test_a_state_behind_the_last_batch_means_the_next_epoch(folder, groups, op):
    """Though a stream that is inside the loop does not know yet that this was the last one."""
    data = groups if op == "GroupedReader" else folder
    attrs = dict(batch_size=6, random_shuffle=True, shuffle_after_epoch=True,
                 shuffle_buffer_size=8, group_buffer_size=20, seed=2)  # fmt: skip
    first, states = read_with_states(op, data, epochs=1, **attrs)
    both, _ = read_with_states(op, data, epochs=2, **attrs)
    inside, count = states[-1], len(first)
    assert (inside["epoch"], inside["position"]) == (0, count)
    batches, epoch, after = first_pass_from(inside, op, data, **attrs)
    assert batches == both[count:] and epoch == 1
    assert (after["epoch"], after["position"]) == (2, 0)


def test_len_of_a_stream_is_a_type_error(folder, groups):
    assert length_error("MiniReader", folder) == NUM_RECORDS
    assert isinstance(length_error("StreamReader", folder), str)
    assert isinstance(length_error("GroupedReader", groups), str)


@pytest.mark.parametrize("rule", RULES)
def test_a_stream_without_records_has_no_batches(tmp_path, rule):
    (tmp_path / "part-0").write_text(" \n\n")
    assert read("StreamReader", str(tmp_path), epochs=2, last_batch=rule) == [[], []]


def test_a_bad_line_costs_its_batch(tmp_path):
    (tmp_path / "part-0").write_text("0,0\n1,1\n2,x\n3,3\n4,4\n")
    got = read_with_error("StreamReader", str(tmp_path), batch_size=2)
    assert [part if isinstance(part, tuple) else ordinals([part]) for part in got] == [
        [0, 1],
        ("CorruptDataError", got[1][1]),
        [4],
    ]
    assert "part-0" in got[1][1] and "byte 8" in got[1][1]


# ---- Groups ------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", [1, 5, 1000])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shuffle", ["none", "global", "window", "buffer"])
def test_batches_have_one_group_each(groups, shuffle, rule, buffer):
    window = {"shuffle_block_size": 8, "shuffle_window": 3} if shuffle == "window" else {}
    (epoch,) = read("GroupedReader", groups, batch_size=5, last_batch=rule, seed=1,
                     shuffle=shuffle, shuffle_buffer_size=30, group_buffer_size=buffer,
                     **window)  # fmt: skip
    assert all(len({row[2] for row in batch}) == 1 for batch in epoch)
    rows = [row for row in flatten(epoch) if row[1]]
    assert all(row[2:] == ((row[0] ** 2) % 11, row[0]) for row in rows)
    assert max(Counter(row[0] for row in rows).values()) == 1
    if rule in ("pad", "wrap"):
        assert {len(batch) for batch in epoch} == {5}
    if rule != "drop":
        assert len(rows) == 97
    elif buffer == 1000:
        sizes = Counter((i * i) % 11 for i in range(97))
        assert len(rows) == sum(size - size % 5 for size in sizes.values())
        assert {len(batch) for batch in epoch} == {5}


def test_leftovers_go_out_oldest_group_first(tmp_path):
    (tmp_path / "part-0").write_text("\n".join(f"{g},{i}" for i, g in enumerate([7, 3, 7, 5, 3])))
    (epoch,) = read("GroupedReader", str(tmp_path), batch_size=3)
    assert [ordinals([batch]) for batch in epoch] == [[0, 2], [1, 4], [3]]
    (epoch,) = read("GroupedReader", str(tmp_path), batch_size=3, group_buffer_size=2)
    assert [ordinals([batch]) for batch in epoch] == [[0, 2], [1, 4], [3]]
    (epoch,) = read("GroupedReader", str(tmp_path), batch_size=2)
    assert [ordinals([batch]) for batch in epoch] == [[0, 2], [1, 4], [3]]


def test_a_record_without_a_group_is_named_and_passed_over(tmp_path):
    (tmp_path / "part-0").write_text("1,0\n1,1\nx,2\n1,3\n")
    got = read_with_error("GroupedReader", str(tmp_path), batch_size=2)
    assert ordinals([got[0]]) == [0, 1] and ordinals([got[2]]) == [3] and len(got) == 3
    assert got[1][0] == "CorruptDataError"
    assert "part-0:3" in got[1][1] and "expected an integer" in got[1][1]


# ---- Slow sources ------------------------------------------------------------------------------


def test_close_does_not_wait_for_a_whole_batch():
    for attrs in (
        dict(batch_size=64),
        dict(batch_size=2, random_shuffle=True, shuffle_buffer_size=1000, seed=1),
    ):
        seconds, got = close_while_reading(delay_ms=200, **attrs)
        assert seconds < 2 and got == ["CancelledError"]


@pytest.mark.parametrize("batch_size", [1, 64])
def test_ctrl_c_ends_the_wait_for_a_slow_source(test_ops, batch_size):
    code = f"""
        import sys
        import pyflowdata as flow
        flow.load_library(sys.argv[1])
        loader = flow.DataLoader(flow.SlowReader(delay_ms=500, batch_size={batch_size}))
        print("reading", flush=True)
        for batch in loader:
            pass
    """
    process = programs.start(
        textwrap.dedent(code), test_ops.path, stdout=programs.PIPE, stderr=programs.PIPE
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "reading\n"
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
        assert time.monotonic() - start < 3
        assert "KeyboardInterrupt" in stderr and process.returncode == -signal.SIGINT
    finally:
        process.kill()
