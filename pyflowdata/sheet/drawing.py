"""Draws a contact sheet: thumbnails in a grid, with text under each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import ops
from .font import ADVANCE, HEIGHT, text_dots

Array = npt.NDArray[Any]

_GAP, _LINE, _LEAST_WIDTH = 8, HEIGHT + 4, 240  # pixels
_PAPER, _INK, _NOTE = (255, 255, 255), (40, 40, 40), (150, 30, 30)
_EMPTY = (225, 225, 225)


class Tile(NamedTuple):
    """One image and what stands under it.

    Attributes:
        image: uint8 RGB; None: there is none, and its place is grey.
        lines: Of text.
    """

    image: Array | None
    lines: tuple[str, ...]


def thumbnail(image: Array, size: tuple[int, int]) -> Array:
    """The image within (height, width), in its aspect ratio; small ones grow by a whole factor."""
    height, width = image.shape[:2]
    if height == 0 or width == 0:
        return image
    factor = min(size[0] / height, size[1] / width)
    if factor >= 2:
        times = int(factor)
        return image.repeat(times, axis=0).repeat(times, axis=1)
    if factor >= 1:
        return image
    return ops.Resize(image, size=[max(1, round(height * factor)), max(1, round(width * factor))])


def draw(
    tiles: Sequence[Tile], notes: Sequence[str], columns: int, size: tuple[int, int]
) -> Array:
    """The sheet as uint8 RGB."""
    images = [None if tile.image is None else thumbnail(tile.image, size) for tile in tiles]
    cell_width = max([size[1] // 2, *(one.shape[1] for one in images if one is not None)])
    width = max(_GAP + columns * (cell_width + _GAP), _LEAST_WIDTH)
    parts = [
        _row(tiles[begin : begin + columns], images[begin : begin + columns], cell_width, width)
        for begin in range(0, len(tiles), columns)
    ]
    lines = [line for note in notes for line in _wrapped(note, width - 2 * _GAP)]
    below = _paper(len(lines) * _LINE + _GAP, width)
    for number, line in enumerate(lines):
        _write(below, number * _LINE, _GAP, line, _NOTE)
    return np.concatenate([*parts, below])


def _row(
    tiles: Sequence[Tile], images: Sequence[Array | None], cell_width: int, width: int
) -> Array:
    """A row of the grid, as high as the highest image in it and the text under that."""
    height = max([HEIGHT, *(one.shape[0] for one in images if one is not None)])
    lines = max(len(tile.lines) for tile in tiles)
    row = _paper(_GAP + height + 4 + lines * _LINE, width)
    for place, (tile, image) in enumerate(zip(tiles, images, strict=True)):
        x = _GAP + place * (cell_width + _GAP)
        if image is None:
            row[_GAP : _GAP + height, x : x + cell_width] = _EMPTY
        else:
            row[_GAP : _GAP + image.shape[0], x : x + image.shape[1]] = image
        for number, line in enumerate(tile.lines):
            top = _GAP + height + 4 + number * _LINE
            _write(row, top, x, _cut(line, cell_width), _INK)
    return row


def _paper(height: int, width: int) -> Array:
    return np.full((height, width, 3), _PAPER, np.uint8)


def _cut(line: str, width: int) -> str:
    most = max(width // ADVANCE, 1)
    return line if len(line) <= most else line[: max(most - 2, 0)] + ".."


def _wrapped(note: str, width: int) -> list[str]:
    most = max(width // ADVANCE, 1)
    return [note[begin : begin + most] for begin in range(0, len(note), most)]


def _write(sheet: Array, y: int, x: int, text: str, color: tuple[int, int, int]) -> None:
    dots = text_dots(text)
    room = sheet[y : y + HEIGHT, x : x + dots.shape[1]]
    room[dots[: room.shape[0], : room.shape[1]]] = color
