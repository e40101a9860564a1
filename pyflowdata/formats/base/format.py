"""The base class of formats, and files of one format as a source of records.

A format with its own module derives a class from `Format`, for what the C library does not have.
All others, such as those of plugins, are this class: their fields are the outputs of a node of the
reader, or of its decoder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ...errors import (
    CorruptDataError,
    InvalidArgumentError,
    OutOfMemoryError,
    UnsupportedError,
    shown,
)
from ...graph import Blob, Node, Op, find_op
from ...graph.attr_values import parse_attr
from ...graph.registry import FileFormat
from ...loader import DataLoader
from .damage import Damage, Scan, read_all
from .detection import Detected
from .fields import BYTES, Field, field_of, listed_field, output_fields, port_name, specs
from .writer import Writer

RECORD = "__record__"  # the name of the blob of whole records


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
        attrs: Of the reader, besides `files`.
        left_out: Descriptions of the parts of a record that are not fields.
        has_records: Whether the reader gives whole records, with their bytes.
        is_empty: Whether the reader said, when it was asked for fields, that there are no records.
        memory_budget: Of the loaders, in bytes; 0: half of what the process may use.
    """

    format: Format
    compression: str | None
    files: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    has_records: bool = False
    is_empty: bool = False
    memory_budget: int = 0

    def choose(self, wanted: Sequence[str] | None) -> Source:
        """The same with some of its fields: names, or specs with a type of their own.

        Raises:
            InvalidArgumentError: There is no such field, and no type is given.
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
            chosen.append(field.with_type(kind) if colon else field)
        return dataclasses.replace(self, fields=tuple(chosen), left_out=())

    def with_attrs(self, texts: Mapping[str, str]) -> Source:
        """The same with attrs of the reader, as a command line spells them."""
        op = find_op(self.format.reader)
        values = ((name, _parsed(op, name, text)) for name, text in texts.items())
        return dataclasses.replace(self, attrs=(*self.attrs, *values))

    def with_types(self, *, exact: bool = False) -> Source:
        """The same where types that are guessed hold all records.

        Args:
            exact: Whether numbers that the guessed type does not hold exactly are an error.

        Raises:
            InvalidArgumentError: There is such a number.
            CorruptDataError: A file is damaged.
        """
        is_guessed = any(field.is_guessed for field in self.fields)
        return self.format.widened(self, exact) if is_guessed and not self.is_empty else self

    def reader(self, **attrs: Any) -> Node:
        """The node that reads the files, on one rank, with these attrs of every reader."""
        given = {"seed": 0, "rank": 0, "world_size": 1, **dict(self.attrs), **attrs}
        listed = find_op(self.format.reader).outputs_attr
        if listed and self.fields:
            given[listed] = specs(map(self.format.as_read, self.fields))
        return make_node(self.format.reader, (), files=list(self.files), **given)

    def blobs(self, **attrs: Any) -> dict[str, Blob]:
        """A blob for each field, and RECORD where there are whole records."""
        node = self.reader(**attrs)
        if self.has_records:
            record = node.outputs[0]
            decoded = self.format.decoded(self.fields, record) if self.fields else {}
            return {RECORD: record, **decoded}
        if node.op.outputs_attr:
            read = zip(self.fields, node.outputs, strict=False)
            return {field.name: self.format.converted(field, blob) for field, blob in read}
        names = (field.name for field in output_fields(node.outputs))
        return _chosen(self.fields, dict(zip(names, node.outputs, strict=True)))

    def loader(self, wanted: Iterable[str] | None = None, **attrs: Any) -> DataLoader[Any]:
        """A loader of dicts: of these fields, or all of them without RECORD."""
        blobs = self.blobs(**attrs)
        names = [field.name for field in self.fields] if wanted is None else list(wanted)
        chosen = {name: blobs[name] for name in names or [RECORD]}
        return DataLoader(chosen, memory_budget=self.memory_budget)

    def batches(
        self, wanted: Iterable[str] | None = None, *, batch_size: int, **attrs: Any
    ) -> Iterator[dict[str, Any]]:
        """All records in the order of the files; none where there are none, by the reader's word.

        Batches are smaller where the memory budget asks for that.
        """
        names = None if wanted is None else list(wanted)
        done = 0  # batches of this size
        while not self.is_empty:
            try:
                with self.loader(names, batch_size=batch_size, **attrs) as loader:
                    loader.seek(done)
                    for batch in loader:
                        yield batch
                        done += 1
                return
            except OutOfMemoryError as failure:
                if batch_size == 1 or failure.file is not None:  # one record is too large
                    raise
                smaller = max(batch_size // 8, 1)
                done, batch_size = done * batch_size // smaller, smaller
            except CorruptDataError as failure:
                if failure.reason == "no-records":
                    return
                raise


def _parsed(op: Op, name: str, text: str) -> Any:
    """The value of an attr; of a flag also as Python spells it."""
    attr = op.attr(name)
    is_flag = attr is not None and attr.type.word == "bool"
    return parse_attr(op, name, text.lower() if is_flag and text in ("True", "False") else text)


def _chosen(fields: Sequence[Field], blobs: Mapping[str, Blob]) -> dict[str, Blob]:
    """The blobs of the fields, by name."""
    for field in fields:
        if (field.key or field.name) not in blobs:
            raise InvalidArgumentError(
                f"there is no field {shown(field.name)}; there are {', '.join(blobs)}"
            )
    return {field.name: blobs[field.key or field.name] for field in fields}


class Format(FileFormat):
    """A file format: facts from the C library, inference of fields, and rules of its writer.

    A format may override the methods.

    Attributes:
        writer: The class that writes it; None: there is none.
        holds_one_field: Whether a file holds one field, and no name of it.
        holds_records: Whether its writer takes the whole records that its reader gives.
    """

    writer: ClassVar[type[Writer] | None] = None
    holds_one_field: ClassVar[bool] = False
    holds_records: ClassVar[bool] = False

    # ---- Reading ------------------------------------------------------------------------------

    def with_records(self, source: Source) -> Source:
        """The source, with `has_records` set if the reader gives whole records for decoders."""
        if not self.decoders:
            return source
        first, *others = source.reader().outputs
        is_bytes = not others and field_of("", first).dtype == BYTES
        return dataclasses.replace(source, has_records=is_bytes)

    def files_of(self, found: Sequence[Detected]) -> tuple[str, ...]:
        """The files as the reader takes them."""
        return tuple(one.path for one in found)

    def open(self, source: Source, found: Sequence[Detected], *, as_stored: bool) -> Source:
        """The source with the fields of its first file that has records.

        Args:
            source: Without fields.
            found: Its files.
            as_stored: Whether fields stay as they lie in the file, where the format says less of
                them than their contents do.

        Raises:
            CorruptDataError: A file is damaged where its fields are looked for.
            UnsupportedError: The reader does not read them.
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
        """The source with what one of its files says of fields and attrs; as `open`.

        Raises:
            CorruptDataError: The file is damaged there, or has no records: the reason says so.
        """
        own = dataclasses.replace(source, files=(one.path,))
        try:
            node = own.reader()
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
        return dataclasses.replace(source, fields=fields)

    def _decoder_fields(self, record: Blob) -> tuple[Field, ...]:
        """The outputs of the usual decoder; none if only the user can name them."""
        op = find_op(self.decoders[0])
        if any(attr.required for attr in op.attrs):
            return ()
        made = make_node(op.name, [record]).outputs
        return tuple(field_of(port_name(blob), blob) for blob in made)

    def as_read(self, field: Field) -> Field:
        """The field as the reader gives it, before `converted`."""
        return field

    def converted(self, field: Field, blob: Blob) -> Blob:
        """The field, of what the reader gives for it."""
        return blob

    def decoded(self, fields: Sequence[Field], record: Blob) -> dict[str, Blob]:
        """The fields of whole records."""
        op = find_op(self.decoders[0])
        if not op.outputs_attr:
            made = make_node(op.name, [record]).outputs
            return _chosen(fields, {port_name(blob): blob for blob in made})
        made = make_node(op.name, [record], **{op.outputs_attr: specs(fields)}).outputs
        return {field.name: blob for field, blob in zip(fields, made, strict=True)}

    def widened(self, source: Source, exact: bool) -> Source:
        """The source with types that hold the values of all records; see `Source.with_types`."""
        return source

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """All damage of the source's only file that can be detected.

        Args:
            source: With the fields that are to be read, or none for whole records.
            scan: Counts the whole records, and takes notes of what cannot be checked.

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
        """Whether fields keep their bytes when they are converted to that format."""
        return False

    def refusal(self, field: Field) -> str | None:
        """Why a file cannot hold the field; None: it can."""
        if self.holds_one_field and field.dtype == BYTES:
            return f"{field.name} is {field.type}, which {self.name} cannot hold"
        return None

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Options of the writer for these rows, so that empty files have their type, too."""
        return {}

    def adapted(self, fields: Sequence[Field], batch: dict[str, Any]) -> dict[str, Any]:
        """A batch of these fields as the writer takes it."""
        return batch
