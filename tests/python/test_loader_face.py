"""Iterating a DataLoader: epochs, the arrays it gives, what it tells of itself."""

import copy
import gc
import inspect
import os
import pickle
import re
import threading
import time
import warnings

import numpy as np
import pytest

from support import programs
import pyflowdata as flow
from pyflowdata.loader.open_loader import open_loaders
from support.face import (
    DATA,
    epoch_of,
    epoch_of_number,
    loader,
    make_loader,
    rows,
    slots_held,
)


# ---- Epochs -------------------------------------------------------------------------------------


def test_one_iteration_is_one_epoch(loader):
    assert len(loader) == 5
    epochs = [epoch_of(loader) for _ in range(3)]
    assert [len(batches) for batches in epochs] == [5, 5, 5]
    flat = [sum(batches, []) for batches in epochs]
    assert sorted(flat[0]) == sorted(flat[1]) == sorted(flat[2])
    assert flat[0] != flat[1] != flat[2]


def test_end_stays_the_end(loader):
    iterator = iter(loader)
    assert iter(iterator) is iterator
    assert len(list(iterator)) == 5
    assert list(iterator) == []


def test_break_goes_to_the_next_epoch(loader):
    expected = [epoch_of(loader) for _ in range(3)]
    with make_loader({"random_shuffle": True, "shuffle_after_epoch": True, "seed": 5}) as again:
        for _ in again:
            break
        assert again.epoch == 0
        assert epoch_of(again) == expected[1]
        iter(again)
        assert again.epoch == 2
        assert epoch_of(again) == epoch_of_number(3)


def test_repeat(loader):
    expected = sum((epoch_of_number(number) for number in range(3)), [])
    endless = loader.repeat()
    found = epoch_of(next(endless) for _ in range(12))
    assert found == expected[:12]
    assert loader.epoch == 2
    assert loader.state_dict()["position"] == 2
    assert epoch_of(next(loader.repeat()) for _ in range(3)) == expected[12:15]
    assert loader.state_dict()["epoch"] == 3


def test_repeat_of_nothing():
    with make_loader({"batch_size": 20, "last_batch": "drop"}) as opened:
        assert len(opened) == 0 and list(opened) == [] and bool(opened)
        with pytest.raises(flow.InvalidArgumentError, match="would never end"):
            next(opened.repeat())


def test_older_iterator_gives_way(loader):
    older = iter(loader)
    next(older)
    newer = iter(loader)
    with pytest.raises(flow.CancelledError, match="newer") as caught:
        next(older)
    assert isinstance(caught.value, RuntimeError)
    assert len(list(newer)) == 5


def test_loader_is_collected_without_cycles():
    opened = make_loader()
    iterator = iter(opened)
    next(iterator)
    threads = threading.active_count()
    gc.disable()
    try:
        known = len(open_loaders)
        del opened, iterator
        deadline = time.monotonic() + 10  # the watch for stalls may look at it at this moment
        while len(open_loaders) == known and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(open_loaders) == known - 1
    finally:
        gc.enable()
    assert threading.active_count() == threads


# ---- Arrays -------------------------------------------------------------------------------------


def test_arrays_are_writable_views(loader):
    for x, y in loader:
        for array in (x, y):
            assert array.flags.writeable and array.flags.c_contiguous and not array.flags.owndata
            assert array.ctypes.data % 64 == 0
            array += 1


def test_held_arrays_keep_their_values(loader):
    held = [batch for _ in range(4) for batch in loader]
    copies = [(x.copy(), y.copy()) for x, y in held]
    for _ in range(4):
        for x, y in loader:
            x[:] = y[:] = -1
    for (x, y), (x_copy, y_copy) in zip(held, copies, strict=True):
        assert np.array_equal(x, x_copy) and np.array_equal(y, y_copy)


def test_slot_goes_back_with_the_last_view(loader):
    iterator = iter(loader)
    x, y = next(iterator)
    assert slots_held(loader) == 1
    view = y[1:].T
    del x, y
    assert slots_held(loader) == 1
    memory = memoryview(view)
    del view
    assert slots_held(loader) == 1
    memory.release()
    del memory
    assert slots_held(loader) == 0


def test_slots_go_back_from_other_threads(loader):
    held = [batch for _ in range(3) for batch in loader]
    assert slots_held(loader) == 15
    threads = [threading.Thread(target=held[n::3].clear) for n in range(3)]
    held.clear()
    for thread in threads:
        thread.start()
    del thread
    for _ in range(3):
        threads.pop().join()
    gc.collect()
    assert slots_held(loader) == 0


def test_steady_loop_needs_few_slots(loader):
    for _ in range(200):
        for batch in loader:  # noqa: B007
            pass
    assert loader.stats()["slots"] <= loader._opened.info.prefetch + 3


def test_arrays_outlive_the_loader():
    opened = make_loader()
    batches = list(opened)
    opened.close()
    del opened
    assert batches[0][0].ravel().tolist() == [1.01, 2.01, 3.0, 4.1]
    batches[0][0][:] = 0


def test_process_ends_while_arrays_are_held():
    code = f"""
import pyflowdata as flow
x, y = flow.MiniDecoder(flow.MiniReader({DATA!r}, batch_size=4))
loader = flow.DataLoader(x, y)
endless = loader.repeat()
held = [next(endless) for _ in range(50)]
class Late:
    def __del__(self, held=held):
        held.clear()
late = Late()
"""
    run = programs.run(code)
    assert (run.returncode, run.stderr) == (0, "")


# ---- Facts --------------------------------------------------------------------------------------


def test_repr():
    with make_loader({"seed": 7, "name": "rows"}, num_threads=2, prefetch=3) as opened:
        text = repr(opened)
        for part in ("rows: seed=7", "steps=5", "num_threads=2", "prefetch=3", "MiniDecoder/x"):
            assert part in text
    assert "closed" in repr(opened)


def test_drawn_seed_is_shown():
    with make_loader({"random_shuffle": True}) as opened:
        seed = opened.state_dict()["readers"]["MiniReader_0"]["seed"]
        assert f"seed={seed}," in repr(opened)


def test_default_seed_is_said_once_for_a_reader():
    attrs = {"random_shuffle": True, "rank": 0, "world_size": 2}
    for name in ("one", "other"):
        says = f"{name}: seed is left open in one of several processes; 0 is used"
        with pytest.warns(UserWarning, match=says) as told:
            make_loader({**attrs, "name": name}).close()
        assert told[0].filename == make_loader.__code__.co_filename
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_loader({**attrs, "name": "one"}).close()
        make_loader({**attrs, "seed": 0}).close()
        make_loader({**attrs, "random_shuffle": False}).close()


@pytest.mark.parametrize("environ", [{"RANK": "1", "WORLD_SIZE": "2"}, {"WORLD_SIZE": "2"}])
def test_no_seed_is_drawn_in_one_of_several_processes(monkeypatch, environ):
    """Also where each reads all rows, as those that share a model by tensor parallelism do."""
    attrs = {"random_shuffle": True, "rank": 0, "world_size": 1}
    with make_loader(attrs) as opened:
        assert not opened.readers[0].seed_is_default
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with make_loader(attrs) as opened:
            assert opened.readers[0].seed == 0 and opened.readers[0].seed_is_default
    with make_loader({**attrs, "seed": 5}) as opened:
        assert opened.readers[0].seed == 5


def test_shuffle_without_effect_is_said_once_for_a_reader():
    attrs = {"shuffle_after_epoch": True, "name": "in order"}
    with pytest.warns(UserWarning, match="in order: shuffle_after_epoch=True has no") as told:
        make_loader(attrs).close()
    assert [one.filename for one in told] == [make_loader.__code__.co_filename]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_loader(attrs).close()
        make_loader({**attrs, "name": "at random", "random_shuffle": True}).close()


def test_no_copies(loader):
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"state_dict\(\)"):
            call(loader)


def test_zero_is_automatic():
    zero = {"num_threads": 0, "prefetch": 0, "memory_budget": 0}
    with make_loader({"seed": 1}) as one, make_loader({"seed": 1}, **zero) as other:
        assert repr(one) == repr(other)


def test_same_blob_twice_shares_memory():
    blob = rows()
    with flow.DataLoader(blob, blob) as opened:
        assert np.shares_memory(*next(iter(opened)))


def test_stats(loader):
    stats = loader.stats()
    assert stats["batches"] == 0
    list(loader)
    stats = loader.stats()
    assert (stats["batches"], stats["records"], stats["skipped"]) == (5, 18, 0)
    assert stats["bytes"] > 0
    moments = {"opened_seconds", "asked_seconds", "delivered_seconds"}
    seconds = {key: value for key, value in stats.items() if key.endswith("_seconds")}
    assert {"wait_seconds", "help_seconds", "idle_seconds", *moments} < set(seconds)
    assert not [key for key in stats if key.endswith("_ns")]
    now = seconds.pop("now_seconds")
    assert abs(now - time.monotonic()) < 60 and now >= max(seconds[key] for key in moments)
    passed = now - seconds["opened_seconds"]
    durations = {key: value for key, value in seconds.items() if key not in moments}
    del durations["machine_cpu_seconds"]  # the kernel counts it in ticks
    assert 0 <= max(durations.values()) <= passed * (loader.num_threads + os.cpu_count())


def test_skipped(tmp_path):
    (tmp_path / "part-0").write_text("1,2\nx,2\n3,4\n5\n")
    blob = flow.MiniReader(tmp_path, batch_size=2, on_error="skip")
    with flow.DataLoader(blob) as opened:
        assert [batch.tolist() for batch in opened] == [[[1.0, 2.0]], [[3.0, 4.0]]]
        skipped = opened.skipped
        assert [str(error) for error in opened.skipped] == [str(error) for error in skipped]
    assert [error.line for error in skipped] == [2, 4]
    assert all(isinstance(error, flow.CorruptDataError) for error in skipped)


def test_readers_of_equal_length_in_different_orders_are_warned_of(tmp_path):
    (tmp_path / "part-0").write_text("".join(f"{i},{i}\n" for i in range(50)))

    def both(name, **attrs):
        attrs |= {"batch_size": 50, "random_shuffle": True}
        return [flow.MiniReader(tmp_path, name=f"{name}{i}", **attrs) for i in range(2)]

    with pytest.warns(UserWarning, match="have 50 records each.*same order_key"):
        flow.DataLoader(both("apart")).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with flow.DataLoader(both("together", order_key="rows")) as loader:
            ((a, b),) = loader
        assert (a == b).all()  # one drawn seed for both
        flow.DataLoader(both("apart")).close()  # said once


def test_stats_are_described():
    """Each key in the docstring, and no other."""
    with make_loader() as loader:
        keys = list(loader.stats())
    listed = re.findall(r"^    ((?:\w+(?:, )?)+):", inspect.getdoc(flow.DataLoader.stats), re.M)
    assert [name for names in listed for name in names.split(", ")] == keys
