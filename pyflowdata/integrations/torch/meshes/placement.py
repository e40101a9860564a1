"""What a TorchLoader does with its batches because of a mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from .... import DataLoader, InvalidArgumentError
from ....nodes.batch_forms import identity
from ....loader.loader_wrapper import WrappedLoader
from ..options import LoaderOptions
from .dtensors import DTensorMaker
from .ranks import loader_of, processes_of, rank_and_world_size
from .sequences import ContextParallel, SequenceShards


class MeshPlacement:
    """What a TorchLoader does with its batches because of a mesh.

    Attributes:
        loader: Whose readers have this process's rank in the mesh.
        cut: Gives an array batch the parts of this rank in the sequences.
        to_dtensors: Makes DTensors of a tensor batch.
    """

    cut: Callable[[Any], Any]
    to_dtensors: Callable[[Any], Any]

    def __init__(self, arguments: tuple[Any, ...], options: LoaderOptions) -> None:
        """Args: a DataLoader, or blobs to open; the options of TorchLoader.

        Raises:
            InvalidArgumentError: The options do not go together, or do not fit the readers.
        """
        mesh, group = options.get("mesh"), options.get("process_group")
        if mesh is not None and group is not None:
            raise InvalidArgumentError("mesh and process_group are given; give one of the two")
        ranks = mesh if mesh is not None else group
        self.loader = arguments[0] if ranks is None else loader_of(arguments, ranks)
        self.cut = self.to_dtensors = identity
        how, dtensor = options.get("context_parallel"), options.get("dtensor")
        shards = sequence_mesh = None
        if how is not None:
            how = how if isinstance(how, ContextParallel) else ContextParallel(how)
            blobs = WrappedLoader(self.loader).form([*self.loader.blobs])
            self.cut = shards = SequenceShards(how, blobs)
            _check_same_rows(self.loader, ranks, how.mesh)
            sequence_mesh = how.mesh
        if dtensor is None or dtensor is False:
            return
        if how is not None and how.head_tail:
            raise InvalidArgumentError(
                "dtensor: parts of a sequence from its head and its tail do not form a shard; "
                "leave head_tail or dtensor out"
            )
        self.to_dtensors = DTensorMaker(dtensor, mesh, self.loader, shards, sequence_mesh)


def _check_same_rows(loader: DataLoader[Any], ranks: Any, sequence_ranks: Any) -> None:
    """Refuses ranks that have different rows and parts of sequences, so that parts are lost.

    Args:
        ranks: Over which rows are spread; None: as the readers say.
        sequence_ranks: Over which sequences are spread.
    """
    size = rank_and_world_size(sequence_ranks)[1]
    if size == 1:
        return
    if ranks is not None:
        if len(processes_of(ranks) & processes_of(sequence_ranks)) > 1:
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
