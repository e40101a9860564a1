"""The picture of a graph as SVG."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from ..html_text import Html, element
from .layout import Layout
from .box_lines import Line, lines_of
from .model import Drawn

_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
_LETTER = 7.3  # width of a letter of 12 pixels, at most
_LINE = 17.0
_MARGIN = 16.0
_PADDING = 10.0
_LEAST_WIDTH = 120.0

# Translucent fills lie on light and dark pages alike.
_COLORS = {"files": "128,128,128", "more": "128,128,128", "reader": "56,132,255",
           "view": "160,90,220", "batches": "160,90,220", "op": "20,160,110",
           "batch": "230,140,20"}  # fmt: skip
_STYLE = """
.pfd-graph{color:inherit}
.pfd-graph text{font:12px %s;fill:currentColor;white-space:pre}
.pfd-graph .title{font-weight:700;font-size:12px}
.pfd-graph .attr,.pfd-graph .note,.pfd-graph .input{opacity:.72}
.pfd-graph .wanted{font-weight:700}
.pfd-graph path{fill:none;stroke:currentColor;stroke-opacity:.45;stroke-width:1.3}
.pfd-graph path.fused{stroke:rgb(20,160,110);stroke-opacity:1;stroke-width:5}
.pfd-graph .arrow{fill:currentColor;fill-opacity:.6;stroke:none}
""" % _FONT
_FILE_STYLE = """
svg.pfd-graph{color:#1f2328;background:#fff}
@media (prefers-color-scheme:dark){svg.pfd-graph{color:#e6edf3;background:#0d1117}}
"""


def drawn_svg(graph: Drawn, *, is_file: bool) -> Html:
    """An <svg> element.

    Args:
        graph: What is drawn.
        is_file: It stands alone and has colours of its own; else it has those of its page.
    """
    texts = [_shown_lines(lines_of(graph, place)) for place in range(len(graph.vertices))]
    sizes = [_size_of(lines) for lines in texts]
    layout = Layout(sizes, [(edge.source, edge.target) for edge in graph.edges])
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    boxes = (_drawn_box(graph, place, lines, layout) for place, lines in enumerate(texts))
    return element(
        "svg",
        element("title", f"Graph of {len(graph.vertices)} vertices"),
        element("style", Html(_STYLE + (_FILE_STYLE if is_file else ""))),
        element("g", *_drawn_edges(graph, layout), *boxes,
                transform=f"translate({_MARGIN:.0f},{_MARGIN:.0f})"),
        xmlns="http://www.w3.org/2000/svg", class_="pfd-graph", role="img",
        width=round(width), height=round(height), viewBox=f"0 0 {width:.0f} {height:.0f}",
    )  # fmt: skip


def _shown_lines(lines: Sequence[Line]) -> list[Line]:
    """With the count in the title."""
    counts = [line for line in lines if line.role == "count"]
    title, *others = [line for line in lines if line.role != "count"]
    for count in counts:
        said = f" {count.text}"
        title = Line("title", title.text + said, title.whole + said)
    return [title, *others]


def _columns(text: str) -> int:
    """How many letters of Latin a text is as wide as."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _size_of(lines: Sequence[Line]) -> tuple[float, float]:
    # Bold letters are as wide as others in most fonts of letters of equal width, not in all.
    widths = [_columns(line.text) * _LETTER * (1.05 if line.role in ("title", "wanted") else 1)
              for line in lines]  # fmt: skip
    return max(_LEAST_WIDTH, max(widths) + 2 * _PADDING), len(lines) * _LINE + 2 * _PADDING - 4


# ---- Boxes and edges ----------------------------------------------------------------------------


def _drawn_box(graph: Drawn, number: int, lines: Sequence[Line], layout: Layout) -> Html:
    vertex, place = graph.vertices[number], layout.places[number]
    color = f"rgb({_COLORS[vertex.kind]})"
    left = place.x - place.width / 2
    parts = [
        element(
            "rect", x=left + shift, y=place.y - shift, width=place.width, height=place.height,
            rx=12 if vertex.kind in ("files", "more") else 4,
            fill=color, fill_opacity=".12", stroke=color,
        )
        for shift in ((6, 3, 0) if vertex.count > 1 else (0,))  # a pile of boxes
    ]  # fmt: skip
    for at, line in enumerate(lines):
        whole = [element("title", line.whole)] if line.whole != line.text else []
        y = place.y + _PADDING + 8 + at * _LINE
        parts.append(
            element("text", line.text, *whole, class_=line.role, x=left + _PADDING, y=y)
        )
    return element("g", *parts, id=f"pfd-vertex-{number}", class_=f"vertex {vertex.kind}")


def _drawn_edges(graph: Drawn, layout: Layout) -> list[Html]:
    ends = _ends(layout)
    drawn = []
    for number, edge in enumerate(graph.edges):
        (x, y), *rest = _points(layout, number, *ends[number])
        path = f"M{x:.1f},{y:.1f}"
        for next_x, next_y, is_straight in rest:
            middle = (y + next_y) / 2
            curve = f"C{x:.1f},{middle:.1f} {next_x:.1f},{middle:.1f} {next_x:.1f},{next_y:.1f}"
            path += f"V{next_y:.1f}" if is_straight else curve
            x, y = next_x, next_y
        names = ", ".join(edge.outputs) + (" (computed as one)" if edge.is_fused else "")
        fused = {"class_": "fused"} if edge.is_fused else {}
        points = f"{x - 4:.1f},{y - 7:.1f} {x + 4:.1f},{y - 7:.1f} {x:.1f},{y:.1f}"
        drawn += [
            element("path", element("title", names), id=f"pfd-edge-{edge.source}-{edge.target}",
                    d=path, **fused),
            element("polygon", class_="arrow", points=points),
        ]  # fmt: skip
    return drawn


def _points(layout: Layout, number: int, start: float, end: float) -> list[tuple[float, ...]]:
    """The points of an edge: the first one, then each with whether a straight line leads to it."""
    source, *passages, target = (layout.places[one] for one in layout.paths[number])
    layer = [place for place in layout.places if place.layer == source.layer]
    bottom = max(place.y + place.height for place in layer)
    points: list[tuple[float, ...]] = [(start, source.y + source.height), (start, bottom, True)]
    for place in passages:
        points += [(place.x, place.y, False), (place.x, place.y + place.height, True)]
    return [*points, (end, target.y, False)]


def _ends(layout: Layout) -> list[tuple[float, float]]:
    """The x of both ends of each edge: those of a box lie side by side, in the order of where they
    lead to."""
    paths = layout.paths
    starts = _spread(layout, [path[0] for path in paths], [path[1] for path in paths])
    stops = _spread(layout, [path[-1] for path in paths], [path[-2] for path in paths])
    return list(zip(starts, stops, strict=True))


def _spread(layout: Layout, boxes: Sequence[int], others: Sequence[int]) -> list[float]:
    found = [0.0] * len(boxes)
    for box in set(boxes):
        edges = [number for number, one in enumerate(boxes) if one == box]
        towards = sorted({others[number] for number in edges}, key=lambda one: layout.places[one].x)
        place = layout.places[box]
        step = min(24.0, 0.8 * place.width / len(towards))
        for number in edges:
            at = towards.index(others[number]) - (len(towards) - 1) / 2
            found[number] = place.x + at * step
    return found
