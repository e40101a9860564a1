"""CSV files: types of cells, dialect and columns of a file, the writer, and the format."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import io
import itertools
import mmap
import operator
import os
import re
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import CorruptDataError, InvalidArgumentError, shown
from ..nodes import Blob, find_op
from ..nodes.eager import call
from ..nodes.sampled_attrs import Found
from ..ragged import Ragged
from .base.columns import (
    BYTES_LIKE,
    Array,
    as_array,
    as_bytes,
    byte_column,
    check_name,
    columns,
    encoded,
    ragged_of_bytes,
    slices,
)
from .base.damage import Damage, Scan
from .base.detection import HEAD, Detected, opened, size_of
from .base.fields import BYTES, Field, notes_of, specs
from .base.format import Format
from .base.open_source import open_source
from .base.source import OnProgress, Source, files_in, make_node, reading_in
from .base.writer import Shard, Writer
from ..words.remedies import CHOOSE

# ---- Types of cells -----------------------------------------------------------------------------
# A column has the narrowest type that holds all of its cells.

TYPES = "CSVCellTypes"

# The bits of CSVCellTypes.
_MISSING, _TEXT, _FLOAT, _INTEGER, _NEGATIVE, _UNSIGNED, _BEYOND = (1 << bit for bit in range(7))
_INEXACT, _INFINITE = 128, 256
_INTEGERS = _INTEGER | _NEGATIVE | _UNSIGNED | _BEYOND
_NUMBERS_PER_ODD = 10  # from this ratio on a column of bytes gets a note

UNSURE = _INEXACT | _INFINITE  # a float64 may not hold the number


def _is_json(line: bytes) -> bool:
    if not line.lstrip().startswith(b"{"):
        return False
    import json  # for few files

    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _types_of(cells: Sequence[bytes], missing: Sequence[str]) -> list[int]:
    """The types of cells, in the bits of CSVCellTypes."""
    if not cells:
        return []
    rows = call(find_op(TYPES), None, {"missing": list(missing)}, {"in": list(cells)})
    return [int(row[0]) for row in rows]


def _dtype_of(types: int) -> str:
    """The narrowest of int64, uint64, float64 and bytes that holds cells of all these types.

    A cell like 01234 or +5 is text: written as a number, it would change.
    """
    if types & _TEXT or not types & (_FLOAT | _INTEGERS):
        return "bytes"
    if types & (_FLOAT | _MISSING):
        return "float64"
    if not types & (_UNSIGNED | _BEYOND):
        return "int64"
    return "bytes" if types & (_NEGATIVE | _BEYOND) else "uint64"


def _oddity_of(cells: Sequence[bytes], types: Sequence[int], lines: Sequence[int]) -> str:
    """A note about a column of bytes in which nearly all cells are numbers; "" for other columns.

    Args:
        cells: The cells of the first rows.
        types: Their types, in the bits of CSVCellTypes.
        lines: Their lines in the file, from 1.
    """
    odd = [place for place, one in enumerate(types) if one & _TEXT]
    numbers = sum(bool(one & (_FLOAT | _INTEGERS)) for one in types) - len(odd)
    if not odd or numbers < _NUMBERS_PER_ODD * len(odd):
        return ""
    cell = shown(cells[odd[0]].decode("utf-8", "replace"))
    return (
        f"{len(odd):,} of the first {len(cells):,} cells {'is' if len(odd) == 1 else 'are'} text: "
        f"{cell} in line {lines[odd[0]]}"
    )


def _is_exact(cell: bytes, types: int) -> bool:
    """Whether a float64 holds the number of a cell of these types."""
    if types & _INFINITE:
        return False
    value = int(cell)
    return abs(value) < 2**1023 and int(float(value)) == value


# ---- Is the first row a header? -----------------------------------------------------------------

_YEARS = range(1800, 2101)
_SHOWN = 3  # cells of a row that a note shows


def _header_of(rows: Sequence[Sequence[str]], missing: Collection[str]) -> tuple[bool, str]:
    """Whether the first row has names, judged from the cells of the other rows in the same columns;
    and a note about a row that is read as data but looks a little like names, or "".

    Names mostly have no numbers among them.  Some may be numbers where

    - text is above numbers in one column, or a number above text;
    - the numbers are years, one after another, above other values;
    - the numbers count from 0 after an empty name, as pandas writes them.

    Args:
        rows: The first rows, each with a cell at least.
        missing: The cells that count as missing values, besides empty ones.
    """
    first = [cell.strip() for cell in rows[0]]
    if not any(map(_is_number, first)):
        return any(first), ""
    columns = [_Column(rows[1:], place, missing) for place in range(len(first))]
    if first[0] == "" and first[1:] == [str(number) for number in range(len(first) - 1)]:
        return len(first) > 2 and columns[0].is_full, ""
    if not _are_like_names(first, missing):
        return False, ""
    names_numbers, has_digits = _names_numbers(first, columns, missing), _has_digits_only(first)
    if has_digits and (names_numbers or _are_counts_names(first, columns)):
        return True, ""
    if len(rows) < 2 or not (names_numbers or has_digits):
        return False, ""
    said = ",".join(first[:_SHOWN]) + (",..." if len(first) > _SHOWN else "")
    note = f"no header was found; if the first row, {shown(said)}, has names, say header='yes'"
    return False, note


class _Column:
    """The cells of a column below the first row.

    Attributes:
        is_full: Whether there are cells, and none is empty.
        is_numbers: Whether there are cells that are not missing, and all are numbers.
        is_text: Whether there are several such cells, and none is a number.
        has_years: Whether there are numbers, and all are years.
    """

    def __init__(
        self, rows: Sequence[Sequence[str]], place: int, missing: Collection[str]
    ) -> None:
        cells = [row[place].strip() for row in rows if place < len(row)]
        there = [cell for cell in cells if cell and cell not in missing]
        numbers = [cell for cell in there if _is_number(cell)]
        self.is_full = bool(cells) and all(cells)
        self.is_numbers = bool(there) and len(numbers) == len(there)
        self.is_text = len(there) > 1 and not numbers
        self.has_years = bool(numbers) and all(map(_is_year, numbers))


def _are_like_names(first: Sequence[str], missing: Collection[str]) -> bool:
    """Whether all cells differ, and at least one is a word."""
    is_word = any(_is_name(cell) and cell not in missing for cell in first)
    return is_word and len(set(first)) == len(first)


def _names_numbers(
    first: Sequence[str], columns: Sequence[_Column], missing: Collection[str]
) -> bool:
    """Whether a word is above numbers."""
    return any(
        column.is_numbers and _is_name(cell) and cell not in missing
        for cell, column in zip(first, columns, strict=True)
    )


def _are_counts_names(first: Sequence[str], columns: Sequence[_Column]) -> bool:
    """Whether the counts of a row are names: years in steps of one size above other values, or
    counts that are all above text.
    """
    named = [(cell, column) for cell, column in zip(first, columns, strict=True) if _is_count(cell)]
    if len(named) > 1 and all(_is_year(cell) for cell, _ in named):
        years = [int(cell) for cell, _ in named]
        steps = {after - before for before, after in itertools.pairwise(years)}
        if len(steps) == 1 and not any(column.has_years for _, column in named):
            return True
    return bool(named) and all(column.is_text for _, column in named)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_count(cell: str) -> bool:
    return cell.isascii() and cell.isdecimal()


def _is_year(cell: str) -> bool:
    return _is_count(cell) and len(cell) == 4 and int(cell) in _YEARS


def _is_name(cell: str) -> bool:
    """Whether a cell may be a name in a row that also has numbers."""
    is_word = cell[:1].isalpha() and cell.replace("_", "a").replace(" ", "a").isalnum()
    return is_word and not _is_number(cell)


def _has_digits_only(first: Sequence[str]) -> bool:
    """Whether all numbers of a row can be names: counts, and words such as nan."""
    return all(_is_count(cell) or cell[:1].isalpha() for cell in first if _is_number(cell))


# ---- Dialect and columns of a file --------------------------------------------------------------


class Table(NamedTuple):
    """The dialect and columns of a file.

    Attributes:
        delimiter: The character between two cells.
        has_header: Whether the first line has names.
        has_quotes: Whether cells may have line breaks.
        fields: The columns.
        has_rows: Whether a record was found.
    """

    delimiter: str
    has_header: bool
    has_quotes: bool
    fields: tuple[Field, ...]
    has_rows: bool


def _table_of(
    head: bytes, is_whole: bool, given: Mapping[str, Any], missing: Sequence[str]
) -> Table:
    """The table that the first lines of a file show.

    Args:
        head: The first lines.
        is_whole: Whether there are no other lines.
        given: Attrs of the reader.
        missing: The cells that count as missing values, besides empty ones.
    """
    text = head.decode("utf-8-sig", "replace")
    if not is_whole:
        text = text[: text.rfind("\n") + 1] or text
    first = text.split("\n", 1)[0]
    if "\0" in first:
        raise CorruptDataError("it is no CSV: there is a NUL byte in its first line")
    delimiter = str(given.get("delimiter", "")) or max(",\t;|", key=first.count)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        numbered = [(lines.line_num, row) for row in lines if row]
    except (csv.Error, TypeError) as failure:
        raise CorruptDataError(f"its first lines are not CSV: {failure}") from None
    rows = [row for _, row in numbered]
    if not rows:
        return Table(delimiter, False, False, (), False)
    has_header = {"yes": True, "no": False}.get(str(given.get("header")))
    said = ""
    if has_header is None:
        has_header, said = _header_of(rows, missing)
    names = _distinct(rows[0]) if has_header else [f"column{i}" for i in range(len(rows[0]))]
    body = numbered[1:] if has_header else numbered
    skipped = int(given.get("skip_header_lines", 0))
    dtypes, notes = [], []
    for place in range(len(names)):
        cells = [row[place].encode("utf-8", "replace") for _, row in body if place < len(row)]
        types = _types_of(cells, missing)
        dtypes.append(_dtype_of(functools.reduce(operator.or_, types, 0)))
        at = [skipped + line for line, row in body if place < len(row)]
        notes.append(_oddity_of(cells, types, at) if dtypes[-1] == BYTES else "")
    if said and BYTES in dtypes:
        place = dtypes.index(BYTES)
        notes[place] = notes[place] or said
    has_quotes = '"' in text  # then later cells may have line breaks
    fields = tuple(_fields(names, dtypes, notes))
    return Table(delimiter, has_header, has_quotes, fields, bool(body))


def _fields(names: list[str], dtypes: list[str], notes: list[str]) -> list[Field]:
    """The fields of columns: columns x[0], x[1], ... of numbers are one field, others one each."""
    fields: list[Field] = []
    place = 0
    while place < len(names):
        count = _run(names, place)
        base = names[place].removesuffix("[0]")
        kinds = set(dtypes[place : place + count])
        if count > 1 and BYTES not in kinds:
            dtype = kinds.pop() if len(kinds) == 1 else "float64"
            key = f"{place}..{place + count - 1}"
            fields.append(_guess(Field(base, dtype, (count,), key)))
            place += count
            continue
        fields.append(_guess(Field(names[place], dtypes[place], (), str(place), note=notes[place])))
        place += 1
    return fields


def _guess(field: Field) -> Field:
    """A field whose type may not hold later rows; missing floats are NaN."""
    default = "nan" if field.dtype == "float64" else None
    return dataclasses.replace(field, default=default, is_guessed=field.dtype != BYTES)


def _distinct(names: list[str]) -> list[str]:
    """The names, made distinct by numbers; a column without a name gets its number as a name."""
    found: dict[str, None] = {}
    for place, given in enumerate(names):
        name = given if given.strip() else f"column{place}"
        number, new = 2, name
        while new in found:
            new, number = f"{name}_{number}", number + 1
        found[new] = None
    return list(found)


def _places_of(field: Field) -> range:
    first, _, last = field.key.partition("..")
    return range(int(first), int(last or first) + 1)


def _cells_of(fields: Iterable[Field]) -> tuple[Field, ...]:
    return tuple(one for field in fields for one in _as_cells(field))


def _as_cells(field: Field) -> list[Field]:
    """The columns of a field, each as the bytes that are in the file."""
    if not field.shape:
        return [dataclasses.replace(field, dtype=BYTES, default=None, is_guessed=False)]
    return [
        Field(f"{field.name}[{number}]", BYTES, (), str(place))
        for number, place in enumerate(_places_of(field))
    ]


def widened(field: Field, dtypes: set[str]) -> list[Field]:
    """The field in a type for all its columns, whose types are these; several fields if some are
    bytes."""
    if BYTES in dtypes:
        return _as_cells(field)
    dtype = next(iter(dtypes)) if len(dtypes) == 1 else "float64"
    return [_guess(dataclasses.replace(field, dtype=dtype))]


def _run(names: list[str], place: int) -> int:
    if not names[place].endswith("[0]"):
        return 1
    base, count = names[place].removesuffix("[0]"), 0
    while place + count < len(names) and names[place + count] == f"{base}[{count}]":
        count += 1
    return count


# ---- Cells that are suspiciously long -----------------------------------------------------------


def _note_of_long_cells(path: str, delimiter: str, quote: str, num_columns: int) -> str:
    """A note about quoted cells whose lines look like rows, as a missing quote produces them; "" if
    there are none, or if rows have one column.
    """
    if num_columns < 2 or not quote:
        return ""
    between, mark = re.escape(delimiter.encode()), re.escape(quote.encode())
    inner = b"[^" + mark + b"]*"
    cell = re.compile(
        b"(?<![^" + between + b"\n])" + mark + b"(" + inner + b"(?:" + mark * 2 + inner + b")*)"
        + mark
    )  # fmt: skip
    count = line = last = 0
    with opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for found in cell.finditer(data):
            if b"\n" not in found[1]:
                continue
            _, *others = found[1].split(b"\n")
            if all(one.count(delimiter.encode()) == num_columns - 1 for one in others):
                count += 1
                if count == 1:
                    line = data[: found.start()].count(b"\n") + 1
                    last = line + len(others)
    if not count:
        return ""
    return (
        f"{count} quoted cells span lines that look like rows, the first one from line {line} to "
        f"{last}: is a quote missing?"
    )


# ---- The writer ---------------------------------------------------------------------------------

_ENCODER = "CSVEncoder"


def _is_tsv(path: object) -> bool:
    """Whether a name says that tabs are between the cells."""
    name = os.fsdecode(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else ""
    return bool(re.search(r"\.tsv(\.\w+)?$", name, re.I))


class CSVWriter(Writer):
    """Writes CSV files: a header line, then a row for each record.

    A sample is a dict of numbers, text and bytes, a batch a dict of columns.  Numbers are written
    so that readers get the same numbers.  A row of a fixed shape has a column for each element,
    named `x[0]`, `x[1]`, or `x[0][1]`.  Bytes and text are quoted where needed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        header: bool = True,
        delimiter: str | None = None,
        **options: Any,
    ) -> None:
        """Opens the file; raises as `Writer`.

        Args:
            path: The file.
            columns: The names of the fields, in their order; None: the names in the first sample.
            header: Whether each file begins with a line of names.
            delimiter: One ASCII character between two cells, which is not a part of numbers; None:
                a tab in files whose names end with .tsv, otherwise a comma.
            **options: As for every `Writer`.
        """
        if delimiter is None:
            delimiter = "\t" if _is_tsv(path) else ","
        is_character = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
        if not is_character or delimiter.isalnum() or delimiter in '"\r\n\0+-.':
            raise InvalidArgumentError(
                f"delimiter = {shown(delimiter)}; it must be one ASCII character that is neither "
                "a quote nor a line break, nor a part of numbers: no letter, digit or +-.",
                op=type(self).__name__,
            )
        if not isinstance(header, bool):
            raise InvalidArgumentError(
                f"header = {shown(header)}; it must be True or False", op=type(self).__name__
            )
        self._delimiter = delimiter
        self._fields = None if columns is None else self._named(columns)
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._header = header
        super().__init__(path, **options)

    def _named(self, given: Any) -> list[str]:
        names = [] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
        if not names or not all(isinstance(one, str) for one in names):
            raise InvalidArgumentError(
                f"columns = {shown(given)}; it must be a list of names", op=type(self).__name__
            )
        if len(set(names)) < len(names):
            raise InvalidArgumentError(
                f"columns = {shown(given)}; a name is given twice", op=type(self).__name__
            )
        for one in names:
            as_bytes(one, "a name in columns")
        return names

    def _begin(self, shard: Shard) -> None:
        if not self._header or not self._fields:
            return
        names = [
            (field + "".join(f"[{i}]" for i in index)).encode()
            for field in self._fields
            for index in np.ndindex(self._shapes.get(field, ()))
        ]
        lines = encoded(_ENCODER, {"name": ragged_of_bytes(names)}, delimiter=self._delimiter)
        cells = [line[:-1] for line in slices(lines.values.tobytes(), lines.lengths)]
        shard.main.write(self._delimiter.encode().join(cells) + b"\n")

    def write(self, sample: Any) -> None:
        """Writes one row.

        Raises:
            InvalidArgumentError: The sample is not a dict, or its fields differ from the fields
                before.
            FileError: The file cannot be written.
        """
        with self._naming():
            self._check_sample(sample)
            for name in sample:
                check_name(name)
            batch = {name: self._as_column(name, value) for name, value in sample.items()}
            rows = self._lines(batch)
        self.write_encoded(rows)

    def write_batch(self, batch: Any) -> None:
        """Writes a row for each row of the columns; raises as `write`."""
        with self._naming():
            rows = self._lines(batch)
        self.write_encoded(rows)

    @staticmethod
    def _as_column(name: str, value: Any) -> Any:
        if isinstance(value, BYTES_LIKE):
            return [value]
        array = as_array(name, value)
        if array.dtype.kind not in "biuf":
            raise InvalidArgumentError(
                f"{name} = {shown(value)}; a cell is a number, text or bytes"
            )
        return array[np.newaxis]

    def expect(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Takes the fields of encoded rows: name -> shape of a row."""
        self._fields, self._shapes = list(shapes), dict(shapes)

    def _lines(self, batch: Any) -> Ragged:
        found, count = columns(batch)
        if self._fields is not None and set(found) != set(self._fields):
            raise InvalidArgumentError(
                f"the fields are {', '.join(found)}; those of this file are "
                f"{', '.join(self._fields)}"
            )
        names = self._fields or list(found)
        cells = {name: _cells(name, found[name]) for name in names}
        shapes = {
            name: () if isinstance(one, Ragged) else one.shape[1:] for name, one in cells.items()
        }
        if self._shapes and shapes != self._shapes:
            raise InvalidArgumentError(
                f"the rows are of the shapes {shapes}; those of this file are of {self._shapes}"
            )
        if count:
            self._fields, self._shapes = names, shapes
        some = {name: one for name, one in cells.items() if 0 not in shapes[name]}
        return encoded(_ENCODER, some, delimiter=self._delimiter) if some else ragged_of_bytes([])


def _cells(name: str, rows: Array | Ragged | list[Any]) -> Array | Ragged:
    """A column as the encoder takes it: numbers, or bytes as rows of uint8."""
    if isinstance(rows, list) and not all(isinstance(row, BYTES_LIKE) for row in rows):
        rows = as_array(name, rows, is_batch=True)
        if rows.dtype.kind not in "biuf":
            raise InvalidArgumentError(f"{name} has rows that are neither numbers nor text")
    if isinstance(rows, Ragged) and rows.dtype != np.uint8:
        raise InvalidArgumentError(
            f"{name} is {rows!r}: rows of different lengths have no columns; pad them"
        )
    return rows if isinstance(rows, np.ndarray) else byte_column(name, rows)


# ---- The format ---------------------------------------------------------------------------------

_STRICT = "strict_numbers"
_MOST_OUTPUTS = 4096  # that a node can have
_SCANNED = 4096  # rows that are read at a time


def _has_quote(path: str) -> bool:
    """Whether a cell of a file may have a line break."""
    try:
        with opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(b'"') >= 0
    except (OSError, ValueError):  # the reader raises it
        return False


def _refuse_other_columns(found: Sequence[Detected]) -> None:
    """Refuses files with other columns than the first: columns are read by number."""
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
    return _cells_of(field for field in source.fields if field.is_guessed)


class CSV(Format):
    """Fields are columns, with the narrowest types that hold their cells."""

    writer = CSVWriter
    is_text = True

    def _missing(self) -> list[str]:
        """The cells that count as missing values by default, besides empty ones."""
        attr = find_op(self.reader).attr("missing")
        default: Any = attr.default if attr else ()
        return list(map(str, default))

    def open(self, source: Source, found: Sequence[Detected], *, as_stored: bool) -> Source:
        """The columns of the first file that has records; all files must have the same columns."""
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
        if _is_json(head.split(b"\n", 1)[0]):
            raise InvalidArgumentError(
                "its first line is an object of JSON, and no row of CSV: give format='json', or "
                "rename the file so that it ends in .jsonl", file=one.path,
            )  # fmt: skip
        table = _table_of(head, len(one.head) < HEAD, given, self._missing())
        attrs: list[tuple[str, Any]] = []
        if table.delimiter != ",":
            attrs.append(("delimiter", table.delimiter))
        if table.has_quotes or (not source.compression and any(map(_has_quote, source.files))):
            attrs.append(("multiline", True))
        attrs.append(("header", "yes" if table.has_header else "no"))
        fields = _cells_of(table.fields) if as_stored else table.fields
        source = dataclasses.replace(source, fields=fields, attrs=(*attrs, *source.attrs))
        if table.has_rows:
            return source
        # The reader decides whether there are records.
        cells = _cells_of(fields)[:1] or (Field("0", BYTES),)
        looked = dataclasses.replace(source, files=(one.path,), fields=cells)
        is_empty = next(looked.batches(batch_size=1), None) is None
        return dataclasses.replace(source, is_empty=is_empty)

    def widened(self, source: Source, exact: bool, progress: OnProgress) -> Source:
        """The types of guessed columns, from the cells of all records."""
        return self._of_types(source, self._types(source, progress), exact)

    def sampled(self, source: Source, exact: bool, progress: OnProgress) -> tuple[Source, bool]:
        """The types of guessed columns, from the cells of the first batch."""
        with contextlib.closing(self._types(source, progress)) as batches:
            first = list(itertools.islice(batches, 1))
            rest = next(batches, None)
        return self._of_types(source, first, exact and rest is None), rest is None

    def checked(self, source: Source) -> Source | None:
        """The source with strict numbers; None with own words for missing values, which `widened`
        takes for text."""
        attrs = dict(source.attrs)
        if "missing" in attrs:
            return None
        attrs[_STRICT] = True
        return dataclasses.replace(source, attrs=tuple(attrs.items()))

    def _of_types(
        self, source: Source, batches: Iterable[npt.NDArray[np.uint16]], exact: bool
    ) -> Source:
        """The source with fields whose types hold the types in all batches."""
        cells = _guessed_cells(source)
        found = np.zeros(len(cells), np.uint16)
        for types in batches:
            found |= np.bitwise_or.reduce(types, axis=0)
        types_by = {one.key: int(types) for one, types in zip(cells, found, strict=True)}
        fields: list[Field] = []
        for field in source.fields:
            own = {one: types_by[str(one)] for one in _places_of(field)} if field.is_guessed else {}
            dtypes = set(map(_dtype_of, own.values()))
            fields += widened(field, dtypes) if own else [field]
            unsure = {str(place) for place, types in own.items() if types & UNSURE}
            if exact and unsure and BYTES not in dtypes and "float64" in dtypes:
                self._refuse_inexact(field, [one for one in cells if one.key in unsure], source)
        return dataclasses.replace(source, fields=tuple(fields))

    def _types(
        self, source: Source, progress: OnProgress
    ) -> Generator[npt.NDArray[np.uint16], None, None]:
        """The types of the cells of guessed columns, batch by batch."""
        missing, done = self._missing(), 0
        looked = dataclasses.replace(source, fields=_guessed_cells(source))

        def types(blobs: dict[str, Blob]) -> dict[str, Blob]:
            return {TYPES: make_node(TYPES, list(blobs.values()), missing=missing).outputs[0]}

        rows = looked.batch_rows()
        for batch in looked.batches(batch_size=rows, change=types, on_error="skip", max_skipped=-1):
            done += len(batch[TYPES])
            progress(done)
            yield batch[TYPES]

    def _refuse_inexact(self, field: Field, cells: Sequence[Field], source: Source) -> None:
        """Refuses a number that a column of float64 does not hold."""
        looked = dataclasses.replace(source, fields=tuple(cells))
        for batch in looked.batches(batch_size=_SCANNED, on_error="skip", max_skipped=-1):
            for one in cells:
                texts = batch[one.name].to_bytes_list()
                for cell, types in zip(texts, _types_of(texts, self._missing()), strict=True):
                    number = cell.strip(b" \t")
                    if types & UNSURE and not _is_exact(number, types):
                        raise InvalidArgumentError(
                            f"{field.name} has {number.decode()[:40]}, which float64 does not "
                            f"hold: choose its type with --fields, as {field.name}:bytes"
                        )

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """Reads with and without line breaks in cells, and returns the damage of the reading with
        more whole records: an unclosed quote hides all cells up to the next quote."""
        notes = ((one.name, one.note) for one in source.fields if one.note)
        scan.notes += (f"the column {name} is of bytes: {note}" for name, note in notes)
        whole = source
        if len(source.fields) > _MOST_OUTPUTS:  # one field shows the damage of rows as well
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
        attrs = dict(source.attrs)
        path = source.files[0]
        if source.compression or not attrs.get("multiline") or not size_of(path):
            return
        columns = sum(len(_places_of(field)) for field in source.fields)
        delimiter, quote = attrs.get("delimiter", ","), attrs.get("quote", '"')
        if note := _note_of_long_cells(path, delimiter, quote, columns):
            scan.notes.append(note)

    def is_copied_to(self, target: Format) -> bool:
        """Cells stay as they are in another CSV file, and as the lines of a text."""
        is_lines = target.holds_one_field and target.refusal(Field("", BYTES)) is None
        return target == self or is_lines

    def refusal(self, field: Field) -> str | None:
        if field.dtype == BYTES or None not in field.shape:
            return None
        return (
            f"{field.name} has rows of different lengths, which are not columns: choose others by "
            f"{CHOOSE}"
        )

    def encoded(self, fields: Sequence[Field], blobs: Sequence[Blob]) -> Blob | None:
        if any(0 in field.shape for field in fields):
            return None
        return make_node(_ENCODER, blobs).outputs[0]

    def options_of_name(self, path: str) -> dict[str, Any]:
        return {"delimiter": "\t"} if _is_tsv(path) else {}

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        return {"columns": [one.name for one in fields]}


FORMAT = CSV
