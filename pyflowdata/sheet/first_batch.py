"""The first batch of blobs, with the places of damaged records in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import Error, InvalidArgumentError
from ..nodes import Blob, Node
from ..nodes.node import reader_nodes, with_reader_attrs
from ..loader import DataLoader


class Lost(NamedTuple):
    """The rows of a batch whose record is damaged.

    Attributes:
        rows: Their numbers.
        message: What is said of the first; "" where there is none.
    """

    rows: frozenset[int] = frozenset()
    message: str = ""


def has_blobs(batch: Any) -> bool:
    """Whether it is a blob, or several."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    return isinstance(batch, Blob) or (
        isinstance(batch, (tuple, list)) and len(batch) > 0 and isinstance(batch[0], Blob)
    )


def first_batch(blobs: Any, labels: Any, ids: Any) -> tuple[Any, Any, Any, Lost]:
    """The first batch of blobs; labels and ids, where these are blobs or left out; and the rows
    whose record is damaged."""
    named = dict(blobs) if isinstance(blobs, Mapping) else None
    wanted = list(named.values()) if named is not None else list(_tuple(blobs))
    extra = [one for one in (labels, ids) if isinstance(one, Blob)]
    made = with_reader_attrs([*wanted, *extra], _reader_attrs)
    readers = reader_nodes(made)
    if ids is None:
        made += _outputs(readers[0], "id")
    masks = [blob for reader in readers for blob in _outputs(reader, "mask")]
    with DataLoader((*made, *masks), prefetch=1, share=(0, 1)) as loader:
        arrays: list[Any] = list(next(iter(loader), ()))
        damaged = loader.skipped
    if not arrays:
        raise InvalidArgumentError("the blobs have no batch: there are no records")
    lost = _lost(arrays[len(made) :], damaged)
    batch, rest = arrays[: len(wanted)], arrays[len(wanted) : len(made)]
    labels = rest.pop(0) if isinstance(labels, Blob) else labels
    ids = rest.pop(0) if rest else ids
    whole = dict(zip(named, batch, strict=True)) if named is not None else tuple(batch)
    return whole, labels, ids, lost


def _tuple(blobs: Any) -> Sequence[Any]:
    return (blobs,) if isinstance(blobs, Blob) else blobs


def _reader_attrs(reader: Node) -> dict[str, object]:
    """A damaged record keeps its place, unless the user wants it to be left out; rows that only
    fill a batch have none."""
    attrs: dict[str, object] = {"with_id": True, "with_mask": True}
    if reader.values.get("on_error") != "skip":
        attrs["on_error"] = "pad"
    if reader.values.get("last_batch") == "pad":
        attrs["last_batch"] = "short"
    return attrs


def _outputs(reader: Node, name: str) -> tuple[Blob, ...]:
    return tuple(blob for blob in reader.outputs if reader.op.outputs[blob.index].name == name)


def _lost(masks: Sequence[Any], damaged: Sequence[Error]) -> Lost:
    whole = np.logical_and.reduce(masks)
    message = ""
    if damaged:
        first = damaged[0]
        file = f"{os.path.basename(first.file)}: " if first.file else ""
        message = file + first.message
    return Lost(frozenset(np.flatnonzero(~whole).tolist()), message)
