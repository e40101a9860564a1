"""MindRecord: the writer of MindSpore's shards, with their SQLite indexes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import FileError, InvalidArgumentError, shown
from ..ragged import Ragged
from .base.columns import Array, bytes_rows, columns, each_row, little, slices
from .base.damage import Damage, Scan
from .base.fields import BYTES, Field
from .base.format import Format
from .base.row_types import (
    TEXT,
    Arrays,
    ColumnsWriter,
    Part,
    RowType,
    arrays,
    byte_view,
    dense,
    joined,
    refuse_other_columns,
    row_type,
    sizes_of_part,
    spelled_type,
    type_of_field,
)
from .base.source import Source
from .base.writer import Shard, Sizes

_VERSION = "3.0"
_NUMBERS = ("int32", "int64", "float32", "float64")
_HELD_IN = {
    "bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32",
    "uint32": "int64", "float16": "float32",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_MOST_FIELDS, _MOST_SHARDS = 100, 1000
_LENGTH = 8  # bytes of the length before the header's JSON and before each part of a row
_WIDTHS = np.array([1, 2, 4, 8])  # bytes of a packed integer, by its code

# ---- Fields -------------------------------------------------------------------------------------


def _held_type(name: str, found: RowType) -> RowType:
    """The type of a field for rows of a type.

    Raises:
        InvalidArgumentError: A file cannot hold such rows, or such a name.
    """
    if not _NAME.fullmatch(name):
        raise InvalidArgumentError(
            f"the field {shown(name)}: MindRecord has names of letters, digits, _ and - only"
        )
    if not found.is_number:
        return found
    dtype = _HELD_IN.get(found.dtype, found.dtype)
    if dtype not in _NUMBERS:
        raise InvalidArgumentError(
            f"{name} is of {found.dtype}; MindRecord has {', '.join(_NUMBERS)}: cast it"
        )
    if found.shape.count(None) > 1:
        raise InvalidArgumentError(
            f"{name} has rows of shape {found.shape}; in MindRecord one size may vary: pad them"
        )
    return RowType(dtype, found.shape)


class _Field:
    """A field of the schema, which encodes rows.

    Attributes:
        name: Its name.
        is_blob: Whether it is in the blob of a row, and not among the scalars.
    """

    def __init__(self, name: str, of: RowType) -> None:
        self.name, self.of = name, of
        self.is_blob = bool(of.shape) or of.dtype == BYTES

    def schema(self) -> dict[str, Any]:
        """The entry in the header."""
        kind = "string" if self.of.dtype == TEXT else self.of.dtype
        shape = [-1 if size is None else size for size in self.of.shape]
        return {"shape": shape, "type": kind} if shape else {"type": kind}

    def sqlite_type(self) -> str:
        """The type of the column in the index."""
        if self.of.dtype == TEXT:
            return "TEXT"
        return "INTEGER" if self.of.dtype.startswith("int") else "REAL"

    # ---- Scalars ------------------------------------------------------------------------------

    def scalars(self, rows: Array | Ragged | list[Any]) -> Array | list[bytes]:
        """The numbers of rows, or their texts in UTF-8.

        Raises:
            InvalidArgumentError: The type cannot hold a row.
        """
        if self.of.is_number:
            return dense(self.name, rows, self.of)
        found = bytes_rows(self.name, rows)
        if not (isinstance(rows, list) and all(isinstance(one, str) for one in rows)):
            each_row(self._check_text, found)
        return found

    def _check_text(self, data: bytes) -> None:
        try:
            data.decode()
        except UnicodeDecodeError as failure:
            raise InvalidArgumentError(
                f"{self.name} = {shown(data)} is not text in UTF-8 at its byte {failure.start}; "
                f"say columns={{{self.name!r}: 'bytes'}}"
            ) from None

    def packed(self, values: Array | list[bytes]) -> list[Part]:
        """Name and value of each row in MessagePack."""
        name = _text_head(len(self.name)) + self.name.encode()
        if isinstance(values, list):
            heads = [name + _text_head(len(one)) for one in values]
            return [heads, values]
        code, kind = (b"\xd3", ">i8") if values.dtype.kind == "i" else (b"\xcb", ">f8")
        return [_same(name + code, len(values)), byte_view(values.astype(kind))]

    # ---- Blobs --------------------------------------------------------------------------------

    def blobs(self, rows: Array | Ragged | list[Any]) -> tuple[Part, int]:
        """The bytes of rows, and how many bytes packing of integers has saved; raises as
        `scalars`."""
        if not self.of.is_number:
            return bytes_rows(self.name, rows), 0
        if self.of.varies:
            found = arrays(self.name, rows, self.of)
        else:
            values = dense(self.name, rows, self.of)
            if values.dtype.kind == "f":
                return byte_view(little(values)), 0
            shapes = np.tile(np.array(values.shape[1:], np.int64), (len(values), 1))
            found = Arrays(values.reshape(-1), shapes)
        counts = found.lengths
        if found.values.dtype.kind == "i":
            return _packed_integers(found.values, counts)
        return slices(little(found.values).tobytes(), counts * found.values.dtype.itemsize), 0


def _same(data: bytes, rows: int) -> Array:
    """A part that is the same in all rows."""
    return np.tile(np.frombuffer(data, np.uint8), (rows, 1))


@functools.lru_cache(maxsize=4096)
def _text_head(size: int) -> bytes:
    """What MessagePack has before a text of so many bytes."""
    if size < 32:
        return bytes([0xA0 | size])
    if size < 256:
        return bytes([0xD9, size])
    return struct.pack(">BH", 0xDA, size) if size < 65536 else struct.pack(">BI", 0xDB, size)


def _packed_integers(values: Array, counts: Sizes) -> tuple[list[bytes], int]:
    """Arrays of integers, each in as few bytes as it needs: the number of values, a code of two
    bits for each, and the values."""
    wide = values.astype("<i8")
    codes = np.zeros(len(wide), np.uint8)
    for code, bits in enumerate((7, 15, 31)):
        codes[(wide < -(1 << bits)) | (wide >= 1 << bits)] = code + 1
    widths = _WIDTHS[codes]
    ends = np.concatenate([[0], np.cumsum(counts)])
    is_kept = np.arange(8) < widths[:, np.newaxis]
    data = byte_view(wide)[is_kept].tobytes()
    sizes = np.diff(np.concatenate([[0], np.cumsum(widths)])[ends])
    quads = (counts + 3) // 4  # bytes of codes, each of four
    begins = 4 * (np.cumsum(quads) - quads)
    padded = np.zeros(4 * int(quads.sum()), np.uint8)
    padded[np.arange(len(wide)) + np.repeat(begins - ends[:-1], counts)] = codes
    fours = padded.reshape(-1, 4) << np.array([6, 4, 2, 0], np.uint8)
    heads = byte_view(counts.astype(">u4"))
    parts: list[Part] = [heads, slices(np.bitwise_or.reduce(fours, axis=1).tobytes(), quads),
                         slices(data, sizes)]  # fmt: skip
    saved = values.nbytes - sum(int(sizes_of_part(part).sum()) for part in parts)
    return joined(parts), saved


# ---- Pages --------------------------------------------------------------------------------------


class _Group(NamedTuple):
    """The rows of a blob page, while the raw page for them is not written.

    Attributes:
        number: The number of the blob page among those.
        page: Its slot in the file.
        first_row: The first row of the shard in it.
        raw: The rows' scalars.
        raw_sizes, blob_sizes: Their bytes in both pages.
        indexed: The values of the indexed fields.
    """

    number: int
    page: int
    first_row: int
    raw: list[bytes]
    raw_sizes: Sizes
    blob_sizes: Sizes
    indexed: list[list[Any]]


class _Pages:
    """The pages of a shard, and the index of its rows."""

    def __init__(self, shard: Shard, header_bytes: int, page_bytes: int, index: list[_Field]):
        self._file, self._index = shard.main, index
        self._header_bytes, self._page_bytes = header_bytes, page_bytes
        self.list: list[dict[str, Any]] = []
        self._numbers = {"BLOB_DATA": 0, "RAW_DATA": 0}
        self._rows = 0  # in written blob pages
        self._groups: list[_Group] = []  # of the next raw page
        self._group_bytes = 0
        self._clear()
        self._db = sqlite3.connect(shard.file(1).path, isolation_level=None)
        self._begin_index()

    def _clear(self) -> None:
        self._raw: list[bytes] = []
        self._blobs: list[bytes] = []
        self._values: list[list[Any]] = [[] for _ in self._index]
        self._raw_bytes = self._blob_bytes = 0

    def room(self, raw_ends: Sizes, blob_ends: Sizes) -> int:
        """The number of the next rows that fit into the current pages."""
        raw = np.searchsorted(raw_ends, self._page_bytes - self._raw_bytes, side="right")
        blob = np.searchsorted(blob_ends, self._page_bytes - self._blob_bytes, side="right")
        return int(min(raw, blob))

    def add(self, raw: list[bytes], blobs: list[bytes], indexed: list[list[Any]]) -> None:
        """Adds rows, for which there is room."""
        self._raw += raw
        self._blobs += blobs
        self._raw_bytes += sum(map(len, raw))
        self._blob_bytes += sum(map(len, blobs))
        for values, more in zip(self._values, indexed, strict=True):
            values += more

    def _write(self, kind: str, pieces: list[bytes], **about: Any) -> int:
        """Writes a page; returns its slot."""
        slot, number = len(self.list), self._numbers[kind]
        self._file.skip(self._header_bytes + slot * self._page_bytes - self._file.size)
        data = b"".join(pieces)
        self._file.write(data)
        self._numbers[kind] += 1
        self.list.append({
            "end_row_id": 0, "page_id": slot, "page_size": len(data), "page_type": kind,
            "page_type_id": number, "row_group_ids": [{"id": number, "offset": 0}],
            "shard_id": 0, "start_row_id": 0, **about,
        })  # fmt: skip
        return slot

    def flush(self) -> None:
        """Writes the blob page, whose rows all have their scalars in one raw page."""
        if not self._raw:
            return
        if self._group_bytes + self._raw_bytes > self._page_bytes:
            self._flush_raw()
        first, number = self._rows, self._numbers["BLOB_DATA"]
        self._rows += len(self._raw)
        page = self._write("BLOB_DATA", self._blobs, start_row_id=first, end_row_id=self._rows)
        sizes = sizes_of_part(self._raw), sizes_of_part(self._blobs)
        self._groups.append(_Group(number, page, first, self._raw, *sizes, self._values))
        self._group_bytes += self._raw_bytes
        self._clear()

    def _flush_raw(self) -> None:
        if not self._groups:
            return
        begins = np.cumsum([0, *(int(one.raw_sizes.sum()) for one in self._groups)]).tolist()
        page = self._write(
            "RAW_DATA",
            [row for one in self._groups for row in one.raw],
            row_group_ids=[
                {"id": one.number, "offset": begin} for one, begin in zip(self._groups, begins)
            ],
        )
        for one, begin in zip(self._groups, begins):
            self._insert(one, page, begin)
        self._groups, self._group_bytes = [], 0

    def finish(self) -> None:
        """Writes what is left, and the index."""
        self.flush()
        self._flush_raw()
        self._do("COMMIT")
        self._db.close()

    # ---- The index ----------------------------------------------------------------------------

    def _do(self, statement: str, rows: Any = None) -> None:
        with _sqlite_errors(self._file.target):
            if rows is None:
                self._db.execute(statement)
            else:
                self._db.executemany(statement, rows)

    def _begin_index(self) -> None:
        names = ["ROW_ID", "PAGE_ID_RAW", "PAGE_OFFSET_RAW", "PAGE_OFFSET_RAW_END",
                 "ROW_GROUP_ID", "PAGE_ID_BLOB", "PAGE_OFFSET_BLOB", "PAGE_OFFSET_BLOB_END"]
        fields = [f"{name} INT NOT NULL" for name in names]
        key = ["ROW_ID"]
        for number, one in enumerate(self._index):
            fields += [f"INC_{number} INT", f'"{_column_of(one)}" {one.sqlite_type()}']
            key.append(f"INC_{number}")
        self._do("PRAGMA journal_mode = OFF")  # an unfinished file is dropped as a whole
        self._do("PRAGMA synchronous = OFF")
        self._do("BEGIN")
        self._do(f"CREATE TABLE INDEXES({', '.join(fields)}, PRIMARY KEY({', '.join(key)}))")
        self._do("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
        self._do("INSERT INTO SHARD_NAME VALUES (?)", [(self._file.target.name,)])

    def _insert(self, group: _Group, raw_page: int, raw_begin: int) -> None:
        rows = len(group.raw)
        raw, blob = np.cumsum(group.raw_sizes) + raw_begin, np.cumsum(group.blob_sizes)
        parts: list[Any] = [
            range(group.first_row, group.first_row + rows), [raw_page] * rows,
            (raw - group.raw_sizes).tolist(), raw.tolist(), [group.number] * rows,
            [group.page] * rows, (blob - group.blob_sizes).tolist(), blob.tolist(),
        ]  # fmt: skip
        for values in group.indexed:
            parts += [[0] * rows, values]
        marks = ", ".join("?" * len(parts))
        self._do(f"INSERT INTO INDEXES VALUES ({marks})", zip(*parts, strict=True))

    def discard(self) -> None:
        """Closes the index, which is dropped."""
        self._db.close()


def _column_of(field: _Field) -> str:
    """The column of an indexed field."""
    return f"{field.name.replace('-', '_')}_0"


@contextlib.contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as failure:
        raise FileError(f"writing its index: {failure}", file=os.fspath(path)) from failure


# ---- Writing ------------------------------------------------------------------------------------


class MindRecordWriter(ColumnsWriter):
    """Writes MindRecord 3.0: a file NAME and its index NAME.db, or such a pair for each shard.

    A sample is a dict of numbers, text, bytes and arrays of numbers, a batch a dict of columns.
    `columns` gives the types; those of other columns are as the first sample or batch has them:
    bools and small integers are int32, uint32 is int64, float16 is float32.  Arrays of uint8 with
    one dimension are bytes.  Files hold the names of all shards of their set, so that they cannot
    be renamed.
    """

    compressions = ()
    suffixes = ("", ".db")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str] | None = None,
        index: Sequence[str] = (),
        description: str = "",
        header_bytes: int = 1 << 20,
        page_bytes: int = 1 << 25,
        **options: Any,
    ) -> None:
        """Opens the files; raises as `Writer`.

        Args:
            path: The file without `.db`.
            columns: Name of a column -> its type: str, bytes, or int32, int64, float32 or float64
                with the shape of a row, as float32[3] or int64[?,2]; one size may vary.
            index: Names of columns of numbers or text that the index has, for MindPage.
            description: The text in the schema.
            header_bytes: The room for the header, 16 KiB to 128 MiB: 200 bytes for each page.
            page_bytes: The size of a page, 32 KiB to 256 MiB, into which each row must fit.
            **options: As for every `Writer`.
        """
        self._header_bytes = self._multiple("header_bytes", header_bytes, 1 << 14, 1 << 27)
        self._page_bytes = self._multiple("page_bytes", page_bytes, 1 << 15, 1 << 28)
        self._description = description
        try:
            self._given = self._checked_columns(columns)
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(failure.message, op=type(self).__name__) from None
        is_list = isinstance(index, Sequence) and not isinstance(index, str)
        if not is_list or not all(isinstance(one, str) for one in index):
            raise InvalidArgumentError(
                f"index = {shown(index)}; it must be a list of names", op=type(self).__name__
            )
        self._index = sorted(set(index))
        self._fields: list[_Field] = []
        self._pages: _Pages | None = None
        self._saved = 0  # bytes, by packing, in the current shard
        super().__init__(path, **options)

    def _multiple(self, what: str, value: Any, least: int, most: int) -> int:
        found = self._whole(what, value, least, most)
        if found is None or found % 4:
            raise InvalidArgumentError(
                f"{what} = {shown(value)}; it must be a multiple of 4", op=type(self).__name__
            )
        return found

    def _base(self, path: Path) -> Path:
        return path.with_suffix("") if path.suffix == ".db" else path

    def _checked_columns(self, given: Any) -> dict[str, RowType]:
        if given is not None and not isinstance(given, Mapping):
            raise InvalidArgumentError(
                f"columns = {shown(given)}; it must be a dict of names and types, as "
                "{'text': 'str', 'label': 'int32'}"
            )
        return {
            name: _held_type(name, spelled_type(name, one, _NUMBERS))
            for name, one in (given or {}).items()
        }

    # ---- Records ------------------------------------------------------------------------------

    def write_batch(self, batch: Any) -> None:
        """Writes a record for each row of the columns; raises as `write`."""
        with self._naming():
            found, count = columns(batch)
            if not count:
                return
            if not self._fields:
                self._set_fields(found)
            refuse_other_columns(found, [one.name for one in self._fields])
            scalars = {
                one.name: one.scalars(found[one.name]) for one in self._fields if not one.is_blob
            }
            raw = self._raw_rows(scalars, count)
            blobs, saved = self._blob_rows(found, count)
            indexed = [_for_sqlite(scalars[name]) for name in self._index]
        with self._writing():
            self._saved += saved
            self._add(raw, blobs, indexed)

    def _set_fields(self, found: Mapping[str, Array | Ragged | list[Any]]) -> None:
        if missing := set(self._given) - set(found):
            raise InvalidArgumentError(
                f"columns names {', '.join(sorted(missing))}, and the fields are "
                f"{', '.join(found)}"
            )
        kinds = {
            name: self._given.get(name) or _held_type(name, row_type(name, one))
            for name, one in found.items()
        }
        self._take(kinds)

    def _take(self, kinds: Mapping[str, RowType]) -> None:
        if len(kinds) > _MOST_FIELDS:
            raise InvalidArgumentError(
                f"there are {len(kinds)} fields; MindRecord has at most {_MOST_FIELDS}"
            )
        fields = [_Field(name, kinds[name]) for name in sorted(kinds)]
        scalars = {one.name for one in fields if not one.is_blob}
        for name in self._index:
            if name not in scalars or name[0].isdigit():
                raise InvalidArgumentError(
                    f"index names {shown(name)}; it must be a field of numbers or text whose name "
                    f"does not begin with a digit: {', '.join(sorted(scalars)) or 'there is none'}"
                )
        self._fields = fields

    def _raw_rows(self, scalars: Mapping[str, Array | list[bytes]], rows: int) -> list[bytes]:
        parts: list[Part] = []
        for one in self._fields:
            if not one.is_blob:
                parts += one.packed(scalars[one.name])
        if not parts:  # a row must have a field
            parts = [_same(b"\xa2id\0", rows)]
        count = max(len(scalars), 1)
        head = bytes([0x80 | count]) if count < 16 else struct.pack(">BH", 0xDE, count)
        return self._with_lengths([_same(head, rows), *parts], "scalars")

    def _blob_rows(self, found: Mapping[str, Any], rows: int) -> tuple[list[bytes], int]:
        parts: list[Part] = []
        saved = 0
        blobs = [one for one in self._fields if one.is_blob]
        for one in blobs:
            part, more = one.blobs(found[one.name])
            if len(blobs) > 1:
                parts.append(byte_view(sizes_of_part(part).astype(">u8")))
            parts.append(part)
            saved += more
        return self._with_lengths(parts or [_same(bytes(4), rows)], "arrays and bytes"), saved

    def _with_lengths(self, parts: list[Part], what: str) -> list[bytes]:
        sizes: npt.NDArray[np.int64] = np.sum([sizes_of_part(part) for part in parts], axis=0)
        if (most := int(sizes.max()) + _LENGTH) > self._page_bytes:
            raise InvalidArgumentError(
                f"the {what} of the record have {most} bytes, more than page_bytes, which is "
                f"{self._page_bytes}: say page_bytes=N, at most 2^28",
                ordinal=int(np.argmax(sizes)),
            )
        return joined([byte_view(sizes.astype("<u8")), *parts])

    def _add(self, raw: list[bytes], blobs: list[bytes], indexed: list[list[Any]]) -> None:
        raw_sizes, blob_sizes = sizes_of_part(raw), sizes_of_part(blobs)
        begin = 0
        while begin < len(raw):
            shard = self._shards[-1]
            self._begin_once(shard)
            assert self._pages is not None
            raw_ends, blob_ends = np.cumsum(raw_sizes[begin:]), np.cumsum(blob_sizes[begin:])
            count = self._room(raw_ends + blob_ends)
            if count == 0:
                self._seal(shard)
                self._shards.append(self._new_shard())
                continue
            count = min(count, self._pages.room(raw_ends, blob_ends))
            if count == 0:
                self._pages.flush()
                continue
            end = begin + count
            self._pages.add(raw[begin:end], blobs[begin:end], [one[begin:end] for one in indexed])
            shard.bytes += int(raw_ends[count - 1] + blob_ends[count - 1])
            shard.records += count
            self.records += count
            begin = end

    # ---- Files --------------------------------------------------------------------------------

    def _begin(self, shard: Shard) -> None:
        if not self._fields:  # without rows: those that were named
            self._take(self._given)
        index = [one for one in self._fields if one.name in self._index]
        self._pages = _Pages(shard, self._header_bytes, self._page_bytes, index)

    def _finish(self, shard: Shard) -> None:
        assert self._pages is not None
        self._pages.finish()
        header = {
            "header_size": self._header_bytes,
            "index_fields": [{"index_field": name, "schema_id": 0} for name in self._index] or None,
            "page": self._pages.list,
            "page_size": self._page_bytes,
            "compression_size": max(self._saved, 0),
            "schema": [{
                "blob_fields": [one.name for one in self._fields if one.is_blob],
                "desc": self._description,
                "schema": {one.name: one.schema() for one in self._fields},
            }],
            "shard_addresses": [shard.main.target.name],
            "shard_id": 0,
            "statistics": None,
            "version": _VERSION,
        }  # fmt: skip
        shard.main.patch(0, _header(header, shard.main.target))
        self._pages, self._saved = None, 0

    def _drop(self) -> None:
        if self._pages is not None:
            self._pages.discard()
            self._pages = None
        super()._drop()

    @classmethod
    def name_set(cls, files: Sequence[Sequence[Path]], names: Sequence[Sequence[Path]]) -> None:
        """Writes the names of all shards into each, and its own into its index."""
        if len(names) > _MOST_SHARDS:
            raise InvalidArgumentError(
                f"there are {len(names)} shards; MindRecord has at most {_MOST_SHARDS}: make "
                "them larger",
                op=cls.__name__,
            )
        addresses = [one.name for one, _ in names]
        for number, ((main, index), (target, _)) in enumerate(zip(files, names, strict=True)):
            with open(main, "r+b") as file:
                (size,) = struct.unpack("<Q", file.read(_LENGTH))
                header = json.loads(file.read(size))
                header["shard_addresses"], header["shard_id"] = addresses, number
                for page in header["page"]:
                    page["shard_id"] = number
                file.seek(0)
                file.write(_header(header, target).ljust(_LENGTH + size, b"\0"))
                file.flush()
                os.fsync(file.fileno())
            with _sqlite_errors(target), contextlib.closing(sqlite3.connect(index)) as db, db:
                db.execute("UPDATE SHARD_NAME SET NAME = ?", (target.name,))


def _header(header: dict[str, Any], path: Path) -> bytes:
    """The length and the JSON of a header."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    if len(text) + _LENGTH > header["header_size"]:
        raise InvalidArgumentError(
            f"the header has {len(text)} bytes, and the room for it {header['header_size']}: say "
            "header_bytes=N, at most 2^27, or make larger pages",
            op="MindRecordWriter", file=os.fspath(path),
        )  # fmt: skip
    return struct.pack("<Q", len(text)) + text


def _for_sqlite(values: Array | list[bytes]) -> list[Any]:
    return [one.decode() for one in values] if isinstance(values, list) else values.tolist()


# ---- The format ---------------------------------------------------------------------------------


class MindRecord(Format):
    """Files with one type for each field."""

    writer = MindRecordWriter

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """The damage of one shard; the reader would add the other shards of its set."""
        alone = dict(source.attrs) | {"whole_set": False}
        return super().damage(dataclasses.replace(source, attrs=tuple(alone.items())), scan)

    def refusal(self, field: Field) -> str | None:
        try:
            _held_type(field.name, type_of_field(field))
        except InvalidArgumentError as failure:
            return failure.message
        return None

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The types of the fields."""
        kinds = {one.name: _held_type(one.name, type_of_field(one)) for one in fields}
        return {"columns": {n: Field(n, k.dtype, k.shape).type for n, k in kinds.items()}}


FORMAT = MindRecord
