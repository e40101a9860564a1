"""Small parts of drawings: text, boxes, arrows, and the squares that stand for records.

A picture is a panel in colours of its own, light or dark as its viewer is, so that it reads well on
any page.  The site puts the element itself into its pages, and gives it the colours of the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflowdata.words.html_text import Html, element, strung

_SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

LIGHT = {"panel": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#c4ccd4",
         "box": "#f4f6f8"}  # fmt: skip
DARK = {"panel": "#14181d", "ink": "#e6edf3", "soft": "#9aa5b1", "line": "#3d4651",
        "box": "#1d232a"}  # fmt: skip

# Of files, in turn.  People who are colour-blind can tell them apart, and they differ in lightness;
# the records of a file go from the first shade to the second.
HUES = (("#0b5c94", "#8fc4ea"), ("#a55300", "#ffc267"), ("#00664a", "#74d6b4"))


def colors(scheme: dict[str, str], under: str = "") -> str:
    """The rules that give a picture the colours of a scheme; `under`: a selector of what it lies
    in."""
    return (
        f"{under}.pfd .panel{{fill:{scheme['panel']}}}"
        f"{under}.pfd .box{{fill:{scheme['box']};stroke:{scheme['line']}}}"
        f"{under}.pfd .ink{{fill:{scheme['ink']}}}"
        f"{under}.pfd .soft{{fill:{scheme['soft']}}}"
        f"{under}.pfd .line{{stroke:{scheme['soft']};fill:none}}"
        f"{under}.pfd .frame{{stroke:{scheme['line']};fill:none}}"
    )


def page_colors() -> str:
    """The style of a page that has pictures in it, and drawings of graphs: as the page is."""
    rules = []
    for name, scheme in (("default", LIGHT), ("slate", DARK)):
        under = f"[data-md-color-scheme={name}] "
        rules += [colors(scheme, under), f"{under}svg.pfd-graph{{color:{scheme['ink']};"
                                         f"background:{scheme['panel']}}}"]  # fmt: skip
    return "\n".join(rules) + "\n"


_STYLE = (
    f".pfd text{{font-family:{_SANS};font-size:12px}}.pfd .head{{font-size:14px;font-weight:600}}"
    f".pfd .mono{{font-family:{_MONO};font-size:11.5px}}"
    + colors(LIGHT)
    + f"@media (prefers-color-scheme:dark){{{colors(DARK)}}}"
)


def picture(title: str, about: str, width: float, height: float, *parts: Html) -> str:
    """The text of a file: a panel with the parts on it.

    Args:
        title: What it shows, in a few words.
        about: The same for those who cannot see it.
        width, height: In pixels.
        parts: Elements.
    """
    panel = element("rect", class_="panel", width=width, height=height, rx=8)
    return strung((
        element(
            "svg", element("title", title), element("desc", about),
            element("style", Html(_STYLE)), panel, *parts,
            xmlns="http://www.w3.org/2000/svg", class_="pfd", role="img",
            width=width, height=height, viewBox=f"0 0 {width:g} {height:g}",
        ),
        "\n",
    ))  # fmt: skip


def label(x: float, y: float, said: str, class_: str = "ink", anchor: str = "start") -> Html:
    """A line of text."""
    middle = {} if anchor == "start" else {"text_anchor": anchor}
    return element("text", said, class_=class_, x=x, y=y, **middle)


def box(x: float, y: float, width: float, height: float) -> Html:
    return element("rect", class_="box", x=x, y=y, width=width, height=height, rx=6)


def frame(x: float, y: float, width: float, height: float) -> Html:
    return element("rect", class_="frame", x=x, y=y, width=width, height=height, rx=3)


def arrow(points: Sequence[tuple[float, float]]) -> Html:
    """A line through the points with a tip at the last one."""
    (x0, y0), (x, y) = points[-2:]
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    path = "M" + "L".join(f"{px:g},{py:g}" for px, py in points)
    tip = [(x, y), (x - 6 * dx - 4 * dy, y - 6 * dy + 4 * dx),
           (x - 6 * dx + 4 * dy, y - 6 * dy - 4 * dx)]  # fmt: skip
    return strung((
        element("path", class_="line", d=path, stroke_width=1.5),
        element("polygon", class_="soft", points=" ".join(f"{px:g},{py:g}" for px, py in tip)),
    ))  # fmt: skip


def _mixed(first: str, second: str, part: float) -> str:
    pairs = zip(bytes.fromhex(first[1:]), bytes.fromhex(second[1:]), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * part):02x}" for one, other in pairs)


def shade(file: int, place: float) -> str:
    """The colour of a record; `place`, from 0 to 1, is where it lies in its file."""
    return _mixed(*HUES[file % len(HUES)], place)


def square(x: float, y: float, size: float, color: str, *, is_hollow: bool = False) -> Html:
    """A record; hollow, it is not read here."""
    if is_hollow:
        return element("rect", x=x + 0.75, y=y + 0.75, width=size - 1.5, height=size - 1.5, rx=2,
                       fill="none", stroke=color, stroke_width=1.5)  # fmt: skip
    return element("rect", x=x, y=y, width=size, height=size, rx=2, fill=color)
