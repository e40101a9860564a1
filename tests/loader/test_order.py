"""The order of records: golden, a bijection, uniform, a function of seed, epoch and key only."""

import math
import re

import numpy as np
import pyflowdata as flow
import pytest

from support import programs
from support.oracle import (  # noqa: F401  (table is a fixture)
    MODES,
    epoch_order,
    open_loader,
    plain_orders,
    table,
)

# Orders of 18 records, by (seed, epoch, order key): the same on every machine, for ever.
GOLDEN = {
    (0, 0, "MiniReader_0"): [5, 6, 9, 2, 16, 15, 4, 3, 12, 11, 17, 8, 0, 13, 7, 1, 10, 14],
    (7, 0, "MiniReader_0"): [0, 14, 3, 5, 8, 17, 10, 2, 15, 12, 1, 7, 4, 13, 6, 16, 9, 11],
    (7, 1, "MiniReader_0"): [10, 16, 5, 8, 14, 4, 3, 11, 6, 9, 0, 15, 1, 7, 12, 13, 17, 2],
    (7, 0, "images"): [7, 11, 1, 3, 2, 6, 9, 4, 10, 0, 13, 5, 8, 16, 17, 12, 14, 15],
    (7 + 2**32, 0, "MiniReader_0"): [3, 4, 17, 14, 12, 0, 6, 10, 13, 2, 7, 8, 1, 11, 15, 16, 9, 5],
}
# And the beginnings of long ones: (seed, epoch, order key, records).
GOLDEN_LONG = {
    (1, 2, "big", 1000): [101, 36, 214, 674, 218, 810, 419, 544],
    (1, 2, "big", 4999): [2314, 4347, 4652, 4225, 4930, 839, 4259, 2180],
}


def orders(table, epochs=1, *, reshuffle=True, **attrs):
    """The orders of the first epochs, an epoch in one batch."""
    out, ids = flow.MiniReader(
        str(table.folder),
        batch_size=max(1, table.size),
        random_shuffle=True,
        shuffle_after_epoch=reshuffle,
        with_id=True,
        **attrs,
    )
    with flow.DataLoader(ids, num_threads=1, prefetch=1) as loader:
        return [[i for batch in loader for i in batch[:, 1].tolist()] for _ in range(epochs)]


# ---- Golden --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed, epoch, key", GOLDEN)
def test_golden_orders(table, seed, epoch, key):
    golden = GOLDEN[seed, epoch, key]
    assert epoch_order(seed, epoch, key, 18, reshuffle=True) == golden, "the model"
    assert orders(table(18), epoch + 1, seed=seed, order_key=key)[epoch] == golden
    if key == "MiniReader_0":
        assert orders(table(18), epoch + 1, seed=seed)[epoch] == golden, "the key of no name"


@pytest.mark.parametrize("seed, epoch, key, size", GOLDEN_LONG)
def test_golden_beginnings_of_long_orders(table, seed, epoch, key, size):
    golden = GOLDEN_LONG[seed, epoch, key, size]
    got = orders(table(size), epoch + 1, seed=seed, name=key)[epoch]
    assert got[: len(golden)] == golden
    assert got == epoch_order(seed, epoch, key, size, reshuffle=True)


@pytest.mark.parametrize("seed", [0, 12, 9 * 10**18])
def test_every_small_size_is_a_bijection_and_the_models_order(table, seed):
    """Up to 256 records have one network, and what it gives beyond them is walked into range."""
    for size in [*range(1, 20), *range(25, 201, 8)]:
        first, second = orders(table(size), 2, seed=seed)
        assert sorted(first) == sorted(second) == list(range(size))
        assert first == epoch_order(seed, 0, "MiniReader_0", size, reshuffle=True)
        assert second == epoch_order(seed, 1, "MiniReader_0", size, reshuffle=True)


@pytest.mark.parametrize("size", [255, 256, 257, 1023, 1024, 1025, 2500, 4096, 4097, 5000])
def test_larger_sizes_are_bijections(table, size):
    for order in orders(table(size), 3, seed=size):
        assert sorted(order) == list(range(size))


# ---- What the order depends on -------------------------------------------------------------------


def test_the_same_order_or_a_new_one_after_each_epoch(table):
    same = orders(table(60), 4, seed=7, reshuffle=False)
    new = orders(table(60), 4, seed=7, reshuffle=True)
    assert same[0] == same[1] == same[2] == same[3] == new[0]
    assert len({tuple(order) for order in new}) == 4
    for epoch, order in enumerate(new):
        assert order == epoch_order(7, epoch, "MiniReader_0", 60, reshuffle=True)


def test_no_shuffle_is_file_order_whatever_the_seed(table):
    for seed in (-1, 0, 9):
        assert plain_orders(table(60), 2, seed=seed, **MODES["in order"]) == [list(range(60))] * 2


def test_the_name_is_the_key_unless_a_key_is_given(table):
    (by_name,) = orders(table(60), seed=7, name="left")
    (by_key,) = orders(table(60), seed=7, order_key="left")
    (by_both,) = orders(table(60), seed=7, name="other", order_key="left")
    (other,) = orders(table(60), seed=7, name="other")
    assert by_name == by_key == by_both == epoch_order(7, 0, "left", 60, reshuffle=True) != other


def test_the_order_does_not_depend_on_what_was_opened_before(table):
    (first,) = orders(table(60), seed=7)
    kept = [flow.MiniReader(str(table(18).folder), batch_size=2) for _ in range(3)]
    with flow.DataLoader(kept[0]), flow.DataLoader(kept[1]) as other:
        next(iter(other))
        assert orders(table(60), seed=7) == [first]
    script = f"""
import pyflowdata as flow
out, ids = flow.MiniReader({str(table(60).folder)!r}, batch_size=60, random_shuffle=True,
                           shuffle_after_epoch=True, seed=7, with_id=True)
(batch,) = flow.DataLoader(ids)
print(*batch[:, 1])
"""
    assert [int(word) for word in programs.run(script, check=True).stdout.split()] == first


def unrelated(a, b):
    """No more in common than chance gives, with room of five standard deviations."""
    n = len(a)
    a, b = np.array(a), np.array(b)
    to = np.empty(n, dtype=np.int64)
    to[a] = b
    same_place = int(np.sum(a == b))
    same_neighbour = int(np.sum(to[1:] - to[:-1] == 1))
    correlation = np.corrcoef(a, b)[0, 1]
    assert same_place <= 10 and same_neighbour <= 10, "each is about 1"
    assert abs(correlation) < 5 / math.sqrt(n)


def test_epochs_seeds_and_keys_have_unrelated_orders(table):
    many = table(600)
    found = {("file order", 0): list(range(600))}
    for seed in (0, 1, 2, 1 + 2**32, 2**62):
        for epoch, order in enumerate(orders(many, 3, seed=seed)):
            found[f"seed {seed}", epoch] = order
    for key in ("a", "b", "aa", "MiniReader_1", "MiniReader_00"):
        for epoch, order in enumerate(orders(many, 2, seed=0, order_key=key)):
            found[f"key {key}", epoch] = order
    names = list(found)
    for at, one in enumerate(names):
        for other in names[:at]:
            unrelated(found[one], found[other])


# ---- Uniformity ----------------------------------------------------------------------------------


def check_uniform(counts, freedom, what):
    """Chi-square within five standard deviations of its mean (it has 2 * freedom of variance)."""
    counts = np.asarray(counts, dtype=np.float64)
    chi_square = float(np.sum((counts - counts.mean()) ** 2) / counts.mean())
    assert abs(chi_square - freedom) < 5 * math.sqrt(2 * freedom), (what, chi_square, freedom)


def test_every_record_comes_at_every_position_equally_often(table):
    size, epochs = 17, 3000
    counts = np.zeros((size, size))
    place = np.arange(size)
    for order in orders(table(size), epochs, seed=1):
        counts[place, order] += 1
    check_uniform(counts, (size - 1) ** 2, "position of a record over epochs")


def test_every_record_comes_first_equally_often_over_seeds(table):
    size, seeds = 7, 350
    counts = np.zeros((size, size))
    place = np.arange(size)
    attrs = dict(batch_size=size, random_shuffle=True, shuffle_after_epoch=True, with_id=True)
    for first in range(0, seeds, 50):  # as many readers in a loader
        ids = [
            flow.MiniReader(str(table(size).folder), seed=seed, order_key="one", **attrs)[1]
            for seed in range(first, first + 50)
        ]
        with flow.DataLoader(ids) as loader:
            for of_seed in next(iter(loader)):
                counts[place, of_seed[:, 1]] += 1
    check_uniform(counts, (size - 1) ** 2, "position of a record over seeds")


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_every_order_of_few_records_is_equally_likely(table, size):
    counts = dict.fromkeys(range(math.factorial(size)), 0)
    index = {}
    for order in orders(table(size), 40 * math.factorial(size), seed=2):
        counts[index.setdefault(tuple(order), len(index))] += 1
    assert len(index) == math.factorial(size)
    check_uniform(list(counts.values()), math.factorial(size) - 1, "orders")


def test_neighbours_are_uniform(table):
    """Which record follows which: all pairs equally often."""
    size, epochs = 13, 3000
    counts = np.zeros((size, size))
    for order in orders(table(size), epochs, seed=3):
        counts[order[:-1], order[1:]] += 1
    pairs = counts[~np.eye(size, dtype=bool)]
    check_uniform(pairs, size * (size - 1) - 1, "pairs of neighbours")


# ---- Seeds that were left open -------------------------------------------------------------------


def test_a_seed_left_open_is_drawn_and_shown(table):
    seeds = set()
    for _ in range(4):
        with open_loader(table(60), batch_size=4, random_shuffle=True) as loader:
            (reader,) = loader.state_dict()["readers"].values()
            assert str(reader["seed"]) in repr(loader)
            assert reader["seed"] >= 0
            seeds.add(reader["seed"])
    assert len(seeds) == 4


UNSEEDED = """
import sys
import pyflowdata as flow
world_size = int(sys.argv[2])
orders = []
for rank in range(world_size):
    out, ids = flow.MiniReader(sys.argv[1], batch_size=world_size, rank=rank, world_size=world_size,
                               random_shuffle=sys.argv[3] == "shuffle", with_id=True)
    loader = flow.DataLoader(ids)
    assert [reader["seed"] for reader in loader.state_dict()["readers"].values()] == [0]
    orders.append([i for batch in loader for i in batch[:, 1].tolist()])
    loader.close()
print(*(i for step in zip(*orders) for i in step))
"""


def run_unseeded(table, world_size, shuffle):
    done = programs.run(UNSEEDED, table.folder, world_size, shuffle, check=True)
    return [int(word) for word in done.stdout.split()], done.stderr


def test_ranks_without_a_seed_agree_on_zero_and_it_is_said_once(table):
    order, said = run_unseeded(table(60), 4, "shuffle")
    assert order == epoch_order(0, 0, "MiniReader_0", 60, reshuffle=False)
    assert len(re.findall(r"Warning: ", said)) == 1
    assert "seed is left open in one of several processes; 0 is used" in said


def test_nothing_is_said_where_the_seed_does_not_matter(table):
    order, said = run_unseeded(table(60), 4, "no")
    assert order == list(range(60))
    assert "Warning" not in said
