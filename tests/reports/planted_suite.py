"""Planted bottlenecks decide: the report of each loader names its cause, and its remedy helps.

`make test-reports` runs a third of it, one test after another on a machine that does nothing else;
its name keeps it out of `make test`.  PLANTED=all runs all, and PLANTED=page also writes
docs/speed/planted.md.  What is measured is compared with itself.  A test that fails is tried once
more: other programs may have run.
"""

import functools
import itertools
import os
import subprocess
import sys
import time

import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.loader.sinks import Sink

sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "reports")]

import slow_loaders  # noqa: E402
from planted_cases import HEALTHY, PLANTED  # noqa: E402

PAGE = (ROOT / "docs" / "speed" / "slow.md").read_text()

# Name -> (limit, cause, words of the sentence, words of the remedy that is tried, by how much there
# are more steps with it, at least).
EXPECTED = {
    "slow_op": ("loader", "op", "Spin takes", "cache()", 1.5),
    "python_op": ("loader", "python-op", "MapPythonWork", "processes=", 1.1),
    "python_source": ("loader", "python-source", "GeneratorReader", "cache()", 1.5),
    "one_thread": ("loader", "threads", "1 of 1 threads busy", "num_threads=", 1.15),
    "no_prefetch": ("loader", "prefetch", "at most 1 batch ahead", "raise prefetch", 1.25),
    "tight_budget": ("loader", "memory", "memory_budget=", "raise memory_budget", 1.25),
    "held_batches": ("loader", "held", "the program holds 17 batches", ".copy()", 1.25),
    "compressed_stream": ("loader", "stream", "is done by one thread", "cache()", 1.5),
    "slow_storage": ("loader", "storage", "for the files", "cache()", 1.5),
    "small_files": ("loader", "op", "ImageFolderReader", "into few files", 1.5),
    "decoding": ("loader", "op", "ImageDecoder", "smaller images", 1.5),
    "shuffle_buffer": ("starts", "start", "first batch", "files with an index", 1.5),
    "logging": ("training", "long-steps", "of the steps take", "less often", 1.5),
    "slow_training": ("training", "", "not loader-bound", "", 1.5),
    "slow_copy": ("hand-over", "copy", "to a device", "uint8 in place of float32", 1.3),
}


HELD = ("python-op", "python-source")  # the interpreter's lock

RUN = os.environ.get("PLANTED", "a third")
ROWS, IN_PEACE = [], []  # of the page


def chosen(names):
    """A third of them, unless all are to be run."""
    return list(names) if RUN in ("all", "page") else list(names)[::3]


def on_the_page(name):
    """Whether docs/speed/slow.md shows this loader and what its report says."""
    _, _, said, _, _ = EXPECTED[name]
    rows = [line for line in PAGE.split("\n") if line.startswith(f"| `{name}` |")]
    return len(rows) == 1 and said in rows[0]


def twice(test):
    """Tries a test once more if it fails."""

    @functools.wraps(test)
    def tried(*args, **named):
        try:
            test(*args, **named)
        except AssertionError as failure:
            print(f"once more, after: {failure}")
            test(*args, **named)

    return tried


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("slow")


@pytest.mark.parametrize("name", chosen(EXPECTED))
@twice
def test_the_cause_is_named_and_the_remedy_helps(name, folder):
    limit, cause, said, remedy, factor = EXPECTED[name]
    build = getattr(slow_loaders, name)
    found = build(folder, remedied=False)
    report, sentence = found.report, found.report.verdict.sentence
    assert report.cause == cause, f"\n{report}"
    # Python in the loader's threads may slow training down in place of the loader.
    assert report.limit == limit or limit == "loader" and cause in HELD, f"\n{report}"
    assert said in sentence, sentence
    assert on_the_page(name) or report.limit != limit, name
    assert any(remedy in one for one in report.remedies) or not remedy, f"\n{report}"
    better = build(folder, remedied=True)
    gain = better.steps_per_second / found.steps_per_second
    print(f"{name}: {sentence}\n  the remedy: {gain:.2f} times the steps")
    assert gain >= factor, f"{gain:.2f} times\n{report}\nthen\n{better.report}"
    note_row(name, report, remedy, gain)


def note_row(name, report, remedy, gain):
    """Notes a row of the page."""
    advice = next((one for one in report.remedies if remedy in one), "") if remedy else ""
    advice = advice.partition(" (docs/")[0].replace("|", "/")
    most = report.verdict.evidence["most_gain"]
    bound = "" if most == 1 else "100 or more" if most >= 100 else f"{most:.1f}"
    ROWS.append(f"| `{name}` | {report.cause or report.limit} | {advice} | {bound} | {gain:.1f} |")


def records_per_second(loader, step, steps):
    """The rate, and the report of the steps after the first ones."""
    with loader as opened:
        batches, taken = opened.repeat(), 0
        for batch in itertools.islice(batches, 8):
            step(batch)
        before, begin = opened.report(), time.perf_counter()
        records = opened.stats()["records"]
        while taken < min(steps, FEWEST) or (
            taken < steps and time.perf_counter() - begin < MOST_SECONDS
        ):
            step(next(batches))
            taken += 1
        seconds = time.perf_counter() - begin
        rate = (opened.stats()["records"] - records) / seconds
        return rate, opened.report(since=before)


def records_from_the_opening(make, steps):
    """The same, with all that is done before the first batch."""
    begin = time.perf_counter()
    loader, step = make()
    with loader as opened:
        for batch in itertools.islice(opened.repeat(), steps):
            step(batch)
        seconds = time.perf_counter() - begin
        return opened.stats()["records"] / seconds, opened.report()


MOST_SECONDS, FEWEST = 0.6, 16


def measured(case, remedied):
    if not case.is_first:
        return records_per_second(*case.make(remedied), case.steps)
    if remedied:
        case.make(True)[0].close()
    return records_from_the_opening(lambda: case.make(remedied), case.steps)


@pytest.mark.parametrize("name", chosen(PLANTED))
@twice
def test_a_small_bottleneck_is_named_and_its_remedy_helps(name):
    case = PLANTED[name]
    rate, report = measured(case, False)
    assert (report.limit, report.cause) == (case.limit, case.cause), f"\n{report}"
    assert not case.remedy or any(case.remedy in one for one in report.remedies), f"\n{report}"
    better, then = measured(case, True)
    print(f"{name}: {report.verdict.sentence}\n  the remedy: {better / rate:.2f} times")
    assert better / rate >= case.factor, f"{better / rate:.2f} times\n{report}\nthen\n{then}"
    note_row(name, report, case.remedy, better / rate)


@pytest.mark.parametrize("name", chosen(HEALTHY))
@twice
def test_a_healthy_loader_is_left_in_peace(name):
    data, step = HEALTHY[name]
    blobs = data().batch(8).blobs
    _, report = records_per_second(flow.DataLoader(blobs), step(), 30)
    assert (report.limit, report.cause) == ("training", ""), f"\n{report}"
    IN_PEACE.append(name)


HEAD = """# Planted bottlenecks

Loaders that were made slow for one reason each. Of {all}, the report named the cause of {named} as
it was planted, and the advice helped: these are in the table. *Expected* is the report's bound for
any remedy of the cause, and *measured* is how many times as many steps or records a second came
with the advice taken. Of {all_healthy} further loaders, which keep up with training, {healthy} were
left in peace. The loaders are in `examples/slow_loaders.py` and `tests/reports/planted_cases.py`.
This page was written by

    PLANTED=page make test-reports

on {processors} processors, with a load of {load:.0f}: other programs were running.

| loader | cause | advice | expected, at most | measured |
|---|---|---|---|---|
"""


def test_the_page_is_written():
    """Comes after the others."""
    if RUN != "page":
        pytest.skip("PLANTED=page writes it")
    head = HEAD.format(
        all=len(EXPECTED) + len(PLANTED), named=len(ROWS), all_healthy=len(HEALTHY),
        healthy=len(IN_PEACE), processors=len(os.sched_getaffinity(0)), load=os.getloadavg()[1],
    )  # fmt: skip
    (ROOT / "docs" / "speed" / "planted.md").write_text(head + "\n".join(ROWS) + "\n")


class SlowCopies:
    """Copies that a sink's thread makes ahead, each of which takes so long."""

    def __init__(self, loader, seconds):
        self.loader, self.seconds = loader, seconds

    def send(self, batch):
        begin = time.perf_counter()
        time.sleep(self.seconds)
        took = time.perf_counter() - begin
        self.loader.count_copy(took, batch.nbytes, "a device", overlaps=True)
        return batch

    def receive(self, batch):
        return batch


# Milliseconds of a batch in the loader, of its copy, and of its step, and what is the limit then.
SINKS = {
    "sink_with_slow_training": (1, 5, 20, "training", ""),
    "sink_with_slow_copies": (1, 20, 5, "hand-over", "copy"),
    "sink_with_slow_loader": (20, 5, 5, "loader", None),  # other programs may be the cause
}


@pytest.mark.parametrize("name", SINKS)
@twice
def test_sinks(name):
    loading, copying, training, limit, cause = SINKS[name]
    micros = loading * 1000 // slow_loaders.BATCH
    spun = slow_loaders.records().map(slow_loaders.spin(), "x", micros=micros)
    with flow.DataLoader(spun.batch(slow_loaders.BATCH)["x"], num_threads=1) as loader, Sink(
        loader, lambda _: time.sleep(training / 1e3), 50, 2, SlowCopies(loader, copying / 1e3)
    ) as run:
        run()
        before = run.report()
        run()
        report = run.report(since=before)
        if limit == "training":
            assert loader.report().limit == "training", f"\n{loader.report()}"
    print(f"{name}: {report.verdict.sentence}")
    assert report.limit == limit and cause in (None, report.cause), f"\n{report}"


@twice
def test_more_threads_bring_what_was_predicted(folder):
    found = slow_loaders.one_thread(folder, remedied=False)
    better = slow_loaders.one_thread(folder, remedied=True)
    gain = better.steps_per_second / found.steps_per_second - 1
    predicted = found.report.verdict.evidence["predicted_gain"]
    print(f"predicted {predicted:.0%}, measured {gain:.0%}")
    assert 0.4 * predicted <= gain <= 2.5 * predicted


@twice
def test_a_busy_machine_is_named_in_place_of_an_op(folder):
    """Python that computes stands in line for processors; it does not wait for something else."""
    program = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(program) for _ in range(6 * len(os.sched_getaffinity(0)))]
    try:
        report = slow_loaders.python_op(folder, remedied=False).report
    finally:
        for one in others:
            one.kill()
            one.wait()
    assert report.cause == "processors", f"\n{report}"
    assert "that other programs used" in report.verdict.sentence
    assert report.remedies[0].startswith("measure again when it is quiet")
    assert not any("num_threads" in one for one in report.remedies), report.remedies


@twice
def test_a_slow_rank_is_named_and_its_remedy_helps():
    slow, alike = slow_loaders.ranks(remedied=False), slow_loaders.ranks(remedied=True)
    assert slow.limit == "rank" and slow.cause in ("op", "threads", "processors"), f"\n{slow}"
    assert slow.verdict.sentence.startswith("rank 1 is slow: its loader waits in "), f"\n{slow}"
    assert slow.verdict.evidence["slowest_rank"] == 1 and "Spin" in slow.verdict.sentence
    assert alike.limit == "training", f"\n{alike}"
