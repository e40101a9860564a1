"""Ops that are Python functions in processes: the same results, and nothing is left over."""

import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support import process_functions
from support.pairs import NUM_RECORDS, folder, pairs, read  # noqa: F401
from support.paths import ROOT
from support.process_functions import everything, everything_of_a_batch, faulty, pid_of

import pyflowdata as flow
from pyflowdata.workers.remote_errors import RemoteTraceback

HAS_CLOUDPICKLE = importlib.util.find_spec("cloudpickle") is not None


def children():
    """Processes of workers that this one has."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            is_mine = f"PPid:\t{os.getpid()}\n" in status.read_text()
            if is_mine and b"pyops.worker" in (status.parent / "cmdline").read_bytes():
                found.add(int(status.parent.name))
        except OSError:  # it has ended
            continue
    return found


def shared_memories():
    names = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue
    return [name for name in names if "memfd:pyflowdata" in name]


@pytest.fixture(scope="module")
def workers(folder):  # noqa: F811
    """Keeps the processes of `faulty` from one test to the next."""
    with flow.DataLoader(faulty(pairs(folder)[0])) as loader:
        yield loader
    assert children() == set()
    assert shared_memories() == []


def rows_of(batch):
    return [row.tolist() for row in batch]


# ---- The same results ---------------------------------------------------------------------------


WORDS = [{"x": np.array([float(i)]), "text": "ab" * (i % 5)} for i in range(200)]


def words(**attrs):
    return flow.GeneratorReader(WORDS, fields=["x:float64[1]", "text:bytes"], seed=5, **attrs)


def test_per_row_they_give_the_same():
    outputs = {
        "scaled": ("float64", (1,)), "noise": ("float64", (3,)), "id": ("int64", (2,)),
        "length": "int64", "tokens": ("float64", (None,)), "grid": ("int32", (None, 2, None)),
    }  # fmt: skip
    seen = {}
    for processes, num_threads in ((0, 3), (3, 2)):
        op = flow.register_decoder(
            everything, outputs=outputs, per="row", processes=processes, replace=True,
            name="EverythingInProcesses",
        )  # fmt: skip
        x, text = words(batch_size=32, random_shuffle=True)
        seen[processes] = read(x, *op(x, text, scale=0.5, name="op"), num_threads=num_threads)
    assert len(seen[0]) == 7
    for a, b in zip(seen[0], seen[3], strict=True):
        for dense in range(5):
            assert np.array_equal(a[dense], b[dense]) and a[dense].dtype == b[dense].dtype
        for ragged in (5, 6):
            assert rows_of(a[ragged]) == rows_of(b[ragged])
    for x, scaled, _, ids, length, tokens, grid in seen[3]:
        numbers = x[:, 0].astype(int)
        assert np.array_equal(scaled, x / 2) and np.array_equal(ids[:, 1], numbers)
        assert np.array_equal(length, numbers % 5 * 2)
        assert rows_of(tokens) == [(np.arange(n % 4) / 2).tolist() for n in numbers]
        assert [row.shape for row in grid] == [(n % 3, 2, n % 2 + 1) for n in numbers]
        assert all((row == n).all() for row, n in zip(grid, numbers, strict=True))
    noise = np.concatenate([batch[2] for batch in seen[3]])
    assert len(np.unique(noise)) == noise.size == 600


def test_per_batch_they_give_the_same():
    outputs = {
        "out": ("float64", (1,)), "id": ("int64", (2,)), "length": "int64",
        "numbers": ("int64", (None,)),
    }  # fmt: skip
    seen = []
    for processes in (0, 1):
        op = flow.register_decoder(
            everything_of_a_batch, outputs=outputs, processes=processes, replace=True
        )
        x, text = words(batch_size=64)
        seen.append(read(*op(x, text, name="op")))
    for a, b in zip(*seen, strict=True):
        assert all(np.array_equal(a[i], b[i]) for i in range(3))
        assert rows_of(a[3]) == rows_of(b[3]) == [list(range(n)) for n in a[2]]


def test_rows_of_one_batch_are_divided_among_them(folder):  # noqa: F811
    op = flow.register_decoder(pid_of, outputs={"pid": "int64"}, per="row", processes=2)
    batches = read(op(pairs(folder, batch_size=60)[0]), num_threads=1, prefetch=1)
    assert all(len(np.unique(batch)) == 2 for batch in batches[1:])
    assert len(np.unique(np.concatenate(batches))) == 2


# ---- Faults -------------------------------------------------------------------------------------


def raised(folder, cls, fault, at, **options):  # noqa: F811
    x, _ = pairs(folder, **options)
    with flow.DataLoader(faulty(x, fault=fault, at=at)) as loader:
        batches = iter(loader)
        delivered = 0
        with pytest.raises(cls) as caught:
            for batch in batches:
                delivered += len(batch)
        assert delivered == at // 30 * 30
        if cls is flow.CorruptDataError:
            assert next(batches)[0] == delivered + 30  # the batch is over, the loader is not
        elif fault == "ValueError":
            with pytest.raises(cls):  # it is tried again
                next(batches)
    return caught.value


def test_an_exception_has_its_traceback_and_the_place(folder, workers):  # noqa: F811
    failure = raised(folder, flow.UserFunctionError, "ValueError", 317)
    assert failure.message.startswith("faulty() raised ValueError: of a record (")
    assert "process_functions.py:" in failure.message
    assert failure.line == 18 and failure.file.endswith("part-1")
    assert failure.op == "FaultyInProcesses"
    cause = failure.__cause__
    assert type(cause) is ValueError and cause.args == ("of a record",)
    assert isinstance(cause.__cause__, RemoteTraceback)
    trace = str(cause.__cause__)
    assert 'raise ValueError("of a record")' in trace and "in faulty" in trace
    assert "tensors.py" not in trace and "worker_calls.py" not in trace
    assert children() != set()


def test_exceptions_of_other_kinds(folder, workers):  # noqa: F811
    failure = raised(folder, flow.UserFunctionError, "Awkward", 45)
    assert "faulty() raised Awkward: of a record" in failure.message and failure.line == 46
    assert "raise Awkward" in str(failure.__cause__.__cause__)
    with pytest.raises(process_functions.Fatal) as caught:
        raised(folder, flow.UserFunctionError, "Fatal", 45)
    assert "Fatal" in str(caught.value.__cause__)  # the traceback in the worker
    failure = raised(folder, flow.CorruptDataError, "CorruptDataError", 45)
    assert failure.message == "is no good" and failure.line == 46


def test_damaged_rows_are_left_out(folder, workers):  # noqa: F811
    x, _ = pairs(folder, on_error="skip")
    with flow.DataLoader(faulty(x, fault="CorruptDataError", at=45), x) as loader:
        values = np.concatenate([batch for batch, _ in loader])
        assert values.tolist() == [n for n in range(NUM_RECORDS) if n != 45]
        assert [one.line for one in loader.skipped] == [46]


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("SIGKILL", "was killed by SIGKILL; the system was probably out of memory"),
        ("SIGABRT", "was killed by SIGABRT"),
        ("exit", "ended with exit status 3"),
    ],
)
def test_a_dead_worker_is_told_and_replaced(folder, workers, fault, text):  # noqa: F811
    kind = flow.UserFunctionError if fault == "SIGKILL" else flow.CorruptDataError
    failure = raised(folder, kind, fault, 133)
    assert text in failure.message and failure.line == 134 and failure.op == "FaultyInProcesses"
    assert failure.__cause__ is None
    values = [batch for (batch,) in read(faulty(pairs(folder)[0]))]
    assert np.concatenate(values).tolist() == list(range(NUM_RECORDS))
    assert children() != set()


def test_a_worker_that_is_killed_between_batches(folder, workers):  # noqa: F811
    x, _ = pairs(folder)
    with flow.DataLoader(faulty(x), num_threads=1, prefetch=1) as loader:
        batches = iter(loader)
        next(batches)
        time.sleep(0.05)
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        delivered, failures = 30, 0
        while True:
            try:
                assert next(batches)[0] == delivered
                delivered += 30
            except StopIteration:
                break
            except flow.UserFunctionError as failure:
                assert "was killed by SIGKILL" in failure.message
                failures += 1
        assert 1 <= failures <= 2 and delivered == NUM_RECORDS


def test_what_it_returns_is_checked(folder, workers):  # noqa: F811
    failure = raised(folder, flow.UserFunctionError, "wrong dtype", 45)
    assert "has dtype <U4, which no field holds, and float64" in failure.message
    assert failure.line == 46
    assert failure.__cause__ is None


# ---- Life ---------------------------------------------------------------------------------------


def test_close_does_not_wait_for_a_busy_worker(folder, workers):  # noqa: F811
    x, _ = pairs(folder)
    with flow.DataLoader(faulty(x, fault="wait", at=40)) as loader:
        threading.Timer(0.2, loader.close).start()
        started = time.monotonic()
        with pytest.raises(flow.CancelledError):
            list(loader)
        assert time.monotonic() - started < 30


def test_ctrl_c_loses_no_batch(folder, workers):  # noqa: F811
    x, _ = pairs(folder)
    with flow.DataLoader(faulty(x, fault="SIGSTOP", at=90)) as loader:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        delivered = []
        with pytest.raises(KeyboardInterrupt):
            for batch in loader:
                delivered.append(batch[0])
        assert loader.state_dict()["position"] == len(delivered) <= 3
        state = loader.state_dict()
    with flow.DataLoader(faulty(x)) as loader:  # with other attrs, so that the state is refused
        loader.seek(state["position"], epoch=state["epoch"])
        assert delivered + [batch[0] for batch in loader] == list(range(0, NUM_RECORDS, 30))


def test_a_loader_that_is_dropped_ends_its_processes(folder):  # noqa: F811
    before = children(), len(shared_memories())
    op = flow.register_decoder(
        pid_of, outputs={"pid": "int64"}, per="row", processes=1, name="PidOfOne"
    )
    loader = flow.DataLoader(op(pairs(folder)[0]))
    next(iter(loader))
    assert len(children() - before[0]) == 1
    del loader
    assert (children(), len(shared_memories())) == before


def test_a_fork_of_the_program_leaves_the_workers_alone(folder, workers):  # noqa: F811
    x, _ = pairs(folder)
    before = children()
    with flow.DataLoader(faulty(x)) as loader:
        batches = iter(loader)
        next(batches)
        child = os.fork()
        if child == 0:
            try:
                loader.close()
                os._exit(0 if not shared_memories() else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert sum(len(batch) for batch in batches) == NUM_RECORDS - 30
    assert children() == before


def run(tmp_path, script):
    (tmp_path / "own_functions.py").write_text(
        "import os, time\ndef slow(x):\n    print(os.getpid(), flush=True)\n"
        f"    open({str(tmp_path / 'called')!r}, 'w').close()\n"
        "    time.sleep(60)\n    return x[0]\n"
        "def plain(x):\n    return x[0]\n"
    )
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


READ = """
    import os, signal, sys
    import pyflowdata as flow
    def blobs(function, **options):
        op = flow.register_decoder(function, outputs={"out": "float64"}, per="row", **options)
        files = dict(data_part_num=2, part_name_suffix_length=3)
        return op(flow.MiniDecoder(flow.MiniReader("data", batch_size=4, **files))[0])
"""


def is_gone(pid):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_they_end_with_a_program_that_is_killed(tmp_path):
    script = READ + """
    import threading
    from own_functions import slow
    if __name__ == "__main__":
        loader = flow.DataLoader(blobs(slow, processes=1))
        threading.Thread(target=next, args=(iter(loader),), daemon=True).start()
        import time
        from pathlib import Path
        until = time.monotonic() + 30
        while not Path(__file__).with_name("called").exists() and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = run(tmp_path, script)
    out, err = done.communicate(timeout=60)
    assert done.returncode == -signal.SIGKILL and err == ""
    assert out.strip().isdigit() and is_gone(int(out))


def test_a_function_of_the_program_itself(tmp_path):
    """The workers import the program; the loader stays open at its end."""
    script = READ + """
    print("imported as", __name__)
    @flow.register_decoder(outputs={"out": "float64"}, per="row", processes=1)
    def own(x):
        return x[0] + 1
    if __name__ == "__main__":
        files = dict(data_part_num=2, part_name_suffix_length=3)
        x, _ = flow.MiniDecoder(flow.MiniReader("data", batch_size=16, **files))
        loader = flow.DataLoader(x, own(x))
        for a, b in loader:
            assert (a[:, 0] + 1 == b).all()
        print("done")
    """
    done = run(tmp_path, script)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, err) == (0, "")
    assert sorted(out.splitlines()) == ["done", "imported as __main__", "imported as __mp_main__"]


def test_a_program_without_the_guard_is_told(tmp_path):
    """The worker trains with no loader of it, with processes or without."""
    script = READ + """
    def own(x):
        return x[0] + 1
    with flow.DataLoader(blobs(own, processes=0)) as loader:
        print("trained", len(list(loader)) > 0)
    with flow.DataLoader(blobs(own, processes=1)) as loader:
        next(iter(loader))
    """
    done = run(tmp_path, script)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out) == (1, "trained True\n")
    assert "a process cannot import own()" in err
    assert "What the program does belongs under if __name__ == '__main__':" in err


# ---- What cannot be in a process ----------------------------------------------------------------


@pytest.mark.skipif(HAS_CLOUDPICKLE, reason="it sends such functions")
def test_a_function_that_cannot_be_sent(folder):  # noqa: F811
    def inner(x):
        return x[0]

    op = flow.register_decoder(inner, outputs={"out": "float64"}, per="row", processes=1)
    with pytest.raises(flow.InvalidArgumentError, match=r"top of a module.* install cloudpickle"):
        op(pairs(folder)[0])


def test_cloudpickle_sends_it(folder, tmp_path, monkeypatch):  # noqa: F811
    """A module of this name, which is enough for a function without globals."""
    (tmp_path / "cloudpickle.py").write_text(
        textwrap.dedent(
            """
            import marshal, pickle, types
            def made(code): return types.FunctionType(marshal.loads(code), {})
            class Code:
                def __init__(self, function): self.code = marshal.dumps(function.__code__)
                def __reduce__(self): return made, (self.code,)
            def dumps(function): return pickle.dumps(Code(function))
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "cloudpickle", raising=False)
    op = flow.register_decoder(
        lambda x: x[0] + 1, outputs={"out": "float64"}, per="row", processes=1, name="PlusByValue"
    )
    x, _ = pairs(folder)
    for a, b in read(x, op(x)):
        assert np.array_equal(a[:, 0] + 1, b)
    del sys.modules["cloudpickle"]  # monkeypatch would put it back


def test_wrong_numbers_of_processes(folder):  # noqa: F811
    for processes in (-1, 1.5, True, None, "2", 5000):
        with pytest.raises(flow.InvalidArgumentError, match=r"processes = .* int in \[0, 1024\]"):
            flow.register_decoder(pid_of, outputs={"out": "int64"}, processes=processes)


def test_rows_of_the_program_are_answered_here():
    before = children()
    op = flow.register_decoder(
        pid_of, outputs={"pid": "int64"}, per="row", processes=2, name="PidOfHere"
    )
    assert op(np.zeros(1)) == os.getpid() and children() == before


def test_the_error_of_a_worker_can_be_pickled():
    failure = ValueError("x")
    failure.__cause__ = RemoteTraceback("trace")
    assert str(pickle.loads(pickle.dumps(failure.__cause__))) == '\n"""\ntrace"""'


@pytest.mark.parametrize("on_error", ["skip", "raise"])
def test_a_record_of_which_a_process_dies_is_a_damaged_one(on_error):
    data = flow.from_arrays({"x": np.arange(24 if on_error == "skip" else 8)})
    data = data.map(process_functions.deadly, "x", outputs={"x": "int64"}, processes=2)
    # Made ahead are the batches of one epoch: in each more, two processes would die.
    with flow.DataLoader(data.batch(8, on_error=on_error), prefetch=3) as loader:
        if on_error == "raise":
            with pytest.raises(flow.CorruptDataError, match=r"record 5.*killed by SIGSEGV"):
                next(iter(loader))
            return
        found = [int(x) for (batch,) in loader for x in batch]
        wanted = [i for i in range(24) if i not in (5, 17)]
        assert found == wanted
        first, second = map(str, loader.skipped)
        assert "record 5" in first and "SIGSEGV" in first
        assert "record 17" in second and "exit status 3" in second


@pytest.mark.parametrize("name, waits", [("sleeps", True), ("computes", False)])
def test_processes_that_wait_are_told_from_those_that_compute(name, waits):
    function = getattr(process_functions, name)
    data = flow.from_arrays({"x": np.zeros((400, 4))}).map(function, "x", processes=2).batch(4)
    with flow.DataLoader(data, num_threads=2, prefetch=2) as loader:
        batches = loader.repeat()
        next(batches)
        before = loader.report()  # the processes have started
        for _ in range(40):
            next(batches)
        report = loader.report(since=before)
    (work,) = (one for one in report.counters.work if one.processes)
    assert (work.row_wait_seconds > 0.5 * work.row_seconds) == waits


def test_a_killed_process_is_no_damage():
    data = flow.from_arrays({"x": np.arange(8)})
    data = data.map(process_functions.killed, "x", outputs={"x": "int64"}, processes=1)
    with flow.DataLoader(data.batch(8, on_error="skip"), prefetch=1) as loader:
        with pytest.raises(flow.UserFunctionError, match="killed by SIGKILL"):
            next(iter(loader))
