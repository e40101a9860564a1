"""The way of the data, from files to arrays, with the order that a loader really has."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyflowdata as flow
from pyflowdata.words.html_text import Html, element, strung

from .svg import arrow, box, frame, label, picture, shade, square

FILES, EACH, BATCH = 3, 8, 8
RANKS = 2

_PITCH, _SIZE = 16, 13
_WIDTH, _GAP, _HEIGHT, _MARGIN = 152.0, 22.0, 126.0, 16.0
_TOP, _LOW = 44.0, 222.0  # of the two rows of boxes


def epoch() -> list[list[int]]:
    """The records of each rank, in the order of an epoch: real ones, of a small data set."""
    with tempfile.TemporaryDirectory() as folder:
        for file in range(FILES):
            lines = [f"{file * EACH + place},0" for place in range(EACH)]
            Path(folder, f"part-{file}").write_text("\n".join(lines))
        ranks = []
        for rank in range(RANKS):
            record = flow.MiniReader(
                folder, data_part_num=FILES, batch_size=BATCH, shuffle="global", seed=7,
                order_key="picture", rank=rank, world_size=RANKS,
            )  # fmt: skip
            with flow.DataLoader(flow.MiniDecoder(record)) as loader:
                ranks.append([int(x) for batch, _ in loader for x in batch.ravel()])
    return ranks


def _color(record: int) -> str:
    return shade(record // EACH, record % EACH / (EACH - 1))


def _stage(x: float, y: float, head: str, *lines: str, width: float = _WIDTH) -> Html:
    """A box with its name, and what it does."""
    said = [label(x + 12, y + 99 + 16 * place, line, "soft") for place, line in enumerate(lines)]
    return strung((box(x, y, width, _HEIGHT), label(x + 12, y + 22, head, "ink head"), *said))


def _column(place: int) -> float:
    return _MARGIN + place * (_WIDTH + _GAP)


def _rows(x: float, y: float, records: list[int], *, hollow: bool = False) -> list[Html]:
    """Squares in lines of a batch each."""
    return [
        square(x + place % BATCH * _PITCH, y + place // BATCH * _PITCH, _SIZE, _color(one),
               is_hollow=hollow and place % BATCH >= BATCH // RANKS)
        for place, one in enumerate(records)
    ]  # fmt: skip


def _files(x: float, y: float) -> list[Html]:
    """Files are bytes: bars without seams."""
    bars = []
    for file in range(FILES):
        fill = f"file-{file}"
        stops = [element("stop", offset=at, stop_color=shade(file, at)) for at in (0, 1)]
        bars += [
            element("linearGradient", *stops, id=fill),
            element("rect", x=x, y=y + file * _PITCH, width=BATCH * _PITCH - 3, height=_SIZE, rx=2,
                    fill=f"url(#{fill})"),
        ]  # fmt: skip
    return bars


def _order(order: list[int]) -> list[Html]:
    """The upper row: which records a rank reads."""
    drawn = [
        _stage(_column(0), _TOP, "files", "plain ones mapped,", "others inflated"),
        _stage(_column(1), _TOP, "source", "finds where each", "record begins"),
        _stage(_column(2), _TOP, "shuffle", "an order from seed,", "epoch and position"),
        _stage(_column(3), _TOP, "batch", "one line here is", "a batch of 8"),
        _stage(_column(4), _TOP, "shard", "rank 0 of 2 takes", "its half of each"),
    ]
    x, y = 12.0, _TOP + 36
    drawn += _files(_column(0) + x, y)
    drawn += _rows(_column(1) + x, y, list(range(FILES * EACH)))
    for place in (2, 3, 4):
        drawn += _rows(_column(place) + x, y, order, hollow=place == 4)
    drawn += [
        frame(_column(3) + x - 3.5, y + line * _PITCH - 1.5, BATCH * _PITCH + 4, _PITCH)
        for line in range(FILES)
    ]
    middle = _TOP + _HEIGHT / 2
    return drawn + [
        arrow([(_column(place) - _GAP + 2, middle), (_column(place) - 3, middle)])
        for place in range(1, 5)
    ]


def _contents(mine: list[int]) -> list[Html]:
    """The lower row: how a rank's part of a batch is computed."""
    part, wide = BATCH // RANKS, 2 * _WIDTH + _GAP
    columns = [_column(0), _column(1), _column(3)]
    drawn = [
        _stage(columns[0], _LOW, "ring of slots", "memory of batches:", "several are made"),
        _stage(columns[1], _LOW, "thread loop", "threads in C take rows: parser, decoder,",
               "other ops; a row that fails costs one row", width=wide),
        _stage(columns[2], _LOW, "NumPy arrays", "views of the slot, delivered in order,",
               "yours while you hold them", width=wide),
    ]  # fmt: skip
    x, y = 12.0, _LOW + 36
    for slot in range(FILES):
        at = columns[0] + x + slot * 44
        drawn.append(frame(at - 4, y - 4, 2 * _PITCH + 5, 2 * _PITCH + 5))
        for place, record in enumerate(mine[slot * part : slot * part + part]):
            drawn.append(
                square(at + place % 2 * _PITCH, y + place // 2 * _PITCH, _SIZE, _color(record),
                       is_hollow=slot == FILES - 1)
            )  # fmt: skip
    for row, record in enumerate(mine[:part]):
        left, top = columns[1] + x + row % 2 * 156, y + row // 2 * 26
        drawn += [
            square(left, top, _SIZE, _color(record)),
            arrow([(left + 18, top + 6.5), (left + 30, top + 6.5)]),
            label(left + 34, top + 11, "parse, decode", "soft"),
        ]
    at = columns[2] + x
    for row, record in enumerate(mine[:part]):
        for column in range(3):
            drawn.append(square(at + column * 13, y + row * 12, 11, _color(record)))
        drawn.append(square(at + 184, y + row * 12, 11, _color(record)))
    drawn += [
        label(at + 48, y + 28, "x: float32[4,3]", "ink mono"),
        label(at + 202, y + 28, "y: int64[4]", "ink mono"),
    ]
    middle, turn = _LOW + _HEIGHT / 2, (_TOP + _HEIGHT + _LOW) / 2 - 12
    right = _column(4) + _WIDTH / 2
    down = _column(0) + _WIDTH / 2
    return drawn + [
        arrow([(right, _TOP + _HEIGHT), (right, turn), (down, turn), (down, _LOW - 3)]),
        *(arrow([(x - _GAP + 2, middle), (x - 3, middle)]) for x in columns[1:]),
    ]


def drawn() -> str:
    """The text of the SVG file."""
    ranks = epoch()
    part = BATCH // RANKS
    order = [
        record
        for at in range(0, FILES * EACH // RANKS, part)
        for rank in ranks
        for record in rank[at : at + part]
    ]
    return picture(
        "The way of the data",
        "Files are cut into records; shuffle, batch and shard decide which of "
        "them a rank gets. Slots of a ring hold its batches, threads fill their rows by parser "
        "and decoders, and the batches are NumPy arrays.",
        2 * _MARGIN + 5 * _WIDTH + 4 * _GAP, _LOW + _HEIGHT + _MARGIN,
        label(_MARGIN, 30, "Which records: a function of seed, epoch and position", "ink head"),
        label(_MARGIN + _WIDTH / 2 + 12, _LOW - 12, "What is in them: computed in parallel",
              "ink head"),
        *_order(order), *_contents(ranks[0]),
    )  # fmt: skip
