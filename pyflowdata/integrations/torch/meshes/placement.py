"""What a TorchLoader does with its batches because of a mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import InvalidArgumentError
from ....batch_forms import identity
from ..options import LoaderOptions
from .dtensors import DTensorMaker
from .ranks import loader_of
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
            blobs = self.loader._core.form(list[Any](self.loader.blobs))
            self.cut = shards = SequenceShards(how, blobs)
            sequence_mesh = how.mesh
        if dtensor is None or dtensor is False:
            return
        if how is not None and how.head_tail:
            raise InvalidArgumentError(
                "dtensor: parts of a sequence from its head and its tail do not form a shard; "
                "leave head_tail or dtensor out"
            )
        self.to_dtensors = DTensorMaker(dtensor, mesh, self.loader, shards, sequence_mesh)
