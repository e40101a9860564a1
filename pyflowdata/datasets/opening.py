"""`flow.open` and `flow.from_arrays`: files of any format, and arrays, as data sets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..formats import Source, array_blob, expanded, open_source
from ..nodes import Blob, find_op
from ..nodes.argument_hints import says_how
from ..nodes.row_types import BITS, is_bfloat16
from ..nodes.tables import Table
from ..ragged import Ragged
from .base import named_view, names_of
from .dataset import Dataset


# ---- Arrays of the program ----------------------------------------------------------------------

Array = npt.NDArray[Any]
_NONE = np.zeros(0, np.int64)


@says_how('give a dict of arrays, flow.from_arrays({"x": x, "y": y})')
def from_arrays(arrays: Mapping[str, Any]) -> Dataset:
    """A data set in memory: record i has row i of each array.

        data = flow.from_arrays({"x": images, "y": labels})
        x, y = data.shuffle(seed=1).batch(64)

    Arrays in C order are read where they are, and must not change while they are in use; others are
    copied once.

    Args:
        arrays: By the names of the fields: arrays with a row for each record, `Ragged`s, or lists
            of bytes or texts (UTF-8).

    Raises:
        InvalidArgumentError: They have different numbers of rows, or no fixed dtype.
    """
    if not isinstance(arrays, Mapping) or not arrays:
        raise InvalidArgumentError(
            f'from_arrays({shown(arrays)}): give a dict of arrays, as {{"x": x, "y": y}}'
        )
    blobs, first = {}, ""
    rows = -1
    for name, given in arrays.items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"from_arrays(): the name {shown(name)} must be a str")
        values, splits = _rows_of(name, given)
        count = len(values) if splits is None else len(splits) - 1
        if rows not in (-1, count):
            raise InvalidArgumentError(
                f"from_arrays(): {first} has {rows} rows, and {name} has {count}; each record has "
                "one of each"
            )
        first, rows = first or name, count
        blobs[name] = _blob_of(values, splits)
    return Dataset(blobs if len(blobs) == 1 else named_view("ZipDataset", blobs, {}))


def _rows_of(name: str, given: Any) -> tuple[Array, Array | None]:
    """The elements, and where rows begin if they differ in length."""
    if isinstance(given, Ragged):
        if given.row_shape[1:] != given.values.shape[1:] or given.row_shape[0] is not None:
            raise InvalidArgumentError(
                f"from_arrays(): the rows of {name} are {given.row_shape}; only the first "
                "dimension may vary"
            )
        return given.values, given.row_splits
    if isinstance(given, (list, tuple)) and any(isinstance(one, (bytes, str)) for one in given):
        return _joined(name, given)
    try:
        values = np.asarray(given)
    except ValueError as failure:
        raise InvalidArgumentError(
            f"from_arrays(): {name} is not an array: {failure}; a Ragged has rows of several "
            "lengths"
        ) from None
    if values.ndim == 0:
        raise InvalidArgumentError(f"from_arrays(): {name} is {shown(given)}, which has no rows")
    if values.dtype.kind in "SU":
        return _joined(name, values.tolist())
    if is_bfloat16(values.dtype):
        values = values.view(BITS)  # C can read this memory, unlike that of ml_dtypes
    if (values.dtype.kind not in "buif" and values.dtype != BITS) or 0 in values.shape[1:]:
        raise InvalidArgumentError(
            f"from_arrays(): {name} has dtype {values.dtype} and rows of shape {values.shape[1:]}; "
            "rows are numbers or truths, of a fixed dtype, and not empty"
        )
    return values, None


def _joined(name: str, given: Sequence[Any]) -> tuple[Array, Array]:
    """Bytes and texts one after another."""
    rows = []
    for row, one in enumerate(given):
        if not isinstance(one, (bytes, str)):
            raise InvalidArgumentError(
                f"from_arrays(): row {row} of {name} is {shown(one)}, beside bytes or texts"
            )
        rows.append(one if isinstance(one, bytes) else one.encode())
    splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.frombuffer(b"".join(rows), np.uint8), splits


def _blob_of(values: Array, splits: Array | None) -> Blob:
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    begins = Table(_NONE if splits is None else np.ascontiguousarray(splits, np.int64))
    shape = [*(() if splits is None else (-1,)), *native.shape[1:]]
    return array_blob(Table(native.reshape(-1)), begins, native.dtype, shape)


# ---- Files --------------------------------------------------------------------------------------

Paths = str | os.PathLike[str]


def open(  # noqa: A001  (flow.open, as it is called)
    paths: Paths | Sequence[Paths],
    *,
    fields: str | Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
    **attrs: Any,
) -> Dataset:
    """The records of files as a data set; the format is found by content, the fields in a header or
    in the first records.

    Args:
        paths: Files, patterns, and folders, whose files are taken; or a folder that is a data set.
        fields: Names, or specs as "x:float32[3]"; None: all.
        format: As `pyflowdata head --format` takes it; None: found by content.
        **attrs: Attrs of the format's reader, but not those of batches, such as batch_size.

    Raises:
        InvalidArgumentError: The format is not known, or there is no such field.
        FileError: There are no such files, or one cannot be read.
        CorruptDataError: A file is damaged where its fields are looked for.
    """
    files = [file for path in _listed(paths) for file in expanded(path, format)]
    if not files:
        raise InvalidArgumentError("no files were given")
    _check_attrs(attrs)
    chosen = names_of(fields) if fields is not None else None
    source = _source_of(files, format, attrs, chosen)
    blobs = source.blobs()
    if any(field.is_guessed for field in source.fields):
        for node in {blob.node for blob in blobs.values()}:  # the error of a misfit names `fields`
            node.sampled = {node.op.outputs_attr: "fields"}
    names = [field.name for field in source.fields] or list(blobs)
    return Dataset({name: blobs[name] for name in names})


def _listed(paths: Any) -> list[str]:
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise InvalidArgumentError(f"open({shown(paths)}): give a path, or a list of paths")
    for path in (listed := list(given)):
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidArgumentError(f"open(): {shown(path)} is not a path")
    return [os.fspath(path) for path in listed]


def _check_attrs(attrs: Mapping[str, Any]) -> None:
    """Refuses the attrs that belong to batches."""
    of_batches = {attr.name for attr in find_op("BatchDataset").attrs}
    for name in attrs:
        if name in of_batches:
            word = "last" if name == "last_batch" else name
            is_order = "shuffle" in name or name == "order_key"
            how = "use shuffle()" if is_order else f"give it to batch({word}=...)"
            raise InvalidArgumentError(
                f"open(): {name} is of batches, and a data set has none yet: {how}", attr=name
            )
        if name == "files":
            raise InvalidArgumentError("open(): files is the first argument", attr=name)


def _source_of(
    files: Sequence[str], format: str | None, attrs: Mapping[str, Any], fields: list[str] | None
) -> Source:
    """The files with their fields, which are found, or those that were chosen."""
    found = open_source(files, format, values=attrs)
    listed = find_op(found.format.reader).outputs_attr
    if listed in attrs:
        given = f", as in fields={shown(attrs[listed])}" if attrs[listed] else ""
        raise InvalidArgumentError(
            f"open() takes fields= in the place of {listed}={given}", attr=listed
        )
    found = found.choose(fields)
    attr = find_op(found.format.reader).attr(listed)
    if attr is not None and not found.fields:
        raise InvalidArgumentError(
            "its fields cannot be found, as there are no records; say them, as in "
            'fields=["x:float32[3]"]', file=files[0],
        )  # fmt: skip
    return found
