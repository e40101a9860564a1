"""Charts as SVG, for a page: bars, areas over time, points, and strips of shares.

Every chart is as wide as the page has room: places across are in percent, and heights in pixels,
so that letters keep their size on a phone.  Colours are classes, which the page's style defines.
What stands left of a chart, such as the names of its ticks, lies in the margin that the class
`chart` has there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..words.html_text import Html, decimal, element
from ..words.plain_text import seconds


# ---- Ticks --------------------------------------------------------------------------------------

_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)


def edge_text(power: int) -> str:
    """2**power nanoseconds, with two digits: 260 us, 1 ms, 17 ms."""
    return seconds(float(f"{2.0**power / 1e9:.1e}"))


def _round_step(most: float, count: int) -> float:
    """1, 2 or 5 times a power of ten, at most `count` of which go into `most`; and one does, from a
    count of 3 on."""
    least = most / count
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= least * (1 - 1e-9))


def _multiples(most: float, step: float) -> list[float]:
    return [i * step for i in range(int(most / step * (1 + 1e-9)) + 1)]


def ticks(most: float, count: int = 4) -> list[float]:
    """Round numbers from 0 to at most `most`."""
    return _multiples(most, _round_step(most, count)) if most > 0 else [0.0]


def whole_ticks(most: float, count: int = 4) -> list[float]:
    """Round whole numbers from 0 to at most `most`."""
    return _multiples(most, max(1.0, _round_step(most, count))) if most > 0 else [0.0]


def time_ticks(most: float, count: int = 5) -> list[float]:
    """Moments from 0 s to at most `most` that a clock would show."""
    if most < count:
        return ticks(most, count)
    steps = (one for one in _TIME_STEPS if most / one <= count)
    return _multiples(most, next(steps, 86400 * _round_step(most / 86400, count)))


def moment_text(moment: float) -> str:
    """One of `time_ticks()`: 0, 0.5 s, 90 s, 5 min, 2 h."""
    if moment >= 3600 and moment % 3600 == 0:
        return f"{moment / 3600:g} h"
    if moment > 60 and moment % 60 == 0:
        return f"{moment / 60:g} min"
    return seconds(moment) if moment else "0"


# ---- Style of a page ----------------------------------------------------------------------------

# Light and dark, for phones, screens and paper.  People who are colour-blind can tell the colours
# a, b, c and d apart (Okabe and Ito, 2008), which also differ in lightness.

STYLE = """
:root{color-scheme:light dark;
--page:#fff;--card:#f6f7f9;--text:#1b1f24;--soft:#59636e;--line:#d5dae0;--rest:#e3e7ec;
--a:#0072b2;--b:#e08a00;--c:#009e73;--d:#b9568f;--bad:#b3480d;--good:#00775a}
@media (prefers-color-scheme:dark){:root{
--page:#0f1318;--card:#181d24;--text:#e6eaef;--soft:#9aa5b1;--line:#323a44;--rest:#2a313a;
--a:#56b4e9;--b:#f0a830;--c:#2fc39a;--d:#dc8fbb;--bad:#f0a070;--good:#4fd0aa}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:20px 16px 40px}
h1{font-size:14px;font-weight:600;color:var(--soft);margin:0 0 12px;overflow-wrap:anywhere}
h2{font-size:18px;margin:36px 0 4px;break-after:avoid}
h3{font-size:15px;margin:18px 0 2px;break-after:avoid}
p{margin:4px 0 10px;max-width:90ch}
.soft,figcaption{color:var(--soft);font-size:13px}
.verdict{border:1px solid var(--line);border-left:6px solid var(--bad);border-radius:6px;
background:var(--card);padding:14px 18px;overflow-wrap:anywhere}
.verdict.good{border-left-color:var(--good)}
.verdict.unsure{border-left-color:var(--soft)}
.verdict p{font-size:19px;line-height:1.4;margin:0;font-weight:600}
.verdict ul{margin:10px 0 0;padding-left:20px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(122px,1fr));gap:10px;
  margin:14px 0 0}
.tile{border:1px solid var(--line);border-radius:6px;padding:8px 12px}
.tile b{display:block;font-size:20px;line-height:1.3;font-weight:600}
.tile span{color:var(--soft);font-size:13px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:8px 40px}
figure{margin:10px 0 0;min-width:0;break-inside:avoid}
figcaption{margin-top:2px;max-width:110ch}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:6px 0 0;padding:0;list-style:none;
  font-size:13px}
.legend svg{width:12px;height:12px;margin-right:6px;vertical-align:-1px}
svg.chart{display:block;overflow:visible;margin-left:56px;width:calc(100% - 66px)}
svg.wide{margin-left:92px;width:calc(100% - 102px)}
svg.lying{display:block}
svg text{font-size:12px;fill:var(--text)}
svg text.tick{fill:var(--soft)}
svg text.title{font-weight:600}
.grid{stroke:var(--line);stroke-width:1}
.axis{stroke:var(--soft);stroke-width:1}
.mark{stroke:var(--b);stroke-width:1;stroke-opacity:.4}
.rest{fill:var(--rest)}
.a{fill:var(--a)}.b{fill:var(--b)}.c{fill:var(--c)}.d{fill:var(--d)}.e{fill:var(--rest)}
.area{fill-opacity:.75}
.hover{fill:var(--text);fill-opacity:0}
.hover:hover{fill-opacity:.12}
.dots{stroke:var(--a);stroke-linecap:round;vector-effect:non-scaling-stroke;fill:none;
  stroke-opacity:.75}
.cell{fill:var(--a)}
.scroll{overflow-x:auto}
.shares{margin:0;padding:0;list-style:none}
.shares li{display:grid;grid-template-columns:minmax(0,270px) 1fr 58px;gap:0 16px;margin:5px 0;
  align-items:center;font-size:14px;break-inside:avoid}
.shares span:first-child{overflow-wrap:anywhere}
.shares span:last-child{text-align:right;color:var(--soft)}
table{border-collapse:collapse;width:100%;font-size:14px;margin:8px 0}
th,td{text-align:right;padding:5px 0 5px 14px;border-bottom:1px solid var(--line);
  vertical-align:top}
th{font-weight:600;color:var(--soft);font-size:13px;vertical-align:bottom}
th:first-child,td:first-child,.words th,.words td{text-align:left;padding-left:0;padding-right:14px}
td{font-variant-numeric:tabular-nums;white-space:nowrap}
td:first-child,.words td+td{white-space:normal;overflow-wrap:anywhere}
.words td:first-child{white-space:nowrap;width:1%}
code{font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
@media screen and (max-width:720px){
.shares li{grid-template-columns:1fr 64px;margin:8px 0}
.shares svg{grid-row:2;grid-column:1/-1}
table,tbody,td{display:block}thead{display:none}
tr{display:grid;grid-template-columns:1fr 1fr;gap:0 28px;border-bottom:1px solid var(--line);
  padding:8px 0}
.words tr{grid-template-columns:100px minmax(0,1fr)}
td,.words td{border:0;padding:2px 0;text-align:left;display:flex;justify-content:space-between;
  gap:10px}
td:first-child{font-weight:600;grid-column:1/-1}
.words td:first-child{font-weight:400;color:var(--soft);grid-column:1;white-space:normal;width:auto}
td[data-of]::before{content:attr(data-of);color:var(--soft);font-weight:400;flex:none}
td>span{text-align:right;min-width:0}
td:first-child>span,.words td>span{text-align:left}
h2{margin-top:28px}.verdict p{font-size:17px}}
@media print{
:root{color-scheme:light;
--page:#fff;--card:#fff;--text:#000;--soft:#444;--line:#bbb;--rest:#e3e7ec;
--a:#0072b2;--b:#e08a00;--c:#009e73;--d:#b9568f;--bad:#b3480d;--good:#00775a}
body{font-size:12px}
main{max-width:none;padding:0}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.tile,.verdict,tr{break-inside:avoid}
}
""".lstrip()


# ---- What charts are made of --------------------------------------------------------------------

_TEXT = 15  # pixels from one line of text to the next
_UNITS = 1000  # across a drawing that is stretched


@dataclass(frozen=True)
class Axis:
    """One direction of a chart.

    Attributes:
        most: The value at its end; it begins at 0.
        ticks: Values, and the text at each.
        title: What is counted, with the unit.
    """

    most: float
    ticks: Sequence[tuple[float, str]]
    title: str = ""

    def share(self, value: float) -> float:
        """The place of a value, from 0 to 1."""
        return min(max(value / self.most, 0.0), 1.0) if self.most > 0 else 0.0


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: its height, and its text."""

    value: float
    said: str


@dataclass(frozen=True)
class Segment:
    """A segment of a stacked bar.

    Attributes:
        share: The share of the whole bar, from 0 to 1.
        color: A class.
        said: The segment in words.
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


def _chart(height: float, said: str, shapes: Iterable[object], kind: str = "chart") -> Html:
    return element(
        "svg", *shapes, class_=kind, role="img", aria_label=said, width="100%", height=height
    )


def _stretched(y: float, height: float, shapes: Iterable[object]) -> Html:
    """A drawing of 1000 units across and as many as it has pixels upwards."""
    return element(
        "svg", *shapes, x="0", y=y, width="100%", height=height,
        viewBox=f"0 0 {_UNITS} {decimal(height)}", preserveAspectRatio="none",
    )  # fmt: skip


def _hover(said: str) -> Html:
    return element("title", said) if said else Html("")


# ---- Axes ---------------------------------------------------------------------------------------


def _grid(up: Axis, top: float, height: float) -> list[Html]:
    """Lines across at the ticks, their names on the left, and the title above."""
    shapes = [_text(0, top - 7, up.title, "title")] if up.title else []
    for value, name in up.ticks:
        y = top + height * (1 - up.share(value))
        shapes.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="grid"))
        shapes.append(_text(0, y + 4, name, "tick", dx=-6, text_anchor="end"))
    return shapes


def _scale(across: Axis, y: float) -> list[Html]:
    """Ticks below a chart, and the title below them."""
    shapes = [element("line", x1="0", x2="100%", y1=y, y2=y, class_="axis")]
    for value, name in across.ticks:
        place = across.share(value)
        shapes.append(
            element("line", x1=_percent(place), x2=_percent(place), y1=y, y2=y + 4, class_="axis")
        )
        anchor = "end" if place > 0.98 else "middle"
        shapes.append(_text(place, y + 17, name, "tick", text_anchor=anchor))
    if across.title:
        shapes.append(_text(0.5, y + 17 + _TEXT, across.title, "tick", text_anchor="middle"))
    return shapes


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
        up: The axis of their values.
        across: Its values count bars: 0 is the left end of the first one.
        said: The chart in words, for those who do not see it.
        height: The height of the bars, in pixels.
        color: A class.
    """
    top = 22.0
    shapes = _grid(up, top, height)
    for place, bar in enumerate(bars):
        tall = max(2.0, height * up.share(bar.value)) if bar.value else 0.0
        shapes.append(
            element(
                "rect", _hover(bar.said), class_=f"bar {color}", y=top + height - tall, height=tall,
                x=_percent((place + 0.08) / len(bars)), width=_percent(0.84 / len(bars)),
            )
        )  # fmt: skip
    shapes += _scale(across, top + height)
    return _chart(top + height + _below(across), said, shapes)


def timeline(
    panels: Sequence[Panel], ends: Sequence[float], across: Axis, hovers: Sequence[str], said: str,
    *, height: float = 84,
) -> Html:  # fmt: skip
    """Areas above each other over the same time, with a step for each period.

    Args:
        panels: From the top.
        ends: Where each period ends, on the axis across; the first begins at 0.
        across: The time.
        hovers: Each period in words.
        said: The chart in words.
        height: The height of each panel, in pixels.
    """
    edges = [across.share(end) for end in (0.0, *ends)]
    shapes: list[Html] = []
    top = 22.0
    for panel in panels:
        shapes += _grid(panel.up, top, height)
        shapes.append(_stretched(top, height, [_area(panel, edges, height)]))
        top += height + 32
    bottom = top - 32
    for place, hover in enumerate(hovers):
        begin, end = edges[place], edges[place + 1]
        shapes.append(
            element(
                "rect", _hover(hover), class_="hover", x=_percent(begin), y=0, height=bottom,
                width=_percent(end - begin),
            )
        )  # fmt: skip
    shapes += _scale(across, bottom)
    return _chart(bottom + _below(across), said, shapes)


def _area(panel: Panel, edges: Sequence[float], height: float) -> Html:
    path = [f"M0 {decimal(height)}"]
    for value, end in zip(panel.values, edges[1:], strict=True):
        path.append(f"V{decimal(height * (1 - panel.up.share(value)))}H{decimal(_UNITS * end)}")
    path.append(f"V{decimal(height)}Z")
    return element("path", d="".join(path), class_=f"area {panel.color}")


def stacked(segments: Sequence[Segment], said: str, *, height: float = 18) -> Html:
    """One lying bar of several segments, as wide as the page; the rest stays empty."""
    drawn = [element("rect", class_="rest", x="0", y=0, width="100%", height=height)]
    begin = 0.0
    for segment in segments:
        width = min(max(segment.share, 0.0), 1.0 - begin)
        drawn.append(
            element(
                "rect", _hover(segment.said), class_=f"bar {segment.color}", y=0, height=height,
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
    shapes = [*_grid(up, top, height)]
    shapes += [element("line", x1="0", x2="100%", y1=y, y2=y, class_="mark") for y in heights]
    shapes += [_stretched(top, height, [dots]), *_scale(across, top + height)]
    return _chart(top + height + _below(across), said, shapes)


_SHADES = 8


def strips(
    names: Sequence[str], shares: Sequence[Sequence[float]], across: Axis, said: str,
    *, height: float = 17,
) -> Html:  # fmt: skip
    """A row of cells for each name: the darker, the larger its share; 0 is empty.

    Args:
        names: The names of the rows, from the top.
        shares: The shares of each row, from left to right: from 0 to 1, the darkest shade.
        across: Its values count cells.
        said: The chart in words.
        height: The height of a row, in pixels.
    """
    columns = max(len(row) for row in shares)
    cells: dict[int, list[str]] = {}
    width = _UNITS / columns
    for place, row in enumerate(shares):
        for column, share in enumerate(row):
            if share > 0:
                shade = min(_SHADES, 1 + int(share * _SHADES))
                cells.setdefault(shade, []).append(
                    f"M{decimal(column * width)} {decimal(place * height)}"
                    f"h{decimal(width)}v{decimal(height - 1)}h-{decimal(width)}z"
                )
    bottom = height * len(names)
    drawn = [
        element("path", d="".join(paths), class_="cell", fill_opacity=shade / _SHADES)
        for shade, paths in sorted(cells.items())
    ]
    shapes = [
        _text(0, height * (place + 0.5) + 4, name, "tick", dx=-6, text_anchor="end")
        for place, name in enumerate(names)
    ]
    shapes += [_stretched(0, bottom, drawn), *_scale(across, bottom)]
    kind = "chart wide" if max(map(len, names)) > 7 else "chart"
    return _chart(bottom + _below(across), said, shapes, kind)
