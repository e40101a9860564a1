"""What a loader computes, as a value with the forms of a drawing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..nodes import Blob
from ..nodes.records import Records
from ..plain_text import counted
from ..text_files import save_as
from .fold_branches import folded
from .from_nodes import Builder
from .model import Drawn
from .terminal import drawn_text, printed_text


class Graph(Drawn):
    """What a loader computes, from the files down to the batch: `flow.graph()` makes one.

    `str()` is a drawing for a terminal, and a notebook shows a picture.  Two graphs are equal if
    their vertices and edges are.

    Attributes:
        vertices: Files, readers, views of data sets, ops, and the batch, which is the last one;
            inputs come before what takes them.
        edges: Between them, by the numbers of vertices.
    """

    def __str__(self) -> str:
        return printed_text(self)

    def __repr__(self) -> str:
        return str(self)

    def to_svg(self) -> str:
        """The picture as an SVG file, light or dark as its viewer is."""
        from .svg import drawn_svg

        return drawn_svg(self, is_file=True)

    def to_mermaid(self) -> str:
        """The text of a Mermaid flowchart, which GitHub and many wikis draw."""
        from .mermaid import drawn_mermaid

        return drawn_mermaid(self)

    def to_html(self) -> str:
        """A page with the picture and a table of the blobs, which needs nothing else."""
        from .page import drawn_page

        return drawn_page(self)

    def _repr_html_(self) -> str:
        from .svg import drawn_svg

        return f'<div style="overflow-x:auto">{drawn_svg(self, is_file=False)}</div>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the form that the name says: .svg, .html, .mmd for Mermaid or .txt.

        Raises:
            InvalidArgumentError: It says none of them.
            OSError: The file cannot be written.
        """
        save_as(path, "a graph", {
            ".svg": self.to_svg, ".html": self.to_html, ".mmd": self.to_mermaid,
            ".txt": lambda: f"{drawn_text(self)}\n",
        })  # fmt: skip


def made_graph(blobs: tuple[Any, ...]) -> Graph:
    """As `graph()`."""
    facts: list[str] = []
    given: Any = blobs[0] if len(blobs) == 1 else blobs
    loader = _loader_of(given)
    if loader is not None:
        given = loader._core.form(list(loader.blobs))  # as they were given to it
        facts = _facts_of(loader)
    is_data_set = isinstance(given, Records)
    builder = Builder(_named(given), is_data_set=is_data_set)
    builder.finish(facts)
    return Graph(*folded(builder.vertices, builder.edges))


def _loader_of(given: Any) -> Any:
    """The DataLoader that was given, or that one of torch or JAX has taken over."""
    if isinstance(given, (Blob, Records, Mapping, tuple, list)):
        return None
    return getattr(given, "data_loader", None)


def _facts_of(loader: Any) -> list[str]:
    records = [reader.records for reader in loader.readers]
    said = [counted(records[0], "record")] if min(records) >= 0 and len({*records}) == 1 else []
    try:
        batches = len(loader)
    except TypeError:
        return [*said, "a stream: batches are counted at the end of an epoch"]
    return [*said, f"{counted(batches, 'batch', 'batches')} an epoch"]


def _named(given: Any) -> Mapping[str, Blob]:
    """The wanted blobs by what a batch calls them."""
    if isinstance(given, Records):
        return given.first_batch(1)
    if isinstance(given, Blob):
        return {given.name: given}
    named = getattr(given, "blobs", None)  # of a data set's batches
    if isinstance(given, tuple) and isinstance(named, Mapping):
        given = named
    if isinstance(given, Mapping):
        blobs = {str(key): blob for key, blob in given.items()}
    elif isinstance(given, (tuple, list)):
        blobs = {f"[{place}]": blob for place, blob in enumerate(given)}
    else:
        blobs = {"": given}
    if not blobs:
        raise InvalidArgumentError("no blobs were given; a graph needs at least one")
    for blob in blobs.values():
        if not isinstance(blob, Blob):
            raise InvalidArgumentError(
                f"graph({shown(blob)}): give blobs, as ops return them, or one tuple or dict of "
                "them, a Dataset or a DataLoader"
            )
    return blobs
