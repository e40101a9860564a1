"""Remedies that are tried: measured gains of changes, beside a loader that stays where it is."""

import json
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support.indexes import environment

import pyflowdata as flow
from pyflowdata.insight import trials as trying
from pyflowdata.insight.trials import Trial, Trials


@pytest.fixture(autouse=True)
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
    local = next(one for one in trials.trials if one.change.startswith("processes="))
    assert local.failure and not local.gains  # a worker cannot import a local function
    assert f"not tried: {local.change}: " in str(trials)


def test_reports_without_their_loader_cannot_try():
    with sleeping_loader() as loader:
        next(iter(loader))
        report = loader.report()
        with pytest.raises(flow.InvalidArgumentError, match="seconds = 0"):
            report.try_remedies(seconds=0)
    with pytest.raises(flow.CancelledError):
        report.try_remedies()
    with pytest.raises(flow.UnsupportedError, match="before close"):
        pickle.loads(pickle.dumps(report)).try_remedies()


def test_words_of_trials():
    none = Trials((Trial("num_threads=4", (0.9, 1.2), 90.0),), 100.0)
    assert none.best is None
    assert none.sentence == (
        "no change helps in each turn; the most promising: num_threads=4, 0.90x to 1.20x measured"
    )
    assert "none of the remedies" in Trials((Trial("processes=2", failure="no"),), 1.0).sentence
    found = Trials((Trial("thread_safe=True", (5.2, 5.7), 550.0), *none.trials), 100.0)
    assert found.sentence == "best: thread_safe=True, 5.20x to 5.70x measured"


SCRIPT = """
import time, numpy as np, pyflowdata as flow

class Fetched:
    def __len__(self):
        return 400

    def __getitem__(self, number):
        time.sleep(0.002)
        return {"x": np.float32(number)}

if __name__ == "__main__":
    x = flow.GeneratorReader(Fetched(), fields=["x:float32"], batch_size=4, thread_safe=True)
    with flow.DataLoader(x, num_threads=1, prefetch=2) as loader:
        for batch in loader:
            pass
"""


def test_the_command_tries(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-m", "pyflowdata", "speed", "--try", "--json", "--seconds", "0.1",
         "train.py"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    changes = {one["change"] for one in found["remedies"]["trials"]}
    assert {"num_threads=2", "num_threads=4, prefetch=4", "prefetch=8"} <= changes
    assert found["limit"] and found["remedies"]["records_per_second"] > 0


@pytest.mark.parametrize("kind", [threading.Lock, threading.Semaphore])
def test_a_lock_of_the_program_is_told_from_sleep(kind):
    """Calls that wait for a lock, in `with` or in acquire(), and calls that sleep."""
    lock = kind()

    def locked(x):
        with lock:
            time.sleep(0.002)
        return x

    def asleep(x):
        time.sleep(0.008)
        return x

    for function, cause in ((locked, "own-lock"), (asleep, "python-op")):
        data = flow.from_arrays({"x": np.zeros((4000, 4), np.float32)}).map(function, "x")
        for _ in range(3):  # other programs may hold threads up
            with flow.DataLoader(data.batch(4), num_threads=4, prefetch=8) as loader:
                for _, _ in zip(range(24), loader.repeat(), strict=False):
                    pass
                report = loader.report()
            if report.cause == cause:
                break
        assert report.cause == cause, str(report)
        advised = any("num_threads=16" in one for one in report.remedies)
        assert advised == (cause == "python-op")


def test_processes_that_copy_large_rows_are_seen(tmp_path):
    """The bytes of a row are those of its inputs and outputs."""
    (tmp_path / "large_rows.py").write_text(
        "import numpy as np\ndef large(x):\n    return np.zeros(750_000, np.float32)\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        from large_rows import large

        data = flow.from_arrays({"x": np.zeros((400, 4), np.float32)}).map(
            large, "x", outputs={"x": "float32[750000]"}, processes=2
        )
        with flow.DataLoader(data.batch(2), prefetch=2) as loader:
            batches = loader.repeat()
            next(batches)
            before = loader.report()  # the processes have started
            for _ in range(24):
                next(batches)
            report = loader.report(since=before)
    finally:
        sys.path.remove(str(tmp_path))
    work = next(one for one in report.counters.work if one.language == "processes")
    assert work.row_bytes == 3_000_000 + 16
    if report.cause != "processors":  # where other programs run
        assert report.cause == "process-copies", str(report)
        assert report.remedies[0].startswith("processes=0")
