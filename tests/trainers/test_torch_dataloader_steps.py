"""The steps of a DataLoader with torch's arguments: their samples, and what is counted."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow
from pyflowdata.integrations.torch import DataLoader

EPOCHS = 2
ORDER_OF_7 = [[7, 0, 3, 8, 4, 1, 5, 2, 9, 6], [9, 6, 8, 1, 0, 2, 4, 5, 3, 7]]


class Samples(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return i


def steps_of(loader):
    return [batch.tolist() for batch in loader]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("samples", [1, 2, 3, 9, 11, 12, 13])
def test_steps_of_ranks(samples, drop_last):
    """A step of 6 has what follows in the order, a rank its part of it; 3 ranks, none is empty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranks = [
            DataLoader(Samples(samples), 2, drop_last=drop_last, rank=rank, world_size=3)
            for rank in range(3)
        ]
    least = 6 if drop_last else 3
    parts = [np.arange(samples)[at : at + 6] for at in range(0, samples, 6)]
    parts = [np.array_split(part, 3) for part in parts if len(part) >= least]
    for rank, loader in enumerate(ranks):
        assert steps_of(loader) == [part[rank].tolist() for part in parts]
        assert len(loader) == len(parts)
        assert len(loader.sampler) == sum(len(part[rank]) for part in parts)
        assert [*loader.sampler] == sum([part[rank].tolist() for part in parts], [])


@pytest.mark.parametrize("last", ["even", "pad"])
@pytest.mark.parametrize("samples", [1, 2, 3, 9, 11, 12, 13])
def test_a_last_step_is_cut_or_filled(samples, last):
    """So that 3 ranks have as many samples each; a filled one repeats the last sample."""
    count = samples - samples % 6 % 3 if last == "even" else -(-samples // 6) * 6
    numbers = np.minimum(np.arange(count), samples - 1)
    parts = [np.split(numbers[at : at + 6], 3) for at in range(0, count, 6)]
    real = 0
    for rank in range(3):
        loader = DataLoader(Samples(samples), 2, last=last, rank=rank, world_size=3)
        assert len(loader) == len(parts) and loader.real_rows is None
        found = []
        for batch in loader:
            found.append(batch.tolist())
            real += loader.real_rows
        assert found == [part[rank].tolist() for part in parts]
        assert [*loader.sampler] == sum(found, []) and len(loader.sampler) == len(sum(found, []))
    assert real == (samples if last == "pad" else count)


def test_a_filled_epoch_goes_on_in_another_world_and_with_workers():
    def opened(rank, size, **options):
        return DataLoader(
            Samples(13), shuffle=True, seed=4, last="pad", global_batch_size=6, rank=rank,
            world_size=size, **options,
        )  # fmt: skip

    whole = opened(0, 1)
    order = sum(steps_of(whole), [])
    assert sorted(order[:13]) == [*range(13)] and order[13:] == order[12:13] * 5
    first = opened(1, 2)
    batches = iter(first)
    [next(batches) for _ in range(2)]
    for rank in range(3):
        rest = opened(rank, 3, num_workers=2, workers="threads")
        rest.load_state_dict(first.state_dict())
        assert steps_of(rest) == [order[12 + 2 * rank : 14 + 2 * rank]]
        assert rest.real_rows == (1 if rank == 0 else 0)


def test_a_wrong_rule_for_the_last_batch_is_refused():
    for said, given in {
        "last = 'wrap'; it must be 'short', 'even', 'drop' or 'pad'": {"last": "wrap"},
        "drop_last = True and last = 'pad'": {"last": "pad", "drop_last": True},
        "last = 'pad' with a sampler": {"last": "pad", "sampler": [1, 2]},
    }.items():
        with pytest.raises(flow.InvalidArgumentError, match=said):
            DataLoader(Samples(9), 2, **given)
    assert DataLoader(Samples(9), 2, last="drop").drop_last


def test_the_order_of_a_seed_stays_what_it_is():
    loader = DataLoader(Samples(10), 10, shuffle=True, seed=7)
    assert [steps_of(loader)[0] for _ in range(2)] == ORDER_OF_7


def test_stats_have_the_names_of_a_flow_loader():
    loader = DataLoader(Samples(9), 2)
    steps_of(loader)
    with flow.DataLoader(flow.from_arrays({"i": np.arange(9)}).batch(2)["i"]) as own:
        steps_of(own)
        assert loader.stats().keys() == own.stats().keys()
        for name in ("batches", "records", "starts", "steps", "left_out"):
            assert loader.stats()[name] == own.stats()[name]


@pytest.mark.parametrize("drop_last, world_size", [(True, 1), (True, 2), (False, 2), (False, 1)])
def test_samples_that_are_left_out_are_counted(drop_last, world_size):
    """As flow.DataLoader counts them: those of all ranks, of each epoch that has ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = DataLoader(
            Samples(9), 4 // world_size, drop_last=drop_last, rank=0, world_size=world_size
        )
    for _ in range(EPOCHS):
        steps_of(loader)
    next(iter(loader))
    left_out = 1 if drop_last or world_size == 2 else 0
    assert loader.stats()["left_out"] == EPOCHS * left_out
