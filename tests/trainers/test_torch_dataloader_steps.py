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
