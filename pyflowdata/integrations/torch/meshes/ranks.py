"""The rank of this process in a mesh or a process group, and loaders whose readers have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch.distributed as dist

from .... import DataLoader, InvalidArgumentError
from ....errors import WrongUseError, shown
from ....loader.opening import arrange
from ....nodes.node import Node, reader_nodes, with_reader_attrs
from ....nodes.world import is_left_open


def rank_and_world_size(ranks: Any) -> tuple[int, int]:
    """Rank and world size of this process in a DeviceMesh or a process group, for a reader's attrs.

    Processes with the same place in `mesh["dp"]` get the same rank, and so the same rows.  Of
    several dimensions, `mesh["dp_replicate", "dp_shard"]`, the last one varies fastest.

    Raises:
        InvalidArgumentError: It is neither, or this process is not in it.
    """
    if is_mesh(ranks):
        place = ranks.get_coordinate()
        rank = -1 if place is None else int(np.ravel_multi_index(place, ranks.shape))
        size = ranks.size()
    elif dist.is_available() and isinstance(ranks, dist.ProcessGroup):
        rank, size = dist.get_rank(ranks), dist.get_world_size(ranks)
    else:
        raise InvalidArgumentError(
            f"{shown(ranks)} is neither a DeviceMesh nor a process group; give the dimension over "
            'which rows are spread, such as mesh["dp"]'
        )
    if rank < 0:
        raise InvalidArgumentError(f"this process is not in {shown(ranks)}")
    return rank, size


def processes_of(ranks: Any) -> set[int]:
    """Global ranks of the processes in a DeviceMesh or a process group that has this process."""
    return set(ranks.mesh.flatten().tolist() if is_mesh(ranks) else
               dist.get_process_group_ranks(ranks))  # fmt: skip


def processes_along(mesh: Any, name: str) -> list[int]:
    """Global ranks of the processes that differ from this one in one dimension of a mesh, with
    itself, in order."""
    at = mesh.mesh_dim_names.index(name)
    place = [slice(None) if i == at else one for i, one in enumerate(mesh.get_coordinate())]
    found: list[int] = mesh.mesh[tuple(place)].tolist()
    return found


def is_mesh(value: Any) -> bool:
    """Whether it is a DeviceMesh."""
    if not dist.is_available():
        return False
    from torch.distributed.device_mesh import DeviceMesh

    return isinstance(value, DeviceMesh)


def loader_of(arguments: tuple[Any, ...], ranks: Any) -> DataLoader[Any]:
    """The loader whose readers have the rank of this process in `ranks`.

    Args:
        arguments: A DataLoader, or the blobs for one.
        ranks: As of rank_and_world_size().

    Raises:
        InvalidArgumentError: A reader has another rank or world size.
    """
    rank, size = rank_and_world_size(ranks)
    if len(arguments) == 1 and isinstance(arguments[0], DataLoader):
        loader: DataLoader[Any] = arguments[0]
        for reader in loader.readers:
            if (reader.rank, reader.world_size) != (rank, size):
                raise _other_rank(reader.name, (reader.rank, reader.world_size), (rank, size))
        return loader
    blobs, form = arrange(arguments)
    for node in reader_nodes(blobs):
        _check_open(node, (rank, size))
    graph = with_reader_attrs(blobs, lambda _: {"rank": rank, "world_size": size})
    same_form: Any = form(list[Any](graph))
    return DataLoader(same_form)


def _check_open(node: Node, expected: tuple[int, int]) -> None:
    world = node.worlds[0]
    if not is_left_open(node.values) and (world.rank, world.world_size) != expected:
        raise _other_rank(node.op.name, (world.rank, world.world_size), expected)


def _other_rank(
    reader: str, actual: tuple[int, int], expected: tuple[int, int]
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{reader} has rank {actual[0]} of {actual[1]}, and this process has rank {expected[0]} of "
        f"{expected[1]} in the mesh: give TorchLoader the blobs and mesh= without a DataLoader, or "
        "give the reader the rank and world_size that rank_and_world_size(mesh) returns"
    )


def check_ranks(loader: DataLoader[Any]) -> None:
    """Refuses a graph that was made before torch's process group, for the only rank.

    Raises:
        WrongUseError: There are several ranks.
    """
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return
    if any(world.is_alone for blob in loader.blobs for world in blob.node.worlds):
        raise WrongUseError(
            "the readers are for rank 0 of 1, and torch.distributed has rank "
            f"{dist.get_rank()} of {dist.get_world_size()}: make the graph when the process group "
            "is there, with Lightning in train_dataloader(), or give the readers rank and "
            "world_size"
        )
