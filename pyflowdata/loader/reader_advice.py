"""What a loader says once of attrs of its readers that were left out, where that may surprise."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ..native.calling_line import is_ours, warn_program_once
from ..nodes import Blob, Node
from ..nodes.node import reader_nodes
from .state import Reader


def _pairs(blobs: Iterable[Blob], readers: Sequence[Reader]) -> list[tuple[Node, Reader]]:
    nodes = reader_nodes(blobs)
    if [node.op.name for node in nodes] != [reader.op for reader in readers]:
        return []
    return list(zip(nodes, readers, strict=True))


def advise_on_batches(blobs: Iterable[Blob], readers: Sequence[Reader]) -> None:
    """Says which batch size is used where a program gives none, once.  The caller is the
    core of a DataLoader, whose caller has the blobs; this package itself is told nothing."""
    if is_ours(sys._getframe(3)):
        return
    for node, reader in _pairs(blobs, readers):
        if not node.op.is_view and "batch_size" not in node.values:
            warn_program_once(
                "batch_size",
                UserWarning(
                    f"{reader.name}: batch_size is left out, so that a batch has "
                    f"{reader.batch_size} record; give the reader batch_size=32, or the number "
                    "that you want."
                ),
            )
            return


def repeating_orders(
    blobs: Iterable[Blob], readers: Sequence[Reader]
) -> tuple[tuple[str, str], ...]:
    """The readers that have the same random order in every epoch, and were not told to: each with
    the attr that changes it."""
    return tuple(
        (reader.name, "shuffle_after_epoch=True" if "shuffle" in node.values else "shuffle=True")
        for node, reader in _pairs(blobs, readers)
        if reader.spec.get("random_shuffle") == "true"
        and reader.spec.get("shuffle_after_epoch") == "false"
        and "shuffle_after_epoch" not in node.values
    )


def advise_on_orders(repeating: Iterable[tuple[str, str]]) -> None:
    """Says of these readers that a second epoch has the order of the first one, once for each."""
    for name, attr in repeating:
        warn_program_once(
            ("same order", name),
            UserWarning(
                f"{name}: every epoch has the same random order, as shuffle_after_epoch is "
                f"left out; give the reader {attr} for a new order in each, or "
                "shuffle_after_epoch=False to keep this one."
            ),
        )
