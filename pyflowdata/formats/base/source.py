"""Files of one format as a source of records: their fields, and loaders that read them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ...errors import CorruptDataError, InvalidArgumentError, OutOfMemoryError, shown
from ...loader import DataLoader
from ...nodes.registry import HOST_OUTPUTS
from ...nodes import NUMBERS, Blob, Node, Op, find_op
from ...nodes.attr_values import parse_attr
from ...nodes.node import files_of
from ...nodes.registry import FileFormat
from ...words.plain_text import no_field
from ...words.remedies import did_you_mean, similar
from .fields import Field, field_of, notes_of, output_fields, port_name, specs, split_spec

# ---- Arrays and tables of the program ------------------------------------------------------------


def array_blob(array: Any, splits: Any, dtype: Any, shape: Sequence[int]) -> Blob:
    """The rows of a `Table`, all on one rank; the arguments are the attrs of the reader."""
    node = make_node(
        "ArrayReader", (), array=array, splits=splits, dtype=dtype, shape=shape,
        rank=0, world_size=1, seed=0,
    )  # fmt: skip
    return node.outputs[0]


def table_blobs(table: Any, columns: str | Sequence[str] | None) -> dict[str, Blob]:
    """Columns of an Arrow table by their names, all on one rank; the arguments are the attrs of the
    reader, which finds the columns itself if they are None."""
    given: dict[str, Any] = {}
    if columns is not None:
        listed = [columns] if isinstance(columns, str) else list(columns)
        given = {"columns": [_as_output(one) for one in listed]}
    node = make_node("ArrowTableReader", (), table=table, rank=0, world_size=1, seed=0, **given)
    specs: Any = node.values["columns"]
    return {_as_field(spec): blob for spec, blob in zip(specs, node.outputs, strict=True)}


def _as_output(spec: str) -> str:
    """The spec of a column; `id` and `mask` get another name, as readers have outputs of these."""
    name = re.split("[=:]", spec, maxsplit=1)[0]
    return f"{name}_={spec}" if name in HOST_OUTPUTS and spec[len(name) :][:1] != "=" else spec


def _as_field(spec: str) -> str:
    """The name of a field in the spec of a column, where `id_=id` is `id`."""
    name, *path = re.split("[=:]", spec)[:2]
    original = name.rstrip("_")
    return original if original in HOST_OUTPUTS and path == [original] else name


# ---- Files --------------------------------------------------------------------------------------

RECORD = "__record__"  # the name of the blob of whole records
REST = "..."  # in a choice of fields: all others

OnProgress = Callable[[int], None]  # called now and then with the number of records that are done
Change = Callable[[dict[str, Blob]], dict[str, Blob]]

_USUAL_ROWS = 1024  # in a batch of records whose size is not known
_BATCH_BYTES, _MOST_ROWS = 4 << 20, 1 << 16


def rows_of_batch(records: int, size: int, compression: str | None) -> int:
    """The number of records in a batch of about 4 MB.

    Args:
        records: The records of the files; -1: not known.
        size: The bytes of the files; 0: not known.
        compression: The compression of the files.
    """
    if compression is not None or records <= 0 or size <= 0:
        return _USUAL_ROWS
    return max(min(_BATCH_BYTES * records // size, _MOST_ROWS), 1)


def make_node(name: str, inputs: Sequence[Blob], **attrs: Any) -> Node:
    return Node(find_op(name), None, inputs, attrs)


class RecordFormat(FileFormat):
    """A format as its sources use it: how fields are made of the outputs of the reader.

    A format may override the methods.

    Attributes:
        decompresses_whole: Whether its reader decompresses files into memory, so that records can
            be read in any order.
        refuses_compressed: Whether its reader reads no compressed files, and says so.
        refuses_others: Whether its reader looks at the beginning of each file before it gives
            records, and names a file that is of another format or compressed.
        field: The class of fields that the user gives with their types.
        has_objects: Whether a name with a dot is a field of an object, which NAME:json takes whole.
    """

    decompresses_whole: ClassVar[bool] = False
    refuses_compressed: ClassVar[bool] = False
    refuses_others: ClassVar[bool] = False
    field: ClassVar[type[Field]] = Field
    has_objects: ClassVar[bool] = False

    @property
    def list_attrs(self) -> frozenset[str]:
        """The attrs of the reader and decoders that list fields: a source gives them."""
        return frozenset(find_op(op).outputs_attr for op in (self.reader, *self.decoders)) - {""}

    def as_read(self, field: Field) -> Field:
        """The field as the reader gives it, before `converted`."""
        return field

    def converted(self, field: Field, blob: Blob) -> Blob:
        """The field, made of the output of the reader for it."""
        return blob

    def decoded(self, fields: Sequence[Field], record: Blob) -> dict[str, Blob]:
        """The fields of whole records."""
        op = find_op(self.decoders[0])
        if not op.outputs_attr:
            made = make_node(op.name, [record]).outputs
            return _chosen(fields, {port_name(blob): blob for blob in made})
        made = make_node(op.name, [record], **{op.outputs_attr: specs(fields)}).outputs
        return {field.name: blob for field, blob in zip(fields, made, strict=True)}

    def widened(self, source: Source, exact: bool, progress: OnProgress) -> Source:
        """As `Source.with_types`, for a source with guessed fields."""
        return source

    def sampled(self, source: Source, exact: bool, progress: OnProgress) -> tuple[Source, bool]:
        """As `Source.with_first_types`."""
        return source, True

    def checked(self, source: Source) -> Source | None:
        """As `Source.checked`; None: the reader cannot check."""
        return None


@dataclasses.dataclass(frozen=True)
class Source:
    """Files of one format, and the fields of their records.

    Attributes:
        format: The format of all files.
        compression: The compression of all files.
        files: The files as the reader takes them.
        fields: The fields of a record; empty where only whole records are known.
        attrs: The attrs of the reader, besides `files`.
        left_out: Descriptions of the parts of a record that are not fields.
        has_records: Whether the reader gives whole records, with their bytes.
        is_empty: Whether the reader found no records when fields were looked for.
        num_looked_at: The first records, in which fields were looked for; 0: all, or a header.
        memory_budget: The memory budget of the loaders, in bytes; 0: half of what the process may
            use.
    """

    format: RecordFormat
    compression: str | None
    files: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    has_records: bool = False
    is_empty: bool = False
    num_looked_at: int = 0
    memory_budget: int = 0

    def choose(self, wanted: Sequence[str] | None) -> Source:
        """The source with some of its fields: names, or specs with their own type; "..." stands for
        all others.

        Raises:
            InvalidArgumentError: There is no such field, and the spec has no type.
        """
        if not wanted:
            return self
        chosen = [self._chosen(one) for one in wanted if one != REST]
        if REST not in wanted:
            return dataclasses.replace(self, fields=tuple(chosen), left_out=())
        taken = {name for field in chosen for name in (field.name, field.key)}
        rest = [one for one in self.fields if not {one.name, one.key or one.name} & taken]
        at = wanted.index(REST)
        chosen[at:at] = rest
        left_out = tuple(one for one in self.left_out if one.partition(", which ")[0] not in taken)
        return dataclasses.replace(self, fields=tuple(chosen), left_out=left_out)

    def _chosen(self, spec: str) -> Field:
        known = {field.name: field for field in self.fields}
        if spec in known:
            return known[spec]
        name, equals, key = spec.partition("=")
        if equals and name and key in known:
            return dataclasses.replace(known[key], name=name, key=known[key].key or key)
        key, colon, kind = spec.rpartition(":")
        name = ""
        if colon and key not in known:
            name, key, kind, default = split_spec(spec)
            kind += "" if default is None else f"={default}"
        if re.fullmatch(r"[a-z]+\d+(\[.*)?", kind) and kind.partition("[")[0] not in NUMBERS:
            raise InvalidArgumentError(
                f"fields: in {shown(spec)}, the type {shown(kind)} is none of bytes, "
                f"{', '.join(NUMBERS)}{did_you_mean(kind.partition('[')[0], NUMBERS)}",
                attr="fields",
            )
        if not colon:
            key = spec[spec.find("=") + 1 :]
            later = (
                f"; only the first {self.num_looked_at} records were looked at: if it comes later, "
                f"write {shown(f'{spec}:int64=-1')}, or another type"
            )
            said = no_field(key, known) + self._left_out_like(key)
            raise InvalidArgumentError(
                self._why_no_field(key) or said + (later if self.num_looked_at else "")
            )
        field = known.get(key, self.format.field(key, "")).with_type(kind)
        return dataclasses.replace(field, name=name, key=field.key or key) if name else field

    def _reasons(self) -> dict[str, str]:
        """Why columns were left out, by name; a text that names none has its own key."""
        named = (one.partition(", which ") for one in self.left_out)
        return {name: reason for name, _, reason in named}

    def _left_out_like(self, name: str) -> str:
        """The columns that were left out, and that a wrong name may mean."""
        if not self.fields:
            return f". Left out: {'; '.join(self.left_out)}" if self.left_out else ""
        reasons = self._reasons()
        said = [one for one, reason in reasons.items() if not reason]
        near = similar(name, reasons)
        if near is not None and near not in said:
            said.append(f"{near}, which {reasons[near]}")
        return f". Left out: {'; '.join(said)}" if said else ""

    def _why_no_field(self, name: str) -> str:
        """The message about the name of an object or of a column that was left out; "": it is of
        neither."""
        known = [field.name for field in self.fields]
        members = [one for one in known if one.startswith(f"{name}.")]
        if members and self.format.has_objects:
            return (
                f"{shown(name)} is an object: {shown(f'{name}:json')} takes it whole, and "
                f"{shown(members[0])} one of its fields; it has {', '.join(members)}"
            )
        reason = self._reasons().get(name)
        if not reason:
            return ""
        says_how = "fields=[" in reason or ":json'" in reason
        advice = "" if says_how else "; with a type, NAME:TYPE=DEFAULT, the reader tries it"
        return (
            f"the column {shown(name)} {reason}{advice}; there are {', '.join(known) or 'none'}"
        )

    def with_attrs(self, texts: Mapping[str, str]) -> Source:
        """The source with attrs of the reader, as a command line spells them.

        Raises:
            InvalidArgumentError: There is no such attr, its value is wrong, or the source itself
                makes it of its files and fields.
        """
        op = find_op(self.format.reader)
        for name in texts:
            if name in ("files", *self.format.list_attrs):
                raise InvalidArgumentError(
                    f"--attr {name}: it is made of the files that are named and of --fields",
                    attr=name,
                )
        values = ((name, _parsed(op, name, text)) for name, text in texts.items())
        return dataclasses.replace(self, attrs=(*self.attrs, *values))

    def with_types(
        self, *, exact: bool = False, progress: OnProgress = lambda records: None
    ) -> Source:
        """The source with guessed types widened to hold all records.

        Args:
            exact: Whether a number that the guessed type does not hold exactly is an error.
            progress: Called now and then with the number of records that were read.

        Raises:
            InvalidArgumentError: There is such a number.
            CorruptDataError: A file is damaged.
        """
        return self.format.widened(self, exact, progress) if self._has_guessed() else self

    def with_first_types(
        self, *, exact: bool = False, progress: OnProgress = lambda records: None
    ) -> tuple[Source, bool]:
        """The source with guessed types widened to hold the first records, and whether there are no
        others. If `checked` reads all records without an error, these are the types of
        `with_types`.

        Arguments and errors are those of `with_types`; exact counts where there are no other
        records.
        """
        if not self._has_guessed() or self.format.checked(self) is None:
            return self.with_types(exact=exact, progress=progress), True
        return self.format.sampled(self, exact, progress)

    def checked(self) -> Source:
        """The source with a reader that refuses records which the types do not hold, or not
        exactly."""
        return self.format.checked(self) or self

    def _has_guessed(self) -> bool:
        return not self.is_empty and any(field.is_guessed for field in self.fields)

    def reader(self, **attrs: Any) -> Node:
        """The node that reads the files, on one rank, with these attrs."""
        given = {"seed": 0, "rank": 0, "world_size": 1, **dict(self.attrs), **attrs}
        listed = find_op(self.format.reader).outputs_attr
        if listed and self.fields:
            given[listed] = specs(map(self.format.as_read, self.fields))
        node = make_node(self.format.reader, (), files=list(self.files), **given)
        node.notes = notes_of(self.fields)
        return node

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

    def loader(
        self, wanted: Iterable[str] | None = None, *, change: Change | None = None, **attrs: Any
    ) -> DataLoader[Any]:
        """A loader of dicts: of these fields, or of all fields without RECORD.

        Args:
            wanted: Names of fields.
            change: Makes the blobs to read of the blobs of the fields.
            **attrs: Attrs of the reader.
        """
        blobs = self.blobs(**attrs)
        names = [field.name for field in self.fields] if wanted is None else list(wanted)
        chosen = {name: blobs[name] for name in names or [RECORD]}
        wanted_blobs = change(chosen) if change else chosen
        return DataLoader(wanted_blobs, memory_budget=self.memory_budget, share=(0, 1), ledger="")

    def batch_rows(self) -> int:
        """The number of records in a batch: large enough that the cost of a batch does not matter,
        and small enough for a few batches in a cache.

        Raises:
            CorruptDataError: A file is damaged where records are looked for.
        """
        if self.is_empty:
            return _USUAL_ROWS
        try:
            with self.loader(batch_size=1) as loader:
                reader = loader.readers[0]
                return rows_of_batch(reader.records, reader.bytes, self.compression)
        except CorruptDataError as failure:
            if failure.reason != "no-records":
                raise
            return _USUAL_ROWS

    def batches(
        self, wanted: Iterable[str] | None = None, *, batch_size: int,
        change: Change | None = None, **attrs: Any,
    ) -> Iterator[dict[str, Any]]:
        """All records in the order of the files; none where the reader finds none.

        Batches become smaller if the memory budget is too small.  Arguments as of `loader`.
        """
        names = None if wanted is None else list(wanted)
        done = 0  # batches of this size
        while not self.is_empty:
            try:
                with self.loader(names, change=change, batch_size=batch_size, **attrs) as loader:
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
    """The value of an attr; a flag may also be spelled as in Python."""
    attr = op.attr(name)
    is_flag = attr is not None and attr.type.word == "bool"
    return parse_attr(op, name, text.lower() if is_flag and text in ("True", "False") else text)


def _chosen(fields: Sequence[Field], blobs: Mapping[str, Blob]) -> dict[str, Blob]:
    """The blobs of the fields, by name; a field without a blob, or of another type, is refused."""
    chosen: dict[str, Blob] = {}
    for field in fields:
        key = field.key or field.name
        if key not in blobs:
            raise InvalidArgumentError(no_field(field.name, blobs))
        _check_type(field, field_of(key, blobs[key]))
        chosen[field.name] = blobs[key]
    return chosen


def _check_type(wanted: Field, found: Field) -> None:
    """Refuses a type, or a default, that a reader without types of its own cannot give."""
    asked = wanted.type + ("" if wanted.default is None else f"={wanted.default}")
    if asked == found.type:
        return
    is_cast = {wanted.dtype, found.dtype} <= NUMBERS.keys() and wanted.shape == found.shape
    cast = f", and use map(flow.Cast, {wanted.name!r}, dtype={wanted.dtype!r})"
    raise InvalidArgumentError(
        f"fields: {shown(f'{found.name}:{asked}')}: its type is {found.type}, and the reader gives "
        "no other, nor a default: leave the type out"
        f"{cast * (is_cast and wanted.dtype != found.dtype)}",
        attr="fields",
    )


# ---- The attrs of a reader: where its files are, and how it reads them --------------------------

_PLACES = {
    "data_dir", "files", "data_part_num", "part_name_prefix", "part_name_suffix_length"
}  # fmt: skip


def reading_in(values: Mapping[str, object]) -> dict[str, object]:
    """The attrs that say how the files are read, without those of batches."""
    others = {attr.name for attr in find_op("BatchDataset").attrs} | _PLACES
    return {name: value for name, value in values.items() if name not in others}


def files_in(op: str, values: Mapping[str, object], **needed: object) -> list[str]:
    """The files that the attrs of a reader name.

    Args:
        op: The name of the reader.
        needed: Attrs that the reader needs and the program left out; their values do not matter.

    Raises:
        FileError: There are no files.
    """
    given = {name: value for name, value in values.items() if name in _PLACES}
    given |= {**needed, "rank": 0, "world_size": 1}
    return files_of(Node(find_op(op), None, (), given))


def reader_of(record: Blob) -> Node | None:
    """The reader whose first output a blob is, also through views and batches; of several readers
    the first. None: other ops are between them."""
    while record.node.op.is_view and record.index < len(record.node.inputs):
        record = record.node.inputs[record.index]
    node = record.node
    return node if node.op.is_reader and not node.inputs and record.index == 0 else None
