"""Sink mode with torch, on the host and over copies that are as late as a device may make them;
and how a TorchLoader measures itself."""

import itertools
import json
import re
import sys

import pytest
from support.command import here
from support.files import lines, write_parts
from support.paths import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader, sink
from pyflowdata.insight.speed import Ceiling

from support.late_copies import FakeEvent, FakeStream, LateCopies, fake_cuda, use_late_copies

__all__ = ["here"]
RECORDS = 29
STEPS = 8  # of 4 records each, the last of one


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "parts", lines(0, 11), lines(11, RECORDS))


def make_loader(folder, form=tuple):
    numbers, ids = flow.MiniReader(
        folder, batch_size=4, random_shuffle=True, shuffle_after_epoch=True, seed=3, with_id=True
    )
    blobs = {"ids": ids, "numbers": numbers} if form is dict else (ids, numbers)
    return flow.DataLoader(blobs, num_threads=2)


class Streams:
    def __init__(self):
        self.user, self.recorded = FakeStream(), []


@pytest.fixture(params=["host", "device"])
def streams(request, monkeypatch):
    """None where tensors stay on the host; else those that copy late."""
    if request.param == "host":
        return None
    made = Streams()
    fake_cuda(monkeypatch, made.user, made.recorded)
    use_late_copies(monkeypatch)
    return made


def values(batch):
    ids, numbers = batch.values() if isinstance(batch, dict) else batch
    assert isinstance(ids, torch.Tensor) and isinstance(numbers, torch.Tensor)
    return ids.tolist(), numbers.tolist()


def plainly(folder, steps):
    with make_loader(folder) as loader:
        return [
            (ids.tolist(), numbers.tolist())
            for ids, numbers in itertools.islice(loader.repeat(), steps)
        ]


@pytest.mark.parametrize(("form", "queue"), [(tuple, 1), (dict, 2), (tuple, 6)])
def test_steps_get_what_plain_iteration_gives(folder, streams, form, queue):
    whole = plainly(folder, 40)
    with make_loader(folder, form) as loader, sink(
        loader, values, sink_size=11, queue=queue
    ) as run:
        got = run() + run()
        saved = json.loads(json.dumps(run.state_dict()))
        assert got == whole[:22]
        assert run() == whole[22:33]
        run.load_state_dict(saved)
        assert run() == whole[22:33]
    if streams is not None:
        assert len(streams.user.waited) == 44, "the step's stream waits for each batch once"
        assert len(streams.recorded) == 88, "and the allocator knows of its use of each tensor"


def test_a_report_has_the_copies_as_made_ahead(folder, streams):
    with make_loader(folder) as loader, sink(loader, values, sink_size=11) as run:
        run()
        run.close()
        counters = run.report().counters
    assert counters.hand_over is None, "the thread of the steps copied nothing"
    if streams is None:
        assert counters.ahead is None
    else:
        assert counters.ahead.batches == run.stats()["batches_sent"] >= 11
        assert counters.ahead.device == "cuda:0" and counters.ahead.bytes > 0


def test_tensors_that_are_kept_stay_as_they_are(folder, streams):
    whole = plainly(folder, 2 * STEPS)
    with make_loader(folder) as loader, sink(loader, lambda batch: batch) as run:
        kept = run() + run()
    assert [values(batch) for batch in kept] == whole


def test_an_event_that_nobody_waits_for_would_show(folder, monkeypatch):
    """The copies of these tests are late indeed: without waiting, steps see other numbers."""
    made = Streams()
    fake_cuda(monkeypatch, made.user, made.recorded)
    use_late_copies(monkeypatch)
    monkeypatch.setattr(FakeStream, "wait_event", lambda stream, event: None)
    monkeypatch.setattr(FakeEvent, "synchronize", lambda event: None)
    with make_loader(folder) as loader, sink(loader, values) as run:
        assert run() != plainly(folder, STEPS)


def test_a_step_that_fails_gets_its_batch_again(folder, streams):
    whole = plainly(folder, STEPS)
    calls = itertools.count()

    def step(batch):
        got = values(batch)
        for tensor in batch:
            tensor.zero_()
        if next(calls) == 4:
            raise RuntimeError("out of memory")
        return got

    with make_loader(folder) as loader, sink(loader, step) as run:
        with pytest.raises(RuntimeError, match="out of memory"):
            run()
        assert run.results + run() == whole


def test_a_torch_loader_is_taken_over_where_its_user_is(folder, streams):
    whole = plainly(folder, STEPS)
    taken = TorchLoader(make_loader(folder))
    if streams is not None:
        taken._hand_over.copies = LateCopies(taken.device)
    for _ in zip(range(3), taken, strict=False):
        pass
    place = taken.state_dict()["position"]
    with sink(taken, values) as run:
        assert run() == whole[place:]
    taken.close()


def test_a_chosen_epoch_of_a_torch_loader_is_taken_over(folder, streams):
    whole = plainly(folder, 3 * STEPS)
    with TorchLoader(make_loader(folder)) as taken:
        if streams is not None:
            taken._hand_over.copies = LateCopies(taken.device)
        next(iter(taken))
        taken.set_epoch(2)
        with sink(taken, values) as run:
            assert run() == whole[2 * STEPS :]


def test_what_is_said_of_it(folder, streams):
    with make_loader(folder) as loader, sink(loader, values, device="cpu") as run:
        where = "on cpu: tensors view the loader's memory, nothing is pinned or copied"
        if streams is not None:
            where = "on cuda:0: copied ahead through pinned memory, on a separate stream"
        assert repr(run).endswith(f", sink_size=-1, queue=2; {where})")


def test_what_torch_cannot_do_is_said(folder):
    with make_loader(folder) as loader:
        if not torch.cuda.is_available():
            with pytest.raises(flow.UnsupportedError, match="cuda.is_available.. is false"):
                sink(loader, values, device="cuda")
        with pytest.raises(flow.InvalidArgumentError, match="sink_size = 0"):
            sink(loader, values, sink_size=0)
        with pytest.raises(flow.InvalidArgumentError, match="a list was given"):
            sink([1], values)
    tokens = flow.GeneratorReader([[1], [2, 3]], fields=["value:int64[?]"], batch_size=1)
    with flow.DataLoader(tokens) as loader, pytest.raises(
        flow.InvalidArgumentError, match="is ragged"
    ):
        sink(loader, values)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA")
def test_on_a_device(folder):
    whole = plainly(folder, 2 * STEPS)
    with make_loader(folder) as loader, sink(loader, lambda batch: batch, device="cuda") as run:
        kept = run() + run()
        assert all(tensor.is_cuda for batch in kept for tensor in batch)
    assert [tuple(tensor.tolist() for tensor in batch) for batch in kept] == whole


# ---- Measures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_late", [False, True])
def test_a_torch_loader_stays_where_it_is(folder, monkeypatch, is_late):
    whole = plainly(folder, 3 * STEPS)
    if is_late:
        fake_cuda(monkeypatch, FakeStream(), [])
    loader = TorchLoader(make_loader(folder))
    if is_late:
        loader._hand_over.copies = LateCopies(loader.device)
    with loader:
        for epoch in range(3):
            batches = iter(loader)
            for number in range(STEPS):
                state = loader.state_dict()
                seen = []
                loader.ceiling(lambda batch, seen=seen: seen.append(batch), steps=2, warm_up=0)
                assert all(isinstance(one, torch.Tensor) for one in seen[0])
                assert loader.speed(steps=3).records > 0
                assert loader.state_dict() == state
                assert loader.epoch == (epoch if number else max(epoch - 1, 0))
                assert values(next(batches)) == whole[epoch * STEPS + number]
            assert next(batches, None) is None


def test_the_ceiling_copies_tensors_that_a_step_changes(folder):
    with TorchLoader(make_loader(folder)) as loader:
        expected, seen = values(next(iter(loader))), []

        def step(batch):
            seen.append(values(batch))
            batch[1].div_(0)

        with loader.loader.keep_place():
            loader.loader.seek(0, epoch=0)
            ceiling = loader.ceiling(step, steps=3)
        assert isinstance(ceiling, Ceiling) and ceiling.is_copied
        assert seen[0] == seen[3] == seen[5] == expected


def test_the_command_speed_watches_a_torch_loader(here, folder, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(f"""
import torch
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader, sink
x = flow.MiniReader({folder!r}, batch_size=4)
for batch in TorchLoader(flow.DataLoader(x)).repeat():
    assert isinstance(batch, torch.Tensor)
""")
    run = here("speed", "--json", "--seconds", "0.02", "--steps", "5", path)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["loader"] == "train.py:6: TorchLoader(MiniReader/out)"
    assert found["training_alone"]["steps"] <= 5
    text = path.read_text()
    path.write_text(text[: text.index("for ")] + "run = sink(flow.DataLoader(x), len)\n"
                    "for lengths in run: print(len(lengths), file=sys.stderr)\n"
                    .replace("sys", "__import__('sys')"))  # fmt: skip
    run = here("speed", "--json", "--seconds", "0.02", "--steps", "50", path)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["loader"] == "DataLoader(MiniReader/out)", "a thread of the sink iterates"
    assert found["both_together"]["steps"] > 0 and found["training_alone"]["steps"] > 0
    assert sys.modules["torch"] is torch


def test_the_page_has_all_of_the_stats(tmp_path):
    page = (ROOT / "docs/speed/sink.md").read_text()
    with make_loader(write_parts(tmp_path / "parts", lines(0, 5))) as loader:
        with flow.sink(loader, len) as run:
            run()
            documented = set(re.findall(r"`(\w+)`", page[page.index("| key |") :]))
            assert set(run.stats()) - {"steps"} == documented - {"time"}
