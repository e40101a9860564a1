"""`flow.show`: a contact sheet of a batch, or of the first batch of blobs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import Error, FileError, InvalidArgumentError, shown
from ..insight.sheet import (
    Array,
    Tile,
    channels_last,
    decoded,
    draw,
    encode_png,
    id_column,
    image_column,
    label_column,
    rows_of,
    text_of,
    to_rgb,
)
from ..loader import DataLoader
from ..nodes import Blob, Node
from ..nodes.node import Records, reader_nodes, with_reader_attrs
from ..ragged import Ragged


# ---- The first batch of blobs -------------------------------------------------------------------


class _Lost(NamedTuple):
    """The rows of a batch that come from damaged records.

    Attributes:
        rows: The numbers of these rows.
        message: The error of the first damaged record; "" if there is none.
    """

    rows: frozenset[int] = frozenset()
    message: str = ""


def _has_blobs(batch: Any) -> bool:
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    return isinstance(batch, Blob) or (
        isinstance(batch, (tuple, list)) and len(batch) > 0 and isinstance(batch[0], Blob)
    )


def _first_batch(blobs: Any, labels: Any, ids: Any) -> tuple[Any, Any, Any, _Lost]:
    """The first batch of blobs; its labels and ids, if these are blobs or were left out; and its
    damaged rows.
    """
    named = dict(blobs) if isinstance(blobs, Mapping) else None
    given = blobs if named is None else named.values()
    wanted = [blobs] if isinstance(blobs, Blob) else list(given)
    extra = [one for one in (labels, ids) if isinstance(one, Blob)]
    made = with_reader_attrs([*wanted, *extra], _reader_attrs)
    readers = reader_nodes(made)
    if ids is None:
        made += _outputs(readers[0], "id")
    masks = [blob for reader in readers for blob in _outputs(reader, "mask")]
    with DataLoader((*made, *masks), prefetch=1, share=(0, 1), ledger="") as loader:
        arrays: list[Any] = list(next(iter(loader), ()))
        damaged = loader.skipped
    if not arrays:
        raise InvalidArgumentError("the blobs have no batch: there are no records")
    lost = _lost(arrays[len(made) :], damaged)
    batch, rest = arrays[: len(wanted)], arrays[len(wanted) : len(made)]
    labels = rest.pop(0) if isinstance(labels, Blob) else labels
    ids = rest.pop(0) if rest else ids
    whole = dict(zip(named, batch, strict=True)) if named is not None else tuple(batch)
    return whole, labels, ids, lost


def _reader_attrs(reader: Node) -> dict[str, object]:
    """Attrs of the reader: a damaged record keeps its place, unless the user leaves such records
    out; rows that only fill up a batch are not shown.
    """
    attrs: dict[str, object] = {"with_id": True, "with_mask": True}
    if reader.values.get("on_error") != "skip":
        attrs["on_error"] = "pad"
        if not {"max_skipped", "max_errors"} & reader.values.keys():
            attrs["max_skipped"] = -1
    if reader.values.get("last_batch") == "pad":
        attrs["last_batch"] = "short"
    return attrs


def _outputs(reader: Node, name: str) -> tuple[Blob, ...]:
    return tuple(blob for blob in reader.outputs if reader.op.outputs[blob.index].name == name)


def _lost(masks: Sequence[Any], damaged: Sequence[Error]) -> _Lost:
    whole = np.logical_and.reduce(masks)
    message = ""
    if damaged:
        first = damaged[0]
        file = f"{os.path.basename(first.file)}: " if first.file else ""
        message = file + first.message
    return _Lost(frozenset(np.flatnonzero(~whole).tolist()), message)


# ---- The sheet ----------------------------------------------------------------------------------

_MOST_TEXT = 200  # characters under an image


class Sheet:
    """A contact sheet: a notebook shows it, and `save()` writes it to a file.

    Attributes:
        pixels: uint8 RGB, (height, width, 3).
        count: The number of images on the sheet.
        notes: What was changed: numbers that were scaled, images that are left out or damaged.
    """

    def __init__(self, pixels: Array, count: int, notes: Sequence[str]) -> None:
        self.pixels = pixels
        self.count = count
        self.notes = tuple(notes)

    def png(self) -> bytes:
        """The file of the image."""
        return encode_png(self.pixels)

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the sheet as a PNG file, over an existing one, and returns its path.

        Raises:
            InvalidArgumentError: `path` cannot be a path.
            FileError: The file cannot be written.
        """
        try:
            name = os.fsdecode(path)
        except TypeError:
            name = "\0"
        if "\0" in name:
            raise InvalidArgumentError(f"path = {shown(path)}; it must be the path of a file")
        try:
            with open(name, "wb") as file:
                file.write(self.png())
        except OSError as failure:
            raise FileError(f"the sheet cannot be written: {failure.strerror}", file=name) from None
        return name

    def _repr_png_(self) -> bytes:
        return self.png()

    def __repr__(self) -> str:
        height, width = self.pixels.shape[:2]
        notes = "".join(f"; {note}" for note in self.notes)
        images = "1 image" if self.count == 1 else f"{self.count} images"
        return f"<Sheet of {images}, {height} x {width}{notes}>"


def show(
    batch: Any,
    labels: Any = None,
    ids: Any = None,
    *,
    image: str | int | None = None,
    count: int = 64,
    columns: int | None = None,
    size: tuple[int, int] = (160, 160),
    layout: str | None = None,
    mean: float | Sequence[float] | npt.NDArray[Any] | None = None,
    std: float | Sequence[float] | npt.NDArray[Any] | None = None,
) -> Sheet:
    """A contact sheet of images as a model gets them: decoded and augmented.

        flow.show(image_blob, label_blob)               # the first batch, with record ids
        flow.show(batch, image="image").save("sheet.png")

    Args:
        batch: What a loader delivers: an array, a Ragged, or a tuple or dict of these; a list of
            images; or one image.  Or a blob, or several: a loader reads their first batch. Or a
            Dataset: its first records are read. Images are (height, width), (height, width,
            channels) or (channels, height, width), of any dtype, or files of images as bytes.
        labels: A value for each image, or the name of the column that has them.  None: a column
            called label, class, cls, target, fine_label, image/class/label or y; in a tuple the
            first of whole numbers.
        ids: A record id for each image, or the name of its column.  None: a column called
            id or key; for blobs the ids of the records.
        image: The column with the images; None: the first one with images.
        count: The most images on the sheet.
        columns: How many columns the sheet has; None: so that the sheet is wider than high.
        size: The size of a thumbnail, (height, width).
        layout: "HWC" or "CHW"; None: by the shape.
        mean, std: The numbers that the images were normalised with; the sheet undoes this.  Without
            them, numbers outside of 0 to 1 and 0 to 255 are scaled so that the smallest is black
            and the largest white, and the sheet says so.

    Raises:
        InvalidArgumentError: The batch has no images, or an argument is wrong.
    """
    _check(count, columns, size, layout)
    means, deviations = _list("mean", mean), _list("std", std)
    lost = _Lost()
    if isinstance(batch, Records):
        batch = batch.first_batch(count)
    if _has_blobs(batch):
        batch, labels, ids, lost = _first_batch(batch, labels, ids)
    table = _table(batch)
    name = _image_column(table, image)
    rows = rows_of(table[name])
    labels = _column(labels, table, len(rows), "labels", label_column(table, name, len(rows)))
    ids = _column(ids, table, len(rows), "ids", id_column(table, len(rows)))
    captions = [_captions(one) for one in (labels, _record_ids(ids)) if one is not None]
    tiles, notes = _tiles(rows[:count], captions, layout, means, deviations, lost)
    notes += [f"{len(tiles)} of {len(rows)} images"] if len(rows) > len(tiles) else []
    wide = max(1, min(len(tiles), columns or round(math.sqrt(len(tiles) * 4 / 3))))
    return Sheet(draw(tiles, notes, wide, size), len(tiles), notes)


def _tiles(
    rows: Sequence[Any],
    captions: Sequence[Sequence[str]],
    layout: str | None,
    means: Sequence[float] | None,
    deviations: Sequence[float] | None,
    lost: _Lost,
) -> tuple[list[Tile], list[str]]:
    """The images of rows with their captions, and notes about changed and omitted images."""
    _check_rows(rows)
    images, damage = decoded(rows, lost.rows, lost.message)
    found = [one for one in images if one is not None]
    if len({one.dtype for one in found}) > 1:
        raise InvalidArgumentError("the images have several dtypes; give those of one")
    pixels, scaled = to_rgb([channels_last(one, layout) for one in found], means, deviations)
    rest = iter(pixels)
    tiles = [
        Tile(None if one is None else next(rest), tuple(texts[place] for texts in captions))
        for place, one in enumerate(images)
    ]
    return tiles, [note for note in (damage, scaled) if note]


def _check(count: Any, columns: Any, size: Any, layout: Any) -> None:
    if not isinstance(count, int) or count < 1:
        raise InvalidArgumentError(f"count = {shown(count)}; it must be an int, at least 1")
    if columns is not None and (not isinstance(columns, int) or columns < 1):
        raise InvalidArgumentError(f"columns = {shown(columns)}; it must be an int, at least 1")
    is_size = isinstance(size, (tuple, list)) and len(size) == 2
    if not is_size or not all(isinstance(one, int) and 8 <= one <= 4096 for one in size):
        raise InvalidArgumentError(
            f"size = {shown(size)}; it must be (height, width), each from 8 to 4096"
        )
    if not (layout is None or isinstance(layout, str)) or layout not in (None, "HWC", "CHW"):
        raise InvalidArgumentError(f"layout = {shown(layout)}; it must be 'HWC', 'CHW' or None")


def _list(
    name: str, given: float | Sequence[float] | npt.NDArray[Any] | None
) -> list[float] | None:
    """The numbers of `mean` or `std`."""
    if given is None:
        return None
    try:
        numbers = np.asarray(given, np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0)
    is_std = name == "std"
    if not numbers.size or not np.isfinite(numbers).all() or (is_std and (numbers <= 0).any()):
        above = " above 0" if is_std else ""
        raise InvalidArgumentError(
            f"{name} = {shown(given)}; it must be a finite number{above}, or one for each channel"
        )
    return [float(one) for one in numbers]


def _image_column(table: Mapping[Any, Any], wanted: Any) -> Any:
    """The column of images, by name; if the bytes are not images, the error says why."""
    if not isinstance(wanted, (str, int, type(None))):
        raise InvalidArgumentError(f"image = {shown(wanted)}; it must be the name of a column")
    try:
        return image_column(table, wanted)
    except InvalidArgumentError:
        rows = rows_of(next(iter(table.values()))) if wanted is None and len(table) == 1 else []
        if not rows or not isinstance(rows[0], bytes):
            raise
        _, damage = decoded(rows[:1])
        raise InvalidArgumentError(f"the bytes are not image files: {damage}") from None


def _check_rows(rows: Sequence[Any]) -> None:
    for number, row in enumerate(rows):
        is_array = isinstance(row, np.ndarray) and row.ndim in (2, 3) and row.dtype.kind in "buif"
        if not is_array and not isinstance(row, bytes):
            said = f"an array of {row.dtype} {row.shape}" if isinstance(row, np.ndarray) else (
                f"{shown(row)} ({type(row).__name__})"
            )
            raise InvalidArgumentError(
                f"row {number} is {said}; it must be an image of numbers, (height, width), "
                "(height, width, channels) or (channels, height, width), or the file of one as "
                "bytes"
            )


def _table(batch: Any) -> Mapping[Any, Any]:
    """The columns by name, or by number."""
    if isinstance(batch, Mapping):
        return batch
    if isinstance(batch, tuple):
        return dict(enumerate(batch))
    if isinstance(batch, (np.ndarray, Ragged, list, bytes)):
        return {0: batch}
    if hasattr(batch, "__array__"):
        return {0: np.asarray(batch)}
    raise InvalidArgumentError(
        f"{shown(batch)} ({type(batch).__name__}) was given; it must be a batch, a list of "
        "images, or a blob"
    )


def _column(
    given: Any, table: Mapping[Any, Any], count: int, what: str, otherwise: Any
) -> list[Any] | None:
    """The labels or ids, with a value for each image."""
    if given is None:
        given = otherwise
    elif isinstance(given, str):
        if given not in table:
            raise InvalidArgumentError(
                f"{what} = {given!r}; the columns are {', '.join(map(str, table))}"
            )
        given = table[given]
    if given is None:
        return None
    try:
        values = list(given) if isinstance(given, np.ndarray) else rows_of(given)
    except TypeError:
        raise InvalidArgumentError(
            f"{what} = {shown(given)} ({type(given).__name__}); it must be a value for each image, "
            "or the name of a column"
        ) from None
    if len(values) != count:
        raise InvalidArgumentError(f"there are {count} images and {len(values)} {what}")
    return values


def _captions(values: Sequence[Any]) -> list[str]:
    try:
        return [" ".join(text_of(value).split())[:_MOST_TEXT] for value in values]
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"labels and ids are {shown(values)}; each must be a number, a text or an array"
        ) from None


def _record_ids(ids: list[Any] | None) -> list[Any] | None:
    """The ids of readers (file and number of the record) as texts."""
    if not ids or any(np.shape(one) != (2,) for one in ids):
        return ids
    has_files = any(one[0] != ids[0][0] for one in ids)
    return [f"{f'file {file} ' if has_files else ''}record {record}" for file, record in ids]
