"""Evaluation with a DataLoader of torch's arguments counts each sample once, over real ranks."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
accelerate = pytest.importorskip(
    "accelerate", reason="accelerate is not installed: pip install pyflowdata[accelerate]"
)
import torch.distributed as dist

from pyflowdata.integrations.torch import DataLoader

from support.rank_processes import run_ranks

SAMPLES, BATCH = 13, 2  # the last step has 1 sample for 2 or 3 ranks


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        return i * i


def evaluate():
    """What a rank counts in a separate loop, and what accelerate gathers for metrics."""
    sums = torch.zeros(2, dtype=torch.int64)
    loader = DataLoader(Squares(), BATCH, last="pad")
    for squares in loader:
        assert len(squares) == BATCH
        real = squares[: loader.real_rows]
        sums += torch.tensor([len(real), int(real.sum())])
        dist.all_reduce(torch.zeros(1))  # as many steps on each rank
    dist.all_reduce(sums)
    accelerator = accelerate.Accelerator(cpu=True)
    prepared = accelerator.prepare(DataLoader(Squares(), BATCH, last="pad"))
    gathered = [accelerator.gather_for_metrics(squares).tolist() for squares in prepared]
    return {"sums": sums.tolist(), "gathered": sum(gathered, [])}


@pytest.mark.cell("DataLoader", "evaluation counts")
@pytest.mark.parametrize("world_size", [2, 3])
def test_each_sample_is_counted_once_on_all_ranks(tmp_path, world_size):
    squares = [i * i for i in range(SAMPLES)]
    for rank in run_ranks(evaluate, world_size, tmp_path / "ranks", method="fork"):
        assert rank == {"sums": [SAMPLES, sum(squares)], "gathered": squares}
