"""The graph of a loader, drawn as SVG, HTML, Mermaid and text."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidArgumentError, printable, shown
from ..nodes import Blob, dtype_name
from ..nodes.node import Records, nodes_of
from ..words.html_text import MONOSPACED, Html, element, page, table
from ..words.plain_text import clipped, counted
from .graph import FILES, MORE, OP, VIEW, Builder, Drawn, Edge, Output, Vertex
from .report import save_as


# ---- Branches that are alike --------------------------------------------------------------------

# A mix of 60 alike sources is drawn as one, "x 60".

_LEAST_ALIKE = 4  # branches that are drawn as one
_MOST_BRANCHES = 8  # a view is drawn with so many


class _Branches:
    """Finds for each vertex the vertex that is drawn for it, from the last vertex upwards."""

    def __init__(self, vertices: Sequence[Vertex], edges: Sequence[Edge]) -> None:
        self.vertices, self.edges = vertices, edges
        places = range(len(vertices))
        self.after: list[list[Edge]] = [[] for _ in places]
        self.before: list[list[Edge]] = [[] for _ in places]
        for edge in edges:
            self.after[edge.source].append(edge)
            self.before[edge.target].append(edge)
        self.kinds = self._number_kinds()
        self.drawn_as = list(places)  # the vertex itself, or the first one that is like it
        self.dropped: set[int] = set()
        self.more: dict[int, int] = {}  # branches that a view has besides those that are drawn
        self.alike: dict[int, list[int]] = {}  # drawn vertex -> those that it stands for

    def _number_kinds(self) -> list[int]:
        """A number for each vertex; vertices that are alike, with everything upstream of them, have
        the same number.
        """
        numbers: dict[Hashable, int] = {}
        kinds: list[int] = []
        for place, vertex in enumerate(self.vertices):
            own: Hashable = vertex
            if vertex.kind == FILES and vertex.files is not None:
                own = FILES
            above = tuple((edge.outputs, kinds[edge.source]) for edge in self.before[place])
            kinds.append(numbers.setdefault((own, above), len(numbers)))
        return kinds

    def fold(self) -> None:
        """Goes through the vertices; the vertices that take the rows of a vertex come before that
        vertex.
        """
        levels: dict[int, list[int]] = {}
        depths = [0] * len(self.vertices)
        for place in reversed(range(len(self.vertices))):
            depths[place] = max((depths[one.target] + 1 for one in self.after[place]), default=0)
            levels.setdefault(depths[place], []).append(place)
        for _, level in sorted(levels.items()):
            self._fold_level([place for place in reversed(level) if self._is_there(place)])

    def count(self, place: int) -> int:
        """How many vertices a drawn one stands for."""
        return len(self.alike.get(place, (place,)))

    def _is_there(self, place: int) -> bool:
        after = self.after[place]
        if after and all(edge.target in self.dropped for edge in after):
            self.dropped.add(place)
        return place not in self.dropped

    def _below(self, place: int) -> int | None:
        """The drawn vertex of a data set that takes the rows of this vertex."""
        targets = {self.drawn_as[edge.target] for edge in self.after[place]}
        if len(targets) != 1:
            return None
        (target,) = targets
        is_inside = self.vertices[target].kind == VIEW or self.count(target) > 1
        return target if is_inside else None

    def _fold_level(self, level: Sequence[int]) -> None:
        groups: dict[Hashable, list[int]] = {}
        for place in level:
            below = self._below(place)
            key: Hashable = place if below is None else (self.kinds[place], below)
            groups.setdefault(key, []).append(place)
        branches: dict[int, list[list[int]]] = {}
        for members in groups.values():
            below = self._below(members[0])
            if below is not None:
                branches.setdefault(below, []).append(members)
        for below, groups_of_view in branches.items():
            merged = self._merge(groups_of_view, self.count(below))
            if len(merged) > _MOST_BRANCHES:
                rest = merged[_MOST_BRANCHES - 1 :]
                self.more[below] = sum(map(self.count, rest))
                for first in rest:
                    self.dropped.update(self.alike.get(first, (first,)))

    def _merge(self, groups: Sequence[Sequence[int]], count_below: int) -> list[int]:
        """The vertices that are drawn for these groups of equal vertices, in order."""
        drawn: list[int] = []
        for members in groups:
            if len(members) < max(_LEAST_ALIKE, count_below if count_below > 1 else 0):
                drawn += members
                continue
            for member in members:
                self.drawn_as[member] = members[0]
            self.alike[members[0]] = list(members)
            drawn.append(members[0])
        return sorted(drawn)


def _folded(
    vertices: Sequence[Vertex], edges: Sequence[Edge]
) -> tuple[tuple[Vertex, ...], tuple[Edge, ...]]:
    found = _Branches(vertices, edges)
    found.fold()
    numbers: dict[int, int] = {}
    drawn: list[Vertex] = []
    made: dict[Edge, None] = {}
    for place, vertex in enumerate(vertices):
        if place in found.dropped or found.drawn_as[place] != place:
            continue
        if place in found.more:
            said = f"and {found.more[place]:,} more data sets"
            made[Edge(len(drawn), len(drawn) + 1)] = None
            drawn.append(Vertex(MORE, said))
        numbers[place] = len(drawn)
        drawn.append(_together([vertices[one] for one in found.alike.get(place, (place,))]))
    for edge in edges:
        source = numbers.get(found.drawn_as[edge.source])
        target = numbers.get(found.drawn_as[edge.target])
        if source is not None and target is not None:
            made[replace(edge, source=source, target=target)] = None
    return tuple(drawn), tuple(made)


def _together(alike: Sequence[Vertex]) -> Vertex:
    first = alike[0]
    if len(alike) == 1:
        return first
    name = first.name
    files = first.files
    for other in alike[1:]:
        files = files + other.files if files and other.files else files
    if files is not None:
        name = f"{first.name.removesuffix(' ...')} ..."
    title = str(files) if files is not None else first.title
    return replace(first, title=title, name=name, files=files, count=len(alike))


# ---- Lines of text in a box ---------------------------------------------------------------------

_MOST_OUTPUTS = 12
_LONGEST_VALUE = 44
_LONGEST_NAME = 48


class _Line(NamedTuple):
    """A line of a box.

    Attributes:
        role: "title", "count", "name", "attr", "input", "output", "wanted" (an output that the
            batch has) or "note".
        text: The text as it is drawn.
        whole: The text before it was cut.
    """

    role: str
    text: str
    whole: str


def lines_of(graph: Drawn, place: int) -> list[_Line]:
    """The lines of a vertex, its title first."""
    vertex = graph.vertices[place]
    lines = [_line("title", vertex.title)]
    if vertex.count > 1 and vertex.files is None:
        lines.append(_line("count", f"x {vertex.count}"))
    if vertex.name:
        lines.append(_line("name", vertex.name, _LONGEST_NAME))
    for name, value in vertex.attrs:
        lines.append(_Line("attr", f"{name}={clipped(value, _LONGEST_VALUE)}", f"{name}={value}"))
    taken = _taken(graph, place)
    if taken:
        lines.append(_line("input", f"of {', '.join(taken)}"))
    lines += _output_lines(vertex)
    lines += [_line("note", note) for note in vertex.notes]
    return lines


def _line(role: str, text: str, width: int = 2 * _LONGEST_NAME) -> _Line:
    return _Line(role, clipped(text, width), text)


def _taken(graph: Drawn, place: int) -> list[str]:
    """The inputs of an op that come from vertices with several outputs."""
    if graph.vertices[place].kind != OP:
        return []
    return [
        name
        for edge in graph.edges
        if edge.target == place and len(graph.vertices[edge.source].outputs) > 1
        for name in edge.outputs
    ]


def _output_lines(vertex: Vertex) -> list[_Line]:
    if vertex.passes:
        return []
    used = [one for one in vertex.outputs if one.is_used]
    lines = []
    for one in used[:_MOST_OUTPUTS]:
        keys = ", ".join(one.wanted)
        said = f"{one.type_text} → {keys}" if keys else f"{one.type_text}, {one.bytes_text}"
        short = f"{clipped(one.name, _LONGEST_NAME)}: {clipped(said, _LONGEST_VALUE * 2)}"
        lines.append(_Line("wanted" if keys else "output", short, f"{one.name}: {said}"))
    if len(used) > _MOST_OUTPUTS:
        lines.append(_line("note", f"and {len(used) - _MOST_OUTPUTS} more outputs"))
    unused = [one.name for one in vertex.outputs if not one.is_used]
    if unused:
        lines.append(_line("note", f"not used: {', '.join(unused)}", _LONGEST_NAME))
    return lines


# ---- Layout -------------------------------------------------------------------------------------

# Layers lie from top to bottom.  Each vertex is in a layer above the first one that takes its rows.
# An edge over several layers goes through a gap in each of them, which is placed like a box, so no
# edge crosses a box.  Edges from one box, or to one, share these gaps.

_GAP = 28.0  # between two boxes of a layer
_LAYER_GAP = 44.0
_PASSAGE = 10.0  # width of an edge that goes through a layer
_MOST_WIDTH = 2000.0  # a wider layer lies in several rows
_SWEEPS = 12


def _in_rows(depths: Sequence[int], widths: Sequence[float]) -> list[int]:
    """The depths of boxes, counted from the last layer; a wide layer becomes several layers."""
    layers: dict[int, list[int]] = {}
    for box, depth in enumerate(depths):
        layers.setdefault(depth, []).append(box)
    found, row = [0] * len(depths), -1
    for _, layer in sorted(layers.items()):
        row, width = row + 1, 0.0
        for box in reversed(layer):
            if width > 0 and width + widths[box] > _MOST_WIDTH:
                row, width = row + 1, 0.0
            width += widths[box] + _GAP
            found[box] = row
    return found


@dataclass
class _Place:
    """A box in its layer, or the passage of an edge through a layer.

    Attributes:
        vertex: The number of its vertex; -1: a passage.
        width, height: Its size in pixels.
        x, y: The middle of its upper side.
        above, below: Numbers of the places that it is connected with.
    """

    vertex: int
    width: float
    height: float
    layer: int
    x: float = 0.0
    y: float = 0.0
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)

    @property
    def weight(self) -> float:
        """How much its place matters: passing edges should be straight."""
        return 1.0 if self.vertex >= 0 else 6.0


class Layout:
    """Attributes:
    places: The boxes, in the order of the vertices, then the passages.
    paths: For each edge the numbers of the places that it goes through.
    width, height: The size of the drawing.
    """

    def __init__(
        self, sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]
    ) -> None:
        """Args: width and height of each box; edges, each from a box to a later box."""
        depths = [0] * len(sizes)
        for source, target in sorted(edges, reverse=True):
            depths[source] = max(depths[source], depths[target] + 1)
        depths = _in_rows(depths, [width for width, _ in sizes])
        deepest = max(depths, default=0)
        self.places = [
            _Place(vertex, width, height, deepest - depth)
            for vertex, ((width, height), depth) in enumerate(zip(sizes, depths, strict=True))
        ]
        leaving = Counter(source for source, _ in edges)
        arriving = Counter(target for _, target in edges)
        self._passages: dict[tuple[str, int, int], int] = {}
        self.paths = [
            self._path(source, target, leaving[source] >= arriving[target])
            for source, target in edges
        ]
        self._layers: list[list[int]] = [[] for _ in range(deepest + 1)]
        for number, place in enumerate(self.places):
            self._layers[place.layer].append(number)
        self._order()
        self._set_heights()
        self._set_columns()

    def _path(self, source: int, target: int, shares_start: bool) -> list[int]:
        """The places of an edge; edges with the same source, or the same target, share passages."""
        shared = ("from", source) if shares_start else ("to", target)
        path = [source]
        for layer in range(self.places[source].layer + 1, self.places[target].layer):
            own = self._passages.setdefault((*shared, layer), len(self.places))
            if own == len(self.places):
                self.places.append(_Place(-1, _PASSAGE, 0.0, layer))
            path.append(own)
        path.append(target)
        for upper, lower in zip(path, path[1:], strict=False):
            if lower not in self.places[upper].below:
                self.places[upper].below.append(lower)
                self.places[lower].above.append(upper)
        return path

    # ---- Order in the layers ------------------------------------------------------------------

    def _order(self) -> None:
        """Sorts each layer by the mean rank of the neighbours, above and below in turn, and keeps
        the order with the fewest crossings.
        """
        best = [list(layer) for layer in self._layers]
        fewest = self._crossings()
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            for layer in self._layers if down else reversed(self._layers):
                self._sort(layer, down)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self._layers], crossings
        self._layers = best

    def _ranks(self) -> dict[int, int]:
        return {one: rank for layer in self._layers for rank, one in enumerate(layer)}

    def _sort(self, layer: list[int], down: bool) -> None:
        ranks = self._ranks()

        def middle(number: int) -> float:
            """The mean rank of the neighbours; without neighbours, the place's own rank."""
            place = self.places[number]
            near = place.above if down else place.below
            return sum(ranks[one] for one in near) / len(near) if near else ranks[number]

        layer.sort(key=middle)

    def _crossings(self) -> int:
        ranks, total = self._ranks(), 0
        for layer in self._layers:
            lines = [(ranks[one], ranks[low]) for one in layer for low in self.places[one].below]
            lines.sort()
            for at, (_, low) in enumerate(lines):
                total += sum(other < low for _, other in lines[:at])
        return total

    # ---- Coordinates --------------------------------------------------------------------------

    def _set_heights(self) -> None:
        y = 0.0
        for layer in self._layers:
            height = max(self.places[one].height for one in layer)
            for one in layer:
                self.places[one].y = y
                if self.places[one].vertex < 0:
                    self.places[one].height = height
            y += height + _LAYER_GAP
        self.height = y - _LAYER_GAP

    def _set_columns(self) -> None:
        for layer in self._layers:
            self._place_layer(layer, [0.0] * len(layer))
        for sweep in range(2 * _SWEEPS + 1):  # downwards at last: below one another
            down = sweep % 2 == 0
            for layer in self._layers if down else reversed(self._layers):
                self._place_layer(layer, [self._wish(one, down) for one in layer])
        left = min(place.x - place.width / 2 for place in self.places)
        for place in self.places:
            place.x -= left
        self.width = max(place.x + place.width / 2 for place in self.places)

    def _wish(self, number: int, down: bool) -> float:
        """The middle of the neighbours: those above when going down, otherwise those below."""
        place = self.places[number]
        near = (place.above or place.below) if down else (place.below or place.above)
        return sum(self.places[one].x for one in near) / len(near) if near else place.x

    def _place_layer(self, layer: Sequence[int], wishes: Sequence[float]) -> None:
        """Sets x so that nothing overlaps and the sum of the squared distances from the wishes is
        smallest: neighbours that would overlap move together, as a block.
        """
        shift, shifts = 0.0, []
        for at, number in enumerate(layer):
            if at:
                before = self.places[layer[at - 1]]
                shift += (before.width + self.places[number].width) / 2 + _GAP
            shifts.append(shift)
        blocks: list[tuple[float, float, int]] = []  # sum of weighted wishes, of weights, size
        for number, wish, moved in zip(layer, wishes, shifts, strict=True):
            weight = self.places[number].weight
            block = (weight * (wish - moved), weight, 1)
            while blocks and blocks[-1][0] / blocks[-1][1] > block[0] / block[1]:
                last = blocks.pop()
                block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
            blocks.append(block)
        means = [total / weight for total, weight, size in blocks for _ in range(size)]
        for number, mean, moved in zip(layer, means, shifts, strict=True):
            self.places[number].x = mean + moved


# ---- SVG ----------------------------------------------------------------------------------------

_LETTER = 7.3  # width of a letter of 12 pixels, at most
_LINE = 17.0
_MARGIN = 16.0
_PADDING = 10.0
_LEAST_WIDTH = 120.0
_MOST_SHRUNK = 2.0  # a page that is narrower scrolls the picture

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
""" % MONOSPACED
_FILE_STYLE = """
svg.pfd-graph{color:#1f2328;background:#fff}
@media (prefers-color-scheme:dark){svg.pfd-graph{color:#e6edf3;background:#0d1117}}
"""


def _drawn_svg(graph: Drawn, *, is_file: bool) -> Html:
    """An <svg> element.

    Args:
        graph: What is drawn.
        is_file: Whether it is a file, with its own colours; otherwise it takes the colours of its
            page.
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
        style=f"min-width:{width / _MOST_SHRUNK:.0f}px",
    )  # fmt: skip


def _shown_lines(lines: Sequence[_Line]) -> list[_Line]:
    """The lines of a box; the title contains the count."""
    counts = [line for line in lines if line.role == "count"]
    title, *others = [line for line in lines if line.role != "count"]
    for count in counts:
        said = f" {count.text}"
        title = _Line("title", title.text + said, title.whole + said)
    return [title, *others]


def _columns(text: str) -> int:
    """The width of a text, in Latin letters."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _size_of(lines: Sequence[_Line]) -> tuple[float, float]:
    # Bold letters are as wide as others in most fonts of letters of equal width, not in all.
    widths = [_columns(line.text) * _LETTER * (1.05 if line.role in ("title", "wanted") else 1)
              for line in lines]  # fmt: skip
    return max(_LEAST_WIDTH, max(widths) + 2 * _PADDING), len(lines) * _LINE + 2 * _PADDING - 4


# ---- Boxes and edges ----------------------------------------------------------------------------


def _drawn_box(graph: Drawn, number: int, lines: Sequence[_Line], layout: Layout) -> Html:
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
        parts.append(element("text", line.text, *whole, class_=line.role, x=left + _PADDING, y=y))
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
    """The points of an edge: the first point, then pairs of a point and whether a straight line
    leads to it.
    """
    source, *passages, target = (layout.places[one] for one in layout.paths[number])
    layer = [place for place in layout.places if place.layer == source.layer]
    bottom = max(place.y + place.height for place in layer)
    points: list[tuple[float, ...]] = [(start, source.y + source.height), (start, bottom, True)]
    for place in passages:
        points += [(place.x, place.y, False), (place.x, place.y + place.height, True)]
    return [*points, (end, target.y, False)]


def _ends(layout: Layout) -> list[tuple[float, float]]:
    """The x of both ends of each edge: the ends at a box lie side by side, in the order of their
    other ends.
    """
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


# ---- Page ---------------------------------------------------------------------------------------

_PAGE_STYLE = """
:root{color-scheme:light dark}
body{font:14px system-ui,sans-serif;margin:24px;color:#1f2328;background:#fff}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}}
.picture,.scroll{overflow-x:auto}
.picture svg{max-width:100%;height:auto}
"""
_HEAD = ("op", "output", "dtype", "shape of a row", "bytes of a row", "bytes of a batch", "wanted")


def _drawn_page(graph: Drawn) -> Html:
    """The page, which loads nothing from elsewhere."""
    rows = [
        (" ".join(filter(None, (vertex.title, vertex.name))), *_cells(one))
        for vertex in graph.vertices[:-1]
        for one in vertex.outputs
        if not vertex.passes
    ]
    picture = element("div", _drawn_svg(graph, is_file=False), class_="picture")
    below = element("div", table(rows, _HEAD), class_="scroll")
    return page(graph.vertices[-1].title, _PAGE_STYLE, picture, "\n", below)


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


# ---- Mermaid ------------------------------------------------------------------------------------

_PLAIN_SIGNS = " ,.:/=()-+_"
_SHAPES = {"files": ("[(", ")]"), "more": ("[(", ")]"), "batch": ("(", ")")}
_CONFIGURED = '%%{init: {"flowchart": {"wrappingWidth": 600}}}%%'


def _drawn_mermaid(graph: Drawn) -> str:
    """A flowchart: `n0` is the first vertex, and lines between fused ops are thick."""
    lines = [_CONFIGURED, "flowchart TD"]
    for place, vertex in enumerate(graph.vertices):
        opening, closing = _SHAPES.get(vertex.kind, ("[", "]"))
        text = "<br/>".join(_escaped(line.text) for line in lines_of(graph, place))
        lines.append(f'    n{place}{opening}"{text}"{closing}:::{vertex.kind}')
    for edge in graph.edges:
        arrow = "==>" if edge.is_fused else "-->"
        said = _escaped(", ".join(edge.outputs))
        label = f'|"{said}"|' if said and len(graph.vertices[edge.source].outputs) > 1 else ""
        lines.append(f"    n{edge.source} {arrow}{label} n{edge.target}")
    for kind in dict.fromkeys(vertex.kind for vertex in graph.vertices):
        color = "#" + bytes(map(int, _COLORS[kind].split(","))).hex()
        lines.append(f"    classDef {kind} fill:{color}33,stroke:{color},text-align:left")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """A text for the quotes of Mermaid: letters, digits and a few signs stay, and all others become
    their numbers, so that nothing is markup of Mermaid, Markdown or HTML.
    """
    start = re.match(r"\d+[.)]|[-+]", text)  # Markdown begins an item of a list so
    end = start.end() if start else 0
    return "".join(
        one if one.isalnum() or (one in _PLAIN_SIGNS and at >= end) else f"#{ord(one)};"
        for at, one in enumerate(text)
    )


# ---- Terminal -----------------------------------------------------------------------------------

# A drawing for a terminal: a line for each vertex, and at its left the rows that go past it.

_WIDTH = 100
_LEAST_TEXT = 48  # characters of a line that are there for text, however many lanes there are
_MARKS = {"files": "○", "more": "○", "batch": "◆"}
_IN_ASCII = str.maketrans(dict(zip("○●◆│─┼┴├┤╰╯", "o*#|-++++``", strict=True), **{"→": "->"}))


class _Lanes:
    """The columns at the left: one for each vertex whose rows a later vertex takes."""

    def __init__(self, graph: Drawn) -> None:
        self._takers: list[set[int]] = [set() for _ in graph.vertices]
        self._inputs: list[list[int]] = [[] for _ in graph.vertices]
        for edge in graph.edges:
            self._takers[edge.source].add(edge.target)
            if edge.source not in self._inputs[edge.target]:
                self._inputs[edge.target].append(edge.source)
        self._lanes: list[int | None] = []  # the vertex of each lane

    def start(self, place: int, mark: str) -> str:
        """The lanes in front of the title of a vertex, with the lines to its inputs."""
        taken = {lane: own for lane, own in enumerate(self._lanes) if own in self._inputs[place]}
        for own in taken.values():
            assert own is not None
            self._takers[own].discard(place)
        ending = [lane for lane, own in taken.items() if own is not None and not self._takers[own]]
        lane = ending[0] if ending else len(self._lanes)  # a new one is at the right of all others
        if not ending:
            self._lanes.append(None)
        for one in ending:
            self._lanes[one] = None
        text = self._connected(lane, set(taken), mark)
        self._lanes[lane] = place if self._takers[place] else None
        while self._lanes and self._lanes[-1] is None:
            self._lanes.pop()
        return text

    def _connected(self, lane: int, taken: set[int], mark: str) -> str:
        ends = [lane, *taken]
        first, last = min(ends), max(ends)
        text = ""
        for column, own in enumerate(self._lanes):
            inside = first <= column < last
            if column == lane:
                sign = mark
            elif column in taken:
                sign = _corner(own is not None, column > first, column < last)
            else:
                sign = "│" if own is not None else "─" if first < column < last else " "
            text += sign + ("─" if inside else " ")
        return text.rstrip()

    def beside(self) -> str:
        """The lanes in front of any other line."""
        return "".join("  " if own is None else "│ " for own in self._lanes)


def _corner(goes_on: bool, to_left: bool, to_right: bool) -> str:
    """The sign at which the lane of an input meets the line to the vertex that takes it."""
    if to_left and to_right:
        return "┼" if goes_on else "┴"
    if to_right:
        return "├" if goes_on else "╰"
    return "┤" if goes_on else "╯"


def _drawn_text(graph: Drawn) -> str:
    """The drawing as lines of at most 100 characters, unless there are very many lanes."""
    lanes = _Lanes(graph)
    lines: list[str] = []
    for place, vertex in enumerate(graph.vertices):
        start = lanes.start(place, _MARKS.get(vertex.kind, "●"))
        beside = lanes.beside()
        indent = max(len(start), len(beside.rstrip())) + 1
        title, details = _texts(lines_of(graph, place), _WIDTH - indent, vertex.kind == FILES)
        lines.append(f"{start:<{indent}}{title}")
        lines += [f"{beside:<{indent}}  {detail}".rstrip() for detail in details]
        if place + 1 < len(graph.vertices):
            lines.append(beside.rstrip())
    return "\n".join(lines)


def _printed_text(graph: Drawn) -> str:
    """The drawing in characters that stdout can print: ASCII if there are no others."""
    text, stdout_has = _drawn_text(graph), getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(stdout_has)
    except UnicodeEncodeError:
        text = text.translate(_IN_ASCII)  # escapes are for what is left, such as names of files
        text = text.encode(stdout_has, "backslashreplace").decode(stdout_has)
    return text


def _texts(lines: Sequence[_Line], width: int, is_files: bool) -> tuple[str, list[str]]:
    """The line of the title, with name and attrs if there is room, and the lines below it."""
    width = max(_LEAST_TEXT, width)
    by_role: dict[str, list[str]] = {}
    for line in lines:
        by_role.setdefault(line.role, []).append(line.text)
    attrs = ", ".join(by_role.get("attr", ()))
    count = "".join(f" {said}" for said in by_role.get("count", ()))
    head = lines[0].text
    for name in by_role.get("name", ()):
        head = f"{head}: {name}" if is_files else f"{name} = {head}"
    details: list[str] = []
    if attrs and len(head) + len(attrs) + len(count) + 2 <= width:
        head += f"({attrs})"
    elif attrs:
        details += textwrap.wrap(attrs, width - 2)
    for line in lines:
        if line.role in ("input", "output", "wanted", "note"):
            details += textwrap.wrap(line.text, width - 2, subsequent_indent="    ")
    return clipped(head + count, width), details


# ---- The graph as a value -----------------------------------------------------------------------

class Graph(Drawn):
    """The graph of a loader, from the files down to the batch; `flow.graph()` makes it.

    `str()` is a drawing for a terminal, and a notebook shows a picture.  Two graphs are equal if
    their vertices and edges are.

    Attributes:
        vertices: Files, readers, views of data sets, ops, and last the batch; inputs come before
            the vertices that take them.
        edges: The edges between them, by the numbers of vertices.
    """

    def __str__(self) -> str:
        return _printed_text(self)

    def __repr__(self) -> str:
        return str(self)

    def to_svg(self) -> str:
        """The picture as an SVG file, light or dark as its viewer is."""
        return _drawn_svg(self, is_file=True)

    def to_mermaid(self) -> str:
        """The text of a Mermaid flowchart, which GitHub and many wikis draw."""
        return _drawn_mermaid(self)

    def to_html(self) -> str:
        """A page with the picture and a table of the blobs, which needs nothing else."""
        return _drawn_page(self)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{_drawn_svg(self, is_file=False)}</div>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file; its ending selects the form: .svg, .html, .mmd for Mermaid or .txt.

        Raises:
            InvalidArgumentError: The name has another ending.
            OSError: The file cannot be written.
        """
        save_as(path, "a graph", {
            ".svg": self.to_svg, ".html": self.to_html, ".mmd": self.to_mermaid,
            ".txt": lambda: f"{_drawn_text(self)}\n",
        })  # fmt: skip


def graph(*blobs: Any) -> Graph:
    """The graph of blobs: a drawing of the files, readers, views, ops and the batch.

    The drawing shows the attrs that differ from their defaults, dtype and shape of each output, the
    bytes of a row and of a full batch of this rank, the ops that are computed as one, and the ops
    that are not needed. Files are counted and their sizes are looked up; no data are read, and no
    loader is opened.

    Args:
        *blobs: What a `DataLoader` takes: blobs, or one tuple or dict of blobs; or a `Dataset`; or
            a `DataLoader`, which adds the numbers of records and of batches, the parts of the files
            that no field contains, and the outputs that are float64.

    Raises:
        InvalidArgumentError: The argument is none of these, or the blobs cannot be in one loader.
    """
    facts: list[str] = []
    given: Any = blobs[0] if len(blobs) == 1 else blobs
    loader = _loader_of(given)
    if loader is not None:
        given = loader._opened.form(list(loader.blobs))  # as they were given to it
        facts = _facts_of(loader, _named(given))
    is_data_set = isinstance(given, Records)
    builder = Builder(_named(given), is_data_set=is_data_set)
    builder.finish(facts)
    return Graph(*_folded(builder.vertices, builder.edges))


def _loader_of(given: Any) -> Any:
    """The DataLoader that was given, or that a loader of torch or JAX has taken over."""
    if isinstance(given, (Blob, Records, Mapping, tuple, list)):
        return None
    return getattr(given, "data_loader", None)


def _facts_of(loader: Any, wanted: Mapping[str, Blob]) -> list[str]:
    left_out = dict.fromkeys(said for node in nodes_of(wanted.values()) for said in node.left_out)
    wide = [key for key, blob in wanted.items() if blob.dtype == np.float64]
    found = [*_lengths_of(loader), *(f"left out of the files: {said}" for said in left_out)]
    if wide:
        found.append(
            f"float64: {', '.join(map(printable, wide))}; Cast(x, dtype='float32') halves the "
            "bytes, and weights of float32 take no other"
        )
    return found


def _lengths_of(loader: Any) -> list[str]:
    records = [reader.records for reader in loader.readers]
    said = [counted(records[0], "record")] if min(records) >= 0 and len({*records}) == 1 else []
    try:
        batches = len(loader)
    except TypeError:
        return [*said, "a stream: batches are counted at the end of an epoch"]
    return [*said, f"{counted(batches, 'batch', 'batches')} an epoch"]


def _named(given: Any) -> Mapping[str, Blob]:
    """The wanted blobs, under the names that a batch gives them."""
    if isinstance(given, Records):
        return given.first_batch(1)
    if isinstance(given, Blob):
        return {given.name: given}
    named = getattr(given, "blobs", None)  # batches of a data set have them
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
