"""A map-style dataset of Hugging Face as a data set.

    data = from_datasets(datasets.load_from_disk("corpus"))
    batch = data.shuffle(seed=1).batch(32)

Rows are taken from its Arrow table, many in one call and without a Python object for each value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .. import CorruptDataError, Dataset, GeneratorReader, InvalidArgumentError, Ragged
from ..errors import shown

__all__ = ["from_datasets"]

Array = npt.NDArray[Any]

_OF_EVERY_READER = ("id", "mask")  # outputs


def __dir__() -> list[str]:
    return sorted(__all__)


def from_datasets(
    dataset: Any, columns: str | Sequence[str] | None = None, *, thread_safe: bool = False
) -> Dataset:
    """A data set of the rows of a `datasets.Dataset`, in its order: record i is row i.

    Fields have the names of the columns, and the types of `dataset.features`: numbers, ClassLabel
    as int64, lists of numbers of one length or of any, Array2D to Array5D; texts, binary data, and
    images and audio as the bytes of their files, for ImageDecoder, as rows of uint8.  The format
    for Python (`with_format()`) is not used.

    A batch with with_id=True or with_mask=True has an `id` or a `mask` of the reader's own: if a
    column has that name, rename() the field first.

    Args:
        columns: The columns to read, one or several; None: all, or those of
            `with_format(columns=)`.
        thread_safe: Whether several threads may read the dataset at once.

    Raises:
        InvalidArgumentError: It is not a datasets.Dataset, has a transform or no rows, or a column
            has a type that no field can have: name the others in `columns`.
    """
    rows = ArrowRows(dataset, columns)
    fields = GeneratorReader(rows, fields=rows.fields, thread_safe=thread_safe)
    blobs = fields if isinstance(fields, tuple) else (fields,)
    return Dataset(dict(zip(rows.columns, blobs, strict=True)))


class ArrowRows:
    """A source for GeneratorReader: rows of a `datasets.Dataset`; it can be pickled if the dataset
    can.

    A null is damaged data (`CorruptDataError`): `on_error="skip"` leaves its row out.

    Attributes:
        columns: The names of the columns.
        fields: Their types, as GeneratorReader takes them.
    """

    def __init__(self, dataset: Any, columns: str | Sequence[str] | None = None) -> None:
        form = getattr(dataset, "format", None)
        if not isinstance(form, dict) or not hasattr(dataset, "with_format"):
            raise InvalidArgumentError(
                f"from_datasets({shown(dataset)}): give a datasets.Dataset; of a DatasetDict one "
                "of its splits"
            )
        if form["type"] == "custom":
            raise InvalidArgumentError(
                "from_datasets(): the dataset has a transform of Python; from_datasets() reads the "
                "Arrow table and cannot apply it: give it without, or give "
                "GeneratorReader(dataset, fields=...) what the transform returns"
            )
        if not len(dataset):
            raise InvalidArgumentError("from_datasets(): the dataset has no rows")
        columns = form["columns"] if columns is None else columns
        names = [columns] if isinstance(columns, str) else [*columns]
        _check_names(names, dataset.column_names)
        self.columns = names
        self._dataset = dataset.with_format("arrow", columns=names)
        schema = dataset.features.arrow_schema
        self._types = {name: _type_of(name, schema.field(name).type) for name in names}
        self.fields = [f"{_field_of(name, names)}:{self._types[name]}" for name in names]

    def __repr__(self) -> str:
        return f"ArrowRows({len(self)} rows: {', '.join(self.columns)})"

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: column[0] for name, column in self.__getitems__([index]).items()}

    def __getitems__(self, indices: list[int]) -> dict[str, Any]:
        table = self._dataset[indices]
        return {name: _column(name, table.column(name)) for name in self.columns}


# ---- Names --------------------------------------------------------------------------------------


def _check_names(names: list[str], there: list[str]) -> None:
    if not names:
        raise InvalidArgumentError("from_datasets(): no column is named; None means all")
    for name in names:
        if name not in there:
            raise InvalidArgumentError(
                f"from_datasets(): there is no column {shown(name)}; there are: {', '.join(there)}"
            )
        if names.count(name) > 1:
            raise InvalidArgumentError(f"from_datasets(): the column {shown(name)} is named twice")
        if not name or any(letter in name for letter in ":=\"'") or name != name.strip():
            raise InvalidArgumentError(
                f"from_datasets(): a field cannot have the name {shown(name)}; rename it with "
                "rename_column()"
            )


def _field_of(name: str, others: list[str]) -> str:
    """The spec of a column for GeneratorReader. A name that an output of every reader has gets
    underscores, only in the reader."""
    output = name
    while output in _OF_EVERY_READER or (output != name and output in others):
        output += "_"
    return name if output == name else f"{output}={name}"


# ---- Types --------------------------------------------------------------------------------------


def _type_of(name: str, arrow: Any) -> str:
    """The type of a field for a type of Arrow: int64, float32[3], int32[?], bytes."""
    if _is_bytes(arrow) or _is_file(arrow):
        return "bytes"
    dims, element = _dims_of(arrow)
    is_number = pa.types.is_integer(element) or pa.types.is_floating(element)
    if not (is_number or pa.types.is_boolean(element)) or dims.count("?") > 1 or "?" in dims[1:]:
        raise InvalidArgumentError(
            f"from_datasets(): the column {shown(name)} is {arrow}, and a field is a number, an "
            "array or a list of numbers, a text or binary data; name the other columns in columns="
        )
    dtype = np.dtype(element.to_pandas_dtype())
    return f"{dtype}[{','.join(dims)}]" if dims else str(dtype)


def _is_bytes(arrow: Any) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary,
             pa.types.is_large_binary)  # fmt: skip
    return any(is_one(arrow) for is_one in kinds)


def _is_file(arrow: Any) -> bool:
    """Whether it is the struct in which `datasets` stores an image or audio."""
    if not pa.types.is_struct(arrow):
        return False
    return {arrow.field(i).name for i in range(arrow.num_fields)} == {"bytes", "path"}


def _dims_of(arrow: Any) -> tuple[list[str], Any]:
    """The dimensions of a list or array, and the type of its elements."""
    if isinstance(arrow, pa.ExtensionType) and hasattr(arrow, "shape"):  # Array2D and so on
        dims = ["?" if n is None else str(n) for n in arrow.shape]
        return dims, _dims_of(arrow.storage_type)[1]
    dims = []
    while pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or _has_size(arrow):
        dims.append(str(arrow.list_size) if _has_size(arrow) else "?")
        arrow = arrow.value_type
    return dims, arrow


def _has_size(arrow: Any) -> bool:
    return bool(pa.types.is_fixed_size_list(arrow))


# ---- Values -------------------------------------------------------------------------------------


def _column(name: str, chunks: Any) -> Array | Ragged | list[Any]:
    """A column of a table, as GeneratorReader takes it."""
    array = chunks.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    if _is_file(array.type):
        return _files(name, array)
    if _is_bytes(array.type):
        _refuse_nulls(name, array)
        large = array.cast(pa.large_binary())
        return _ragged(np.frombuffer(large.buffers()[2] or b"", np.uint8), _offsets(large))
    dims, _ = _dims_of(array.type)
    rows, splits = len(array), None
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    while not pa.types.is_primitive(array.type):
        _refuse_nulls(name, array)
        if splits is None and dims[0] == "?":
            splits = _offsets(array)
        array = array.flatten()
    _refuse_nulls(name, array)
    values: Array = array.to_numpy(zero_copy_only=False)
    if splits is None:
        return values.reshape(rows, *map(int, dims))
    splits = splits - splits[0]
    if len(dims) == 1:
        return _ragged(values, splits)
    fixed = (-1, *map(int, dims[1:]))
    parts = values.reshape(fixed) if values.size else values.reshape(0, *fixed[1:])
    ends = zip(splits[:-1], splits[1:], strict=True)
    return [parts[begin:end] for begin, end in ends]


def _refuse_nulls(name: str, array: Any) -> None:
    if array.null_count:
        raise CorruptDataError(f"the column {shown(name)} is null")


def _offsets(array: Any) -> Array:
    """Where the values of each row begin and end: int64 (rows + 1,)."""
    if hasattr(array, "offsets"):
        found: Array = array.offsets.to_numpy().astype(np.int64)
        return found
    offsets = np.frombuffer(array.buffers()[1], np.int64)
    return offsets[array.offset : array.offset + len(array) + 1]


def _ragged(values: Array, splits: Array) -> Ragged:
    return Ragged(values[splits[0] : splits[-1]], splits - splits[0])


def _files(name: str, array: Any) -> list[bytes]:
    _refuse_nulls(name, array)
    contents, paths = array.field("bytes").to_pylist(), array.field("path").to_pylist()
    return [_file(name, *pair) for pair in zip(contents, paths, strict=True)]


def _file(name: str, content: bytes | None, path: str | None) -> bytes:
    if content is not None:
        return content
    if path is None:
        raise CorruptDataError(f"the column {shown(name)} has neither bytes nor a path")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as failure:
        raise CorruptDataError(f"the column {shown(name)}: {failure}") from failure
