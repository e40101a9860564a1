"""Samplers draw what the model says, on any number of ranks and from any position on."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter

import numpy as np
import pyflowdata as flow
import pytest
from support.views import view_model as model
from support.oracle import fewer

SEED = 5


@pytest.fixture
def make(tmp_path):
    """Makes a data set of so many records; x is the number of a record, and others are columns."""

    def made(records, **columns):
        columns = {"x": np.arange(records), **columns}
        path = tmp_path / f"{records}-{'-'.join(columns)}.csv"
        lines = [",".join(map(str, row)) for row in zip(*(c.tolist() for c in columns.values()))]
        path.write_text("\n".join([",".join(columns), *lines]) + "\n")
        return flow.open(str(path))

    return made


def epochs_of(data, epochs, batch_size=16, **attrs):
    with flow.DataLoader(data.batch(batch_size, seed=SEED, **attrs)["x"]) as loader:
        return [[batch.tolist() for batch in loader] for _ in range(epochs)]


def drawn(data, epochs):
    return [[row for batch in epoch for row in batch] for epoch in epochs_of(data, epochs)]


def expected(view, n, epochs):
    size, find = view.rows(n, model.Keys(SEED, f"{view.op}_0"))
    return [[find(epoch, row, 0)[1] for row in range(size)] for epoch in range(epochs)]


def some_weights(draw, n):
    weights = [draw.choice([0, 1, 1, 2.5, draw.random(), 1e-9, 40]) for _ in range(n)]
    return weights if any(weights) else [1.0] * n


def random_sampler(draw, data, n):
    """A sampler of the data set, and its model."""
    kind = draw.choice(["sample", "shuffle", "classes", "factors"])
    own = draw.choice([None, 9])
    seed = -1 if own is None else own
    if kind == "factors":
        factors = draw.choice([
            [draw.choice([1, 2.25, 0.4, 1.7]) for _ in range(n)],
            [draw.random() * 3 for _ in range(n)],
            [1 + draw.randrange(200) / 100 for _ in range(n)],
        ])
        return data.repeat_by(factors, seed=own), model.RepeatFactor(None, factors, seed)
    if kind == "classes":
        labels = [draw.choice([-3, 0, 1, 1, 2**40, 7]) for _ in range(n)]
        per_class, drops = draw.randint(1, 5), draw.random() < 0.5
        large = sum(count >= per_class for count in Counter(labels).values())
        drops = drops and large > 0
        classes = draw.choice([0, draw.randint(1, large if drops else len(set(labels)))])
        unit = (classes or (large if drops else len(set(labels)))) * per_class
        num = draw.choice([0, unit * draw.randint(1, 4)])
        found = data.balance(labels, classes=classes or None, per_class=per_class,
                             num_samples=num or None, too_few="drop" if drops else "wrap",
                             seed=own)  # fmt: skip
        return found, model.ClassSample(None, labels, classes, per_class, num, drops, seed)
    weights = some_weights(draw, n)
    most = sum(weight > 0 for weight in weights)
    num = draw.choice([0, draw.randint(1, most)])
    found = data.sample(weights, num or None, replacement=kind == "sample", seed=own)
    made = model.WeightedSample if kind == "sample" else model.WeightedShuffle
    return found, made(None, weights, num, seed)


def test_samplers_are_as_modelled(make):
    for number in range(fewer(60)):
        draw = random.Random(number)
        n = draw.choice([1, 2, 7, 30, 90, 300])
        data, view = random_sampler(draw, make(n), n)
        wanted = expected(view, n, 3)
        assert len(data) == len(wanted[0]), number
        if len(data):
            assert drawn(data, 3) == wanted, number


def test_ranks_and_positions(make):
    """Four ranks have together what one has, and a state goes on where it was taken."""
    for number in range(fewer(12)):
        draw = random.Random(1000 + number)
        n = draw.choice([30, 90])
        data, _ = random_sampler(draw, make(n), n)
        if len(data) == 0:
            continue
        alone = [batch for epoch in epochs_of(data, 3, 12) for batch in epoch]
        ranks = [epochs_of(data, 3, 12, rank=rank, world_size=4) for rank in range(4)]
        parts = [[batch for epoch in of_rank for batch in epoch] for of_rank in ranks]
        assert [sum(of_step, []) for of_step in zip(*parts)] == alone

        taken, steps = draw.randrange(len(alone)), len(alone) // 3
        blob = data.batch(12, seed=SEED)["x"]
        with flow.DataLoader(blob) as loader:
            batches = (batch for _ in range(3) for batch in loader)
            for _ in range(taken + 1):
                next(batches)
            state = json.loads(json.dumps(loader.state_dict()))
        assert len(json.dumps(state)) < 1024
        with flow.DataLoader(blob) as loader:
            loader.load_state_dict(state)
            left = [batch.tolist() for _ in range(3 - (taken + 1) // steps) for batch in loader]
        assert left == alone[taken + 1 :]


def test_weights_are_probabilities(make):
    """Pearson's test at p = 0.001, of 5 degrees."""
    weights = np.array([1, 3, 0.5, 2, 0, 4, 1.5])
    data = make(7).sample(weights, 12_000)
    found = np.bincount(drawn(data, 1)[0], minlength=7)
    wanted = 12_000 * weights / weights.sum()
    assert found[4] == 0
    assert np.sum((found - wanted)[wanted > 0] ** 2 / wanted[wanted > 0]) < 20.52


def test_classes_share_their_weight(make):
    """However many records they have; Pearson's test at p = 0.001, of 11 and 4 degrees."""
    names = np.array(["a", "bb", "a", "c", "a", "a", "a", "bb", "a", "c", "a", "bb"])
    data, size = make(12, name=names), np.array([{"a": 7, "bb": 3, "c": 2}[name] for name in names])
    found = np.bincount(drawn(data.sample(num_samples=9000, by="name"), 1)[0], minlength=12)
    assert np.sum((found - 3000 / size) ** 2 / (3000 / size)) < 31.26
    weighted = data.sample({"c": 3, "bb": 1.5}, 9000, by=names)
    found = np.bincount(drawn(weighted, 1)[0], minlength=12)
    wanted = np.where(names == "bb", 1000, np.where(names == "c", 3000, 0))
    assert found[names == "a"].sum() == 0
    assert np.sum((found - wanted)[wanted > 0] ** 2 / wanted[wanted > 0]) < 18.47
    truths = drawn(data.sample({True: 1}, 20, by=names == "c"), 1)[0]
    assert {names[i] for i in truths} == {"c"}


def test_classes_by_samples(make):
    """16 x 4: each batch has 16 classes, 4 different records of each side by side; all records are
    used equally often, on one rank and on four."""
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(20), 10))
    data = make(200, label=labels).balance("label", classes=16, per_class=4)
    assert len(data) == 192
    uses = Counter()
    for epoch in epochs_of(data, 25, 64):
        for batch in epoch:
            rows = labels[batch].reshape(16, 4)
            assert (rows == rows[:, :1]).all()
            assert len(set(rows[:, 0].tolist())) == 16
            assert all(len(set(batch[i : i + 4])) == 4 for i in range(0, 64, 4))
            uses.update(batch)
    assert set(uses.values()) == {24}  # 25 epochs of 192 are 24 times 200
    own = epochs_of(data, 1, 64, rank=2, world_size=4)[0]
    assert (labels[own[0]].reshape(4, 4) == labels[own[0]].reshape(4, 4)[:, :1]).all()


def test_values_come_from_fields(make):
    labels = np.array([3, 1, 1, 0, 3, 3, 1, 3, 0, 0, 1, 3])
    data = make(12, label=labels, w=labels + 0.5)
    by_array = drawn(data.sample(labels + 0.5, 40), 2)
    assert drawn(data.sample("w", 40), 2) == by_array
    assert drawn(data.sample(num_samples=40), 2) == drawn(data.sample([7] * 12, 40), 2)
    assert drawn(data.sample("label + 0.5", 40), 2) == by_array
    assert drawn(data.sample(lambda label: label + 0.5, 40), 2) == by_array
    assert drawn(data.shuffle(seed=1).sample("w", 40), 2) == by_array
    assert drawn(data.repeat_by("label"), 1) == drawn(data.repeat_by(labels), 1)
    (repeated,) = drawn(data.repeat_by("label"), 1)
    assert sorted(repeated) == np.repeat(np.arange(12), labels).tolist()
    names = np.array(["d", "b", "b", "a"] + ["d", "d", "b", "d", "a", "a", "b", "d"])
    assert drawn(data.balance("label"), 2) == drawn(data.balance(names), 2)
    assert drawn(data.balance(labels > 0), 2) == drawn(data.balance("label > 0"), 2)
    again = pickle.loads(pickle.dumps(data.balance("label")))
    assert drawn(again, 1) == drawn(data.balance("label"), 1)


def test_a_state_is_of_its_weights(make):
    """Another array is refused, although it has the same length."""

    def opened(weights):
        return flow.DataLoader(make(50).sample(weights).batch(8, seed=SEED)["x"])

    with opened(np.arange(50)) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with opened(np.arange(50)) as loader:
        loader.load_state_dict(state)
    with (
        opened(np.arange(50) + 1.0) as loader,
        pytest.raises(flow.InvalidArgumentError, match="WeightedSampleDataset.weights"),
    ):
        loader.load_state_dict(state)


def test_draws_of_a_record_differ(make):
    """Random ops see each draw of a record as another one, in one epoch and in the next."""
    data = make(3).sample([1, 1, 1], 64)
    batch = data.batch(64, seed=SEED)
    flips = flow.CoinFlip(batch["x"])
    with flow.DataLoader(batch["x"], flips) as loader:
        epochs = [next(iter(loader)) for _ in range(2)]
    for records, coins in epochs:
        for record in range(3):
            assert 0 < coins[records == record].mean() < 1


def test_views_around_samplers(make):
    """Slices and repeats of a sampler have its rows; a repeat goes on with its epochs."""
    sampled = make(50).sample(np.arange(50) + 1.0, 30)
    epochs = drawn(sampled, 4)
    assert drawn(sampled.repeat(2), 2) == [epochs[0] + epochs[1], epochs[2] + epochs[3]]
    assert drawn(sampled[5:20:3], 2) == [epoch[5:20:3] for epoch in epochs[:2]]
    part = make(50).skip(10).sample([0] * 39 + [2])
    assert set(drawn(part, 1)[0]) == {49}


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda data: data.sample([1, 2]), "attr 'weights' has 2 numbers for 4 records"),
        (lambda data: data.sample([1, 2, -1, 1]), "record 2 has -1"),
        (lambda data: data.sample([[1], [2]]), r"int64 of shape \(2, 1\)"),
        (lambda data: data.sample(["a"] * 4), "one number for each record"),
        (lambda data: data.sample("no"), "no"),
        (lambda data: data.sample([1, 1, 0, 0], 3, replacement=False), "only 2 records"),
        (lambda data: data.sample([1] * 4, 0), "num_samples = 0"),
        (lambda data: data.sample({1: 2.0}), "give by, the classes of the records"),
        (lambda data: data.sample([1] * 4, by=[1] * 4), "dict of the weights of classes"),
        (lambda data: data.sample({7: 1}, by=[1, 2, 2, 2]), "no record is of the class 7"),
        (lambda data: data.balance([0.5] * 4), "one whole number, truth or text"),
        (lambda data: data.balance([0, 0, 1, 1], classes=3), "there are only 2 classes"),
        (lambda data: data.balance([0, 0, 1, 1], num_samples=5), "the next one is 6"),
        (lambda data: data.balance([0, 0, 0, 1], per_class=4, too_few="drop"), "only 0 classes"),
        (lambda data: data.repeat_by([0, 0, 0, 0]), "no record has more than 0"),
        (lambda data: data.shuffle().take(3).balance([1, 1, 1]), "draws other records"),
    ],
)
def test_wrong_use(make, wrong, message):
    with pytest.raises(flow.InvalidArgumentError, match=message):
        len(wrong(make(4)))


def test_rows_of_several_epochs_without_replacement():
    data = flow.from_arrays({"x": np.arange(50)})
    drawn = data.sample(np.arange(50) + 1.0, replacement=False, seed=4).repeat(5)

    def rows(data):
        with flow.DataLoader(data.batch(250)["x"], num_threads=1) as loader:
            return next(iter(loader))

    found = rows(drawn)
    assert all(sorted(epoch) == list(range(50)) for epoch in found.reshape(5, 50))
    assert len({tuple(epoch) for epoch in found.reshape(5, 50)}) == 5
    order = np.random.default_rng(0).permutation(250)
    assert np.array_equal(rows(drawn.select(order)), found[order])
