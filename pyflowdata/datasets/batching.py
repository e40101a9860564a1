"""The node that makes batches of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..graph import Blob, Node, find_op
from .base import DatasetBase, Shuffle


def batch_node(
    blobs: Mapping[str, Blob],
    data: DatasetBase,
    attrs: Mapping[str, Any],
    op: str = "BatchDataset",
    name: str | None = None,
) -> Node:
    """The node of the batches of a data set."""
    shuffle = data._shuffle
    if shuffle is not None and _has_other_seed(shuffle, attrs):
        if op != "BatchDataset" or shuffle.kind not in ("auto", "global"):
            raise InvalidArgumentError(
                f"shuffle() has the seed {shown(shuffle.seed)}, and the batches have "
                f"{shown(attrs['seed'])}; here both are the same seed: give one of them"
            )
        ordered, shuffle = data.ordered(), None
        blobs = {name: ordered[name] for name in blobs}
    given: dict[str, Any] = {"fields": list(blobs), **attrs}
    if shuffle is not None:
        given |= {"random_shuffle": True, "shuffle": shuffle.kind, "order_key": shuffle.order_key,
                  "shuffle_after_epoch": shuffle.reshuffle, **shuffle.attrs}  # fmt: skip
        if shuffle.seed is not None:
            given["seed"] = shuffle.seed
    return Node(find_op(op), name, list(blobs.values()), given)


def _has_other_seed(shuffle: Shuffle, attrs: Mapping[str, Any]) -> bool:
    """Whether the batches have a seed, and it is not that of the shuffle."""
    seed = attrs.get("seed", shuffle.seed)
    return shuffle.seed is not None and not (seed == shuffle.seed or seed == -1)
