"""The steps of an epoch that a loader delivers, where several loaders take them in turn.

torch.utils.data.DataLoader takes batches from its worker processes in turn.  Worker i of n delivers
steps i, i + n and so on, as whole batches.  Together these are the batches of one loader in one
process, in their order, for any n.  If workers got parts of each batch, as ranks do, there would be
n times as many, smaller batches.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import InvalidArgumentError, shown
from ..nodes import Blob, Node
from ..nodes.node import reader_nodes
from ..nodes.world import is_left_open

_FRAMEWORK = "torch.utils.data"


class Share(NamedTuple):
    """Steps `number`, `number + total` and so on of each epoch.

    Attributes:
        number, total: Number of the share, and how many shares there are.
        source: Who chose the share; "": there is one share, of all steps.
    """

    number: int = 0
    total: int = 1
    source: str = ""

    def __str__(self) -> str:
        return f"share={self.number}/{self.total} ({self.source})" if self.source else ""

    def size(self, num_steps: int) -> int:
        """How many of `num_steps` steps belong to the share; -1 if their number is not known."""
        return num_steps if num_steps < 0 else len(range(self.number, num_steps, self.total))


def find_share(given: Any, blobs: Sequence[Blob]) -> Share:
    """The share of a loader of these blobs.

    Args:
        given: (index, count) from the program.  None: the share of this worker process of
            torch.utils.data.DataLoader; in other processes all steps.

    Raises:
        InvalidArgumentError: `given` is not such a pair; or this is a worker process, and the
            program gave a reader a rank and a world size, which may count the workers or not.
    """
    if given is not None:
        return _checked(given)
    worker = _worker()
    if worker is None:
        return Share()
    readers = reader_nodes(blobs)
    if all(_reads_everything(node) for node in readers):
        return Share()
    for node in readers:
        if not is_left_open(node.values):
            raise _refusal(node, *worker)
    return Share(*worker, f"a worker of {_FRAMEWORK}.DataLoader")


def _checked(given: Any) -> Share:
    is_pair = isinstance(given, (tuple, list)) and [type(one) for one in given] == [int, int]
    if not is_pair or not 0 <= given[0] < given[1] < 2**31:
        raise InvalidArgumentError(
            f"share = {shown(given)}; it must be a pair of ints (i, n), with i in [0, n): every "
            "n-th step from step i on; or None"
        )
    index, count = given
    return Share(index, count, "as given" if count > 1 else "")


def _worker() -> tuple[int, int] | None:
    """The number of this worker process of torch's DataLoader, and the number of workers; None:
    this is not a worker, or the only one.
    """
    ask = getattr(sys.modules.get(_FRAMEWORK), "get_worker_info", None)
    info = ask() if callable(ask) else None
    if info is None or info.num_workers < 2:
        return None
    return int(info.id), int(info.num_workers)


def _reads_everything(node: Node) -> bool:
    """Whether the program says by attrs that there is no other rank."""
    return not is_left_open(node.values) and node.worlds[0].world_size == 1


def _refusal(node: Node, index: int, count: int) -> InvalidArgumentError:
    world = node.worlds[0]
    return InvalidArgumentError(
        f"the reader has rank = {world.rank} and world_size = {world.world_size}, and this is "
        f"worker {index} of {count} of {_FRAMEWORK}.DataLoader, each of which would read that "
        "part: leave rank and world_size out, so that each worker makes every "
        f"{'second' if count == 2 else f'{count}th'} batch; or say DataLoader(..., "
        f"share=({index}, {count})), or share=(0, 1) if the ranks count the workers already",
        op=node.op.name,
        attr="world_size",
    )
