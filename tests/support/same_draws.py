"""Random ops: what they make of a record does not depend on how it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pyflowdata as flow
from support.decoder_rows import blob_of

SEED = 3
Make = Callable[[flow.Blob], flow.Blob]


def seeded(rows: Any, shape: list[int] | None = None, **reader: Any) -> flow.Blob:
    """A blob with these rows, of which each run makes the same random draws."""
    return blob_of(rows, shape, seed=SEED, **reader)


def made_of_records(
    make: Make, rows: Any, shape: list[int] | None = None, *, world_size: int = 1,
    num_threads: int = 1, resume_at: int = 0, epochs: int = 1, **reader: Any,
) -> list[dict[bytes, np.ndarray]]:  # fmt: skip
    """For each epoch, what the op makes of each row, found by the bytes of the row."""
    found: list[dict[bytes, np.ndarray]] = [{} for _ in range(epochs)]
    for rank in range(world_size):
        blob = blob_of(rows, shape, seed=SEED, random_shuffle=True, rank=rank,
                       world_size=world_size, **reader)  # fmt: skip
        with flow.DataLoader(blob, make(blob), num_threads=num_threads) as loader:
            for epoch in found:
                if resume_at:
                    batches = iter(loader)
                    taken = [next(batches) for _ in range(resume_at)]
                    state = loader.state_dict()
                    next(batches)
                    del batches
                    loader.load_state_dict(state)
                else:
                    taken = []
                for rows_in, rows_out in [*taken, *loader]:
                    for one, other in zip(rows_in, rows_out, strict=True):
                        epoch[np.asarray(one).tobytes()] = np.array(other)
    return found


def check_same_draws(make: Make, rows: Any, shape: list[int] | None = None) -> None:
    """Threads, batch size, ranks and resuming change nothing; an epoch, a seed does."""
    first, second = made_of_records(make, rows, shape, batch_size=16, epochs=2)
    assert len(first) == len(second) == len(rows)
    for attrs in (
        {"num_threads": 4, "batch_size": 5},
        {"world_size": 2, "batch_size": 12},
        {"resume_at": 2, "batch_size": 10},
    ):
        again, *_ = made_of_records(make, rows, shape, **attrs)  # type: ignore[arg-type]
        assert again.keys() == first.keys()
        for key, value in first.items():
            assert value.shape == again[key].shape and value.tobytes() == again[key].tobytes()
    assert any(first[key].tobytes() != second[key].tobytes() for key in first)
