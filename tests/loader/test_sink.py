"""Sink mode on the host: batches in their order, state, failures, and the thread's end."""

import gc
import itertools
import json
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from support.files import lines, write_parts

import pyflowdata as flow
from pyflowdata.loader import sinks
from pyflowdata.loader.epochs import Lease
from pyflowdata.native import calling_line

RECORDS, BATCH = 29, 4
STEPS = 8  # of an epoch; the last has one record
ORDERS = [{}, {"shuffle": "buffer", "shuffle_buffer_size": 7}]


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "parts", lines(0, 11), lines(11, RECORDS))


def open_loader(folder, **attrs):
    order = {"random_shuffle": True, "shuffle_after_epoch": True, "seed": 3}
    reader = flow.MiniReader(folder, **{"batch_size": BATCH, **order, **attrs})
    return flow.DataLoader(reader, num_threads=2)


def firsts(batch):
    return batch[:, 0].tolist()


def plainly(folder, steps, **attrs):
    """What plain steps return, and the state after each."""
    results, states = [], []
    with open_loader(folder, **attrs) as loader:
        states.append(loader.state_dict())
        for batch in itertools.islice(loader.repeat(), steps):
            results.append(firsts(batch))
            states.append(loader.state_dict())
    return results, states


def sink_threads():
    return [one for one in threading.enumerate() if one.name == "pyflowdata sink"]


# ---- Order and state ----------------------------------------------------------------------------


@pytest.mark.parametrize("attrs", ORDERS)
@pytest.mark.parametrize("sink_size", [1, 3, STEPS, 11])
def test_calls_go_on_over_the_ends_of_epochs(folder, sink_size, attrs):
    results, states = plainly(folder, 50, **attrs)
    done = 0
    with open_loader(folder, **attrs) as loader, flow.sink(
        loader, firsts, sink_size=sink_size
    ) as run:
        assert run.state_dict() == states[0]
        for _, got in zip(range(3), run, strict=False):
            assert got == results[done : done + sink_size]
            done += sink_size
            assert run.state_dict() == states[done]
    saved = json.loads(json.dumps(run.state_dict()))
    for queue in (1, 4):
        with open_loader(folder, **attrs) as loader:
            run = flow.sink(loader, firsts, sink_size=sink_size, queue=queue)
            run()
            run.load_state_dict(saved)
            assert run() == results[done : done + sink_size]
            run.close()


@pytest.mark.parametrize("attrs", ORDERS)
def test_minus_one_is_the_rest_of_an_epoch(folder, attrs):
    results, states = plainly(folder, 3 * STEPS, **attrs)
    with open_loader(folder, **attrs) as loader:
        list(itertools.islice(loader, 3))
        run = flow.sink(loader, firsts)
        assert run() == results[3:STEPS], "from where the loader was"
        assert run.state_dict()["epoch"] == 1 and run.state_dict()["position"] == 0
        assert run() == results[STEPS : 2 * STEPS]
        run.load_state_dict(states[5])
        assert run() == results[5:STEPS]
        assert run() == results[STEPS : 2 * STEPS]
        run.close()


def test_the_loader_goes_on_after_the_last_consumed_batch(folder):
    results, states = plainly(folder, 2 * STEPS)
    with open_loader(folder) as loader:
        with flow.sink(loader, firsts, sink_size=5) as run:
            run()
        assert loader.state_dict() == run.state_dict() == states[5]
        assert [firsts(batch) for batch in loader] == results[5:STEPS]
        with pytest.raises(flow.CancelledError, match="the sink is closed"):
            run()
        assert "closed" in repr(run) and run.stats()["steps"] == 5
        run.close()
    unused = flow.sink(open_loader(folder), firsts)
    unused.close()


def test_a_step_sees_only_so_many_batches_made_ahead(folder):
    with open_loader(folder) as loader:
        calls = itertools.count(1)

        def step(batch):
            assert run.stats()["batches_sent"] <= next(calls) + 3
            return firsts(batch)

        with flow.sink(loader, step, sink_size=50, queue=3) as run:
            run()
        stats = run.stats()
        assert stats["steps"] == sum(stats["depths"]) == 50 and len(stats["depths"]) == 4
        assert len(stats["recent_depths"]) == len(stats["push_ends"]) == 10
        assert stats["push_ends"] == sorted(stats["push_ends"])
        for key in ("fetch", "copy", "push_wait", "pop_wait", "step"):
            assert stats[f"{key}_seconds"] > 0, key
        assert stats["batches_sent"] >= 50


def test_a_report_has_the_steps_of_the_sink(folder):
    """Not those of its thread, which takes batches that no step has seen."""
    with open_loader(folder) as loader:
        list(loader)
        with flow.sink(loader, firsts, queue=6) as run:
            run()
            first = run.report()
            assert first.counters.stats["steps"] == STEPS - 1, "and the first one is a start"
            assert first.counters.stats["starts"] == 1
            for _ in range(3):
                run()
        report, stats = run.report(), run.stats()
    counters = report.counters
    assert counters.stats["steps"] == 4 * (STEPS - 1) and counters.stats["starts"] == 4
    assert 0 < counters.stats["step_train_seconds"] < stats["step_seconds"]
    waited = counters.stats["step_wait_seconds"] + counters.stats["start_seconds"]
    assert 0 < waited <= stats["pop_wait_seconds"]
    assert counters.stats["waited_steps"] == sum(counters.history.waits) <= stats["depths"][0]
    assert sum(counters.history.trains) == counters.stats["steps"]
    assert counters.hand_over is None and counters.ahead is None, "nothing is copied"
    assert counters.stats["batches"] >= stats["steps"], "of the sink, not of the epoch before it"
    assert counters.stats["batches"] == loader.stats()["batches"] - STEPS
    later = run.report(since=first).counters
    assert later.stats["steps"] == 3 * (STEPS - 1)
    assert sum(later.history.trains) == 3 * (STEPS - 1)


def test_a_sink_that_is_slower_than_a_loop_says_so_once(monkeypatch, recwarn):
    """For given times, in seconds: not where steps are long, nor where they wait for the loader."""
    monkeypatch.setattr(calling_line, "_given", {})
    monkeypatch.setattr(sinks, "_ENOUGH_STEPS", 10)
    batches = flow.from_arrays({"x": np.arange(64)}).batch(4)["x"]
    now = 0.0

    def clock():
        nonlocal now
        if threading.current_thread() is threading.main_thread():
            now += turn
        return now

    def step(batch):
        nonlocal now
        now += length - turn  # which the next look at the clock adds

    monkeypatch.setattr(sinks, "_clock", clock)
    short, long = 1e-6, 200e-6
    for turn, length, waited, is_told in (
        (20e-6, long, 0, False), (20e-6, short, 16 * 15e-6, False), (20e-6, short, 0, True),
        (20e-6, short, 0, False),
    ):  # fmt: skip
        recwarn.clear()
        with flow.DataLoader(batches, num_threads=1) as loader, flow.sink(loader, step) as run:
            counted = {**loader.stats(), "help_seconds": 0.0, "wait_seconds": waited}
            monkeypatch.setattr(loader, "stats", lambda counted=counted: counted)
            run()
            line = sys._getframe().f_lineno - 1
            run()
        told = [one for one in recwarn if "sink" in str(one.message)]
        assert len(told) == is_told, told
        for one in told:
            assert (one.filename, one.lineno) == (__file__, line) and "a loop is faster" in str(one)


def test_wrong_use_is_refused(folder):
    with open_loader(folder) as loader:
        for wrong in (0, -2, True, 1.0, "1", None):
            with pytest.raises(flow.InvalidArgumentError, match="sink_size = .*must be -1"):
                flow.sink(loader, firsts, sink_size=wrong)
        for wrong in (0, -1, True, 2.0):
            with pytest.raises(flow.InvalidArgumentError, match="queue = "):
                flow.sink(loader, firsts, queue=wrong)
        for wrong in (None, 5, "step"):
            with pytest.raises(flow.InvalidArgumentError, match="step = .*must be a function"):
                flow.sink(loader, wrong)
        with pytest.raises(flow.InvalidArgumentError, match="a list was given"):
            flow.sink([1], firsts)
        run = flow.sink(loader, lambda _: run())
        with pytest.raises(flow.UnsupportedError, match="running already"):
            run()
        run.close()
    assert not sink_threads()


def test_epochs_without_batches_are_an_error(folder):
    for sink_size in (-1, 2):
        with open_loader(folder, last_batch="drop", batch_size=99) as loader:
            run = flow.sink(loader, firsts, sink_size=sink_size)
            if sink_size < 0:
                assert run() == [], "as `for batch in loader` does"
            with pytest.raises(flow.InvalidArgumentError, match="would never end"):
                run()
            run.close()


# ---- Failures -----------------------------------------------------------------------------------


def test_a_batch_whose_step_fails_comes_again(folder):
    results, states = plainly(folder, 20)
    fails = {3: ValueError("no"), 7: KeyboardInterrupt(), 9: SystemExit()}
    calls = itertools.count()
    with open_loader(folder) as loader:

        def step(batch):
            got = firsts(batch)
            batch[:] = -1  # the batch that comes again is another one
            failure = fails.get(next(calls))
            if failure is not None:
                raise failure
            return got

        run = flow.sink(loader, step, sink_size=10)
        done = 0
        for call, failure in fails.items():
            with pytest.raises(type(failure)):
                run()
            assert run.results == results[done : call - list(fails).index(call)]
            done += len(run.results)
            assert run.state_dict() == states[done]
        assert run() == results[done : done + 10]
        run.close()


def test_a_failure_of_the_loader_comes_in_its_place(tmp_path):
    content = lines(0, RECORDS).replace(b"9,90\n", b"9;90\n", 1)
    folder = write_parts(tmp_path / "bad", content)

    def read(take, loader):
        found = []
        for _ in range(2 * STEPS):
            try:
                found += take()
            except flow.CorruptDataError as error:
                found.append(str(error))
            found.append(loader.state_dict())
        return found

    with open_loader(folder) as plain, open_loader(folder) as loader:
        batches = plain.repeat()
        whole = read(lambda: [firsts(next(batches))], plain)
        assert sum(isinstance(one, str) for one in whole) == 2
        run = flow.sink(loader, firsts, sink_size=1)
        assert read(run, run) == whole
        run.close()
        with flow.sink(loader, firsts, sink_size=1) as run:
            loader.close()
            with pytest.raises(flow.CancelledError):
                list(run)


class Blocking:
    """A source whose sample 6 is not there until it may be."""

    def __init__(self):
        self.asked, self.may_go_on = threading.Event(), threading.Event()

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == 6:
            self.asked.set()
            self.may_go_on.wait()
        return np.int64(i)


@pytest.fixture
def blocking():
    source = Blocking()
    values = flow.GeneratorReader(source, fields=["value:int64"], batch_size=2)
    with flow.DataLoader(values, num_threads=1) as loader:
        yield source, loader
        source.may_go_on.set()


def test_ctrl_c_ends_a_wait(blocking):
    source, loader = blocking
    run = flow.sink(loader, np.ndarray.tolist, queue=1)

    def interrupt():
        source.asked.wait()
        time.sleep(0.1)  # until no batch is left: samples before that one may come after it
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run()
        raise AssertionError("the interrupt comes while it waits")
    thread.join()
    assert not source.may_go_on.is_set()
    done = len(run.results)
    source.may_go_on.set()
    assert run.state_dict()["position"] == done
    assert run.results + run() == [[i, i + 1] for i in range(0, 12, 2)]
    run.close()


def test_a_dropped_sink_ends_its_thread(blocking):
    source, loader = blocking
    source.may_go_on.set()
    run = flow.sink(loader, np.ndarray.tolist)
    run()
    (thread,) = sink_threads()
    del run
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
    assert len(list(loader)) == 6


# ---- The end of a sink --------------------------------------------------------------------------


def test_close_ends_a_call_after_its_step(folder):
    results, states = plainly(folder, 2 * STEPS)

    def by_signal(close):
        signal.signal(signal.SIGTERM, lambda *_: close())
        os.kill(os.getpid(), signal.SIGTERM)

    def by_thread(close):
        thread = threading.Thread(target=close)
        thread.start()
        thread.join()

    before = signal.getsignal(signal.SIGTERM)
    try:
        for end in (lambda close: close(), by_signal, by_thread):
            with open_loader(folder) as loader:

                def step(batch):
                    if firsts(batch) == results[2]:
                        end(run.close)
                    return firsts(batch)

                run = flow.sink(loader, step, sink_size=5)
                with pytest.raises(flow.CancelledError, match="the sink is closed"):
                    run()
                assert run.results == results[:3] and not sink_threads()
                assert run.state_dict() == loader.state_dict() == states[3]
                with pytest.raises(flow.CancelledError, match="the sink is closed"):
                    run()
                assert [firsts(batch) for batch in loader] == results[3:STEPS]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_handler_closes_a_sink_that_waits(blocking):
    source, loader = blocking
    run = flow.sink(loader, np.ndarray.tolist, queue=1)

    def handler(*_):
        run.close()
        source.may_go_on.set()

    def terminate():
        source.asked.wait()
        while not run._is_inside:  # before the call, close() would wait for the sample
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        thread = threading.Thread(target=terminate)
        thread.start()
        with pytest.raises(flow.CancelledError, match="the sink is closed"):
            run()
        thread.join()
    finally:
        signal.signal(signal.SIGTERM, before)
    rest = [batch.tolist() for batch in loader]
    assert run.results + rest == [[i, i + 1] for i in range(0, 12, 2)]


def test_a_second_ctrl_c_may_come_at_any_line(folder):
    """After the first one, where that is dealt with, where the thread is started again, and in the
    next steps: no batch is lost and none comes too early."""
    wanted = plainly(folder, STEPS)[0]
    of_lease = {Lease.stop.__code__, Lease.end.__code__}

    def trial(loader, number):
        got, lines_seen = [], itertools.count()
        is_armed = has_come = False

        def step(batch):
            nonlocal is_armed
            if len(got) == 2 and not is_armed:
                is_armed = True
                raise KeyboardInterrupt
            got.append(firsts(batch))

        def trace(frame, event, _):
            nonlocal has_come
            code = frame.f_code
            if code.co_filename != sinks.__file__ and code not in of_lease:
                return None
            # No signal comes at the end of a call before its first line.
            if event == "line" and is_armed and frame.f_lineno not in ends:
                if next(lines_seen) == number:
                    has_come = True
                    raise KeyboardInterrupt
            return trace

        interrupts, before = 0, sys.gettrace()
        loader.seek(0, epoch=0)
        run = flow.sink(loader, step, sink_size=2)
        sys.settrace(trace)
        try:
            while len(got) < 5:
                try:
                    run()
                except KeyboardInterrupt:
                    interrupts += 1
                    assert interrupts < 3
        finally:
            sys.settrace(before)
        steps = [one for one, _ in itertools.groupby(got)]  # one may have been at its last line
        assert steps == wanted[: len(steps)] and len(got) - len(steps) <= 1, number
        run.close()
        return has_come

    with open(sinks.__file__) as file:
        ends = {n for n, line in enumerate(file, 1) if "self._is_inside = False" in line}
    assert ends
    with open_loader(folder) as loader:
        count = next(n for n in itertools.count() if not trial(loader, n))
    assert count > 60 and not sink_threads()


def test_a_dropped_sink_loses_no_batch(folder):
    results, states = plainly(folder, 3 * STEPS)
    with open_loader(folder) as loader:

        def call():
            return flow.sink(loader, firsts, sink_size=3)()

        done = 0
        for _ in range(6):
            assert call() == results[done : done + 3]
            done += 3
            assert loader.state_dict() == states[done]
        call()
        rest = [firsts(batch) for batch in loader]
        assert rest == results[done + 3 : 3 * STEPS]


def test_the_newest_takes_the_loader_over(folder):
    results, states = plainly(folder, 40)
    over = "this sink is over: a newer sink or iterator"
    with open_loader(folder) as loader:
        run, done = flow.sink(loader, firsts, sink_size=3), 0
        takers = (
            lambda: flow.sink(loader, firsts, sink_size=1)(),
            lambda: [firsts(next(iter(loader)))],
            lambda: [firsts(next(loader.repeat()))],
            lambda: loader.seek(2) or (),
            lambda: loader.load_state_dict(states[7]) or (),
        )
        for number, take in enumerate(takers):
            assert run() == results[done : done + 3]
            done += 3
            assert loader.state_dict() == run.state_dict() == states[done]
            with loader.keep_place():
                loader.seek(0)
                next(iter(loader))
            assert run() == results[done : done + 3], "what is done in keep_place() does not count"
            done += 3
            first, taken = run, take()
            assert list(taken) == results[done : done + 1][: len(taken)], number
            done += len(taken)
            for _ in range(2):
                with pytest.raises(flow.CancelledError, match=over):
                    first()
            with pytest.raises(flow.CancelledError, match=over):
                first.load_state_dict(states[0])
            first.close()
            assert first.state_dict() == states[done - len(taken)]
            if not taken:
                done = STEPS * (done // STEPS) + 2 if number == 3 else 7
            run = flow.sink(loader, firsts, sink_size=3)  # as a cell of a notebook that runs again
            assert loader.state_dict() == run.state_dict() == states[done]
        run.close()
        with pytest.raises(flow.InvalidArgumentError, match="position = 99"):
            loader.seek(99)
    assert not sink_threads()


@pytest.mark.slow  # ThreadSanitizer may not fork while threads run
def test_a_forked_child_is_refused(folder):
    with open_loader(folder) as loader, flow.sink(loader, firsts) as run:
        run()
        child = os.fork()
        if not child:
            status = 1
            try:
                run()
            except flow.UnsupportedError as error:
                status = 0 if "forked" in str(error) else 2
            try:
                run.close()
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(run()) == STEPS
