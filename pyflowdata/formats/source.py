"""Files of a format, opened by the op that reads it."""

from __future__ import annotations

import dataclasses
import mmap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..graph import Blob, Node, Op, find_op
from ..graph.attr_values import parse_attr
from ..loader import DataLoader
from .csv_types import Column
from .detect import HEAD, Format, first_bytes
from .fields import (
    Field,
    Table,
    as_cells,
    csv_table,
    places_of,
    specs,
    tar_decoder,
    widened,
)

RECORD = "__record__"  # the name of the blob of whole records
SCANNED = 4096  # rows of a file at a time, where all of them are looked at
_DECODERS = {"tfrecord": "ExampleDecoder"}


def make_node(name: str, inputs: Sequence[Blob], **attrs: Any) -> Node:
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
        source = dataclasses.replace(self, fields=fields, attrs=(*self.attrs, *values.items()))
        if self.format.name == "idx":  # with labels there is one more
            source = dataclasses.replace(source, fields=array_fields(source.reader().outputs))
        return source

    def _with_dialect(self, values: Mapping[str, Any]) -> Source:
        """A CSV source whose columns are found once more, as attrs say where they are."""
        head = first_bytes(self.files[0], HEAD)[0] or b""
        lines = int(values.get("skip_header_lines", 0))
        head = head.split(b"\n", lines)[-1] if head.count(b"\n") >= lines else b""
        found = table_source(self, head, dict(values))
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
        with looked.loader(batch_size=SCANNED, on_error="skip") as loader:
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
        if listed and self.fields:
            given[listed] = specs(map(self._plain, self.fields))
        return make_node(self.format.reader, (), files=list(self.files), **given)

    def blobs(self, **attrs: Any) -> dict[str, Blob]:
        """A blob for each field, and RECORD where there are whole records."""
        node = self.reader(**attrs)
        if self.format.name in _DECODERS:
            found = {RECORD: node.outputs[0]}
            if self.fields:
                decoder = _DECODERS[self.format.name]
                listed = {find_op(decoder).outputs_attr: specs(self.fields)}
                decoded = make_node(decoder, [node.outputs[0]], **listed).outputs
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
        return make_node(name, [blob], **attrs).outputs[0]

    def loader(self, wanted: Iterable[str] | None = None, **attrs: Any) -> DataLoader[Any]:
        """A loader of dicts: of these fields, or all of them without RECORD."""
        blobs = self.blobs(**attrs)
        names = [field.name for field in self.fields] if wanted is None else list(wanted)
        return DataLoader({name: blobs[name] for name in names or [RECORD]})


def array_fields(blobs: Sequence[Blob]) -> tuple[Field, ...]:
    """A field for each output of a reader of arrays; a single one is called out."""
    names = ["out"] if len(blobs) == 1 else [blob.name.rpartition("/")[2] for blob in blobs]
    named = zip(names, blobs, strict=True)
    return tuple(Field(name, blob.dtype.name, blob.shape[1:]) for name, blob in named)


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
        return make_node("OFRecordBytesDecoder", [records], blob_name=field.name).outputs[0]
    attrs = {"blob_name": field.name, "shape": field.shape, "dtype": field.dtype}
    return make_node("OFRecordRawDecoder", [records], **attrs).outputs[0]


def table_source(source: Source, head: bytes, given: Mapping[str, Any]) -> Source:
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
