"""Context parallelism: each rank of a mesh gets its part of the sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import Blob, InvalidArgumentError, Ragged
from ....nodes.batch_forms import map_items
from ....errors import shown
from ....loader.batches import Array
from ..tensors import has_equal_rows
from .ranks import rank_and_world_size


@dataclass(frozen=True)
class ContextParallel:
    """How sequences are cut for context parallelism: each rank of a mesh gets its part of them.

    Attributes:
        mesh: One dimension of a DeviceMesh, or a process group.
        fields: Names of fields in a dict of blobs, or their places in a tuple; one may stand alone;
            None: all that have the dimension.
        dim: Which dimension of a batch is the sequence; 0 are the rows.
        head_tail: Rank r of n gets parts r and 2n - 1 - r of 2n, so that all have the same work
            under a causal mask: what torch calls head-tail load balancing.  False: part r of n.
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


class SequenceShards:
    """Cuts the sequences of batches into the part of this rank.

    Attributes:
        dim: The dimension of the sequence.
        world_size: Ranks that get parts of a sequence.
        names: Of the blobs that are cut, by key of the dict or place in the tuple; a bare array
            has the key 0.
    """

    def __init__(self, how: ContextParallel, batch: Any) -> None:
        """Args: what is cut, and the blobs in the form of a batch."""
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
