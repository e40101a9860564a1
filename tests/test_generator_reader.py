"""GeneratorReader: objects of Python as sources."""

from __future__ import annotations

import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from generator_sources import FIELDS, Counting, Squares, squares

INDEXED, STREAM = Squares(), squares


def epochs(blobs, count=1, **options):
    with flow.DataLoader(blobs, **options) as loader:
        return [list(loader) for _ in range(count)]


def numbers(source, count=1, field="x:int64", **attrs):
    """The values of a single field, epoch after epoch."""
    blob = flow.GeneratorReader(source, fields=field, **{"batch_size": 7, **attrs})
    return [np.concatenate(batches).tolist() for batches in epochs(blob, count)]


def check_rows(batch, indexes):
    x, y, name, boxes = batch
    assert x.dtype == np.float32 and np.array_equal(x, np.repeat(indexes, 3).reshape(-1, 3))
    assert y.dtype == np.int64 and np.array_equal(y, indexes**2)
    assert name.to_bytes_list() == [b"no. %d" % i for i in indexes]
    for row, i in zip(boxes, indexes, strict=True):
        assert row.dtype == np.int16 and np.array_equal(row, np.full((i % 4, 2), i))


# ---- What comes out -----------------------------------------------------------------------------


@pytest.mark.parametrize("source", [INDEXED, STREAM], ids=["indexed", "stream"])
@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_all_samples_come_each_epoch(source, num_threads, shuffle):
    blobs = flow.GeneratorReader(
        source, fields=FIELDS, batch_size=64, random_shuffle=shuffle, shuffle_after_epoch=shuffle,
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
        assert sorted(orders[-1]) == list(range(1000))
    assert (orders[0] == list(range(1000))) == (not shuffle)
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


@pytest.mark.parametrize("source", [INDEXED, STREAM], ids=["indexed", "stream"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_resume(source, shuffle):
    def blobs():
        return flow.GeneratorReader(
            source, fields=FIELDS, batch_size=64, random_shuffle=shuffle,
            shuffle_after_epoch=shuffle, seed=5, shuffle_buffer_size=100,
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


# ---- Damaged samples ----------------------------------------------------------------------------

BAD = [
    ("a:float32[3]", np.zeros(3), "'a' has dtype float64, and float32 is declared.*astype"),
    ("a:float32[3]", np.zeros(4, np.float32), r"'a' has shape \(4,\); \(3,\) is declared"),
    ("a:float32[?]", np.float32(1), r"'a' has shape \(\); \(None,\) is declared"),
    ("a:int64", 1.5, "'a' is 1.5, which does not fit into the declared int64"),
    ("a:uint8", 256, "'a' is 256, which does not fit"),
    ("a:int64", 2**70, "'a' "),
    ("a:int64", None, "'a' is None; int64 is declared"),
    ("a:int64", "7", "'a' is of type str"),
    ("a:float32[?]", b"1", "'a' is of type bytes"),
    ("a:int64[2]", [[1], [2, 3]], "'a' is no array"),
    ("a:int64", object(), "'a' is <object"),
    ("a:bytes", [1, 300], "'a' is .* which does not fit into the declared uint8"),
]


@pytest.mark.parametrize("field, bad, says", BAD)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_sample_that_does_not_fit(field, bad, says, is_stream):
    good = {"float32[3]": np.zeros(3, np.float32), "float32[?]": np.zeros(2, np.float32),
            "int64": 1, "uint8": 1, "int64[2]": [1, 2], "bytes": b"x"}[field[2:]]  # fmt: skip
    samples = [{"a": bad if i == 5 else good} for i in range(20)]
    source = (lambda: iter(samples)) if is_stream else samples
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        epochs(flow.GeneratorReader(source, fields=[field], batch_size=8))
    assert (caught.value.op, caught.value.ordinal) == ("GeneratorReader", 5)
    blob, ids = flow.GeneratorReader(source, fields=[field], batch_size=8, on_error="skip",
                                     with_id=True)  # fmt: skip
    with flow.DataLoader(blob, ids) as loader:
        for _ in range(2):
            found = [i for _, ids in loader for i in ids[:, 1]]
            assert found == [i for i in range(20) if i != 5]
        assert [failure.ordinal for failure in loader.skipped] == [5, 5]


@pytest.mark.parametrize("bad, says", [
    ((1,), "the sample has 1 values; the fields are 2: a, b"),
    ((1, 2, 3), "the sample has 3 values"),
    (7, "the sample is 7; with 2 fields it must be a tuple or a dict: a, b"),
    ({"a": 1, "c": 2}, "the sample has no 'b'; its keys: a, c"),
])  # fmt: skip
def test_samples_of_another_form(bad, says):
    samples = [(1, 2), bad, (3, 4)]
    fields = ["a:int64", "b:int64"]
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        epochs(flow.GeneratorReader(samples, fields=fields))
    assert caught.value.ordinal == 1
    [batches] = epochs(flow.GeneratorReader(samples, fields=fields, on_error="skip"))
    assert [a.tolist() for a, _ in batches if len(a)] == [[1], [3]]


def test_the_source_may_call_a_sample_damaged():
    class Some:
        def __len__(self):
            return 10

        def __getitem__(self, index):
            if index == 4:
                raise flow.CorruptDataError("number 4 is broken")
            return index

    with pytest.raises(flow.CorruptDataError, match="number 4 is broken") as caught:
        numbers(Some())
    assert caught.value.ordinal == 4
    assert "__getitem__" in str(traceback.extract_tb(caught.value.__cause__.__traceback__))
    assert numbers(Some(), 2, on_error="skip") == [[0, 1, 2, 3, 5, 6, 7, 8, 9]] * 2


# ---- What a source raises -----------------------------------------------------------------------


def failing():
    yield from range(11)
    deep(11)


def deep(number):
    raise KeyError(f"missing {number}")


class FailingItems:
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return deep(index) if index == 11 else index


@pytest.mark.parametrize("source, says", [
    (failing, r"failing\(\), at sample 11, raised KeyError: 'missing 11'"),
    (FailingItems(), r"FailingItems\[11\] raised KeyError: 'missing 11'"),
], ids=["stream", "indexed"])  # fmt: skip
@pytest.mark.parametrize("on_error", ["raise", "skip", "pad"])
def test_what_a_source_raises_comes_with_its_traceback(source, says, on_error):
    blob = flow.GeneratorReader(source, fields="x:int64", batch_size=4, on_error=on_error)
    with flow.DataLoader(blob) as loader:
        batches = iter(loader)
        assert [next(batches).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(flow.InternalError, match=says) as caught:
            next(batches)
    cause = caught.value.__cause__
    assert type(cause) is KeyError
    frames = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert frames[-1] == "deep" and frames[0] in ("failing", "__getitem__"), frames


def test_a_failure_is_met_again_and_can_be_passed_over():
    blob = flow.GeneratorReader(FailingItems(), fields="x:int64", batch_size=10)
    with flow.DataLoader(blob) as loader:
        batches = iter(loader)
        next(batches)
        for _ in range(2):
            with pytest.raises(flow.InternalError, match="missing 11"):
                next(batches)
        loader.seek(2)
        assert [batch[0] for batch in loader] == [20, 30, 40, 50, 60, 70, 80, 90]


def test_a_failure_that_passes_is_read_again():
    calls = []

    def once():
        calls.append(len(calls))
        for i in range(10):
            if i == 5 and len(calls) == 1:
                raise OSError("try again")
            yield i

    with flow.DataLoader(flow.GeneratorReader(once, fields="x:int64", batch_size=4)) as loader:
        batches = iter(loader)
        assert next(batches).tolist() == [0, 1, 2, 3]
        with pytest.raises(flow.InternalError, match="OSError: try again"):
            next(batches)
        assert [x for batch in batches for x in batch] == [4, 5, 6, 7, 8, 9]
        assert [x for batch in loader for x in batch] == list(range(10))


def test_errors_of_this_package_keep_their_kind_and_traceback():
    class Missing:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            raise flow.FileError("the shard is away")

    for on_error in ("raise", "skip"):
        with pytest.raises(flow.FileError, match="the shard is away") as caught:
            numbers(Missing(), on_error=on_error)
        assert "__getitem__" in str(traceback.extract_tb(caught.value.__cause__.__traceback__))


def test_a_factory_that_raises():
    def factory():
        raise OSError("no such place")

    with pytest.raises(flow.InternalError, match="raised OSError: no such place") as caught:
        numbers(factory)
    assert type(caught.value.__cause__) is OSError
    with pytest.raises(flow.InternalError, match="raised TypeError: 'int' object is not iterable"):
        numbers(lambda: 3)


def test_a_generator_that_calls_itself_damaged_is_over():
    def broken():
        yield 1
        raise flow.CorruptDataError("hm")

    with pytest.raises(flow.InternalError, match="ends a generator"):
        numbers(broken, on_error="skip")


def test_an_iterable_that_can_be_gone_through_once():
    for once in ((i for i in range(3)), iter([1]), map(abs, [1])):
        with pytest.raises(flow.InvalidArgumentError, match="only once; give the function"):
            flow.GeneratorReader(once, fields="x:int64")
    shared = iter(range(5))
    with pytest.raises(flow.InternalError, match="yields nothing, and did in a former epoch"):
        numbers(lambda: shared, 2)


# ---- Attrs --------------------------------------------------------------------------------------


def test_attrs():
    for source, says in [
        (3, r"source = 3 .int.; it must have __len__ and __getitem__"),
        ("text", "a str is no sequence of samples"),
        ({"a": 1}, "a dict is no sequence of samples"),
        (None, "source = None"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.GeneratorReader(source, fields="x:int64")
    for fields, says in [
        ([], "fields"),
        (["x"], "'x' has no type; write KEY:TYPE"),
        (["x:int64=3"], "has a default"),
        (["x:int65"], "int65"),
        (["x:int64", "x:int32"], "name of one before"),
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


# ---- Life ---------------------------------------------------------------------------------------


def test_the_source_lives_as_long_as_blobs_and_loaders():
    source = Squares()
    gone = weakref.ref(source)
    blobs = flow.GeneratorReader(source, fields=FIELDS, batch_size=100)
    loader = flow.DataLoader(blobs)
    del source, blobs
    gc.collect()
    assert gone() is not None and len(list(loader)) == 10
    loader.close()
    del loader
    gc.collect()
    assert gone() is None


def test_a_generator_is_closed_with_its_loader():
    ended = threading.Event()

    def endless():
        try:
            while True:
                yield 1
        finally:
            ended.set()

    blob = flow.GeneratorReader(endless, fields="x:int64", batch_size=5)
    with flow.DataLoader(blob, prefetch=2) as loader:
        assert next(iter(loader)).tolist() == [1] * 5
        assert not ended.is_set()
    assert ended.wait(10)


def test_what_a_generator_raises_at_its_end_is_not_lost(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: seen.append(str(about.exc_value)))

    def bad_end():
        try:
            yield from range(100)
        finally:
            raise OSError("at the end")

    with flow.DataLoader(flow.GeneratorReader(bad_end, fields="x:int64"), prefetch=2) as loader:
        next(iter(loader))
    assert seen == ["at the end"]


def test_close_while_the_generator_waits():
    waits, go_on = threading.Event(), threading.Event()

    def slow():
        yield 1
        waits.set()
        go_on.wait(30)
        yield 2

    with flow.DataLoader(flow.GeneratorReader(slow, fields="x:int64"), num_threads=2) as loader:
        assert next(iter(loader)).tolist() == [1]
        assert waits.wait(10)
        threading.Timer(0.2, go_on.set).start()
        begun = time.monotonic()
        loader.close()
        assert time.monotonic() - begun < 5
    with pytest.raises(flow.CancelledError):
        list(loader)


def test_ctrl_c_while_the_generator_waits():
    def slow():
        yield from range(4)
        if not interrupted:
            interrupted.append(True)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
        yield from range(4, 8)

    interrupted: list[bool] = []
    blob = flow.GeneratorReader(slow, fields="x:int64", batch_size=2)
    with flow.DataLoader(blob, num_threads=1, prefetch=1) as loader:
        batches, found = iter(loader), []
        with pytest.raises(KeyboardInterrupt):
            for batch in batches:
                found += batch.tolist()
        for batch in batches:
            found += batch.tolist()
        assert found == list(range(8))


def test_a_generator_that_calls_its_loader_is_refused():
    holder = []

    def own():
        yield 1
        for batch in holder[0]:
            yield batch

    with flow.DataLoader(flow.GeneratorReader(own, fields="x:int64")) as loader:
        holder.append(loader)
        batches = iter(loader)
        assert next(batches).tolist() == [1]
        with pytest.raises(flow.UnsupportedError, match="would wait for itself|inside next"):
            list(batches)


def test_a_generator_may_close_its_loader():
    holder = []

    def closing():
        yield 1
        yield 2
        holder[0].close()
        yield 3

    loader = flow.DataLoader(flow.GeneratorReader(closing, fields="x:int64"), prefetch=1)
    holder.append(loader)
    with pytest.raises(flow.CancelledError):
        list(loader)


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer does not like forks")
def test_a_forked_child_opens_its_own():
    blob = flow.GeneratorReader(range(10), fields="x:int64", batch_size=10)
    with flow.DataLoader(blob) as loader:
        list(loader)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                try:
                    list(loader)
                except flow.UnsupportedError:
                    with flow.DataLoader(blob) as own:
                        code = 0 if [b.tolist() for b in own] == [list(range(10))] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(list(loader)) == 1


# ---- Threads ------------------------------------------------------------------------------------


class Concurrent:
    def __init__(self):
        self.inside = self.most = 0
        self.lock = threading.Lock()

    def __len__(self):
        return 400

    def __getitem__(self, index):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.001)
        with self.lock:
            self.inside -= 1
        return index


def test_one_thread_at_a_time_unless_told_otherwise():
    for thread_safe in (False, True):
        source = Concurrent()
        blob = flow.GeneratorReader(source, fields="x:int64", batch_size=4,
                                    thread_safe=thread_safe)  # fmt: skip
        with flow.DataLoader(blob, num_threads=4) as a, flow.DataLoader(blob) as b:
            for one, other in zip(a, b, strict=True):
                assert np.array_equal(one, other)
        assert (source.most > 1) == thread_safe


def test_a_stream_is_read_by_one_thread_at_a_time():
    inside = []

    def steps():
        for i in range(500):
            inside.append(threading.get_ident())
            assert len(inside) == 1
            time.sleep(0.0001)
            inside.pop()
            yield i

    assert numbers(steps, 2, batch_size=8) == [list(range(500))] * 2


def test_references_do_not_pile_up():
    source = [np.zeros(1000, np.float32) for _ in range(50)]
    blob = flow.GeneratorReader(source, fields="x:float32[1000]", batch_size=10)
    epochs(blob)
    before = sys.getrefcount(source), sys.getrefcount(source[0])
    for _ in range(20):
        epochs(blob, 2)
    gc.collect()
    assert (sys.getrefcount(source), sys.getrefcount(source[0])) == before


# ---- Pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["python-sources.md", "decoders.md"])
def test_what_the_pages_show(page, tmp_path):
    root = Path(__file__).resolve().parent.parent
    code = re.findall(r"^```python\n(.*?)^```$", (root / "docs" / page).read_text(), re.S | re.M)
    script = f"import sys; sys.path.insert(0, {str(root)!r})\n" + "\n".join(code)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True,
                          text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
