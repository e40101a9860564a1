"""GeneratorReader: objects of Python as sources."""

from __future__ import annotations

import pickle
from itertools import islice

import numpy as np
import pytest

import pyflowdata as flow
from formats.objects.generator_sources import FIELDS, Counting, Squares, epochs, numbers, squares

INDEXED, STREAM = Squares(), squares


def check_rows(batch, indexes):
    x, y, name, boxes = batch
    assert x.dtype == np.float32 and np.array_equal(x, np.repeat(indexes, 3).reshape(-1, 3))
    assert y.dtype == np.int64 and np.array_equal(y, indexes**2)
    assert name.to_bytes_list() == [b"no. %d" % i for i in indexes]
    for row, i in zip(boxes, indexes, strict=True):
        assert row.dtype == np.int16 and np.array_equal(row, np.full((i % 4, 2), i))


# ---- What comes out -----------------------------------------------------------------------------


of_few = pytest.mark.parametrize("source", [Squares(300), lambda: islice(squares(), 300)],
                                 ids=["indexed", "stream"])  # fmt: skip


@of_few
@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_all_samples_come_each_epoch(source, num_threads, shuffle):
    blobs = flow.GeneratorReader(
        source, fields=FIELDS, batch_size=19, random_shuffle=shuffle, shuffle_after_epoch=shuffle,
        seed=3, with_id=True,
    )  # fmt: skip
    assert [blob.name for blob in blobs[:4]] == [
        "GeneratorReader/x", "GeneratorReader/y", "GeneratorReader/name", "GeneratorReader/boxes",
    ]  # fmt: skip
    orders = []
    for batches in epochs(blobs, 2, num_threads=num_threads):
        for *batch, ids in batches:
            check_rows(batch, ids[:, 1])
        orders.append(np.concatenate([batch[-1][:, 1] for batch in batches]).tolist())
        assert sorted(orders[-1]) == list(range(300))
    assert (orders[0] == list(range(300))) == (not shuffle)
    assert (orders[0] == orders[1]) == (not shuffle)


def test_kinds_of_sources():
    everything = list(range(100))
    for source in (Counting(), lambda: iter(range(100)), lambda: range(100), range(100),
                   everything, np.arange(100), lambda: np.arange(100)):  # fmt: skip
        assert numbers(source, 2) == [everything, everything]
    pairs = [(i, i / 2) for i in range(100)]
    for source in (pairs, [list(pair) for pair in pairs], lambda: iter(pairs),
                   [{"a": a, "b": b} for a, b in pairs]):  # fmt: skip
        blobs = flow.GeneratorReader(source, fields=["a:int32", "b:float64"], batch_size=100)
        [[(a, b)]] = epochs(blobs)
        assert (a.dtype, b.dtype) == (np.int32, np.float64)
        assert list(zip(a.tolist(), b.tolist(), strict=True)) == pairs


@pytest.mark.parametrize("field, value, expected", [
    ("x:float32", 1.5, np.float32(1.5)),
    ("x:float32", 2, np.float32(2)),
    ("x:float16[2]", [1, 2.5], np.array([1, 2.5], np.float16)),
    ("x:bool", True, np.True_),
    ("x:uint8", np.uint8(200), np.uint8(200)),
    ("x:uint8", 200, np.uint8(200)),
    ("x:int64[2,2]", ((1, 2), (3, 4)), np.array([[1, 2], [3, 4]])),
    ("x:int64[2]", np.arange(4)[::2], np.array([0, 2])),
    ("x:float64[3,2]", np.arange(6.0).reshape(2, 3).T, np.arange(6.0).reshape(2, 3).T),
    ("x:int64[0]", np.zeros(0, np.int64), np.zeros(0, np.int64)),
    ("x:uint8[3]", b"abc", np.frombuffer(b"abc", np.uint8)),
    ("x:float32[?]", np.zeros(0, np.float32), np.zeros(0, np.float32)),
    ("x:float32[?,?]", np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)),
    ("x:float32[2,?]", np.ones((2, 0), np.float32), np.ones((2, 0), np.float32)),
    ("x:bytes", "gr\u00fc\u00df", np.frombuffer("gr\u00fc\u00df".encode(), np.uint8)),
    ("x:bytes", bytearray(b"\0\1"), np.array([0, 1], np.uint8)),
    ("x:bytes", b"", np.zeros(0, np.uint8)),
    ("x:bytes", np.arange(3, dtype=np.uint8), np.arange(3, dtype=np.uint8)),
])  # fmt: skip
@pytest.mark.parametrize("form", [lambda v: {"x": v, "y": 0}, lambda v: (v,), lambda v: v],
                         ids=["dict", "tuple", "bare"])  # fmt: skip
def test_values(field, value, expected, form):
    if isinstance(value, tuple) and not isinstance(form(value), (dict, tuple)):
        pytest.skip("a tuple is all fields")
    blob = flow.GeneratorReader([form(value)] * 3, fields=[field], batch_size=3)
    [[batch]] = epochs(blob)
    for row in batch:
        assert (row.dtype, row.shape) == (expected.dtype, expected.shape)
        assert row.tobytes() == expected.tobytes()


def test_names_and_keys():
    blobs = flow.GeneratorReader([{"in/x": 1}], fields=["a=in/x:int8", "b=in/x:int8"])
    assert [blob.name for blob in blobs] == ["GeneratorReader/a", "GeneratorReader/b"]
    assert epochs(blobs) == [[(1, 1)]]


def test_with_decoders_behind():
    blob = flow.GeneratorReader(Squares(50), fields=["boxes:int16[?,2]"], batch_size=10)
    padded, mask = flow.Pad(blob, shape=[3, 2], with_mask=True)
    [batches] = epochs((padded, mask))
    for step, (rows, masks) in enumerate(batches):
        for k, (row, real) in enumerate(zip(rows, masks, strict=True)):
            i = 10 * step + k
            assert (row[real] == i).all() and real.sum() == i % 4 and not row[~real].any()


# ---- Order, ranks, resume -----------------------------------------------------------------------


@of_few
@pytest.mark.parametrize("shuffle", [False, True])
def test_resume(source, shuffle):
    def blobs():
        return flow.GeneratorReader(
            source, fields=FIELDS, batch_size=19, random_shuffle=shuffle,
            shuffle_after_epoch=shuffle, seed=5, shuffle_buffer_size=30,
        )  # fmt: skip

    with flow.DataLoader(*blobs()) as loader:
        whole = [batch[1].tolist() for _ in range(2) for batch in loader]
    for steps in (0, 1, 7, 16, 20):
        with flow.DataLoader(*blobs()) as loader:
            batches = loader.repeat()
            for _ in range(steps):
                next(batches)
            state = loader.state_dict()
        with flow.DataLoader(*blobs()) as loader:
            loader.load_state_dict(state)
            batches = loader.repeat()
            rest = [next(batches)[1].tolist() for _ in range(len(whole) - steps)]
        assert rest == whole[steps:]


@pytest.mark.parametrize("source", [INDEXED, STREAM], ids=["indexed", "stream"])
def test_ranks_share_the_samples(source):
    seen = []
    for rank in range(3):
        blobs = flow.GeneratorReader(source, fields=FIELDS, batch_size=60, rank=rank,
                                     world_size=3, random_shuffle=True, seed=1)  # fmt: skip
        [batches] = epochs(blobs)
        assert len(batches) == 17
        seen += [int(x) for rows, *_ in batches for x in rows[:, 0]]
    assert sorted(seen) == list(range(1000))


def test_an_indexed_source_has_a_length_and_any_shuffle():
    blob = flow.GeneratorReader(range(100), fields="x:int64", batch_size=7, shuffle="window",
                                random_shuffle=True, shuffle_block_size=4, seed=0)  # fmt: skip
    with flow.DataLoader(blob) as loader:
        assert len(loader) == 15
        assert sorted(np.concatenate(list(loader)).tolist()) == list(range(100))
        loader.seek(14)
        assert len(list(loader)) == 1
    with flow.DataLoader(flow.GeneratorReader(lambda: range(9), fields="x:int64")) as loader:
        with pytest.raises(TypeError, match="has no len"):
            len(loader)
        assert len(list(loader)) == 9


def test_a_state_belongs_to_its_fields():
    def state(source, **attrs):
        with flow.DataLoader(flow.GeneratorReader(source, seed=1, **attrs)) as loader:
            return loader.state_dict()

    saved = state(range(10), fields="x:int64")
    assert saved == state(list(range(10)), fields="x:int64")  # whatever holds the samples
    for blob, says in [
        (flow.GeneratorReader(range(11), fields="x:int64"), "11 records, in the state 10"),
        (flow.GeneratorReader(range(10), fields="x:int32"), "fields = x:int32, in the state"),
    ]:
        with flow.DataLoader(blob) as loader:
            with pytest.raises(flow.InvalidArgumentError, match=says):
                loader.load_state_dict(saved)


def test_two_loaders_over_one_source_and_over_one_blob():
    blob = flow.GeneratorReader(STREAM, fields=FIELDS, batch_size=100)
    other = flow.GeneratorReader(STREAM, fields=FIELDS, batch_size=50)
    with flow.DataLoader(*blob) as a, flow.DataLoader(*blob) as b, flow.DataLoader(*other) as c:
        for (_, one, *_), (_, two, *_), _ in zip(a, b, c, strict=False):
            assert np.array_equal(one, two)


# ---- Streams that fit one read ------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 16, 17, 63, 64, 65])
@pytest.mark.parametrize("shuffle", [False, True])
def test_short_streams(n, shuffle):
    blob = flow.GeneratorReader(lambda: iter(range(n)), fields=["x:int64"], batch_size=64,
                                random_shuffle=shuffle, seed=1)  # fmt: skip
    for batches in epochs(blob, 3):
        assert [len(batch) for batch in batches] == [m for m in (min(n, 64), n - 64) if m > 0]
        assert sorted(x for batch in batches for x in batch) == list(range(n))


@pytest.mark.parametrize("n", [1, 3, 17])
@pytest.mark.parametrize("shuffle", [False, True])
def test_short_streams_of_ranks(n, shuffle):
    for epoch in range(2):
        seen = []
        for rank in range(3):
            blob = flow.GeneratorReader(
                lambda: iter(range(n)), fields="x:int64", batch_size=60, rank=rank, world_size=3,
                random_shuffle=shuffle, seed=1,
            )  # fmt: skip
            batches = epochs(blob, 2)[epoch]
            assert len(batches) == 1
            seen += batches[0].tolist()
        assert sorted(seen) == list(range(n))


@pytest.mark.parametrize("steps", range(4))
def test_short_streams_resume(steps):
    def blob():
        return flow.GeneratorReader(lambda: iter(range(17)), fields="x:int64", batch_size=64)

    with flow.DataLoader(blob()) as loader:
        batches = loader.repeat()
        for _ in range(steps):
            next(batches)
        state = loader.state_dict()
    with flow.DataLoader(blob()) as loader:
        loader.load_state_dict(state)
        batches = loader.repeat()
        assert [next(batches).tolist() for _ in range(3)] == [list(range(17))] * 3


# ---- Attrs --------------------------------------------------------------------------------------


def test_attrs():
    for source, says in [
        (3, r"source = 3 .int.; it must have __len__ and __getitem__"),
        ("text", "a str is not a sequence of samples"),
        ({"a": 1}, "a dict is not a sequence of samples"),
        (None, "source = None"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.GeneratorReader(source, fields="x:int64")
    for fields, says in [
        ([], "fields"),
        (["x"], "'x' has no type; write KEY:TYPE"),
        (["x:int64=3"], "has a default"),
        (["x:int65"], "int65"),
        (["x:int64", "x:int32"], "name of an earlier one"),
        (["id:int64"], "every reader has"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.GeneratorReader(range(3), fields=fields)
    with pytest.raises(flow.InvalidArgumentError, match="source"):
        flow.GeneratorReader(fields="x:int64")
    blob = flow.GeneratorReader([], fields="x:int64")
    with pytest.raises(flow.InvalidArgumentError, match=r"len\(list\) is 0"):
        flow.DataLoader(blob)


def test_the_builder_takes_an_object():
    op = flow.user_op_builder("r").Op("generator_reader").Output("out")
    blobs = op.Attr("source", range(5)).Attr("fields", ["x:int64"]).Build()
    assert [b.tolist() for b in epochs(blobs.InferAndTryRun().RemoteBlobList()[0])[0]] == [
        [i] for i in range(5)
    ]


def test_pickle():
    blobs = flow.GeneratorReader(INDEXED, fields=FIELDS, batch_size=1000)
    [[batch]] = epochs(pickle.loads(pickle.dumps(blobs)))
    check_rows(batch, np.arange(1000))
    [[batch]] = epochs(pickle.loads(pickle.dumps(flow.GeneratorReader(
        squares, fields=FIELDS, batch_size=1000))))  # fmt: skip
    check_rows(batch, np.arange(1000))
    with pytest.raises(TypeError, match="a function cannot be pickled, as the object cannot"):
        pickle.dumps(flow.GeneratorReader(lambda: range(3), fields="x:int64"))
