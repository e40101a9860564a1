"""Reports of real loaders: what they count against what was done, after close, at the end of
programs, by the command; no verdicts, which depend on the machine."""

import ast
import gc
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from support import programs
from support.command import here  # noqa: F401  (a fixture)
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.insight import stalls, trials
from pyflowdata.nodes.node import nodes_of
from pyflowdata.nodes.python_ops import language_of, processes_of
from pyflowdata.pyops import sources

PAGE = ROOT / "docs" / "speed" / "slow.md"


def data(count=640):
    return flow.from_arrays({"x": np.arange(count * 4, dtype=np.float32).reshape(count, 4)})


def twice_for_reports(x):
    return x * 2


def thrice_for_reports(x):
    return x * 3


def take(loader, batches):
    for _ in itertools.islice(loader.repeat(), batches):
        pass


def test_counts_are_those_of_the_loop():
    with flow.DataLoader(data().shuffle(seed=1).batch(10).blobs, num_threads=2) as loader:
        take(loader, 100)  # 64 batches an epoch
        first = loader.report()
        take(loader, 50)
        last = loader.report(since=first)
    stats = first.counters.stats
    assert (stats["batches"], stats["steps"], stats["starts"]) == (100, 98, 2)
    assert stats["records"] == 1000 and stats["processors"] >= 1
    assert sum(first.counters.history.waits) == stats["waited_steps"] <= 98
    assert sum(one.batches for one in first.counters.history.periods) == 100
    more = last.counters.stats
    assert (more["batches"], more["steps"]) == (50, 49)  # its first one is a start
    assert more["opened_seconds"] == stats["now_seconds"] <= more["now_seconds"]
    assert first.counters.blobs == ("BatchDataset/x",) and first.counters.pid == os.getpid()
    assert first.counters.num_threads == 2 and first.counters.world_size == 1
    assert str(first).startswith(first.verdict.sentence)
    assert first.counters.version == flow.__version__ and first.counters.script
    assert 0 <= time.time() - first.counters.taken < 1000


def test_work_has_titles_and_languages():
    computed = data().map(twice_for_reports, "x")
    batch = computed.map(flow.Cast, "x", dtype="int32", overflow="wrap").batch(10)
    source = flow.GeneratorReader(lambda: iter(range(640)), fields=["y:int64"], batch_size=10)
    with flow.DataLoader({"x": batch["x"]}) as loader:
        take(loader, 64)
        found = {one.title: one for one in loader.report().counters.work}
    assert found["MapTwiceForReports"].language == "Python" and found["Cast"].language == "C"
    assert found["find records of ArrayReader"].kind == "records"
    assert found["MapTwiceForReports"].ranges > 0 and found["MapTwiceForReports"].rows > 0
    with flow.DataLoader(source) as loader:
        take(loader, 64)
        found = {one.title: one for one in loader.report().counters.work}
    assert found["read GeneratorReader"].language == "Python"


def test_a_report_stays_after_close():
    loader = flow.DataLoader(data().batch(10).blobs)
    take(loader, 64)
    loader.close()
    last = loader.report()
    sum(range(100_000))  # what this thread computes now is not the loader's
    assert last == loader.report()  # no time passes
    assert last.counters.stats["batches"] == 64
    assert sum(one.rows for one in last.counters.work) > 0
    assert loader.report(since=last).limit == "unknown"


def test_copies_are_counted():
    with flow.DataLoader(data().batch(10)["x"]) as loader:
        assert loader.report().counters.hand_over is None
        for batch in loader:
            loader.count_copy(0.5, batch.nbytes, "cuda:0")
        report = loader.report()
        copies = report.counters.hand_over
        assert (copies.batches, copies.bytes, copies.seconds) == (64, 640 * 16, 32.0)
        loader.count_copy(1.0, 1, "cuda:0")
        assert copies.batches == 64  # what was counted then
        assert loader.report(since=report).counters.hand_over.seconds == 1.0
        for wrong in (("a", 1, "x"), (1.0, -5, "x"), (float("nan"), 1, "x"), (1.0, 1, 5)):
            with pytest.raises(flow.InvalidArgumentError, match="must be a"):
                loader.count_copy(*wrong)
        assert loader.report().counters.ahead is None
        loader.count_copy(2.0, 3, "cuda:1", overlaps=True)
        now = loader.report().counters
        assert (now.ahead.device, now.ahead.bytes, now.hand_over.batches) == ("cuda:1", 3, 65)
    assert report.cause == "copy" and "to cuda:0" in report.verdict.sentence


SCRIPT = """
import gc, numpy as np, pyflowdata as flow
blobs = flow.from_arrays({"x": np.zeros((640, 4), np.float32)}).batch(10).blobs
def epoch(loader):
    for batch in loader:
        pass
with flow.DataLoader(blobs) as closed:
    epoch(closed)
collected = flow.DataLoader(blobs)
epoch(collected)
del collected
gc.collect()
print("alive", flush=True)
left = flow.DataLoader(blobs)
epoch(left)
unused = flow.DataLoader(blobs)
"""


def program(wanted, script):
    return programs.run(script, env=programs.environment(PYFLOWDATA_REPORT=wanted), check=True)


def test_programs_print_reports_when_loaders_end():
    done = program("1", SCRIPT)
    said = [line for line in done.stderr.split("\n") if line.startswith("pyflowdata: report of")]
    assert said == ["pyflowdata: report of DataLoader(BatchDataset/x)"] * 3
    assert done.stderr.count("of 63 steps") == 3 and done.stdout == "alive\n"


ENDED = """
import os, signal, sys, time, numpy as np, pyflowdata as flow
blobs = flow.from_arrays({"x": np.zeros((640, 4), np.float32)}).batch(10).blobs
if sys.argv[1] == "own":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
loader = flow.DataLoader(blobs)
for batch in loader:
    pass
if sys.argv[1] == "fork":
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(9)
    os.kill(child, signal.SIGTERM)
    print(os.waitpid(child, 0)[1])
print("go", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("how", "number", "code"), [
        ("hup", signal.SIGHUP, -signal.SIGHUP), ("fork", signal.SIGTERM, -signal.SIGTERM),
        ("own", signal.SIGTERM, 3),
    ],
)  # fmt: skip
def test_a_signal_that_ends_the_program_comes_after_the_report(how, number, code, tmp_path):
    """Unless the program handles it; a forked child ends as before, without one."""
    path = tmp_path / "report.json"
    env = programs.environment(PYFLOWDATA_REPORT=str(path))
    with programs.start(ENDED, how, stdout=programs.PIPE, env=env) as process:
        said = process.stdout.readline()
        if how == "fork":
            assert said == f"{int(signal.SIGTERM)}\n"
            said = process.stdout.readline()
        assert said == "go\n" and not path.exists()
        process.send_signal(number)
        assert process.wait(60) == code
    assert [one.name for one in tmp_path.iterdir()] == ["report.json"]
    assert flow.Report.load(path).counters.stats["batches"] == 64


def epoch(**options):
    """What the program does: it opens a loader, takes an epoch, and closes the loader."""
    with flow.DataLoader(data().batch(10, **options).blobs) as loader:
        for _ in loader:
            pass


def test_programs_write_reports(tmp_path, monkeypatch, here, capsys):
    path = tmp_path / "report.json"
    monkeypatch.setenv("PYFLOWDATA_REPORT", str(path))
    for _ in range(3):
        epoch()
    pid = os.getpid()
    names = ["report.json", f"report-{pid}.json", f"report-{pid}-2.json"]
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(names)
    for name in names:
        assert flow.Report.load(tmp_path / name).counters.stats["batches"] == 64
    for rank in range(2):
        epoch(rank=rank, world_size=2)
    ranks = [str(tmp_path / f"report-rank{rank}.json") for rank in range(2)]
    done = here("report", *ranks)
    lines = done.stdout.split("\n")
    assert done.returncode == 0 and "rank" in lines[0]
    assert [line.split()[0] for line in lines[-3:-1]] == ["0", "1"]
    assert "common steps: the first rank is ahead of the last one by" in done.stdout
    (tmp_path / "none").mkdir()
    monkeypatch.setenv("PYFLOWDATA_REPORT", str(tmp_path / "none" / "r.json"))
    with flow.DataLoader(data().batch(10).blobs) as loader:
        take(loader, 64)
        (tmp_path / "none").rmdir()
    assert "pyflowdata: no report: " in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYFLOWDATA_REPORT", "near.txt")
    with flow.DataLoader(data().batch(10).blobs) as loader:
        take(loader, 64)
        (tmp_path / "elsewhere").mkdir()
        os.chdir(tmp_path / "elsewhere")
    assert (tmp_path / "near.txt").read_text() == f"{loader.report()}\n"
    monkeypatch.setenv("PYFLOWDATA_REPORT", "1")
    with monkeypatch.context() as without:
        without.setattr(sys, "stderr", None)
        epoch()
    assert capsys.readouterr().out == ""
    for wrong in ("2", "true", "report.pdf"):
        monkeypatch.setenv("PYFLOWDATA_REPORT", wrong)
        with pytest.raises(flow.InvalidArgumentError, match="PYFLOWDATA_REPORT = .*must be 1"):
            epoch()
    (tmp_path / "taken.txt").mkdir()
    (tmp_path / "closed").mkdir(mode=0o500)
    places = [("none/r.json", "there is no directory .*none; make it"), ("taken.txt", "is a dir")]
    if os.geteuid() != 0:
        places.append(("closed/r.html", "may not write into .*closed; choose"))
    for wrong, said in places:
        monkeypatch.setenv("PYFLOWDATA_REPORT", str(tmp_path / wrong))
        with pytest.raises(flow.InvalidArgumentError, match=f"PYFLOWDATA_REPORT = .*; .*{said}"):
            epoch()  # at its start, not hours later
    monkeypatch.setenv("PYFLOWDATA_REPORT", "0")
    epoch()
    assert capsys.readouterr().err == ""


def test_the_command_prints_reports(tmp_path, here):
    with flow.DataLoader(data().batch(10).blobs) as loader:
        take(loader, 64)
        report = loader.report()
    path = str(tmp_path / "r.json")
    report.save(path)
    assert here("report", path).stdout == f"{report}\n"
    assert json.loads(here("report", path, "--json").stdout)["verdict"]["limit"] == report.limit
    done = here("report", str(tmp_path / "other.json"))
    assert done.returncode == 1 and "No such file" in done.stderr
    done = here("report", path, path)
    assert done.returncode == 1 and "one for each rank" in done.stderr


def test_a_loader_of_another_process_gives_no_report():
    loader = flow.DataLoader(data().batch(10).blobs)
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            loader.report()
        except flow.UnsupportedError:
            os.write(writing, b"refused")
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 100) == b"refused"
    os.wait()
    os.close(reading)
    loader.close()
    del loader
    gc.collect()


def test_import_is_light():
    """Few programs ask for reports; the package imports what they need when they do."""
    script = (
        "import sys, pyflowdata as p\n"
        "print([m for m in sys.modules if 'pyflowdata.' in m])\n"
        "print({*vars(p), *vars(p.ops)} & {*p.ops.__all__}, p.Cast is p.ops.Cast)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    modules, made = done.stdout.splitlines()
    loaded = [name.split(".")[1:] for name in eval(modules)]
    assert [name for name in loaded if name[0] in ("insight", "loader", "formats")] == []
    assert made.split() == ["set()", "True"], "a function of an op was made"
    for name in flow._LATER:
        assert getattr(getattr(flow, name), "__name__", name) == name and name in dir(flow)
    with pytest.raises(AttributeError):
        flow.Reports  # noqa: B018


def test_the_page_has_all_causes():
    """The page's tables have the causes that the rules give, and no others."""
    given = set()
    for call in ast.walk(ast.parse((ROOT / "pyflowdata/insight/causes.py").read_text())):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Finding":
            given |= {
                one.value
                for one in ast.walk(call.args[0])
                if isinstance(one, ast.Constant) and one.value != "op"
            }
    text = PAGE.read_text().partition("## Causes")[2].partition("## Several")[0]
    rows = [line.split("|") for line in text.split("\n") if line.startswith("| `")]
    cells = [row[2] if len(row) > 5 else row[1] for row in rows]  # of the causes
    listed = {name for cell in cells for name in re.findall(r"`([\w-]+)`", cell)}
    assert given - {"cause"} <= listed and listed <= given | {"op", "records", "join"}


@pytest.mark.parametrize("kind", [threading.Lock, threading.Semaphore])
def test_a_lock_of_the_program_is_told_from_sleep(kind):
    """Calls that wait for a lock, in `with` or in acquire(), and calls that sleep."""
    lock = kind()

    def locked(x):
        with lock:
            time.sleep(0.002)
        return x

    def acquired(x):
        lock.acquire()
        time.sleep(0.002)
        lock.release()
        return x

    def asleep(x):
        time.sleep(0.002)
        return x

    for function in (locked, acquired, asleep):
        seen = data(4000).map(function, "x").batch(4)
        with flow.DataLoader(seen, num_threads=4, prefetch=8) as loader:
            batches, end = loader.repeat(), time.monotonic() + 10
            while time.monotonic() < end:
                next(batches)
                found = loader.report().counters
                if found.python_threads >= 8 and (found.lock_waiters or function is asleep):
                    break
        assert found.python_threads >= 8
        assert (found.lock_waiters > 0) == (function is not asleep), function


def busy_seconds():
    """What all processors have computed, as the kernel says: their sum is its first line."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def test_idle_processors_are_not_those_of_other_programs():
    before = busy_seconds()
    with flow.DataLoader(data().batch(10)) as loader:
        time.sleep(0.5)
        next(iter(loader))
        found = loader.report().counters.stats["machine_cpu_seconds"]
    assert found <= busy_seconds() - before + 0.1


def test_a_report_is_made_where_a_thread_has_no_line():
    """Code that a program generates, or changes, may have no numbers of lines."""
    entered, gate = threading.Event(), threading.Lock()

    def held(x):
        entered.set()
        gate.acquire()
        gate.release()
        return x

    held.__code__ = held.__code__.replace(co_linetable=b"")
    batches = data().map(held, "x", outputs={"x": "float32[4]"}).batch(2)
    with flow.DataLoader(batches, num_threads=1, prefetch=1) as loader:
        gate.acquire()
        taker = threading.Thread(target=lambda: next(iter(loader)))
        taker.start()
        try:
            assert entered.wait(10)
            assert loader.report().counters.python_threads >= 1  # next() may help
        finally:
            gate.release()
            taker.join()


def test_threads_are_looked_at_for_reports_and_where_one_is_in_python(monkeypatch):
    asked = []
    monkeypatch.setattr(stalls, "other_threads", lambda: asked.append(1) or {})
    with flow.DataLoader(data().batch(10)) as loader:
        loader.report()
        assert not asked
        monkeypatch.setitem(stalls.inside, -1, 1)
        with loader.dashboard() as page:
            page._course.count()
        assert not asked
        loader.report()
        assert asked == [1]


def test_what_processes_copy_and_compute_is_counted(tmp_path):
    """The bytes of a row are those of its inputs and outputs; what processes compute is that of
    this program, also after the end."""
    (tmp_path / "large_rows.py").write_text(
        "import time, numpy as np\ndef large(x):\n"
        "    end = time.process_time() + 0.004\n"
        "    while time.process_time() < end: pass\n"
        "    return np.zeros(750_000, np.float32)\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        from large_rows import large

        copied = data().map(large, "x", outputs={"x": "float32[750000]"}, processes=2)
        with flow.DataLoader(copied.batch(2), prefetch=2) as loader:
            take(loader, 8)
            before = loader.report()
            take(loader, 40)
            report = loader.report(since=before)
            whole = loader.report()
        after = loader.report()
    finally:
        sys.path.remove(str(tmp_path))
    work = next(one for one in report.counters.work if one.language == "processes")
    assert work.row_bytes == 3_000_000 + 16 and work.row_seconds > 0
    rows, first, last = 2 * 36, whole.counters.stats, after.counters.stats
    assert report.counters.stats["worker_cpu_seconds"] >= 0.9 * 0.004 * rows
    assert first["worker_cpu_seconds"] > report.counters.stats["worker_cpu_seconds"]
    assert last["worker_cpu_seconds"] - first["worker_cpu_seconds"] < 0.5
    assert "its workers" in str(report)


def test_padding_is_counted():
    """Each batch has rows of 1, 2, 3 and 4 elements; each pack one record of 5."""
    rows = [np.ones(1 + i % 4, np.int32) for i in range(64)]
    x = flow.from_arrays({"x": rows}).batch(4)["x"]
    fives = flow.from_arrays({"x": [np.ones(5, np.int32)] * 64})
    pack = fives.pack(8, field="x").batch(4)["x"]
    for blob, op, padded in (
        (flow.PadBatch(x), "PadBatch", 6 / 16),
        (flow.PadBatch(x, multiple_of=8), "PadBatch", 22 / 32),
        (flow.Pad(x, shape=[5]), "Pad", 10 / 20),
        (flow.Pad(x, shape=[3], on_longer="truncate"), "Pad", 3 / 12),
        (pack, "PackDataset", 3 / 8),
    ):
        with flow.DataLoader(blob) as loader:
            take(loader, 8)
            report = loader.report()
        found = next(one for one in report.counters.work if one.op == op)
        assert found.elements > 0 and found.padded == padded * found.elements, op
        assert re.search(rf"(?m)^padding +\S+ % of the .* elements that {op} made$", str(report))


def test_trials_move_all_python_ops_at_once():
    """One op in threads and one in processes: each number of processes is one candidate."""
    data = flow.from_arrays({"x": np.zeros((64, 4), np.float32)})
    data = data.map(twice_for_reports, "x").map(thrice_for_reports, "x", processes=2).batch(8)
    blobs = [*data.blobs.values()]
    found = [*trials._processes(SimpleNamespace(processors=4), blobs)]
    assert [one.change for one in found] == ["processes=0", "processes=4"]
    for one, count in zip(found, (0, 4), strict=True):
        nodes = [node for node in nodes_of(one.blobs(blobs)) if language_of(node) != "C"]
        assert len(nodes) == 2 and {processes_of(node) for node in nodes} == {count}


class Clock:
    """A clock that calls move on: for all threads, or for the thread of the call alone."""

    def __init__(self, monkeypatch, *, is_common):
        self.times, self.readers = threading.local(), set()
        if is_common:
            self.times = SimpleNamespace()
        monkeypatch.setattr(sources, "_clock", self)

    def __call__(self):
        self.readers.add(threading.get_ident())
        time.sleep(0.0001)  # another thread may come in between
        return getattr(self.times, "now", 0)

    def add(self, seconds):
        self.times.now = getattr(self.times, "now", 0) + seconds


class Timed:
    """32 numbers that take so many seconds of a clock each."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.called = clock, seconds, []

    def __len__(self):
        return 32

    def __getitem__(self, number):
        end = time.monotonic() + 20
        while self.seconds and len(self.clock.readers) < 2 and time.monotonic() < end:
            time.sleep(0.001)
        self.clock.add(self.seconds)
        self.called.append(self.seconds)
        return {"x": np.float32(number)}

    def data(self, **attrs):
        return flow.Dataset(flow.GeneratorReader(self, fields=["x:float32"], **attrs))


def found_by(loader):
    """The work of a loader that finds records."""
    (one,) = (one for one in loader.report().counters.work if one.kind == "records")
    return one


def test_the_calls_of_an_object_are_counted_for_each_loader(monkeypatch):
    """In a mix, beside another loader that is open, and in several threads at once."""
    clock = Clock(monkeypatch, is_common=True)
    other = flow.from_arrays({"x": np.zeros(32, np.float32)})
    slow = Timed(clock, 2)
    mixed = flow.mix([other, slow.data()], seed=1).batch(8)
    with flow.DataLoader(mixed, num_threads=2) as loader, flow.DataLoader(mixed) as same:
        assert len([*loader]) == 8
    one = found_by(loader)
    assert (one.op, one.source, one.takes_turns) == ("BatchDataset", "GeneratorReader", True)
    assert one.call_seconds == sum(slow.called) >= 64
    assert one.turn_seconds >= 2  # a second thread had asked before the first record was read
    assert (found_by(same).source, found_by(same).call_seconds) == ("GeneratorReader", 0)
    clock = Clock(monkeypatch, is_common=False)
    slow, free = Timed(clock, 2), Timed(clock, 0)
    at_once, quick = slow.data(thread_safe=True).batch(1), free.data().batch(8)
    with flow.DataLoader(at_once, num_threads=4) as loader, flow.DataLoader(quick) as other:
        assert (len([*loader]), len([*other])) == (32, 4)
    one = found_by(loader)
    assert (one.source, one.takes_turns, one.turn_seconds) == ("", False, 0)
    assert one.call_seconds == sum(slow.called) >= 64
    assert found_by(other).call_seconds == 0 and free.called


def test_threads_that_took_batches_and_ended_are_counted():
    def compute():
        assert len([*loader]) == 64
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass

    found = []
    with flow.DataLoader(data().batch(10)) as loader:
        for _ in range(2):
            taker = threading.Thread(target=compute)
            taker.start()
            taker.join()
            found.append(loader.report().counters.stats["loop_cpu_seconds"])
    if loader.stats()["cpu_seconds"] > 0:  # else the kernel counts nothing
        assert 0.01 < found[0] < found[1] - 0.01


def test_only_a_loader_that_waited_for_processes_has_their_start(tmp_path, monkeypatch):
    (tmp_path / "started.py").write_text("def started(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from started import started

    computed = data().map(started, "x", outputs={"x": "float32[4]"}, processes=1).batch(10)

    def start_of(loader):
        (one,) = (one for one in loader.report().counters.work if one.processes)
        return one.start_seconds

    with flow.DataLoader(computed) as first, flow.DataLoader(computed) as second:
        take(first, 1)
        start = start_of(first)
        take(second, 1)
        assert start > 0 and start_of(second) == 0
        with flow.DataLoader(computed) as third:
            take(third, 1)
            assert start_of(third) == 0
    with flow.DataLoader(computed) as fourth:
        take(fourth, 1)
        assert start_of(fourth) > 0
    assert (start_of(first), start_of(second)) == (start, 0)
