"""The text of a Mermaid flowchart."""

from __future__ import annotations

from .lines import lines_of
from .model import Drawn

_PLAIN_SIGNS = " ,.:/=()-+_"
_SHAPES = {"files": ("[(", ")]"), "more": ("[(", ")]"), "batch": ("([", "])")}
_COLORS = {"files": "#8884", "more": "#8884", "reader": "#3884ff33", "view": "#a05adc33",
           "batches": "#a05adc33", "op": "#14a06e33", "batch": "#e68c1433"}  # fmt: skip


def drawn_mermaid(graph: Drawn) -> str:
    """A flowchart: `n0` is the first vertex, and lines between fused ops are thick."""
    lines = ["flowchart TD"]
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
        lines.append(f"    classDef {kind} fill:{color},stroke:{color[:4]},text-align:left")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """The text between quotes of Mermaid: letters, digits and a few signs as they are, others by
    their numbers, so that none is markup of Mermaid, Markdown or HTML."""
    return "".join(
        one if one.isalnum() or one in _PLAIN_SIGNS else f"#{ord(one)};" for one in text
    )
