"""The lines of text in the box of a vertex, which all forms of a drawing share."""

from __future__ import annotations

from typing import NamedTuple

from ..plain_text import clipped
from .model import OP, Drawn, Vertex

_MOST_OUTPUTS = 12
_LONGEST_VALUE = 44
_LONGEST_NAME = 48


class Line(NamedTuple):
    """A line of a box.

    Attributes:
        role: "title", "count", "name", "attr", "input", "output", "wanted" (an output that the
            batch has) or "note".
        text: As it is drawn.
        whole: Without what was cut off.
    """

    role: str
    text: str
    whole: str


def lines_of(graph: Drawn, place: int) -> list[Line]:
    """The lines of a vertex, its title first."""
    vertex = graph.vertices[place]
    lines = [_line("title", vertex.title)]
    if vertex.count > 1 and vertex.files is None:
        lines.append(_line("count", f"x {vertex.count}"))
    if vertex.name:
        lines.append(_line("name", vertex.name, _LONGEST_NAME))
    for name, value in vertex.attrs:
        lines.append(Line("attr", f"{name}={clipped(value, _LONGEST_VALUE)}", f"{name}={value}"))
    taken = _taken(graph, place)
    if taken:
        lines.append(_line("input", f"of {', '.join(taken)}"))
    lines += _output_lines(vertex)
    lines += [_line("note", note) for note in vertex.notes]
    return lines


def _line(role: str, text: str, width: int = 2 * _LONGEST_NAME) -> Line:
    return Line(role, clipped(text, width), text)


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


def _output_lines(vertex: Vertex) -> list[Line]:
    if vertex.passes:
        return []
    used = [one for one in vertex.outputs if one.is_used]
    lines = []
    for one in used[:_MOST_OUTPUTS]:
        keys = ", ".join(one.wanted)
        said = f"{one.type_text} → {keys}" if keys else f"{one.type_text}, {one.bytes_text}"
        short = f"{clipped(one.name, _LONGEST_NAME)}: {clipped(said, _LONGEST_VALUE * 2)}"
        lines.append(Line("wanted" if keys else "output", short, f"{one.name}: {said}"))
    if len(used) > _MOST_OUTPUTS:
        lines.append(_line("note", f"and {len(used) - _MOST_OUTPUTS} more outputs"))
    unused = [one.name for one in vertex.outputs if not one.is_used]
    if unused:
        lines.append(_line("note", f"not used: {', '.join(unused)}", _LONGEST_NAME))
    return lines
