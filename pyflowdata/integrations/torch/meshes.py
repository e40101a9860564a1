"""Ranks of a device mesh: which of them get the same rows, DTensors, parts of sequences.

    mesh = init_device_mesh("cuda", (4, 2), mesh_dim_names=("dp", "tp"))
    loader = TorchLoader(x, y, mesh=mesh["dp"], device="cuda")   # tp peers get the same rows
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import torch
import torch.distributed as dist

from ... import Blob, DataLoader, InvalidArgumentError, Ragged
from ...errors import shown
from ...loader.batches import Array
from ...loader.opening import arrange
from ...loader.state import Reader
from ...nodes.node import Node, reader_nodes, with_reader_attrs
from ...nodes.world import is_left_open
from .tensors import has_equal_rows

__all__ = ["ContextParallel", "MeshOptions", "OnMesh", "rank_and_world_size"]

OPTIONS = ("mesh", "process_group", "dtensor", "context_parallel")


class MeshOptions(TypedDict, total=False):
    """The arguments of a TorchLoader that are about meshes.

    Attributes:
        mesh: The DeviceMesh over which rows are spread, such as mesh["dp"].
        process_group: In its place, a process group over whose ranks rows are spread.
        dtensor: True for DTensors over `mesh`; or a larger DeviceMesh, with the dimensions of
            `mesh` among its own.
        context_parallel: The DeviceMesh over which sequences are cut, or a ContextParallel.
    """

    mesh: Any
    process_group: Any
    dtensor: Any
    context_parallel: Any


def rank_and_world_size(ranks: Any) -> tuple[int, int]:
    """Rank and world size of this process in a DeviceMesh or a process group, for a reader's attrs.

    Processes with the same place in `mesh["dp"]` get the same rank, and so the same rows.  Of
    several dimensions, `mesh["dp_replicate", "dp_shard"]`, the last one varies fastest.

    Raises:
        InvalidArgumentError: It is neither, or this process is not in it.
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


def _is_mesh(value: Any) -> bool:
    if not dist.is_available():
        return False
    from torch.distributed.device_mesh import DeviceMesh

    return isinstance(value, DeviceMesh)


# ---- Rows ---------------------------------------------------------------------------------------


def loader_of(given: tuple[Any, ...], ranks: Any) -> DataLoader[Any]:
    """The loader whose readers have the rank of this process in `ranks`.

    Args:
        given: A DataLoader, or the blobs for one.
        ranks: As of rank_and_world_size().

    Raises:
        InvalidArgumentError: A reader has another rank or world size.
    """
    rank, size = rank_and_world_size(ranks)
    if len(given) == 1 and isinstance(given[0], DataLoader):
        loader: DataLoader[Any] = given[0]
        for reader in loader.readers:
            if (reader.rank, reader.world_size) != (rank, size):
                raise _other_rank(reader.name, (reader.rank, reader.world_size), (rank, size))
        return loader
    blobs, form = arrange(given)
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
    reader: str, found: tuple[int, int], expected: tuple[int, int]
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{reader} has rank {found[0]} of {found[1]}, and this process has rank {expected[0]} of "
        f"{expected[1]} in the mesh: give TorchLoader the blobs and mesh= without a DataLoader, or "
        "give the reader the rank and world_size that rank_and_world_size(mesh) returns"
    )


# ---- Sequences ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ContextParallel:
    """How sequences are cut for context parallelism: each rank of a mesh gets its part of them.

    Attributes:
        mesh: One dimension of a DeviceMesh, or a process group.
        fields: Names of fields in a dict of blobs, or their places in a tuple; None: all that have
            the dimension.
        dim: Which dimension of a batch is the sequence; 0 are the rows.
        head_tail: Rank r of n gets parts r and 2n - 1 - r of 2n, so that all have the same work
            under a causal mask: what torch calls head-tail load balancing.  False: part r of n.
    """

    mesh: Any
    fields: Sequence[str | int] | None = None
    dim: int = 1
    head_tail: bool = False

    def __post_init__(self) -> None:
        if type(self.dim) is not int or self.dim < 1:
            raise InvalidArgumentError(
                f"dim = {shown(self.dim)}; it must be an int of at least 1, as dimension 0 are rows"
            )


class _Cut:
    """Cuts the sequences of batches.

    Attributes:
        dim: The dimension of the sequence.
        places: Keys of the dict, or places in the tuple, of what is cut; {0} of a bare array.
    """

    def __init__(self, how: ContextParallel, batch: Any) -> None:
        """Args: how, and the blobs in the form of a batch."""
        self.rank, self.size = rank_and_world_size(how.mesh)
        self.dim, self._head_tail = how.dim, how.head_tail
        blobs = _by_place(batch)
        wanted = how.fields
        if wanted is None:
            wanted = [place for place, blob in blobs.items() if len(blob.shape) > how.dim]
        self.places = {place: self._check(place, blobs) for place in wanted}
        if not self.places:
            raise InvalidArgumentError(
                f"context_parallel: no field has a dimension {how.dim}, the sequence"
            )

    def _check(self, place: Any, blobs: Mapping[Any, Blob]) -> str:
        if place not in blobs:
            known = ", ".join(map(repr, blobs))
            raise InvalidArgumentError(
                f"context_parallel: there is no field {shown(place)}; there are {known}"
            )
        blob = blobs[place]
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
        count = 2 * self.size if self._head_tail else self.size
        if length % count:
            raise InvalidArgumentError(
                f"context_parallel: {name} has sequences of {length}, which {self.size} ranks "
                f"cannot cut into {count} equal parts: pack or pad to a multiple of {count}, as "
                f"PadBatch(multiple_of={count}) does"
            )
        size = length // count
        numbers = [self.rank, count - 1 - self.rank] if self._head_tail else [self.rank]
        return [slice(one * size, (one + 1) * size) for one in numbers]

    def __call__(self, batch: Any) -> Any:
        """The batch with this rank's parts, each in one piece of memory."""
        if isinstance(batch, dict):
            return {key: self._part(key, array) for key, array in batch.items()}
        if isinstance(batch, tuple):
            return tuple(self._part(place, array) for place, array in enumerate(batch))
        return self._part(0, batch)

    def _part(self, place: Any, array: Any) -> Any:
        if place not in self.places:
            return array
        if not isinstance(array, Ragged):
            return self._part_of(array, self.places[place])
        part = self._part_of(array.dense, self.places[place])
        splits = np.arange(len(part) + 1, dtype=np.int64) * part.shape[1]
        return Ragged(part.reshape(-1, *part.shape[2:]), splits)

    def _part_of(self, array: Array, name: str) -> Array:
        before = (slice(None),) * self.dim
        parts = [array[before + (one,)] for one in self._ranges(array.shape[self.dim], name)]
        if len(parts) == 1:
            return np.ascontiguousarray(parts[0])
        return np.concatenate(parts, axis=self.dim)


def _by_place(batch: Any) -> dict[Any, Blob]:
    """The blobs of a batch by key, or by place in a tuple; 0 for a bare one."""
    if isinstance(batch, dict):
        return batch
    return dict(enumerate(batch if isinstance(batch, tuple) else (batch,)))


# ---- DTensors -----------------------------------------------------------------------------------


def _why_uneven(reader: Reader, skips: bool) -> str:
    """Why ranks may have different numbers of rows in a batch; "": they have not."""
    rule = reader.spec["last_batch"]
    if reader.world_size == 1:
        return ""
    if skips:
        return "on_error='skip' leaves rows out on one rank: take 'pad'"
    if rule in ("pad", "wrap"):
        return ""
    if reader.records >= 0 and reader.left_out < 0:
        return "its batches differ in size, and their rows may not divide: take batches of one size"
    if rule == "short" and (
        reader.records < 0 or reader.records % reader.batch_size % reader.world_size
    ):
        return "the last batch may not divide: take last_batch='even', 'drop', 'pad' or 'wrap'"
    return ""


class _Placed:
    """Makes DTensors of this rank's tensors, without communication."""

    def __init__(self, mesh: Any, over: Any, loader: DataLoader[Any], cut: _Cut | None, cp: Any):
        from torch.distributed.tensor import DTensor, Replicate, Shard

        if not _is_mesh(over):
            raise InvalidArgumentError("dtensor needs mesh=, the DeviceMesh of the rows")
        for blob in loader.blobs:
            if blob.is_ragged:
                raise InvalidArgumentError(
                    f"{blob.name} is ragged: a DTensor has rows of one shape, the same on all "
                    "ranks, as Pad makes them"
                )
        skips = any(one.values.get("on_error") == "skip" for one in reader_nodes(loader.blobs))
        for reader in loader.readers:
            why = _why_uneven(reader, skips)
            if why:
                raise InvalidArgumentError(
                    f"{reader.name}: {why}; all ranks need equal rows for a DTensor"
                )
        self._from_local = DTensor.from_local
        self._mesh, self._cut = over if mesh is True else mesh, cut
        names = self._names(self._mesh)
        rows = self._names(over)
        along = self._names(cp.mesh) if cut is not None and _is_mesh(cp.mesh) else ()
        missing = [name for name in (*rows, *along) if name not in names]
        if missing:
            raise InvalidArgumentError(
                f"dtensor: the mesh has the dimensions {', '.join(names)}, and rows or sequences "
                f"are spread over {', '.join(missing)} too: give the mesh that has them all"
            )
        self._plain = [Shard(0) if name in rows else Replicate() for name in names]
        self._parts = [
            Shard(cut.dim) if cut is not None and name in along else place
            for name, place in zip(names, self._plain, strict=True)
        ]

    @staticmethod
    def _names(mesh: Any) -> tuple[str, ...]:
        if not _is_mesh(mesh) or not mesh.mesh_dim_names:
            raise InvalidArgumentError(
                f"dtensor: {shown(mesh)} is no DeviceMesh with mesh_dim_names, which say over "
                "which dimensions rows are spread"
            )
        names: tuple[str, ...] = mesh.mesh_dim_names
        return names

    def __call__(self, batch: Any) -> Any:
        if isinstance(batch, dict):
            return {key: self._one(key, tensor) for key, tensor in batch.items()}
        if isinstance(batch, tuple):
            return tuple(self._one(place, tensor) for place, tensor in enumerate(batch))
        return self._one(0, batch)

    def _one(self, place: Any, tensor: torch.Tensor) -> Any:
        is_cut = self._cut is not None and place in self._cut.places
        placements = self._parts if is_cut else self._plain
        return self._from_local(tensor, self._mesh, placements, run_check=False)


# ---- All of it ----------------------------------------------------------------------------------


def _as_it_is(batch: Any) -> Any:
    return batch


class OnMesh:
    """What a TorchLoader does with its batches because of a mesh.

    Attributes:
        loader: Whose readers have this process's rank in the mesh.
        cut: Gives an array batch the parts of this rank in the sequences.
        placed: Makes DTensors of a tensor batch.
    """

    cut: Callable[[Any], Any] = staticmethod(_as_it_is)
    placed: Callable[[Any], Any] = staticmethod(_as_it_is)

    def __init__(self, given: tuple[Any, ...], options: MeshOptions) -> None:
        """Args: a DataLoader, or blobs to open; what TorchLoader was given of MeshOptions.

        Raises:
            InvalidArgumentError: The options do not go together, or do not fit the readers.
        """
        mesh, group = options.get("mesh"), options.get("process_group")
        if mesh is not None and group is not None:
            raise InvalidArgumentError("mesh and process_group are given; give one of the two")
        ranks = mesh if mesh is not None else group
        self.loader = given[0] if ranks is None else loader_of(given, ranks)
        self._find(mesh, options)

    def _find(self, mesh: Any, options: MeshOptions) -> None:
        how, dtensor = options.get("context_parallel"), options.get("dtensor")
        cut = None
        if how is not None:
            how = how if isinstance(how, ContextParallel) else ContextParallel(how)
            cut = self.cut = _Cut(how, self.loader._core.form(list[Any](self.loader.blobs)))
        if dtensor is None or dtensor is False:
            return
        if how is not None and how.head_tail:
            raise InvalidArgumentError(
                "dtensor: parts of a sequence from its head and its tail are no shard of it; leave "
                "head_tail or dtensor out"
            )
        self.placed = _Placed(dtensor, mesh, self.loader, cut, how)


def is_for_blobs(options: MeshOptions) -> bool:
    """Whether TorchLoader takes blobs: the mesh says what ranks their readers have."""
    return options.get("mesh") is not None or options.get("process_group") is not None


def taken(others: dict[str, Any]) -> MeshOptions:
    """Takes the options of meshes out of keyword arguments."""
    found: MeshOptions = {}
    for name in OPTIONS:
        if name in others:
            found[name] = others.pop(name)  # type: ignore[literal-required]
    return found
