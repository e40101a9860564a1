"""A page of HTML with the picture of a graph and a table of its blobs."""

from __future__ import annotations

from ..html_text import Html, element, page, table
from ..nodes import dtype_name
from .model import Drawn, Output
from .svg import drawn_svg

_STYLE = """
:root{color-scheme:light dark}
body{font:14px system-ui,sans-serif;margin:24px;color:#1f2328;background:#fff}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}}
.picture{overflow-x:auto}
"""
_HEAD = ("op", "output", "dtype", "shape of a row", "bytes of a row", "bytes of a batch", "wanted")


def drawn_page(graph: Drawn) -> Html:
    """The page, which loads nothing from elsewhere."""
    rows = [
        (" ".join(filter(None, (vertex.title, vertex.name))), *_cells(one))
        for vertex in graph.vertices[:-1]
        for one in vertex.outputs
        if not vertex.passes
    ]
    picture = element("div", drawn_svg(graph, is_file=False), class_="picture")
    return page(graph.vertices[-1].title, _STYLE, picture, "\n", table(rows, _HEAD))


def _cells(one: Output) -> tuple[str, ...]:
    shape = ", ".join("varies" if size is None else str(size) for size in one.type.shape)
    return (
        one.name,
        dtype_name(one.type.dtype),
        f"({shape})",
        "ragged" if one.row_bytes is None else f"{one.row_bytes:,}",
        "" if one.batch_bytes is None else f"{'up to ' * one.is_most}{one.batch_bytes:,}",
        ", ".join(one.wanted) if one.is_used else "not used",
    )
