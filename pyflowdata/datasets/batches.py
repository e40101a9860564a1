"""The blobs of a data set's batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..graph import Blob, Node, find_op
from ..graph.registry import HOST_OUTPUTS
from .base import DatasetBase


class Batches(tuple[Blob, ...]):
    """The blobs of a data set's batches, in the order of its fields: `x, y = data.batch(64)`.

    `batches["x"]` is the blob of a field, `batches[["x", "y"]]` those of several, and
    `batches.blobs` all of them by name, as a DataLoader takes them.
    """

    blobs: dict[str, Blob]

    def __new__(cls, blobs: Mapping[str, Blob]) -> Batches:
        self = super().__new__(cls, blobs.values())
        self.blobs = dict(blobs)
        return self

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.blobs:
                raise InvalidArgumentError(
                    f"there is no field {shown(key)}; there are {', '.join(self.blobs)}"
                )
            return self.blobs[key]
        if isinstance(key, list):
            return tuple(self[name] for name in key)
        return super().__getitem__(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Batches, (self.blobs,)


def batch_node(
    blobs: Mapping[str, Blob],
    data: DatasetBase,
    attrs: Mapping[str, Any],
    op: str = "BatchDataset",
    name: str | None = None,
) -> Node:
    """The node of the batches of a data set."""
    shuffle = data._shuffle
    given: dict[str, Any] = {"fields": list(blobs), **attrs}
    if shuffle is not None:
        given |= {"random_shuffle": True, "shuffle": shuffle.kind, "order_key": shuffle.order_key,
                  "shuffle_after_epoch": shuffle.reshuffle, **shuffle.attrs}  # fmt: skip
        if shuffle.seed is not None and "seed" not in given:
            given["seed"] = shuffle.seed
    return Node(find_op(op), name, list(blobs.values()), given)


def batches_of(node: Node, fields: Mapping[str, Blob]) -> Batches:
    """The outputs of such a node by the names of the fields; then mask and id, if it has them."""
    named = dict(zip(fields, node.outputs, strict=False))
    for blob in node.outputs:
        port = blob.name.rpartition("/")[2]
        if port in HOST_OUTPUTS:
            named[port] = blob
    return Batches(named)
