"""The logical batches are the same at any thread count, prefetch depth and world size."""

import pyflowdata as flow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.oracle import (
    LAST_BATCH,
    MODES,
    WORLD_SIZES,
    Table,
    deliver_epochs,
    examples,
    joined,
    logical_batches,
    open_loader,
    plain_orders,
    rank_part,
)

SEEDS = (0, 1, 7, 2**40 + 3, 9 * 10**18)
EPOCHS = 2


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Table(tmp_path_factory.mktemp("parts"), [17, 0, 24, 1, 19])


@pytest.fixture(scope="module")
def orders(table):
    """orders(mode, seed): those of the epochs to be read and of the one that follows."""
    known = {}

    def get(mode, seed):
        if (mode, seed) not in known:
            known[mode, seed] = plain_orders(table, EPOCHS + 1, seed=seed, **MODES[mode])
        return known[mode, seed]

    return get


def expected(orders, batch_size, last_batch, world_size=1):
    """The model's logical batches of the epochs read; later orders are there to wrap around to."""
    return [
        logical_batches(
            orders[epoch], batch_size, last_batch, sum(orders[epoch + 1 :], []), world_size
        )
        for epoch in range(EPOCHS)
    ]


def enough_orders(table, batch_size, **attrs):
    """The records of the epochs read, and of all epochs that a last batch can wrap around to."""
    return plain_orders(table, EPOCHS + 1 + batch_size // table.size, **attrs)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", MODES)
def test_the_plain_orders_are_what_the_mode_says(table, orders, mode, seed):
    in_file_order = list(range(table.size))
    first, second, third = orders(mode, seed)
    assert all(sorted(order) == in_file_order for order in (first, second, third))
    if mode == "in order":
        assert first == second == third == in_file_order
    elif mode == "one order":
        assert first == second == third != in_file_order
    else:
        assert first != second != third != first
        assert in_file_order not in (first, second, third)


@pytest.mark.parametrize("mode", MODES)
def test_threads_and_prefetch_do_not_change_any_batch_size(table, orders, mode):
    """Each mode with one record and with a third of the sizes, and each size in some mode; all
    together are among the settings of the next test."""
    for batch_size in {1, *range(1 + [*MODES].index(mode) % 3, 41, 3)}:
        num_threads = (1, 2, 7)[batch_size // 3 % 3]
        got = deliver_epochs(
            table,
            EPOCHS,
            batch_size=batch_size,
            seed=7,
            num_threads=num_threads,
            prefetch=1 + (batch_size + num_threads) % 8,
            **MODES[mode],
        )
        assert got == expected(orders(mode, 7), batch_size, "short"), batch_size


@examples(80)
@given(
    seed=st.sampled_from(SEEDS),
    mode=st.sampled_from(list(MODES)),
    batch_size=st.integers(1, 40),
    last_batch=st.sampled_from(LAST_BATCH),
    num_threads=st.sampled_from([1, 2, 7]),
    prefetch=st.integers(1, 8),
)
def test_any_settings_give_the_models_batches(
    table, orders, seed, mode, batch_size, last_batch, num_threads, prefetch
):
    got = deliver_epochs(
        table,
        EPOCHS,
        seed=seed,
        batch_size=batch_size,
        last_batch=last_batch,
        num_threads=num_threads,
        prefetch=prefetch,
        **MODES[mode],
    )
    assert got == expected(orders(mode, seed), batch_size, last_batch)


def all_ranks(table, world_size, **options):
    """[rank][epoch][step], each rank with other threads and another prefetch."""
    return [
        deliver_epochs(
            table,
            EPOCHS,
            rank=rank,
            world_size=world_size,
            num_threads=1 + rank % 3,
            prefetch=1 + (3 * rank) % 8,
            **options,
        )
        for rank in range(world_size)
    ]


def check_ranks(ranks, logical, world_size):
    for epoch, steps in enumerate(logical):
        assert {len(rank[epoch]) for rank in ranks} == {len(steps)}, "every rank takes every step"
        for at, step in enumerate(steps):
            parts = [rank[epoch][at] for rank in ranks]
            assert joined(parts) == step
            assert parts == [rank_part(step, rank, world_size) for rank in range(world_size)]


@pytest.mark.parametrize("last_batch", LAST_BATCH)
@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_ranks_are_slices_of_the_logical_batches(table, orders, world_size, last_batch):
    """Each mode at each world size, and "wrap", which needs the order of the next epoch, in all."""
    modes = [("in order", 3), ("one order", 1), ("new orders", 2)]
    at = WORLD_SIZES.index(world_size) + LAST_BATCH.index(last_batch)
    for mode, rows_per_rank in modes if last_batch == "wrap" else modes[at % 3 :][:1]:
        batch_size = rows_per_rank * world_size
        ranks = all_ranks(
            table, world_size, batch_size=batch_size, last_batch=last_batch, seed=1, **MODES[mode]
        )
        logical = expected(orders(mode, 1), batch_size, last_batch, world_size)
        check_ranks(ranks, logical, world_size)
        for epoch in range(EPOCHS):
            seen = [
                i
                for rank in ranks
                for step in rank[epoch]
                for i, real in zip(step.ordinals, step.mask)
                if real
            ]
            rest = table.size % batch_size
            lost = {"drop": rest, "even": rest % world_size}.get(last_batch, 0)
            assert len(seen) == len(set(seen)) == table.size - lost


@pytest.mark.parametrize("last_batch", LAST_BATCH)
@pytest.mark.parametrize("world_size, rows_per_rank", [(4, 1), (5, 2), (8, 1)])
def test_more_ranks_than_parts_and_than_records(tmp_path, world_size, rows_per_rank, last_batch):
    table = Table(tmp_path, [2, 1])
    batch_size = rows_per_rank * world_size
    options = dict(seed=5, random_shuffle=True, shuffle_after_epoch=True)
    ranks = all_ranks(table, world_size, batch_size=batch_size, last_batch=last_batch, **options)
    orders = enough_orders(table, batch_size, **options)
    logical = expected(orders, batch_size, last_batch, world_size)
    assert len(logical[0]) == (0 if last_batch in ("drop", "even") else 1)
    check_ranks(ranks, logical, world_size)


@examples(40)
@given(
    counts=st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any),
    world_size=st.sampled_from(WORLD_SIZES),
    rows_per_rank=st.integers(1, 5),
    last_batch=st.sampled_from(LAST_BATCH),
    mode=st.sampled_from(list(MODES)),
    seed=st.sampled_from(SEEDS),
)
def test_any_parts_on_any_ranks(
    tmp_path_factory, counts, world_size, rows_per_rank, last_batch, mode, seed
):
    table = Table(tmp_path_factory.mktemp("any"), counts)
    batch_size = rows_per_rank * world_size
    options = dict(seed=seed, **MODES[mode])
    ranks = all_ranks(table, world_size, batch_size=batch_size, last_batch=last_batch, **options)
    orders = enough_orders(table, batch_size, **options)
    logical = expected(orders, batch_size, last_batch, world_size)
    check_ranks(ranks, logical, world_size)


@pytest.mark.parametrize("world_size, near", [(4, ("8", "12")), (3, ("9", "12")), (8, ("8", "16"))])
def test_a_batch_that_does_not_divide_is_refused_with_the_nearest_sizes(table, world_size, near):
    with pytest.raises(flow.InvalidArgumentError) as caught:
        open_loader(table, batch_size=10, world_size=world_size, rank=0)
    message = str(caught.value)
    assert all(word in message for word in ("batch_size", "10", "world_size", *near))


def test_a_rank_outside_the_world_is_refused(table):
    with pytest.raises(flow.InvalidArgumentError, match="rank"):
        open_loader(table, batch_size=4, rank=2, world_size=2)
