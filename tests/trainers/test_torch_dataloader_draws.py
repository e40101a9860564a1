"""Random numbers of DataLoader belong to the sample, and the program keeps its own."""

import random
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402
from support.numbered_samples import (  # noqa: E402
    BATCH,
    PROCESSES,
    SAMPLES,
    STEPS,
    WAYS,
    Numbers,
)

from pyflowdata.integrations.torch import DataLoader, sample_generator  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")


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
