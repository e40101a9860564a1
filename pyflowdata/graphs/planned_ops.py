"""What C says of the blobs of a loader without opening it: the ops that run, and the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..native import CData, check, ffi, lib, new_error
from ..nodes import Blob, Node
from ..nodes.node import nodes_of


class Planned(NamedTuple):
    """An op that a loader runs.

    Attributes:
        fused: The op before it whose work it does as well; None: none.
        stage: Even: over ranges of rows; odd: once, over the whole batch.
    """

    fused: Node | None
    stage: int


def planned_ops(blobs: Sequence[Blob]) -> dict[Node, Planned]:
    """The nodes that a loader of these blobs would compute.

    Raises:
        InvalidArgumentError: The blobs do not go together.
    """
    slots = ffi.new("pfd_blob[]", len(blobs))
    for slot, blob in zip(slots, blobs, strict=True):
        blob.fill(slot)
    count, err = ffi.new("int64_t *"), new_error()
    found, room = ffi.NULL, 0
    while True:
        check(lib.pfd_planned_ops(slots, len(blobs), found, room, count, err), err)
        if count[0] <= room:
            break
        room = count[0]
        found = ffi.new("pfd_planned_op[]", room)
    by_address = {_address(node.handle): node for node in nodes_of(blobs)}
    planned: dict[Node, Planned] = {}
    for one in found[0 : count[0]]:
        node = by_address[_address(one.node)]
        fused = by_address[_address(one.fused)] if one.fused != ffi.NULL else None
        planned.setdefault(node, Planned(fused, one.stage))
    return planned


def _address(pointer: CData) -> int:
    return int(ffi.cast("uintptr_t", pointer))
