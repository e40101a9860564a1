"""CSV files, as commands read and write them."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import mmap
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import InvalidArgumentError, shown
from ...nodes import Blob, find_op
from ...nodes.sampled_attrs import Found
from ..base.damage import Damage, Scan
from ..base.detection import HEAD, Detected
from ..base.fields import BYTES, Field, notes_of, specs
from ..base.format import Format
from ..base.open_source import open_source
from ..base.reader_values import files_in, reading_in
from ..base.source import Progress, Source, make_node
from .cells import TYPES, UNSURE, dtype_of, is_exact, types_of
from .long_cells import suspicious_cells
from .table import cells_of, places_of, table_of, widened
from .writer import ENCODER, CSVWriter

_STRICT = "strict_numbers"
_MOST_OUTPUTS = 4096  # of a node
_SCANNED = 4096  # rows at a time, when all of them are read


def _has_quote(path: str) -> bool:
    """Whether a cell of a file may hold a line break."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(b'"') >= 0
    except (OSError, ValueError):  # who reads it is told
        return False


def _refuse_other_columns(found: Sequence[Detected]) -> None:
    """Columns are read by number, so that all files must have the same ones."""
    first = _first_line(found[0])
    for one in found[1:]:
        if one.head and _first_line(one) != first:
            raise InvalidArgumentError(
                f"its columns are {shown(_first_line(one).decode(errors='replace'))}, and those of "
                f"{found[0].path} are {shown(first.decode(errors='replace'))}: read it by itself",
                file=one.path,
            )


def _first_line(one: Detected) -> bytes:
    return one.head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()


def _guessed_cells(source: Source) -> tuple[Field, ...]:
    return cells_of(field for field in source.fields if field.is_guessed)


class CSV(Format):
    """Fields are columns, with the narrowest types that hold their cells."""

    writer = CSVWriter

    def _missing(self) -> list[str]:
        """The cells that count as missing values by default, besides empty ones."""
        attr = find_op(self.reader).attr("missing")
        default: Any = attr.default if attr else ()
        return list(map(str, default))

    def open(self, source: Source, found: Sequence[Detected], *, as_stored: bool) -> Source:
        """The columns of the first file that has records; all must have the same."""
        source = super().open(source, found, as_stored=as_stored)
        if dict(source.attrs).get("header") == "yes" and found[0].head:
            _refuse_other_columns(found)
        return source

    def found_by_reader(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """All columns, with the types of the first rows, and the dialect."""
        op = find_op(self.reader)
        if values.get(op.outputs_attr):
            return {}
        own = reading_in(values)
        files = files_in(op.name, values, **{op.outputs_attr: ["0"]})
        source = open_source(files, self.name, values=own)
        if not source.fields:
            raise InvalidArgumentError(
                f"{op.outputs_attr} was left out, and there is no row to find the columns in: give "
                "it", attr=op.outputs_attr,
            )  # fmt: skip
        dialect = {name: value for name, value in source.attrs if name not in own}
        return Found({op.outputs_attr: specs(source.fields), **dialect}, notes_of(source.fields))

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The columns and the dialect that the first lines of a file show."""
        given = dict(source.attrs)
        skipped = int(given.get("skip_header_lines", 0))
        head = one.head.split(b"\n", skipped)[-1] if one.head.count(b"\n") >= skipped else b""
        table = table_of(head, len(one.head) < HEAD, given, self._missing())
        attrs: list[tuple[str, Any]] = []
        if table.delimiter != ",":
            attrs.append(("delimiter", table.delimiter))
        if table.has_quotes or (not source.compression and any(map(_has_quote, source.files))):
            attrs.append(("multiline", True))
        attrs.append(("header", "yes" if table.has_header else "no"))
        fields = cells_of(table.fields) if as_stored else table.fields
        source = dataclasses.replace(source, fields=fields, attrs=(*attrs, *source.attrs))
        if table.has_rows:
            return source
        # The reader decides whether there are records.
        cells = cells_of(fields)[:1] or (Field("0", BYTES),)
        looked = dataclasses.replace(source, files=(one.path,), fields=cells)
        is_empty = next(looked.batches(batch_size=1), None) is None
        return dataclasses.replace(source, is_empty=is_empty)

    def widened(self, source: Source, exact: bool, progress: Progress) -> Source:
        """The types of guessed columns, by the cells of all records."""
        return self._of_types(source, self._types(source, progress), exact)

    def sampled(self, source: Source, exact: bool, progress: Progress) -> tuple[Source, bool]:
        """The types of guessed columns, by the cells of the first batch."""
        with contextlib.closing(self._types(source, progress)) as batches:
            first = list(itertools.islice(batches, 1))
            rest = next(batches, None)
        return self._of_types(source, first, exact and rest is None), rest is None

    def checked(self, source: Source) -> Source | None:
        """With strict numbers; other words for missing values than usual are text to `widened`."""
        attrs = dict(source.attrs)
        if "missing" in attrs:
            return None
        attrs[_STRICT] = True
        return dataclasses.replace(source, attrs=tuple(attrs.items()))

    def _of_types(
        self, source: Source, batches: Iterable[npt.NDArray[np.uint16]], exact: bool
    ) -> Source:
        """The types that hold cells of these types."""
        cells = _guessed_cells(source)
        found = np.zeros(len(cells), np.uint16)
        for types in batches:
            found |= np.bitwise_or.reduce(types, axis=0)
        types_by = {one.key: int(types) for one, types in zip(cells, found, strict=True)}
        fields: list[Field] = []
        for field in source.fields:
            own = {one: types_by[str(one)] for one in places_of(field)} if field.is_guessed else {}
            dtypes = set(map(dtype_of, own.values()))
            fields += widened(field, dtypes) if own else [field]
            unsure = {str(place) for place, types in own.items() if types & UNSURE}
            if exact and unsure and BYTES not in dtypes and "float64" in dtypes:
                self._refuse_inexact(field, [one for one in cells if one.key in unsure], source)
        return dataclasses.replace(source, fields=tuple(fields))

    def _types(
        self, source: Source, progress: Progress
    ) -> Generator[npt.NDArray[np.uint16], None, None]:
        """The types of the cells of guessed columns, batch by batch."""
        missing, done = self._missing(), 0
        looked = dataclasses.replace(source, fields=_guessed_cells(source))

        def types(blobs: dict[str, Blob]) -> dict[str, Blob]:
            return {TYPES: make_node(TYPES, list(blobs.values()), missing=missing).outputs[0]}

        rows = looked.batch_rows()
        for batch in looked.batches(batch_size=rows, change=types, on_error="skip"):
            done += len(batch[TYPES])
            progress(done)
            yield batch[TYPES]

    def _refuse_inexact(self, field: Field, cells: Sequence[Field], source: Source) -> None:
        """Looks for a number that a column of float64 does not hold."""
        looked = dataclasses.replace(source, fields=tuple(cells))
        for batch in looked.batches(batch_size=_SCANNED, on_error="skip"):
            for one in cells:
                texts = batch[one.name].to_bytes_list()
                for cell, types in zip(texts, types_of(texts, self._missing()), strict=True):
                    number = cell.strip(b" \t")
                    if types & UNSURE and not is_exact(number, types):
                        raise InvalidArgumentError(
                            f"{field.name} has {number.decode()[:40]}, which float64 does not "
                            f"hold: choose its type with --fields, as {field.name}:bytes"
                        )

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """Reads with and without line breaks in cells, and returns what has more whole records: an
        unclosed quote hides everything up to the next one."""
        notes = ((one.name, one.note) for one in source.fields if one.note)
        scan.notes += (f"the column {name} is of bytes: {note}" for name, note in notes)
        whole = source
        if len(source.fields) > _MOST_OUTPUTS:  # one says as well how each row is split
            source = dataclasses.replace(source, fields=source.fields[:1])
        found = super().damage(source, scan)
        if not found:
            source = whole
            self._note_long_cells(source, scan)
            return found
        has_breaks = bool(dict(source.attrs).get("multiline", False))
        other = dataclasses.replace(source, attrs=(*source.attrs, ("multiline", not has_breaks)))
        again = Scan()
        places = super().damage(other, again)
        if again.good <= scan.good:
            return found
        scan.good = again.good
        return places

    def _note_long_cells(self, source: Source, scan: Scan) -> None:
        """Notes quoted cells that look like rows of which a quote is missing."""
        attrs = dict(source.attrs)
        path = source.files[0]
        if source.compression or not attrs.get("multiline") or not os.path.getsize(path):
            return
        columns = sum(len(places_of(field)) for field in source.fields)
        delimiter, quote = attrs.get("delimiter", ","), attrs.get("quote", '"')
        found = suspicious_cells(path, delimiter, quote, columns)
        if found:
            scan.notes.append(
                f"{found.count} quoted cells span lines that look like rows, the first one from "
                f"line {found.line} to {found.line + found.lines - 1}: is a quote missing?"
            )

    def is_copied_to(self, target: Format) -> bool:
        """Cells stay as they are in another CSV file, and as the lines of a text."""
        is_lines = target.holds_one_field and target.refusal(Field("", BYTES)) is None
        return target == self or is_lines

    def refusal(self, field: Field) -> str | None:
        """Why columns cannot hold the field."""
        if field.dtype == BYTES or None not in field.shape:
            return None
        return (
            f"{field.name} has rows of different lengths, which are not columns: choose others "
            "with --fields"
        )

    def encoded(self, fields: Sequence[Field], blobs: Sequence[Blob]) -> Blob | None:
        """The lines."""
        if any(0 in field.shape for field in fields):
            return None
        return make_node(ENCODER, blobs).outputs[0]

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The names of the columns."""
        return {"columns": [one.name for one in fields]}
