"""What a step of TorchLoader costs more than a step of its DataLoader, where batches are small.

    python -m bench.torch_steps            # with a Python that has torch

The rows are in memory, so that a step is little more than the delivery and the release of a batch.
In each round both loaders take some hundred steps, by turns, and which one is first alternates; the
difference of a round is that of the two medians.  The table has the median of the rounds, in
microseconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

BATCH_SIZES, COLUMNS = (1, 32, 1024), (1, 2, 8)
PIECE = 20  # steps of one loader before it is the other's turn


def numpy_batches(batch_size: int, columns: int) -> flow.DataLoader[Any]:
    """A loader of columns of 16 float32 a row."""
    rows = np.arange(max(4096, 8 * batch_size) * 16, dtype=np.float32).reshape(-1, 16)
    data = flow.from_arrays({f"c{i}": rows for i in range(columns)})
    return flow.DataLoader(data.batch(batch_size), num_threads=1)


def timed(batches: Iterator[Any], taken: list[float]) -> None:
    """Adds the seconds of some steps; with the release of its batch."""
    clock = time.perf_counter
    for _ in range(PIECE):
        begin = clock()
        batch = next(batches)
        del batch
        taken.append(clock() - begin)


def one_round(both: list[Iterator[Any]], steps: int, first: int) -> list[float]:
    """The median of each loader's steps, in microseconds."""
    taken: list[list[float]] = [[], []]
    for _ in range(steps // PIECE):
        for which in (first, 1 - first):
            timed(both[which], taken[which])
    return [statistics.median(one) * 1e6 for one in taken]


def compare(batch_size: int, columns: int, rounds: int, steps: int) -> tuple[float, float, float]:
    """The medians of NumPy's step, torch's step and the difference."""
    with numpy_batches(batch_size, columns) as plain, \
         TorchLoader(numpy_batches(batch_size, columns)) as torch_loader:  # fmt: skip
        both = [plain.repeat(), torch_loader.repeat()]
        one_round(both, 4 * PIECE, 0)  # warms up
        found = [one_round(both, steps, number % 2) for number in range(rounds)]
    return (
        statistics.median(one[0] for one in found),
        statistics.median(one[1] for one in found),
        statistics.median(one[1] - one[0] for one in found),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=400, help="of each loader in a round")
    arguments = parser.parse_args()
    print("batch  columns    NumPy us    torch us    more us")
    for batch_size in BATCH_SIZES:
        for columns in COLUMNS:
            plain, tensors, more = compare(batch_size, columns, arguments.rounds, arguments.steps)
            print(f"{batch_size:5}  {columns:7}  {plain:10.1f}  {tensors:10.1f}  {more:9.1f}")


if __name__ == "__main__":
    main()
