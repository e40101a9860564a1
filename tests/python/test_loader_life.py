"""A DataLoader's end, and what comes in between: signals, threads, forks."""

import gc
import os
import signal
import threading
import time

import pytest

from support import programs
import pyflowdata as flow
from pyflowdata.loader import epochs
from pyflowdata.loader import opening as opening_module
from support.face import (
    DATA,
    epoch_of,
    epoch_of_number,
    loader,
    make_loader,
    rows,
    slots_held,
)


def test_with_and_close():
    with make_loader() as opened:
        iterator = iter(opened)
        next(iterator)
        state = opened.state_dict()
    for call in (
        lambda: next(iterator),
        lambda: iter(opened),
        opened.repeat,
        lambda: opened.load_state_dict(state),
    ):
        with pytest.raises(flow.CancelledError, match="the DataLoader is closed"):
            call()
    assert (len(opened), opened.epoch, opened.state_dict()) == (5, 0, state)
    assert (opened.stats()["batches"], opened.skipped) == (1, [])
    opened.close()


def test_close_from_another_thread_ends_a_wait(monkeypatch, loader):
    waiting = threading.Event()

    def pending(*_):
        waiting.set()
        time.sleep(0.01)
        return epochs.lib.PFD_PENDING

    monkeypatch.setattr(epochs, "_next", pending)

    def close():
        waiting.wait()
        loader.close()

    thread = threading.Thread(target=close)
    thread.start()
    with pytest.raises(flow.CancelledError, match="closed"):
        next(iter(loader))
    thread.join()


def test_threads_take_turns(loader):
    endless = loader.repeat()
    found = []

    def take():
        for _ in range(100):
            found.append(next(endless)[0].ravel().tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loader.state_dict()["epoch"] == 80
    loader.seek(0, epoch=0)
    alone = loader.repeat()
    assert sorted(found) == sorted(epoch_of(next(alone) for _ in range(400)))


def test_interrupt_ends_a_wait(monkeypatch, loader):
    def pending(*_):
        time.sleep(0.01)
        return epochs.lib.PFD_PENDING

    iterator = iter(loader)
    with monkeypatch.context() as patch:
        patch.setattr(epochs, "_next", pending)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
    assert len(list(iterator)) == 5


def test_interrupt_ends_an_open(monkeypatch):
    """What is opened for nobody is released when it is open."""
    real, may_open = opening_module.lib, threading.Event()

    class Library:
        def __getattr__(self, name):
            return getattr(real, name)

        def pfd_loader_open(self, *arguments):
            may_open.wait()
            return real.pfd_loader_open(*arguments)

        def pfd_loader_release(self, loader):
            released.append(loader)
            real.pfd_loader_release(loader)

    released = []
    blob = rows()
    monkeypatch.setattr(opening_module, "lib", Library())
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt) as kept:
        flow.DataLoader(blob)
    assert not released and kept
    may_open.set()
    deadline = time.monotonic() + 10
    while not released and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(released) == 1


def test_open_where_no_thread_can_be_started(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with make_loader() as opened:
        assert len(list(opened)) == 5
    with pytest.raises(flow.FileError, match="/no/such"):
        flow.DataLoader(flow.MiniReader("/no/such"))


def test_interrupts_are_never_swallowed():
    """Wherever in the loop they come: the finalizers of arrays run no Python code."""
    code = f"""
import signal
import pyflowdata as flow
x, y = flow.MiniDecoder(flow.MiniReader({DATA!r}, batch_size=1))
signal.signal(signal.SIGALRM, signal.default_int_handler)
with flow.DataLoader(x, y) as loader:
    batches = loader.repeat()
    for _ in range(500):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0003)
            for batch in batches:
                pass
        except KeyboardInterrupt:
            pass
    batch = None
    assert loader.stats()["slots_held"] < 10, loader.stats()
"""
    run = programs.run(code)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_signal_handler_takes_batches_of_another_loader_while_an_iterator_starts():
    """At each line of Python that runs for it, also in the standard library; once at a line that
    runs again for the same callers."""
    code = f"""
import signal, sys
import pyflowdata as flow
blob = flow.MiniReader({DATA!r}, batch_size=1)
def take(*_):
    with flow.DataLoader(blob, num_threads=1) as loader:
        return len(next(iter(loader)))
def trace(frame, event, arg):
    if event == "line":
        place, caller = [], frame
        while caller is not None:
            place.append((caller.f_code, caller.f_lineno))
            caller = caller.f_back
        if tuple(place) not in seen:
            seen.add(tuple(place))
            sys.settrace(None)
            signal.raise_signal(signal.SIGUSR1)
    return trace
take()
signal.signal(signal.SIGUSR1, take)
seen, before = set(), -1
while len(seen) > before:
    before = len(seen)
    with flow.DataLoader(blob, num_threads=1) as loader:
        sys.settrace(trace)
        iter(loader)
        sys.settrace(None)
print(len(seen) > 150)
"""
    run = programs.run(code)
    assert (run.returncode, run.stdout, run.stderr) == (0, "True\n", "")


def test_interrupt_loses_no_batch(monkeypatch, loader):
    """A signal may come after the library gave a batch, and before Python has it."""
    expected = epoch_of_number(0)
    real = epochs._next

    def interrupted(handle, timeout, batch, err):
        assert real(handle, timeout, batch, err) == 0
        raise KeyboardInterrupt

    iterator = iter(loader)
    found = [next(iterator), next(iterator)]
    with monkeypatch.context() as patch:
        patch.setattr(epochs, "_next", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                next(iterator)
    assert loader.state_dict()["position"] == 2
    assert slots_held(loader) == 2
    assert epoch_of([*found, *iterator]) == expected


def test_next_is_not_entered_again(monkeypatch, loader):
    """A signal handler that takes batches while next() is at it: one slot has one owner."""
    expected = epoch_of_number(0)
    real, told = epochs._next, []

    def handler(iterator):
        state, moments = loader.state_dict(), [*loader._opened.moments]
        for call in (
            lambda: next(iterator),
            lambda: iter(loader),
            loader.repeat,
            lambda: loader.load_state_dict(state),
        ):
            with pytest.raises(flow.UnsupportedError, match="inside next") as caught:
                call()
            told.append(isinstance(caught.value, RuntimeError))
        assert [*loader._opened.moments] == moments  # those of the call that goes on
        assert state["position"] == len(found) % 5 and loader.stats()["slots_held"] >= len(found)

    def signalled(*arguments):
        handler(iterator)
        status = real(*arguments)
        handler(iterator)
        return status

    iterator, found = iter(loader), []
    monkeypatch.setattr(epochs, "_next", signalled)
    for batch in iterator:
        found.append(batch)
    assert epoch_of(found) == expected and told == [True] * (2 * 4 * 6)
    assert slots_held(loader) == 5
    del batch
    found.clear()
    gc.collect()
    assert slots_held(loader) == 0
    monkeypatch.undo()
    assert len(list(loader)) == 5


def test_end_stays_the_end_beside_later_iterators(loader):
    first, second = iter(loader), None
    list(first)
    second = iter(loader)
    assert list(first) == []
    list(second)
    assert list(first) == list(second) == []


def test_forked_child_is_refused(loader):
    iterator = iter(loader)
    x, _ = next(iterator)
    sent, received = os.pipe()
    child = os.fork()
    if child == 0:
        verdict = "nothing"
        try:
            for call in (
                lambda: next(iterator),
                lambda: iter(loader),
                loader.stats,
                lambda: loader.skipped,
                lambda: loader.load_state_dict(loader.state_dict()),
            ):
                try:
                    call()
                    verdict = "no exception"
                    break
                except flow.UnsupportedError as failure:
                    verdict = str(failure)
            loader.close()
            del x, iterator
            gc.collect()
            with make_loader() as own:
                verdict += f"; {len(list(own))} batches of its own"
        except BaseException as failure:  # noqa: BLE001
            verdict = repr(failure)
        finally:
            os.write(received, verdict.encode())
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    verdict = os.read(sent, 4096).decode()
    os.close(sent)
    os.close(received)
    assert "forked" in verdict and "; 5 batches of its own" in verdict
    assert len(list(iterator)) == 4
