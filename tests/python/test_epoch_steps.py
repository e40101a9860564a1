"""What a reader says of its steps before it makes them is what its batches turn out to be."""

import itertools
import warnings

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.loader.epoch_steps import EpochSteps

RULES = ("short", "even", "drop", "pad", "wrap")


def batches_of(last, records, batch_size, world_size):
    """The records in each batch of each rank, and what one of the readers says of its steps."""
    found = []
    for rank in range(world_size):
        data = flow.from_arrays({"i": np.arange(records)})
        rows = data.batch(batch_size, last=last, rank=rank, world_size=world_size)["i"]
        with flow.DataLoader(rows, num_threads=1) as loader:
            found.append([batch.tolist() for batch in loader])
            steps = loader.readers[0].steps
            assert len(loader) == steps.num_steps
            assert loader.readers[0].left_out == max(0, steps.left_out)
    return found, steps


@pytest.mark.filterwarnings("ignore:.*get 0 rows")
@pytest.mark.parametrize("last", RULES)
@pytest.mark.parametrize("batch_size, world_size", [(4, 1), (8, 2), (12, 3)])
def test_steps_are_the_batches(last, batch_size, world_size):
    for records in (1, 2, 5, 8, 12, 23, 24, 25):
        ranks, steps = batches_of(last, records, batch_size, world_size)
        for rank, batches in enumerate(ranks):
            places = [steps.rows_of(step, rank) for step in range(steps.num_steps)]
            assert [len(place) for place in places] == [len(batch) for batch in batches]
            for place, batch in zip(places, batches):  # record i is at position i
                own = [one for one in place if one < steps.rows]
                assert batch[: len(own)] == own
            assert steps.num_rows(rank) == sum(map(len, batches))
        assert steps.empty_ranks == sum(batches[-1:] == [[]] for batches in ranks)
        counts = {tuple(map(len, batches)) for batches in ranks}
        assert bool(steps.why_ranks_differ()) == (len(counts) > 1)
        sizes = {sum(map(len, parts)) for parts in zip(*ranks)}
        assert bool(steps.why_batches_differ()) == bool(sizes - {batch_size})


def test_ranks_share_a_step_in_runs_of_which_the_first_are_longer():
    for rows, world_size in itertools.product(range(1, 13), range(1, 5)):
        steps = EpochSteps(rows, rows, 12, world_size, "short")
        parts = np.array_split(np.arange(rows), world_size)
        assert [[*steps.rows_of(0, rank)] for rank in range(world_size)] == [
            part.tolist() for part in parts
        ]


def test_what_is_not_known_before():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = flow.GeneratorReader(
            lambda: iter(range(5)), fields=["i:int64"], batch_size=4, rank=0, world_size=2
        )
        with flow.DataLoader(rows) as loader:
            steps = loader.readers[0].steps
    assert not steps.is_known and steps.last_rows == steps.empty_ranks == 0
    assert "may have rows that 2 ranks cannot share" in steps.why_ranks_differ()
    assert "short last batch" in steps.why_batches_differ()
    for rule, is_short in [("pad", False), ("drop", False), ("even", True)]:
        steps = EpochSteps(-1, -1, 4, 2, rule)
        assert bool(steps.why_batches_differ()) == is_short and steps.why_ranks_differ() == ""
    groups = EpochSteps(8, -1, 4, 2, "drop", is_grouped=True)
    assert "groups" in groups.why_batches_differ() and "differ in size" in groups.why_ranks_differ()
