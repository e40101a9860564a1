"""DataLoader goes on where a state was taken: its own order, samplers, iterable datasets."""

import json
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402
from support.numbered_samples import (  # noqa: E402
    BATCH,
    SAMPLES,
    STEPS,
    WAYS,
    Counting,
    Numbers,
    Placed,
    ids,
    over_json,
    taken,
    values,
)

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import DataLoader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")


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


@pytest.mark.parametrize("in_batches", [False, True])
def test_the_loader_hears_an_epoch_that_its_sampler_was_told(in_batches):
    """Random numbers and state are of that epoch, also of a trainer that counts from a resumption;
    the records are those that torch's sampler gives there."""

    def new(seed=4):
        sampler = torch_data.DistributedSampler(Numbers(), 1, 0, seed=1)
        if in_batches:
            batches = torch_data.BatchSampler(sampler, BATCH, drop_last=False)
            return sampler, DataLoader(Numbers(draws=True), batch_sampler=batches, seed=seed)
        return sampler, DataLoader(Numbers(draws=True), BATCH, sampler=sampler, seed=seed)

    whole = {}
    for epoch in (0, 5, 6):
        sampler, loader = new()
        sampler.set_epoch(epoch)
        whole[epoch] = values(loader)
        assert sum((batch[0] for batch in whole[epoch]), []) == [*sampler]
        assert loader.epoch == epoch and loader.state_dict()["epoch"] == epoch + 1
    sampler, loader = new()
    assert values(loader) == whole[0]
    sampler.set_epoch(5)
    taken(loader, 2)
    state = over_json(loader.state_dict())
    for told in (5, 0):
        sampler, loader = new(seed=9)
        loader.load_state_dict(state)
        for ahead, rest in enumerate((whole[5][2:], whole[6])):
            sampler.set_epoch(told + ahead)
            assert values(loader) == rest


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
        assert ids(second) + ids(second) == expected[step:]
    assert len(json.dumps(state)) < 300


@pytest.mark.cell("DataLoader", "epoch-end resume")
@pytest.mark.parametrize("kind", [Numbers, Counting, Placed])
def test_a_loop_from_a_saved_epoch_has_each_batch_once(kind):
    """The epoch number is saved beside the state, after each batch and after the epoch."""

    def new(seed=6):
        dataset = kind()
        return DataLoader(dataset, BATCH, shuffle=kind is Numbers or None, seed=seed)

    def run(loader, start, states):
        seen = []
        for epoch in range(start, 3):
            for batch in loader:
                seen.append(batch if kind is not Numbers else batch[0])
                states.append((epoch, len(seen), over_json(loader.state_dict())))
            states.append((epoch + 1, len(seen), over_json(loader.state_dict())))
        return [batch.tolist() for batch in seen]

    states = []
    whole = run(new(), 0, states)
    assert len(whole) == 3 * STEPS
    for epoch, seen, state in states:
        loader = new(seed=7)
        loader.load_state_dict(state)
        assert run(loader, epoch, []) == whole[seen:]


@pytest.mark.cell("DataLoader", "epoch-end resume")
def test_after_the_last_batch_a_state_is_of_the_epoch_and_after_the_end_of_the_next_one():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=6)
    epochs = [ids(loader), ids(loader)]
    first = DataLoader(Numbers(), BATCH, shuffle=True, seed=6, num_workers=1)
    batches = iter(first)
    for _ in range(STEPS):
        next(batches)
    before = first.state_dict()
    assert next(batches, None) is None
    after = first.state_dict()
    for state, expected in ((before, [[], epochs[1]]), (after, epochs[1:])):
        second = DataLoader(Numbers(), BATCH, shuffle=True, seed=6)
        second.load_state_dict(state)
        assert [ids(second) for _ in expected] == expected


def test_a_state_of_an_older_version_begins_the_next_epoch():
    """The state has the next epoch after a last batch, and a generator's state as a tensor."""
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=6)
    epochs = [ids(loader), ids(loader)]
    older = {"version": 1, "epoch": 1, "position": 0, "seed": 6, "order": "shuffled",
             "samples": SAMPLES, "global_batch_size": BATCH, "drop_last": False}  # fmt: skip
    second = DataLoader(Numbers(), BATCH, shuffle=True)
    second.load_state_dict(older)
    assert ids(second) == epochs[1]

    def sampled():
        sampler = torch_data.RandomSampler(Numbers(), generator=torch.Generator().manual_seed(8))
        return DataLoader(Numbers(), BATCH, sampler=sampler, seed=6)

    whole = ids(sampled())
    generator = torch.Generator().manual_seed(8)
    older = {"version": 1, "epoch": 0, "position": 2, "seed": 6, "order": "sampler",
             "start": {"generators": [generator.get_state()]}}  # fmt: skip
    second = sampled()
    second.sampler.generator.manual_seed(9)
    second.load_state_dict(older)
    assert ids(second) == whole[2:]


def test_an_epoch_that_the_program_leaves_has_drawn_its_order():
    """As in a loop that is cut: the generator of a sampler is where that loop leaves it."""

    def new(seed=8):
        generator = torch.Generator().manual_seed(seed)
        sampler = torch_data.RandomSampler(Numbers(), generator=generator)
        return DataLoader(Numbers(), BATCH, sampler=sampler)

    loader = new()
    taken(loader, 2)
    state = loader.state_dict()
    loader.set_epoch(1)
    expected = ids(loader)
    other = new(seed=9)
    other.load_state_dict(state)
    other.set_epoch(1)
    assert ids(other) == expected


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
    older = {**state, "version": 1}
    del older["sum"]  # which this version does not have
    with flow.DataLoader(flow.from_arrays({"i": np.arange(9)}).batch(2)["i"]) as other:
        for said, given in {
            "not a dict": [3],
            "no version": {"_num_yielded": 3},
            "has version 9": {**state, "version": 9},
            "of a loader of readers": other.state_dict(),
            "position = -1": {**state, "position": -1},
            "its checksum belongs to another": {**state, "position": 1},
            "another epoch, position or seed": {**state, "seed": state["seed"] + 1},
            "sum = None": {key: value for key, value in state.items() if key != "sum"},
            f"an epoch has {STEPS} batches": {**older, "position": STEPS + 1},
            "seed = None": {key: value for key, value in state.items() if key != "seed"},
            "streams has 3": {**state, "streams": [3]},
        }.items():
            with pytest.raises(flow.InvalidArgumentError, match=said):
                loader.load_state_dict(given)
        with pytest.raises(flow.InvalidArgumentError, match="of a loader of a torch dataset"):
            other.load_state_dict(state)
        assert loader.state_dict() == state


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
