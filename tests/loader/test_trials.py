"""Remedies that are tried: what a trial needs, which change is best, and the command."""

import contextlib
import json
import pickle
import sys
import types

import numpy as np
import pytest
from support import programs

import pyflowdata as flow
from pyflowdata.insight import trials as trying
from pyflowdata.insight.trials import Trial, Trials


class Numbered:
    def __len__(self):
        return 4000

    def __getitem__(self, number):
        return {"x": np.float32(number)}


# Records a second of each change; of those that are not named: 90.
RATES = {
    "": 100.0, "thread_safe=True": 100.0, "num_threads=8, prefetch=8": 101.0,
    "thread_safe=True, num_threads=8, prefetch=8": 400.0,
}  # fmt: skip


def test_each_remedy_is_tried_beside_a_loader_that_stays_where_it_is(monkeypatch):
    """All are run; the rates are given, as clocks depend on the machine."""
    run = trying._Runner.rate

    def rate(runner, candidate, blobs):
        assert run(runner, candidate, blobs) > 0
        return RATES.get(candidate.change, 90.0)

    monkeypatch.setattr(trying._Runner, "rate", rate)
    monkeypatch.setattr(trying, "_TURNS", 2)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)  # which would send a local function
    x = flow.GeneratorReader(Numbered(), fields=["x:float32"], batch_size=1, shuffle=True, seed=1)
    with flow.DataLoader(x, num_threads=2, prefetch=4) as loader, flow.DataLoader(x) as same:
        batches = iter(loader)
        taken = [next(batches) for _ in range(12)]
        before, steps = loader.state_dict(), loader.stats()["steps"]
        trials = loader.try_remedies(seconds=0.004)
        assert loader.state_dict() == before and loader.stats()["steps"] == steps
        following = [next(batches) for _ in range(3)]
        expected = [batch for _, batch in zip(range(15), same, strict=False)]
        np.testing.assert_array_equal(taken + following, expected)
    best = trials.best
    assert best is not None and best.change == "thread_safe=True, num_threads=8, prefetch=8"
    assert (best.gain, best.spread, best.gains) == (4.0, (4.0, 4.0), (4.0, 4.0))
    said = "best: thread_safe=True, num_threads=8, prefetch=8, 4.00x to 4.00x measured"
    assert trials.sentence == said
    gains = [one.gain for one in trials.trials]
    assert gains == sorted(gains, reverse=True) and set(gains) == {4.0, 1.01, 1.0, 0.9}
    assert json.loads(json.dumps(trials.to_dict()))["trials"][0]["change"] == best.change

    def doubled(x):
        return x * 2

    data = flow.from_arrays({"x": np.zeros((4000, 4))}).map(doubled, "x").batch(8)
    with flow.DataLoader(data, num_threads=1, prefetch=4) as loader:
        next(iter(loader))
        trials = loader.try_remedies(seconds=0.004)
    local = next(one for one in trials.trials if one.change.startswith("processes="))
    assert local.failure and not local.gains  # a worker cannot import a local function
    assert f"not tried: {local.change}: " in str(trials)


PROGRAM = """
{first}
def doubled(x):
    return x * 2
"""
GUARDED = '''
"""A program."""
import sys, functools
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import a_module_that_nobody_has
try:
    import a_module_that_nobody_has as other
except ImportError:
    other = None
RATE, NAMES, WIDE = 1e-3, ["x", "y"], sys.maxsize > 2**32

@functools.lru_cache(maxsize=None)
def cached(x): return x

class Model: size = 3

if __name__ == "__main__":
    raise SystemExit("it runs")
'''

PROGRAMS = {
    "guarded": (GUARDED, ""),
    "trains": ("import sys\nlosses = [len(sys.argv)]", "from program.py:3 on; put what it does"),
    "loops": ("for step in (1, 2):\n    pass", "from program.py:2 on"),
    "hangs": ("import slow_to_import", "its processes had not started after 1 s"),
}  # fmt: skip


@pytest.mark.parametrize(("first", "said"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_trial_does_not_run_the_program(first, said, tmp_path, monkeypatch):
    """Processes are tried where importing the main module does nothing, and in time."""
    monkeypatch.setattr(trying, "_TURNS", 1)
    monkeypatch.setattr(trying, "_START_SECONDS", 1 if first.endswith("slow_to_import") else 60)
    monkeypatch.setattr(trying, "_threads", lambda m, blobs: ())
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_to_import.py").write_text("import time, pyflowdata.workers.inside as it\n"
                                                "if it.is_worker: time.sleep(100)")
    main, path = types.ModuleType("__main__"), tmp_path / "program.py"
    path.write_text(PROGRAM.format(first=first))
    main.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "__main__", main)
    with contextlib.suppress(SystemExit):
        exec(compile(path.read_text().replace("raise SystemExit", "0 and "), path, "exec"),
             main.__dict__)
    data = flow.from_arrays({"x": np.zeros((4000, 4))}).map(main.doubled, "x").batch(8)
    with flow.DataLoader(data, num_threads=1, prefetch=4) as loader:
        next(iter(loader))
        trials = loader.try_remedies(seconds=0.004)
    (tried,) = (one for one in trials.trials if one.change.startswith("processes="))
    assert said in tried.failure and bool(tried.gains) == (not said), tried


def test_a_trial_sleeps_as_long_as_training_does(monkeypatch):
    """On average, in sleeps of at least half a millisecond."""
    slept, now = [], 0.0

    def sleep(seconds):
        nonlocal now
        slept.append(seconds)
        now += seconds

    monkeypatch.setattr(trying.time, "sleep", sleep)
    monkeypatch.setattr(trying, "_clock", lambda: now)
    trains = [0] * 48
    trains[15], trains[22], trains[30] = 300, 99, 1  # of about 49 us, 6.3 ms, and 1.6 s: as 20 ms
    training = trying._Training(trains, longest=0.02)
    assert training.mean == pytest.approx((300 * 1.5 * 2**15 + 99 * 1.5 * 2**22 + 2e7) / 400 / 1e9)
    for _ in range(4000):
        training.step()
    assert sum(slept) == pytest.approx(4000 * training.mean, rel=0.1)
    assert 0.0005 <= min(slept) and max(slept) < 0.021
    trying._Training([0] * 48, longest=1.0).step()  # nothing is known of the steps


def test_reports_without_their_loader_cannot_try():
    with flow.DataLoader(flow.from_arrays({"x": np.zeros(8)}).batch(2)) as loader:
        next(iter(loader))
        report = loader.report()
        with pytest.raises(flow.InvalidArgumentError, match="seconds = 0"):
            report.try_remedies(seconds=0)
    with pytest.raises(flow.CancelledError, match="is closed; try_remedies.* before close"):
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
    run = programs.run(
        programs.COMMAND, "speed", "--try", "--json", "--seconds", 0.1, "train.py",
        cwd=tmp_path, check=True,
    )  # fmt: skip
    found = json.loads(run.stdout)
    changes = {one["change"] for one in found["remedies"]["trials"]}
    assert {"num_threads=2", "num_threads=4, prefetch=4", "prefetch=8"} <= changes
    assert found["limit"] and found["remedies"]["records_per_second"] > 0
