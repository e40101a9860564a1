"""The node that makes batches of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..graph import Blob, Node, find_op
from .base import DatasetBase


def batch_node(
    blobs: Mapping[str, Blob],
    data: DatasetBase,
    attrs: Mapping[str, Any],
    op: str = "BatchDataset",
    name: str | None = None,
) -> Node:
    """The node of the batches of a data set."""
    shuffle = data._shuffle
    if shuffle is not None and attrs.get("seed", shuffle.seed) != shuffle.seed is not None:
        ordered = data.ordered()  # the batches have another seed, for random ops
        blobs, shuffle = {field: ordered[field] for field in blobs}, None
    given: dict[str, Any] = {"fields": list(blobs), **attrs}
    if shuffle is not None:
        given |= {"random_shuffle": True, "shuffle": shuffle.kind, "order_key": shuffle.order_key,
                  "shuffle_after_epoch": shuffle.reshuffle, **shuffle.attrs}  # fmt: skip
        if shuffle.seed is not None and "seed" not in given:
            given["seed"] = shuffle.seed
    return Node(find_op(op), name, list(blobs.values()), given)
