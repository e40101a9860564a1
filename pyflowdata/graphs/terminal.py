"""A drawing for a terminal: a line for each vertex, and at its left the rows that go past it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from ..plain_text import clipped
from .box_lines import Line, lines_of
from .model import FILES, Drawn

_WIDTH = 100
_LEAST_TEXT = 48  # characters of a line that are there for text, however many lanes there are
_MARKS = {"files": "○", "more": "○", "batch": "◆"}
_IN_ASCII = str.maketrans(dict(zip("○●◆│─┼┴├┤╰╯", "o*#|-++++``", strict=True), **{"→": "->"}))


class _Lanes:
    """Columns at the left, one for each vertex whose rows are still to be taken."""

    def __init__(self, graph: Drawn) -> None:
        self._takers: list[set[int]] = [set() for _ in graph.vertices]
        self._inputs: list[list[int]] = [[] for _ in graph.vertices]
        for edge in graph.edges:
            self._takers[edge.source].add(edge.target)
            if edge.source not in self._inputs[edge.target]:
                self._inputs[edge.target].append(edge.source)
        self._lanes: list[int | None] = []  # the vertex of each lane

    def start(self, place: int, mark: str) -> str:
        """The lanes in front of the title of a vertex, which is connected with its inputs."""
        taken = {lane: own for lane, own in enumerate(self._lanes) if own in self._inputs[place]}
        for own in taken.values():
            assert own is not None
            self._takers[own].discard(place)
        ending = [lane for lane, own in taken.items() if own is not None and not self._takers[own]]
        lane = ending[0] if ending else self._free_lane()
        for one in ending:
            self._lanes[one] = None
        text = self._connected(lane, set(taken), mark)
        self._lanes[lane] = place if self._takers[place] else None
        while self._lanes and self._lanes[-1] is None:
            self._lanes.pop()
        return text

    def _free_lane(self) -> int:
        """Where a vertex goes that begins a lane: at the right of all others."""
        self._lanes.append(None)
        return len(self._lanes) - 1

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
    """Where an input's lane meets the line to the vertex that takes it."""
    if to_left and to_right:
        return "┼" if goes_on else "┴"
    if to_right:
        return "├" if goes_on else "╰"
    return "┤" if goes_on else "╯"


def drawn_text(graph: Drawn) -> str:
    """The drawing as lines of at most 100 characters, where there are not very many lanes."""
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


def printed_text(graph: Drawn) -> str:
    """The drawing in characters that stdout has: in ASCII where it has no others."""
    text, stdout_has = drawn_text(graph), getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(stdout_has)
    except UnicodeEncodeError:
        text = text.translate(_IN_ASCII)  # escapes are for what is left, such as names of files
        text = text.encode(stdout_has, "backslashreplace").decode(stdout_has)
    return text


def _texts(lines: Sequence[Line], width: int, is_files: bool) -> tuple[str, list[str]]:
    """The line of the title, with name and attrs if there is room, and those below it."""
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
