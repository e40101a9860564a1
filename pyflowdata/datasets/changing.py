"""Which fields differ from epoch to epoch, as those of random ops do."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from ..nodes import Blob
from ..loader import DataLoader
from ..ragged import Ragged
from .batching import node_alone

COMPARED = 64  # records that are computed twice, to see whether they are the same
_IN_A_ROW = 8  # of these


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
