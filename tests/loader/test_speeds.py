"""speed(), ceiling() and keep_place(): what they count, and that the loader stays where it is."""

import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support.command import here
from support.files import lines, write_parts
from tools.page_blocks import blocks_of

import pyflowdata as flow
from pyflowdata.insight import speed as noise
from pyflowdata.insight.speed import _CAUSES, Ceiling, Limits, Speed, Steps, median_and_p95

__all__ = ["here"]
RECORDS, BATCH = 29, 4
STEPS = 8  # of an epoch; the last has one record


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "parts", lines(0, 11), lines(11, RECORDS))


def open_loader(folder, **attrs):
    order = {"random_shuffle": True, "shuffle_after_epoch": True, "seed": 3}
    reader = flow.MiniReader(folder, batch_size=BATCH, **{**order, **attrs})
    return flow.DataLoader(reader, num_threads=2)


def firsts(batch):
    return batch[:, 0].tolist()


def use(loader, number):
    """One of the ways to use a loader without moving it."""
    if number % 3 == 0:
        loader.speed(steps=5)
    elif number % 3 == 1:
        loader.ceiling(lambda batch: None, steps=3)
    else:
        with loader.keep_place():
            next(iter(loader))
            list(loader)
            next(loader.repeat())


@pytest.mark.parametrize("attrs", [{}, {"shuffle": "buffer", "shuffle_buffer_size": 7}])
def test_the_loader_and_its_iterators_stay_where_they_are(folder, attrs):
    with open_loader(folder, **attrs) as plain, open_loader(folder, **attrs) as loader:
        use(loader, 0)
        for epoch in range(3):
            expected, got = iter(plain), iter(loader)
            use(loader, epoch)
            for number in range(STEPS + 1):
                state = loader.state_dict()
                assert state == plain.state_dict()
                use(loader, number + epoch)
                assert loader.state_dict() == state and loader.epoch == plain.epoch
                batches = [next(batches, None) for batches in (expected, got)]
                assert (batches[0] is None) == (batches[1] is None) == (number == STEPS)
                if batches[0] is not None:
                    assert np.array_equal(*batches)
        older = got
        got = loader.repeat()
        use(loader, 1)
        with pytest.raises(StopIteration):
            next(older)
        assert firsts(next(got)) == firsts(next(plain.repeat()))


def test_an_older_iterator_is_over_after_it_too(folder):
    with open_loader(folder) as loader:
        older = iter(loader)
        next(older)
        newer = iter(loader)
        for number in range(3):
            use(loader, number)
        with pytest.raises(flow.CancelledError):
            next(older)
        assert len(list(newer)) == STEPS


def test_an_exception_in_the_block_keeps_the_place_too(folder):
    with open_loader(folder) as loader, open_loader(folder) as plain:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()

        def fail(_batch):
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            loader.ceiling(fail)
        with pytest.raises(KeyboardInterrupt), loader.keep_place():
            next(iter(loader))
            raise KeyboardInterrupt
        assert loader.state_dict() == state
        assert [firsts(one) for one in batches] == [firsts(one) for one in plain][1:]


def test_other_threads_wait_for_the_end_of_the_block(folder):
    with open_loader(folder) as loader, open_loader(folder) as plain:
        batches, got = iter(loader), []
        thread = threading.Thread(target=lambda: got.extend(map(firsts, batches)))
        with loader.keep_place():
            next(iter(loader))
            thread.start()
            next(iter(loader))
            assert got == []
        thread.join()
        assert got == [firsts(batch) for batch in plain]


def test_speed_counts_what_it_took(folder):
    with open_loader(folder) as loader:
        before = loader.stats()
        speed = loader.speed(steps=2 * STEPS)
        after = loader.stats()
        assert (speed.batches, speed.records) == (2 * STEPS, 2 * RECORDS)
        assert speed.bytes == 2 * RECORDS * 2 * 8, "two float64 a record"
        assert after["batches"] - before["batches"] == 1 + loader.prefetch + 2 * STEPS
        assert speed.seconds > 0 and speed.first_batch_seconds > 0
    with open_loader(folder) as loader:  # its next batch is complete: the first one is told
        next(iter(loader))
        stats = loader.stats()
        assert stats["starts"] == 1
        assert loader.speed(steps=2).first_batch_seconds == stats["start_seconds"]
        assert speed.records_per_second == speed.records / speed.seconds
        rows = [line.split(maxsplit=1) for line in str(speed).split("\n")]
        assert rows[0] == ["loader", "alone"] and rows[1][1].endswith("/s")
        assert [row[0] for row in rows[1:5]] == ["records", "batches", "bytes", "measured"]
        assert rows[4][1].startswith(f"{2 * STEPS} batches in ")
        for line in str(speed).split("\n")[1:]:
            assert re.match(r"  .{10}(?<= )\S", line), "columns"
        assert speed._repr_html_().startswith("<pre style=") and "batches" in speed._repr_html_()
        assert loader.speed(seconds=0.01).seconds >= 0.01


def test_what_is_measured_is_no_step_of_the_program(folder):
    names = ("starts", "start_seconds", "steps", "waited_steps", "step_wait_seconds",
             "step_train_seconds", "asked_seconds", "delivered_seconds")  # fmt: skip
    with open_loader(folder) as loader:
        for number in (0, 3):
            batches = loader.repeat()
            for _ in range(number):
                next(batches)
            before = loader.stats()
            assert before["starts"] == bool(number)
            loader.speed(steps=50)
            with loader.keep_place():
                use(loader, 0)
                next(loader.repeat())
            loader.ceiling(lambda batch: None, steps=2)
            after = loader.stats()
            assert {name: after[name] for name in names} == {name: before[name] for name in names}
        next(batches)
        assert loader.stats()["starts"] == 2, "what follows is a start, as after a seek"
        assert loader.stats()["steps"] == before["steps"]


def test_speed_of_a_ragged_loader(folder):
    source = [np.arange(i % 5) for i in range(50)]
    tokens = flow.GeneratorReader(source, fields=["value:int64[?]"], batch_size=10)
    with flow.DataLoader(tokens) as loader:
        speed = loader.speed(steps=5)
        assert speed.records == 50
        splits = 5 * 11 * 8
        assert speed.bytes in (10 * (0 + 1 + 2 + 3 + 4) * 8, 10 * (0 + 1 + 2 + 3 + 4) * 8 + splits)
        ceiling = loader.ceiling(lambda batch: batch.values.fill(7), steps=2)
        assert ceiling.is_copied


def test_the_ceiling_gives_one_full_batch(folder):
    with open_loader(folder) as loader, open_loader(folder) as plain:
        batches, whole = iter(loader), [firsts(batch) for batch in plain]
        for number in range(STEPS):
            seen = []
            ceiling = loader.ceiling(lambda batch, seen=seen: seen.append(batch), steps=5)
            assert len(seen) == 3 + 5
            assert all(one is seen[0] for one in seen)
            wanted = number if number < STEPS - 1 else 0
            assert firsts(seen[0]) == whole[wanted], "the first one in place of the last"
            assert (ceiling.steps, ceiling.records) == (5, 5 * BATCH)
            del seen[:]
            next(batches)


def test_a_step_that_changes_its_batch_gets_a_copy_each_time(folder):
    with open_loader(folder) as loader, open_loader(folder) as plain:
        expected = next(iter(plain))
        seen = []

        def step(batch):
            seen.append(batch.copy())
            batch -= 1

        ceiling = loader.ceiling(step, steps=4, warm_up=2)
        assert ceiling.is_copied and str(ceiling).startswith("ceiling\n  steps     ")
        assert re.search(r"\n  copied    .* got a copy", str(ceiling))
        assert np.array_equal(seen[1], expected - 1), "the first calls tell that it does"
        assert all(np.array_equal(one, expected) for one in seen[2:])
        assert np.array_equal(next(iter(loader)), expected)


def test_a_dict_is_its_own_in_each_call(folder):
    reader = flow.MiniReader(folder, batch_size=BATCH)
    with flow.DataLoader({"x": reader, "y": reader}) as loader:
        ceiling = loader.ceiling(lambda batch: (batch.pop("x"), batch.pop("y")), steps=4)
        assert not ceiling.is_copied


def test_the_ceiling_counts_the_time_of_the_steps(folder):
    waits = threading.Event()
    with open_loader(folder) as loader:
        ceiling = loader.ceiling(lambda _: waits.wait(0.003), steps=5, warm_up=1)
        assert ceiling.seconds >= 5 * 0.003 and ceiling.median_seconds >= 0.003
        assert ceiling.steps_per_second <= 1 / 0.003
        assert ceiling.p95_seconds >= ceiling.median_seconds
        assert ceiling.warm_up_seconds >= 0.003 and ceiling.warm_up_steps == 1


def test_wrong_numbers_are_refused(folder):
    with open_loader(folder) as loader:
        for wrong in (0, -1, 1.5, True, "3"):
            with pytest.raises(flow.InvalidArgumentError, match="steps = "):
                loader.speed(steps=wrong)
            with pytest.raises(flow.InvalidArgumentError, match="steps = "):
                loader.ceiling(print, steps=wrong)
            with pytest.raises(flow.InvalidArgumentError, match="step = "):
                loader.ceiling(wrong)
        for wrong in (0, -1.0, True, "3", None, float("nan"), float("inf"), 10**400):
            with pytest.raises(flow.InvalidArgumentError, match="seconds = "):
                loader.speed(seconds=wrong)
        with pytest.raises(flow.InvalidArgumentError, match="warm_up = -1"):
            loader.ceiling(print, warm_up=-1)
    for call in (lambda: loader.speed(), lambda: loader.ceiling(print)):
        with pytest.raises(flow.CancelledError, match="closed"):
            call()


# ---- Words --------------------------------------------------------------------------------------


def test_median_and_p95():
    for count in (1, 2, 19, 20, 21, 100):
        durations = list(range(count, 0, -1))
        median, p95 = median_and_p95(durations)
        assert median == np.median(durations)
        assert p95 == np.percentile(durations, 95, method="inverted_cdf")


def test_which_one_is_the_limit():
    def limits(loader, training, both, waited=0.0):
        return Limits(
            Speed(loader, 4 * loader, 0, 1.0, 0.1), Steps(training, 4 * training, 1.0),
            Steps(both, 4 * both, 1.0, waited),
        )  # fmt: skip

    training = limits(500, 100, 98, 0.01)
    assert training.limit == "training" and round(training.gain_percent) == 2
    assert training.sentence == (
        "The training loop is the limit: an infinitely fast loader would gain 2.0 %; steps waited "
        "for batches 1.0 % of the time."
    )
    loader = limits(50, 100, 45, 0.5)
    assert loader.limit == "loader" and "would gain 122 %" in loader.sentence
    assert "waited for batches 50 % of the time" in loader.sentence
    shared = limits(150, 100, 60, 0.4)
    assert shared.limit == "shared" and "take the processor from each other" in shared.sentence
    assert "num_threads=1" in shared.remedy and shared.remedy in str(shared)
    for odd in (limits(50, 100, 65, 0.4), limits(50, 100, 45, 0.04)):
        assert odd.limit == "unclear" and "gain" not in odd.sentence, "never the loader"
        assert "measure again" in str(odd) and "200 steps" not in str(odd)
    assert "45 steps, waited 4.0 %" in str(odd)
    doubtful = Limits(training.loader, training.training, training.both, ("there is noise",))
    assert str(doubtful) == f"{training}\nDoubtful: there is noise."
    assert doubtful.to_dict()["notes"] == ["there is noise"]
    assert limits(500, 100, 120).gain_percent == 0
    for text in ("loader alone", "training alone", "both together", training.sentence):
        assert text in str(training)
    assert training.to_dict()["training_alone"]["steps_per_second"] == 100

    unknown = Limits(Speed(1, 1, 1, 1.0, 0.1))
    assert unknown.limit is None and unknown.to_dict()["both_together"] is None
    assert "training alone, both together were not measured" in unknown.sentence
    assert "2 steps" in str(Ceiling(2, 8, 1.0))


# ---- Doubts --------------------------------------------------------------------------------------


def test_what_is_too_short_is_doubtful(folder):
    with open_loader(folder) as loader:
        for measured in (loader.speed(steps=2), loader.ceiling(lambda batch: None, steps=2)):
            assert any(note.startswith("2 steps in ") for note in measured.notes), measured
            assert re.search(r"\n  doubtful  2 steps in .* tell little", str(measured))
    for steps, seconds, is_short in (
        (1, 0.01, True), (10**6, 0.049, True), (9, 1.9, True), (9, 2.1, False), (10, 0.05, False),
    ):  # fmt: skip
        assert (noise.too_short(steps, seconds, "more") is not None) == is_short
    assert noise.too_short(1, 0.01, "more") == "1 step in 10 ms tell little: more"
    assert noise.disturbed(3.0, 1.0).endswith("the mean is 3.0 times the median")
    assert noise.disturbed(1.9, 1.0) is None
    assert "disturbed" in str(Ceiling(2, 8, 1.0, notes=(noise.disturbed(3.0, 1.0),)))


def test_other_programs_are_told(monkeypatch):
    """10 s on two processors: what all used, and what this process and its children did of it."""
    for busy, own, told in (
        (20.0, 4.0, "other programs used 1.6 of 2 processors: measure again when it is quiet"),
        (20.0, 19.0, None), (12.0, 2.0, None), (0.0, 0.0, None),
    ):  # fmt: skip
        moment = noise.Usage(110.0, 2, 50.0 + busy, 7.0 + own)
        monkeypatch.setattr(noise.Usage, "now", lambda moment=moment: moment)
        assert noise.other_programs(noise.Usage(100.0, 2, 50.0, 7.0)) == told
    assert noise.other_programs(None) is None


def test_what_this_process_and_its_children_use_is_its_own():
    used = "import time\nwhile time.process_time() < 0.2: pass"
    before, begin = noise.Usage.now(), time.process_time()
    with subprocess.Popen([sys.executable, "-c", used + "\ninput()"], stdin=-1) as child:
        while (noise.Usage.now().own - before.own) < 0.15:
            assert child.poll() is None
            time.sleep(0.02)
        child.communicate(b"\n")
    now = noise.Usage.now()
    spent = time.process_time() - begin
    assert 0.15 + spent - 0.1 <= now.own - before.own, "also of a child that has ended"
    assert now.busy >= before.busy and now.processors == len(os.sched_getaffinity(0))


# ---- docs/speed/speed.md -------------------------------------------------------------------------


def form_of(text):
    """Without numbers, units and the widths of columns."""
    text = re.sub(r"\n  doubtful .*|\nTo try: .*|\nDoubtful: .*", "", text)
    text = re.sub(r"(under )?\d[\d,.e+-]*( [mu]?s\b| [KMG]B)?", "#", re.sub(" +", " ", text))
    return text.rstrip("\n").split("\n")


@pytest.mark.slow
def test_the_page_is_true(here, tmp_path, monkeypatch, capsys):
    blocks = blocks_of("docs/speed/speed.md")
    train, measure = (block.text for block in blocks if block.language == "python")
    shown = "".join(block.text for block in blocks if not block.language)
    _, table = shown.split("$ pyflowdata speed train.py\n")
    printed, _ = (block.text for block in blocks if block.language == "text")  # _: of remedies
    train = train.replace("range(256)", "range(64)").replace("[:300, :400]", "[:75, :100]")
    (tmp_path / "train.py").write_text(train)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run = here("speed", "--seconds", "0.05", "train.py")
    assert run.returncode == 0, run.stderr
    *rows, sentence = form_of(run.stdout)
    assert rows == form_of(table)[:-1]
    shown = form_of(table)[-1]
    for cause in _CAUSES.values():  # of so short a measurement it may be any
        sentence = sentence.replace(cause, _CAUSES["loader"])
    assert sentence in (shown, re.sub(":.*;", ";", shown))
    exec(measure.replace("seconds=2", "seconds=0.05"), {})  # noqa: S102
    assert form_of(capsys.readouterr().out) == form_of(printed)
    sys.modules.pop("train")
