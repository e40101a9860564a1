"""The nodes that make batches of a data set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..formats import output_names
from ..graph import Blob, Node, find_op
from ..loader import DataLoader
from ..ragged import Ragged
from .base import DatasetBase, Shuffle

COMPARED = 64  # records that are computed twice, to see whether they are the same
_IN_A_ROW = 8  # of these
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


def changing_fields(blobs: Mapping[str, Blob]) -> list[str]:
    """The fields of some records that differ between two epochs, with two seeds.

    The records are the first, the last, and some in between, as only one of several sources may
    have a random op.
    """
    first, second = (_some_records(blobs, epoch) for epoch in (0, 1))
    return [name for name in blobs if first[name] != second[name]]


def _some_records(blobs: Mapping[str, Blob], epoch: int) -> dict[str, list[bytes]]:
    """From all over the data, in the epoch and with the seed of this number."""
    outputs = dict(zip(blobs, node_alone(blobs.values(), _IN_A_ROW, epoch).outputs, strict=False))
    found: dict[str, list[bytes]] = {name: [] for name in blobs}
    with DataLoader(outputs, prefetch=1) as loader:
        pieces, last = COMPARED // _IN_A_ROW, -(-loader.readers[0].records // _IN_A_ROW) - 1
        last = max(0, last)  # of a stream only the first ones
        for step in sorted({last * i // (pieces - 1) for i in range(pieces)}):
            loader.seek(step, epoch=epoch)
            for batch in itertools.islice(loader, 1):
                for name, values in batch.items():
                    found[name].append(_bytes_of(values))
    return found


def _bytes_of(values: Any) -> bytes:
    if isinstance(values, Ragged):
        return values.values.tobytes() + values.shapes.tobytes()
    found: bytes = values.tobytes()
    return found
