"""What is measured against the clock: `make test-reports` runs it, on a machine that does nothing
else; its name keeps it out of `make test`."""

import json
import sys
import threading
import time
from time import perf_counter as clock

import numpy as np
import pytest
from support.report_pages import reports

import pyflowdata as flow
from pyflowdata.insight import trials as trying
from pyflowdata.native import calling_line

# ---- The shares of the training loop's time -----------------------------------------------------

INSIDE = ("wait", "help", "lock", "check", "turn", "hand_out", "convert")
OUTSIDE = ("outside", "between")
NEAR, TINY = 0.02, 0.001  # of the time; seconds


def numbers(count=20_000, size=4):
    return flow.from_arrays({"x": np.arange(count * size, dtype=np.float32).reshape(count, size)})


def words(count=4000):
    rows = [np.arange(i % 17, dtype=np.int64) for i in range(count)]
    return flow.from_arrays({"tokens": rows, "label": np.arange(count)})


def columns(count):
    return flow.from_arrays({f"c{i}": np.arange(3000, dtype=np.float32) for i in range(count)})


def npy_files(folder, count):
    for i in range(count):
        np.save(folder / f"{i:04}.npy", np.full((1, 8), i, np.float32))
    return flow.Dataset({"x": flow.NpyReader(files=str(folder / "*.npy"))})


def csv(folder):
    (folder / "a.csv").write_text("a,b\n" + "".join(f"{i},{i / 3}\n" for i in range(20_000)))
    reader = flow.CSVReader(files=str(folder / "a.csv"), columns=["a:int64", "b:float32"])
    return flow.Dataset(reader)


def busy(seconds):
    end = clock() + seconds
    while clock() < end:
        pass


def slow(x):
    busy(0.0002)
    return x


def sleepy(x):
    time.sleep(0.0005)
    return x


LOCK = threading.Lock()


def locked(x):
    with LOCK:
        return x * 2


def damaged(x):
    if x[0] % 7 == 0:
        raise flow.CorruptDataError("a bad record")
    return x


# Name -> (data set of a folder, arguments of batch(), of DataLoader, steps at most, seconds of a
# training step).
PIPELINES = {
    "plain": (lambda _: numbers(), {"batch_size": 32}, {}, 400, 0),
    "plain, trained": (lambda _: numbers(), {"batch_size": 32}, {}, 100, 0.0005),
    "sleeping training": (lambda _: numbers(), {"batch_size": 32}, {}, 50, -0.001),
    "batches of 1": (lambda _: numbers(), {"batch_size": 1}, {}, 1000, 0),
    "batches of 1, trained": (lambda _: numbers(), {"batch_size": 1}, {}, 1000, 0.0001),
    "large batches": (lambda _: numbers(size=64), {"batch_size": 4000}, {}, 60, 0),
    "shuffled": (lambda _: numbers().shuffle(seed=1), {"batch_size": 64}, {}, 600, 0),
    "window": (lambda _: numbers().shuffle(kind="window", window=500, seed=1), {"batch_size": 64},
               {}, 600, 0),
    "short epochs": (lambda _: numbers(64), {"batch_size": 32}, {}, 400, 0),
    "one batch an epoch": (lambda _: numbers(32), {"batch_size": 32}, {}, 200, 0),
    "short epochs, trained": (lambda _: numbers(64), {"batch_size": 32}, {}, 100, 0.0003),
    "ragged": (lambda _: words(), {"batch_size": 32}, {}, 400, 0),
    "ragged, batches of 1": (lambda _: words(), {"batch_size": 1}, {}, 1000, 0),
    "padded": (lambda _: words().map(flow.Pad, "tokens", shape=[16]), {"batch_size": 16}, {},
               400, 0),
    "300 columns": (lambda _: columns(300), {"batch_size": 16}, {}, 150, 0),
    "300 columns, trained": (lambda _: columns(300), {"batch_size": 16}, {}, 80, 0.0005),
    "many files": (lambda at: npy_files(at, 600), {"batch_size": 16}, {}, 80, 0),
    "files, batches of 1": (lambda at: npy_files(at, 40), {"batch_size": 1}, {}, 200, 0),
    "csv": (csv, {"batch_size": 100}, {}, 300, 0),
    "python": (lambda _: numbers().map(slow, "x"), {"batch_size": 8}, {}, 50, 0),
    "python, trained": (lambda _: numbers().map(slow, "x"), {"batch_size": 8}, {}, 40, 0.001),
    "sleeping": (lambda _: numbers().map(sleepy, "x"), {"batch_size": 8}, {}, 40, 0),
    "64 threads": (lambda _: numbers().map(locked, "x"), {"batch_size": 32},
                   {"num_threads": 64}, 60, 0),
    "one thread": (lambda _: numbers(), {"batch_size": 32}, {"num_threads": 1}, 400, 0),
    "no prefetch": (lambda _: numbers().map(slow, "x"), {"batch_size": 4}, {"prefetch": 1}, 80, 0),
    "tuned": (lambda _: numbers(), {"batch_size": 32},
              {"num_threads": "auto", "prefetch": "auto"}, 400, 0),
    "damaged": (lambda _: numbers().map(damaged, "x"), {"batch_size": 8, "on_error": "skip"},
                {}, 60, 0),
    "remainders": (lambda _: numbers(100), {"batch_size": 32, "last": "drop"}, {}, 200, 0),
    "mixed": (lambda _: flow.mix([numbers(3000), numbers(2000)], seed=1), {"batch_size": 32},
              {}, 300, 0),
    "late views": (lambda _: numbers().skip(7).repeat(2).take(5000), {"batch_size": 32}, {}, 300,
                   0),
}  # fmt: skip


class Loop:
    """Takes batches, and times next() and the whole loop."""

    def __init__(self, loader, steps, train):
        self.inside = self.steps = 0
        self.begin = None
        while self.steps < steps:
            for _ in self._epoch(loader, steps):
                if train:
                    busy(train) if train > 0 else time.sleep(-train)
        self.all = self.end - self.begin

    def _epoch(self, loader, steps):
        batches = iter(loader)
        while self.steps < steps:
            asked = clock()
            self.begin = self.begin or asked
            batch = next(batches, None)
            self.end = clock()
            self.inside += self.end - asked
            if batch is None:
                return
            self.steps += 1
            yield batch


def of(stats, names):
    return sum(stats[f"{name}_seconds"] for name in names)


def near(found, expected):
    return abs(found - expected) <= max(NEAR * expected, TINY)


@pytest.mark.parametrize("name", PIPELINES)
def test_the_shares_are_the_wall_clock(name, tmp_path):
    data, batch, options, steps, train = PIPELINES[name]
    blobs, found = data(tmp_path).batch(**batch).blobs, []
    for _ in range(3):  # another program may run between two clocks
        with flow.DataLoader(blobs, **options) as loader:
            loop = Loop(loader, steps, train)
            stats = loader.stats()
        shares = {one: round(stats[f"{one}_seconds"] * 1e3, 3) for one in INSIDE + OUTSIDE}
        inside, everything = of(stats, INSIDE), of(stats, INSIDE + OUTSIDE)
        found.append((inside, loop.inside, everything, loop.all, shares))
        assert min(shares.values()) >= 0
        steps_and_starts = stats["step_next_seconds"] + stats["start_seconds"]
        assert near(steps_and_starts, inside), (steps_and_starts, shares)
        if near(inside, loop.inside) and near(everything, loop.all):
            return
    raise AssertionError(found)


# ---- Remedies that are tried --------------------------------------------------------------------


@pytest.fixture
def two_turns(monkeypatch):
    """As many show a spread, and take half of the time."""
    monkeypatch.setattr(trying, "_TURNS", 2)


class Sleeping:
    """Samples by number, each of which takes a while, as from a network."""

    def __len__(self):
        return 4000

    def __getitem__(self, number):
        time.sleep(0.004)
        return {"x": np.float32(number)}


def sleeping_loader(**options):
    return flow.DataLoader(
        flow.GeneratorReader(Sleeping(), fields=["x:float32"], batch_size=1, shuffle=True, seed=1),
        **options,
    )


@pytest.mark.usefixtures("two_turns")
def test_a_source_that_sleeps_is_several_times_as_fast_with_thread_safe():
    with sleeping_loader(num_threads=2, prefetch=4) as loader, sleeping_loader() as same:
        batches = iter(loader)
        taken = [next(batches) for _ in range(12)]
        before, report = loader.state_dict(), loader.report()
        assert report.remedies[0].startswith("thread_safe=True")
        steps = loader.stats()["steps"]
        trials = report.try_remedies(seconds=0.08)
        assert loader.state_dict() == before and loader.stats()["steps"] == steps
        following = [next(batches) for _ in range(3)]
        expected = [batch for _, batch in zip(range(15), same, strict=False)]
        np.testing.assert_array_equal(taken + following, expected)
    best = trials.best
    assert best is not None and best.change == "thread_safe=True, num_threads=8, prefetch=8", trials
    assert best.gain >= 2.5 and best.spread[0] <= best.gain <= best.spread[1]
    assert trials.sentence.startswith("best: thread_safe=True, num_threads=8, ")
    assert trials.sentence.endswith("x measured")
    gains = [one.gain for one in trials.trials]
    assert gains == sorted(gains, reverse=True)
    # Without thread_safe calls take turns, whatever the number of threads.
    alone = next(one for one in trials.trials if one.change == "num_threads=8, prefetch=8")
    assert alone.gain < 0.6 * best.gain
    assert json.loads(json.dumps(trials.to_dict()))["trials"][0]["change"] == best.change


@pytest.mark.usefixtures("two_turns")
def test_a_trial_sleeps_as_long_as_training_does():
    """Training of 8 ms a step hides most of what a faster loader gains."""
    def sleepy(x):
        time.sleep(0.0005)
        return x

    data = flow.from_arrays({"x": np.zeros((4000, 4), np.float32)}).map(sleepy, "x").batch(8)
    with flow.DataLoader(data, num_threads=1, prefetch=4) as loader:
        for _, _ in zip(range(25), loader.repeat(), strict=False):
            time.sleep(0.008)
        report = loader.report()
        trials = report.try_remedies(seconds=0.14)
    assert 0.5 * 0.008 < trials.step_seconds < 2 * 0.008
    assert all(one.gain < 2 for one in trials.trials), trials


# ---- Sinks, dashboards and ranks ----------------------------------------------------------------


def test_a_sink_that_is_slower_than_a_loop_says_so_once(monkeypatch, recwarn):
    """Not where steps are long, nor where they wait for the loader."""
    monkeypatch.setattr(calling_line, "_given", {})

    @flow.register_decoder(outputs={"out": "int64"}, per="batch", replace=True)
    def slow(x):
        time.sleep(0.0005)
        return x

    blob = flow.from_arrays({"x": np.arange(4096)}).batch(4)["x"]
    short, long = (lambda batch: None), (lambda batch: time.sleep(0.00015))
    for step, blob_of, is_told in (
        (long, blob, False), (short, slow(blob), False), (short, blob, True), (short, blob, False),
    ):  # fmt: skip
        recwarn.clear()
        with flow.DataLoader(blob_of, num_threads=1) as loader, flow.sink(loader, step) as run:
            run()
            line = sys._getframe().f_lineno - 1
            run()
        told = [one for one in recwarn if "sink" in str(one.message)]
        assert len(told) == is_told, told
        for one in told:
            assert (one.filename, one.lineno) == (__file__, line) and "a loop is faster" in str(one)


def test_it_counts_once_a_second_and_costs_next_to_nothing():
    with flow.DataLoader(numbers().batch(10)["x"]) as loader, loader.dashboard() as live:
        course, times = live._course, []
        for _ in range(20):
            before = time.thread_time()
            course.count()
            times.append(time.thread_time() - before)
        assert sorted(times)[10] < 0.01  # of a second
        counted = len(course.seconds)
        time.sleep(1.3)
        assert 1 <= len(course.seconds) - counted <= 2


def test_a_rank_that_is_slow_in_its_own_step():
    found = reports((0.01, 0.01, 0.03), (0, 0, 0), marks=True)
    whole = flow.RankReport(found)
    assert (whole.limit, whole.cause) == ("rank", "step"), whole
    assert "rank 2's training step takes" in whole.verdict.sentence
    assert "the loader is not the cause" in whole.verdict.sentence
    assert whole.verdict.evidence["slowest_rank"] == 2
    assert whole.verdict.evidence["own_step_seconds"] > 0.028
    assert 0.008 < whole.verdict.evidence["others_step_seconds"] < 0.025
    last = str(whole).splitlines()[-3:]
    assert [line.split()[0] for line in last] == ["0", "1", "2"]
    assert int(last[2].split()[-2]) > 80  # % of the steps in which it is the last one in
