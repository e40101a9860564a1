"""A state of a few hundred bytes continues a run exactly, anywhere, or says why it cannot."""

import contextlib
import itertools
import json
import time

import numpy as np
import pyflowdata as flow
import pytest
from pyflowdata.native import calling_line
from hypothesis import given
from hypothesis import strategies as st

from support import programs
from support.oracle import (
    LAST_BATCH,
    MODES,
    Table,
    deliver,
    deliver_epochs,
    examples,
    joined,
    open_loader,
    rank_part,
    step_of,
)

ROWS = 29
NEW_ORDERS = MODES["new orders"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Table(tmp_path_factory.mktemp("parts"), [11, 0, 13, 5])


def states_of(table, steps, **options):
    """The states before each of the first batches and after the last, through JSON, and the
    batches."""
    with open_loader(table, **options) as loader:
        texts, batches = [json.dumps(loader.state_dict())], []
        for batch in itertools.islice(loader.repeat(), steps):
            batches.append(step_of(table, batch))
            texts.append(json.dumps(loader.state_dict()))
    assert max(map(len, texts)) < 1024
    return [*map(json.loads, texts)], batches


def state_after(table, steps, **options):
    """The state after so many batches, through JSON, and the batches."""
    with open_loader(table, **options) as loader:
        batches = [step_of(table, b) for b in itertools.islice(loader.repeat(), steps)]
        text = json.dumps(loader.state_dict())
    assert len(text) < 1024
    return json.loads(text), batches


def rest(table, state, epochs, **options):
    """All batches of the next `epochs` passes over a loader that took the state."""
    return rests(table, [(state, epochs)], **options)[0]


def rests(table, jobs, **options):
    """The same of several states and numbers of passes, by one loader that takes each in turn."""
    found = []
    with open_loader(table, **options) as loader:
        for state, epochs in jobs:
            loader.load_state_dict(state)
            found.append([step for _ in range(epochs) for step in deliver(table, loader)])
    return found


@pytest.mark.parametrize("mode", MODES)
def test_stop_after_every_batch_and_go_on_with_other_threads(table, mode):
    options = dict(batch_size=4, seed=3, **MODES[mode])
    first, second, third = deliver_epochs(table, 3, **options)
    whole = first + second + third
    last = 2 * len(first)
    for prefetch, threads in ((1, 7), (4, 2), (8, 1)):
        states, done = states_of(table, last, num_threads=2, prefetch=prefetch, **options)
        assert done == whole[:last]
        for stop, state in enumerate(states):
            epoch, position = divmod(stop, len(first))
            assert (state["version"], state["epoch"], state["position"]) == (2, epoch, position)
        jobs = [(state, 3 - state["epoch"]) for state in states[::-1]]
        got = rests(table, jobs, num_threads=threads, prefetch=9 - prefetch, **options)
        assert got[::-1] == [whole[stop:] for stop in range(last + 1)]


@examples(40)
@given(
    batch_size=st.integers(1, 40),
    stop=st.integers(0, 70),
    seed=st.integers(0, 9 * 10**18),
    mode=st.sampled_from(list(MODES)),
    last_batch=st.sampled_from(LAST_BATCH),
    before=st.tuples(st.sampled_from([1, 2, 7]), st.integers(1, 8)),
    after=st.tuples(st.sampled_from([1, 2, 7]), st.integers(1, 8)),
)
def test_any_stop_with_any_settings(
    table, batch_size, stop, seed, mode, last_batch, before, after
):
    options = dict(batch_size=batch_size, seed=seed, last_batch=last_batch, **MODES[mode])
    epochs = deliver_epochs(table, 3, **options)
    per_epoch = len(epochs[0])
    whole = [step for steps in epochs for step in steps]
    stop = min(stop, 2 * per_epoch)
    state, done = state_after(table, stop, num_threads=before[0], prefetch=before[1], **options)
    left = 3 - stop // per_epoch if per_epoch else 3
    assert done == whole[:stop]
    got = rest(table, state, left, num_threads=after[0], prefetch=after[1], **options)
    assert got == whole[stop:]


@pytest.mark.parametrize(
    "before, after, mode",
    [(*worlds, "new orders") for worlds in [(1, 4), (4, 1), (2, 3), (3, 6), (6, 2)]]
    + [(*worlds, mode) for worlds in [(1, 4), (3, 2)] for mode in ("in windows", "from a buffer")],
)
def test_another_world_size_goes_on_with_the_same_logical_batches(table, before, after, mode):
    options = dict(batch_size=12, seed=11, last_batch="pad", **MODES[mode])
    epochs = deliver_epochs(table, 3, **options)
    whole = [step for steps in epochs for step in steps]
    of_ranks = []
    for rank in range(before):
        states, done = states_of(table, len(whole) - 1, rank=rank, world_size=before, **options)
        assert done == [rank_part(step, rank, before) for step in whole[:-1]]
        of_ranks.append(states)
    assert all(states == of_ranks[0] for states in of_ranks), "a state is valid for every rank"
    taken = []
    for rank in range(after):
        jobs = [
            (state, 3 - stop // len(epochs[0]))
            for stop, state in enumerate(of_ranks[rank % before])
        ]
        threads = 1 + rank % 2
        options |= dict(rank=rank, world_size=after, num_threads=threads)
        taken.append(rests(table, jobs[::-1], **options)[::-1])
    for stop, ranks in enumerate(zip(*taken, strict=True)):
        assert {len(steps) for steps in ranks} == {len(whole) - stop}
        assert [joined(parts) for parts in zip(*ranks)] == whole[stop:]


CONTINUE = """
import itertools, json, sys
import pyflowdata as flow
answers = []
for job in json.load(sys.stdin):
    out, ids = flow.MiniReader(with_id=True, **job["reader"])
    loader = flow.DataLoader(out, ids, **job["loader"])
    if job["state"] is not None:
        loader.load_state_dict(job["state"])
    steps = []
    for rows, ids in itertools.islice(loader.repeat(), job["batches"]):
        assert (rows[:, 0] == ids[:, 1]).all()
        steps.append(ids[:, 1].tolist())
    answers.append({"steps": steps, "state": loader.state_dict()})
json.dump(answers, sys.stdout)
"""


def job_for(table, batches, state=None, num_threads=1, prefetch=1, **attrs):
    return {
        "state": state,
        "batches": batches,
        "reader": {"data_dir": str(table.folder), **attrs},
        "loader": {"num_threads": num_threads, "prefetch": prefetch},
    }


def in_a_new_process(jobs):
    """The steps of each job, and the state after them; no job knows of another."""
    answers = json.loads(programs.run(CONTINUE, input=json.dumps(jobs), check=True).stdout)
    return [(answer["steps"], answer["state"]) for answer in answers]


@pytest.mark.slow
def test_a_new_process_goes_on_exactly(table):
    """In the middle (1, 5, 11) and at the end (8, 16) of an epoch of 8 batches."""
    options = dict(batch_size=4, seed=3, **NEW_ORDERS)
    whole = [list(s.ordinals) for steps in deliver_epochs(table, 4, **options) for s in steps]
    stops = [0, 1, 5, 8, 11, 16]
    jobs = []
    for stop in stops:
        state, _ = state_after(table, stop, num_threads=7, prefetch=5, **options)
        jobs += [
            job_for(table, 12, state, 1 + rank, prefetch=3, rank=rank, world_size=2, **options)
            for rank in (0, 1)
        ]
    done = in_a_new_process(jobs)
    for stop, (first, _), (second, state) in zip(stops, done[::2], done[1::2], strict=True):
        assert [a + b for a, b in zip(first, second, strict=True)] == whole[stop : stop + 12], stop
        # And back here from the state of that process.
        got = rest(table, state, 1, **options)
        expected = whole[stop + 12 : (stop + 12) // 8 * 8 + 8]
        assert [list(step.ordinals) for step in got] == expected, stop


def test_a_drawn_seed_travels_in_the_state(table):
    options = dict(batch_size=3, **NEW_ORDERS)
    [(steps, state)] = in_a_new_process([job_for(table, 13, seed=-1, **options)])
    (reader,) = state["readers"].values()
    assert reader["seed"] >= 0
    epochs = deliver_epochs(table, 3, seed=reader["seed"], **options)
    whole = [step for epoch in epochs for step in epoch]
    assert [list(step.ordinals) for step in whole[:13]] == steps
    assert rest(table, state, 2, seed=-1, **options) == whole[13:], "a reader with a drawn seed"
    assert rest(table, state, 2, seed=reader["seed"], **options) == whole[13:]


def test_one_loader_goes_back_and_forth(table):
    options = dict(batch_size=4, seed=1, num_threads=2, prefetch=3, **NEW_ORDERS)
    first, second = deliver_epochs(table, 2, **options)
    with open_loader(table, **options) as loader:
        start = loader.state_dict()
        begun = iter(loader)
        assert loader.state_dict() == start, "an epoch begun, nothing delivered"
        three = [step_of(table, next(begun)) for _ in range(3)]
        middle = loader.state_dict()
        assert three + deliver(table, begun) == first
        for _ in range(2):
            loader.load_state_dict(middle)
            assert loader.state_dict() == middle
            assert deliver(table, loader) == first[3:]
            assert deliver(table, loader) == second
        loader.load_state_dict(start)
        assert deliver(table, loader) == first


def test_leaving_a_for_early_and_starting_another_is_the_next_epoch(table):
    options = dict(batch_size=4, seed=1, num_threads=2, prefetch=8, **NEW_ORDERS)
    first, second, third, fourth = deliver_epochs(table, 4, **options)
    with open_loader(table, **options) as loader:
        for batch in loader:
            assert step_of(table, batch) == first[0]
            break
        assert loader.state_dict()["epoch"] == 0 and loader.state_dict()["position"] == 1
        assert deliver(table, loader) == second
        begun = iter(loader)
        assert step_of(table, next(begun)) == third[0]
        assert deliver(table, loader) == fourth
        with pytest.raises(flow.Error):
            next(begun)  # its epoch is over: it must not deliver another one's batches


def test_what_was_prefetched_is_not_in_the_state(table):
    options = dict(batch_size=2, seed=1, num_threads=2, prefetch=8, **NEW_ORDERS)
    (first,) = deliver_epochs(table, 1, **options)
    with open_loader(table, **options) as loader:
        next(iter(loader))
        deadline = time.monotonic() + 0.2
        while loader.stats()["slots_ready"] < 4 and time.monotonic() < deadline:
            time.sleep(0.005)
        state = loader.state_dict()
        assert state["position"] == 1
    assert rest(table, state, 1, **options) == first[1:]


@pytest.mark.parametrize("on_error", ["skip", "pad"])
def test_resume_is_exact_with_records_left_out(tmp_path, on_error):
    lines = [f"{i},{i}" for i in range(20)]
    for bad in (0, 3, 4, 5, 11, 19):
        lines[bad] = f"{bad};{bad}"
    (tmp_path / "part-0").write_text("\n".join(lines))

    def opened():
        blobs = flow.MiniReader(
            str(tmp_path), batch_size=3, random_shuffle=True, shuffle_after_epoch=True, seed=4,
            on_error=on_error, with_mask=True, with_id=True,
        )  # fmt: skip
        return flow.DataLoader(*blobs, num_threads=2, prefetch=3)

    def read(batches):
        return [tuple(array.tolist() for array in batch) for batch in batches]

    with opened() as loader:
        whole = read(itertools.islice(loader.repeat(), 14))
        assert len(loader) == 7
    with opened() as loader, opened() as other:
        batches = loader.repeat()
        for stop in range(14):  # what it skipped before a state was loaded does not count
            other.load_state_dict(loader.state_dict())
            assert read(itertools.islice(other.repeat(), 14 - stop)) == whole[stop:]
            assert read([next(batches)]) == whole[stop : stop + 1]


def test_two_readers_in_one_state(tmp_path):
    left, right = Table(tmp_path / "left", [10, 7]), Table(tmp_path / "right", [17])
    orders = {"batch_size": 4, "seed": 1, **NEW_ORDERS}

    def opened(**options):
        a, b = (
            flow.MiniReader(str(table.folder), name=name, order_key=key, **orders)
            for table, name, key in ((left, "left", "one"), (right, "right", "another"))
        )
        return flow.DataLoader({"a": a, "b": b}, **options)

    def read(batches):
        return [(b["a"][:, 0].tolist(), b["b"][:, 0].tolist()) for b in batches]

    with opened(num_threads=1) as loader:
        whole = read(itertools.islice(loader.repeat(), 10))
    assert all(a != b for a, b in whole[:4]), "each reader has its own order"
    with opened(num_threads=2, prefetch=4) as loader, opened(num_threads=7, prefetch=2) as other:
        batches = loader.repeat()
        for stop in range(10):
            state = json.loads(json.dumps(loader.state_dict()))
            assert set(state["readers"]) == {"left", "right"}
            other.load_state_dict(state)
            assert read(itertools.islice(other.repeat(), 10 - stop)) == whole[stop:]
            assert read([next(batches)]) == whole[stop : stop + 1]


# ---- States that do not fit ----------------------------------------------------------------------


def refusal(table, state, **options):
    """The words of the refusal; the loader must go on as if nothing had been asked."""
    with open_loader(table, **options) as loader:
        before = loader.state_dict()
        with pytest.raises(flow.InvalidArgumentError) as caught:
            loader.load_state_dict(state)
        assert loader.state_dict() == before
        assert len(deliver(table, loader)) == len(loader)
    return str(caught.value)


def test_other_attrs_are_refused_and_each_one_is_named(table):
    options = dict(batch_size=4, seed=3, last_batch="pad", **NEW_ORDERS)
    state, _ = state_after(table, 2, **options)
    changed = dict(batch_size=6, seed=3, last_batch="drop", **MODES["one order"])
    message = refusal(table, state, **changed)
    for word in ("batch_size", "4", "6", "last_batch", "pad", "drop", "shuffle_after_epoch"):
        assert word in message
    assert "random_shuffle" not in message, "that one is the same"


def test_another_order_key_is_refused(table):
    options = dict(batch_size=4, seed=3, **NEW_ORDERS)
    state, _ = state_after(table, 2, order_key="one", **options)
    message = refusal(table, state, order_key="other", **options)
    assert "one" in message and "other" in message


def test_another_reader_is_refused(table):
    state, _ = state_after(table, 2, batch_size=4, name="one")
    message = refusal(table, state, batch_size=4, name="other")
    assert "one" in message and "other" in message


@pytest.mark.parametrize("change", ["content", "size", "order", "one more", "one less"])
def test_changed_files_are_refused_in_words(tmp_path, change):
    table = Table(tmp_path, [5, 6, 5])
    options = dict(batch_size=4, seed=3, **NEW_ORDERS)
    state, _ = state_after(table, 2, **options)
    first, last = tmp_path / "part-0", tmp_path / "part-2"
    if change == "content":
        first.write_text(first.read_text().replace("2,6.25", "2,7.25"))
    elif change == "size":
        first.write_text(first.read_text() + "\n5,5\n")
    elif change == "order":
        first.rename(tmp_path / "other")
        last.rename(first)
        (tmp_path / "other").rename(last)
    elif change == "one more":
        (tmp_path / "part-3").write_text("1,1")
    else:
        last.unlink()
    out = flow.MiniReader(str(tmp_path), **options)
    with flow.DataLoader(out) as loader:
        with pytest.raises(flow.InvalidArgumentError) as caught:
            loader.load_state_dict(state)
    message = str(caught.value)
    if change == "size":
        assert "16" in message and "17" in message and "record" in message
    elif change in ("one more", "one less"):
        assert "3" in message and ("4" if change == "one more" else "2") in message
        assert "file" in message
    else:
        assert "content" in message or "data" in message


def test_files_of_the_same_content_elsewhere_are_welcome(tmp_path):
    here, there = Table(tmp_path / "here", [9, 4]), Table(tmp_path / "there", [9, 4])
    options = dict(batch_size=4, seed=3, **NEW_ORDERS)
    (whole,) = deliver_epochs(here, 1, **options)
    state, _ = state_after(here, 1, **options)
    assert rest(there, state, 1, **options) == whole[1:]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"version": 3},
        {"version": "1"},
        {"epoch": -1},
        {"epoch": "0"},
        {"position": -1},
        {"position": 9},
        {"position": 2**70},
        {"position": 1.5},
        {"readers": {}},
        {"readers": None},
        {"readers": {"MiniReader_0": 3}},
    ],
    ids=str,
)
def test_a_damaged_state_is_refused(table, wrong):
    options = dict(batch_size=4, seed=3, **NEW_ORDERS)
    state, _ = state_after(table, 2, **options)
    assert refusal(table, {**state, **wrong} if wrong else {}, **options)


def test_a_state_is_a_copy(table):
    with open_loader(table, batch_size=4) as loader:
        states = [loader.state_dict() for _ in loader]
    assert [state["position"] for state in states] == [1, 2, 3, 4, 5, 6, 7, 0]
    assert np.all(np.diff([state["epoch"] for state in states]) == [0] * 6 + [1])


@pytest.mark.parametrize("kind", ["own", "torch"])
def test_a_state_of_an_epochs_last_batch_warns_a_loop_that_counts_from_its_epoch(
    table, kind, monkeypatch, recwarn
):
    """`range(start, epochs)` would train an epoch more: the state means the next epoch."""
    if kind == "torch":
        pytest.importorskip("torch")
        from pyflowdata.integrations.torch import TorchLoader as wrapped
    else:
        wrapped = contextlib.closing

    def opened():
        return wrapped(open_loader(table, batch_size=4, **NEW_ORDERS))

    states = {}
    with opened() as loader:
        for at, _ in enumerate(loader):
            states["in the loop" if at == len(loader) - 1 else "before"] = loader.state_dict()
        states["after"] = loader.state_dict()
        for at, _ in enumerate(loader.repeat()):
            if at == len(loader) - 1:
                break
        states["endless"] = loader.state_dict()
    for name, state in states.items():
        for reads_epoch in (False, True):
            monkeypatch.setattr(calling_line, "_given", {})
            with opened() as loader:
                loader.load_state_dict(json.loads(json.dumps(state)))
                recwarn.clear()
                if reads_epoch:
                    assert loader.epoch == state["epoch"]
                epochs = [len([*loader]) for _ in range(2)]
                if name != "before":
                    assert epochs == [len(loader)] * 2
                said = [str(one.message) for one in recwarn if one.filename == __file__]
                is_warned = name == "in the loop" and not reads_epoch
                assert len(said) == is_warned, (name, said)
                assert not said or "Loop over range(loader.epoch, epochs)" in said[0]
