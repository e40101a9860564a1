"""The nodes that make batches of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..formats import output_names
from ..nodes import Blob, Node, find_op
from .base import DatasetBase, Shuffle

# Arguments of batches in other libraries, and in readers -> how they are given here.
_OTHER_WORDS = {
    "drop_last": 'say last="drop"',
    "drop_remainder": 'say last="drop"',
    "last_batch": "it is called last",
    "num_workers": "a DataLoader has num_threads",
}


def check_attrs(attrs: Iterable[str]) -> None:
    """Refuses attrs of readers, and of other libraries, that data sets have another word for.

    Raises:
        InvalidArgumentError: There is one; the text has that word.
    """
    for name in attrs:
        here = _OTHER_WORDS.get(name, "")
        if "shuffle" in name or name == "order_key":
            here = "shuffle the data set, data.shuffle().batch(n)"
        if here:
            raise InvalidArgumentError(f"batch({name}=...): {here}", attr=name)


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
        ordered = data.blobs
        blobs, shuffle = {field: ordered[field] for field in blobs}, None
    given: dict[str, Any] = {"fields": output_names(blobs), **attrs}
    if shuffle is not None:
        given |= {"random_shuffle": True, "shuffle": shuffle.kind, "order_key": shuffle.order_key,
                  "shuffle_after_epoch": shuffle.reshuffle, **shuffle.attrs}  # fmt: skip
        if shuffle.seed is not None and "seed" not in given:
            given["seed"] = shuffle.seed
    return Node(find_op(op), name, list(blobs.values()), given)


def _has_other_seed(shuffle: Shuffle, attrs: Mapping[str, Any]) -> bool:
    """Whether the batches have a seed, and it is not that of the shuffle."""
    seed = attrs.get("seed", shuffle.seed)
    return shuffle.seed is not None and not (seed == shuffle.seed or seed == -1)


def node_alone(blobs: Iterable[Blob], batch_size: int, seed: int = 0, **attrs: Any) -> Node:
    """The node of batches for the library itself: of one rank, in order, with a seed."""
    inputs = list(blobs)
    names = [f"field{place}" for place in range(len(inputs))]  # no field of the user is "id"
    given = {"fields": names, "batch_size": batch_size, "rank": 0, "world_size": 1, "seed": seed}
    return Node(find_op("BatchDataset"), None, inputs, {**given, **attrs})
