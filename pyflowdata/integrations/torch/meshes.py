"""Meshes of devices: which ranks get the same rows, parts of sequences, DTensors.

    mesh = init_device_mesh("cuda", (4, 2), mesh_dim_names=("dp", "tp"))
    loader = TorchLoader(x, y, mesh=mesh["dp"], device="cuda")   # tp peers get the same rows
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import torch
import torch.distributed as dist

from ... import Blob, DataLoader, InvalidArgumentError, Ragged
from ...nodes.batch_forms import identity, map_items
from ...errors import WrongUseError, shown
from ...loader.batches import Array
from ...loader.loader_arguments import arrange
from ...loader.state import Reader
from ...loader.open_loader import open_loader_of
from ...nodes.node import Node, reader_nodes, with_reader_attrs
from ...nodes.world import is_left_open
from ..equal_rows import skips_rows
from .tensors import has_equal_rows

# ---- The options of a TorchLoader ---------------------------------------------------------------


class LoaderOptions(TypedDict, total=False):
    """The keyword arguments of TorchLoader, which documents them.

    Attributes:
        device, pin_memory, ragged, static: The device and form of the tensors.
        mesh, process_group, dtensor, context_parallel: The part of the data that this process gets.
    """

    device: torch.device | str | int | None
    pin_memory: bool
    ragged: Literal["dense", "jagged"] | None
    static: bool
    mesh: Any  # a DeviceMesh
    process_group: Any
    dtensor: Any  # bool or a DeviceMesh
    context_parallel: Any  # a DeviceMesh or a ContextParallel


# ---- Ranks --------------------------------------------------------------------------------------


def rank_and_world_size(ranks: Any) -> tuple[int, int]:
    """Rank and world size of this process in a DeviceMesh or a process group, as attrs for a
    reader.

    Processes with the same place in `mesh["dp"]` get the same rank, and so the same rows.  With
    several dimensions, `mesh["dp_replicate", "dp_shard"]`, the last one varies fastest.

    Raises:
        InvalidArgumentError: The argument is neither, or this process is not in it.
    """
    if _is_mesh(ranks):
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


def _processes_of(ranks: Any) -> set[int]:
    """Global ranks of the processes in a DeviceMesh or a process group that has this process."""
    return set(ranks.mesh.flatten().tolist() if _is_mesh(ranks) else
               dist.get_process_group_ranks(ranks))  # fmt: skip


def _processes_along(mesh: Any, name: str) -> list[int]:
    """Global ranks of the processes that differ from this one in at most one dimension of a mesh,
    in order."""
    at = mesh.mesh_dim_names.index(name)
    place = [slice(None) if i == at else one for i, one in enumerate(mesh.get_coordinate())]
    found: list[int] = mesh.mesh[tuple(place)].tolist()
    return found


def _is_mesh(value: Any) -> bool:
    if not dist.is_available():
        return False
    from torch.distributed.device_mesh import DeviceMesh

    return isinstance(value, DeviceMesh)


def _loader_of(arguments: tuple[Any, ...], ranks: Any) -> DataLoader[Any]:
    """The loader whose readers have the rank of this process in `ranks`.

    Args:
        arguments: A DataLoader, or the blobs for one.
        ranks: As in rank_and_world_size().

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
    """Refuses a graph that was made before torch's process group, for a single rank.

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


# ---- Parts of sequences -------------------------------------------------------------------------


@dataclass(frozen=True)
class ContextParallel:
    """How sequences are cut for context parallelism: each rank of a mesh gets its part of them.

    Attributes:
        mesh: One dimension of a DeviceMesh, or a process group.
        fields: Names of fields in a dict of blobs, or their places in a tuple, as a list or a
            single one; None: all fields that have the dimension.
        dim: The dimension of the sequence in a batch; dimension 0 is the rows.
        head_tail: Rank r of n gets parts r and 2n - 1 - r of 2n, so that all ranks have the same
            work under a causal mask: torch calls it head-tail load balancing. False: part r of n.
    """

    mesh: Any
    fields: str | int | Sequence[str | int] | None = None
    dim: int = 1
    head_tail: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.fields, (str, int, Sequence, type(None))):
            raise InvalidArgumentError(
                f"fields = {shown(self.fields)}; it must be names or places of fields, or None"
            )
        if type(self.dim) is not int or self.dim < 1:
            raise InvalidArgumentError(
                f"dim = {shown(self.dim)}; it must be an int of at least 1, as dimension 0 are rows"
            )


class _SequenceShards:
    """Cuts the sequences of batches into the part of this rank.

    Attributes:
        dim: The dimension of the sequence.
        world_size: The number of ranks that get parts of a sequence.
        names: The names of the cut blobs, by key of the dict or place in the tuple; a bare array
            has the key 0.
    """

    def __init__(self, how: ContextParallel, batch: Any) -> None:
        """Takes the blobs in the form of a batch."""
        self._rank, self.world_size = rank_and_world_size(how.mesh)
        self.dim, self._head_tail = how.dim, how.head_tail
        blobs: dict[Any, Blob] = {}
        map_items(batch, blobs.__setitem__)
        wanted = how.fields
        if isinstance(wanted, (str, int)):
            wanted = [wanted]
        if wanted is None:
            wanted = [key for key, blob in blobs.items() if len(blob.shape) > how.dim]
        self.names = {key: self._check(key, blobs) for key in wanted}
        if not self.names:
            raise InvalidArgumentError(
                f"context_parallel: no field has a dimension {how.dim}, the sequence"
            )

    def _check(self, key: Any, blobs: Mapping[Any, Blob]) -> str:
        if key not in blobs:
            known = ", ".join(map(repr, blobs))
            raise InvalidArgumentError(
                f"context_parallel: there is no field {shown(key)}; there are {known}"
            )
        blob = blobs[key]
        if len(blob.shape) <= self.dim or (blob.is_ragged and not self._is_padded(blob)):
            raise InvalidArgumentError(
                f"context_parallel: {blob.name} has shape {blob.shape}; what is cut needs a "
                f"dimension {self.dim} of one size in all rows: take packs, Pad or PadBatch"
            )
        self._ranges(blob.shape[self.dim] or 0, blob.name)
        return blob.name

    def _is_padded(self, blob: Blob) -> bool:
        return self.dim == 1 and None not in blob.shape[2:] and has_equal_rows(blob)

    def _ranges(self, length: int, name: str) -> list[slice]:
        """The parts of a sequence that this rank gets."""
        count = 2 * self.world_size if self._head_tail else self.world_size
        if length % count:
            raise InvalidArgumentError(
                f"context_parallel: {name} has sequences of {length}, which {self.world_size} "
                f"ranks cannot cut into {count} equal parts: pack or pad to a multiple of "
                f"{count}, as PadBatch(multiple_of={count}) does"
            )
        size = length // count
        parts = [self._rank, count - 1 - self._rank] if self._head_tail else [self._rank]
        return [slice(part * size, (part + 1) * size) for part in parts]

    def __call__(self, batch: Any) -> Any:
        """The batch with this rank's parts, each in one piece of memory."""
        return map_items(batch, self._part)

    def _part(self, key: Any, array: Any) -> Any:
        if key not in self.names:
            return array
        if not isinstance(array, Ragged):
            return self._part_of(array, self.names[key])
        part = self._part_of(array.dense, self.names[key])
        splits = np.arange(len(part) + 1, dtype=np.int64) * part.shape[1]
        return Ragged(part.reshape(-1, *part.shape[2:]), splits)

    def _part_of(self, array: Array, name: str) -> Array:
        before = (slice(None),) * self.dim
        ranges = self._ranges(array.shape[self.dim], name)
        parts = [array[before + (part,)] for part in ranges]
        if len(parts) == 1:
            return np.ascontiguousarray(parts[0])
        return np.concatenate(parts, axis=self.dim)


# ---- DTensors -----------------------------------------------------------------------------------


class _DTensorMaker:
    """Makes DTensors of this rank's tensors, without communication."""

    def __init__(
        self,
        mesh: Any,
        rows_mesh: Any,
        loader: DataLoader[Any],
        shards: _SequenceShards | None,
        sequence_mesh: Any,
    ) -> None:
        """Takes `dtensor` and `mesh` of TorchLoader, and the shards of sequences with their mesh.

        Raises:
            InvalidArgumentError: A mesh lacks names or dimensions, or the batches of the ranks may
                differ in shape.
        """
        from torch.distributed.tensor import DTensor, Replicate, Shard

        if not _is_mesh(rows_mesh):
            raise InvalidArgumentError("dtensor needs mesh=, the DeviceMesh of the rows")
        _check_equal_shapes(loader)
        self._from_local = DTensor.from_local
        self._mesh, self._shards = rows_mesh if mesh is True else mesh, shards
        names, rows = _names_of(self._mesh), _names_of(rows_mesh)
        sequences = _names_of(sequence_mesh) if _is_mesh(sequence_mesh) else ()
        missing = [name for name in (*rows, *sequences) if name not in names]
        if missing:
            raise InvalidArgumentError(
                f"dtensor: the mesh has the dimensions {', '.join(names)}, and rows or sequences "
                f"are spread over {', '.join(missing)} too: give the mesh that has them all"
            )
        _check_same_processes(self._mesh, rows_mesh)
        if _is_mesh(sequence_mesh):
            _check_same_processes(self._mesh, sequence_mesh)
        self._whole = [Shard(0) if name in rows else Replicate() for name in names]
        self._cut = [
            Shard(shards.dim) if shards is not None and name in sequences else placement
            for name, placement in zip(names, self._whole, strict=True)
        ]

    def __call__(self, batch: Any) -> Any:
        return map_items(batch, self._to_dtensor)

    def _to_dtensor(self, key: Any, tensor: torch.Tensor) -> Any:
        is_cut = self._shards is not None and key in self._shards.names
        placements = self._cut if is_cut else self._whole
        return self._from_local(tensor, self._mesh, placements, run_check=False)


def _names_of(mesh: Any) -> tuple[str, ...]:
    """The names of a mesh's dimensions."""
    if not _is_mesh(mesh) or not mesh.mesh_dim_names:
        raise InvalidArgumentError(
            f"dtensor: {shown(mesh)} is not a DeviceMesh with mesh_dim_names; give one with them, "
            "since they say over which dimensions rows are spread"
        )
    names: tuple[str, ...] = mesh.mesh_dim_names
    return names


def _check_same_processes(mesh: Any, spread: Any) -> None:
    """Refuses a mesh that has other processes in a dimension than the mesh over which data is
    spread.

    Args:
        mesh: The mesh of the DTensors.
        spread: The mesh of rows or sequences; `mesh` has all its names.
    """
    for name in _names_of(spread):
        wanted, found = _processes_along(spread, name), _processes_along(mesh, name)
        if found != wanted:
            raise InvalidArgumentError(
                f"dtensor: {name} has the ranks {found} in that mesh, and data is spread over the "
                f"ranks {wanted}: give the mesh that {name} is a dimension of"
            )


def _check_equal_shapes(loader: DataLoader[Any]) -> None:
    """Refuses a loader whose batches may differ in shape between ranks."""
    for blob in loader.blobs:
        if blob.is_ragged:
            raise InvalidArgumentError(
                f"{blob.name} is ragged: a DTensor has rows of one shape, the same on all ranks, "
                "as Pad makes them"
            )
    skips = skips_rows(loader)
    for reader in loader.readers:
        why = _why_uneven(reader, skips)
        if why:
            raise InvalidArgumentError(
                f"{reader.name}: {why}; all ranks need equal rows for a DTensor"
            )


def _why_uneven(reader: Reader, skips: bool) -> str:
    """Why ranks may have different numbers of rows in a batch; "": they never do."""
    if skips and reader.world_size > 1:
        return "on_error='skip' leaves rows out on one rank: take 'pad'"
    why = reader.steps.why_ranks_differ()
    remedy = "take last_batch='even', 'drop', 'pad' or 'wrap', and batches of one size"
    return f"{why}: {remedy}" if why else ""


# ---- Placement ----------------------------------------------------------------------------------


class MeshPlacement:
    """Cuts and places the batches of a TorchLoader over a mesh.

    Attributes:
        loader: The loader, whose readers have this process's rank in the mesh.
        cut: Gives the parts of this rank in the sequences of a batch of arrays.
        to_dtensors: Makes DTensors of a batch of tensors.
    """

    cut: Callable[[Any], Any]
    to_dtensors: Callable[[Any], Any]

    def __init__(self, arguments: tuple[Any, ...], options: LoaderOptions) -> None:
        """Takes a DataLoader, or blobs to open, and the options of TorchLoader.

        Raises:
            InvalidArgumentError: The options do not go together, or do not fit the readers.
        """
        mesh, group = options.get("mesh"), options.get("process_group")
        if mesh is not None and group is not None:
            raise InvalidArgumentError("mesh and process_group are given; give one of the two")
        ranks = mesh if mesh is not None else group
        self.loader = arguments[0] if ranks is None else _loader_of(arguments, ranks)
        self.cut = self.to_dtensors = identity
        how, dtensor = options.get("context_parallel"), options.get("dtensor")
        shards = sequence_mesh = None
        if how is not None:
            how = how if isinstance(how, ContextParallel) else ContextParallel(how)
            blobs = open_loader_of(self.loader).form([*self.loader.blobs])
            self.cut = shards = _SequenceShards(how, blobs)
            _check_same_rows(self.loader, ranks, how.mesh)
            sequence_mesh = how.mesh
        if dtensor is None or dtensor is False:
            return
        if how is not None and how.head_tail:
            raise InvalidArgumentError(
                "dtensor: parts of a sequence from its head and its tail do not form a shard; "
                "leave head_tail or dtensor out"
            )
        self.to_dtensors = _DTensorMaker(dtensor, mesh, self.loader, shards, sequence_mesh)


def _check_same_rows(loader: DataLoader[Any], ranks: Any, sequence_ranks: Any) -> None:
    """Refuses ranks that have different rows and different parts of sequences: parts would be lost.

    Args:
        ranks: The ranks over which rows are spread; None: those of the readers.
        sequence_ranks: The ranks over which sequences are spread.
    """
    size = rank_and_world_size(sequence_ranks)[1]
    if size == 1:
        return
    if ranks is not None:
        if len(_processes_of(ranks) & _processes_of(sequence_ranks)) > 1:
            raise InvalidArgumentError(
                "context_parallel: rows are spread over the same ranks as sequences; give two "
                'dimensions of a mesh, mesh=mesh["dp"] and context_parallel=mesh["cp"]'
            )
        return
    for reader in loader.readers:
        if reader.world_size * size > dist.get_world_size():
            raise InvalidArgumentError(
                f"context_parallel: {reader.name} has rank {reader.rank} of {reader.world_size}, "
                f"so that ranks that share a sequence get different rows; give the ranks of rows "
                'too, mesh=mesh["dp"], or the rank and world_size of rank_and_world_size(mesh)'
            )
