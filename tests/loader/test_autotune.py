"""num_threads="auto" and prefetch="auto": the same batches, the same states, more threads where
they help.  How decisions are made is tested on models, in tests/c/test_autotune.c."""

import gzip
import itertools
import json
import time

import pyflowdata as flow
import pytest


SECONDS = 20  # patience with a loaded machine; the search takes two
ROWS, BATCH = 600, 4
delay = [0.0]


@flow.register_decoder(outputs={"out": "int64"})
def served_late(numbers):
    """What storage does: each request takes its time, and many at once take no longer."""
    time.sleep(delay[0])
    return numbers * 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("numbers")
    lines = [f"{i}\n" for i in range(ROWS)]
    (path / "numbers.csv").write_text("".join(lines))
    with gzip.open(path / "numbers.csv.gz", "wt") as file:
        file.writelines(lines)
    return path


def opened(folder, *, stream=False, **options):
    file, attrs = "numbers.csv", {"random_shuffle": True, "shuffle_after_epoch": True}
    if stream:
        file, attrs = "numbers.csv.gz", {}
    numbers = flow.CSVReader(
        files=[str(folder / file)], columns=["n=0:int64"], batch_size=BATCH, seed=1, **attrs
    )
    return flow.DataLoader(served_late(numbers), **options)


def until(loader, wanted, *, pause=0.0):
    """Trains until a condition holds; returns the batches."""
    taken, end = [], time.monotonic() + SECONDS
    batches = loader.repeat()
    while not wanted():
        taken.append(next(batches).tolist())
        if pause:
            time.sleep(pause)
        assert time.monotonic() < end, loader.tuning
    return taken


def test_what_can_be_given(folder):
    for options in ({}, {"num_threads": 3, "prefetch": 5}):
        with opened(folder, **options) as loader:
            assert loader.tuning is None and "auto" not in repr(loader)
    with opened(folder, num_threads=3) as loader:
        usual = repr(loader)
    for name, value in (("num_threads", "Auto"), ("prefetch", ""), ("prefetch", "8")):
        with pytest.raises(flow.InvalidArgumentError, match=f"{name} = .*\"auto\""):
            opened(folder, **{name: value})
    for options in (
        {"num_threads": "auto"}, {"prefetch": "auto", "num_threads": 3},
        {"num_threads": "auto", "prefetch": 5}, {"num_threads": "auto", "prefetch": "auto"},
    ):
        with opened(folder, **options) as loader:
            tuning, text = loader.tuning, repr(loader)
            for name, value in (("num_threads", 3), ("prefetch", 5)):
                is_auto = options.get(name) == "auto"
                assert (name in tuning.automatic) == is_auto
                now = getattr(tuning, name)
                assert f"{name}={now}{' (auto)' if is_auto else ''}" in text
                assert is_auto or name not in options or now == value
            assert tuning.decisions == () and tuning.state == "too little is known yet"
            assert str(tuning).startswith(f"num_threads={tuning.num_threads}")
        assert loader.tuning == tuning  # also after close()
    with opened(folder, num_threads=3, prefetch="auto") as loader:  # it starts as without
        assert repr(loader).replace(" (auto)", "") == usual


@pytest.mark.parametrize("stream", [False, True])
def test_batches_and_states_are_the_same(folder, stream):
    auto = {"num_threads": "auto", "prefetch": "auto"}
    delay[0] = 0.002
    with opened(folder, stream=stream, **auto) as loader:
        taken = until(loader, lambda: loader.tuning.decisions)
        state = loader.state_dict()
        more = [batch.tolist() for batch in itertools.islice(loader.repeat(), 100)]
    delay[0] = 0
    with opened(folder, stream=stream, num_threads=1, prefetch=1) as loader:
        expected = itertools.islice(loader.repeat(), len(taken))
        assert [batch.tolist() for batch in expected] == taken
        assert loader.state_dict() == state
    with opened(folder, stream=stream, **auto) as loader:
        loader.load_state_dict(state)
        assert [batch.tolist() for batch in itertools.islice(loader.repeat(), 100)] == more


def kept(tuning):
    return [made for made in tuning.decisions if made.outcome == "kept"]


def rate_of(loader, steps):
    batches = loader.repeat()
    for _ in range(200):  # made ahead, before
        next(batches)
    begin = time.monotonic()
    for _ in range(steps):
        next(batches)
    return steps / (time.monotonic() - begin)


def test_a_load_that_changes(folder):
    """At first the training loop takes the time, then storage does: it answers slowly."""
    delay[0] = 0.001
    with opened(folder, num_threads="auto") as loader:
        started, first = time.monotonic(), loader.tuning.num_threads
        until(loader, lambda: time.monotonic() - started > 0.8, pause=0.01)
        assert loader.tuning.num_threads == first and loader.tuning.wait_share < 0.5
        delay[0] = 0.01
        until(loader, lambda: any(made.num_threads[1] >= 8 for made in kept(loader.tuning)))
        tuning, fast = loader.tuning, rate_of(loader, 200)
    with opened(folder, num_threads=1) as alone:  # and the caller, who helps
        slow = rate_of(alone, 40)
    delay[0] = 0
    assert fast >= 2 * slow
    seconds = [made.at_seconds for made in tuning.decisions]
    assert seconds == sorted(seconds)
    raised = kept(tuning)[-1]
    assert raised.num_threads[1] == tuning.num_threads
    assert raised.num_threads[0] < raised.num_threads[1]
    assert raised.batches_per_second[1] > raised.batches_per_second[0]
    assert raised.reason == "the program waited, and the threads were busy"
    text = f"num_threads {raised.num_threads[0]} -> {raised.num_threads[1]}, because"
    assert text in str(tuning)
    report = loader.report()
    assert report.counters.num_threads == loader.num_threads >= 8
    assert text in str(report) and str(loader.tuning).splitlines()[0] in str(report)
    assert type(report).from_dict(json.loads(report.to_json())) == report
