"""DTensors of this rank's tensors."""

from __future__ import annotations

from typing import Any

import torch

from .... import DataLoader, InvalidArgumentError
from ....nodes.batch_forms import map_items
from ....errors import shown
from ....loader.state import Reader
from ...equal_rows import skips_rows
from .ranks import is_mesh, processes_along
from .sequences import SequenceShards


class DTensorMaker:
    """Makes DTensors of this rank's tensors, without communication."""

    def __init__(
        self,
        mesh: Any,
        rows_mesh: Any,
        loader: DataLoader[Any],
        shards: SequenceShards | None,
        sequence_mesh: Any,
    ) -> None:
        """Args: `dtensor` and `mesh` of TorchLoader, and what cuts sequences over which mesh.

        Raises:
            InvalidArgumentError: A mesh lacks names or dimensions, or the batches of the ranks
                may differ in shape.
        """
        from torch.distributed.tensor import DTensor, Replicate, Shard

        if not is_mesh(rows_mesh):
            raise InvalidArgumentError("dtensor needs mesh=, the DeviceMesh of the rows")
        _check_equal_shapes(loader)
        self._from_local = DTensor.from_local
        self._mesh, self._shards = rows_mesh if mesh is True else mesh, shards
        names, rows = _names_of(self._mesh), _names_of(rows_mesh)
        sequences = _names_of(sequence_mesh) if is_mesh(sequence_mesh) else ()
        missing = [name for name in (*rows, *sequences) if name not in names]
        if missing:
            raise InvalidArgumentError(
                f"dtensor: the mesh has the dimensions {', '.join(names)}, and rows or sequences "
                f"are spread over {', '.join(missing)} too: give the mesh that has them all"
            )
        _check_same_processes(self._mesh, rows_mesh)
        if is_mesh(sequence_mesh):
            _check_same_processes(self._mesh, sequence_mesh)
        self._whole = [Shard(0) if name in rows else Replicate() for name in names]
        self._cut = [
            Shard(shards.dim) if shards is not None and name in sequences else placement
            for name, placement in zip(names, self._whole, strict=True)
        ]

    def __call__(self, batch: Any) -> Any:
        """The batch of this process's tensors, as DTensors."""
        return map_items(batch, self._to_dtensor)

    def _to_dtensor(self, key: Any, tensor: torch.Tensor) -> Any:
        is_cut = self._shards is not None and key in self._shards.names
        placements = self._cut if is_cut else self._whole
        return self._from_local(tensor, self._mesh, placements, run_check=False)


def _names_of(mesh: Any) -> tuple[str, ...]:
    """The names of a mesh's dimensions."""
    if not is_mesh(mesh) or not mesh.mesh_dim_names:
        raise InvalidArgumentError(
            f"dtensor: {shown(mesh)} is not a DeviceMesh with mesh_dim_names; give one with them, "
            "since they say over which dimensions rows are spread"
        )
    names: tuple[str, ...] = mesh.mesh_dim_names
    return names


def _check_same_processes(mesh: Any, spread: Any) -> None:
    """Refuses a mesh with other processes in a dimension than the mesh over which data is spread.

    Args:
        mesh: Of the DTensors.
        spread: Of rows or sequences; its names are among those of `mesh`.
    """
    for name in _names_of(spread):
        wanted, found = processes_along(spread, name), processes_along(mesh, name)
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
    """Why ranks may have different numbers of rows in a batch; "": they have not."""
    if skips and reader.world_size > 1:
        return "on_error='skip' leaves rows out on one rank: take 'pad'"
    why = reader.steps.why_ranks_differ()
    remedy = "take last_batch='even', 'drop', 'pad' or 'wrap', and batches of one size"
    return f"{why}: {remedy}" if why else ""
