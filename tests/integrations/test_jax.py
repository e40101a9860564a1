"""Batches as jax arrays: values, how long their memory lives, shardings, state."""

import collections
import gc
import itertools
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from support.files import lines, rows, write_parts
from support.paths import ROOT

import pyflowdata as flow

jax = pytest.importorskip("jax", reason="jax is not here: pip install pyflowdata[jax]")
jax.config.update("jax_platforms", "cpu")
with pytest.MonkeyPatch.context() as patch:
    patch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    assert len(jax.devices()) == 2

from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

from pyflowdata.integrations.jax import JaxLoader, rank_and_world_size  # noqa: E402


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows 0 to 299 in two parts."""
    parts = tmp_path_factory.mktemp("jax") / "parts"
    return write_parts(parts, lines(0, 130), lines(130, 300))


@pytest.fixture
def x64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def floats(folder, batch_size=16, **attrs):
    reader = flow.MiniReader(folder, batch_size=batch_size, **attrs)
    return flow.Affine(reader, dtype="float32")


def over(*names, shape=(2,)):
    return NamedSharding(Mesh(np.array(jax.devices()).reshape(shape), names), PartitionSpec(*names))


def pass_over(batches, number):
    collections.deque(itertools.islice(batches, number), maxlen=0)


# ---- Values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharded", [False, True])
def test_batches_have_the_form_and_values_of_the_loader(folder, sharded):
    blob = floats(folder, batch_size=20, random_shuffle=True, seed=1)
    x, y = flow.MiniDecoder(blob)
    sharding = over("data") if sharded else None
    for blobs in [(blob,), (x, y), ({"y": y, "x": x, "all": blob},)]:
        with flow.DataLoader(*blobs) as plain, JaxLoader(
            flow.DataLoader(*blobs), sharding
        ) as loader:
            assert len(loader) == len(plain) == 15
            for expected, batch in itertools.zip_longest(plain, loader):
                assert type(batch) is type(expected) or isinstance(batch, jax.Array)
                expected, batch = ([one] if len(blobs) == 1 and blobs[0] is blob else one
                                   for one in (expected, batch))
                if isinstance(batch, dict):
                    assert list(batch) == list(expected)
                    expected, batch = expected.values(), batch.values()
                for one, array in zip(expected, batch, strict=True):
                    assert isinstance(array, jax.Array) and array.dtype == one.dtype
                    assert array.sharding == sharding or not sharded
                    np.testing.assert_array_equal(np.asarray(array), one)


def test_a_device_can_be_chosen(folder):
    device = jax.devices()[1]
    with JaxLoader(flow.DataLoader(floats(folder)), device) as loader:
        assert next(iter(loader)).devices() == {device}


# ---- Memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("batch_size", [2, 10, 64])  # jax copies what is not aligned to 64 bytes
def test_arrays_keep_their_values_as_long_as_they_are_held(folder, sharded, batch_size):
    blob = floats(folder, batch_size=batch_size, last_batch="drop")
    host = flow.DataLoader(blob, prefetch=2)
    with JaxLoader(host, over("data") if sharded else None) as loader:
        held = list(itertools.islice(loader.repeat(), 80))
        pass_over(loader.repeat(), 80)
        steps = len(loader)
    jax.block_until_ready(held)
    for number, batch in enumerate(held):
        begin = number % steps * batch_size
        np.testing.assert_array_equal(np.asarray(batch), rows(begin, begin + batch_size))
    del held, batch
    gc.collect()
    assert host.stats()["slots_held"] == 0


def test_a_part_of_an_array_keeps_it(folder):
    host = flow.DataLoader(floats(folder, batch_size=100))
    with JaxLoader(host, over("data")) as loader:
        parts = [batch.addressable_shards[1].data for batch in loader]
        gc.collect()
        for _ in range(20):
            list(loader)
    for number, part in enumerate(parts):
        begin = 100 * number + 50
        np.testing.assert_array_equal(np.asarray(part), rows(begin, begin + 50))


def test_memory_comes_back_in_a_long_run(folder):
    """With memory for a few batches only: what was dropped must be free at once."""
    blob = floats(folder, batch_size=64)
    with flow.DataLoader(blob, prefetch=1) as loader:
        slot = loader.stats()["slot_bytes"] // loader.stats()["slots"]
    host = flow.DataLoader(blob, prefetch=1, memory_budget=8 * slot)
    total = jax.jit(lambda sum, batch: sum + batch[:, 0].sum())
    with JaxLoader(host) as loader:
        found = 0.0
        for batch in itertools.islice(loader.repeat(), 500):
            found = total(found, batch)
        assert host.stats()["slots"] <= 8
    assert float(found) == 100 * sum(range(300))  # in float32 exact


def test_donated_batches_do_not_reach_the_loader(folder):
    double = jax.jit(lambda batch: 2 * batch, donate_argnums=0)
    with JaxLoader(flow.DataLoader(floats(folder, batch_size=100))) as loader:
        doubled = [double(batch) for epoch in range(4) for batch in loader]
    for number, batch in enumerate(doubled):
        begin = number % 3 * 100
        np.testing.assert_array_equal(np.asarray(batch), 2 * rows(begin, begin + 100))


# ---- 64 bits ------------------------------------------------------------------------------------


def test_64_bits_are_an_error_unless_something_was_chosen(folder):
    numbers, ids = flow.MiniReader(folder, batch_size=4, with_id=True)
    for blob, narrow in [(numbers, "float32"), (ids, "int32")]:
        text = rf"{blob.name}' is {blob.dtype}, .* jax_enable_x64 .* get {narrow}"
        with flow.DataLoader(blob) as loader, pytest.raises(flow.InvalidArgumentError, match=text):
            JaxLoader(loader)


def test_64_bits_are_kept_where_jax_has_them(tmp_path, x64):
    folder = write_parts(tmp_path / "in", b"0.1,1e300\n-7,0.30000000000000004\n")
    numbers, ids = flow.MiniReader(folder, batch_size=2, with_id=True)
    with JaxLoader(flow.DataLoader(numbers, ids)) as loader:
        number, record = next(iter(loader))
    assert (number.dtype, record.dtype) == ("float64", "int64")
    assert np.asarray(number).tolist() == [[0.1, 1e300], [-7, 0.30000000000000004]]


def test_narrow_rounds_what_fits_and_refuses_the_rest(tmp_path):
    folder = write_parts(tmp_path / "in", b"0.1,nan\n-7,inf\n1,2\n3,-1e39\n5,6\n")
    numbers, ids = flow.MiniReader(folder, batch_size=2, with_id=True)
    with JaxLoader(flow.DataLoader(numbers, ids), narrow=True) as loader:
        batches = iter(loader)
        number, record = next(batches)
        expected = np.array([[0.1, np.nan], [-7, np.inf]], np.float32)
        np.testing.assert_array_equal(np.asarray(number), expected)
        assert np.asarray(record).tolist() == [[0, 0], [0, 1]] and record.dtype == "int32"
        with pytest.raises(flow.InvalidArgumentError, match=r"-1e\+39 in row 1 .* float32"):
            next(batches)
        assert np.asarray(next(batches)[0]).tolist() == [[5, 6]]


def test_a_setting_that_changes_is_noticed(folder, x64):
    with JaxLoader(flow.DataLoader(flow.MiniReader(folder, batch_size=4))) as loader:
        jax.config.update("jax_enable_x64", False)
        with pytest.raises(flow.UnsupportedError, match="jax_enable_x64 was changed"):
            next(iter(loader))


# ---- State --------------------------------------------------------------------------------------


def shuffled(folder):
    attrs = {"random_shuffle": True, "shuffle_after_epoch": True, "seed": 4}
    return flow.DataLoader(floats(folder, batch_size=64, **attrs))


def values(batches):
    return [np.asarray(batch).tolist() for batch in batches]


def test_the_state_is_that_of_the_delivered_batches(folder):
    with shuffled(folder) as plain:
        truth = values(plain) + values(plain)
        states = []
        plain.seek(0, epoch=0)
        for _ in itertools.islice(plain.repeat(), 10):
            states.append(plain.state_dict())
    with JaxLoader(shuffled(folder)) as loader:
        found = []
        for batch in itertools.islice(loader.repeat(), 10):
            found.append(np.asarray(batch).tolist())
            assert loader.state_dict() == states[len(found) - 1]
        assert found == truth
        for taken, state in enumerate(json.loads(json.dumps(states[:8])), start=1):
            loader.load_state_dict(state)
            assert loader.state_dict() == state
            assert values(itertools.islice(loader.repeat(), 10 - taken)) == truth[taken:]
            loader.load_state_dict(state)
            end = 5 if taken < 5 else 10
            assert values(loader) == truth[taken:end]


def test_progress_begins_where_the_loader_is(folder, capsys):
    with JaxLoader(shuffled(folder)) as loader:
        truth = values(loader)
    with JaxLoader(shuffled(folder)) as loader:
        for number, _ in enumerate(flow.progress(loader)):
            if number == 2:
                state = loader.state_dict()
                break
        loader.load_state_dict(state)
        assert values(flow.progress(loader)) == truth[3:]
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("pyflowdata: epoch 0: 5 of 5 steps (100 %)")


def test_repeat_goes_on_where_another_iterator_stopped(folder):
    with shuffled(folder) as plain:
        truth = values(itertools.islice(plain.repeat(), 12))
    with JaxLoader(shuffled(folder)) as loader:
        found = values(itertools.islice(loader.repeat(), 3))
        found += values(itertools.islice(loader.repeat(), 4))
        assert found + values(itertools.islice(loader.repeat(), 5)) == truth


@pytest.mark.parametrize("taken", range(1, 8))
def test_a_new_epoch_is_that_after_the_last_delivered_batch(folder, taken):
    with shuffled(folder) as plain, JaxLoader(shuffled(folder)) as loader:
        for one in (plain, loader):
            pass_over(one.repeat(), taken)
        assert loader.epoch == plain.epoch
        assert values(loader) == values(plain)
        assert loader.epoch == plain.epoch
        assert loader.state_dict() == plain.state_dict()


@pytest.mark.parametrize("taken", [0, 3])
def test_a_batch_that_is_looked_at_moves_nothing(folder, taken):
    with shuffled(folder) as plain, JaxLoader(shuffled(folder)) as loader:
        truth = values(plain)
        batches = iter(loader)
        found = values(itertools.islice(batches, taken))
        state = loader.state_dict()
        with loader.keep_place():
            next(iter(loader))
        assert loader.state_dict() == state
        assert found + values(batches) == truth


def test_older_iterators_are_over(folder):
    with JaxLoader(shuffled(folder)) as loader:
        older = iter(loader)
        next(older)
        newer = iter(loader)
        with pytest.raises(flow.CancelledError, match="newer one"):
            next(older)
        list(newer)
        with pytest.raises(StopIteration):
            next(newer)
        last = iter(loader)
        next(last)
        loader.load_state_dict(loader.state_dict())
        with pytest.raises(flow.CancelledError):
            next(last)
        last = iter(loader)
        next(last)
        state = loader.state_dict()
    with pytest.raises(flow.CancelledError, match="closed"):
        next(last)
    assert loader.state_dict() == state


def test_an_error_comes_in_its_turn(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 4) + b"4,x\n" + lines(5, 10))
    with JaxLoader(flow.DataLoader(floats(folder, batch_size=2))) as loader:
        batches = iter(loader)
        assert [np.asarray(next(batches))[0, 0] for _ in range(2)] == [0, 2]
        state = loader.state_dict()
        with pytest.raises(flow.CorruptDataError, match="part-000:5"):
            next(batches)
        assert loader.state_dict() == state
        assert [np.asarray(batch)[0, 0] for batch in batches] == [6, 8]


def test_an_interrupt_loses_no_batch(folder, monkeypatch):
    with shuffled(folder) as plain:
        truth = values(plain)
    with JaxLoader(shuffled(folder)) as loader:
        batches = iter(loader)
        found = values([next(batches)])

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(loader, "_put_all", interrupted)
            with pytest.raises(KeyboardInterrupt):
                next(batches)
        assert found + values(batches) == truth


# ---- Shardings ----------------------------------------------------------------------------------


def test_rows_of_one_process():
    assert rank_and_world_size(over("data"), 8) == (0, 1)
    assert rank_and_world_size(over("data", "model", shape=(1, 2)), 7) == (0, 1)
    with pytest.raises(flow.InvalidArgumentError, match="batch_size = 7; .* cannot spread"):
        rank_and_world_size(over("data"), 7)
    with pytest.raises(flow.InvalidArgumentError, match="batch_size = 0; it must be an int"):
        rank_and_world_size(over("data"), 0)


def test_rows_and_columns_can_be_spread(folder):
    for shape in [(1, 2), (2, 1)]:
        sharding = over("data", "model", shape=shape)
        with JaxLoader(flow.DataLoader(floats(folder, batch_size=100)), sharding) as loader:
            for number, batch in enumerate(loader):
                assert batch.sharding == sharding
                begin = 100 * number
                np.testing.assert_array_equal(np.asarray(batch), rows(begin, begin + 100))


def test_a_rank_that_is_not_that_of_the_sharding_is_an_error(folder):
    blob = floats(folder, rank=1, world_size=2)
    text = "rank 1 of 2 reads rows 8 to 15 of 16, .* need rows 0 to 15"
    with flow.DataLoader(blob) as loader, pytest.raises(flow.InvalidArgumentError, match=text):
        JaxLoader(loader, over("data"))
    with JaxLoader(flow.DataLoader(blob)) as loader:  # arrays of this process alone
        np.testing.assert_array_equal(np.asarray(next(iter(loader))), rows(8, 16))


def test_a_short_last_batch_must_spread(folder):
    with flow.DataLoader(floats(folder, batch_size=14)) as loader:  # 300 = 21 * 14 + 6
        JaxLoader(loader, over("data"))
    first_part = {"data_part_num": 1, "part_name_suffix_length": 3}  # 130 = 8 * 16 + 2 rows
    blob = floats(folder, batch_size=16, **first_part)
    with JaxLoader(flow.DataLoader(blob), over("data")) as loader:
        assert [len(batch) for batch in loader] == [16] * 8 + [2]


def test_a_last_batch_that_cannot_be_spread_is_refused_at_once(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 9))
    text = "last batch of an epoch has 1 rows, .* last_batch='pad', 'wrap' or 'drop'"
    with flow.DataLoader(floats(folder, batch_size=4)) as loader:
        with pytest.raises(flow.InvalidArgumentError, match=text):
            JaxLoader(loader, over("data"))
    blob = floats(folder, batch_size=4, last_batch="wrap")
    with JaxLoader(flow.DataLoader(blob), over("data")) as loader:
        assert [len(batch) for batch in loader] == [4, 4, 4]


def test_rows_that_were_skipped_are_noticed(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 5) + b"bad\n" + lines(6, 12))
    blob = floats(folder, batch_size=4, on_error="skip")
    with JaxLoader(flow.DataLoader(blob), over("data")) as loader:
        batches = iter(loader)
        next(batches)
        with pytest.raises(flow.InvalidArgumentError, match="has 3 rows in this batch"):
            next(batches)
        assert np.asarray(next(batches))[:, 0].tolist() == [8, 9, 10, 11]


def test_what_is_no_loader_or_sharding_is_refused(folder):
    with pytest.raises(flow.InvalidArgumentError, match="a list was given"):
        JaxLoader([np.zeros(3)])
    with flow.DataLoader(floats(folder)) as loader:
        for other in (PartitionSpec("data"), "cpu", jax.devices()):
            with pytest.raises(flow.InvalidArgumentError, match=r"sharding = .* must be a jax.sh"):
                JaxLoader(loader, other)


def test_no_call_inside_another(folder, monkeypatch):
    """As a signal handler may do; state_dict() and close() are allowed there."""
    with JaxLoader(shuffled(folder)) as loader:
        batches = iter(loader)
        state = loader.state_dict()
        put, found = loader._put_all, []

        def handler(arrays, **how):
            for call in (lambda: next(batches), loader.repeat, lambda: iter(loader)):
                with pytest.raises(flow.UnsupportedError, match="inside a call of the JaxLoader"):
                    call()
            found.append(loader.state_dict())
            return put(arrays, **how)

        monkeypatch.setattr(loader, "_put_all", handler)
        next(batches)
        assert found == [state, state]


# ---- Several processes --------------------------------------------------------------------------

PROCESS = """
import sys
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import pyflowdata as flow
from pyflowdata.integrations.jax import JaxLoader, rank_and_world_size

folder, coordinator, process = sys.argv[1:]
process = int(process)
jax.config.update("jax_cpu_collectives_implementation", "gloo")  # later the default
jax.distributed.initialize(coordinator, 2, process)
devices = np.array(jax.devices())
assert len(devices) == 4 and [device.process_index for device in devices] == [0, 0, 1, 1]
over = NamedSharding(Mesh(devices, ("data",)), PartitionSpec("data"))

def refused(text, function, *args):
    try:
        function(*args)
    except flow.InvalidArgumentError as failure:
        assert text in str(failure), failure
    else:
        raise AssertionError(text)

def loader(**attrs):
    rows = flow.MiniReader(folder, **{"batch_size": 8, "last_batch": "pad", **attrs})
    return flow.DataLoader(flow.Affine(rows, dtype="float32"))

# Who reads what.
ranks = {"rank": process, "world_size": 2}
whole = {"rank": 0, "world_size": 1}
assert rank_and_world_size(over, 8) == (process, 2)
backwards = NamedSharding(Mesh(devices[::-1], ("data",)), PartitionSpec("data"))
assert rank_and_world_size(backwards, 8) == (1 - process, 2)
model = Mesh(devices.reshape(2, 2).T, ("data", "model"))  # each half of the rows is in both
assert rank_and_world_size(NamedSharding(model, PartitionSpec("data")), 8) == (0, 1)
mixed = NamedSharding(Mesh(devices[[0, 2, 1, 3]], ("data",)), PartitionSpec("data"))
refused("order the mesh by process", rank_and_world_size, mixed, 8)
refused("give the reader the rank and world_size", JaxLoader, loader(**whole), over)
refused("give the reader the rank and world_size", JaxLoader, loader(**ranks), backwards)

# No process may be left waiting at the end of an epoch.
refused("a short last batch; take 'pad'", JaxLoader, loader(**ranks, last_batch="short"), over)
refused("on_error='skip' leaves rows", JaxLoader, loader(**ranks, on_error="skip"), over)
for fine in ({"last_batch": "drop"}, {"last_batch": "short", "batch_size": 4}):
    JaxLoader(loader(**ranks, **fine), over).close()

# Every device has its rows of the whole batch.
values = np.stack([np.arange(300), 10 * np.arange(300)], axis=1)
total = jax.jit(lambda batch: batch[:, 0].sum())
with JaxLoader(loader(random_shuffle=True, seed=2), over) as mine:  # its rank is found out
    with loader(**whole, random_shuffle=True, seed=2) as alone:
        state = None
        for step, (batch, truth) in enumerate(zip(mine, alone, strict=True)):
            assert batch.shape == truth.shape == (8, 2)
            assert len(batch.addressable_shards) == 2
            for shard in batch.addressable_shards:
                assert shard.data.shape == (2, 2)
                assert (np.asarray(shard.data) == truth[shard.index]).all()
            assert float(total(batch)) == truth[:, 0].sum()
            assert mine.state_dict() == alone.state_dict()
        assert step == 37
    rank, own = mine.loader.readers[0].rank, mine.report()
    both = mine.report(gather=True)
    assert [one.counters.rank for one in both.reports] == [0, 1]
    assert both.reports[rank].counters.hand_over == own.counters.hand_over
    others = mine.report(since=own, gather=True)  # nothing came since
    assert [one.counters.hand_over.batches for one in others.reports] == [0, 0]
everywhere = NamedSharding(over.mesh, PartitionSpec())
with JaxLoader(loader(**whole), everywhere) as same:  # both processes read all rows, as rank 0
    next(iter(same))
    [one] = same.report(gather=True).reports
    assert one.counters.world_size == 1
print("all is well")
"""


def test_two_processes(folder):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = f"localhost:{free.getsockname()[1]}"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, folder, coordinator, str(number)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        for process in processes:
            printed, problems = process.communicate(timeout=120)
            assert process.returncode == 0 and printed.endswith("all is well\n"), problems
    finally:
        for process in processes:
            process.kill()


def test_a_report_has_the_hand_over(folder):
    with JaxLoader(flow.DataLoader(floats(folder))) as loader:
        batches = list(loader)
        copies = loader.report().counters.hand_over
    assert copies.batches == len(batches) and copies.device == jax.default_backend()
    sizes = [sum(one.nbytes for one in jax.tree_util.tree_leaves(batch)) for batch in batches]
    assert copies.bytes == sum(sizes) > 0
    with JaxLoader(flow.DataLoader(floats(folder))) as loader:
        list(loader)
        [alone] = loader.report(gather=True).reports
    assert alone.counters.hand_over.bytes == sum(sizes)
