"""pack(): every token once in rows of one length, and nothing attends across records."""

from __future__ import annotations

import json
import warnings

import numpy as np
from support.views import pack_model
import pytest
from support.oracle import epoch_order

import pyflowdata as flow
from pyflowdata.io import MegatronWriter, TFRecordWriter

LENGTH = 48
ALONE = {"rank": 0, "world_size": 1}


class Corpus:
    """Documents of 0 to 200 tokens, each token another number, and their labels."""

    def __init__(self, path, count=260):
        rng = np.random.default_rng(5)
        self.lengths = np.minimum(200, rng.lognormal(2.6, 1.1, count)).astype(np.int64)
        self.lengths[[3, 40, count - 1]] = [0, LENGTH, 3 * LENGTH]
        ends = np.cumsum(self.lengths)
        self.tokens = [np.arange(end - n, end) + 1 for n, end in zip(self.lengths, ends)]
        self.labels = [tokens % 7 for tokens in self.tokens]
        self.path = str(path / "corpus.tfrecord")
        with TFRecordWriter(self.path) as writer:
            for tokens, labels in zip(self.tokens, self.labels):
                writer.write({"ids": tokens, "labels": labels, "weight": [0.5]})

    def open(self):
        return flow.open(self.path, fields=["ids:int64[?]", "labels:int64[?]", "weight:float32"])

    def row(self, pack, length, field="tokens", padding=0):
        values = getattr(self, field)
        parts = [values[record][begin : begin + size] for record, begin, size in pack]
        row = np.full(length, padding)
        joined = np.concatenate(parts)
        row[: len(joined)] = joined
        return row


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return Corpus(tmp_path_factory.mktemp("corpus"))


def rows_of(packs, **attrs):
    """All rows of an epoch, by field."""
    with flow.DataLoader(packs.batch(16, **ALONE, **attrs).blobs) as loader:
        batches = list(loader)
    return {
        name: [row for batch in batches for row in batch[name]]
        for name in packs.fields
    }


def expected_mask(pack, length):
    """What may attend to what: tokens of one record in one pack."""
    number = np.zeros(length, int)
    at = 0
    for i, (_, _, size) in enumerate(pack):
        number[at : at + size] = i + 1
        at += size
    return (number[:, None] == number) & (number[:, None] > 0)


def mask_of_segments(segment_ids):
    return (segment_ids[:, None] == segment_ids) & (segment_ids[:, None] > 0)


def mask_of_cu_seqlens(cu_seqlens, length):
    mask = np.zeros((length, length), bool)
    for begin, end in zip(cu_seqlens, cu_seqlens[1:]):
        mask[begin:end, begin:end] = True
    return mask


def check_rows(corpus, rows, packs, length):
    """Compares rows with the pieces of records that they are to be made of."""
    assert len(rows["ids"]) == len(packs)
    for i, pack in enumerate(packs):
        sizes = [size for _, _, size in pack]
        used, last = sum(sizes), [length - sum(sizes)] if sum(sizes) < length else []
        row = {name: values[i] for name, values in rows.items()}
        np.testing.assert_array_equal(row["ids"], corpus.row(pack, length))
        mask = expected_mask(pack, length)
        np.testing.assert_array_equal(mask_of_segments(row["segment_ids"]), mask)
        by_ends = mask_of_cu_seqlens(row["cu_seqlens"], length)
        np.testing.assert_array_equal(by_ends[:used, :used], mask[:used, :used])
        assert not by_ends[:used, used:].any() and by_ends[used:, used:].all()
        np.testing.assert_array_equal(
            row["position_ids"], np.concatenate([np.arange(n) for n in [*sizes, *last]])
        )
        np.testing.assert_array_equal(row["loss_mask"], np.arange(length) < used)
        assert row["max_seqlen"] == max([*sizes, *last])
        dtypes = {name: row[name].dtype for name in row}
        assert dtypes == dict(ids=np.int64, segment_ids=np.int32, position_ids=np.int32,
                              loss_mask=bool, cu_seqlens=np.int32, max_seqlen=np.int32)  # fmt: skip


def test_best_fit(corpus):
    lengths = corpus.lengths.tolist()
    data = corpus.open()
    for length, window, longer in [(LENGTH, None, "split"), (9, None, "split"),
                                   (211, 50, "truncate"), (20, 64, "drop"),
                                   (64, 7, "split")]:  # fmt: skip
        packs = data.pack(length, field="ids", longer=longer, window=window)
        model = pack_model.best_fit(lengths, length, longer, window or 8192)
        assert len(packs) == len(model)
        check_rows(corpus, rows_of(packs), model, length)


def test_chunk(corpus):
    lengths = corpus.lengths.tolist()
    for length, last in [(LENGTH, "pad"), (LENGTH, "drop"), (19, "pad"), (1500, "drop")]:
        packs = corpus.open().pack(length, field="ids", rule="chunk", last=last)
        check_rows(corpus, rows_of(packs), pack_model.chunks(lengths, length, last), length)
    assert len(corpus.open().pack(1 << 20, field="ids", rule="chunk", last="drop")) == 0


def test_several_fields_and_padding(corpus):
    data = corpus.open()
    packs = data.pack(LENGTH, field=["ids", "labels"], padding={"labels": -100},
                      add=["document=segment_ids"])  # fmt: skip
    assert list(packs.fields) == ["ids", "labels", "document"]
    model = pack_model.best_fit(corpus.lengths.tolist(), LENGTH)
    rows = rows_of(packs)
    for pack, ids, labels, document in zip(model, *rows.values()):
        np.testing.assert_array_equal(ids, corpus.row(pack, LENGTH))
        np.testing.assert_array_equal(labels, corpus.row(pack, LENGTH, "labels", -100))
        np.testing.assert_array_equal(mask_of_segments(document), expected_mask(pack, LENGTH))
    only = data.pack(LENGTH, field="ids", add=())
    assert list(only.fields) == ["ids"]
    np.testing.assert_array_equal(rows_of(only)["ids"], rows["ids"])


def test_other_views_and_ops(corpus):
    """Packs of a subset of the data, of what an op made of it, and side by side with others."""
    data = corpus.open()
    part = data.take(100)
    narrow = flow.Dataset({"ids": flow.Cast(part["ids"], dtype="int32")})
    packs = narrow.pack(64, field="ids", add=())
    model = pack_model.best_fit(corpus.lengths[:100].tolist(), 64)
    wanted = np.array([corpus.row(pack, 64) for pack in model])
    rows = rows_of(packs.skip(5))["ids"]
    np.testing.assert_array_equal(rows, wanted[5:])
    assert rows[0].dtype == np.int32
    doubled = flow.Dataset({"ids": flow.Affine(packs["ids"], scale=2.0)})
    np.testing.assert_array_equal(rows_of(doubled.take(9))["ids"], 2 * wanted[:9])
    both = packs.concat(packs.take(3))
    np.testing.assert_array_equal(rows_of(both)["ids"], [*wanted, *wanted[:3]])
    np.testing.assert_array_equal(packs[4]["ids"], wanted[4])
    with pytest.warns(UserWarning, match="pack.96. of packs"):
        again = packs.pack(96, field="ids", add=())  # packs are records, too
    tokens = np.concatenate([row[row > 0] for row in rows_of(again)["ids"]])
    assert sorted(tokens) == sorted(wanted[wanted > 0])


@pytest.mark.parametrize("rule", ["best_fit", "chunk"])
def test_shuffled_packs_on_ranks_and_resumed(corpus, rule):
    """Epoch 0 on one rank and the rest on three: all rows in the order of a permutation."""
    lengths = corpus.lengths.tolist()
    make = pack_model.best_fit if rule == "best_fit" else pack_model.chunks
    model = make(lengths, LENGTH)
    packs = corpus.open().pack(LENGTH, field="ids", rule=rule).shuffle(seed=3, order_key="k")
    order = [epoch_order(3, epoch, "k", len(model), reshuffle=True) for epoch in range(2)]
    steps = [part for epoch in order for part in np.array_split(epoch, range(12, len(epoch), 12))]
    wanted = [[corpus.row(model[i], LENGTH) for i in step] for step in steps]
    stop = len(wanted) // 2 + 3
    found = []
    with flow.DataLoader(packs.batch(12, **ALONE)["ids"]) as loader:
        batches = loader.repeat()
        found = [next(batches) for _ in range(stop)]
        state = json.dumps(loader.state_dict())
    assert len(state) < 2000
    for rank in range(3):
        with flow.DataLoader(packs.batch(12, rank=rank, world_size=3)["ids"]) as loader:
            loader.load_state_dict(json.loads(state))
            batches = loader.repeat()
            part = [next(batches) for _ in range(len(wanted) - stop)]
        found[stop:] = part if rank == 0 else [
            np.concatenate(pair) for pair in zip(found[stop:], part)
        ]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def documents_of(tokens, segments):
    return [tokens[segments == one].tolist() for one in range(1, segments.max(initial=0) + 1)]


def test_a_mix_of_documents(corpus):
    """The documents of the first epoch of a mix, each once and whole, whatever the batches' seed;
    after any number of packs the counts are those of the mix but for one window."""
    data, lengths = corpus.open(), corpus.lengths
    sources = {"a": data[:150].shuffle(), "b": data[50:150].shuffle(seed=9), "c": data[150:]}
    mixed = flow.mix(sources, [3, 2, 1], length=600, interleave="random", block_size=8)
    calls = set()

    def negative(ids):
        calls.add(int(ids[0]) if len(ids) else 0)
        return -ids

    made = mixed.map(negative, "ids", outputs={"ids": ("int64", (None,))})
    packs = made.pack(211, field="ids", add="segment_ids", window=50)
    loaded = {seed: rows_of(packs, seed=seed) for seed in (1, 2)}
    assert len(calls) == np.count_nonzero(lengths) + 1  # once for each, however often it is drawn
    np.testing.assert_array_equal(loaded[1]["ids"], loaded[2]["ids"])
    sources["a"] = data[:150].shuffle(seed=0)
    in_order = flow.mix(sources, [3, 2, 1], length=600, interleave="random", block_size=8, seed=0)
    with flow.DataLoader(in_order.batch(600, **ALONE)["ids"]) as loader:
        mixed_ids = [ids.tolist() for ids in next(iter(loader))]
    model = pack_model.best_fit([len(ids) for ids in mixed_ids], 211, window=50)
    expected = [[[-token for token in mixed_ids[record]] for record, _, _ in pack]
                for pack in model]  # fmt: skip
    rows = list(zip(loaded[1]["ids"], loaded[1]["segment_ids"], strict=True))
    assert [documents_of(*row) for row in rows] == expected
    last = [max(record for record, _, _ in pack) for pack in model]
    for number, pack in enumerate(model):  # 50 documents a window
        assert all(record // 50 <= last[number] // 50 for record, _, _ in pack)

    buckets = made.batch_by_tokens(900, field="ids", most_rows=16, last="short", **ALONE)
    with flow.DataLoader(buckets["ids"]) as loader:
        found = [(-ids).tolist() for batch in loader for ids in batch]
    assert sorted(found) == sorted(mixed_ids)


def test_packs_of_a_mix_are_records(corpus, monkeypatch):
    """Packs of a mix have columns, may be packed again, and repeat with other epochs of it;
    a state has only a position, and refuses other weights."""
    data = corpus.open()

    def packs_of(weights, times=1):
        mixed = flow.mix([data.take(200).shuffle(), data.skip(200)], weights, length=100)
        return mixed.repeat(times).pack(LENGTH, field="ids", longer="drop")

    packs = packs_of([1, 1])
    assert packs.column("max_seqlen").tolist() == rows_of(packs)["max_seqlen"]
    mixed = flow.mix([data[:200], data[200:]], [1, 1], length=100)
    of_field = flow.Dataset({"ids": mixed["ids"]}).pack(LENGTH, field="ids", longer="drop")
    assert len(of_field) == len(mixed.pack(LENGTH, field="ids", longer="drop"))
    assert len(packs.where("max_seqlen > 20")) == np.sum(packs.column("max_seqlen") > 20)
    assert len(packs.shuffle().pack(2 * LENGTH, field="ids")) == -(-len(packs) // 2)
    thrice = rows_of(packs_of([1, 1], 3))
    documents = [tuple(one) for row in zip(thrice["ids"], thrice["segment_ids"])
                 for one in documents_of(*row)]  # fmt: skip
    of_first = {tuple(ids) for ids in corpus.tokens[:200]}
    assert len(set(documents) & of_first) > 100  # one epoch of the mix has 50 of them

    def loader_of(weights, **ranks):
        batches = packs_of(weights).shuffle(seed=5).batch(6, **ranks)
        return flow.DataLoader(batches[["ids", "segment_ids"]])

    with loader_of([1, 1], **ALONE) as loader:
        following = loader.repeat()
        before = [next(following) for _ in range(4)]
        state = json.dumps(loader.state_dict())
        after = [next(following)[0] for _ in range(20)]
    assert len(before) == 4 and len(state) < 1024
    parts = []
    for rank in range(3):
        with loader_of([1, 1], rank=rank, world_size=3) as loader:
            loader.load_state_dict(json.loads(state))
            following = loader.repeat()
            parts.append([next(following)[0] for _ in range(20)])
    for whole, *of_ranks in zip(after, *parts, strict=True):
        np.testing.assert_array_equal(np.concatenate(of_ranks), whole)
    told = r"every epoch has the records that MixDataset draws in its first epoch.*repeat\(epochs\)"
    monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
    with loader_of([1, 1], **ALONE) as loader:
        list(loader)
        with pytest.warns(UserWarning, match=told):
            list(loader)
    with warnings.catch_warnings():  # what the warning says instead: other records in each epoch
        warnings.simplefilter("error")
        of_sources = [one.pack(LENGTH, field="ids") for one in (data[:130], data[130:])]
        mixed = flow.mix(of_sources, [1, 1], length=8).batch(8, **ALONE)
        with flow.DataLoader(mixed["ids"]) as loader:
            first, second = (np.concatenate(list(loader)) for _ in range(2))
    assert first.shape == second.shape and not {*map(bytes, first)} & {*map(bytes, second)}
    with loader_of({0: [1, 1], 90: [1, 2]}, **ALONE) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="another loader"):
            loader.load_state_dict(json.loads(state))
            next(loader.repeat())


def test_known_lengths(corpus):
    """Given lengths are not counted again; those of other data are found out."""
    data = corpus.open()
    for dtype in (np.int32, np.int64, np.uint16):
        given = data.pack(LENGTH, field="ids", lengths=corpus.lengths.astype(dtype))
        counted = data.pack(LENGTH, field="ids")
        np.testing.assert_array_equal(rows_of(given)["ids"], rows_of(counted)["ids"])
    wrong = corpus.lengths.copy()
    wrong[[10, 11]] += [1, -1]
    for lengths in (wrong, np.maximum(corpus.lengths - 1, 1)):
        packs = data.pack(LENGTH, field=["labels", "ids"], lengths=lengths)
        with pytest.raises(flow.CorruptDataError, match=r"\(labels\), but attr 'lengths' says"):
            rows_of(packs)
    longer = corpus.lengths.copy()
    longer[np.argmax(longer)] -= LENGTH  # its last piece is that of the shorter length
    with pytest.raises(flow.CorruptDataError, match="has 200 elements"):
        rows_of(data.pack(LENGTH, field="ids", lengths=longer))
    for lengths, says in [
        (corpus.lengths[1:], "has 259 elements, but the data set has 260 records"),
        (-corpus.lengths, "element 0 is -"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            len(data.pack(LENGTH, field="ids", lengths=lengths))
    with pytest.raises(flow.InvalidArgumentError, match="lengths are whole numbers"):
        data.pack(LENGTH, field="ids", lengths=corpus.lengths + 0.5)


def test_lengths_in_an_index(corpus, tmp_path):
    """For Megatron's files, the lengths are in the index."""
    path = tmp_path / "tokens.bin"
    with MegatronWriter(path, dtype="int64") as writer:
        for tokens in corpus.tokens:
            writer.write(tokens)
    data = flow.open(path)
    (field,) = data.fields
    packs = data.pack(LENGTH, field=field, add=())
    model = pack_model.best_fit(corpus.lengths.tolist(), LENGTH)
    wanted = [corpus.row(pack, LENGTH) for pack in model]
    np.testing.assert_array_equal(rows_of(packs)[field], wanted)


def test_bytes():
    texts = [b"a" * 5, b"bcd", b"e" * 6, b"fg"]
    data = flow.from_arrays({"text": texts})
    packs = data.pack(8, field="text")
    found = rows_of(packs)
    joined = zip(found["text"], found["segment_ids"], strict=True)
    parts = [row[ids == one].tobytes() for row, ids in joined for one in range(1, ids.max() + 1)]
    assert sorted(parts) == sorted(texts)
    batches = data.batch_by_length(2, field="text", boundaries=[4], **ALONE)
    with flow.DataLoader(batches["text"]) as loader:
        assert [sorted(batch.lengths.tolist()) for batch in loader] == [[5, 6], [2, 3]]


def test_fields_of_unequal_length(tmp_path):
    path = str(tmp_path / "uneven.tfrecord")
    with TFRecordWriter(path) as writer:
        for count in (3, 5, 4):
            writer.write({"ids": np.arange(count), "labels": np.arange(min(count, 4))})
    data = flow.open(path, fields=["ids:int64[?]", "labels:int64[?]"])
    says = "record 2 of the 2 .* fields packed together need as many elements: ids 5, labels 4"
    with pytest.raises(flow.CorruptDataError, match=says):
        rows_of(data.pack(8, field=["ids", "labels"]))


def test_damaged_records(tmp_path):
    """on_error leaves out the packs that have a damaged record, and names the record."""
    path = str(tmp_path / "damaged.tfrecord")
    lengths = np.array([5 + i % 7 for i in range(40)])
    with TFRecordWriter(path) as writer:
        for i, length in enumerate(lengths):
            writer.write({"ids" if i != 17 else "other": np.full(length, i)})
    data = flow.open(path, fields=["ids:int64[?]"])
    packs = data.pack(16, field="ids", lengths=lengths, add=())
    model = pack_model.best_fit(lengths.tolist(), 16)
    bad = [any(record == 17 for record, _, _ in pack) for pack in model]
    with flow.DataLoader(packs.batch(4, on_error="skip", **ALONE)["ids"]) as loader:
        found = [set(row) - {0} for batch in loader for row in batch]
        assert [failure.op for failure in loader.skipped] == ["PackDataset"]
    assert found == [{record for record, _, _ in pack} - {0} for pack, is_bad in zip(model, bad)
                     if not is_bad]  # fmt: skip
    batches = packs.batch(4, on_error="pad", with_mask=True, **ALONE)
    with flow.DataLoader(batches) as loader:
        assert [not kept for _, mask in loader for kept in mask] == bad
    with pytest.raises(flow.CorruptDataError, match=r"of the 2 in this pack has 0 elements"):
        rows_of(packs)


def test_ops_by_name(corpus):
    """The op and OneFlow's builder take the lengths as an array."""
    data, wanted = corpus.open(), pack_model.best_fit(corpus.lengths.tolist(), 30)
    packed = flow.PackDataset(data["ids"], length=30, lengths=corpus.lengths)
    built = flow.user_op_builder("packs").Op("PackDataset").Input("in", [data["ids"]])
    built = built.Attr("length", 30).Attr("lengths", corpus.lengths).Output("out").Build()
    for ids in (packed, built.InferAndTryRun().SoleOutputBlob()):
        rows = rows_of(flow.Dataset({"ids": ids}))["ids"]
        np.testing.assert_array_equal(rows, [corpus.row(pack, 30) for pack in wanted])


def pieces_of(data):
    """Rows that a view makes of pieces of records."""
    twice = data.map(lambda ids: [ids, ids], "ids", outputs={"both": ("int64", (2, None))})
    return flow.Dataset({"ids": flow.FlatDataset(twice["both"], fan_out=2, divided=[0])})


def test_wrong_use(corpus):
    data = corpus.open()
    long = data.pack(150, field="ids", longer="raise")
    with pytest.raises(flow.InvalidArgumentError, match="elements, and longer = 'raise'"):
        len(long)
    for call, says in [
        (lambda: data.shuffle(kind="window").pack(8, field="ids"), "an order of batches"),
        (lambda: pieces_of(data.shuffle()).pack(8, field="ids"), "are not known"),
        (lambda: data.pack(0, field="ids"), "length"),
        (lambda: data.pack(1 << 30, field="ids"), "length"),
        (lambda: data.pack(8, field="idz"), "no field 'idz'"),
        (lambda: data.pack(8, field="weight"), "which has no length"),
        (lambda: data.pack(8, field=["ids", "weight"]), "rows with one dimension"),
        (lambda: data.pack(8, field="ids", rule="first_fit"), "best_fit"),
        (lambda: data.pack(8, field="ids", add="lengths"), "add = 'lengths'; .* max_seqlen"),
        (lambda: data.pack(8, field="ids", window=0), "window = 0; it must be 1 or more"),
        (lambda: data.pack(8, field="ids", padding=0.5), "padding"),
        (lambda: data.pack(8, field="ids", padding={"labels": 1}), "not packed; ids are"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            call()


def test_packs_are_not_packed_again():
    data = flow.from_arrays({"ids": [[1, 2, 3], [4, 5]]})
    packs = data.pack(4, field="ids", padding=-1)
    for one, length in ((packs, 8), (packs.shuffle(), 12)):
        line = rf"documents\.pack\({length}, field='ids'\)"
        with pytest.warns(UserWarning, match=line):
            one.pack(length, field="ids")
