"""The text of a Mermaid flowchart."""

from __future__ import annotations

import re

from .box_lines import lines_of
from .model import Drawn

_PLAIN_SIGNS = " ,.:/=()-+_"
_SHAPES = {"files": ("[(", ")]"), "more": ("[(", ")]"), "batch": ("(", ")")}
_CONFIGURED = '%%{init: {"flowchart": {"wrappingWidth": 600}}}%%'
_COLORS = {"files": "#808080", "more": "#808080", "reader": "#3884ff", "view": "#a05adc",
           "batches": "#a05adc", "op": "#14a06e", "batch": "#e68c14"}  # fmt: skip


def drawn_mermaid(graph: Drawn) -> str:
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
        color = _COLORS[kind]
        lines.append(f"    classDef {kind} fill:{color}33,stroke:{color},text-align:left")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """The text between quotes of Mermaid: letters, digits and a few signs as they are, others by
    their numbers, so that none is markup of Mermaid, Markdown or HTML."""
    start = re.match(r"\d+[.)]|[-+]", text)  # of an item of a list, in Markdown
    end = start.end() if start else 0
    return "".join(
        one if one.isalnum() or (one in _PLAIN_SIGNS and at >= end) else f"#{ord(one)};"
        for at, one in enumerate(text)
    )
