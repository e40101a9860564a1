"""Equal branches of a data set as one: a mix of 60 alike sources is drawn as one, "x 60"."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from .model import FILES, MORE, VIEW, Edge, Vertex

LEAST_ALIKE = 4  # branches that are drawn as one
_MOST_BRANCHES = 8  # of a view that are drawn


class _Branches:
    """Finds for each vertex the one that is drawn for it, from the last vertex upwards."""

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
        self.alike: dict[int, list[int]] = {}  # of a drawn vertex: those that it stands for

    def _number_kinds(self) -> list[int]:
        """A number for each vertex, the same for those that are alike with all upstream."""
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
        """Goes through the vertices, those that take the rows of a vertex before it."""
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
        """The one vertex of a data set, as it is drawn, that takes the rows of this one."""
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
        """The vertices that are drawn for these groups of alike ones, in order."""
        drawn: list[int] = []
        for members in groups:
            if len(members) < max(LEAST_ALIKE, count_below if count_below > 1 else 0):
                drawn += members
                continue
            for member in members:
                self.drawn_as[member] = members[0]
            self.alike[members[0]] = list(members)
            drawn.append(members[0])
        return sorted(drawn)


def folded(
    vertices: Sequence[Vertex], edges: Sequence[Edge]
) -> tuple[tuple[Vertex, ...], tuple[Edge, ...]]:
    """The vertices and edges that are drawn."""
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
