"""BucketDataset: batches of similar lengths, every record once, little padding, exact resume."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.views.bucket_model import BucketModel

import pyflowdata as flow
from pyflowdata.io import TFRecordWriter

ALONE = {"rank": 0, "world_size": 1}


class Corpus:
    """Documents whose tokens are their number."""

    def __init__(self, path, count=700):
        rng = np.random.default_rng(8)
        self.lengths = np.minimum(400, rng.lognormal(3.5, 0.9, count)).astype(np.int64)
        self.lengths[[0, 77]] = [0, 400]
        self.path = str(path / "corpus.tfrecord")
        with TFRecordWriter(self.path) as writer:
            for number, length in enumerate(self.lengths):
                writer.write({"ids": np.full(length, number), "number": [number]})

    def open(self):
        return flow.open(self.path, fields=["ids:int64[?]", "number:int64"])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return Corpus(tmp_path_factory.mktemp("corpus"))


def epochs_of(batches, epochs=1):
    """The numbers of the records of each batch, epoch after epoch."""
    with flow.DataLoader(batches["number"]) as loader:
        return [[batch.tolist() for batch in loader] for _ in range(epochs)]


def test_against_the_model(corpus):
    lengths, data = corpus.lengths.tolist(), corpus.open()
    edges, sizes = [20, 60, 150], [64, 30, 12, 5]
    cases = [
        (lambda d, **a: d.batch_by_tokens(2048, field="ids", **a),
         {"batch_size": 4096, "max_tokens": 2048}),
        (lambda d, **a: d.batch_by_tokens(4000, field="ids", multiple_of=4, most_rows=40, **a),
         {"batch_size": 40, "max_tokens": 4000, "multiple_of": 4}),
        (lambda d, **a: d.batch_by_tokens(900, field="ids", boundaries=edges, **a),
         {"batch_size": 4096, "max_tokens": 900, "boundaries": edges}),
        (lambda d, **a: d.batch_by_length(field="ids", batch_sizes=sizes, boundaries=edges, **a),
         {"batch_size": 64, "batch_sizes": sizes, "boundaries": edges}),
        (lambda d, **a: d.batch_by_length(16, field="ids", **a), {"batch_size": 16}),
        (lambda d, **a: d.batch_by_length(3, field="ids", boundaries=[1000], **a),
         {"batch_size": 3, "boundaries": [1000]}),
    ]  # fmt: skip
    for make, rule in cases:
        for last in ("short", "drop"):
            model = BucketModel(lengths, drops=last == "drop", **rule)
            assert epochs_of(make(data, last=last, **ALONE)) == [model.epoch(0)]
            shuffled = make(data.shuffle(seed=4, order_key="k"), last=last, **ALONE)
            found = epochs_of(shuffled, 2)
            assert found == [model.epoch(epoch, 4, "k") for epoch in range(2)]
            once = make(data.shuffle(seed=4, order_key="k", reshuffle=False), last=last, **ALONE)
            assert epochs_of(once, 2) == [found[0], found[0]]


def test_what_batches_promise(corpus):
    """Said without the model: every record once, the budget, few batches and little padding."""
    lengths = corpus.lengths
    for budget, multiple in [(2048, 1), (6400, 8)]:
        batches = corpus.open().shuffle(seed=1).batch_by_tokens(
            budget, field="ids", multiple_of=multiple, **ALONE
        )  # fmt: skip
        for epoch in epochs_of(batches, 3):
            assert sorted(sum(epoch, [])) == list(range(len(lengths)))
            padded = [len(batch) * lengths[batch].max() for batch in epoch]
            assert max(padded) <= budget
            assert lengths.sum() / sum(padded) > 0.5  # few records; the C test has many
            assert sum(len(batch) % multiple != 0 for batch in epoch) <= 4
    in_order = epochs_of(corpus.open().batch_by_tokens(2048, field="ids", **ALONE))[0]
    longest = [lengths[batch].max() for batch in in_order]
    assert longest[0] == 400 and longest[-1] < 40
    sizes = epochs_of(corpus.open().batch_by_length(16, field="ids", **ALONE))[0]
    assert [len(batch) for batch in sizes].count(16) == 700 // 16


def test_padded_rows(corpus):
    """The other fields come along, and PadBatch pads to the longest of the batch."""
    batches = corpus.open().shuffle(seed=1).batch_by_tokens(
        2048, field="ids", with_id=True, **ALONE
    )  # fmt: skip
    assert list(batches.blobs) == ["ids", "number", "id"]
    blobs = {**batches.blobs, "ids": flow.PadBatch(batches["ids"], value=-1)}
    with flow.DataLoader(blobs) as loader:
        for batch in loader:
            ids, numbers = batch["ids"].dense, batch["number"]
            assert ids.size <= 2048
            assert ids.shape == (len(numbers), corpus.lengths[numbers].max())
            np.testing.assert_array_equal((ids >= 0).sum(axis=1), corpus.lengths[numbers])
            some = corpus.lengths[numbers] > 0
            np.testing.assert_array_equal(ids.max(axis=1)[some], numbers[some])
            np.testing.assert_array_equal(batch["id"][:, 1], numbers)


@pytest.mark.parametrize("world_size", [2, 3, 4, 8])
def test_ranks_and_resume(corpus, world_size):
    """One rank until somewhere, then several: the same batches, cut into runs."""
    data = corpus.open().shuffle(seed=2)
    options = {"field": "ids", "boundaries": [40, 120], "multiple_of": world_size}
    whole = epochs_of(data.batch_by_tokens(8000, **options, **ALONE), 2)
    wanted = whole[0] + whole[1]
    stop = len(whole[0]) // 2
    with flow.DataLoader(data.batch_by_tokens(8000, **options, **ALONE)["number"]) as loader:
        batches = loader.repeat()
        for number in wanted[:stop]:
            assert next(batches).tolist() == number
        state = json.dumps(loader.state_dict())
    assert len(state) < 2000
    parts = []
    for rank in range(world_size):
        batches = data.batch_by_tokens(8000, **options, rank=rank, world_size=world_size)
        with flow.DataLoader(batches["number"]) as loader:
            loader.load_state_dict(json.loads(state))
            found = loader.repeat()
            parts.append([next(found).tolist() for _ in wanted[stop:]])
    assert [sum(step, []) for step in zip(*parts)] == wanted[stop:]


def test_ranks_are_balanced(corpus):
    """By the sum of squared lengths, even where lengths in a batch differ much."""
    data = corpus.open().shuffle(seed=2)
    batches = data.batch_by_length(96, field="ids", boundaries=[1000], last="drop", **ALONE)
    squares = corpus.lengths.astype(float) ** 2
    steps = sum(epochs_of(batches, 6), [])
    for world_size, most in [(2, 0.08), (3, 0.2), (4, 0.25), (8, 1.0)]:
        spread, plain = [], []
        for rows in steps:
            for order, into in ((rows, spread), (sorted(rows), plain)):  # plain: by their numbers
                weights = squares[np.reshape(order, (world_size, -1))].sum(axis=1)
                into.append(weights.max() / weights.mean() - 1)
        assert np.mean(spread) < min(most, 0.65 * np.mean(plain))


def test_state_of_other_lengths(corpus):
    """A state is refused where lengths or the rule differ."""
    data = corpus.open().shuffle(seed=2)
    with flow.DataLoader(data.batch_by_tokens(2048, field="ids", **ALONE)["number"]) as loader:
        next(iter(loader))
        state = loader.state_dict()
    changed = corpus.lengths.copy()
    changed[5] += 1
    for other in (
        data.batch_by_tokens(2049, field="ids", **ALONE),
        data.batch_by_tokens(2048, field="ids", lengths=changed, **ALONE),
        data.batch_by_length(16, field="ids", **ALONE),
    ):
        with flow.DataLoader(other["number"]) as loader:
            with pytest.raises(flow.InvalidArgumentError, match="lengths|max_tokens|batch_size"):
                loader.load_state_dict(state)


def test_over_views_and_beside_others(corpus):
    data = corpus.open().take(90)
    model = BucketModel(corpus.lengths[:90].tolist(), 8)
    batches = data.batch_by_length(8, field="ids", **ALONE)
    assert epochs_of(batches) == [model.epoch(0)]
    both = [batches["number"], data.batch(8, **ALONE)["ids"]]
    with pytest.raises(flow.InvalidArgumentError, match="differ in size"):
        flow.DataLoader(both)
    both = data.zip(flow.Dataset({"other": corpus.open().skip(610)["number"]}))
    with flow.DataLoader(both.batch_by_length(8, field="ids", **ALONE).blobs) as loader:
        for batch in loader:
            np.testing.assert_array_equal(batch["other"], batch["number"] + 610)


def test_wrong_use(corpus):
    data = corpus.open()
    with pytest.raises(flow.InvalidArgumentError, match="record 77 has length 400"):
        flow.DataLoader(data.batch_by_tokens(399, field="ids", **ALONE)["ids"])
    for shuffled in (data.shuffle(kind="window"), data.shuffle(kind="buffer")):
        with pytest.raises(flow.Error, match="shuffled as a whole"):
            flow.DataLoader(shuffled.batch_by_tokens(4000, field="ids", **ALONE)["ids"])
    with pytest.raises(flow.Error, match="'short' or 'drop'"):
        flow.DataLoader(data.batch_by_tokens(4000, field="ids", last="pad", **ALONE)["ids"])
    for call, says in [
        (lambda: data.batch_by_tokens(-1, field="ids"), "max_tokens"),
        (lambda: data.batch_by_tokens(100, field="number"), "which has no length"),
        (lambda: data.batch_by_tokens(100, field="ids", boundaries=[3, 3]), "must increase"),
        (lambda: data.batch_by_length(field="ids", batch_sizes=[8, 4]), "each needs its size"),
        (lambda: data.batch_by_length(0, field="ids"), "batch_size"),
        (
            lambda: data.batch_by_length(field="ids", batch_sizes=[8, 0], boundaries=[3]),
            "batch_sizes",
        ),
        (lambda: data.batch_by_length(1, field="ids", batch_sizes=[1]), "one of the two"),
        (lambda: data.batch_by_length(field="ids"), "one of the two"),
        (lambda: data.batch_by_length([8, 4], field="ids"), r"is batch_sizes=\[8, 4\]"),
        (lambda: data.batch_by_length(8, field="ids", shuffle="window"), "shuffle the data set"),
        (lambda: data.batch_by_tokens(400, field="ids", batch_size=8), "give most_rows"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            call()


def test_state_of_a_mix(corpus):
    """Every batch may have any record of the mix, so its weights may not change at all."""
    data, lengths = corpus.open(), np.arange(120) % 30 + 1

    def loader_of(weights):
        mix = flow.mix([data, data.skip(300)], weights=weights, length=120)
        return flow.DataLoader(mix.batch_by_length(8, field="ids", lengths=lengths, **ALONE))

    with loader_of([1, 1]) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        following = next(batches)
    with loader_of([1, 1]) as loader:
        loader.load_state_dict(state)
        np.testing.assert_array_equal(next(iter(loader))[1], following[1])
    with loader_of({0: [1, 1], 100: [1, 2]}) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="weights of a mix"):
            loader.load_state_dict(state)


def test_an_epoch_without_batches(corpus):
    """Every bucket has fewer records than a batch, and last="drop" leaves them out."""
    few = corpus.open().take(3)
    with flow.DataLoader(few.batch_by_length(8, field="ids", last="drop", **ALONE).blobs) as loader:
        assert len(loader) == 0 and list(loader) == []


def test_texts_have_lengths():
    data = flow.from_arrays({"text": [b"abc", b"f", b"de"]})
    with flow.DataLoader(data.batch_by_length(2, field="text")["text"]) as loader:
        assert [batch.to_bytes_list() for batch in loader] == [[b"abc", b"de"], [b"f"]]
    packs = data.pack(4, field="text", padding=32)
    assert [record["text"].tobytes() for record in packs] == [b"abcf", b"de  "]
    with pytest.raises(flow.InvalidArgumentError, match="max_tokens = 0"):
        data.batch_by_tokens(0, field="text")
