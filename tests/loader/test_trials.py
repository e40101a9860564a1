"""Remedies that are tried: measured gains of changes, beside a loader that stays where it is."""

import json
import pickle
import subprocess
import sys
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


def test_the_best_change_helps_in_each_turn():
    sometimes = Trial("num_threads=4", (0.9, 1.9, 5.0), 180.0)
    failed = Trial("processes=2", failure="a local function")
    assert Trials((sometimes, failed), 100.0).best is None and Trials((failed,), 1.0).best is None
    always = Trial("thread_safe=True", (1.2, 1.3), 130.0)
    found = Trials((sometimes, always, failed), 100.0)
    assert found.best is always and str(found).startswith(f"best: {always}")
    assert f"not tried: {failed.change}: {failed.failure}" in str(found)


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
