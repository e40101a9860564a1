"""GeneratorReader: how long sources and generators live, and which threads call them."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.loader.open_loader import open_loader_of
from formats.objects.generator_sources import FIELDS, Squares, epochs, numbers, squares

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


def test_close_in_a_call_about_the_loader_that_asks_the_source():
    """A source that closes the loader while a record of it is located: close() waits for this call,
    which does not wait for close(), and may be cut short by it."""

    class Closing(Squares):
        def __getitem__(self, index):
            if is_called:
                loader.close()
            return super().__getitem__(index)

    is_called = False
    blobs = flow.GeneratorReader(Closing(), fields=FIELDS, batch_size=100)
    loader = flow.DataLoader(blobs)
    next(iter(loader))
    opened, is_called = open_loader_of(loader), True
    with contextlib.suppress(flow.CancelledError):
        assert opened.file_of_record(-1, 3) == ""
    with pytest.raises(flow.CancelledError, match="closed"):
        opened.file_of_record(-1, 3)


def test_close_while_the_generator_waits():
    waits, go_on = threading.Event(), threading.Event()

    def slow():
        yield 1
        waits.set()
        go_on.wait(60)
        yield 2

    with flow.DataLoader(flow.GeneratorReader(slow, fields="x:int64"), num_threads=2) as loader:
        assert next(iter(loader)).tolist() == [1]
        assert waits.wait(30)
        threading.Timer(0.2, go_on.set).start()
        started = time.monotonic()
        loader.close()
        assert time.monotonic() - started < 30
    with pytest.raises(flow.CancelledError):
        list(loader)


def test_ctrl_c_while_the_generator_waits():
    def slow():
        yield from range(4)
        while len(found) < 4:  # the program has what was delivered, and is about to wait
            time.sleep(0.01)
        if not interrupted:
            interrupted.append(True)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
        yield from range(4, 8)

    interrupted: list[bool] = []
    found: list[int] = []
    blob = flow.GeneratorReader(slow, fields="x:int64", batch_size=2)
    with flow.DataLoader(blob, num_threads=1, prefetch=1) as loader:
        batches = iter(loader)
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
        yield from range(10**9)  # the threads stop a moment later

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


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer does not like forks")
def test_a_child_forked_while_a_sample_is_read_opens_its_own():
    class Waiting:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            if os.getpid() == parent:
                reads.set()
                go_on.wait(10)
            return index

    parent, reads, go_on = os.getpid(), threading.Event(), threading.Event()
    blob = flow.GeneratorReader(Waiting(), fields="x:int64")
    found = []
    other = threading.Thread(target=lambda: found.extend(epochs(blob)))
    other.start()
    assert reads.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(5)  # rather than wait for ever
        code = 1
        try:
            code = 0 if [b.tolist() for b in epochs(blob)[0]] == [[0], [1], [2]] else 2
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    go_on.set()
    other.join()
    assert code == 0 and len(found[0]) == 3


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
