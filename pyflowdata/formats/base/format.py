"""The base class of file formats, as commands use them.

A format with its own module derives a class from `Format`.  All others, such as formats of plugins,
are instances of this class: their fields are the outputs of the reader, or of its decoder.
"""

from __future__ import annotations

import dataclasses
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from ...errors import CorruptDataError, InvalidArgumentError, UnsupportedError
from ...nodes import Blob, Op, find_op
from ...nodes.sampled_attrs import Found
from ...loader import DataLoader
from ...remote import is_remote
from .columns import Array, RowShape, buffer_of, sizes_of
from .damage import Damage, Scan, read_all
from .detection import Detected, begins_with_text
from .fields import BYTES, Field, field_of, listed_field, output_fields, port_name
from .images import ImageFields
from .row_types import TEXT
from .source import RECORD, RecordFormat, Source, make_node
from .writer import Writer


class Format(RecordFormat):
    """A file format: facts from the C library, inference of fields, and rules of its writer.

    A format may override the methods.

    Attributes:
        writer: The class that writes it; None: there is none.
        holds_one_field: Whether a file holds one field, without its name.
        is_text: Whether its files are text, whose fields of bytes are text in UTF-8 if the first
            file begins so.
        holds_records: Whether its writer takes the whole records that its reader returns.
        image_names: The usual names of fields in records of images; None: no names are usual.
        needs_images: Whether its records are images with labels, and nothing else.
        tokens: How its files hold the tokens of texts: "documents"; "flat", one text after another;
            "": not at all.
        file_field: The field with the content of each record's file, where records are files in a
            folder; "": they are not.
    """

    writer: ClassVar[type[Writer] | None] = None
    holds_one_field: ClassVar[bool] = False
    is_text: ClassVar[bool] = False
    holds_records: ClassVar[bool] = False
    image_names: ClassVar[ImageFields | None] = None
    needs_images: ClassVar[bool] = False
    tokens: ClassVar[str] = ""
    file_field: ClassVar[str] = ""

    # ---- Reading ------------------------------------------------------------------------------

    def with_records(self, source: Source) -> Source:
        """The source, with `has_records` set if the reader gives whole records for decoders."""
        if not self.decoders:
            return source
        first, *others = source.reader().outputs
        is_bytes = not others and field_of("", first).dtype == BYTES
        return dataclasses.replace(source, has_records=is_bytes)

    def files_of(self, found: Sequence[Detected]) -> tuple[str, ...]:
        """The files in the form that the reader takes."""
        return tuple(one.path for one in found)

    def open(self, source: Source, found: Sequence[Detected], *, as_stored: bool) -> Source:
        """The source with the fields of its first file that has records.

        Args:
            source: The source without fields.
            found: Its files.
            as_stored: Whether fields keep the form that they have in the file, even if their
                contents have a narrower type.

        Raises:
            CorruptDataError: A file is damaged where its fields are looked for.
            UnsupportedError: The reader does not support the files.
        """
        empty = None
        for one in found:
            try:
                inferred = self.infer(source, one, as_stored=as_stored)
            except CorruptDataError as failure:
                if failure.reason != "no-records":
                    raise
                inferred = dataclasses.replace(source, is_empty=True)
            if not inferred.is_empty:
                return inferred
            empty = empty or inferred
        return empty or source

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the fields and attrs that one of its files shows; arguments as for
        `open`.

        Raises:
            CorruptDataError: The file is damaged at this place, or has no records: then `reason`
                says so.
        """
        try:
            node = dataclasses.replace(source, files=self.files_to_infer(source, one)).reader()
        except UnsupportedError as failure:
            if not find_op(self.reader).outputs_attr:
                raise
            return dataclasses.replace(source, left_out=(failure.message,))
        listed = node.op.outputs_attr
        attrs = tuple((name, node.values[name]) for name in node.found if name != listed)
        source = dataclasses.replace(source, attrs=(*attrs, *source.attrs))
        if source.has_records:
            fields = self._decoder_fields(node.outputs[0])
        elif listed:
            elements: Any = node.values[listed]
            fields = tuple(map(listed_field, elements, node.outputs))
        else:
            fields = output_fields(node.outputs)
        left_out = (*source.left_out, *node.left_out)
        return dataclasses.replace(source, fields=fields, left_out=left_out)

    def files_to_infer(self, source: Source, one: Detected) -> tuple[str, ...]:
        """Those of the source's files whose records show what infer() finds: only this one."""
        return (one.path,)

    def found_by_reader(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """The attrs of the reader that were left out, as the first records show them.

        Args:
            values: The attrs that were given.

        Raises:
            InvalidArgumentError: The records do not show an attr that the reader needs.
            FileError: There are no files.
        """
        return {}

    def found_by_decoder(
        self, op: Op, record: Blob, values: Mapping[str, object]
    ) -> Mapping[str, object]:
        """As `found_by_reader`, for a decoder whose input is `record`.

        Raises:
            InvalidArgumentError: Also if given attrs do not fit the first records.
        """
        return {}

    def _decoder_fields(self, record: Blob) -> tuple[Field, ...]:
        """The outputs of the usual decoder; empty if only the user can name them."""
        op = find_op(self.decoders[0])
        if any(attr.required for attr in op.attrs):
            return ()
        made = make_node(op.name, [record]).outputs
        return tuple(field_of(port_name(blob), blob) for blob in made)

    def with_images(self, source: Source) -> Source:
        """The source with one field of images, where each kind of file has its own field."""
        return source

    def is_image_name(self, name: str) -> bool:
        """Whether a field of images usually has this name."""
        return self.image_names is not None and name == self.image_names.image

    def class_names(self, source: Source) -> Sequence[str]:
        """The names of the classes, by their numbers, for a reader that numbers classes; empty if
        only labels are known.
        """
        attrs: dict[str, Any] = dict(source.attrs)
        return () if attrs.get("class_numbers") else attrs.get("classes", ())

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """All damage in the only file of the source that can be detected.

        Args:
            source: The source with the fields to read, or without fields for whole records.
            scan: Counts the whole records, and gets notes about what cannot be checked.

        Raises:
            FileError: The file cannot be read.
        """
        if source.is_empty:
            return []
        names = [RECORD] if source.has_records or not source.fields else None

        def opener(**attrs: Any) -> DataLoader[Any]:
            return source.loader(names, **attrs)

        return read_all(source.files[0], opener, source.compression is not None, scan)

    # ---- Writing ------------------------------------------------------------------------------

    def is_copied_to(self, target: Format) -> bool:
        """Whether fields keep their bytes in a conversion to that format."""
        return False

    def refusal(self, field: Field) -> str | None:
        """Why a file cannot hold the field; None: it can."""
        if self.holds_one_field and field.dtype == BYTES:
            return f"{field.name} is {field.type}, which {self.name} cannot hold"
        return None

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Options of the writer for these fields, so that empty files have the right types, too."""
        return {}

    def texts(
        self, files: Sequence[str], keys: Sequence[str], values: Mapping[str, Any]
    ) -> set[str]:
        """Those of the keys of fields of bytes whose rows are text in UTF-8, as the files say.

        Args:
            files: The files of a reader.
            keys: The keys of fields, as the attr of the reader spells them.
            values: The attrs of the reader.
        """
        if self.is_text and files and begins_with_text(files[0]):
            return set(keys)
        return set()

    def options_of_name(self, path: str) -> dict[str, Any]:
        """Options of the writer that the name of its file says."""
        return {}

    def name_in_file(self, field: str) -> str:
        """The name of a field in the file."""
        return field

    def encoded(self, fields: Sequence[Field], blobs: Sequence[Blob]) -> Blob | None:
        """The bytes of each record in the file, for `Writer.write_encoded`; None: no op makes them,
        and the writer encodes.

        Args:
            fields: The fields to write; none for whole records.
            blobs: A blob for each field; for whole records one.
        """
        return None

    def adapted(self, fields: Sequence[Field], batch: dict[str, Any]) -> dict[str, Any]:
        """A batch of these fields in the form that the writer takes."""
        return batch

    def image_columns(self, name: str, images: Any) -> dict[str, Any]:
        """The columns that the writer takes for a field of files of images."""
        return {name: images}


# ---- Tables of Arrow's types --------------------------------------------------------------------

_ELEMENT = re.compile(r"(?:[^=:]*=)?(?P<path>.*):(?P<type>[^:=]+(?:=.*)?)")
_QUOTED = re.compile("'[^']*'")


class ColumnFormat(Format, ABC):
    """A format of tables of Arrow's types: fields are the columns of the first file that rows can
    have, by their paths, such as meta.lang."""

    @abstractmethod
    def schema(self, path: str) -> Any:
        """The schema of a file, as pyarrow has it.

        Raises:
            ImportError: pyarrow is not installed.
            OSError, ValueError: pyarrow cannot read it.
        """

    def texts(
        self, files: Sequence[str], keys: Sequence[str], values: Mapping[str, Any]
    ) -> set[str]:
        """Also if pyarrow cannot read the first file, or it is in a store: then none."""
        if not files or is_remote(files[0]):
            return set()
        try:
            schema = self.schema(files[0])
        except (ImportError, OSError, ValueError):
            return set()
        return {key for key in keys if _is_text(schema, key)}

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The types of the fields; texts of JSON are text."""
        kinds = {one.name: TEXT if one.is_json else one.type for one in fields}
        return {"columns": {self.name_in_file(name): kind for name, kind in kinds.items()}}

    def name_in_file(self, field: str) -> str:
        """The name of a whole column is in quotes where it might be a path."""
        quoted = _QUOTED_NAME.fullmatch(field)
        return quoted[1].replace("''", "'") if quoted else field

    def adapted(self, fields: Sequence[Field], batch: dict[str, Any]) -> dict[str, Any]:
        return {self.name_in_file(name): column for name, column in batch.items()}

    def found_by_reader(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """The types of columns that were given without a type, as C infers them for all columns."""
        listed = find_op(self.reader).outputs_attr
        given: Any = values.get(listed)
        if not given:
            return {}
        own = {name: value for name, value in values.items() if name != listed}
        elements: Any = make_node(self.reader, [], **own).values[listed]
        matches = filter(None, map(_ELEMENT.fullmatch, elements))
        types = {found["path"]: found["type"] for found in matches}
        typed = []
        for element in given:
            path = element.rpartition("=")[2]
            is_typed = ":" in _QUOTED.sub("", element) or path not in types
            typed.append(element if is_typed else f"{element}:{types[path]}")
        return Found({listed: typed})


_QUOTED_NAME = re.compile(r"'((?:[^']|'')*)'")
_STEP = re.compile(r"'((?:[^']|'')*)'|([^.']+)")


def _is_text(schema: Any, path: str) -> bool:
    """Whether a column of a schema of pyarrow, or a member of its structs, is of a type of text."""
    found = schema
    for quoted, plain in _STEP.findall(path):
        name = plain or quoted.replace("''", "'")
        if found.get_field_index(name) < 0:
            return False
        found = found.field(name).type
        if not hasattr(found, "get_field_index"):
            break
    return str(getattr(found, "value_type", found)) in ("string", "large_string", "string_view")


# ---- Files that are one array -------------------------------------------------------------------


class RowFormat(Format):
    """A format whose files are one array: a field with rows of one dtype and shape."""

    holds_one_field: ClassVar[bool] = True

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Dtype and shape of the rows, if all rows have the same shape."""
        (field,) = fields
        return {} if None in field.shape else {"dtype": field.dtype, "shape": field.shape}


class RowWriter(Writer):
    """Takes arrays: an array for one row, or an array with a row for each record."""

    byte_order: ClassVar[Literal["<", ">"]] = "<"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Any = None,
        shape: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        """Opens the file; raises as `Writer`.

        Args:
            path: The file.
            dtype: The dtype of the rows; None: that of the first row. Values that it cannot hold
                are an error.
            shape: The shape of a row; None: that of the first row.
            **options: As for every `Writer`.
        """
        self._rows = RowShape(dtype, shape)
        super().__init__(path, **options)

    def write(self, sample: Any) -> None:
        """Writes one row.

        Raises:
            InvalidArgumentError: The row differs in dtype or shape from the rows before.
            FileError: The file cannot be written.
        """
        self._write(sample, is_batch=False)

    def write_batch(self, batch: Any) -> None:
        """Writes all rows of an array; raises as `write`."""
        self._write(batch, is_batch=True)

    def _write(self, given: Any, *, is_batch: bool) -> None:
        with self._naming():
            known = (self._rows.dtype, self._rows.shape)
            try:
                rows = self._rows.rows(given, is_batch=is_batch)
                self._check(rows)
            except InvalidArgumentError:
                self._rows.dtype, self._rows.shape = known
                raise
        self._emit(buffer_of(rows, self.byte_order), sizes_of(rows))

    def _check(self, rows: Array) -> None:
        """Refuses rows that the format cannot hold; by default none that `RowShape` allows."""
