"""StallWarning: one for each wait that is too long, which says who is stuck on what."""

import re
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.paths import ROOT
from support.process_functions import faulty

import pyflowdata as flow
from pyflowdata.insight import stalls as watch

WAIT = 60  # seconds after which something that comes in any case is given up


class Gate:
    """Where a function of a loader stops at one value, until it is opened."""

    def __init__(self, at):
        self.at = at
        self.opened = threading.Event()
        self.passes = 0

    def pass_by(self, value):
        if value == self.at:
            self.passes += 1
            assert self.opened.wait(WAIT)


class Caught:
    """The warnings of a `with` block, of all threads; come() waits for the next one."""

    def __enter__(self):
        self._catcher = warnings.catch_warnings()
        self._catcher.__enter__()
        warnings.simplefilter("always")
        self.all, self._new = [], []
        self._came, self._lock = threading.Event(), threading.Lock()

        def show(message, category, filename, lineno, *_):
            self.all.append((str(message), category, filename, lineno))
            with self._lock:
                self._new.append(str(message))
                self._came.set()

        warnings.showwarning = show
        return self

    def __exit__(self, *exception):
        self._catcher.__exit__(*exception)

    def come(self, step):
        """The text of the next one about a step; others may come where a machine is slow."""
        text = ""
        while f" for step {step} of " not in text:
            assert self._came.wait(WAIT)
            with self._lock:
                text = self._new.pop(0)
                if not self._new:
                    self._came.clear()
        return text

    def about(self, step):
        return [each for each in self.all if f" for step {step} of " in each[0]]


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setenv(watch.VARIABLE, "0.2")


def numbers(count=64, batch=4):
    return flow.from_arrays({"x": np.arange(count)}).batch(batch)["x"]


def stall(loader, gate, step):
    """Takes an epoch, opens the gate when the warning of its step has come: that, and the rows."""
    with Caught() as caught:
        rows, line = [], sys._getframe().f_lineno + 3

        def take():
            for batch in loader:
                rows.extend(batch.tolist())

        taker = threading.Thread(target=take)
        taker.start()
        text = caught.come(step)
        told = loader.last_stall
        gate.opened.set()
        taker.join(WAIT)
    (only,) = caught.about(step)
    assert only[1:] == (flow.StallWarning, __file__, line)  # where next() was called
    assert (told.epoch, told.step, told.text) == (0, step, text) and told.seconds >= 0.2
    return text, rows


WHO = r"(thread \d of \d|the thread in next\(\))"


def test_a_stuck_op_is_named_with_rows_and_line():
    for per, threads in (("row", 1), ("row", 3), ("batch", 2)):
        gate = Gate(41)

        @flow.register_decoder(outputs={"out": "int64"}, per=per, replace=True)
        def stuck(x):
            for value in np.atleast_1d(x):
                gate.pass_by(value)
            return x

        with flow.DataLoader(stuck(numbers()), num_threads=threads, prefetch=1) as loader:
            assert loader.last_stall is None
            text, rows = stall(loader, gate, 10)
        assert rows == list(range(64)) and gate.passes == 1
        assert re.match(
            rf"next\(\) has waited [\d.]+ m?s for step 10 of epoch 0: {WHO} has been in Stuck for "
            r"[\d.]+ m?s, on 4 rows, records 40 to 43; ", text,
        ), text  # fmt: skip
        assert re.search(rf"stuck\(\) is at {re.escape(__file__)}:\d+$", text), text


def test_a_source_in_python_and_its_line():
    class Source:
        def __init__(self, gate):
            self.gate = gate

        def __len__(self):
            return 40

        def __getitem__(self, index):
            self.gate.pass_by(index)
            return {"x": np.int64(index)}

    def stream_of(gate):
        def stream():
            for index in range(40):
                gate.pass_by(index)
                yield {"x": np.int64(index)}

        return stream

    for make, doing in (
        (Source, "looking for the records of GeneratorReader"),
        (stream_of, "reading GeneratorReader"),
    ):
        gate = Gate(22)
        rows = flow.GeneratorReader(make(gate), fields=["x:int64"], batch_size=4)
        with flow.DataLoader(rows, num_threads=2, prefetch=1) as loader:
            text, found = stall(loader, gate, 5)
        assert found == list(range(40))
        waits = rf"for step 5 of epoch 0: {WHO} has been {doing} for [\d.]+ m?s"
        assert re.search(waits, text), text
        assert re.search(rf"; sample 22: \w+\(\) is at {re.escape(__file__)}:\d+$", text), text


def test_files_are_named():
    gate = Gate(9)

    @flow.register_decoder(outputs={"out": "float64"}, per="row", replace=True)
    def held(x, *, ids):
        gate.pass_by(int(ids[1]))
        return x[0]

    rows = flow.MiniReader(str(ROOT / "data"), batch_size=3)
    with flow.DataLoader(held(flow.MiniDecoder(rows)[0]), num_threads=1, prefetch=1) as loader:
        text, _ = stall(loader, gate, 3)
    assert f"on 3 rows, records 9 to 11 of {ROOT}/data/part-001; " in text


def test_each_stall_is_told_once_and_state_goes_on():
    gates = [Gate(5), Gate(33)]

    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def stuck(x):
        for gate in gates:
            gate.pass_by(x)
        return x

    with flow.DataLoader(stuck(numbers()), num_threads=1, prefetch=1) as loader, Caught() as caught:
        batches = iter(loader)
        opener = threading.Thread(target=open_after, args=(gates, (1, 8), caught))
        opener.start()
        assert [batch.tolist() for batch in batches] == np.arange(64).reshape(16, 4).tolist()
        opener.join()
    assert len(caught.about(1)) == len(caught.about(8)) == 1


def open_after(gates, steps, caught):
    """Opens each gate some looks after its warning has come, so that a second one could."""
    for gate, step in zip(gates, steps, strict=True):
        caught.come(step)
        time.sleep(0.3)
        gate.opened.set()


def test_a_filter_can_make_it_an_error():
    """next() raises while it waits for another thread: here each other thread is stuck."""
    opened = threading.Event()

    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def stuck(x):
        if threading.current_thread() is not threading.main_thread():
            assert opened.wait(WAIT)
        return x

    with flow.DataLoader(stuck(numbers()), num_threads=2, prefetch=2) as loader:
        batches = loader.repeat()
        with warnings.catch_warnings():
            warnings.simplefilter("error", flow.StallWarning)
            with pytest.raises(flow.StallWarning, match="next\\(\\) has waited") as caught:
                for _ in batches:
                    pass
        assert caught.value.args == (loader.last_stall.text,)
        state = loader.state_dict()
        last = loader.last_stall
        assert (state["epoch"], state["position"]) == (last.epoch, last.step)
        opened.set()
        first = 4 * state["position"]
        assert next(batches).tolist() == [first, first + 1, first + 2, first + 3]  # none is lost


def test_an_error_is_raised_for_its_own_batch_alone():
    """One that comes when its batch has been delivered already is dropped, as is an older one."""
    with flow.DataLoader(numbers(), num_threads=1) as loader:
        next(iter(loader))
        wait = watch.Wait(loader._opened, 60)
        late = watch._Failure(0, 5, flow.StallWarning("step 5"))
        wait.failure = late
        wait.stall = watch.Stall(0, 7, 1.0, "step 7")
        wait.raise_failure(0, 7)
        assert wait.failure is None
        wait.failure = late
        wait.look()  # nobody is in next()
        assert wait.failure is None
        wait.failure = late
        with pytest.raises(flow.StallWarning, match="step 5"):
            wait.raise_failure(0, 5)


def test_a_warning_that_cannot_be_shown_is_not_the_end():
    """The program's own showwarning() raises: the stall is known, and later ones will be."""
    opened = threading.Event()

    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def stuck(x):
        assert x != 9 or opened.wait(WAIT)
        return x

    tried = threading.Event()

    def broken(*_):
        tried.set()
        raise OSError("stderr is closed")

    with flow.DataLoader(stuck(numbers()), num_threads=1, prefetch=1) as loader:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = broken
            taker = threading.Thread(target=lambda: list(loader))
            taker.start()
            assert tried.wait(WAIT)
            opened.set()
            taker.join(WAIT)
        assert loader.last_stall.step == 2
    assert watch._watch.thread.is_alive()


def test_a_thread_that_has_died_is_started_again():
    class Looked:
        is_over, seconds = False, 60.0
        event = threading.Event()

        def look(self):
            self.is_over = True
            self.event.set()

        def pause(self):
            return self.seconds

    died = threading.Thread(target=int)
    died.start()
    died.join()
    watching = watch._Watch(thread=died)
    watching.add(Looked())
    assert Looked.event.wait(WAIT)


def test_the_time_is_chosen_in_the_environment(monkeypatch):
    for given in ("soon", "-1", "inf", "nan"):
        monkeypatch.setenv(watch.VARIABLE, given)
        with flow.DataLoader(numbers()) as loader:
            with pytest.raises(flow.InvalidArgumentError, match=f"STALL_SECONDS = '{given}'; "):
                iter(loader)
    monkeypatch.setenv(watch.VARIABLE, "0")
    with flow.DataLoader(numbers()) as loader:
        assert len(list(loader)) == 16
        assert loader._opened.observation._wait is None and loader.last_stall is None
    monkeypatch.setenv(watch.VARIABLE, "")
    assert watch.stall_seconds() == 60


def test_a_read_in_c_is_told_while_it_lasts(test_ops):
    with Caught() as caught:
        rows = flow.SlowReader(delay_ms=400, batch_size=2)
        with flow.DataLoader(rows, num_threads=3) as loader:
            next(iter(loader))
    ((line, *_),) = caught.about(0)
    assert re.match(
        r"next\(\) has waited [\d.]+ m?s for step 0 of epoch 0: "
        r"thread \d of 3 has been reading SlowReader for [\d.]+ m?s; "
        r"2 of the loader's threads are idle$",
        line,
    ), line  # fmt: skip


HOLDS = """
import ctypes, os, sys, threading, time
import numpy as np
import pyflowdata as flow

def hold():
    os.write(2, b"held\\n")
    ctypes.PyDLL(None).usleep(1_500_000)
    os.write(2, b"free\\n")

@flow.register_decoder(outputs={"out": "int64"}, per="row")
def stuck(x):
    if x == 41:
        hold()
    return x

def epoch(x, pause=0):
    with flow.DataLoader(x, num_threads=1, prefetch=1) as loader:
        for batch in loader:
            time.sleep(pause)
        if not pause:
            hold()  # in no epoch: no step is missing

def other():
    time.sleep(0.3)
    hold()

x = flow.from_arrays({"x": np.arange(64)}).batch(4)["x"]
epoch(stuck(x))
threading.Thread(target=other).start()
epoch(x, 0.05)
"""


def test_a_call_that_holds_the_interpreters_lock_is_told_while_it_lasts():
    done = programs.run(HOLDS, env=programs.environment(**{watch.VARIABLE: "0.2"}), check=True)
    in_op, after, by_another = re.findall(r"held\n(.*?)free\n", done.stderr, re.S)
    assert after == "" and done.stderr.count("pyflowdata:") == 2, done.stderr
    for told, where in (in_op, "stuck"), (by_another, "other"):
        assert re.match(
            r"pyflowdata: next\(\) has not (returned|been called) for [12]\.\d s, and the "
            r"interpreter's lock has not been free for 1\.\d s: a call holds it, and all other "
            r"Python code waits\n", told,
        ), told  # fmt: skip
        stack = rf"Thread 0x\w+ .*\(most recent call first\):\n.*in hold\n.*in {where}\n"
        assert re.search(stack, told), told
    step, rows = "step 10 of epoch 0", "on 4 rows, records 40 to 43"
    assert re.search(rf"\n  {step}: {WHO} has been in Stuck for \d\.\d s, {rows}\n", in_op), in_op


def test_a_process_is_named():
    """Its function sleeps for a minute; the loader closes meanwhile, and ends the process."""
    data = flow.from_arrays({"x": np.arange(40.0).reshape(-1, 1)}).batch(4)
    with flow.DataLoader(faulty(data["x"], fault="wait", at=9), prefetch=1) as loader:

        def take():
            with pytest.raises(flow.CancelledError):
                list(loader)

        with Caught() as caught:
            taker = threading.Thread(target=take)
            taker.start()
            text = caught.come(2)
        (process,) = re.findall(r"; process (\d+) has rows of faulty\(\)$", text)
        assert b"pyops.worker" in Path(f"/proc/{process}/cmdline").read_bytes()
        loader.close()
        taker.join(WAIT)


def test_the_page_is_true(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/speed/trace.md").read_text()
    first = re.findall(r"```python\n(.*?)```", page, re.S)[0]
    exec(compile(first, "trace.py", "exec"), {})  # noqa: S102  (writes the file)
    code, printed = re.findall(r"```python\n(import os\n.*?)```\n```text\n(.*?)```", page, re.S)[0]
    with Caught() as caught:
        exec(compile(code, "train.py", "exec"), {"__name__": "train"})  # noqa: S102
    said = [
        f"{filename}:{line}: {category.__name__}: {text}"
        for text, category, filename, line in caught.about(3)
    ]
    assert list(map(shape_of, said)) == [shape_of(printed)]


def shape_of(text):
    """Without what may differ from run to run: times, and which of the two threads it was."""
    text = re.sub(WHO, "who", " ".join(text.split()))
    others = "; 1 (of the loader's threads is idle|is at work on other rows)"
    return re.sub(rf"[\d.]+ m?s\b|{others}", "", text)


def test_a_sink_is_told_at_the_line_that_runs_it():
    gate = Gate(5)

    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def stuck(x):
        gate.pass_by(x)
        return x

    with flow.DataLoader(stuck(numbers()), prefetch=1) as loader, Caught() as caught:
        run = flow.sink(loader, lambda batch: int(batch[0]))
        opener = threading.Thread(target=open_after, args=([gate], [1], caught))
        opener.start()
        line = sys._getframe().f_lineno + 1
        assert run() == list(range(0, 64, 4))
        opener.join()
        run.close()
    assert [told[2:] for told in caught.about(1)] == [(__file__, line)]


def test_a_look_at_threads_does_not_hang_while_garbage_is_collected():
    """CPython 3.11.0 to 3.11.9 may, with the interpreter's lock: nothing else would run."""
    script = """
import faulthandler, gc, threading, time
from pyflowdata.native.calling_line import other_threads

class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(0.0001)  # other threads run, and end

def end_threads():
    while True:
        threads = [threading.Thread(target=int) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

faulthandler.dump_traceback_later(60, exit=True)
threading.Thread(target=end_threads, daemon=True).start()
for _ in range(300):
    Cycle()
    gc.set_threshold(1)
    other_threads()
    gc.set_threshold(700)
assert gc.isenabled()
gc.disable()
other_threads()
assert not gc.isenabled()
"""
    done = programs.run(script)
    assert (done.returncode, done.stderr) == (0, "")
