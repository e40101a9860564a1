"""pyflowdata.integrations.torch.DataLoader: torch's by another import, with exact resume."""

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import DataLoader, sample_generator  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")

SAMPLES, BATCH, STEPS = 22, 4, 6
NEW = {"num_workers": 1, "multiprocessing_context": "forkserver"}  # a process that is no fork
WAYS = [
    {},
    {"num_workers": 2},
    pytest.param(NEW, marks=pytest.mark.slow),
    {"num_workers": 2, "workers": "threads"},
]
PROCESSES = WAYS[:3]


class Numbers(torch_data.Dataset):
    """Sample i has i, an array that is large enough for shared memory, and draws."""

    def __init__(self, samples=SAMPLES, *, draws=False, bad=None, end=None, slow=None):
        self.samples, self.draws = samples, draws
        self.bad, self.end, self.slow = bad, end, slow

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        if index == self.bad:
            raise KeyError(f"no sample {index}")
        if index == self.end:
            os.kill(os.getpid(), signal.SIGKILL)
        if index == self.slow:
            time.sleep(60)
        drawn = (random.random(), np.random.rand(), torch.rand(2)) if self.draws else ()
        return index, np.full((300,), index, np.float32), *drawn


class Counting(torch_data.IterableDataset):
    """Numbers, of which each worker has its part."""

    def __init__(self, samples=SAMPLES):
        self.samples = samples

    def __iter__(self):
        info = torch_data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.samples, step))


class Placed(Counting):
    """The same, with a state; it counts the samples that it gave, so that reading again shows."""

    def __init__(self, samples=SAMPLES):
        super().__init__(samples)
        self.at = None

    def __iter__(self):
        info = torch_data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        self.at = first if self.at is None else self.at
        while self.at < self.samples:
            self.at += step
            yield self.at - step
        self.at = None

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def ids(batches):
    return [batch[0].tolist() for batch in batches]


def values(batches):
    return [[part.tolist() for part in batch] for batch in batches]


def taken(loader, count):
    batches = iter(loader)
    return [next(batches) for _ in range(count)]


def over_json(state):
    return json.loads(json.dumps(state))


# ---- Order --------------------------------------------------------------------------------------


@pytest.mark.cell("DataLoader", "fit")
@pytest.mark.parametrize("way", WAYS)
def test_samples_and_their_order_are_torchs(way):
    own = ids(DataLoader(Numbers(), BATCH, **way))
    assert own == ids(torch_data.DataLoader(Numbers(), BATCH))
    assert own == [list(range(at, min(at + BATCH, SAMPLES))) for at in range(0, SAMPLES, BATCH)]


def test_shuffle_is_the_global_one_of_a_flow_loader_and_new_in_each_epoch():
    data = flow.from_arrays({"i": np.arange(SAMPLES)}).shuffle(seed=3)
    with flow.DataLoader(data.batch(BATCH)["i"]) as loader:
        epochs = [[batch.tolist() for batch in loader] for _ in range(2)]
    own = DataLoader(Numbers(), BATCH, shuffle=True, seed=3)
    assert [ids(own), ids(own)] == epochs
    assert epochs[0] != epochs[1]
    own.set_epoch(0)
    assert ids(own) == epochs[0]


def test_torch_manual_seed_decides_the_order_and_is_not_used_up():
    torch.manual_seed(5)
    first = ids(DataLoader(Numbers(), BATCH, shuffle=True))
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert ids(DataLoader(Numbers(), BATCH, shuffle=True)) == first
    torch.manual_seed(5)
    assert torch.rand(1) == drawn
    torch.manual_seed(6)
    assert ids(DataLoader(Numbers(), BATCH, shuffle=True)) != first


@pytest.mark.cell("DataLoader", "accumulation")
def test_an_iterator_that_gave_nothing_is_no_epoch_and_a_broken_off_one_is():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=1)
    expected = [ids(loader) for _ in range(3)]
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=1)
    assert len(loader) == STEPS == len(expected[0])
    iter(loader)
    assert ids(taken(loader, 2)) == expected[0][:2]
    late = iter(loader)
    loader.set_epoch(2)
    assert ids(late) == expected[2]


def test_it_is_torchs_class_and_keeps_its_attributes():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, drop_last=True, num_workers=2)
    assert isinstance(loader, torch_data.DataLoader)
    assert loader.batch_size == BATCH and loader.drop_last and loader.prefetch_factor == 2
    assert isinstance(loader.sampler, torch_data.RandomSampler)
    assert isinstance(loader.sampler, torch_data.DistributedSampler)
    assert isinstance(loader.batch_sampler, torch_data.BatchSampler)
    assert len(loader) == SAMPLES // BATCH == len([*loader])
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        loader.batch_size = 3


def test_its_names_are_torchs_and_those_that_its_pages_describe():
    def public(one):
        return {name for name in dir(one) if not name.startswith("_")}

    own = public(DataLoader(Numbers())) - public(torch_data.DataLoader(Numbers()))
    assert own == {
        "close", "epoch", "load_state_dict", "order", "rank", "report", "seed", "seed_samples",
        "set_epoch", "state_dict", "stats", "use_stateful_dataloader", "workers", "world_size",
    }  # fmt: skip


def test_samples_of_the_samplers_are_those_of_the_batches():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=2, rank=1, world_size=2)
    batches = [*loader.batch_sampler]
    assert batches == ids(loader)
    assert [*loader.sampler] == sum(batches, [])
    assert len(loader.sampler) == SAMPLES // 2


def test_collating_is_torchs():
    class Mixed(torch_data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return {
                "a": np.arange(3, dtype=np.int16) + index, "f": 0.5 * index, "t": f"text {index}",
                "n": (np.float64(index), torch.ones(2, 2, dtype=torch.bfloat16), [index, True]),
            }  # fmt: skip

    for count in (0, 2):
        own = [*DataLoader(Mixed(), 2, num_workers=count)]
        for batch, other in zip(own, torch_data.DataLoader(Mixed(), 2), strict=True):
            torch.testing.assert_close(batch.pop("a"), other.pop("a"))
            assert repr(batch) == repr(other)
            assert batch["n"][1].dtype == torch.bfloat16


# ---- Samplers of the program --------------------------------------------------------------------


def test_a_sampler_with_a_generator_gives_the_order_that_it_gives_torch():
    def sampler():
        return torch_data.RandomSampler(Numbers(), generator=torch.Generator().manual_seed(8))

    own = DataLoader(Numbers(), BATCH, sampler=sampler(), num_workers=2)
    other = torch_data.DataLoader(Numbers(), BATCH, sampler=sampler())
    assert [ids(own), ids(own)] == [ids(other), ids(other)]


class ByNumPy(torch_data.Sampler):
    def __iter__(self):
        return iter(np.random.permutation(SAMPLES).tolist())

    def __len__(self):
        return SAMPLES


SAMPLERS = {
    "generator": lambda: {
        "sampler": torch_data.RandomSampler(Numbers(), generator=torch.Generator().manual_seed(8))
    },
    "torch": lambda: {
        "sampler": torch_data.WeightedRandomSampler([1.0] * SAMPLES, SAMPLES, replacement=True)
    },
    "numpy": lambda: {"sampler": ByNumPy()},
    "batches": lambda: {
        "batch_size": 1, "batch_sampler": [[i, i + 1] for i in range(0, SAMPLES, 2)],
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_of_the_program_go_on_where_they_were(name):
    def new(**options):
        loader = {"batch_size": BATCH, "seed": 4, **SAMPLERS[name](), **options}
        return DataLoader(Numbers(draws=True), **loader)

    loader = new()
    epochs = [values(loader), values(loader)]
    for step in range(1, len(epochs[1])):
        first = new(num_workers=2)
        ids(first)
        taken(first, step)
        second = new()
        second.load_state_dict(first.state_dict())
        assert values(second) == epochs[1][step:]


def test_sampler_of_torch_distributed_is_honoured():
    parts = []
    for rank in range(2):
        sampler = torch_data.DistributedSampler(Numbers(), 2, rank, shuffle=True, seed=1)
        loader = DataLoader(Numbers(), BATCH, sampler=sampler)
        loader.set_epoch(3)
        sampler = torch_data.DistributedSampler(Numbers(), 2, rank, shuffle=True, seed=1)
        sampler.set_epoch(3)
        parts += ids(loader)
        assert sum(ids(loader), []) == [*sampler]
    assert sorted(sum(parts, [])) == [*range(SAMPLES)]


# ---- Resume -------------------------------------------------------------------------------------


@pytest.mark.cell("DataLoader", "mid-epoch resume")
@pytest.mark.parametrize("way", WAYS[1:])
def test_resume_at_every_step_with_other_workers(way):
    def new(**options):
        return DataLoader(Numbers(), BATCH, shuffle=True, **options)

    loader = new(seed=6)
    expected = ids(loader) + ids(loader)
    for step in range(STEPS + 1):
        first = new(seed=6, **way)
        assert ids(taken(first, step)) == expected[:step]
        state = over_json(first.state_dict())
        second = new(seed=7)
        second.load_state_dict(state)
        assert second.state_dict() == state
        assert ids(second) + (ids(second) if step < STEPS else []) == expected[step:]
    assert len(json.dumps(state)) < 300


@pytest.mark.cell("DataLoader", "epoch-end resume")
def test_after_the_last_batch_and_after_the_end_the_state_means_the_next_epoch():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=6)
    epochs = [ids(loader), ids(loader)]
    first = DataLoader(Numbers(), BATCH, shuffle=True, seed=6, num_workers=1)
    batches = iter(first)
    for _ in range(STEPS):
        next(batches)
    before = first.state_dict()
    assert next(batches, None) is None
    assert first.state_dict() == before
    second = DataLoader(Numbers(), BATCH, shuffle=True, seed=6)
    second.load_state_dict(before)
    assert ids(second) == epochs[1]


@pytest.mark.cell("DataLoader", "other world size")
def test_other_world_sizes_have_the_same_steps():
    def steps(world_size, state=None):
        ranks = []
        for rank in range(world_size):
            loader = DataLoader(
                Numbers(), shuffle=True, seed=5, global_batch_size=8, rank=rank,
                world_size=world_size,
            )  # fmt: skip
            if state is not None:
                loader.load_state_dict(state)
            ranks.append(ids(loader))
        return [sorted(sum(step, [])) for step in zip(*ranks, strict=True)]

    alone = steps(1)
    assert sorted(sum(alone, [])) == [*range(SAMPLES)]
    assert steps(2) == steps(4) == alone
    first = DataLoader(
        Numbers(), shuffle=True, seed=5, global_batch_size=8, rank=1, world_size=2, num_workers=1
    )
    taken(first, 1)
    assert steps(4, first.state_dict()) == alone[1:]
    other = DataLoader(Numbers(), 8, shuffle=True, rank=0, world_size=2)
    with pytest.raises(flow.InvalidArgumentError, match="global_batch_size=8 keeps it"):
        other.load_state_dict(first.state_dict())


@pytest.mark.cell("DataLoader", "evaluation counts")
def test_every_sample_comes_once_over_ranks_but_those_that_not_all_ranks_can_have():
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rank in range(2):
            loader = DataLoader(Numbers(), BATCH, rank=rank, world_size=2)
            assert len(loader) == 3
            seen += sum(ids(loader), [])
    assert sorted(seen) == [*range(SAMPLES)]
    with pytest.warns(UserWarning, match="the last 1 of 25 samples of each epoch are left out"):
        loader = DataLoader(Numbers(25), BATCH, rank=1, world_size=2)
    assert len(loader) == len(ids(loader)) == 3


def test_state_of_another_loader_is_refused_with_each_difference():
    state = DataLoader(Numbers(), BATCH, shuffle=True).state_dict()
    with pytest.raises(flow.InvalidArgumentError) as failure:
        DataLoader(Numbers(21), BATCH, drop_last=True).load_state_dict(state)
    for difference in ("order = 'sequential'", "samples = 21", "drop_last = True"):
        assert difference in str(failure.value)


def test_what_is_no_state_of_it_is_refused():
    loader = DataLoader(Numbers(), BATCH)
    state = loader.state_dict()
    with flow.DataLoader(flow.from_arrays({"i": np.arange(9)}).batch(2)["i"]) as other:
        for said, given in {
            "not a dict": [3],
            "no version": {"_num_yielded": 3},
            "has version 9": {**state, "version": 9},
            "of a loader of readers": other.state_dict(),
            "position = -1": {**state, "position": -1},
            f"an epoch has {STEPS} batches": {**state, "position": STEPS + 1},
            "seed = None": {key: value for key, value in state.items() if key != "seed"},
            "streams has 3": {**state, "streams": [3]},
        }.items():
            with pytest.raises(flow.InvalidArgumentError, match=said):
                loader.load_state_dict(given)
        with pytest.raises(flow.InvalidArgumentError, match="of a loader of a torch dataset"):
            other.load_state_dict(state)
        assert loader.state_dict() == state


# ---- Random numbers -----------------------------------------------------------------------------


def drawn_of(loader):
    """What each sample drew, by its number."""
    found = {}
    for batch in loader:
        for row, number in enumerate(batch[0].tolist()):
            found[number] = [part[row].tolist() for part in batch[2:]]
    return found


@pytest.mark.parametrize("way", PROCESSES)
def test_random_numbers_belong_to_the_sample(way):
    expected = drawn_of(DataLoader(Numbers(draws=True), BATCH, shuffle=True, seed=9))
    assert len({str(one) for one in expected.values()}) == SAMPLES
    assert drawn_of(DataLoader(Numbers(draws=True), 3, shuffle=True, seed=9, **way)) == expected
    rank = drawn_of(
        DataLoader(Numbers(draws=True), 2, shuffle=True, seed=9, rank=1, world_size=2, **way)
    )
    assert rank == {number: expected[number] for number in rank}
    later = DataLoader(Numbers(draws=True), BATCH, shuffle=True, seed=9, **way)
    later.set_epoch(1)
    assert drawn_of(later) != expected
    other = DataLoader(Numbers(draws=True), BATCH, shuffle=True, seed=10, **way)
    assert drawn_of(other) != expected


def test_a_sample_that_draws_late_draws_what_it_would_have():
    class Late(torch_data.Dataset):
        def __len__(self):
            return 60

        def __getitem__(self, index):
            return index, np.zeros(1), np.random.rand() if index == 47 else 0.5

    alone = drawn_of(DataLoader(Late(), 60, seed=2))[47]  # in the first batch
    assert alone != [0.5]
    assert drawn_of(DataLoader(Late(), 5, seed=2))[47] == alone
    assert drawn_of(DataLoader(Late(), 5, seed=2, num_workers=1))[47] == alone


def test_the_program_keeps_its_random_numbers():
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    def seeded():
        random.seed(1), np.random.seed(1), torch.manual_seed(1)

    seeded()
    expected = [draw() for _ in range(STEPS)]
    seeded()
    loader = DataLoader(Numbers(draws=True), BATCH, shuffle=True, seed=9)
    assert [draw() for _ in loader] == expected


class Own(torch_data.Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return index, np.zeros(1), sample_generator().random()


@pytest.mark.parametrize("way", WAYS[1:])
def test_sample_generator_belongs_to_the_sample_in_threads_too(way):
    expected = drawn_of(DataLoader(Own(), BATCH, seed=9))
    assert drawn_of(DataLoader(Own(), 3, shuffle=True, seed=9, **way)) == expected
    assert len({str(one) for one in expected.values()}) == SAMPLES
    with pytest.raises(RuntimeError, match="is for __getitem__"):
        run_in_thread(sample_generator)


def run_in_thread(function):
    failures = []

    def run():
        try:
            function()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    raise failures[0]


# ---- Iterable data sets -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Counting, Placed])
@pytest.mark.parametrize("count", [0, 2])
def test_iterable_datasets_take_turns_and_go_on_where_they_were(kind, count):
    def batches(loader):
        return [batch.tolist() for batch in loader]

    expected = batches(torch_data.DataLoader(kind(), BATCH, num_workers=count))
    loader = DataLoader(kind(), BATCH, num_workers=count)
    assert [batches(loader), batches(loader)] == [expected, expected]
    for step in range(len(expected)):
        first = DataLoader(kind(), BATCH, num_workers=count)
        taken(first, step)
        second = DataLoader(kind(), BATCH, num_workers=count)
        second.load_state_dict(over_json(first.state_dict()))
        assert batches(second) == expected[step:]
    with pytest.raises(flow.InvalidArgumentError, match="num_workers must stay the same"):
        DataLoader(kind(), BATCH, num_workers=2 + count).load_state_dict(first.state_dict())


class Epochs(torch_data.IterableDataset):
    """Counts its epochs, which its state has."""

    def __init__(self):
        self.epoch = 0

    def __iter__(self):
        self.epoch += 1
        yield from range(10 * self.epoch, 10 * self.epoch + 3)

    def state_dict(self):
        return {"epoch": self.epoch}

    def load_state_dict(self, state):
        self.epoch = state["epoch"]


class Keeping(Counting):
    """Begins at the state that it was given until set_epoch() tells it of another epoch."""

    def __init__(self):
        super().__init__()
        self.epoch, self.at, self.given = 0, 0, None

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        kept = self.given is not None and self.given["epoch"] == self.epoch
        for self.at in range(self.given["at"] if kept else 0, self.samples):
            self.at += 1
            yield self.at - 1

    def state_dict(self):
        return {"epoch": self.epoch, "at": self.at}

    def load_state_dict(self, state):
        self.given = state


@pytest.mark.parametrize("way", [{}, {"num_workers": 1, "persistent_workers": True}])
def test_after_a_resume_an_iterable_dataset_is_told_of_the_next_epochs(way):
    def epoch(loader):
        return [batch.tolist() for batch in loader]

    whole = epoch(DataLoader(Counting(), BATCH))
    def new():
        return DataLoader(Keeping(), BATCH, **way)

    with new() as first, new() as second:
        taken(first, 2)
        second.load_state_dict(first.state_dict())
        assert [epoch(second), epoch(second)] == [whole[2:], whole]
    with new() as first, new() as second:
        epoch(first)
        second.load_state_dict(first.state_dict())
        assert [epoch(second), epoch(second)] == [whole, whole]


@pytest.mark.parametrize("way", [{}, {"num_workers": 2, "persistent_workers": True}])
def test_a_dataset_that_counts_epochs_goes_on_after_the_end_of_one(way):
    def epoch(loader):
        return [batch.tolist() for batch in loader]

    with DataLoader(Epochs(), 2, **way) as first:
        assert sorted(epoch(first))[0] == [10, 11]
        state = first.state_dict()
        expected = epoch(first)
    with DataLoader(Epochs(), 2, **way) as second:
        second.load_state_dict(state)
        assert epoch(second) == expected
        assert sorted(expected)[0] == [20, 21]


# ---- Failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_keeps_its_class_and_the_next_batches_follow(way):
    batches = iter(DataLoader(Numbers(bad=9), BATCH, **way))
    assert ids([next(batches), next(batches)]) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(KeyError, match="no sample 9") as failure:
        next(batches)
    if way and "workers" not in way:
        assert "in DataLoader worker process" in str(failure.value.__cause__)
        assert "in __getitem__" in str(failure.value.__cause__)
    assert ids(batches) == [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21]]


def test_a_killed_worker_is_an_error_with_signal_and_sample():
    with pytest.raises(RuntimeError, match=r"signal: SIGKILL.*fetched sample 9"):
        ids(DataLoader(Numbers(end=9), BATCH, num_workers=2))


@pytest.mark.parametrize("workers", ["processes", "threads"])
def test_timeout_is_an_error(workers):
    class Waiting(Numbers):
        def __getitem__(self, index):
            time.sleep(0.5)
            return index, index

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 0.05 seconds"):
        ids(DataLoader(Waiting(2), 2, num_workers=1, timeout=0.05, workers=workers))
    assert time.monotonic() - begin < 30


def fails(number):
    raise ValueError(f"not in worker {number}")


def test_worker_init_fn_runs_in_each_worker_and_its_exception_arrives():
    class Info(torch_data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            info = torch_data.get_worker_info()
            return info.id, info.num_workers, self.told

    def tell(number):
        torch_data.get_worker_info().dataset.told = 10 + number

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [[one.tolist() for one in batch] for batch in DataLoader(
            Info(), num_workers=2, worker_init_fn=tell, multiprocessing_context="fork",
        )]  # fmt: skip
    assert sorted(found) == [[[0], [2], [10]]] * 2 + [[[1], [2], [11]]] * 2
    with pytest.raises(ValueError, match="not in worker 0"):
        ids(DataLoader(Numbers(), num_workers=1, worker_init_fn=fails))


def test_own_arguments_are_checked():
    for wrong, said in (
        ({"workers": "fibers"}, "'processes' or 'threads'"),
        ({"rank": 0}, "both rank and world_size"),
        ({"rank": 2, "world_size": 2}, "rank must be in"),
        ({"global_batch_size": 5, "rank": 0, "world_size": 2}, "a multiple of world_size"),
        ({"global_batch_size": 4, "batch_size": 2}, "in the place of batch_size|takes the place"),
        ({"seed": -1}, "seed = -1"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=said):
            DataLoader(Numbers(), **wrong)
    with pytest.raises(flow.UnsupportedError, match="an IterableDataset"):
        DataLoader(Counting(), num_workers=1, workers="threads")


# ---- Processes and memory -----------------------------------------------------------------------


def test_batches_that_are_held_keep_their_values_and_others_use_their_memory_again():
    loader = DataLoader(Numbers(200), BATCH, num_workers=1, persistent_workers=True)
    held = [*loader]
    for step, (numbers, rows) in enumerate(held):
        assert numbers.tolist() == [*range(step * BATCH, step * BATCH + BATCH)]
        assert torch.equal(rows, numbers[:, None].float().expand(BATCH, 300))
        rows.zero_()
    used = loader.stats()["slot_bytes"]
    del held, rows
    for numbers, rows in loader:
        assert torch.equal(rows, numbers[:, None].float().expand(BATCH, 300))
    assert loader.stats()["slot_bytes"] == used
    del rows, numbers
    gc.collect()
    assert loader.stats()["slots_held"] == 0
    loader.close()


class Shared(torch_data.Dataset):
    """Says how much memory is this process's own: pages that it has written to."""

    def __init__(self):
        self.array, self.tensor = np.ones(1 << 24, np.uint8), torch.ones(1 << 24, dtype=torch.uint8)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        self.array.sum(), self.tensor.sum()
        with open("/proc/self/smaps_rollup") as file:
            own = sum(int(line.split()[1]) for line in file if line.startswith("Anonymous"))
        self.array[0] = 2  # which is of this process alone
        return own * 1024, int(self.array[1])


@pytest.mark.slow
def test_arrays_and_tensors_of_a_dataset_are_in_memory_once():
    def own(data):
        loader = DataLoader(data, num_workers=1, multiprocessing_context="forkserver")
        return max(batch[0].item() for batch in loader)

    small = Shared()
    small.array, small.tensor = small.array[:8], small.tensor[:8]
    assert own(Shared()) - own(small) < 1 << 22


def children():
    import multiprocessing

    return multiprocessing.active_children()


def test_workers_end_with_the_iterator_and_kept_ones_with_close():
    batches = iter(DataLoader(Numbers(), BATCH, num_workers=2))
    next(batches)
    assert len(children()) == 2
    del batches
    assert not children()
    with DataLoader(Numbers(), BATCH, num_workers=1, persistent_workers=True) as loader:
        ids(loader)
        (first,) = children()
        ids(loader)
        assert children() == [first]
    assert not children()


SCRIPT = """
import sys
import torch
from pyflowdata.integrations.torch import DataLoader

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.full((400,), index)

if __name__ == "__main__":
    for how in ("spawn", "forkserver", "fork"):
        loader = DataLoader(Data(), 2, num_workers=1, multiprocessing_context=how)
        print([batch[:, 0].tolist() for batch in loader])
"""


@pytest.mark.slow
def test_a_script_with_its_dataset_in_main_works_with_every_start_method(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["[[0, 1], [2, 3], [4, 5]]"] * 3, done.stderr


# ---- What is seen of it -------------------------------------------------------------------------


def test_report_says_that_training_waits_for_the_dataset():
    class Slow(Numbers):
        def __getitem__(self, index):
            time.sleep(0.002)
            return index, index

    loader = DataLoader(Slow(60), 2, num_workers=1)
    assert len(ids(loader)) == 30
    report = loader.report()
    assert report.limit == "loader"
    assert report.counters.stats["records"] == 60
    assert "Slow" in str(report)
    assert any("num_workers" in one or "__getitems__" in one for one in report.remedies)
    assert loader.report(since=report).counters.stats["steps"] == 0


def test_whole_batches_of_getitems_are_not_collated():
    class Columns(Numbers):
        def __getitems__(self, indices):
            return {"i": np.array(indices), "x": np.ones((len(indices), 300), np.float32)}

    for count in (0, 1):
        batches = [*DataLoader(Columns(), BATCH, num_workers=count)]
        assert [batch["i"].tolist() for batch in batches] == ids(DataLoader(Numbers(), BATCH))
        assert batches[0]["x"].dtype == torch.float32


INTERRUPTED = """
import os, signal, sys, threading, time
import torch
from pyflowdata.integrations.torch import DataLoader

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 300

    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.full((200,), index)

count, workers = int(sys.argv[1]), sys.argv[2]
batches = iter(DataLoader(Data(), 4, num_workers=count, workers=workers))
found, ends = next(batches)[:, 0].tolist(), threading.Event()

def interrupt():
    while not ends.wait(0.02):
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
batch, interrupts = None, 0
while True:
    try:
        if batch is not None:
            found, batch = found + batch[:, 0].tolist(), None
        batch = next(batches)
    except KeyboardInterrupt:
        interrupts += 1
    except StopIteration:
        break
    if interrupts > 10:
        ends.set()
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.write(1, f"{found == list(range(300))} {interrupts > 0}".encode())
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("count, workers", [(0, "processes"), (2, "processes"), (2, "threads")])
def test_ctrl_c_costs_no_batch(tmp_path, count, workers):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, script, str(count), workers], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "True True", done.stderr
