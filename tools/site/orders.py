"""Orders as pictures: which record comes when, in epochs of real loaders."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyflowdata as flow
from pyflowdata.words.html_text import Html, element, strung

from .svg import box, label, picture

FILES, EACH, BATCH = 4, 192, 32
RECORDS = FILES * EACH

_WIDTH, _HEIGHT, _GAP, _MARGIN = 252.0, 192.0, 34.0, 18.0
_HEAD, _FOOT = 44.0, 22.0
_COLUMNS = 3


@dataclass(frozen=True)
class Order:
    """A panel.

    Attributes:
        title: The attrs, as a program gives them.
        about: Says what is seen.
        attrs: The attrs of the reader.
        ranks: Their number; each has a colour.
    """

    title: str
    about: str
    attrs: dict[str, Any] = field(default_factory=dict)
    ranks: int = 1


_WINDOW = {"shuffle": "window", "shuffle_block_size": 16, "shuffle_window": 12}
ORDERS = (
    Order("no shuffle", "the order of the files", {"shuffle": "none"}),
    Order('shuffle="global"', "all records mixed", {"shuffle": "global"}),
    Order('shuffle="window"', "12 blocks of 16 mixed at a time", _WINDOW),
    Order('shuffle="buffer"', "out of the next 96 records",
          {"shuffle": "buffer", "shuffle_buffer_size": 96}),
    Order("window, 2 ranks", "each rank reads every block", _WINDOW, 2),
    Order("window, 2 ranks, shuffle_lanes=2", "each rank reads its own blocks",
          {**_WINDOW, "shuffle_window": 6, "shuffle_lanes": 2}, 2),
)  # fmt: skip


def write_files(folder: str) -> None:
    """Records that have their number as x."""
    for file in range(FILES):
        lines = [f"{file * EACH + place},0" for place in range(EACH)]
        Path(folder, f"part-{file}").write_text("\n".join(lines), encoding="utf-8")


def epoch(folder: str, order: Order, rank: int) -> list[tuple[int, int]]:
    """(position in the epoch, place in the files) of a rank's records."""
    record = flow.MiniReader(
        folder, data_part_num=FILES, batch_size=BATCH, seed=3, order_key="picture",
        rank=rank, world_size=order.ranks, **order.attrs,
    )  # fmt: skip
    part = BATCH // order.ranks
    with flow.DataLoader(flow.MiniDecoder(record)) as loader:
        return [
            (batch * BATCH + rank * part + row, int(place))
            for batch, (places, _) in enumerate(loader)
            for row, place in enumerate(places.ravel())
        ]


def _dots(points: Sequence[tuple[int, int]], x: float, y: float, color: str) -> Html:
    """Squares of two pixels, in one path."""
    marks = "".join(
        f"M{round(x + position * _WIDTH / RECORDS)} {round(y + place * _HEIGHT / RECORDS)}h2"
        for position, place in sorted(points)
    )
    return element("path", d=marks, stroke=color, stroke_width=2, fill="none")


def _panel(folder: str, number: int, order: Order) -> Html:
    x = _MARGIN + 14 + number % _COLUMNS * (_WIDTH + _GAP)
    y = _MARGIN + _HEAD + number // _COLUMNS * (_HEIGHT + _HEAD + _FOOT)
    colors = ("#2f7fc1", "#e08a1e") if order.ranks > 1 else ("#2f7fc1",)
    middle = y + _HEIGHT / 2
    return strung((
        label(x, y - 26, order.title, "ink mono"), label(x, y - 9, order.about, "soft"),
        box(x - 3, y - 3, _WIDTH + 6, _HEIGHT + 6),
        *(_dots(epoch(folder, order, rank), x, y + 1, color) for rank, color in enumerate(colors)),
        element("text", "place in the files", class_="soft", x=x - 10, y=middle,
                text_anchor="middle", transform=f"rotate(-90 {x - 10:g} {middle:g})"),
        label(x + _WIDTH / 2, y + _HEIGHT + 18, "position in the epoch", "soft", "middle"),
    ))  # fmt: skip


def drawn() -> str:
    """The text of the SVG file."""
    rows = -(-len(ORDERS) // _COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder)
        panels = [_panel(folder, number, order) for number, order in enumerate(ORDERS)]
    return picture(
        "Orders of an epoch",
        f"Each dot is one of {RECORDS} records: where it lies in the files, against when it comes. "
        "In the last two panels the colours are ranks.",
        2 * _MARGIN + 14 + _COLUMNS * _WIDTH + (_COLUMNS - 1) * _GAP,
        _MARGIN + rows * (_HEIGHT + _HEAD + _FOOT) + 6,
        *panels,
    )  # fmt: skip
