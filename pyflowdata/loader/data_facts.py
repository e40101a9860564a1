"""What a loader's report says of its data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Error
from ..nodes import Blob
from ..insight.counters import DataFacts
from .order_sample import sample_order
from .state import Reader


def data_facts(
    open_loader: Callable[..., Any], form: Callable[[list[Any]], Any], blobs: Sequence[Blob],
    readers: Sequence[Reader], epoch: int,
) -> DataFacts:  # fmt: skip
    """Facts about the data of a loader, open or closed.  It reads, for up to some two seconds.

    Args:
        open_loader: The class `DataLoader`.
        form: Makes a batch of the blobs' arrays: a dict, a tuple, or a bare array.
        blobs: Of the loader.
        readers: Of the loader.
        epoch: Whose order is looked at.
    """
    return DataFacts(
        readers=[{**dataclasses.asdict(one), "shuffle": one.shuffle} for one in readers],
        order=sample_order(open_loader, blobs, readers, epoch),
        graph=_graph(form(list(blobs))),
    )


def _graph(blobs: Any) -> str:
    from ..insight.graph_drawing import graph

    try:
        return graph(blobs)._repr_html_()
    except Error:  # such as of files that are gone
        return ""
