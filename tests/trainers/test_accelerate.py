"""accelerate takes a TorchLoader as it is: its state, its last batch, and what it skips; and so a
DataLoader with torch's arguments.
"""

import gc
import itertools
import warnings
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
accelerate = pytest.importorskip(
    "accelerate", reason="accelerate is not installed: pip install pyflowdata[accelerate]"
)
from accelerate.state import AcceleratorState, GradientState
from accelerate.utils import DataLoaderConfiguration

import pyflowdata as flow
from pyflowdata.integrations.torch import DataLoader, TorchLoader

from support.late_copies import FakeStream, LateCopies, fake_cuda
from support.rank_processes import run_ranks
from support.trainer_truth import epochs_of, numbered_blob

RECORDS, BATCH, STEPS = 62, 3, 21  # 21 steps and the last one has 2 rows

pytestmark = pytest.mark.filterwarnings("ignore")  # of accelerate's own


def reset():
    GradientState._reset_state()
    AcceleratorState._reset_state(reset_partial_state=True)


def numbers():
    return iter(range(RECORDS))


def make_numpy_loader(kind="shuffled", *, last="short", batch_size=BATCH, seed=3, **ranks):
    if kind == "stream":
        ids = flow.GeneratorReader(
            numbers, fields=["i:int64"], batch_size=batch_size, last_batch=last, **ranks
        )
    else:
        ids = numbered_blob(RECORDS, batch_size, seed=seed, last=last, **ranks)
    return flow.DataLoader({"i": ids})


class Samples(torch.utils.data.Dataset):
    def __init__(self, samples=RECORDS):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        return {"i": i}


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return ({"i": i} for i in numbers())


def make_loader(kind="shuffled", *, seed=3, **attrs):
    """A TorchLoader; of the kinds "map" and "iterable", a DataLoader with torch's arguments."""
    if kind == "map":
        return DataLoader(Samples(), BATCH, shuffle=True, seed=seed)
    if kind == "iterable":
        return DataLoader(Stream(), BATCH)
    return TorchLoader(make_numpy_loader(kind, seed=seed, **attrs))


def numbers_of(batch):
    return batch["i"].tolist()


def ids(batches, count=None):
    return [numbers_of(batch) for batch in itertools.islice(batches, count)]


def orders(epochs, kind="shuffled", **attrs):
    """The rows of each step of these epochs, by the NumPy loader; a DataLoader has its own order,
    without accelerate.
    """
    if kind == "map":
        reset()
        return epochs_of(make_loader("map"), epochs, numbers_of)
    kind = kind.replace("iterable", "stream")
    return epochs_of(make_numpy_loader(kind, rank=0, world_size=1, **attrs), epochs, numbers_of)


def make_accelerator(**kwargs):
    return accelerate.Accelerator(cpu=True, **kwargs)


class Run:
    """A model, its optimizer and its schedule; `windows` has the rows of each optimizer step."""

    def __init__(self, loader, **kwargs):
        self.accelerator = make_accelerator(**kwargs)
        model = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
        torch.nn.init.zeros_(model.weight)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
        self.model, self.optimizer, self.loader, self.schedule = self.accelerator.prepare(
            model, optimizer, loader, schedule
        )
        self.windows, self.steps = [], []

    def train(self, batches, count=None):
        window = []
        for batch in itertools.islice(batches, count):
            window.append(batch["i"].tolist())
            self.steps.append(window[-1])
            with self.accelerator.accumulate(self.model):
                loss = self.model(batch["i"][:, None].double()).mean()
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.schedule.step()
                self.optimizer.zero_grad()
            if self.accelerator.sync_gradients:
                self.windows.append(window)
                window = []
        return self

    @property
    def weight(self):
        return self.accelerator.unwrap_model(self.model).weight.item()


@pytest.mark.cell("accelerate", "fit")
@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"split_batches": True},
        {"dispatch_batches": True},
        {"even_batches": False},
        {"use_stateful_dataloader": True},
    ],
)
def test_prepare_takes_a_loader_as_it_is(configuration):
    with make_loader() as loader:
        run = Run(loader, dataloader_config=DataLoaderConfiguration(**configuration))
        assert run.loader is loader and run.accelerator._dataloaders == [loader]
        for _ in range(2):
            run.train(run.loader)
        assert run.steps == sum(orders(2), []) and len(run.windows) == 2 * STEPS
        assert run.schedule.scheduler.last_epoch == 2 * STEPS
        assert run.accelerator.prepare(loader) is loader
        assert run.accelerator._dataloaders == [loader]


@pytest.mark.cell("accelerate", "accumulation")
@pytest.mark.parametrize("kind", ["shuffled", "stream", "map", "iterable"])
@pytest.mark.parametrize("every", [2, 4, 7])
def test_the_last_batch_of_an_epoch_steps_the_optimizer(kind, every):
    whole = orders(2, kind)
    with make_loader(kind) as loader:
        run = Run(loader, gradient_accumulation_steps=every)
        for _ in range(2):
            run.train(run.loader)
        assert not run.accelerator.gradient_state.in_dataloader
    assert run.windows == [
        epoch[at : at + every] for epoch in whole for at in range(0, STEPS, every)
    ]
    means = [np.mean(rows) / every for epoch in whole for rows in epoch]
    assert run.weight == pytest.approx(-0.1 * sum(means), rel=1e-12)


def test_the_active_loader_is_the_one_that_is_iterated_over():
    with make_loader() as loader, make_loader("stream") as evaluation:
        state = make_accelerator().gradient_state
        seen = []
        for step, _ in enumerate(loader):
            ends = [state.end_of_dataloader for _ in evaluation] if step in (4, 20) else None
            assert ends is None or ends == [False] * (STEPS - 1) + [True]
            seen.append((state.end_of_dataloader, state.remainder))
        assert seen == [(step == STEPS - 1, RECORDS % BATCH) for step in range(STEPS)]
        assert not state.in_dataloader
        for _ in loader:
            for _ in evaluation:
                break
            assert not state.end_of_dataloader and state.remainder == RECORDS % BATCH
            break
        gc.collect()
        assert not state.in_dataloader and state.remainder == -1


@pytest.mark.parametrize("kind", ["shuffled", "stream"])
def test_the_last_batch_of_a_device(monkeypatch, tmp_path, kind):
    """Batches are copied ahead there; the state and the end are those of the delivered one."""
    whole = orders(2, kind)
    with make_loader(kind) as loader:
        run = Run(loader, gradient_accumulation_steps=4)
        fake_cuda(monkeypatch, FakeStream(), [])
        loader._hand_over.copies = LateCopies(loader.device)
        run.train(loader).train(loader, 4)
        run.accelerator.save_state(tmp_path / "checkpoint")
        run.accelerator.load_state(tmp_path / "checkpoint")
        run.train(loader)
    assert run.windows == [
        epoch[at : at + 4] for epoch in whole for at in range(0, STEPS, 4)
    ]


def test_without_an_accelerator_nothing_is_announced():
    with make_loader() as loader:
        assert ids(loader) == orders(1)[0]
        assert not GradientState._shared_state


@pytest.mark.cell("accelerate", "mid-epoch resume")
@pytest.mark.cell("accelerate", "epoch-end resume")
@pytest.mark.parametrize("steps", [1, 7, STEPS, STEPS + 2])
@pytest.mark.parametrize("kind", ["shuffled", "stream", "map", "iterable"])
@pytest.mark.parametrize("by_hand", [False, True])
def test_load_state_continues_where_save_state_was(tmp_path, kind, steps, by_hand):
    whole = sum(orders(3, kind), [])
    with make_loader(kind) as loader:
        run = Run(loader)
        if by_hand:
            run.accelerator.register_for_checkpointing(loader)
        run.train(loader, steps)
        if steps > STEPS:
            run.train(loader, steps - STEPS)
        run.accelerator.save_state(tmp_path / "checkpoint")
        assert run.steps == whole[:steps]
    reset()
    with make_loader(kind, seed=9) as loader:
        run = Run(loader)
        if by_hand:
            run.accelerator.register_for_checkpointing(loader)
        ids(loader, 2)
        run.accelerator.load_state(tmp_path / "checkpoint")
        ended = steps // STEPS
        if kind in ("map", "iterable") and steps == STEPS:
            ended = 0  # after a last batch the first iterator is empty
        for _ in range(ended, 3):
            run.train(loader)
        assert run.steps == whole[steps:]


@pytest.mark.parametrize("steps", [1, STEPS])
def test_an_iterator_is_over_when_a_state_is_loaded(steps):
    """Also one that has taken the end ahead, which its user has not seen."""
    make_accelerator()
    with make_loader("stream") as loader:
        batches = iter(loader)
        ids(batches, steps)
        loader.load_state_dict(loader.state_dict())
        with pytest.raises(flow.CancelledError, match="this iterator is over"):
            next(batches)
        ended = iter(loader)
        ids(ended)
        ids(loader, 1)
        assert next(ended, None) is None


def test_a_stream_at_its_end_is_at_the_next_epoch(tmp_path):
    whole = sum(orders(2, "stream"), [])
    with make_loader("stream") as loader:
        run = Run(loader).train(loader)
        run.accelerator.save_state(tmp_path / "checkpoint")
        assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (1, 0)
        assert loader.place() == (1, 0)
    reset()
    with make_loader("stream") as loader:
        run = Run(loader)
        run.accelerator.load_state(tmp_path / "checkpoint")
        for epoch in range(loader.epoch, 2):
            loader.set_epoch(epoch)
            run.train(loader)
        assert run.steps == whole[STEPS:]


def test_a_loader_that_is_only_registered_is_restored(tmp_path):
    whole = sum(orders(2), [])
    with make_loader() as loader:
        accelerator = make_accelerator()
        accelerator.register_for_checkpointing(loader)
        assert ids(loader, 4) == whole[:4]
        accelerator.save_state(tmp_path / "checkpoint")
    with make_loader(seed=9) as loader:
        accelerator = make_accelerator()
        accelerator.register_for_checkpointing(loader)
        accelerator.load_state(tmp_path / "checkpoint")
        assert ids(loader) + ids(loader) == whole[4:]


@pytest.mark.parametrize("count", [0, 5, STEPS - 1])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_a_rest_of_a_data_loader(count, is_loaded):
    """accelerate makes a loader of torch's of it, which knows its samples and not its end."""
    whole = orders(3, "map")
    with make_loader("map") as loader:
        accelerator = make_accelerator()
        loader.set_epoch(1)
        ids(loader, count)
        state = loader.state_dict()
    with make_loader("map", seed=9 if is_loaded else 3) as loader:
        if is_loaded:
            loader.load_state_dict(state)
        else:
            loader.set_epoch(1)
        assert ids(accelerator.skip_first_batches(loader, count)) == whole[1][count:]
        loader.set_epoch(2)
        assert ids(loader) == whole[2]


@pytest.mark.parametrize("kind", ["shuffled", "stream"])
@pytest.mark.parametrize("count", [0, 5, STEPS - 1])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_skip_first_batches(kind, count, is_loaded):
    whole = orders(3, kind)
    with make_loader(kind) as loader:
        run = Run(loader, gradient_accumulation_steps=2)
        for _ in range(1 if is_loaded else 2):
            ids(loader)
        if is_loaded:
            ids(loader, count)
            if count:  # else the state is that of the epoch before, whose end it is
                loader.load_state_dict(loader.state_dict())
        loader.set_epoch(1)
        skipped = run.accelerator.skip_first_batches(loader, count)
        run.train(skipped)
        assert run.steps == whole[1][count:]
        assert [len(window) for window in run.windows][-1] == (STEPS - count) % 2 or 2
        assert not run.accelerator.gradient_state.in_dataloader
        assert ids(loader) == whole[2]


def test_skip_first_batches_of_a_stream_that_drops_its_last():
    whole = orders(1, "stream")[0][:-1]
    with make_loader("stream", last="drop") as loader:
        loader = make_accelerator().prepare(loader)
        assert ids(make_accelerator().skip_first_batches(loader, 2)) == whole[2:]
        assert loader.batch_size is None and not loader.drop_last


def test_the_last_batch_of_a_stream_ends_its_epoch_in_the_state():
    whole = orders(2, "stream")
    with make_loader("stream") as loader, make_loader("stream") as resumed:
        loader, resumed = make_accelerator().prepare(loader, resumed)
        states = [loader.state_dict() for _ in loader]
        assert [(each["epoch"], each["position"]) for each in states][-2:] == [
            (0, STEPS - 1), (1, 0)
        ]  # fmt: skip
        resumed.load_state_dict(states[-1])
        resumed.set_epoch(states[-1]["epoch"])
        assert ids(resumed) == whole[1]


def test_the_last_step_of_a_share_is_announced():
    accelerator = make_accelerator()
    for records in (3, RECORDS):
        batch = flow.from_arrays({"i": np.arange(records)}).batch(BATCH)
        for share in range(2):
            loader = TorchLoader(flow.DataLoader({"i": batch["i"]}, share=(share, 2)))
            ends = [accelerator.gradient_state.end_of_dataloader for _ in loader]
            assert ends == [False] * (len(ends) - 1) + [True] * bool(ends)


def test_an_accelerate_that_hears_of_no_loaders_is_named(monkeypatch):
    with make_loader() as loader:
        assert len(ids(loader)) == STEPS  # also where accelerate is imported and not used
        make_accelerator()
        monkeypatch.delattr(GradientState, "_add_dataloader")
        with pytest.raises(flow.UnsupportedError, match=r"accelerate \d+\.\d+.*_add_dataloader"):
            next(iter(loader))


@pytest.mark.cell("DataLoader", "evaluation counts")
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("batch_size", [4, 5])
def test_metrics_have_each_sample_of_a_data_loader_once(batch_size, drop_last):
    accelerator = make_accelerator()
    loader = accelerator.prepare(DataLoader(Samples(10), batch_size, drop_last=drop_last))
    rows = [accelerator.gather_for_metrics(batch["i"]).tolist() for batch in loader]
    count = 10 - 10 % batch_size if drop_last else 10
    assert sum(rows, []) == [*range(count)]


def test_free_memory_lets_the_loader_go():
    accelerator = make_accelerator()
    loader = accelerator.prepare(make_loader())
    ids(loader, 2)
    gone = weakref.ref(loader)
    (loader,) = accelerator.free_memory(loader)
    gc.collect()
    assert loader is None and gone() is None and accelerator._dataloaders == []


# ---- Two ranks ----------------------------------------------------------------------------------

SIZE = 4  # a batch of both ranks: 62 rows are 15 full batches and 2 rows
WHOLE = -(-RECORDS // SIZE)


def run_two_ranks(folder):
    """What one of two ranks sees of everything below."""
    run = Run(
        make_loader(batch_size=SIZE),
        gradient_accumulation_steps=3,
        dataloader_config=DataLoaderConfiguration(split_batches=True),
    )
    gathered = {}
    for kind, last, as_objects in [
        ("shuffled", "pad", False),
        ("shuffled", "wrap", False),
        ("shuffled", "short", True),
    ]:
        evaluation = run.accelerator.prepare(make_loader(kind, last=last, batch_size=SIZE))
        gathered[kind, last] = [
            int(each)
            for batch in evaluation
            for each in run.accelerator.gather_for_metrics(batch["i"], as_objects)
        ]
        run.accelerator._dataloaders.remove(evaluation)
        evaluation.close()
    with warnings.catch_warnings(record=True):  # of the sample that is left out
        evaluation = run.accelerator.prepare(DataLoader(Samples(9), 2))
    left_out = [
        run.accelerator.gather_for_metrics(batch["i"]).tolist() for batch in evaluation
    ]
    run.accelerator._dataloaders.remove(evaluation)
    run.accelerator.load_state(f"{folder}/one")
    run.train(run.loader).train(run.loader, 6)
    run.accelerator.save_state(f"{folder}/two")
    return {
        "gathered": gathered,
        "left_out": left_out,
        "steps": run.steps,
        "windows": [len(window) for window in run.windows],
        "schedule": run.schedule.scheduler.last_epoch,
    }


@pytest.mark.slow
@pytest.mark.cell("accelerate", "other world size")
@pytest.mark.cell("accelerate", "evaluation counts")
def test_two_ranks(tmp_path):
    whole = orders(3, batch_size=SIZE)
    first = 6  # optimizer steps of 3: accelerate restores its count of batches on known ranks only
    with make_loader(batch_size=SIZE) as loader:
        run = Run(loader, gradient_accumulation_steps=3)
        run.train(loader, first)
        run.accelerator.save_state(tmp_path / "one")
        assert run.steps == whole[0][:first]
    reset()
    ranks = run_ranks(run_two_ranks, 2, tmp_path / "ranks", str(tmp_path))
    seen = [zero + one for zero, one in zip(*(rank["steps"] for rank in ranks))]
    assert seen == whole[0][first:] + whole[1][:6]
    for rank in ranks:
        assert {*map(tuple, rank["gathered"].values())} == {tuple(sum(whole[0], []))}
        assert rank["left_out"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert rank["windows"] == [3, 3, 3, 1, 3, 3]
        assert rank["schedule"] == first // 3 + 6
    with make_loader(batch_size=SIZE, seed=9) as loader:
        run = Run(loader)
        run.accelerator.load_state(tmp_path / "two")
        run.train(loader).train(loader)
        assert run.steps == whole[1][6:] + whole[2]
