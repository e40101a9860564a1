"""The dialect and the columns of a CSV file, as its first lines show them."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import CorruptDataError
from ..base.fields import BYTES, Field
from .cells import dtype_of, oddity_of, types_of
from .header import doubt, is_header


@dataclass(frozen=True)
class Table:
    """A file's dialect and columns.

    Attributes:
        delimiter: Between two cells.
        has_header: Whether the first line has names.
        has_quotes: Whether cells may have line breaks in them.
        fields: The columns.
        has_rows: Whether a record has been seen.
    """

    delimiter: str
    has_header: bool
    has_quotes: bool
    fields: tuple[Field, ...]
    has_rows: bool


def table_of(
    head: bytes, is_whole: bool, given: Mapping[str, Any], missing: Sequence[str]
) -> Table:
    """From the first lines.

    Args:
        head: These.
        is_whole: Whether there are no others.
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
        has_header = is_header(rows, missing)
        said = "" if has_header else doubt(rows, missing)
    names = _distinct(rows[0]) if has_header else [f"column{i}" for i in range(len(rows[0]))]
    body = numbered[1:] if has_header else numbered
    skipped = int(given.get("skip_header_lines", 0))
    dtypes, notes = [], []
    for place in range(len(names)):
        cells = [row[place].encode("utf-8", "replace") for _, row in body if place < len(row)]
        types = types_of(cells, missing)
        dtypes.append(dtype_of(functools.reduce(operator.or_, types, 0)))
        at = [skipped + line for line, row in body if place < len(row)]
        notes.append(oddity_of(cells, types, at) if dtypes[-1] == BYTES else "")
    if said and BYTES in dtypes:
        place = dtypes.index(BYTES)
        notes[place] = notes[place] or said
    has_quotes = '"' in text  # a later cell may have a line break where none of these has
    fields = tuple(_fields(names, dtypes, notes))
    return Table(delimiter, has_header, has_quotes, fields, bool(body))


def _fields(names: list[str], dtypes: list[str], notes: list[str]) -> list[Field]:
    """Columns x[0], x[1], ... of numbers are one field; others are fields of their own."""
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
    """A field whose type later rows may not have; missing floats are NaN."""
    default = "nan" if field.dtype == "float64" else None
    return dataclasses.replace(field, default=default, is_guessed=field.dtype != BYTES)


def _distinct(names: list[str]) -> list[str]:
    """The names, with a number added to repeated ones; columns without one are numbered."""
    found: dict[str, None] = {}
    for place, given in enumerate(names):
        name = given if given.strip() else f"column{place}"
        number, new = 2, name
        while new in found:
            new, number = f"{name}_{number}", number + 1
        found[new] = None
    return list(found)


def places_of(field: Field) -> range:
    """The columns of a field, with the types of the first rows."""
    first, _, last = field.key.partition("..")
    return range(int(first), int(last or first) + 1)


def cells_of(fields: Iterable[Field]) -> tuple[Field, ...]:
    """The columns of fields, each as the bytes that are in the file."""
    return tuple(one for field in fields for one in _as_cells(field))


def _as_cells(field: Field) -> list[Field]:
    """The columns of a field, each as the bytes that are in the file."""
    if not field.shape:
        return [dataclasses.replace(field, dtype=BYTES, default=None, is_guessed=False)]
    return [
        Field(f"{field.name}[{number}]", BYTES, (), str(place))
        for number, place in enumerate(places_of(field))
    ]


def widened(field: Field, dtypes: set[str]) -> list[Field]:
    """The field with the type of all its columns' cells, which are of these; several fields if they
    are not numbers."""
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
