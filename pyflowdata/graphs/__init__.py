"""The graph of blobs as a drawing: for a terminal, a notebook, a page or a wiki."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .drawing import Graph

__all__ = ["graph"]


def graph(*blobs: Any) -> Graph:
    """The graph of blobs, as a drawing of files, readers, views, ops and what a batch has.

    It says which attrs are not as by default, dtype and shape of each output, the bytes of a row
    and of a full batch of this rank, which ops are computed as one, and which are not needed.
    Files are counted and their sizes are looked up; no data are read, and no loader is opened.

    Args:
        *blobs: What a `DataLoader` takes: blobs, or one tuple or dict of blobs; or a `Dataset`; or
            a `DataLoader`, of which the number of records and of batches is shown as well.

    Raises:
        InvalidArgumentError: It is none of these, or the blobs do not go together.
    """
    from .drawing import made_graph  # here, as most programs draw nothing

    return made_graph(blobs)
