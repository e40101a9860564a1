"""Our DataLoader with the one argument that torchdata's StatefulDataLoader has besides torch's."""

from typing import TypeVar

from pyflowdata.integrations.torch import DataLoader

Sample = TypeVar("Sample")


class StatefulDataLoader(DataLoader[Sample]):
    """Takes and leaves how often a snapshot is taken: ours has an exact state after each batch."""

    def __init__(self, *args, snapshot_every_n_steps=1, **kwargs):
        super().__init__(*args, **kwargs)
