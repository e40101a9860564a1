"""Where boxes and edges of a drawing lie: in layers, from top to bottom.

Each vertex is in a layer above the first one that takes its rows.  An edge over several layers
goes through a gap in each of them, which is placed like a box, so no edge crosses a box.  Edges
from one box, or to one, share these gaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

_GAP = 28.0  # between two boxes of a layer
_LAYER_GAP = 44.0
_PASSAGE = 10.0  # width of an edge that goes through a layer
_MOST_WIDTH = 2000.0  # of a layer: more boxes lie in several rows
_SWEEPS = 12


def _in_rows(depths: Sequence[int], widths: Sequence[float]) -> list[int]:
    """The depths of boxes, counted from the last layer, where wide layers are several."""
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
class Place:
    """A box in its layer, or the passage of an edge through a layer.

    Attributes:
        vertex: Its number; -1: a passage.
        width, height: In pixels.
        x, y: Of the middle of its upper side.
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
        """How much its place matters: edges that pass are to be straight."""
        return 1.0 if self.vertex >= 0 else 6.0


class Layout:
    """Attributes:
    places: The boxes, in the order of the vertices, then the passages.
    paths: For each edge the numbers of the places that it goes through.
    width, height: Of all.
    """

    def __init__(
        self, sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]
    ) -> None:
        """Args: width and height of each box; edges from a box to a later one."""
        depths = [0] * len(sizes)
        for source, target in sorted(edges, reverse=True):
            depths[source] = max(depths[source], depths[target] + 1)
        depths = _in_rows(depths, [width for width, _ in sizes])
        deepest = max(depths, default=0)
        self.places = [
            Place(vertex, width, height, deepest - depth)
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
        """The places of an edge, which shares its passages with others of the same source, or of
        the same target."""
        shared = ("from", source) if shares_start else ("to", target)
        path = [source]
        for layer in range(self.places[source].layer + 1, self.places[target].layer):
            own = self._passages.setdefault((*shared, layer), len(self.places))
            if own == len(self.places):
                self.places.append(Place(-1, _PASSAGE, 0.0, layer))
            path.append(own)
        path.append(target)
        for upper, lower in zip(path, path[1:], strict=False):
            if lower not in self.places[upper].below:
                self.places[upper].below.append(lower)
                self.places[lower].above.append(upper)
        return path

    # ---- Order in the layers ------------------------------------------------------------------

    def _order(self) -> None:
        """Sorts each layer by the middle of the neighbours, in turn from above and below, and
        keeps the order with the fewest crossings."""
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
            """The mean rank of the neighbours; without any, the own one."""
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
        """The middle of the neighbours above, when going down, or below."""
        place = self.places[number]
        near = (place.above or place.below) if down else (place.below or place.above)
        return sum(self.places[one].x for one in near) / len(near) if near else place.x

    def _place_layer(self, layer: Sequence[int], wishes: Sequence[float]) -> None:
        """Sets x so that nothing overlaps and the squares of the distances from the wishes are
        smallest: neighbours that would overlap move together, as a block."""
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
