"""Charts as SVG, for a page: bars, areas over time, points, and strips of shares.

Every chart is as wide as the page has room: places across are in percent, and heights in pixels,
so that letters keep their size on a phone.  Colours are classes, which the page's style defines.
What stands left of a chart, such as the names of its ticks, lies in the margin that the class
`chart` has there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..html_text import Html, decimal, element

_TEXT = 15  # pixels from one line of text to the next
_UNITS = 1000  # across a drawing that is stretched


@dataclass(frozen=True)
class Axis:
    """One direction of a chart.

    Attributes:
        most: The value at its end; it begins at 0.
        ticks: Values, and what is written there.
        title: What is counted, with the unit.
    """

    most: float
    ticks: Sequence[tuple[float, str]]
    title: str = ""

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        return min(max(value / self.most, 0.0), 1.0) if self.most > 0 else 0.0


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: its height, and what is said of it."""

    value: float
    said: str


@dataclass(frozen=True)
class Part:
    """A part of a stacked bar.

    Attributes:
        share: Of the whole bar, from 0 to 1.
        color: A class.
        said: What is said of it.
    """

    share: float
    color: str
    said: str


@dataclass(frozen=True)
class Panel:
    """A chart over time: its axis upwards, a value for each period, and a colour's class."""

    up: Axis
    values: Sequence[float]
    color: str


# ---- Elements -----------------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{decimal(100 * share)}%"


def _text(x: float, y: float, content: str, color: str, **attrs: object) -> Html:
    return element("text", content, x=_percent(x), y=y, class_=color, **attrs)


def _chart(height: float, said: str, parts: Iterable[object], kind: str = "chart") -> Html:
    return element(
        "svg", *parts, class_=kind, role="img", aria_label=said, width="100%", height=height
    )


def _stretched(y: float, height: float, parts: Iterable[object]) -> Html:
    """A drawing of 1000 units across and as many as it has pixels upwards."""
    return element(
        "svg", *parts, x="0", y=y, width="100%", height=height,
        viewBox=f"0 0 {_UNITS} {decimal(height)}", preserveAspectRatio="none",
    )  # fmt: skip


def _hover(said: str) -> Html:
    return element("title", said) if said else Html("")


# ---- Axes ---------------------------------------------------------------------------------------


def _grid(up: Axis, top: float, height: float) -> list[Html]:
    """Lines across at the ticks, their names on the left, and the title above."""
    parts = [_text(0, top - 7, up.title, "title")] if up.title else []
    for value, name in up.ticks:
        y = top + height * (1 - up.share(value))
        parts.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="grid"))
        parts.append(_text(0, y + 4, name, "tick", dx=-6, text_anchor="end"))
    return parts


def _scale(across: Axis, y: float) -> list[Html]:
    """Ticks below a chart, and the title below them."""
    parts = [element("line", x1="0", x2="100%", y1=y, y2=y, class_="axis")]
    for value, name in across.ticks:
        place = across.share(value)
        parts.append(
            element("line", x1=_percent(place), x2=_percent(place), y1=y, y2=y + 4, class_="axis")
        )
        anchor = "end" if place > 0.98 else "middle"
        parts.append(_text(place, y + 17, name, "tick", text_anchor=anchor))
    if across.title:
        parts.append(_text(0.5, y + 17 + _TEXT, across.title, "tick", text_anchor="middle"))
    return parts


def _below(across: Axis) -> float:
    """Pixels that `_scale()` takes."""
    return 22 + (_TEXT if across.title else 0)


# ---- Charts -------------------------------------------------------------------------------------


def histogram(
    bars: Sequence[Bar], up: Axis, across: Axis, said: str, *, height: float = 120, color: str = "a"
) -> Html:
    """Upright bars side by side; a bar whose value is not 0 is at least two pixels high.

    Args:
        bars: From left to right.
        up: Of their values.
        across: Its values count bars: 0 is the left end of the first one.
        said: The chart in words, for those who do not see it.
        height: Of the bars, in pixels.
        color: A class.
    """
    top = 22.0
    parts = _grid(up, top, height)
    for place, bar in enumerate(bars):
        tall = max(2.0, height * up.share(bar.value)) if bar.value else 0.0
        parts.append(
            element(
                "rect", _hover(bar.said), class_=f"bar {color}", y=top + height - tall, height=tall,
                x=_percent((place + 0.08) / len(bars)), width=_percent(0.84 / len(bars)),
            )
        )  # fmt: skip
    parts += _scale(across, top + height)
    return _chart(top + height + _below(across), said, parts)


def timeline(
    panels: Sequence[Panel], ends: Sequence[float], across: Axis, hovers: Sequence[str], said: str,
    *, height: float = 84,
) -> Html:  # fmt: skip
    """Areas above each other over the same time, with a step for each period.

    Args:
        panels: From the top.
        ends: Where each period ends, on the axis across; the first begins at 0.
        across: The time.
        hovers: What is said of each period.
        said: The chart in words.
        height: Of each panel, in pixels.
    """
    edges = [across.share(end) for end in (0.0, *ends)]
    parts: list[Html] = []
    top = 22.0
    for panel in panels:
        parts += _grid(panel.up, top, height)
        parts.append(_stretched(top, height, [_area(panel, edges, height)]))
        top += height + 32
    bottom = top - 32
    for place, hover in enumerate(hovers):
        begin, end = edges[place], edges[place + 1]
        parts.append(
            element(
                "rect", _hover(hover), class_="hover", x=_percent(begin), y=0, height=bottom,
                width=_percent(end - begin),
            )
        )  # fmt: skip
    parts += _scale(across, bottom)
    return _chart(bottom + _below(across), said, parts)


def _area(panel: Panel, edges: Sequence[float], height: float) -> Html:
    path = [f"M0 {decimal(height)}"]
    for value, end in zip(panel.values, edges[1:], strict=True):
        path.append(f"V{decimal(height * (1 - panel.up.share(value)))}H{decimal(_UNITS * end)}")
    path.append(f"V{decimal(height)}Z")
    return element("path", d="".join(path), class_=f"area {panel.color}")


def stacked(parts: Sequence[Part], said: str, *, height: float = 18) -> Html:
    """One lying bar of several parts, as wide as the page; what is left of it stays empty."""
    drawn = [element("rect", class_="rest", x="0", y=0, width="100%", height=height)]
    begin = 0.0
    for part in parts:
        width = min(max(part.share, 0.0), 1.0 - begin)
        drawn.append(
            element(
                "rect", _hover(part.said), class_=f"bar {part.color}", y=0, height=height,
                x=_percent(begin), width=_percent(width),
            )
        )  # fmt: skip
        begin += width
    return _chart(height, said, drawn, "lying")


def scatter(
    points: Iterable[tuple[float, float]], up: Axis, across: Axis, said: str,
    *, lines: Iterable[float] = (), height: float = 260, radius: float = 1.5,
) -> Html:  # fmt: skip
    """A dot for each pair of a place across and a place upwards, and lines at some upwards."""
    top = 22.0
    path = "".join(
        f"M{across.share(x) * _UNITS:.0f} {decimal(height * (1 - up.share(y)))}h0"
        for x, y in points
    )
    dots = element("path", d=path, class_="dots", stroke_width=2 * radius)
    heights = [top + height * (1 - up.share(one)) for one in lines]
    parts = [*_grid(up, top, height)]
    parts += [element("line", x1="0", x2="100%", y1=y, y2=y, class_="mark") for y in heights]
    parts += [_stretched(top, height, [dots]), *_scale(across, top + height)]
    return _chart(top + height + _below(across), said, parts)


SHADES = 8


def strips(
    names: Sequence[str], shares: Sequence[Sequence[float]], across: Axis, said: str,
    *, height: float = 17,
) -> Html:  # fmt: skip
    """A row of cells for each name: the darker, the larger its share; 0 is empty.

    Args:
        names: Of the rows, from the top.
        shares: Of each row, from left to right: from 0 to 1, the darkest shade.
        across: Its values count cells.
        said: The chart in words.
        height: Of a row, in pixels.
    """
    columns = max(len(row) for row in shares)
    cells: dict[int, list[str]] = {}
    width = _UNITS / columns
    for place, row in enumerate(shares):
        for column, share in enumerate(row):
            if share > 0:
                shade = min(SHADES, 1 + int(share * SHADES))
                cells.setdefault(shade, []).append(
                    f"M{decimal(column * width)} {decimal(place * height)}"
                    f"h{decimal(width)}v{decimal(height - 1)}h-{decimal(width)}z"
                )
    bottom = height * len(names)
    drawn = [
        element("path", d="".join(paths), class_="cell", fill_opacity=shade / SHADES)
        for shade, paths in sorted(cells.items())
    ]
    parts = [
        _text(0, height * (place + 0.5) + 4, name, "tick", dx=-6, text_anchor="end")
        for place, name in enumerate(names)
    ]
    parts += [_stretched(0, bottom, drawn), *_scale(across, bottom)]
    kind = "chart wide" if max(map(len, names)) > 7 else "chart"
    return _chart(bottom + _below(across), said, parts, kind)
