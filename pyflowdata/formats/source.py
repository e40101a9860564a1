"""Files of a format, opened by the op that reads it."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import mmap
import os
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..attr_values import parse_attr
from ..errors import CorruptDataError, Error, InvalidArgumentError, UnsupportedError, shown
from ..graph import Blob, Node
from ..loader import DataLoader
from ..registry import Op, find_op
from .detect import FORMATS, HEAD, Detected, Format, detect, first_bytes, mds_index
from .csv_types import Column
from .fields import (
    SEEN_OF_MEMBER,
    Field,
    Table,
    as_cells,
    csv_table,
    features_fields,
    idx_field,
    npy_field,
    places_of,
    specs,
    tar_decoder,
    tar_fields,
    widened,
)
from .wire import decode_example, decode_ofrecord

RECORD = "__record__"  # the name of the blob of whole records
_LOOKED_AT = 256  # records, to find the fields
_SCANNED = 4096  # rows of a CSV file at a time, where types are found
_LOOKED_AT_BYTES = 1 << 24  # of a tar file that Python does not decompress
# What Python raises of headers that are JSON of another kind.
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError,
              MemoryError, struct.error)  # fmt: skip
_EMPTY = ("tfrecord", "ofrecord", "csv", "text", "raw", "tar")  # of which 0 bytes are a whole file

_WHOLE = ("tfrecord", "ofrecord", "onerec")  # their readers give records as bytes
_DECODERS = {"tfrecord": "ExampleDecoder"}


def _make(name: str, inputs: Sequence[Blob], **attrs: Any) -> Node:
    return Node(find_op(name), None, inputs, attrs)


@dataclasses.dataclass(frozen=True)
class Source:
    """Files of one format, and the fields of their records.

    Attributes:
        format: Of all files.
        compression: Of all files.
        files: As the reader takes them.
        fields: Of a record; empty where only whole records are known.
        has_records: Whether the reader gives whole records, with their bytes.
        attrs: Of the reader, besides `files`.
        left_out: What is said of parts of a record that are no fields.
        is_empty: Whether the files say that they have no records, which readers refuse.
    """

    format: Format
    compression: str | None
    files: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    has_records: bool = False
    attrs: tuple[tuple[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    is_empty: bool = False

    def choose(self, wanted: Sequence[str] | None) -> Source:
        """The same with some of its fields: names, or specs with a type of their own.

        Raises:
            InvalidArgumentError: There is no such field, and no type is said either.
        """
        if not wanted:
            return self
        known = {field.name: field for field in self.fields}
        chosen = []
        for one in wanted:
            name, colon, kind = one.rpartition(":") if one not in known else (one, "", "")
            name = name if colon else one
            if name not in known and not colon:
                raise InvalidArgumentError(
                    f"there is no field {shown(name)}; there are {', '.join(known) or 'none'}"
                )
            field = known.get(name, Field(name, ""))
            chosen.append(_typed(field, kind) if colon else field)
        return dataclasses.replace(self, fields=tuple(chosen), left_out=())

    def with_defaults(self) -> Source:
        """The same where bytes that a record has not are empty bytes."""
        fields = (
            dataclasses.replace(one, default="") if one.dtype == "bytes" else one
            for one in self.fields
        )
        return dataclasses.replace(self, fields=tuple(fields))

    def with_attrs(self, texts: Mapping[str, str]) -> Source:
        """The same with attrs of the reader, as a command line spells them."""
        if not texts:
            return self
        op = find_op(self.format.reader)
        values = {name: _parsed(op, name, text) for name, text in texts.items()}
        fields = self.fields
        if self.format.name == "csv":
            return self._with_dialect(values)
        if self.format.name == "raw":  # only the attrs know what its rows are
            fields = (Field("out", str(values.get("dtype", "uint8")), values.get("shape", ())),)
        attrs = (*self.attrs, *values.items())
        return dataclasses.replace(self, fields=fields, attrs=attrs)

    def _with_dialect(self, values: Mapping[str, Any]) -> Source:
        """A CSV source whose columns are found once more, as attrs say where they are."""
        head = first_bytes(self.files[0], HEAD)[0] or b""
        lines = int(values.get("skip_header_lines", 0))
        head = head.split(b"\n", lines)[-1] if head.count(b"\n") >= lines else b""
        found = _table_source(self, head, dict(values))
        if all(field.dtype == "bytes" for field in self.fields):  # as they were asked for
            found = found.as_cells()
        return dataclasses.replace(found, attrs=(*found.attrs, *values.items()))

    def as_cells(self) -> Source:
        """A CSV source with the bytes of each column as they are in the file."""
        fields = (one for field in self.fields for one in as_cells(field))
        return dataclasses.replace(self, fields=tuple(fields))

    def with_types(self, *, exact: bool = False) -> Source:
        """A CSV source whose types, where they are guessed, hold the cells of all records.

        Args:
            exact: Whether numbers that float64 does not hold are an error.

        Raises:
            InvalidArgumentError: There is such a number.
            CorruptDataError: A file is damaged.
        """
        guessed = [field for field in self.fields if field.is_guessed]
        if not guessed or self.is_empty or self.format.name != "csv":
            return self
        cells = [one for field in guessed for one in as_cells(field)]
        columns = {one.key: Column() for one in cells}
        looked = dataclasses.replace(self, fields=tuple(cells))
        with looked.loader(batch_size=_SCANNED, on_error="skip") as loader:
            for batch in loader:
                for one in cells:
                    columns[one.key].add(batch[one.name].to_bytes_list())
        fields: list[Field] = []
        for field in self.fields:
            own = [columns[str(one)] for one in places_of(field)] if field.is_guessed else []
            wrong = next((one.inexact for one in own if one.inexact), None)
            if wrong is not None and exact:
                raise InvalidArgumentError(
                    f"{field.name} has {wrong.decode()[:40]}, which float64 does not hold: choose "
                    f"its type with --fields, as {field.name}:bytes"
                )
            fields += widened(field, own) if own else [field]
        return dataclasses.replace(self, fields=tuple(fields))

    def reader(self, **attrs: Any) -> Node:
        """The node that reads the files, on one rank, with these attrs of every reader."""
        given = {"seed": 0, "rank": 0, "world_size": 1, **dict(self.attrs), **attrs}
        listed = find_op(self.format.reader).outputs_attr
        if listed:
            given[listed] = specs(map(self._plain, self.fields))
        return _make(self.format.reader, (), files=list(self.files), **given)

    def blobs(self, **attrs: Any) -> dict[str, Blob]:
        """A blob for each field, and RECORD where there are whole records."""
        node = self.reader(**attrs)
        if self.format.name in _DECODERS:
            found = {RECORD: node.outputs[0]}
            if self.fields:
                decoder = _DECODERS[self.format.name]
                listed = {find_op(decoder).outputs_attr: specs(self.fields)}
                decoded = _make(decoder, [node.outputs[0]], **listed).outputs
                found |= {
                    field.name: blob for field, blob in zip(self.fields, decoded, strict=True)
                }
            return found
        if self.has_records:
            found = {RECORD: node.outputs[0]}
            for field in self.fields:
                found[field.name] = _ofrecord_blob(node.outputs[0], field)
            return found
        named = zip(self.fields, node.outputs, strict=False)
        return {field.name: self._decoded(blob, field) for field, blob in named}

    def _plain(self, field: Field) -> Field:
        """The field as the reader gives it: of a tar file, what is decoded is bytes there."""
        if self.format.name != "tar" or field.dtype == "bytes" or not tar_decoder(field.name):
            return field
        return dataclasses.replace(field, dtype="bytes", shape=())

    def _decoded(self, blob: Blob, field: Field) -> Blob:
        if self._plain(field) == field:
            return blob
        name = tar_decoder(field.name)
        if name == "DecodeClass" and (field.dtype, field.shape) != ("int64", ()):
            raise InvalidArgumentError(
                f"{field.name} holds class numbers, which are int64; this asks for {field.type}"
            )
        sizes = [-1 if size is None else size for size in field.shape]
        attrs = {"dtype": field.dtype, "shape": sizes} if name == "DecodeNpy" else {}
        return _make(name, [blob], **attrs).outputs[0]

    def loader(self, wanted: Iterable[str] | None = None, **attrs: Any) -> DataLoader[Any]:
        """A loader of dicts: of these fields, or all of them without RECORD."""
        blobs = self.blobs(**attrs)
        names = [field.name for field in self.fields] if wanted is None else list(wanted)
        return DataLoader({name: blobs[name] for name in names or [RECORD]})


def _parsed(op: Op, name: str, text: str) -> Any:
    """The value of an attr; of a flag also as Python spells it."""
    attr = op.attr(name)
    is_flag = attr is not None and attr.type.word == "bool"
    return parse_attr(op, name, text.lower() if is_flag and text in ("True", "False") else text)


def _typed(field: Field, kind: str) -> Field:
    """The field with another type and default, as float32, float32[3] or float32=nan."""
    kind, equals, said = kind.partition("=")
    default: str | None = said
    if not equals:  # a guessed one is NaN
        keeps = not field.is_guessed or kind.startswith("float")
        default = field.default if keeps else None
    field = dataclasses.replace(field, is_guessed=False, default=default)
    dtype, bracket, sizes = kind.partition("[")
    if not bracket:
        return dataclasses.replace(field, dtype=dtype, key=field.key or field.name)
    parts = [one for one in sizes.rstrip("]").split(",") if one]
    try:
        shape = tuple(None if one == "?" else int(one) for one in parts)
    except ValueError:
        raise InvalidArgumentError(
            f"the type {shown(kind)} of {field.name} must be like float32[3,?]"
        ) from None
    return dataclasses.replace(field, dtype=dtype, shape=shape, key=field.key or field.name)


def _ofrecord_blob(records: Blob, field: Field) -> Blob:
    if field.dtype == "bytes":
        return _make("OFRecordBytesDecoder", [records], blob_name=field.name).outputs[0]
    attrs = {"blob_name": field.name, "shape": field.shape, "dtype": field.dtype}
    return _make("OFRecordRawDecoder", [records], **attrs).outputs[0]


# ---- Which fields there are ---------------------------------------------------------------------


def _first_records(source: Source, found: Detected) -> list[bytes]:
    """The first whole records of a file, as the reader gives them."""
    one = dataclasses.replace(source, files=(found.path,), fields=())
    with one.loader([RECORD], batch_size=_LOOKED_AT, on_error="skip") as loader:
        for batch in loader:
            records: list[bytes] = batch[RECORD].to_bytes_list()
            return records
    return []


def _messages(
    source: Source, found: Detected, decode: Callable[[bytes], dict[str, Any] | None]
) -> Source:
    records = _first_records(source, found)
    try:
        fields, left_out = features_fields(decode(record) or {} for record in records)
    except ValueError as failure:
        if isinstance(failure, Error):
            raise
        return source  # records of something else: they stay whole
    return dataclasses.replace(source, fields=tuple(fields), left_out=tuple(left_out))


def _tfrecord(source: Source, found: Detected) -> Source:
    return _messages(source, found, decode_example)


def _ofrecord(source: Source, found: Detected) -> Source:
    source = _messages(source, found, decode_ofrecord)
    free = [one for one in source.fields if None in one.shape]
    said = (
        f"{one.name}, which has a varying number of values: {one.name}:{one.dtype}[LENGTH] in "
        "--fields" for one in free
    )  # fmt: skip
    fields = tuple(one for one in source.fields if one not in free)
    return dataclasses.replace(source, fields=fields, left_out=(*source.left_out, *said))


def _npy(source: Source, found: Detected) -> Source:
    field, is_big, rows = npy_field(found.head)
    attrs: list[tuple[str, Any]] = [("dtype", field.dtype), ("shape", field.shape)]
    attrs += [("byte_order", "big")] if is_big else []
    return dataclasses.replace(
        source, fields=(field,), attrs=tuple(attrs), is_empty=rows == 0
    )


def _idx(source: Source, found: Detected) -> Source:
    field, rows = idx_field(found.head)
    attrs = (("dtype", field.dtype), ("shape", field.shape))
    return dataclasses.replace(source, fields=(field,), attrs=attrs, is_empty=rows == 0)


def _raw(source: Source, found: Detected) -> Source:
    return dataclasses.replace(source, fields=(Field("out", "uint8"),))


def _text(source: Source, found: Detected) -> Source:
    return dataclasses.replace(source, fields=(Field("out", "bytes"),))


def _csv(source: Source, found: Detected) -> Source:
    return _table_source(source, found.head, {})


def _table_source(source: Source, head: bytes, given: Mapping[str, Any]) -> Source:
    """The columns of a CSV file that begins so, where some attrs of the reader are given."""
    is_whole = len(head) < HEAD
    header = {"yes": True, "no": False}.get(given.get("header", ""))
    table: Table = csv_table(head, is_whole, str(given.get("delimiter", "")), header)
    attrs: list[tuple[str, Any]] = []
    if table.delimiter != ",":
        attrs.append(("delimiter", table.delimiter))
    if table.has_breaks or (not source.compression and any(map(_has_quote, source.files))):
        attrs.append(("multiline", True))
    attrs.append(("header", "yes" if table.has_header else "no"))
    return dataclasses.replace(
        source, fields=table.fields, attrs=tuple(attrs), is_empty=is_whole and table.is_empty
    )


def _has_quote(path: str) -> bool:
    """Whether a cell of a file may hold a line break."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(b'"') >= 0
    except (OSError, ValueError):  # who reads it is told
        return False


def _refuse_other_columns(found: Sequence[Detected]) -> None:
    """Columns are read by number, so that all files must have the same ones."""
    first = found[0].head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
    for one in found[1:]:
        line = one.head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
        if one.head and line != first:
            raise InvalidArgumentError(
                f"its columns are {shown(line.decode(errors='replace'))}, and those of "
                f"{found[0].path} are {shown(first.decode(errors='replace'))}: read it by itself",
                file=one.path,
            )


def _tar(source: Source, found: Detected) -> Source:
    members: list[tuple[str, bytes]] = []
    seen, is_whole = 0, True
    try:
        with _archive(found) as archive:
            for one in itertools.islice(archive, _LOOKED_AT):
                seen += 1
                file = archive.extractfile(one) if one.isfile() else None
                if file is not None:
                    members.append((one.name, file.read(SEEN_OF_MEMBER)))
    except (tarfile.TarError, EOFError, OSError, zlib.error) as failure:
        is_whole = False
        if not seen:
            raise CorruptDataError(f"no member can be read: {failure}", file=found.path) from None
    is_cut, is_whole = not is_whole, is_whole and seen < _LOOKED_AT
    fields = tuple(tar_fields(members, is_whole))
    if is_cut and not fields:
        raise CorruptDataError("no member of the file is whole", file=found.path)
    return dataclasses.replace(source, fields=fields, is_empty=is_whole and not fields)


def _archive(found: Detected) -> tarfile.TarFile:
    """The members in sequence; Python reads neither zlib nor zstd as it goes."""
    if found.compression in (None, "gzip"):
        return tarfile.open(found.path, "r|" if found.compression is None else "r|gz")
    head = io.BytesIO(first_bytes(found.path, _LOOKED_AT_BYTES)[0] or b"")
    return tarfile.open(fileobj=head, mode="r|")


def _megatron(source: Source, found: Detected) -> Source:
    index = Path(found.path).with_suffix(".idx")
    head = found.head if found.path.endswith(".idx") else index.read_bytes()[:34]
    codes = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float64",
             7: "float32", 8: "uint16"}  # fmt: skip
    count = struct.unpack_from("<Q", head, 18)[0] if len(head) >= 26 else None
    dtype = codes.get(head[17]) if len(head) > 17 and head.startswith(b"MMIDIDX") else None
    if dtype is None:
        raise UnsupportedError("only .idx files of version 1 are known", file=os.fspath(index))
    files = tuple(str(Path(one).with_suffix(".bin")) for one in source.files)
    field = Field("tokens", dtype, (None,))
    return dataclasses.replace(
        source, files=files, fields=(field,), attrs=(("dtype", dtype),), is_empty=count == 0
    )


_MDS = {"int": "int64", "str_int": "int64", "str_float": "float64"}


def _mds(source: Source, found: Detected) -> Source:
    if found.path.endswith(".json"):
        shards: Any = mds_index(found.path).get("shards", [])
        if not shards:
            return dataclasses.replace(source, is_empty=True)
        about = shards[0]
    else:
        count, first = struct.unpack_from("<II", found.head)
        head = found.head if first <= HEAD else first_bytes(found.path, first)[0] or b""
        about = json.loads(head[8 + 4 * count : first])
    names, encodings = about["column_names"], about["column_encodings"]
    known = list(zip(names, encodings, strict=True))
    free = {name for name, one in known if one.startswith("ndarray") and one.count(":") < 2}
    fields = tuple(_mds_field(name, one) for name, one in known if name not in free)
    said = (f"{name}, an ndarray of any shape: {name}:dtype[?,?] in --fields" for name in free)
    return dataclasses.replace(source, fields=fields, left_out=tuple(sorted(said)))


def _mds_field(name: str, encoding: str) -> Field:
    dtype = _MDS.get(encoding, encoding)
    if dtype.startswith("ndarray:"):
        _, dtype, sizes = dtype.split(":")
        return Field(name, dtype, tuple(map(int, sizes.split(","))))
    try:
        known = np.dtype(dtype).kind in "iuf"
    except TypeError:
        known = False
    return Field(name, dtype if known else "bytes")


def _mindrecord(source: Source, found: Detected) -> Source:
    if found.compression:
        raise UnsupportedError(
            f"a MindRecord file that is {found.compression} compressed is not read: decompress it",
            file=found.path,
        )
    (length,) = struct.unpack_from("<Q", found.head)
    if length > found.size - 8:
        raise CorruptDataError(
            f"the header is said to have {length} bytes, and the file has {found.size}",
            file=found.path,
        )
    with open(found.path, "rb") as file:
        about = json.loads(file.read(8 + length)[8:])
    schema = about["schema"][0]["schema"]
    fields = []
    for name, one in sorted(schema.items()):
        shape = tuple(None if size == -1 else int(size) for size in one.get("shape", ()))
        kind = one["type"]
        if not isinstance(kind, str):
            raise TypeError(f"the type of {name} is {shown(kind)}")
        fields.append(Field(name, "bytes" if kind in ("string", "bytes") else kind, shape))
    return dataclasses.replace(source, fields=tuple(fields))


_FINDERS: dict[str, Callable[[Source, Detected], Source]] = {
    "tfrecord": _tfrecord, "ofrecord": _ofrecord, "npy": _npy, "idx": _idx, "raw": _raw,
    "text": _text, "csv": _csv, "tar": _tar, "megatron": _megatron, "mds": _mds,
    "mindrecord": _mindrecord,
}  # fmt: skip


def _with_fields(
    source: Source,
    found: Sequence[Detected],
    finder: Callable[[Source, Detected], Source] | None,
    only_records: bool,
) -> Source:
    """The source with the fields of its first file that has some bytes."""
    some = [one for one in found if not one.is_empty or one.format not in _EMPTY]
    first = next(iter(some), found[0])
    if not some and (source.has_records or first.format == "tar"):
        return dataclasses.replace(source, is_empty=True)
    if finder is None:
        return source
    plain, source = source, finder(source, first)
    if source.is_empty:
        is_empty = all(finder(plain, one).is_empty for one in some)
        source = dataclasses.replace(source, is_empty=is_empty)
    elif not some:
        source = dataclasses.replace(source, is_empty=True)
    if first.format == "csv" and dict(source.attrs).get("header") == "yes" and first.head:
        _refuse_other_columns(found)
    if first.format == "csv" and only_records:
        source = source.as_cells()
    if first.format == "tar" and only_records:
        fields = tuple(dataclasses.replace(one, dtype="bytes", shape=()) for one in source.fields)
        source = dataclasses.replace(source, fields=fields)
    return source


def _detect(path: str | os.PathLike[str], format: str | None) -> Detected:
    """What a file is; damage of a compressed one comes before what its bytes look like."""
    try:
        found = detect(path, format)
    except InvalidArgumentError as failure:
        if failure.file is not None:
            _refuse_damaged(failure.file)
        raise
    if found.compression and found.format in ("text", "raw") and len(found.head) < HEAD:
        _refuse_damaged(found.path)
    if found.compression and not found.head:
        _refuse_damaged(found.path)
        return dataclasses.replace(found, size=0)
    return found


def _refuse_damaged(path: str) -> None:
    """Raises where a file is compressed, and cannot be decompressed to its end."""
    if first_bytes(path, 1)[2] is None:
        return
    reader = _make(
        "TextLineReader", (), files=[path], seed=0, rank=0, world_size=1, batch_size=_SCANNED
    )
    try:
        with DataLoader(reader.outputs) as loader:
            for _ in loader:
                pass
    except CorruptDataError as failure:
        if "there is not one record" not in failure.message:
            raise type(failure)(failure.message, file=failure.file or path) from None


def open_source(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,
    *,
    only_records: bool = False,
) -> Source:
    """Looks at files, which must be of one format, and finds the fields of their records.

    Args:
        paths: The files; `.bin` and `.idx` of Megatron name each other.
        format: A key of FORMATS; None: found by content.
        only_records: Whether records stay as they are: fields are not looked for where the reader
            gives whole records, and the files of a tar file's samples are not decoded.

    Raises:
        InvalidArgumentError: They are of no known format, or of several.
        FileError: One cannot be read.
        UnsupportedError: They are of a kind that its reader does not read.
    """
    found = [_detect(path, format) for path in paths]
    kinds = {(one.format, one.compression): one for one in reversed(found)}
    if len(kinds) != 1:
        said = ", ".join(
            f"{one.path} is {FORMATS[one.format].title}"
            + (f" ({one.compression})" if one.compression else "")
            for one in list(reversed(kinds.values()))[:8]
        )
        raise InvalidArgumentError(f"the files are not of one format: {said}")
    first = found[0]
    files = tuple(one.path for one in found)
    source = Source(FORMATS[first.format], first.compression, files)
    finder = _FINDERS.get(first.format)
    if first.format in _WHOLE:
        source = dataclasses.replace(source, has_records=True)
        finder = None if only_records else finder
    try:
        return _with_fields(source, found, finder, only_records)
    except Error as failure:
        if failure.file is None and failure.op is None:
            raise type(failure)(failure.message, file=first.path) from failure.__cause__
        raise
    except _MALFORMED as failure:
        raise CorruptDataError(
            f"what it begins with is no {source.format.title} file's: {failure!r}", file=first.path
        ) from None
