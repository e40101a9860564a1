"""Draws a contact sheet: thumbnails in a grid, with text under each."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import ops
from ..errors import CorruptDataError, InvalidArgumentError, UnsupportedError
from ..nodes.image_files import LABEL_NAMES, ending_of
from ..ragged import Ragged

Array = npt.NDArray[Any]

_UINT8 = np.dtype(np.uint8)


# ---- A font of 5 x 7 dots for ASCII -------------------------------------------------------------

HEIGHT, ADVANCE = 7, 6  # dots; from one character to the next

# From the space to the tilde: 7 rows of a character, two hexadecimal digits each, whose lowest bit
# is the dot on the right.
_ROWS = """
    00000000000000 04040404040004 0a0a0a00000000 0a0a1f0a1f0a0a 040f140e051e04 18190204081303
    0c12140815120d 04040800000000 02040808080402 08040202020408 0004150e150400 0004041f040400
    000000000c0408 0000001f000000 00000000000c0c 00010204081000 0e11131519110e 040c040404040e
    0e11010204081f 1f02040201110e 02060a121f0202 1f101e0101110e 0608101e11110e 1f010204080808
    0e11110e11110e 0e11110f01020c 000c0c000c0c00 000c0c000c0408 02040810080402 00001f001f0000
    08040201020408 0e110102040004 0e11010d15150e 0e1111111f1111 1e11111e11111e 0e11101010110e
    1c12111111121c 1f10101e10101f 1f10101e101010 0e11101711110f 1111111f111111 0e04040404040e
    0702020202120c 11121418141211 1010101010101f 111b1515111111 11111915131111 0e11111111110e
    1e11111e101010 0e11111115120d 1e11111e141211 0f10100e01011e 1f040404040404 1111111111110e
    11111111110a04 1111111515150a 11110a040a1111 1111110a040404 1f01020408101f 0e08080808080e
    00100804020100 0e02020202020e 040a1100000000 0000000000001f 08040200000000 00000e010f110f
    1010161911111e 00000e1010110e 01010d1311110f 00000e111f100e 0609081c080808 000f11110f010e
    10101619111111 04000c0404040e 0200060202120c 10101214181412 0c04040404040e 00001a15151111
    00001619111111 00000e1111110e 00001e111e1010 00000d130f0101 00001619101010 00000e100e011e
    08081c08080906 0000111111130d 00001111110a04 0000111115150a 0000110a040a11 000011110f010e
    00001f0204081f 02040408040402 04040404040404 08040402040408 00000815020000
"""
_UNKNOWN = "1f11111111111f"
_FIRST = ord(" ")


def _dots(rows: str) -> npt.NDArray[np.bool_]:
    """(7, 6), where the last column is empty."""
    numbers = np.frombuffer(bytes.fromhex(rows), np.uint8)
    dots = np.zeros((HEIGHT, ADVANCE), np.bool_)
    dots[:, :5] = numbers[:, np.newaxis] >> np.arange(4, -1, -1) & 1
    return dots


_GLYPHS = [_dots(rows) for rows in _ROWS.split()]
_MISSING = _dots(_UNKNOWN)


def text_dots(text: str) -> npt.NDArray[Any]:
    """One line of text as bools, (7, 6 * characters); a box stands for what is not ASCII."""
    places = [ord(one) - _FIRST for one in text]
    found = [_GLYPHS[place] if 0 <= place < len(_GLYPHS) else _MISSING for place in places]
    return np.concatenate(found, axis=1) if found else np.zeros((HEIGHT, 0), bool)


# ---- PNG ----------------------------------------------------------------------------------------

# W3C, Portable Network Graphics, third edition.

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUECOLOR, _SUB = 2, 1  # a type of colour and one of filters


def encode_png(pixels: npt.NDArray[Any]) -> bytes:
    """The file of an RGB image.

    Args:
        pixels: uint8 of shape (height, width, 3), neither side 0.
    """
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _TRUECOLOR, 0, 0, 0)
    lines = np.empty((height, 1 + 3 * width), np.uint8)
    lines[:, 0] = _SUB  # each byte less that of the pixel before
    differences = pixels.copy()
    differences[:, 1:] -= pixels[:, :-1]
    lines[:, 1:] = differences.reshape(height, -1)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b"")]
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


# ---- Images of any dtype as RGB -----------------------------------------------------------------

_CHANNELS = (1, 3, 4)
_MOST = 1e300  # a larger float is not shown


def _is_image(shape: Sequence[int | None]) -> bool:
    """Whether rows of this shape can be images; None is any size."""
    if len(shape) == 2:
        return True
    return len(shape) == 3 and (shape[-1] in _CHANNELS or shape[0] in _CHANNELS)


def channels_last(image: Array, layout: str | None) -> Array:
    """(height, width, channels), of (height, width) and (channels, height, width) as well."""
    if image.ndim == 2:
        return image[:, :, np.newaxis]
    is_first = image.shape[-1] not in _CHANNELS if layout is None else layout == "CHW"
    image = image.transpose(1, 2, 0) if is_first else image
    if image.shape[-1] not in _CHANNELS:
        raise InvalidArgumentError(
            f"an image has {image.shape[-1]} channels; 1, 3 and 4 can be shown"
        )
    return image


def to_rgb(
    images: Sequence[Array], mean: Sequence[float] | None, std: Sequence[float] | None
) -> tuple[list[Array], str]:
    """The images as uint8 RGB, and a text about how numbers became grey levels; "" if they are
    unchanged.

    Args:
        images: (height, width, channels), of one dtype.
        mean, std: The numbers that the images were normalised with, which is undone; None: nothing
            is undone.
    """
    if not images:
        return [], ""
    if images[0].dtype == _UINT8 and mean is None and std is None:
        return [_rgb(image) for image in images], ""
    numbers = [_finite(image) for image in images]
    if mean is not None or std is not None:
        numbers = [_with_mean_std(number, mean or [0.0], std or [1.0]) for number in numbers]
        is_bytes = max(map(abs, mean or [0.0])) > 1
        low, high, said = 0.0, 255.0 if is_bytes else 1.0, ""
    else:
        low, high, said = _range(numbers, images[0].dtype)
    return [
        _rgb(np.clip(np.rint((number - low) / (high - low) * 255), 0, 255).astype(np.uint8))
        for number in numbers
    ], said


def _finite(image: Array) -> Array:
    """The numbers as floats with finite differences; NaN and infinity become 0."""
    numbers = np.nan_to_num(image.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    finite: Array = np.clip(numbers, -_MOST, _MOST)
    return finite


def _with_mean_std(image: Array, mean: Sequence[float], std: Sequence[float]) -> Array:
    """The numbers before they were normalised."""
    channels = image.shape[-1]
    for name, given in (("mean", mean), ("std", std)):
        if len(given) not in (1, channels):
            raise InvalidArgumentError(
                f"{name} has {len(given)} numbers and an image has {channels} channels; give one "
                "number, or one for each channel"
            )
    with np.errstate(over="ignore"):
        undone: Array = np.clip(image * np.asarray(std) + np.asarray(mean), -_MOST, _MOST)
    return undone


def _range(numbers: Sequence[Array], dtype: np.dtype[Any]) -> tuple[float, float, str]:
    """The numbers that become black and white."""
    filled = [number for number in numbers if number.size]
    low = float(min((number.min() for number in filled), default=0))
    high = float(max((number.max() for number in filled), default=0))
    if low >= 0 and high <= 1:
        return 0.0, 1.0, ""
    if low >= 0 and high <= 255:
        return 0.0, 255.0, ""
    if low == high:
        high = low + max(1.0, abs(low))
    return low, high, f"{dtype} numbers: {low:.3g} is black, {high:.3g} is white"


def _rgb(image: Array) -> Array:
    """uint8 of 1, 3 or 4 channels; transparent parts on white."""
    if image.shape[-1] == 4:
        color, alpha = image[..., :3].astype(np.uint16), image[..., 3:].astype(np.uint16)
        image = ((color * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)
    rgb: Array = np.broadcast_to(image, (*image.shape[:2], 3))
    return rgb


# ---- Columns with images, labels and ids --------------------------------------------------------

_IDS = ("id", "ids", "__key__", "key")


def has_images(column: Any) -> bool:
    """Whether its rows are images, or files of images."""
    rows = rows_of(column)
    if not rows:
        return False
    first = rows[0]
    if isinstance(first, bytes):
        return any(map(ending_of, rows))
    return isinstance(first, np.ndarray) and first.ndim > 1 and _is_image(first.shape)


def rows_of(column: Any) -> list[Any]:
    """The rows of a column: arrays, bytes, or the elements of a list; a single image is one row."""
    if isinstance(column, Ragged):
        is_bytes = column.dtype == _UINT8 and len(column.row_shape) == 1
        return column.to_bytes_list() if is_bytes else list(column)
    if isinstance(column, np.ndarray):
        is_row = column.ndim == 2 or (column.ndim == 3 and _is_image(column.shape))
        return [column] if is_row else list(column)
    if isinstance(column, bytes):
        return [column]
    return [np.asarray(row) if hasattr(row, "__array__") else row for row in column]


def image_column(batch: Mapping[Any, Any], wanted: Any) -> Any:
    """The name of the column with images.

    Args:
        batch: Columns by name, or by number.
        wanted: Its name where the user said it; None: the only one, or the first.

    Raises:
        InvalidArgumentError: There is none.
    """
    if wanted is not None:
        if wanted not in batch:
            raise InvalidArgumentError(
                f"image = {wanted!r}; the columns are {', '.join(map(str, batch))}"
            )
        return wanted
    found = next((name for name, column in batch.items() if has_images(column)), None)
    if found is None:
        raise InvalidArgumentError(
            f"no column has images ({', '.join(map(str, batch))}): they are (height, width), "
            "(height, width, channels) or (channels, height, width) with 1, 3 or 4 channels, or "
            "files of images as bytes"
        )
    return found


def _other_column(batch: Mapping[Any, Any], names: Sequence[str], count: int) -> Any:
    """The first of the columns of these names that has a value for each image; None: none has."""
    folded = {str(name).casefold(): name for name in batch}
    for name in names:
        if name in folded and len(rows_of(batch[folded[name]])) == count:
            return batch[folded[name]]
    return None


def label_column(batch: Mapping[Any, Any], image: Any, count: int) -> Any:
    """Labels by their name; of columns without names the first of whole numbers."""
    named = _other_column(batch, LABEL_NAMES, count)
    if named is not None or isinstance(image, str):
        return named
    return next(
        (
            column
            for column in batch.values()
            if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iub"
            and len(column) == count
        ),
        None,
    )  # fmt: skip


def id_column(batch: Mapping[Any, Any], count: int) -> Any:
    """Record ids by their name."""
    return _other_column(batch, _IDS, count)


def text_of(value: Any) -> str:
    """A label or an id in one line."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    array = np.asarray(value)
    if array.dtype == _UINT8 and array.ndim == 1:
        return array.tobytes().decode("utf-8", "replace")
    if array.ndim == 0:
        return f"{array:.4g}" if array.dtype.kind == "f" else str(array)
    return " ".join(f"{one:.3g}" if array.dtype.kind == "f" else str(one) for one in array.ravel())


def decoded(
    rows: Sequence[Any], lost: Collection[int] = (), why: str = ""
) -> tuple[list[Array | None], str]:
    """The images of rows, None if not decoded; and a text about the failures.

    Args:
        rows: Images, or the bytes of their files.
        lost: Numbers of rows without an image.
        why: Their error.
    """
    images: list[Array | None] = []
    failures = []
    for number, row in enumerate(rows):
        if number in lost:
            images.append(None)
            failures.append(f"image {number}: {why or 'the record is damaged'}")
        elif not isinstance(row, bytes):
            images.append(row)
        else:
            try:
                images.append(ops.ImageDecoder(row))
            except (CorruptDataError, UnsupportedError) as failure:
                images.append(None)
                failures.append(f"image {number}: {failure.message}")
    if not failures:
        return images, ""
    return images, f"{len(failures)} of {len(rows)} not decoded; {failures[0]}"


# ---- The grid -----------------------------------------------------------------------------------

_GAP, _LINE, _LEAST_WIDTH = 8, HEIGHT + 4, 240  # pixels
_PAPER, _INK, _NOTE = (255, 255, 255), (40, 40, 40), (150, 30, 30)
_EMPTY = (225, 225, 225)


class Tile(NamedTuple):
    """An image and the text under it.

    Attributes:
        image: uint8 RGB; None: there is none, and its place is grey.
        lines: Lines of text.
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


def draw(tiles: Sequence[Tile], notes: Sequence[str], columns: int, size: tuple[int, int]) -> Array:
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
