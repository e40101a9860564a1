"""Reads the clips shuffled, on two ranks, and goes on from a stored position."""

from pathlib import Path

import pyflowdata as flow

HERE = Path(__file__).resolve().parent
plugin = flow.load_library(HERE / "clip_reader.so")


def open_loader(rank, world_size=2):
    """Batches (samples, label): this rank's part of batches of 4 clips.

    Under torchrun, srun or mpirun leave rank and world_size away: they are found out.
    """
    samples, label = plugin.ClipReader(
        HERE / "clips", batch_size=4, shuffle=True, seed=1,
        rank=rank, world_size=world_size,
    )  # fmt: skip
    return flow.DataLoader(samples, label)


if __name__ == "__main__":
    for rank in range(2):
        with open_loader(rank) as loader:
            for epoch in range(2):
                labels = [label.tolist() for _, label in loader]
                print(f"rank {rank}, epoch {epoch}: {labels}")

    loader = open_loader(0)
    next(iter(loader))
    state = loader.state_dict()  # a small dict for the checkpoint, the same on every rank
    loader.close()

    with open_loader(0, world_size=1) as resumed:  # with another number of ranks
        resumed.load_state_dict(state)
        for samples, label in resumed:
            print(f"resumed: {label.tolist()} with {list(map(len, samples))} samples")
