"""Row groups of Parquet files: the functions that C calls to decode them, with pyarrow."""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from ..errors import (
    CorruptDataError,
    Error,
    FileError,
    InvalidArgumentError,
    OutOfMemoryError,
    UnsupportedError,
    missing_package,
    shown,
)
from ..native import CData, check, ffi, lib, new_error, new_struct, text
from .callbacks import Handles, c_function, message_of, status_of

_sessions: Handles[_File] = Handles()


def _pyarrow() -> Any:
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ImportError:
        raise missing_package("a reader of Parquet files", "pyarrow") from None


# ---- Predicates over statistics ------------------------------------------------------------------

_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq,
}  # fmt: skip
_MAY_FIT: dict[type[ast.cmpop], Callable[[Any, Any, Any], bool]] = {
    ast.Lt: lambda least, most, value: least < value,
    ast.LtE: lambda least, most, value: least <= value,
    ast.Gt: lambda least, most, value: most > value,
    ast.GtE: lambda least, most, value: most >= value,
    ast.Eq: lambda least, most, value: least <= value <= most,
}


class _Where:
    """Comparisons of columns with constants, joined by `and`."""

    def __init__(self, said: str) -> None:
        self._said = said
        try:
            body = ast.parse(said.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as failure:
            self._refuse(str(failure))
        self.parts = list(self._parts(body))

    def _refuse(self, why: str) -> NoReturn:
        raise InvalidArgumentError(
            f"row_groups_where = {shown(self._said)}: {why}; it has comparisons of columns with "
            "numbers or texts by ==, <, <=, > and >=, joined by 'and', as in \"year >= 2020\"",
            attr="row_groups_where",
        )

    def _parts(self, node: ast.expr) -> Iterator[tuple[str, type[ast.cmpop], Any]]:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for one in node.values:
                yield from self._parts(one)
            return
        if not isinstance(node, ast.Compare):
            self._refuse(f"{ast.unparse(node)!r} is no comparison")
        sides = [node.left, *node.comparators]
        for left, how, right in zip(sides, map(type, node.ops), sides[1:], strict=False):
            if how not in _MIRRORED:
                self._refuse(f"{ast.unparse(node)!r} compares in another way")
            if self._value(left) is None:
                yield self._path(left), how, self._constant(right)
            else:
                yield self._path(right), _MIRRORED[how], self._constant(left)

    def _path(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            return f"{self._path(node.value)}.{node.attr}"
        self._refuse(f"{ast.unparse(node)!r} is no column")

    def _constant(self, node: ast.expr) -> Any:
        found = self._value(node)
        if found is None:
            self._refuse(f"{ast.unparse(node)!r} is neither a number nor a text")
        return found

    @staticmethod
    def _value(node: ast.expr) -> Any:
        try:
            found = ast.literal_eval(node)
        except ValueError:
            return None
        return found if isinstance(found, (bool, int, float, str, bytes)) else None

    def may_fit(self, found: CData, group: int, leaves: dict[str, int]) -> bool:
        """Whether a row group may have rows that fit, as the footer states bounds."""
        for path, how, value in self.parts:
            if path not in leaves:
                self._refuse(f"there is no column {path!r}; there are {', '.join(leaves)}")
            leaf = leaves[path]
            known = _bounds(found.bounds[group * found.num_leaves + leaf], found.leaves[leaf])
            if known is None:
                continue
            said = value.encode() if isinstance(value, str) else value
            try:
                may_fit = _MAY_FIT[how](*known, said)
                if not may_fit and isinstance(said, (int, float)) and abs(said) <= _MOST_FLOAT:
                    numbers = (_rounded(one, found.leaves[leaf].form) for one in (*known, said))
                    may_fit = _MAY_FIT[how](*numbers)
                if not may_fit:
                    return False
            except TypeError:
                self._refuse(
                    f"{path} has values as {shown(known[0])}, which {shown(value)} is not "
                    "compared with"
                )
        return True


_MOST_FLOAT = sys.float_info.max
_FLOATS = {lib.PFD_BOUND_FLOAT16: np.float16, lib.PFD_BOUND_FLOAT32: np.float32}


def _rounded(number: Any, form: int) -> float:
    """A bound or a constant as `where()` compares it: NumPy rounds constants to the dtype of a
    column of floats.  Rounding keeps the order, so that bounds stay bounds."""
    with np.errstate(over="ignore"):
        return float(_FLOATS.get(form, np.float64)(float(number)))


def _bounds(found: CData, leaf: CData) -> tuple[Any, Any] | None:
    """The least and the greatest value of a leaf in a row group, where they are known."""
    if not found.least:
        return None
    least = _number(bytes(ffi.buffer(found.least, found.least_size)), leaf)
    most = _number(bytes(ffi.buffer(found.most, found.most_size)), leaf)
    return None if least != least or most != most else (least, most)  # one is NaN


_LETTERS = {  # of struct, by form
    lib.PFD_BOUND_BOOL: "?", lib.PFD_BOUND_INT32: "i", lib.PFD_BOUND_UINT32: "I",
    lib.PFD_BOUND_INT64: "q", lib.PFD_BOUND_UINT64: "Q", lib.PFD_BOUND_FLOAT16: "e",
    lib.PFD_BOUND_FLOAT32: "f", lib.PFD_BOUND_FLOAT64: "d",
}  # fmt: skip


def _number(stored: bytes, leaf: CData) -> Any:
    if leaf.form == lib.PFD_BOUND_BYTES:
        return stored
    if leaf.form == lib.PFD_BOUND_BIG_ENDIAN:
        number: Any = int.from_bytes(stored, "big", signed=True)
    else:
        (number,) = struct.unpack(f"<{_LETTERS[leaf.form]}", stored)
    if not leaf.scale:
        return number
    from decimal import Decimal  # slow to import

    return Decimal(f"{number}E{-leaf.scale}")  # scaleb() would round to 28 digits


# ---- Files --------------------------------------------------------------------------------------


class _Bytes:
    """A file object that pyarrow reads: the bytes that a pfd_readable_file gives during a call."""

    closed = False

    def __init__(self, readable: CData) -> None:
        self._readable, self._at = readable, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_CUR: self._at, os.SEEK_END: int(self._readable.file.size)}
        self._at = start.get(whence, 0) + offset
        return self._at

    def read(self, size: int = -1) -> memoryview:
        """Bytes that live during the call of C: pyarrow copies values when it decodes them."""
        left = max(int(self._readable.file.size) - self._at, 0)
        size = left if size < 0 else min(size, left)
        data, err, of = ffi.new("const uint8_t **"), new_error(), self._readable
        check(of.host.read(of.file, self._at, size, of.scratch, data, err), err)
        self._at += size
        return memoryview(ffi.buffer(data[0], size))

    def close(self) -> None:
        self.closed = True


class _File:
    """A file that is open: its metadata.  Each decoding makes new objects of pyarrow, as one thread
    at a time may use them.  Objects for a row group and its columns are not made: in C++ they end
    the process where the footer is damaged.  The footer was read by C before, as `found`."""

    def __init__(self, readable: CData, where: str, found: CData, skipped: CData) -> None:
        self._arrow = _pyarrow()
        source = self._arrow.PythonFile(_Bytes(readable), "r")
        with _told("the footer"), self._arrow.parquet.ParquetFile(source) as file:
            # A ParquetFile for each decoding would look for the paths of all columns again.
            self._new_reader = type(file.reader)
            self._metadata = file.metadata
            self.schema = _without_dictionaries(self._arrow, file.schema_arrow)
            self._has_dictionaries = self.schema != file.schema_arrow
            # metadata.schema would be a circle of objects, which lives until Python looks for it.
            self._leaves = {".".join(path): i for i, path in enumerate(file.reader.column_paths)}
            counts = self._metadata.num_row_groups, self._metadata.num_columns
            if counts != (found.num_groups, found.num_leaves):
                raise CorruptDataError(
                    f"the footer: pyarrow finds {counts[0]} row groups of {counts[1]} columns, and "
                    f"there are {found.num_groups} of {found.num_leaves}"
                )
            if where:
                condition = _Where(where)
                for i in range(found.num_groups):
                    skipped[i] = not condition.may_fit(found, i, self._leaves)

    def decode(self, readable: CData, group: int, leaves: list[int], rows: int) -> Any:
        """A reader of record batches of so many rows, with the columns that have these leaves."""
        try:
            pieces = self._decode(readable, group, leaves, rows)
            return self._arrow.RecordBatchReader.from_batches(pieces[0].schema, pieces)
        except (CorruptDataError, UnsupportedError) as failure:
            for leaf in leaves if len(leaves) > 1 else ():
                try:
                    self._decode(readable, group, [leaf], rows)
                except type(failure) as found:
                    raise found from None
            raise

    def _decode(self, readable: CData, number: int, leaves: list[int], rows: int) -> list[Any]:
        wanted = set(leaves)
        names = [name for name, i in self._leaves.items() if i in wanted]
        said = f"row group {number}, column{'s' * (len(names) > 1)} {', '.join(names)}"
        with _told(said), contextlib.closing(self._new_reader()) as reader:
            reader.open(
                self._arrow.PythonFile(_Bytes(readable), "r"), metadata=self._metadata,
                pre_buffer=False, page_checksum_verification=True,
            )  # fmt: skip
            found = reader.iter_batches(rows, [number], column_indices=leaves, use_threads=False)
            pieces = list(found)
            if self._has_dictionaries:
                pieces = _plain_batches(self._arrow, pieces)
            if not pieces:
                raise CorruptDataError(f"{said}: it has no rows")
            if not _are_even(pieces, rows):  # a batch ends where a column has a new dictionary
                joined = self._arrow.Table.from_batches(pieces).combine_chunks()
                pieces = joined.to_batches(max_chunksize=rows)
            if not _are_even(pieces, rows):
                raise UnsupportedError(
                    f"{said}: it has more than 2^31 bytes in a column; write smaller row groups, "
                    "or read large_string columns"
                )
            for piece in pieces:
                piece.validate()
            return pieces


def _are_even(pieces: list[Any], rows: int) -> bool:
    return all(piece.num_rows == rows for piece in pieces[:-1])


class _told:
    """Turns the exceptions of pyarrow into ours, which say what was read."""

    def __init__(self, said: str) -> None:
        self._said = said

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, failure: BaseException | None, trace: Any) -> None:
        if not isinstance(failure, Exception) or isinstance(failure, Error):
            return
        words = f"{self._said}: {failure}"
        if isinstance(failure, MemoryError):
            raise OutOfMemoryError(words) from failure
        if isinstance(failure, NotImplementedError):
            raise UnsupportedError(words) from failure
        if isinstance(failure, OSError) and failure.errno:
            raise FileError(words) from failure
        raise CorruptDataError(words) from failure


def _without_dictionaries(arrow: Any, schema: Any) -> Any:
    return arrow.schema([one.with_type(_plain(arrow, one.type)) for one in schema])


def _plain_batches(arrow: Any, batches: list[Any]) -> list[Any]:
    plain = [_without_dictionaries(arrow, batch.schema) for batch in batches[:1]]
    tables = [arrow.Table.from_batches([batch]).cast(*plain) for batch in batches]
    return [table.combine_chunks().to_batches()[0] for table in tables]


def _plain(arrow: Any, kind: Any) -> Any:
    """A type without dictionaries in it."""
    of = arrow.types
    if of.is_dictionary(kind):
        return kind.value_type
    if of.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return arrow.struct([one.with_type(_plain(arrow, one.type)) for one in fields])
    if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
        item = kind.value_field.with_type(_plain(arrow, kind.value_type))
        if of.is_fixed_size_list(kind):
            return arrow.list_(item, kind.list_size)
        return arrow.large_list(item) if of.is_large_list(kind) else arrow.list_(item)
    return kind


# ---- What C calls -------------------------------------------------------------------------------


def _address(pointer: CData) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _run_open(
    file: CData, where: CData, found: CData, skipped: CData, session: CData, schema: CData,
    _err: CData,
) -> int:  # fmt: skip
    opened = _File(file, text(where), found, skipped)
    opened.schema._export_to_c(_address(schema))
    session[0] = _sessions.add(opened)
    return 0


def _run_decode(
    file: CData, session: int, group: int, leaves: CData, n: int, rows: int, pieces: CData,
    _err: CData,
) -> int:  # fmt: skip
    made = _sessions[session].decode(file, group, ffi.unpack(leaves, n), rows)
    made._export_to_c(_address(pieces))
    return 0


def _run_close(session: int) -> int:
    _sessions.pop(session, None)
    return 0


def fail(args: tuple[Any, ...], failure: BaseException) -> int:
    """Writes an exception into the pfd_error, which is the last argument."""
    err = args[-1]
    err.status, err.row, err.byte = status_of(failure, lib.PFD_INTERNAL), -1, -1
    if isinstance(failure, Error) and failure.byte is not None:
        err.byte = failure.byte
    is_told = isinstance(failure, Error)
    err.message, err.cause = message_of(failure, "pyarrow", (__file__,), is_told=is_told)
    return int(err.status)


def _ignore(_args: tuple[Any, ...], _failure: BaseException) -> int:
    return 0


def _make() -> tuple[CData, list[CData]]:
    source, kept = new_struct("pfd_row_group_source"), []
    types = dict(ffi.typeof("pfd_row_group_source").fields)
    for name, run, failed in (("open", _run_open, fail), ("decode", _run_decode, fail),
                            ("close", _run_close, _ignore)):  # fmt: skip
        kept.append(c_function(types[name].type, run, failed))
        setattr(source, name, kept[-1])
    return source, kept


source, _kept = _make()  # C calls it as long as the process lives
lib.pfd_row_group_source_set(source)
