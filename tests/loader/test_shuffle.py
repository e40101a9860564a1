"""The choice of a shuffle: which orders there are, how far they reach, and how well they mix."""

import functools
import itertools
import math

import numpy as np
import pyflowdata as flow
import pytest

from support.oracle import (  # noqa: F401  (table is a fixture)
    epoch_order,
    open_loader,
    orders_of_numbers,
    plain_orders,
    table,
    window_order,
)

# Blocks of 3 in windows of 2 of 20 records, seed 7: the same on every machine, for ever.
GOLDEN = [7, 16, 17, 8, 6, 15, 4, 3, 9, 11, 5, 10, 0, 1, 19, 18, 2, 13, 14, 12]


def orders(table, epochs=1, batches_of=None, **attrs):
    """The orders of the first epochs, as arrays of ordinals."""
    attrs = {"shuffle_after_epoch": True, "seed": 7, **attrs}
    _, ids = flow.MiniReader(
        str(table.folder), batch_size=batches_of or table.size, with_id=True, **attrs
    )
    with flow.DataLoader(ids, num_threads=2) as loader:
        return [np.concatenate([batch[:, 1] for batch in loader]) for _ in range(epochs)]


def window(block_size, blocks):
    return dict(shuffle="window", shuffle_block_size=block_size, shuffle_window=blocks)


# ---- Which shuffle -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attrs, kind",
    [
        ({}, "none"),
        ({"random_shuffle": True}, "global"),
        ({"shuffle": "auto"}, "none"),
        ({"shuffle": "auto", "random_shuffle": True}, "global"),
        ({"shuffle": "none"}, "none"),
        ({"shuffle": "global"}, "global"),
        ({"shuffle": "global", "random_shuffle": True}, "global"),
        ({"shuffle": "window"}, "window"),
        ({"shuffle": "window", "random_shuffle": True}, "window"),
        ({"shuffle": "buffer"}, "buffer"),
        ({"shuffle": "buffer", "random_shuffle": True}, "buffer"),
    ],
)
def test_what_the_attrs_ask_for(table, attrs, kind):
    details = {"shuffle_buffer_size": 10}
    if kind == "window":
        details |= {"shuffle_block_size": 5, "shuffle_window": 4}
    (order,) = orders(table(100), shuffle_after_epoch=False, **details, **attrs)
    assert sorted(order) == list(range(100))
    if kind == "none":
        assert order.tolist() == list(range(100))
    elif kind == "global":
        assert order.tolist() == epoch_order(7, 0, "MiniReader_0", 100, reshuffle=False)
    elif kind == "window":
        assert order.tolist() == window_order(7, 0, "MiniReader_0", 100, 5, 4)
    else:
        assert (order < np.arange(100) + 10).all(), "no record before it is in the buffer"
        assert order.tolist() != list(range(100))


def test_none_and_random_shuffle_contradict_each_other():
    with pytest.raises(flow.InvalidArgumentError, match="shuffle' asks for.*leave one of the two"):
        flow.MiniReader("data", shuffle="none", random_shuffle=True)


def test_attrs_of_a_window_need_one():
    for attr in ("shuffle_block_size", "shuffle_window", "shuffle_lanes"):
        flow.MiniReader("data", batch_size=4, shuffle="window", **{attr: 2})
        for other in ({}, {"random_shuffle": True}, {"shuffle": "global"}, {"shuffle": "buffer"}):
            with pytest.raises(flow.InvalidArgumentError) as caught:
                flow.MiniReader("data", batch_size=4, **other, **{attr: 2})
            assert caught.value.attr == attr


def test_warnings_follow_the_shuffle_that_is_in_use(table, recwarn):
    for attrs in ({"shuffle": "window"}, {"shuffle": "buffer"}, {"shuffle": "global"}):
        orders(table(100), name="shuffled by " + attrs["shuffle"], **attrs)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="shuffle_after_epoch=True has no effect"):
        orders(table(100), name="not shuffled at all", shuffle="none")
    ranks = dict(batch_size=4, rank=0, world_size=2, shuffle="window", name="without a seed")
    with pytest.warns(UserWarning, match="Give a seed"):
        open_loader(table(100), **ranks).close()


@pytest.mark.parametrize("kind", ["global", "window", "buffer"])
def test_a_new_order_after_each_epoch_or_the_same(table, kind):
    attrs = {**(window(5, 4) if kind == "window" else {"shuffle": kind}), "shuffle_buffer_size": 10}
    new = orders(table(100), 4, **attrs)
    same = orders(table(100), 4, **{**attrs, "shuffle_after_epoch": False})
    assert len({tuple(order) for order in new}) == 4
    assert {tuple(order) for order in same} == {tuple(new[0])}


# ---- Windows: the order --------------------------------------------------------------------------


def test_golden_window_order(table):
    (order,) = orders(table(20), **window(3, 2))
    assert order.tolist() == GOLDEN == window_order(7, 0, "MiniReader_0", 20, 3, 2)


@pytest.mark.parametrize("size", [1, 2, 19, 64, 99, 100, 101, 777])
@pytest.mark.parametrize("block_size, blocks", [(1, 30), (7, 5), (10, 10), (50, 3), (1000, 2)])
def test_window_order_is_the_models(table, size, block_size, blocks):
    attrs = window(block_size, blocks)
    for epoch, order in enumerate(orders(table(size), 3, order_key="a key", **attrs)):
        assert order.tolist() == window_order(7, epoch, "a key", size, block_size, blocks)


@pytest.mark.parametrize("size", [1999, 2000, 2001, 5003])
@pytest.mark.parametrize("block_size, blocks", [(10, 4), (64, 8), (333, 2)])
def test_window_order_has_every_record_once(table, size, block_size, blocks):
    for order in orders(table(size), 3, **window(block_size, blocks)):
        assert sorted(order) == list(range(size))


@pytest.mark.parametrize("batch_size", [1, 7, 64, 333])
def test_batches_cut_the_window_order_and_do_not_change_it(table, batch_size):
    attrs = window(10, 40)
    whole = orders(table(5003), 2, **attrs)
    got = orders(table(5003), 2, batches_of=batch_size, **attrs)
    assert all(np.array_equal(a, b) for a, b in zip(whole, got, strict=True))


def test_one_window_of_all_blocks_is_one_permutation(table):
    """No trace of the blocks is left: neighbours in the file are neighbours as often as in a true
    shuffle, once in an epoch each way, and fall on every position alike."""
    size, epochs = 60, 1500
    found = np.array(orders(table(size), epochs, **window(6, 10)))
    steps = np.diff(found, axis=1)
    for step in (1, -1):
        pairs = np.count_nonzero(steps == step)
        expected = epochs * (size - 1) / size
        assert abs(pairs - expected) < 5 * math.sqrt(expected)
    counts = np.stack([np.bincount(column, minlength=size) for column in found.T])
    chi_square = np.sum((counts - epochs / size) ** 2) / (epochs / size)
    freedom = (size - 1) ** 2
    assert abs(chi_square - freedom) < 5 * math.sqrt(2 * freedom)


def test_every_record_comes_at_every_position_equally_often(table):
    size, epochs = 48, 2000
    found = np.array(orders(table(size), epochs, **window(4, 3)))
    counts = np.stack([np.bincount(column, minlength=size) for column in found.T])
    chi_square = np.sum((counts - epochs / size) ** 2) / (epochs / size)
    # Records of a block come in one window, so the counts vary together: more than by themselves.
    freedom = (size - 1) ** 2
    assert abs(chi_square - freedom) < 0.25 * freedom


# ---- Windows: locality ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4000, 4001, 4037])
@pytest.mark.parametrize("block_size, blocks", [(10, 8), (25, 16), (100, 3)])
def test_a_block_is_read_in_one_window(table, size, block_size, blocks):
    num_blocks = -(-size // block_size)
    for order in orders(table(size), 3, **window(block_size, blocks)):
        block_of = order // block_size
        _, first = np.unique(block_of, return_index=True)
        _, from_end = np.unique(block_of[::-1], return_index=True)
        last = size - 1 - from_end
        assert len(first) == num_blocks
        assert (last - first < block_size * blocks).all(), "a block spans a window at most"
        in_use = np.cumsum(np.bincount(first, minlength=size))
        in_use -= np.cumsum(np.bincount(last + 1, minlength=size))[:size]
        assert in_use.max() <= blocks, "what is started and not done is of one window"
        for batch_size in (5, 32, 64):
            windows = 2  # as a batch is no longer than a window
            pairs = np.unique(np.arange(size) // batch_size * num_blocks + block_of)
            assert np.bincount(pairs // num_blocks).max() <= min(batch_size, windows * blocks)


# ---- How well it mixes: formulas of docs/concepts/shuffle.md -------------------------------------


def exact_variance_ratio(batch, blocks, num_blocks, block_size):
    """The ratio of batch means' variance to independent draws, if a block's records have one value.

    The window's mean (blocks drawn without replacement), and the batch's about it (records drawn
    without replacement).
    """
    between = (num_blocks - blocks) / (num_blocks - 1) / blocks
    within = num_blocks * (blocks - 1) / ((num_blocks - 1) * blocks)
    records = blocks * block_size
    return batch * between + within * (records - batch) / (records - 1)


def log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def exact_coverage(batch, blocks, num_blocks, block_size, classes):
    """Distinct labels of a batch, where each label is that of as many blocks."""
    own = num_blocks // classes
    missed = 0.0
    for k in range(min(own, blocks) + 1):
        if blocks - k > num_blocks - own or batch > (blocks - k) * block_size:
            continue
        in_window = log_choose(own, k) + log_choose(num_blocks - own, blocks - k)
        in_window -= log_choose(num_blocks, blocks)
        none_drawn = log_choose((blocks - k) * block_size, batch)
        none_drawn -= log_choose(blocks * block_size, batch)
        missed += math.exp(in_window + none_drawn)
    return classes * (1 - missed)


def mean_and_error(samples):
    return np.mean(samples), np.std(samples, ddof=1) / math.sqrt(len(samples))


SORTED = 48000  # records, in the order of their labels


@pytest.fixture(scope="module")
def sorted_orders():
    """A function of a window: its first 60 orders of the sorted records, which several tests look
    at."""

    @functools.cache
    def get(block_size, blocks):
        return orders_of_numbers(
            SORTED, 60, seed=7, kind="window", block_size=block_size, window=blocks
        )

    return get


@pytest.mark.slow
@pytest.mark.parametrize(
    "batch, block_size, blocks",
    [(64, 16, 300), (40, 20, 8), (40, 20, 40), (160, 20, 40), (100, 8, 150), (120, 48, 10)],
)
def test_variance_of_batch_means_follows_the_formula(sorted_orders, batch, block_size, blocks):
    num_blocks = SORTED // block_size
    assert num_blocks % blocks == 0 and block_size * blocks % batch == 0, "no batch in two windows"
    values = np.arange(SORTED) // block_size
    independent = values.var() / batch
    ratios = []
    for order in sorted_orders(block_size, blocks):
        means = values[order].reshape(-1, batch).mean(axis=1)
        ratios.append(np.mean((means - values.mean()) ** 2) / independent)
    ratio, error = mean_and_error(ratios)
    assert error < 0.04 * ratio, "sharp enough to mean something"
    assert abs(ratio - exact_variance_ratio(batch, blocks, num_blocks, block_size)) < 5 * error
    simple = 1 + batch / blocks
    assert 0.8 * simple < ratio < simple + 5 * error, "what the docs promise is the worst case"


@pytest.mark.slow
def test_variance_of_batch_means_of_the_others():
    """Global is what independent draws are; a buffer far smaller than the data mixes nothing."""
    batch, values = 60, np.arange(SORTED)
    found = {}
    for kind in ("none", "global", "buffer"):
        ratios = []
        shuffle = {"none": {}, "global": {"kind": kind},
                   "buffer": {"kind": kind, "buffer_size": 500}}[kind]  # fmt: skip
        for order in orders_of_numbers(SORTED, 40, **shuffle and {"seed": 7, **shuffle}):
            means = values[order].reshape(-1, batch).mean(axis=1)
            ratios.append(np.mean((means - values.mean()) ** 2) / (values.var() / batch))
        found[kind] = mean_and_error(ratios)
    ratio, error = found["global"]
    assert abs(ratio - (SORTED - batch) / (SORTED - 1)) < 5 * error < 0.1
    assert abs(found["none"][0] - batch) < 0.01 * batch
    assert found["buffer"][0] > 0.9 * batch


@pytest.mark.slow
@pytest.mark.parametrize(
    "batch, block_size, blocks, classes",
    [(64, 16, 60, 100), (40, 20, 8, 2400), (160, 20, 40, 120), (100, 8, 150, 60), (60, 48, 10, 20)],
)
def test_labels_of_a_batch_follow_the_formula(
    sorted_orders, batch, block_size, blocks, classes
):
    num_blocks = SORTED // block_size
    assert num_blocks % blocks == 0 and block_size * blocks % batch == 0, "no batch in two windows"
    labels = np.arange(SORTED) // (SORTED // classes)
    found = []
    for order in sorted_orders(block_size, blocks)[:30]:
        batches = np.sort(labels[order].reshape(-1, batch), axis=1)
        found.append(np.mean(1 + np.count_nonzero(np.diff(batches, axis=1), axis=1)))
    coverage, error = mean_and_error(found)
    expected = exact_coverage(batch, blocks, num_blocks, block_size, classes)
    assert error < 0.01 * coverage
    assert abs(coverage - expected) < 5 * error


# ---- State ---------------------------------------------------------------------------------------


def spec_of(table, **attrs):
    with open_loader(table, batch_size=4, seed=1, **attrs) as loader:
        return loader.state_dict()["readers"]["MiniReader_0"]["spec"]


def test_only_what_decides_the_order_is_in_the_state(table):
    small = table(20)
    plain, mixed = spec_of(small), spec_of(small, random_shuffle=True)
    assert list(plain) == list(mixed) and not {"shuffle", "shuffle_window"} & plain.keys()
    assert spec_of(small, shuffle="none", shuffle_buffer_size=1024) == plain
    assert spec_of(small, shuffle="global") == mixed
    assert spec_of(small, shuffle="global", random_shuffle=True) == mixed
    assert spec_of(small, shuffle="buffer") == {**mixed, "shuffle": "buffer"}
    by_window = {"shuffle": "window", "shuffle_block_size": "5", "shuffle_window": "4"}
    assert spec_of(small, **window(5, 4)) == {**mixed, **by_window}


def test_a_state_of_another_shuffle_is_refused_in_words(table):
    small = table(20)
    options = dict(batch_size=4, seed=1)
    with open_loader(small, random_shuffle=True, **options) as loader:
        state = loader.state_dict()
    with open_loader(small, shuffle="global", **options) as loader:
        loader.load_state_dict(state)
    with open_loader(small, **window(5, 4), **options) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="shuffle = window"):
            loader.load_state_dict(state)
        of_window = loader.state_dict()
    with open_loader(small, **window(5, 3), **options) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="shuffle_window = 3, in the state 4"):
            loader.load_state_dict(of_window)


def test_resume_anywhere_in_windows_costs_the_same(table):
    """A state far into an epoch is sought by arithmetic."""
    attrs = dict(batch_size=100, seed=5, num_threads=2, prefetch=4, **window(64, 20))
    with open_loader(table(SORTED), **attrs) as loader:
        whole = [ids[:, 1].tolist() for _, _, ids in loader]
    for stop in (1, 7, 13, 240, 479):
        with open_loader(table(SORTED), **attrs) as loader:
            for _ in itertools.islice(loader, stop):
                pass
            state = loader.state_dict()
        with open_loader(table(SORTED), **{**attrs, "num_threads": 1}) as loader:
            loader.load_state_dict(state)
            assert [ids[:, 1].tolist() for _, _, ids in itertools.islice(loader, 3)] == whole[
                stop : stop + 3
            ]
            assert loader.stats()["bytes"] < 200 * 100 * 20, "nothing before it was read"


# ---- A buffer over files -------------------------------------------------------------------------


@pytest.mark.parametrize("last_batch, steps", [("short", 15), ("drop", 14), ("pad", 15)])
def test_a_buffer_over_files_has_a_length(table, last_batch, steps):
    attrs = dict(shuffle="buffer", shuffle_buffer_size=10, batch_size=7, last_batch=last_batch)
    with open_loader(table(100), seed=1, **attrs) as loader:
        assert len(loader) == steps == len(list(loader)) and f"steps={steps}" in repr(loader)


def test_two_buffers_with_one_key_stay_paired(table):
    attrs = dict(batch_size=6, seed=1, order_key="both", shuffle="buffer", shuffle_buffer_size=8)
    left, right = (flow.MiniReader(str(table(100).folder), **attrs) for _ in range(2))
    with flow.DataLoader(left, right) as loader:
        assert len(loader) == 17
        for a, b in loader:
            assert np.array_equal(a, b)


@pytest.mark.parametrize("buffer_size", [1, 10, 99, 1000])
def test_a_buffer_reaches_as_far_as_it_is_large(table, buffer_size):
    for order in plain_orders(table(100), 3, seed=2, shuffle="buffer", shuffle_after_epoch=True,
                              shuffle_buffer_size=buffer_size):  # fmt: skip
        assert sorted(order) == list(range(100))
        assert all(i < at + buffer_size for at, i in enumerate(order))
