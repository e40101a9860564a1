"""shuffle="window" in lanes: the order, the blocks that a rank reads, and how well it mixes."""

import itertools

import numpy as np
import pyflowdata as flow
import pytest

from support.oracle import (  # noqa: F401  (table is a fixture)
    SANITIZED,
    deliver,
    joined,
    lanes,
    lanes_order,
    logical_batches,
    open_loader,
    orders_of_numbers,
    rank_part,
    step_of,
    table,
    window_order,
)

KEY = "MiniReader_0"


def in_lanes(num_lanes, block_size, blocks, **attrs):
    window = dict(shuffle_block_size=block_size, shuffle_window=blocks)
    attrs = {"shuffle_after_epoch": True, "seed": 7, **attrs}
    return dict(shuffle="window", shuffle_lanes=num_lanes, **window, **attrs)


def epochs_of(table, epochs, **attrs):
    """The orders of the first epochs, as arrays of ordinals."""
    _, ids = flow.MiniReader(str(table.folder), with_id=True, **attrs)
    with flow.DataLoader(ids, num_threads=2) as loader:
        return [np.concatenate([batch[:, 1] for batch in loader]) for _ in range(epochs)]


# ---- The order -----------------------------------------------------------------------------------


def test_one_lane_is_a_window_shuffle(table):
    for epoch, order in enumerate(epochs_of(table(100), 2, batch_size=10, **in_lanes(1, 7, 3))):
        assert order.tolist() == window_order(7, epoch, KEY, 100, 7, 3)


def test_the_order_is_the_models(table):
    """Also where lanes have no whole block, or no record at all, and where the last block is the
    only one."""
    settings = [(1, 30), (7, 5), (50, 3), (1000, 2)]
    sizes = [1, 19, 101] if SANITIZED else [1, 3, 19, 64, 101, 333]
    dealt = [(2, 2), (4, 12), (8, 64), (10, 200)]
    for size, (block_size, blocks), (num_lanes, batch_size) in itertools.product(
        sizes, settings, dealt
    ):
        attrs = in_lanes(num_lanes, block_size, blocks, batch_size=batch_size)
        for epoch, order in enumerate(epochs_of(table(size), 2, **attrs)):
            expected = lanes_order(
                7, epoch, KEY, size, block_size, blocks, num_lanes, batch_size
            )
            assert order.tolist() == expected, (size, attrs, epoch)
            assert sorted(expected) == list(range(size))


def test_the_models_lanes_are_fair():
    """The rule as it is promised: no lane is more than a record longer than another, all records
    are in one, and only the remaining blocks are in several."""
    sizes, block_sizes = [1, 5, 64, 99, 100, 1000], [1, 7, 50]
    for n, block_size, num_lanes in itertools.product(sizes, block_sizes, [2, 5, 8]):
        found = lanes(3, "a key", n, block_size, num_lanes)
        sizes = [len(lane) for lane in found]
        assert sorted(i for lane in found for i in lane) == list(range(n))
        assert max(sizes) - min(sizes) <= 1 and sizes == sorted(sizes, reverse=True)
        owners = {}
        for number, lane in enumerate(found):
            for i in lane:
                owners.setdefault(i // block_size, set()).add(number)
        shared = [block for block, lanes_of in owners.items() if len(lanes_of) > 1]
        num_full = (n - 1) // block_size
        assert len(shared) <= num_full % num_lanes + 1
        assert sum(len(lanes_of) for lanes_of in owners.values()) <= len(owners) + num_lanes


def test_a_data_set_has_lanes_too(table):
    """The same order as of its reader, for the same order key."""
    x, _ = flow.MiniDecoder(flow.MiniReader(str(table(333).folder)))
    shuffled = flow.Dataset({"x": x}).shuffle(
        seed=7, kind="window", block_size=7, window=5, lanes=4, order_key=KEY
    )
    with flow.DataLoader(shuffled.batch(12)["x"]) as loader:
        order = np.concatenate([batch[:, 0] for batch in loader])
    assert order.tolist() == lanes_order(7, 0, KEY, 333, 7, 5, 4, 12)


# ---- Ranks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("last_batch", ["short", "drop", "pad", "wrap"])
def test_batches_are_the_same_at_any_world_size(table, last_batch):
    size, shape = 1009, (8, 12, 4)
    attrs = in_lanes(*shape, batch_size=24, last_batch=last_batch)
    order = [lanes_order(7, epoch, KEY, size, 12, 4, 8, 24) for epoch in range(3)]
    for world_size in (1, 2, 3, 4, 8):
        loaders = [
            open_loader(table(size), rank=rank, world_size=world_size, num_threads=2, **attrs)
            for rank in range(world_size)
        ]
        for epoch in range(2):
            steps = logical_batches(order[epoch], 24, last_batch, order[epoch + 1])
            ranks = [deliver(table(size), loader) for loader in loaders]
            for step, *got in zip(steps, *ranks, strict=True):
                assert joined(got) == step
                assert got == [rank_part(step, r, world_size) for r in range(world_size)]
        for loader in loaders:
            loader.close()


def blocks_of_ranks(table, world_size, block_size, epochs, **attrs):
    """For each rank, the blocks of which it has read records."""
    found = []
    for rank in range(world_size):
        got = epochs_of(table, epochs, rank=rank, world_size=world_size, **attrs)
        found.append(set((np.concatenate(got) // block_size).tolist()))
    return found


def test_ranks_read_disjoint_blocks(table):
    """Over several epochs, with blocks that divide evenly, and with ones that do not."""
    block_size, num_lanes, batch = 10, 8, 48
    for size in (2400, 2437):
        num_full = (size - 1) // block_size
        remaining = num_full % num_lanes + 1
        for world_size in (2, 4, 8):
            attrs = in_lanes(num_lanes, block_size, 5, batch_size=batch, last_batch="drop")
            found = blocks_of_ranks(table(size), world_size, block_size, 3, **attrs)
            in_several = sum(len(blocks) for blocks in found) - len(set.union(*found))
            assert in_several <= world_size, "a remaining block may have two ends"
            shared = {b for x, y in itertools.combinations(found, 2) for b in x & y}
            assert len(shared) <= remaining
            most = num_full // num_lanes * (num_lanes // world_size) + num_lanes // world_size + 2
            assert max(len(blocks) for blocks in found) <= most
            plain = {**attrs, "shuffle_lanes": 1}
            without = blocks_of_ranks(table(size), world_size, block_size, 3, **plain)
            assert min(len(blocks) for blocks in without) > 0.9 * num_full


def test_a_lane_that_ranks_share_is_read_by_these_alone(table):
    """World sizes that do not divide the lanes: still only the lanes of the rows."""
    attrs = in_lanes(4, 10, 5, batch_size=24, last_batch="drop")
    own = [set(np.array(lane) // 10) for lane in lanes(7, KEY, 4000, 10, 4)]
    for world_size, of_rank in ((3, [{0, 1}, {1, 2}, {2, 3}]), (8, [{r // 2} for r in range(8)])):
        found = blocks_of_ranks(table(4000), world_size, 10, 2, **attrs)
        for rank, blocks in enumerate(found):
            assert blocks <= set.union(*(own[lane] for lane in of_rank[rank]))


def test_a_window_of_a_lane_keeps_its_blocks_together(table):
    """While a lane is in a window, only that window's blocks are touched."""
    block_size, blocks, num_lanes, batch = 10, 6, 4, 40
    attrs = in_lanes(num_lanes, block_size, blocks, batch_size=batch)
    for order in epochs_of(table(9757), 2, **attrs):
        rows = order[: len(order) // batch * batch].reshape(-1, num_lanes, batch // num_lanes)
        for lane in range(num_lanes):
            of_lane = rows[:, lane].ravel() // block_size
            first = {b: int(np.flatnonzero(of_lane == b)[0]) for b in set(of_lane)}
            last = {b: int(np.flatnonzero(of_lane == b)[-1]) for b in set(of_lane)}
            in_use = [
                sum(first[b] <= p <= last[b] for b in first) for p in range(0, len(of_lane), 7)
            ]
            assert max(in_use) <= blocks + 1, "a part may be of two blocks"


def test_resume_in_the_middle_at_another_world_size(table):
    size, attrs = 1009, in_lanes(4, 12, 4, batch_size=24)
    expected = []
    for epoch in range(2):
        order = lanes_order(7, epoch, KEY, size, 12, 4, 4, 24)
        expected += logical_batches(order, 24, "short")
    at, per_epoch, state = 0, len(expected) // 2, None
    for world_size, steps in ((4, 9), (3, 17), (1, 20), (8, 25), (2, 13)):
        loaders = [
            open_loader(table(size), rank=rank, world_size=world_size, **attrs)
            for rank in range(world_size)
        ]
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(state)
        iterators = [iter(loader) for loader in loaders]
        for _ in range(steps):
            if at and at % per_epoch == 0:
                iterators = [iter(loader) for loader in loaders]
            parts = [step_of(table(size), next(batches)) for batches in iterators]
            assert joined(parts) == expected[at], (world_size, at)
            at += 1
        states = [loader.state_dict() for loader in loaders]
        state = states[0]
        assert all(other == state for other in states)
        for loader in loaders:
            loader.close()
    assert at == 84 == len(expected) - 2


# ---- How well it mixes ---------------------------------------------------------------------------


def variance_of_means(rows, num_lanes, window, block_size, values, in_lane):
    """The exact variance of batch means: lanes add up, each is a window shuffle of its own blocks.

    In a lane, the window's mean (blocks drawn without replacement), and the batch's about it
    (records drawn without replacement); the values of a block are equal.
    """
    total = 0.0
    for lane in in_lane:
        of_blocks = values[np.array(lane)].reshape(-1, block_size)[:, 0]
        n = len(of_blocks)
        between = of_blocks.var() / window * (n - window) / (n - 1)
        within = of_blocks.var() * n * (window - 1) / ((n - 1) * window)
        records = window * block_size
        total += between + within / rows * (records - rows) / (records - 1)
    return total / num_lanes**2


@pytest.mark.slow
@pytest.mark.parametrize(
    "num_lanes, batch, block_size, window", [(4, 80, 20, 30), (8, 64, 16, 25), (2, 60, 60, 10)]
)
def test_variance_of_batch_means_follows_the_formula(num_lanes, batch, block_size, window):
    size = 48000 + block_size  # the last block is a remaining one, as it has to be
    num_blocks, rows = 48000 // block_size, batch // num_lanes
    of_lane = num_blocks // num_lanes
    assert of_lane % window == 0 and num_blocks % num_lanes == 0
    values = np.arange(size) // block_size
    in_lane = [lane[: of_lane * block_size] for lane in lanes(7, KEY, size, block_size, num_lanes)]
    mean = np.mean([values[np.array(lane)].mean() for lane in in_lane])
    ratios = []
    shuffle = dict(kind="window", block_size=block_size, window=window, lanes=num_lanes)
    for order in orders_of_numbers(size, 40, batch, seed=7, order_key=KEY, **shuffle):
        means = values[order[: len(order) // batch * batch]].reshape(-1, batch).mean(axis=1)
        ratios.append(np.mean((means - mean) ** 2) / (values.var() / batch))
    ratio, error = np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    exact = variance_of_means(rows, num_lanes, window, block_size, values, in_lane)
    assert error < 0.05 * ratio, "sharp enough to mean something"
    assert abs(ratio - exact / (values.var() / batch)) < 5 * error + 0.01 * ratio
    assert abs(ratio - (1 + batch / (num_lanes * window))) < 0.2 * ratio, "the form in the docs"


# ---- Attrs and states ----------------------------------------------------------------------------


def test_sizes_that_lanes_do_not_divide_are_refused():
    attrs = dict(shuffle="window", shuffle_lanes=4)
    for more, words in (
        (dict(batch_size=30), "divisible by shuffle_lanes = 4: the nearest sizes are 28 and 32"),
        (dict(batch_size=3), "shuffle_lanes = 4: the smallest size is 4"),
        (
            dict(batch_size=18, rank=0, world_size=6),
            "shuffle_lanes = 4 and by world_size = 6: the nearest sizes are 12 and 24",
        ),
        (dict(batch_size=4, shuffle_lanes=0), "'shuffle_lanes' = 0; it must be in"),
    ):
        with pytest.raises(flow.InvalidArgumentError) as caught:
            flow.MiniReader("data", **{**attrs, **more})
        assert words in str(caught.value)


def test_lanes_are_part_of_a_state_where_there_are_any(table):
    def spec(**attrs):
        with open_loader(table(100), batch_size=12, seed=1, **attrs) as loader:
            state = loader.state_dict()
            return state, state["readers"][KEY]["spec"]

    plain, one = spec(shuffle="window"), spec(shuffle="window", shuffle_lanes=1)
    assert plain == one and "shuffle_lanes" not in plain[1]
    three, of_three = spec(shuffle="window", shuffle_lanes=3)
    assert of_three == {**plain[1], "shuffle_lanes": "3"}
    with open_loader(table(100), batch_size=12, seed=1, shuffle="window") as loader:
        with pytest.raises(flow.InvalidArgumentError, match="shuffle_lanes"):
            loader.load_state_dict(three)
