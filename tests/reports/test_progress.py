"""flow.progress(): what it yields, where it begins, and what it says."""

import gc
import itertools
import re
import sys
import types

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.insight import progress as bars
from pyflowdata.insight.stats import empty_stats

COUNT = 40


def set_clock(monkeypatch, clock):
    """For the bars alone: other threads read the real one."""
    monkeypatch.setattr(bars, "time", types.SimpleNamespace(monotonic=clock))


def make_loader(batch_size=4, **attrs):
    batch = flow.from_arrays({"x": np.arange(COUNT)}).shuffle(seed=3).batch(batch_size, **attrs)
    return flow.DataLoader(batch["x"])


def values(batches):
    return [batch.tolist() for batch in batches]


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by 8 seconds with each look at it."""
    seconds = itertools.count(step=8)
    set_clock(monkeypatch, lambda: next(seconds))


class Tqdm:
    """Stands for tqdm: keeps what it is told."""

    made = []

    def __init__(self, **options):
        self.options, self.n, self.notes, self.closed = options, options["initial"], [], 0
        self.drawn, self.start_t = [], 0.0
        Tqdm.made.append(self)

    def update(self, steps):
        self.n += steps
        self.refresh()

    def refresh(self):
        self.drawn.append(self.n)

    def set_postfix_str(self, text, refresh):
        assert refresh is False
        self.notes.append(text)

    def close(self):
        self.closed += 1


@pytest.fixture
def tqdm(monkeypatch):
    """On a terminal, with tqdm."""
    module = types.ModuleType("tqdm")
    module.tqdm = Tqdm
    monkeypatch.setitem(sys.modules, "tqdm", module)
    monkeypatch.setattr(bars, "_is_terminal", lambda: True)
    Tqdm.made = []
    return Tqdm.made


def test_batches_are_those_of_the_loader(tqdm):
    with make_loader() as plain, make_loader() as shown:
        for _ in range(2):
            assert values(flow.progress(shown)) == values(plain)
        assert shown.state_dict() == plain.state_dict()
        assert len(flow.progress(shown)) == len(shown) == 10
    told = [[bar.options[name] for name in ("desc", "total", "initial")] for bar in tqdm]
    assert told == [["epoch 0", 10, 0], ["epoch 1", 10, 0]]
    assert all(bar.n == 10 and bar.closed == 1 and bar.drawn[-1] == 10 for bar in tqdm)


def test_it_begins_at_the_step_of_the_loader(tqdm):
    with make_loader() as first, make_loader() as second:
        wanted = values(first)[7:]
        second.seek(7)
        assert values(flow.progress(second)) == wanted
        second.load_state_dict({**second.state_dict()})
        rest = iter(flow.progress(second))
        next(rest)
        state = second.state_dict()
        del rest
        second.load_state_dict(state)
        assert len(values(flow.progress(second))) == 9
    assert [(bar.options["desc"], bar.options["initial"], bar.n) for bar in tqdm] == [
        ("epoch 0", 7, 10), ("epoch 1", 0, 1), ("epoch 1", 1, 10)
    ]  # fmt: skip


def test_bars_are_closed_by_break_and_by_exceptions(tqdm):
    with make_loader() as loader:
        for number, _ in enumerate(flow.progress(loader)):
            if number == 2:
                break
        with pytest.raises(ZeroDivisionError):
            for batch in flow.progress(loader):
                1 / 0  # noqa: B018
        gc.collect()
        assert [(bar.n, bar.closed) for bar in tqdm] == [(3, 1), (1, 1)]
        assert loader.state_dict()["position"] == 1
        loader.close()
        with pytest.raises(flow.CancelledError):
            values(flow.progress(loader))


def test_both_rates_are_of_the_time_since_the_loop_began(tqdm, monkeypatch, capsys):
    """Also in the first epoch, whose iter() takes long: here 10 s, and then 1 s a batch."""
    now = [0.0]
    set_clock(monkeypatch, lambda: now[0])
    with make_loader() as loader:
        begin = loader.__class__.__iter__

        def slow(self):
            now[0] += 10
            return begin(self)

        monkeypatch.setattr(loader.__class__, "__iter__", slow)
        for is_terminal in (True, False):
            monkeypatch.setattr(bars, "_is_terminal", lambda is_terminal=is_terminal: is_terminal)
            for _ in flow.progress(loader):
                now[0] += 1
    (bar,) = tqdm
    assert bar.start_t == -10 and bar.notes[-1].startswith("2 records/s")
    assert "10 of 10 steps (100 %), 0.5 a second, 2 records/s" in capsys.readouterr().err


def test_several_epochs_have_a_bar_each(tqdm):
    with make_loader() as loader:
        loader.seek(8)
        assert len(values(flow.progress(loader, epochs=3, desc="train"))) == 2 + 10 + 10
        assert values(flow.progress(loader, epochs=0)) == []
        endless = flow.progress(loader, epochs=None)
        assert len(values(itertools.islice(endless, 25))) == 25
    assert [bar.options["desc"] for bar in tqdm[:3]] == ["train"] * 3
    assert [bar.options["desc"] for bar in tqdm[3:]] == ["epoch 3", "epoch 4", "epoch 5"]
    empty = flow.from_arrays({"x": np.arange(3)}).batch(8, last="drop")["x"]
    with flow.DataLoader(empty) as loader:
        assert values(flow.progress(loader)) == []
        with pytest.raises(flow.InvalidArgumentError, match="never end"):
            values(flow.progress(loader, epochs=None))


def test_a_stream_has_no_total(tqdm):
    samples = ({"x": np.int64(number)} for number in range(10))
    source = flow.GeneratorReader(lambda: iter(list(samples)), fields=["x:int64"], batch_size=4)
    with flow.DataLoader(source) as loader:
        assert len(values(flow.progress(loader))) == 3
        with pytest.raises(TypeError):
            len(flow.progress(loader))
    assert tqdm[0].options["total"] is None and tqdm[0].n == 3


def test_lines_without_a_terminal(capsys, clock):
    with make_loader() as loader:
        shown = flow.progress(loader)
        for number, _ in enumerate(shown):
            shown.set_postfix(loss=1 / (number + 1), best=None)
    lines = capsys.readouterr().err.splitlines()
    form = re.compile(
        r"pyflowdata: epoch 0: (\d+) of 10 steps \((\d+) %\), [\d,.]+ a second, "
        r"([\d,.]+) records/s, waits (?:under )?[\d.]+ %(, loss=([\d.]+), best=None)?"
    )
    read = [form.fullmatch(line) for line in lines]
    assert all(read) and read[-1][1] == "10" and read[-1][2] == "100"
    assert float(read[-1][5]) == 0.1
    assert 2 <= len(lines) <= 4 and int(read[0][1]) >= 3  # none before 30 s


class Unprintable:
    """As a tensor whose device is lost."""

    def __float__(self):
        raise RuntimeError

    __str__ = __repr__ = __float__


def test_no_value_ends_the_loop_or_the_line(capsys, clock):
    with make_loader() as loader:
        shown = flow.progress(loader, desc="two\nlines")
        for _ in shown:
            shown.set_postfix(best=Unprintable(), note="a\nb\x1b[2J", small=np.float32(0.25))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("pyflowdata: two\\nlines: 10 of 10 steps"), lines
    end = ", best=<Unprintable without a str()>, note=a\\nb\\x1b[2J, small=0.25"
    assert lines[-1].endswith(end) and 2 <= len(lines) <= 4


def test_only_rank_0_has_a_bar(capsys):
    cases = ((0, None, True), (1, None, False), (1, True, True), (0, False, False))
    for rank, show, is_shown in cases:
        with make_loader(rank=rank, world_size=2) as loader:
            assert len(values(flow.progress(loader, show=show))) == 10
        assert bool(capsys.readouterr().err) == is_shown


class Counted:
    """A loader with counters of its own, as of one that trains 0.5 s a step, and waits 1.5 s."""

    readers = ()

    def __init__(self, now):
        self.now, self.step = now, 0
        self.data_loader = self

    def __iter__(self):
        for self.step in range(1, 1001):
            self.now[0] += 2.0
            yield self.step

    def __len__(self):
        return 1000

    def state_dict(self):
        return {"epoch": 4, "position": 0}

    def stats(self):
        return {**empty_stats(), "records": 64 * self.step, "wait_seconds": 1.0 * self.step,
                "help_seconds": 0.25 * self.step, "hand_out_seconds": 0.25 * self.step}  # fmt: skip


class Wrapper:
    """As TorchLoader and JaxLoader: its state is its own, the counters are the loader's."""

    def __init__(self, loader):
        self.loader = self.data_loader = loader

    def __iter__(self):
        return iter(self.loader)

    def __len__(self):
        return len(self.loader)

    def state_dict(self):
        return self.loader.state_dict()


def test_numbers_are_those_of_the_counters(monkeypatch, tqdm):
    now = [100.0]
    set_clock(monkeypatch, lambda: now[0])
    for loader in (Counted(now), Wrapper(Counted(now))):
        assert sum(1 for _ in flow.progress(loader)) == 1000
        bar = tqdm[-1]
        assert bar.options["desc"] == "epoch 4" and bar.n == 1000
        assert set(bar.notes[1:]) == {"32 records/s, waits 75 %"}


def test_numbers_follow_the_last_seconds(monkeypatch, tqdm):
    """Not the mean: after a slow beginning the rate is that of now; at the end, of the epoch."""
    now = [0.0]
    set_clock(monkeypatch, lambda: now[0])

    class Faster(Counted):
        def __iter__(self):
            for self.step in range(1, 101):
                now[0] += 8.0 if self.step <= 50 else 1.0
                yield self.step

    for _ in flow.progress(Faster(now)):
        pass
    rates = [float(note.split()[0]) for note in tqdm[-1].notes[1:]]
    assert rates[10] == 8 and 60 < rates[-2] <= 64
    assert rates[-1] == round(64 * 100 / 450, 1)


def test_it_draws_by_time_and_not_by_step(monkeypatch, tqdm):
    now = [0.0]
    set_clock(monkeypatch, lambda: now[0])

    class Quick(Counted):
        looks = 0

        def __iter__(self):
            for self.step in range(10_000):
                now[0] += 0.001
                yield self.step

        def stats(self):
            self.looks += 1
            return super().stats()

    quick = Quick(now)
    assert sum(1 for _ in flow.progress(quick)) == 10_000
    assert 40 <= len(tqdm[-1].drawn) <= 60 and quick.looks <= 60


def test_a_terminal_without_tqdm_has_one_line(monkeypatch, clock, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(bars, "_is_terminal", lambda: True)
    with make_loader() as loader:
        values(flow.progress(loader))
    text = capsys.readouterr().err
    assert text.count("\n") == 1 and text.endswith("\n") and text.count("\r") > 2
    assert "10 of 10 steps (100 %)" in text.split("\r")[-1]


def test_what_is_no_loader_is_refused():
    for given in ([1, 2], iter([]), 3, flow.from_arrays({"x": np.arange(3)})):
        with pytest.raises(flow.InvalidArgumentError, match="give a DataLoader"):
            flow.progress(given)
    with make_loader() as loader:
        for epochs in (-1, 1.5, True):
            with pytest.raises(flow.InvalidArgumentError, match="epochs"):
                flow.progress(loader, epochs=epochs)
        for wrong in (5, b"train"):
            with pytest.raises(flow.InvalidArgumentError, match="desc = "):
                flow.progress(loader, desc=wrong)
        for wrong in ("x", 1, np.bool_(True)):
            with pytest.raises(flow.InvalidArgumentError, match="show = "):
                flow.progress(loader, show=wrong)
