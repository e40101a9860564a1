"""`flow.open`, `from_arrays`, `range`, `from_arrow`: files, arrays and tables as data sets."""

from __future__ import annotations

import builtins
import ctypes
import itertools
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, UserFunctionError, WrongUseError, shown
from ..formats import REST, Source, array_blob, expanded, open_source, table_blobs
from ..nodes import Blob, find_op
from ..native import CData, check, ffi, lib, new_error, text
from ..nodes.argument_hints import says_how
from ..nodes.objects import Object
from ..nodes.row_types import BITS, is_bfloat16
from ..nodes.tables import Table, array_of, is_array
from ..ragged import Ragged
from ..words.remedies import FROM_ARROW, is_arrow, of_hugging_face
from .base import named_view, names_of
from .dataset import Dataset


# ---- Arrays of the program ----------------------------------------------------------------------

Array = npt.NDArray[Any]
_NONE = np.zeros(0, np.int64)


@says_how('give a dict of arrays, flow.from_arrays({"x": x, "y": y})')
def from_arrays(arrays: Any) -> Dataset:
    """A data set in memory: record i has row i of each array.

        data = flow.from_arrays({"x": images, "y": labels})
        x, y = data.shuffle(seed=1).batch(64)

    Arrays in C order are read without a copy, and must not change while they are in use; other
    arrays are copied once.  A table, such as a DataFrame, is read as by `from_arrow()`.

    Args:
        arrays: A dict by the names of the fields, of arrays or tensors with a row for each record,
            `Ragged`s, lists of arrays that differ in length, or lists of bytes or texts (UTF-8).
            Or a tuple or list of arrays, whose fields are x0, x1 and so on; one array, whose field
            is x; a list of records, which are dicts with the same keys; or a table.

    Raises:
        InvalidArgumentError: The arrays have different numbers of rows, or no fixed dtype.
    """
    if is_arrow(arrays):
        return from_arrow(arrays)
    blobs, first = {}, ""
    rows = -1
    for name, given in _by_name(arrays).items():
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


def _by_name(given: Any) -> Mapping[str, Any]:
    """The arrays of the fields."""
    if isinstance(given, Mapping) and given:
        return given
    if is_array(given):
        return {"x": given}
    if isinstance(given, (list, tuple)) and given:
        if isinstance(given[0], Mapping):
            return _columns_of(given)
        if isinstance(given, tuple) or all(map(is_array, given)):
            return {f"x{place}": one for place, one in enumerate(given)}
        return {"x": given}
    raise InvalidArgumentError(
        f'from_arrays({shown(given)}): give a dict of arrays, as {{"x": x, "y": y}}; a tuple or '
        f"list of arrays; or a list of records{of_hugging_face(given)}"
    )


def _columns_of(records: Sequence[Any]) -> dict[str, list[Any]]:
    names = list(records[0])
    for number, record in enumerate(records):
        if not isinstance(record, Mapping) or record.keys() != records[0].keys():
            found = list(record) if isinstance(record, Mapping) else record
            raise InvalidArgumentError(
                f"from_arrays(): record 0 is a dict of {shown(names)}, and record {number} has "
                f"{shown(found)}"
            )
    if not names:
        raise InvalidArgumentError("from_arrays(): record 0 has no field")
    return {name: [record[name] for record in records] for name in names}


def range(start: int, stop: int | None = None, step: int = 1) -> Dataset:
    """A data set of the numbers that Python's range has, as the field "id": int64.

        flow.range(1000).where("id % 3 == 0")

    Args:
        start, stop, step: As for Python's range; a single argument is `stop`.
    """
    given = (start,) if stop is None else (start, stop, step)
    numbers = builtins.range(*given)
    return from_arrays({"id": np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)})


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
    splits = None
    try:
        values = array_of(given, f"from_arrays(): {name}")
    except InvalidArgumentError as failure:
        values, splits = _rows_of_lengths(given, failure)
    if values.ndim == 0:
        raise InvalidArgumentError(f"from_arrays(): {name} is {shown(given)}, which has no rows")
    if values.dtype.kind in "SU" and (splits is not None or values.ndim > 1):
        raise InvalidArgumentError(
            f"from_arrays(): {name} has several texts in a record, and no field has: give a record "
            "for each text, or one text for all, as json.dumps() makes it"
        )
    if values.dtype.kind in "SU":
        return _joined(name, values.tolist())
    if is_bfloat16(values.dtype):
        values = values.view(BITS)  # C can read this memory, unlike that of ml_dtypes
    if (values.dtype.kind not in "buif" and values.dtype != BITS) or 0 in values.shape[1:]:
        raise InvalidArgumentError(
            f"from_arrays(): {name} has dtype {values.dtype} and rows of shape {values.shape[1:]}; "
            "rows are numbers or truths, of a fixed dtype, and not empty"
        )
    return values, splits


def _rows_of_lengths(given: Any, failure: InvalidArgumentError) -> tuple[Array, Array]:
    """The rows one after another, if they differ only in their first dimension; otherwise raises
    `failure`.
    """
    rows = [array_of(one, "a row") for one in given] if isinstance(given, (list, tuple)) else []
    if not rows or any(row.ndim == 0 or row.shape[1:] != rows[0].shape[1:] for row in rows):
        failure.message += "; rows may differ in their first dimension"
        raise failure
    splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.concatenate([row for row in rows if len(row)] or rows), splits


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


# ---- Tables of the program ----------------------------------------------------------------------


@says_how("give a table, flow.from_arrow(table)")
def from_arrow(table: Any, *, columns: str | Sequence[str] | None = None) -> Dataset:
    """A data set of a table in memory: record i has row i of each column.

        data = flow.from_arrow(polars.DataFrame({"x": [1, 2], "text": ["a", "b"]}))

    A stream is read to its end at once.  The memory of the table is not copied, and must not change
    while it is in use.  Texts are rows of bytes (UTF-8).  A state of a loader is refused if the
    table has other contents or other chunks.

    Args:
        table: A pyarrow Table, RecordBatch or RecordBatchReader, a DataFrame of polars or pandas, a
            result of DuckDB, or any object with `__arrow_c_stream__` or `__arrow_c_array__`.
        columns: Each [NAME=]PATH[:TYPE][=DEFAULT], such as "label:int64", "text", "lang=meta.lang"
            or "n:int64=0", where 0 is for nulls; None: all columns that can be fields.

    Raises:
        InvalidArgumentError: `table` is not a table, or there is no such column.
        UnsupportedError: A column that was named cannot be read as it is, or none of the columns
            can.
        UserFunctionError: The stream failed.
    """
    return Dataset(table_blobs(ArrowTable(table), columns))


class ArrowTable(Object):
    """A table as the value of an attr: its schema and chunks, which are released with this object.
    """

    __slots__ = ("_structs",)

    def __init__(self, table: Any) -> None:
        if not is_arrow(table):
            raise InvalidArgumentError(
                f"from_arrow({shown(table)}): give a table, with __arrow_c_stream__ or "
                "__arrow_c_array__, such as those of pyarrow, polars, pandas and DuckDB"
                f"{of_hugging_face(table)}"
            )
        self._structs: list[CData] = [ffi.new("pfd_exported_schema *")]
        weakref.finalize(self, _release, self._structs).atexit = False
        if hasattr(table, "__arrow_c_stream__"):
            _read_stream(table, self._structs)
        else:
            _take_array(table, self._structs)
        schema, *chunks = self._structs
        names = [text(schema.children[i].name) for i in builtins.range(schema.n_children)]
        super().__init__(_Contents(table, names, sum(chunk.length for chunk in chunks)))
        addresses = ffi.new("int64_t[]", [_address(one) for one in self._structs])
        put, err = ffi.new("pfd_table *"), new_error()
        put.data, put.count, put.is_arrow = addresses, len(self._structs), 1
        check(lib.pfd_table_put(self.number, put, err), err)
        weakref.finalize(self, _drop, self.number, addresses).atexit = False

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrowTable, Object(self.value.table).__reduce__()[1]


class _Contents:
    """The table that was given, for `pickle`, and what `repr` says of it."""

    def __init__(self, table: Any, names: list[str], rows: int) -> None:
        self.table, self._names, self._rows = table, names, rows

    def __repr__(self) -> str:
        return f"ArrowTable({self._rows} rows: {', '.join(self._names)})"


def _address(pointer: CData) -> int:
    return int(ffi.cast("intptr_t", pointer))


def _drop(number: int, _addresses: CData) -> None:
    lib.pfd_table_drop(number)


def _release(structs: list[CData]) -> None:
    for one in structs:
        if one.release:
            one.release(one)


_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _struct_in(capsule: object, name: bytes, kind: str) -> CData:
    """The struct in a capsule; the capsule keeps it."""
    return ffi.cast(kind, _pointer_of(capsule, name))


def _moved(source: CData, to: CData) -> None:
    """Moves a struct out of a capsule, as the protocol demands."""
    to[0] = source[0]
    source.release = ffi.NULL


def _take_array(table: Any, structs: list[CData]) -> None:
    schema, array = table.__arrow_c_array__()
    _moved(_struct_in(schema, b"arrow_schema", "pfd_exported_schema *"), structs[0])
    structs.append(ffi.new("pfd_exported_array *"))
    _moved(_struct_in(array, b"arrow_array", "pfd_exported_array *"), structs[-1])


def _read_stream(table: Any, structs: list[CData]) -> None:
    capsule = table.__arrow_c_stream__()  # which releases the stream
    stream = _struct_in(capsule, b"arrow_array_stream", "pfd_exported_stream *")
    _check_read(table, stream, stream.get_schema(stream, structs[0]))
    while True:
        chunk = ffi.new("pfd_exported_array *")
        _check_read(table, stream, stream.get_next(stream, chunk))
        if not chunk.release:
            return
        structs.append(chunk)


def _check_read(table: Any, stream: CData, failed: int) -> None:
    if failed:
        said = stream.get_last_error(stream)
        words = ffi.string(said).decode(errors="replace") if said else os.strerror(failed)
        raise UserFunctionError(f"from_arrow(): the stream of the {type(table).__name__}: {words}")


# ---- Files --------------------------------------------------------------------------------------

Paths = str | os.PathLike[str]


def open(  # noqa: A001  (flow.open, as it is called)
    paths: Paths | Sequence[Paths],
    *,
    fields: str | Sequence[str | EllipsisType] | Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
    **attrs: Any,
) -> Dataset:
    """The records of files as a data set; the format is found by content, the fields in a header or
    in the first records.

    Args:
        paths: Files, patterns, and folders, which stand for the files in them; or a folder that is
            a data set.
        fields: Names of fields, "new=name" to rename one, or specs such as "x:float32[3]", also as
            a dict, {"x": "float32[3]"}; in a list, ... stands for all other fields, as in
            ["n:int64=0", ...]; None: all.
        format: As `pyflowdata head --format` takes it; None: found by content.
        **attrs: Attrs of the format's reader, without attrs of batches such as batch_size.

    Raises:
        InvalidArgumentError: The format is not known, or there is no such field.
        FileError: There are no such files, or one cannot be read.
        CorruptDataError: A file is damaged in the part that shows its fields.
    """
    files = expanded(_listed(paths), format)
    if not files:
        raise InvalidArgumentError("no files were given")
    _check_attrs(attrs)
    source = _source_of(files, format, attrs, None if fields is None else _specs(fields))
    blobs = source.blobs()
    is_guessed = any(field.is_guessed for field in source.fields)
    for node in {blob.node for blob in blobs.values()}:
        node.left_out = source.left_out
        if is_guessed:  # the error of a misfit names `fields`
            node.sampled = {node.op.outputs_attr: "fields"}
    names = [field.name for field in source.fields] or list(blobs)
    return Dataset({name: blobs[name] for name in names})


def _listed(paths: Any) -> list[str]:
    if other := of_hugging_face(paths):
        raise InvalidArgumentError(f"open(): a {type(paths).__name__} is no path{other}")
    if is_arrow(paths):
        raise InvalidArgumentError(f"open(): a {type(paths).__name__} is no path; {FROM_ARROW}")
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise InvalidArgumentError(f"open({shown(paths)}): give a path, or a list of paths")
    for path in (listed := list(given)):
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidArgumentError(f"open(): {shown(path)} is not a path")
    return [os.fspath(path) for path in listed]


def _specs(fields: Any) -> list[str]:
    """The elements of `fields=`, NAME:TYPE for those of a dict."""
    if isinstance(fields, (list, tuple)):
        fields = [REST if one is ... else one for one in fields]
    if not isinstance(fields, Mapping):
        return names_of(fields, "fields")
    if not all(isinstance(one, str) and one for one in itertools.chain(*fields.items())):
        raise WrongUseError(
            f"fields = {shown(fields)}; a dict has the type of each field, as "
            '{"x": "float32[3]", "n": "int64=-1"}',
            attr="fields",
        )
    return [f"{name}:{kind}" for name, kind in fields.items()]


def _check_attrs(attrs: Mapping[str, Any]) -> None:
    """Refuses the attrs that belong to batches."""
    of_batches = {attr.name for attr in find_op("BatchDataset").attrs}
    for name in attrs:
        if name in of_batches:
            word = "last" if name == "last_batch" else name
            is_order = "shuffle" in name or name == "order_key"
            how = "use shuffle()" if is_order else f"give it to batch({word}=...)"
            raise InvalidArgumentError(
                f"open(): {name} belongs to batches, and a data set has none yet: {how}", attr=name
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
            f"open() takes fields= in place of {listed}={given}", attr=listed
        )
    found = found.choose(fields)
    attr = find_op(found.format.reader).attr(listed)
    if attr is not None and not found.fields:
        why = f": {found.left_out[0]}" if found.left_out else ", as there are no records"
        raise InvalidArgumentError(
            f'its fields cannot be found{why}; give them, as in fields=["x:float32[3]"]',
            file=files[0],
        )
    return found
