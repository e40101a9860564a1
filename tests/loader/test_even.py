"""last_batch="even": every rank has as many rows in every batch, what is left out is counted, and
another world size goes on with the same logical batches."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.oracle import MODES, Table, deliver, joined, logical_batches, open_loader, plain_orders

import pyflowdata as flow
from pyflowdata.native import calling_line

RECORDS = 29  # of batches of 12: a rest of 5
WORLD_SIZES = (1, 2, 3, 4, 6, 12)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Table(tmp_path_factory.mktemp("even"), [11, 0, 13, 5])


def mini(files, **attrs):
    return flow.DataLoader(flow.MiniReader(files, batch_size=12, last_batch="even", **attrs))


def numbers(batch) -> list[int]:
    return batch[:, 0].astype(int).tolist()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("before, after", [(1, 4), (4, 2), (2, 6), (6, 1), (3, 12)])
def test_a_state_goes_on_in_another_world_with_its_own_cut(table, mode, before, after):
    """The rest of an epoch is that of the new world: what the old one did does not count."""
    options = dict(batch_size=12, last_batch="even", seed=11, **MODES[mode])
    orders = plain_orders(table, 3, seed=11, **MODES[mode])
    cut = {world: [logical_batches(order, 12, "even", world_size=world) for order in orders]
           for world in (before, after)}  # fmt: skip
    states = []
    with open_loader(table, rank=before - 1, world_size=before, **options) as loader:
        states.append(loader.state_dict())
        for _ in range(2):
            for _batch in loader:
                states.append(loader.state_dict())
    assert len(states) == 1 + len(cut[before][0]) + len(cut[before][1])
    states = [json.loads(json.dumps(state)) for state in states]
    rests = []  # of each rank, of each state: the first one is taken by a loader that did nothing
    for rank in range(after):
        with open_loader(table, rank=rank, world_size=after, **options) as loader:
            rests.append({})
            for at in sorted(range(len(states)), key=lambda at: (at + rank) % len(states)):
                state = states[at]
                loader.load_state_dict(state)
                is_over = state["position"] == len(cut[after][0])  # no step is left in this world
                epochs = range(3 - state["epoch"] - is_over)
                rests[-1][at] = [step for _ in epochs for step in deliver(table, loader)]
    for at, state in enumerate(states):
        ranks = [of_rank[at] for of_rank in rests]
        steps = [joined(parts) for parts in zip(*ranks, strict=True)]
        whole = [step for epoch in cut[after][state["epoch"] :] for step in epoch]
        assert steps == whole[state["position"] :]
        assert all(len({len(part.ordinals) for part in parts}) == 1 for parts in zip(*ranks))


def test_another_rule_is_refused_by_a_state(table):
    with open_loader(table, batch_size=12, last_batch="even") as even:
        state = even.state_dict()
    with open_loader(table, batch_size=12) as short:
        with pytest.raises(flow.InvalidArgumentError, match="= short, in the state even"):
            short.load_state_dict(state)


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_what_is_left_out_is_counted_and_said(table, world_size):
    left_out = 5 % world_size
    with mini(str(table.folder), rank=0, world_size=world_size) as loader:
        (reader,) = loader.readers
        assert reader.left_out == left_out
        assert (f"records=29 ({left_out} left out)" in repr(loader)) == (left_out > 0)
        assert len(loader) == 2 + (world_size <= 5) == len(list(loader))
        assert len(list(loader)) == len(loader)
        assert loader.stats()["left_out"] == 2 * left_out
        said = f"{2 * left_out} left out by last_batch" in str(loader.report())
        assert said == (left_out > 0)


def test_other_rules_say_what_they_leave_out(table):
    for rule, left_out in {"short": 0, "drop": 5, "pad": 0, "wrap": 0}.items():
        blob = flow.MiniReader(str(table.folder), batch_size=12, last_batch=rule)
        with flow.DataLoader(blob) as loader:
            list(loader)
            assert loader.readers[0].left_out == loader.stats()["left_out"] == left_out


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_a_stream_is_cut_at_its_end(tmp_path: Path, world_size):
    text = b"".join(b"%d,0\n" % i for i in range(RECORDS))
    (tmp_path / "part-0").write_bytes(gzip.compress(text))
    ranks = []
    for rank in range(world_size):
        with mini(str(tmp_path), rank=rank, world_size=world_size) as loader:
            assert loader.readers[0].left_out == -1  # the records are not counted yet
            ranks.append([[numbers(batch) for batch in loader] for _ in range(2)])
            assert loader.stats()["left_out"] == 2 * (5 % world_size)
    for epoch in range(2):
        steps = [sum(parts, []) for parts in zip(*(rank[epoch] for rank in ranks), strict=True)]
        assert sum(steps, []) == list(range(RECORDS - 5 % world_size))
        per_rank = {len(rows) for rank in ranks for rows in rank[epoch]}
        assert per_rank == {12 // world_size} | ({5 // world_size} - {0})


def test_batches_of_a_data_set_have_the_same_word(table):
    data = flow.Dataset({"x": flow.MiniReader(str(table.folder))}).shuffle(seed=3)
    parts = []
    for rank in range(2):
        with flow.DataLoader(data.batch(12, last="even", rank=rank, world_size=2)["x"]) as loader:
            parts.append([numbers(batch) for batch in loader])
    assert [len(rows) for rows in parts[0]] == [len(rows) for rows in parts[1]] == [6, 6, 2]
    seen = sum(sum(parts, []), [])
    assert len(set(seen)) == len(seen) == RECORDS - 1


@pytest.mark.usefixtures("test_ops")
def test_batches_that_are_short_anywhere_are_refused(tmp_path: Path):
    (tmp_path / "part-0").write_text("\n".join(f"{i % 3},{i}" for i in range(20)))
    with pytest.raises(flow.UnsupportedError, match="one group each are short in the middle"):
        flow.DataLoader(flow.GroupedReader(str(tmp_path), batch_size=4, last_batch="even"))


# ---- The warning ---------------------------------------------------------------------------------


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calling_line, "_given", {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def test_ranks_without_rows_are_warned_of_once(table, warned):
    for _ in range(2):
        flow.DataLoader(
            flow.MiniReader(str(table.folder), batch_size=12, rank=1, world_size=6)
        ).close()
    (warning,) = warned
    assert warning.category is UserWarning and warning.filename == __file__
    text = str(warning.message)
    assert "5 records for 6 ranks: those from rank 5 on get 0 rows" in text
    assert 'last_batch="even", or data.batch(n, last="even"), leaves such records out' in text


def test_nothing_is_said_where_all_ranks_have_rows(table, warned):
    def loader(**attrs):
        return flow.DataLoader(flow.MiniReader(str(table.folder), batch_size=12, rank=0, **attrs))

    for world_size in (1, 2, 3, 4):
        loader(world_size=world_size).close()
    for rule in ("even", "drop", "pad", "wrap"):
        loader(world_size=6, last_batch=rule).close()
    assert not warned


# ---- Shares of the steps -------------------------------------------------------------------------


def in_turn(shares: list[list]) -> list:
    return [share[i] for i in range(len(shares[0])) for share in shares if i < len(share)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_shares_in_turn_are_the_batches_of_one_loader(tmp_path: Path, count, packed):
    text = b"".join(b"%d,0\n" % i for i in range(RECORDS))
    (tmp_path / "part-0").write_bytes(gzip.compress(text) if packed else text)
    blob = flow.MiniReader(str(tmp_path), batch_size=4, shuffle=True, seed=5)
    with flow.DataLoader(blob) as loader:
        whole = [[numbers(batch) for batch in loader] for _ in range(3)]
    shares = []
    for i in range(count):
        with flow.DataLoader(blob, share=(i, count), prefetch=1 + i) as loader:
            epochs = [[numbers(batch) for batch in loader] for _ in range(3)]
            if not packed:
                assert len(loader) == len(epochs[0])
            shares.append(epochs)
    for epoch in range(3):
        assert in_turn([share[epoch] for share in shares]) == whole[epoch]


@pytest.mark.parametrize("packed", [False, True])
def test_a_share_resumes_after_any_of_its_batches(tmp_path: Path, packed):
    text = b"".join(b"%d,0\n" % i for i in range(RECORDS))
    (tmp_path / "part-0").write_bytes(gzip.compress(text) if packed else text)
    blob = flow.MiniReader(str(tmp_path), batch_size=4, shuffle=True, seed=5)
    for index in range(3):
        batches, states = [], []
        with flow.DataLoader(blob, share=(index, 3)) as loader:
            for _ in range(2):
                for batch in loader:
                    batches.append(numbers(batch))
                    states.append(loader.state_dict())
        with flow.DataLoader(blob, share=(index, 3)) as loader:
            for done, state in reversed([*enumerate(states, 1)]):
                loader.load_state_dict(state)
                rest = [numbers(batch) for _ in range(3 - state["epoch"]) for batch in loader]
                assert rest[: len(batches) - done] == batches[done:]


def test_a_state_of_all_steps_is_taken_up_by_shares(table):
    """Where nothing is left of the epoch for a share, it has no step, and does not run ahead."""
    blob = flow.MiniReader(str(table.folder), batch_size=4, shuffle=True, seed=5)
    with flow.DataLoader(blob) as loader:
        whole = [numbers(batch) for batch in loader]
        loader.seek(6, epoch=0)
        state = loader.state_dict()
    shares = []
    for index in range(4):
        with flow.DataLoader(blob, share=(index, 4)) as loader:
            loader.load_state_dict(state)
            shares.append([numbers(batch) for batch in loader])
            assert loader.epoch == 0
    assert shares == [[], [], [whole[6]], [whole[7]]]


def test_a_share_is_shown_and_checked(table):
    blob = flow.MiniReader(str(table.folder), batch_size=4)
    with flow.DataLoader(blob, share=(1, 3)) as loader:
        assert "steps=3, share=1/3 (as given)" in repr(loader)
        assert np.concatenate(list(loader)).shape[0] == 4 + 4 + 1
    for wrong in [(2, 2), (-1, 2), (0, 0), 3, (0.0, 1), (True, 2)]:
        with pytest.raises(flow.InvalidArgumentError, match="share = "):
            flow.DataLoader(blob, share=wrong)
