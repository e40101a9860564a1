"""Batches as jax arrays: on one device, or sharded over the devices of all processes.

    from pyflowdata.integrations.jax import JaxLoader, rank_and_world_size

    sharding = NamedSharding(mesh, PartitionSpec("data"))
    rank, world_size = rank_and_world_size(sharding, batch_size=256)
    x, y = ...                                    # of readers with this rank and world_size
    with JaxLoader(flow.DataLoader(x, y), sharding) as loader:
        for x_batch, y_batch in loader:           # jax arrays, each the whole batch of 256 rows
            ...
"""

from __future__ import annotations

from .loader import JaxLoader, Scan, rank_and_world_size, scan, sink

__all__ = ["JaxLoader", "Scan", "rank_and_world_size", "scan", "sink"]


def __dir__() -> list[str]:
    return sorted(__all__)


JaxLoader.__module__ = Scan.__module__ = __name__  # where users import them from
