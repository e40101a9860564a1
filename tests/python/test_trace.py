"""loader.trace(): its file against what was delivered, what ops saw themselves, and the format."""

import collections
import gzip
import json
import os
import threading
import time
import warnings
from decimal import Decimal

import numpy as np
import pytest
from support import programs
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.loader import open_loader
from pyflowdata.loader.sinks import Sink
from pyflowdata.insight.counters import read_work
from pyflowdata.insight import trace as tracing
from pyflowdata.insight.speed import wait_until_idle

SLACK_NS = 2_000_000  # between two readings of the clocks, which may be corrected meanwhile


def load(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal)


class Traced:
    """The events of a file, in ns since 1970."""

    def __init__(self, path):
        self.content = load(path)
        self.dropped = self.content["otherData"]["events_dropped"]
        base = self.content["baseTimeNanoseconds"]
        self.slices, self.points, self.tracks, self.processes = [], [], {}, {}
        for event in self.content["traceEvents"]:
            if event["ph"] == "M":
                if event["name"] == "thread_name":
                    self.tracks[event["pid"], event["tid"]] = event["args"]["name"]
                elif event["name"] == "process_name":
                    self.processes[event["pid"]] = event["args"]["name"]
                continue
            event["begin"] = base + int(event["ts"] * 1000)
            event["end"] = event["begin"] + int(event.get("dur", 0) * 1000)
            event["track"] = self.tracks[event["pid"], event["tid"]]
            (self.slices if event["ph"] == "X" else self.points).append(event)

    def named(self, name):
        return [event for event in self.slices if event["name"].startswith(name)]

    def check(self):
        """What is true of every trace."""
        assert len(self.processes) == 2
        assert all(event["pid"] >= 1 << 22 for event in self.slices)  # no process of the kernel's
        assert {event["ph"] for event in self.points} <= set("stf")
        begin, seconds = None, self.content["otherData"]["seconds"]
        by_track = collections.defaultdict(list)
        for event in self.slices:
            assert event["end"] >= event["begin"]
            begin = min(begin or event["begin"], event["begin"])
            by_track[event["pid"], event["tid"]].append(event)
        for events in by_track.values():
            check_nesting(events)
        last = max((event["end"] for event in self.slices), default=begin)
        assert begin is None or last - begin <= int(seconds * 10**9) + 2000
        self.check_ranges()
        self.check_arrows()
        self.check_slots()

    def check_ranges(self):
        """Work is in a range of the same batch, on the same thread."""
        for event in self.slices:
            if event.get("cat") in ("op", "loader") and "ended" not in event["args"]:
                outer = [
                    each for each in self.slices
                    if each.get("cat") == "rows" and each["tid"] == event["tid"]
                    and each["begin"] <= event["begin"] and event["end"] <= each["end"]
                ]  # fmt: skip
                assert len(outer) == 1, (event, outer)
                assert outer[0]["args"]["step"] == event["args"]["step"]

    def check_arrows(self):
        """One for each delivered batch that was made during the trace, from its first range on."""
        made = collections.defaultdict(list)
        for event in self.slices:
            if event.get("cat") == "rows" and "ended" not in event["args"]:
                made[event["args"]["epoch"], event["args"]["step"]].append(event)
        arrows = collections.defaultdict(list)
        for point in self.points:
            arrows[point["id"]].append(point)
        reached = set()
        for points in arrows.values():
            assert [point["ph"] for point in points] in (["s", "f"], ["s", "t", "f"])
            assert [point["begin"] for point in points] == sorted(p["begin"] for p in points)
            (delivery,) = self.around(points[-1], "next")
            batch = delivery["args"]["epoch"], delivery["args"]["step"]
            assert points[0]["begin"] == min(each["begin"] for each in made[batch])
            for point in points[:-1]:
                (range_,) = self.around(point, "rows")
                assert (range_["args"]["epoch"], range_["args"]["step"]) == batch
            assert batch not in reached
            reached.add(batch)
        given = [(e["args"]["epoch"], e["args"]["step"]) for e in self.named("next()")]
        assert len(set(given)) == len(given)
        assert reached == {batch for batch in given if batch in made}

    def around(self, point, category):
        return [
            event for event in self.slices
            if event.get("cat") == category and event["tid"] == point["tid"]
            and event["begin"] <= point["begin"] <= event["end"]
        ]  # fmt: skip

    def check_slots(self):
        """The states of a slot follow each other without a gap, in their order."""
        following = {
            None: ("free", "fill", "ready", "held"), "free": ("fill",),
            "fill": ("ready", "held", "free"), "ready": ("held", "free"), "held": ("free", "fill"),
        }  # fmt: skip
        slots = collections.defaultdict(list)
        for event in self.slices:
            if event.get("cat") == "batch":
                slots[event["tid"]].append(event)
        for events in slots.values():
            state, end = None, None
            for event in events:
                now = event["name"].split(":")[0].split()[0]
                if end is None or event["begin"] - end < 5:
                    assert now in following[state], (state, now)
                state, end = now, event["end"]


def check_nesting(events):
    outer = []
    for event in events:
        while outer and outer[-1]["end"] <= event["begin"]:
            outer.pop()
        if outer:
            assert outer[-1]["begin"] <= event["begin"], (outer[-1], event)
            assert event["end"] <= outer[-1]["end"], (outer[-1], event)
        outer.append(event)


def numbers(count=96, batch=8, **order):
    data = flow.from_arrays({"x": np.arange(count), "y": np.arange(float(count))})
    return (data.shuffle(**order) if order else data).batch(batch)


# ---- Against what ops saw ------------------------------------------------------------------------


def test_slices_are_the_calls_of_an_op(tmp_path):
    """A function notes thread, time and row of each call: its op's slices on that thread have it,
    and the rows of the ranges are those of the batches."""
    calls = []

    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def noted(x):
        begin = time.time_ns()
        calls.append((threading.get_native_id(), begin, time.time_ns(), int(x)))
        return x

    path = tmp_path / "trace.json"
    batches = numbers(seed=3)
    with flow.DataLoader(noted(batches["x"]), batches["y"], num_threads=3, prefetch=2) as loader:
        expected = [[array.tolist() for array in batch] for batch in loader]
        wait_until_idle(loader)  # no call of an epoch ahead begins before the trace
        before = len(calls)
        with loader.trace(path):
            loader.seek(0, epoch=0)
            found = [[array.tolist() for array in batch] for batch in loader]
            seen = calls[before:]
    assert found == expected  # a trace changes nothing
    traced = Traced(path)
    traced.check()
    assert traced.dropped == 0
    slices = traced.named("Noted")
    assert {event["args"]["file"] for event in slices if "file" in event["args"]} <= {""}
    for tid, begin, end, _ in seen:
        assert any(
            event["tid"] == tid and event["begin"] - SLACK_NS <= begin
            and end <= event["end"] + SLACK_NS
            for event in slices
        )  # fmt: skip
    rows = collections.Counter()
    for event in slices:
        rows[event["args"]["epoch"], event["args"]["step"]] += event["args"]["rows"]
    delivered = {(e["args"]["epoch"], e["args"]["step"]) for e in traced.named("next()")}
    assert delivered == {(0, step) for step in range(12)}
    assert all(rows[batch] == 8 for batch in delivered)


def test_ranges_of_a_reader_alone_are_longer(tmp_path):
    """As long as a batch has four of them; an op that reads the rows wants them in the cache."""
    np.save(tmp_path / "x.npy", np.zeros((512, 256), np.float32))

    def most_rows(batch_size, op=lambda blob: blob):
        rows = flow.NpyReader(files=str(tmp_path / "x.npy"), batch_size=batch_size)
        with flow.DataLoader(op(rows)) as loader, loader.trace(tmp_path / "trace.json"):
            assert sum(len(batch) for batch in loader) == 512
        ranges = [e for e in Traced(tmp_path / "trace.json").slices if e.get("cat") == "rows"]
        return max(event["args"]["rows"] for event in ranges)

    cast = most_rows(256, lambda blob: flow.Cast(blob, dtype="float64"))
    assert most_rows(256) == 64 and cast < 32
    assert most_rows(16) == 16


def test_durations_are_those_of_the_counters(tmp_path):
    """An op that sleeps: the counters, which measure some of its calls, say about the same."""

    @flow.register_decoder(outputs={"out": "int64"}, per="batch", replace=True)
    def sleeping(x):
        time.sleep(0.003)
        return x

    path = tmp_path / "trace.json"
    with flow.DataLoader(sleeping(numbers(320)["x"]), num_threads=1) as loader, loader.trace(path):
        assert len(list(loader)) == 40
        item = [work.title for work in read_work(loader._opened.handle)].index("Sleeping")
        counted = flow.native.new_struct("pfd_work_stats")
        assert flow.native.lib.pfd_loader_get_work(loader._opened.handle, item, counted) == 0
    slept = sum(event["end"] - event["begin"] for event in Traced(path).named("Sleeping"))
    assert slept >= 40 * 3_000_000
    assert slept / 3 < counted.wall_ns < slept * 3


# ---- Kinds of pipelines --------------------------------------------------------------------------


def words(batch):
    """Ragged rows, of which a batch is joined by threads."""
    return flow.GeneratorReader(Words(), fields=["text:bytes"], batch_size=batch)


class Words:
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return {"text": b"w" * (40_000 + index)}


def stream():
    for index in range(40):
        yield {"x": np.int64(index)}


def test_every_kind_of_work_is_shown(tmp_path):
    @flow.register_decoder(outputs={"out": "int64"}, per="batch", replace=True)
    def whole(x):
        return x - x.mean().astype(np.int64)

    mini = flow.MiniReader("data", batch_size=4)
    pipelines = {
        "a file": (flow.MiniDecoder(mini)[0], {"MiniReader", "MiniDecoder"}, 18),
        "a whole batch": (whole(numbers()["x"]), {"Whole"}, 96),
        "joined": (words(20), {"join ragged rows"}, 40),
        "a stream": (
            flow.GeneratorReader(stream, fields=["x:int64"], batch_size=8),
            {"read GeneratorReader"}, 40,
        ),
    }  # fmt: skip
    for name, (blob, shown, records) in pipelines.items():
        path = tmp_path / "trace.json.gz"
        with flow.DataLoader(blob, num_threads=2) as loader:
            with loader.trace(path):
                assert sum(len(batch) for batch in loader) == records, name
                if name in ("a file", "a whole batch"):
                    loader.read([0, 2])
            traced = Traced(path)
            traced.check()
            names = {event["name"] for event in traced.slices}
            assert shown <= names, (name, names)
            for op in shown:
                rows = collections.Counter()
                for event in traced.named(op):
                    rows[event["args"]["epoch"], event["args"]["step"]] += event["args"]["rows"]
                for event in traced.named("next()"):
                    args = event["args"]
                    assert rows[args["epoch"], args["step"]] == args["rows"], (name, op)
            if name == "a stream":
                assert traced.named("read step 0")
            if name == "a file":
                files = {e["args"]["file"] for e in traced.slices if "file" in e.get("args", {})}
                assert files == {"data/part-000", "data/part-001"}
                assert traced.named("held: read()") and traced.named("fill read()")


def test_what_the_program_does_with_batches_is_shown(tmp_path):
    path = tmp_path / "trace.json"
    with flow.DataLoader(numbers()["x"], num_threads=1) as loader:
        with loader.trace(path):
            run = flow.sink(loader, lambda x: None)
            run()
            run.close()
    traced = Traced(path)
    traced.check()
    assert len(traced.named("hand over")) >= 12
    assert {event["track"] for event in traced.named("hand over")} == {"next()"}


# ---- Its beginning and end -----------------------------------------------------------------------


def test_a_stuck_op_is_in_the_trace(tmp_path):
    go, stuck = threading.Event(), threading.Event()

    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def waiting(x):
        if x == 40:
            stuck.set()
            assert go.wait(60)
        return x

    with flow.DataLoader(waiting(numbers()["x"]), num_threads=1, prefetch=8) as loader:
        batches = iter(loader)
        with loader.trace(tmp_path / "one.json"):
            taker = threading.Thread(target=lambda: list(batches))
            taker.start()
            assert stuck.wait(60)
        traced = Traced(tmp_path / "one.json")
        traced.check()
        unended = [e for e in traced.slices if e.get("args", {}).get("ended") is False]
        assert {"step 5", "Waiting"} <= {event["name"] for event in unended}
        last = max(event["end"] for event in traced.slices)
        assert all(last - event["end"] < SLACK_NS for event in unended)
        with loader.trace(tmp_path / "two.json"):  # while the first one's buffer is in use
            go.set()
            taker.join()
        Traced(tmp_path / "two.json").check()


def test_what_does_not_fit_is_dropped_and_said(tmp_path):
    path = tmp_path / "trace.json"
    with flow.DataLoader(numbers(seed=1)["x"], num_threads=2) as loader:
        with pytest.warns(RuntimeWarning, match="events did not fit into the trace .*trace.json"):
            with loader.trace(path, memory=80 * 4 * 10):
                list(loader)
        traced = Traced(path)
        assert traced.dropped > 0
        assert 10 < len(traced.slices) < 60
        with pytest.raises(flow.InvalidArgumentError, match="memory = 100; a trace .* needs"):
            with loader.trace(path, memory=100):
                pass
        with loader.trace(path):  # a failed one is over
            next(iter(loader))


def test_wrong_use_and_ends(tmp_path):
    loader = flow.DataLoader(numbers()["x"], num_threads=1)
    with pytest.raises(flow.FileError, match="the trace cannot be written: No such file"):
        with loader.trace(tmp_path / "none" / "trace.json"):
            pass
    for wrong in (None, 5, [], b"trace.json", "", "a\0b"):
        with pytest.raises(flow.InvalidArgumentError, match="path = "):
            loader.trace(wrong)
    with pytest.raises(flow.FileError, match="Is a directory"), loader.trace(tmp_path):
        pass
    for memory in (0, 1.5, True, 1 << 64):
        with pytest.raises(flow.InvalidArgumentError, match="memory = "):
            loader.trace(tmp_path / "trace.json", memory=memory)
    with pytest.warns(RuntimeWarning, match=r"'unused.json' was not started.*: it starts in a bl"):
        loader.trace("unused.json")
    first = loader.trace(tmp_path / "first.json")
    with pytest.raises(flow.InvalidArgumentError, match=r"first.json' was not started, and there"):
        first.end()
    with first:
        with pytest.raises(flow.InvalidArgumentError, match="traced already, into .*first.json"):
            with loader.trace(tmp_path / "second.json"):
                pass
        next(iter(loader))
        loader.close()
        Traced(tmp_path / "first.json").check()  # it is whole already
        written = os.stat(tmp_path / "first.json").st_mtime_ns
    assert os.stat(tmp_path / "first.json").st_mtime_ns == written
    assert not (tmp_path / "second.json").exists()
    with pytest.raises(flow.InvalidArgumentError, match="used once"), first:
        pass
    with pytest.raises(flow.CancelledError):
        loader.trace(tmp_path / "third.json")


@pytest.mark.parametrize("by", ["another thread", "a signal handler"])
def test_a_loader_that_is_closed_while_its_trace_is_written(tmp_path, monkeypatch, by):
    """Another thread waits, so that the files still have their names; this one cannot wait."""
    loader = flow.DataLoader(flow.MiniReader(str(ROOT / "data")), num_threads=1)
    closer, write = threading.Thread(target=loader.close), tracing.write

    def write_while_closed(*arguments):
        if by == "another thread":
            closer.start()
            while loader.is_open:
                time.sleep(0.001)
            closer.join(0.05)
        else:
            loader.close()
        return write(*arguments)

    monkeypatch.setattr(tracing, "write", write_while_closed)
    with loader.trace(tmp_path / "trace.json"):
        list(loader)
    if by == "another thread":
        closer.join()
    traced = Traced(tmp_path / "trace.json")
    traced.check()
    names = {event["args"]["file"] for event in traced.slices if "file" in event.get("args", ())}
    known = {str(path) for path in (ROOT / "data").iterdir()}
    assert names and names <= (known if by == "another thread" else {""})


def test_a_file_is_whole_or_what_it_was(tmp_path, monkeypatch):
    """What is at the path stays where a trace does not start, is interrupted or cannot be ended."""
    path = tmp_path / "trace.json"
    path.write_text("kept")
    with flow.DataLoader(numbers()["x"], num_threads=1) as loader:
        with pytest.raises(flow.InvalidArgumentError), loader.trace(path, memory=10):
            pass
        for failure, seen in (
            (KeyboardInterrupt(), KeyboardInterrupt),
            (OSError(28, "No space left on device"), flow.FileError),
        ):

            def fail(file, *_, failure=failure):
                file.write("[")
                raise failure

            with monkeypatch.context() as patched:
                patched.setattr(tracing, "write", fail)
                with pytest.raises(seen), loader.trace(path) as trace:
                    next(iter(loader))
            assert path.read_text() == "kept" and os.listdir(tmp_path) == ["trace.json"]
            assert "ended without a file" in str(trace)
        (tmp_path / "link.json").symlink_to(path)
        trace = loader.trace(tmp_path / "link.json")
        assert "not started" in str(trace)
        with trace:
            assert "on" in str(trace)
            next(iter(loader))
        assert (tmp_path / "link.json").is_symlink()
        count = len(load(path)["traceEvents"])
        assert f"{count:,} events; open it in https://ui.perfetto.dev" in str(trace)
        with pytest.raises(flow.FileError, match="No space left"), loader.trace("/dev/full"):
            next(iter(loader))
        assert not os.path.isfile("/dev/full")


@pytest.mark.slow  # ThreadSanitizer may not fork while threads run
def test_a_forked_child_leaves_a_trace_alone(tmp_path):
    path = tmp_path / "trace.json"
    with flow.DataLoader(numbers()["x"], num_threads=1) as loader:
        for name in ("json", "json.gz"):
            path = tmp_path / f"trace.{name}"
            with loader.trace(path) as trace:
                child = os.fork()
                if child == 0:
                    try:
                        trace.__exit__(None, None, None)
                        os._exit(0)
                    finally:
                        os._exit(1)
                assert os.waitpid(child, 0)[1] == 0
                assert not path.exists()
                next(iter(loader))
            Traced(path).check()


def test_a_trace_that_cannot_be_written_leaves_nothing_open(tmp_path):
    """The disk is full, or a filter makes the warning about dropped events an error: the loader
    is closed all the same, and its threads end."""
    before = threading.active_count()
    for failure, path, memory, leave in (
        (flow.FileError, "/dev/full", 1 << 20, "close"),
        (flow.FileError, "/dev/full", 1 << 20, "block"),
        (RuntimeWarning, tmp_path / "small.json", 80 * 3 * 10, "close"),
    ):
        loader = flow.DataLoader(numbers()["x"], num_threads=2)
        next(iter(loader))  # starts the watch for stalls, if no other test did
        native = len(os.listdir("/proc/self/task"))
        trace = loader.trace(path, memory=memory)
        with warnings.catch_warnings(), pytest.raises(failure, match="trace"):
            warnings.simplefilter("error", RuntimeWarning)
            with trace:
                list(loader)
                if leave == "close":
                    loader.close()
        assert loader._opened.observation.trace_on is None
        if leave == "block":
            assert len(list(loader)) == 12
            with loader.trace(tmp_path / "next.json"):
                list(loader)
            Traced(tmp_path / "next.json").check()
            loader.close()
        with pytest.raises(flow.CancelledError, match="closed"):
            next(iter(loader))
        assert len(os.listdir("/proc/self/task")) <= native - 2  # other tests may leave some
        assert loader._opened not in open_loader.open_loaders
    assert threading.active_count() <= before + 1  # that of the watch


def test_all_loaders_are_closed_at_the_end(tmp_path):
    """Also those after one that cannot write its trace."""
    script = """
import os, numpy as np, pyflowdata as flow
loaders = [flow.DataLoader(flow.from_arrays({"x": np.arange(8)}).batch(4)["x"]) for _ in range(3)]
traces = [loader.trace(path) for loader, path in zip(loaders, ("a.json", "/dev/full", "b.json"))]
for loader, trace in zip(loaders, traces):
    trace.__enter__()
    list(loader)
"""
    done = programs.run(script, cwd=tmp_path)
    assert "FileError: /dev/full: the trace cannot be written: No space" in done.stderr
    for name in ("a.json", "b.json"):
        Traced(tmp_path / name).check()


def test_a_hand_over_is_on_the_track_of_its_thread(tmp_path):
    """The program takes a batch, and then a sink's thread takes and sends the others."""
    sent = []

    class Noted:
        def send(self, batch):
            sent.append(threading.get_native_id())
            return batch

        def receive(self, made):
            return made

    path = tmp_path / "trace.json"
    with flow.DataLoader(numbers()["x"], num_threads=1) as loader:
        with loader.trace(path):
            next(iter(loader))
            with Sink(loader, len, 11, 2, Noted()) as run:
                assert run() == [8] * 11
    traced = Traced(path)
    traced.check()
    shown = traced.named("hand over")
    assert {event["tid"] for event in shown} == {*sent} != {threading.get_native_id()}
    assert {event["track"] for event in shown} == {"pyflowdata sink"}
    assert len(shown) >= 11


def test_traces_begin_and_end_at_any_time(tmp_path):
    """Another thread traces a loader that is in use, again and again."""
    with flow.DataLoader(numbers(seed=1)["x"], num_threads=3, prefetch=4) as loader:
        over = threading.Event()

        def trace():
            for number in range(6):
                with loader.trace(tmp_path / f"{number}.json"):
                    time.sleep(0.002)
            over.set()

        tracer = threading.Thread(target=trace)
        tracer.start()
        while not over.wait(0.002):  # the other one needs the interpreter to write
            list(loader)
        tracer.join()
    for number in range(6):
        Traced(tmp_path / f"{number}.json").check()
