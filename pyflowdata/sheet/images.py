"""Which column of a batch has images, which has labels, and images out of encoded files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ops
from ..errors import CorruptDataError, InvalidArgumentError, UnsupportedError
from ..image_files import LABEL_NAMES, ending_of
from ..ragged import Ragged
from .pixels import is_image

Array = npt.NDArray[Any]
Column = Array | Ragged | list[Any]

_UINT8 = np.dtype(np.uint8)
_IDS = ("id", "ids", "__key__", "key")


def has_images(column: Any) -> bool:
    """Whether its rows are images, or files of images."""
    rows = rows_of(column)
    if not rows:
        return False
    first = rows[0]
    if isinstance(first, bytes):
        return any(map(ending_of, rows))
    return isinstance(first, np.ndarray) and first.ndim > 1 and is_image(first.shape)


def rows_of(column: Any) -> list[Any]:
    """The rows of a column: arrays, bytes, or what stands in a list; one image is one row."""
    if isinstance(column, Ragged):
        is_bytes = column.dtype == _UINT8 and len(column.row_shape) == 1
        return column.to_bytes_list() if is_bytes else list(column)
    if isinstance(column, np.ndarray):
        is_row = column.ndim == 2 or (column.ndim == 3 and is_image(column.shape))
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


def other_column(batch: Mapping[Any, Any], names: Sequence[str], count: int) -> Any:
    """The first of the columns of these names that has a value for each image; None: none has."""
    folded = {str(name).casefold(): name for name in batch}
    for name in names:
        if name in folded and len(rows_of(batch[folded[name]])) == count:
            return batch[folded[name]]
    return None


def label_column(batch: Mapping[Any, Any], image: Any, count: int) -> Any:
    """Labels by their name; of columns without names the first of whole numbers."""
    named = other_column(batch, LABEL_NAMES, count)
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
    return other_column(batch, _IDS, count)


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
    """The images of rows; and what is said of those that could not be decoded, which are None.

    Args:
        rows: Images, or the bytes of their files.
        lost: Numbers of rows without an image.
        why: What is said of these.
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
