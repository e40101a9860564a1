"""Readers side by side in one loader: which rows stand together, at any world size."""

import numpy as np
import pytest

import pyflowdata as flow


def write(folder, count):
    folder.mkdir()
    (folder / "part-0").write_text("".join(f"{n},{-n}\n" for n in range(count)))
    return folder


def pairs(folders, world_size, batch_size=4, **options):
    """Logical batches of the loaders of all ranks, as (row of the first, row of the second)."""
    ranks = []
    for rank in range(world_size):
        blobs = [
            flow.MiniReader(folder, batch_size=batch_size, rank=rank, world_size=world_size)
            for folder in folders
        ]
        with flow.DataLoader(*blobs, **options) as loader:
            ranks.append([np.stack([a[:, 0], b[:, 0]], axis=1) for a, b in loader])
    assert len({len(batches) for batches in ranks}) == 1
    return [np.concatenate(batch).tolist() for batch in zip(*ranks, strict=True)]


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("lengths", [(10, 12), (12, 10), (9, 11), (3, 12), (8, 8)])
def test_shortest_pairs_equal_places(tmp_path, lengths, world_size):
    folders = [write(tmp_path / name, count) for name, count in zip("ab", lengths, strict=True)]
    found = pairs(folders, world_size, zip="shortest")
    expected = [[n, n] for n in range(min(lengths))]
    assert found == [expected[i : i + 4] for i in range(0, len(expected), 4)]


def test_ranks_and_rules_must_agree(tmp_path):
    folder = write(tmp_path / "a", 10)
    first = flow.MiniReader(folder, batch_size=4, rank=0, world_size=2)
    with pytest.raises(flow.InvalidArgumentError, match="rank 0 of 2.*rank 1 of 2"):
        flow.DataLoader(first, flow.MiniReader(folder, batch_size=4, rank=1, world_size=2))
    wrapped = flow.MiniReader(folder, batch_size=4, rank=0, world_size=2, last_batch="wrap")
    with pytest.raises(flow.InvalidArgumentError, match="last_batch"):
        flow.DataLoader(first, wrapped)
