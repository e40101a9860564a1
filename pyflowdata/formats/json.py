"""JSON lines: fields of the first records, the writer, and the format."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring as _quoted
from typing import Any, TypeAlias

import numpy as np

from ..errors import CorruptDataError, InvalidArgumentError, shown
from ..nodes import find_op
from ..nodes.sampled_attrs import Found
from ..ragged import Ragged
from .base.columns import (
    Array,
    are_bytes,
    as_array,
    bytes_rows,
    check_name,
    columns,
    each_row,
    encoded,
)
from .base.damage import Damage, Scan
from .base.detection import HEAD, Detected, detect, size_of
from .base.fields import BYTES, Field, JsonField, specs
from .base.format import Format
from .base.open_source import FORMATS, open_source
from .base.source import OnProgress, Source, files_in, reading_in
from .base.writer import Writer

# ---- Paths --------------------------------------------------------------------------------------
# A path names a value in a record: keys with dots between them, and [N] for an element of an array.

_STEP = re.compile(r"(?:^|\.)(?:'((?:[^']|'')*)'|([^.\[\]']+))|\[([0-9]+)\]")
_PLAIN = re.compile(r"[^.\[\]'=:]+")

Steps: TypeAlias = tuple["str | int", ...]


def _spelled(keys: Iterable[str]) -> str:
    """The path of a value in nested objects."""
    quoted = (key if _PLAIN.fullmatch(key) else "'" + key.replace("'", "''") + "'" for key in keys)
    return ".".join(quoted)


def _steps(path: str) -> Steps | None:
    """The keys and numbers of elements in a path; None: it is no path."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or (at == 0 and found[3] is not None):
            return None
        quoted, plain, number = found.groups()
        key = plain if quoted is None else quoted.replace("''", "'")
        steps.append(key if number is None else int(number))
        at = found.end()
    return tuple(steps) or None


def _value_at(record: Any, steps: Steps) -> Any:
    """The value at a path; None where there is none."""
    for step in steps:
        if isinstance(step, int):
            record = record[step] if isinstance(record, list) and step < len(record) else None
        else:
            record = record.get(step) if isinstance(record, dict) else None
    return record


# ---- The types of values ------------------------------------------------------------------------

_KINDS = {
    bool: "bool", int: "integer", float: "float", str: "string", dict: "object", type(None): "null",
}  # fmt: skip
_POLICY = "invalid_utf8"  # the attr for bytes that are not UTF-8
_EXACT = 2**53  # float64 holds all integers up to this one


class _NoField(Exception):
    """Why values cannot be a field."""


class _Values:
    """The kinds of the values at one path.

    Attributes:
        path: The path, as the user writes it.
        count: How many there are, besides null.
        kinds: (whether it is an array, the kind of the value or of its elements; "" for no
            elements).
        inner: The shapes of the elements of arrays; None: arrays in arrays differ in length. least,
            most: The range of the integers.
        inexact: An integer that float64 does not hold; None: there is none.
    """

    def __init__(self, path: str) -> None:
        self.path, self.count = path, 0
        self.kinds: dict[tuple[bool, str], None] = {}
        self.inner: set[tuple[int, ...] | None] = set()
        self.least = self.most = 0
        self.inexact: int | None = None

    def add(self, value: Any) -> None:
        """Looks at another value."""
        if value is None:
            return
        self.count += 1
        is_array = isinstance(value, list)
        elements = list(_elements(value)) if is_array else [value]
        kinds = dict.fromkeys(map(type, elements))
        if value == []:  # its elements may be of any kind and shape
            self.kinds[True, ""] = None
        elif is_array:
            shape = _shape(value)
            self.inner.add(None if shape is None else shape[1:])
        for kind in kinds:
            self.kinds[is_array, _KINDS[kind]] = None
        if int in kinds:
            self._add_integers([one for one in elements if type(one) is int])

    def _add_integers(self, values: list[int]) -> None:
        self.least, self.most = min(self.least, *values), max(self.most, *values)
        if self.inexact is None and max(self.most, -self.least) > _EXACT:
            self.inexact = next(itertools.filterfalse(_is_exact, values), None)

    def field(self, records: int) -> Field:
        """The field that holds the values of this many records.

        Raises:
            _NoField: There is no such field.
        """
        are_arrays = {is_array for is_array, _ in self.kinds}
        kinds = {kind for _, kind in self.kinds} - {""}
        dtype = self._dtype(kinds)
        shape: tuple[int | None, ...] = ()
        if are_arrays == {True} and kinds:
            inner = next(iter(self.inner))
            is_even = inner is not None and len(self.inner) == 1 and 0 not in inner
            if dtype in ("", BYTES) or not is_even:  # of strings, objects, or uneven arrays
                default = "null" if records > self.count else None
                return TextField(self.path, BYTES, default=default)
            shape = (None, *(inner or ()))
        elif not dtype or are_arrays != {False}:
            raise _NoField(
                f"{self.path}, which is {self.said()} (as {shown(f'{self.path}:json')} it is the "
                "text of the value)"
            )
        return self._with_default(PathField(self.path, dtype, shape), records)

    def _dtype(self, kinds: set[str]) -> str:
        """The narrowest dtype that holds values of these kinds; "": none does."""
        if kinds == {"bool"}:
            return "bool"
        if kinds == {"string"}:
            return BYTES
        if kinds in ({"float"}, {"float", "integer"}):
            return "float64"
        if kinds != {"integer"}:
            return ""
        if -(2**63) <= self.least and self.most < 2**63:
            return "int64"
        return "uint64" if self.least >= 0 and self.most < 2**64 else ""

    def said(self) -> str:
        """The kinds as a text."""
        if not self.kinds:
            return "null"
        said = []
        for is_array, kind in self.kinds:
            if is_array:
                said.append(f"an array of {kind}s" if kind else "an array without elements")
            else:
                said.append(f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}")
        is_integer = {kind for _, kind in self.kinds} == {"integer"}
        range_ = f" from {self.least} to {self.most}" if is_integer else ""
        return " and ".join(said) + range_

    def _with_default(self, field: Field, records: int) -> Field:
        """The field with a default for records that lack it: NaN, an empty text, or an array
        without elements.

        A number that is an integer in all others becomes a float where that changes none.
        """
        dtype, missing = field.dtype, records - self.count
        if dtype == BYTES or field.shape:
            default = "" if missing else None
            return dataclasses.replace(field, default=default, is_guessed=dtype != BYTES)
        is_exact = dtype == "float64" or self.inexact is None
        if missing and (dtype == "bool" or not is_exact):
            zero = "false" if dtype == "bool" else "0"
            raise _NoField(
                f"{self.path}, which {missing} of {records} records lack: say what they get, as in "
                f'"{self.path}:{dtype}={zero}"'
            )
        dtype = "float64" if missing else dtype
        default = "nan" if dtype == "float64" else None
        return dataclasses.replace(field, dtype=dtype, default=default, is_guessed=True)


def _is_exact(value: int) -> bool:
    """Whether a float64 holds an integer."""
    return value.bit_length() < 1024 and int(float(value)) == value


def _is_nested(value: list[Any]) -> bool:
    return list in map(type, value)


def _elements(value: list[Any]) -> Iterator[Any]:
    """All elements of nested lists that are not lists."""
    if not _is_nested(value):
        yield from value
        return
    for one in value:
        yield from _elements(one) if isinstance(one, list) else (one,)


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of nested lists; None: lists at one depth differ in length."""
    if not isinstance(value, list):
        return ()
    if not _is_nested(value):
        return (len(value),)
    inner = set(map(_shape, value))
    first = inner.pop()
    return None if inner or first is None else (len(value), *first)


# ---- The fields of records ----------------------------------------------------------------------


class PathField(Field):
    """A field whose name is its path in a record."""

    def with_type(self, kind: str) -> Field:
        typed = super().with_type(kind)
        if typed.is_json:
            return TextField(**vars(typed))
        if "[" in kind or typed.dtype not in (BYTES, "str"):
            return PathField(**vars(typed))
        return PathField(**{**vars(typed), "dtype": BYTES, "shape": ()})


class TextField(PathField, JsonField):
    """A field of JSON texts at a path."""


class _Fields:
    """The values of all paths in some records, in the order in which they appear."""

    def __init__(self) -> None:
        self.records = 0
        self._values: dict[tuple[str, ...], _Values] = {}

    def add(self, record: dict[str, Any]) -> None:
        """Looks at another record."""
        self.records += 1
        self._add(record, ())

    def _add(self, record: dict[str, Any], above: tuple[str, ...]) -> None:
        for name, value in record.items():
            keys = (*above, name)
            if isinstance(value, dict) and value:
                self._add(value, keys)
                continue
            if keys not in self._values:
                self._values[keys] = _Values(_spelled(keys))
            self._values[keys].add(value)

    def found(self) -> tuple[tuple[Field, ...], tuple[str, ...]]:
        """The fields, and descriptions of what is no field."""
        fields, left_out = [], []
        parents = {keys[:size] for keys in self._values for size in range(1, len(keys))}
        for keys, values in self._values.items():
            if keys in parents and set(values.kinds) <= {(False, "object")}:
                continue  # null or {} where others have an object, all of whose values are missing
            try:
                if any(sign in values.path for sign in "=\0"):
                    raise _NoField(f"{shown(values.path)}, whose name no list of fields can have")
                if keys in parents:
                    raise _NoField(f"{values.path}, which is an object and {values.said()}")
                fields.append(values.field(self.records))
            except _NoField as reason:
                left_out.append(str(reason))
        return tuple(fields), tuple(left_out)

    def values(self) -> dict[str, _Values]:
        """The values by path."""
        return {values.path: values for values in self._values.values()}


def _record(line: bytes, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The object in a line.

    Args:
        line: The bytes of the line.
        attrs: The attrs of the reader, which say how to treat bytes that are not UTF-8.

    Raises:
        ValueError: The line has no object.
    """
    is_strict = attrs.get(_POLICY, "error") == "error"
    try:
        text = line.decode(errors="strict" if is_strict else "replace")
        found = json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as failure:
        raise ValueError(
            f"its byte {failure.start} is not UTF-8 ({_POLICY}=\"replace\" reads U+FFFD there)"
        ) from None
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"it is {shown(found)}, and no object")
    return found


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


# ---- Writing ------------------------------------------------------------------------------------

_NUMBERS = "CSVEncoder"  # which writes the shortest texts of numbers


class JSONLinesWriter(Writer):
    """Writes JSON lines: an object for each record, with a key for each field.

    A sample is a dict of numbers, text, bytes and arrays of numbers, a batch a dict of columns.
    Numbers are written so that readers get the same numbers, arrays as arrays, bytes as the text
    that they are in UTF-8.  NaN and infinities are refused, which JSON has not.

    The name of a field is its key, also with dots in it: `{"a.b": 1}`.  With `nested=True` it is a
    path, as `JSONLinesReader` takes it: `{"a":{"b":1}}`; then `'a.b'` with quotes is the key a.b.
    The texts of the fields in `texts` are JSON already, as those of the reader's type json.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        fields: Sequence[str] | None = None,
        nested: bool = False,
        texts: Sequence[str] = (),
        **options: Any,
    ) -> None:
        """Opens the file; raises as `Writer`.

        Args:
            path: The file.
            fields: The names of the fields, in their order; None: those of each sample or batch.
            nested: Whether names are paths.
            texts: The names of the fields whose bytes or text are JSON, of any value.
            **options: As for every `Writer`.
        """
        self._nested = nested
        self._texts = frozenset(texts)
        self._fields: list[str] | None = None
        if fields is not None:
            is_list = not isinstance(fields, str) and isinstance(fields, Sequence)
            self._fields = list(fields) if is_list else []
            if not self._fields or not all(isinstance(one, str) for one in self._fields):
                raise InvalidArgumentError(
                    f"fields = {shown(fields)}; it must be a list of names", op=type(self).__name__
                )
            try:
                _template(self._fields, nested)
            except InvalidArgumentError as failure:
                failure.op = type(self).__name__
                raise
        super().__init__(path, **options)

    def write(self, sample: Any) -> None:
        """Writes one line.

        Raises:
            InvalidArgumentError: The sample is not a dict, its fields differ from those of the
                file, or JSON cannot hold a value.
            FileError: The file cannot be written.
        """
        with self._naming():
            self._check_sample(sample)
            lines = self._lines({name: _as_column(value) for name, value in sample.items()})
        self._emit_lines(lines)

    def write_batch(self, batch: Any) -> None:
        """Writes a line for each row of the columns; raises as `write`."""
        with self._naming():
            lines = self._lines(batch)
        self._emit_lines(lines)

    def _emit_lines(self, lines: list[bytes]) -> None:
        self._emit(b"".join(lines), np.fromiter(map(len, lines), np.int64, len(lines)))

    def _lines(self, batch: Any) -> list[bytes]:
        found, _ = columns(batch)
        names = self._fields or list(found)
        if set(found) != set(names):
            raise InvalidArgumentError(
                f"the fields are {', '.join(found)}; those of this file are {', '.join(names)}"
            )
        template, names = _template(names, self._nested)
        rows = zip(*(self._column(name, found[name]) for name in names), strict=True)
        return [(template % row).encode() for row in rows]


    def _column(self, name: str, rows: Array | Ragged | list[Any]) -> list[str]:
        if name not in self._texts:
            return _texts(name, rows)
        return each_row(lambda row: _checked_text(name, row), bytes_rows(name, rows))


def _template(names: Sequence[str], nested: bool) -> tuple[str, list[str]]:
    """A line with %s for each value, and the names of the fields in its order.

    Raises:
        InvalidArgumentError: A name is no path, or two fields have one place.
    """
    tree: dict[str, Any] = {}
    for name in names:
        check_name(name)
        steps = _steps(name) if nested else (name,)
        keys = [one for one in steps or () if isinstance(one, str)]
        if not keys or len(keys) < len(steps or ()):
            raise InvalidArgumentError(
                f"the field {shown(name)} is no path of keys: write odd keys in single quotes, as "
                "in 'a.b'.c"
            )
        *above, last = keys
        place: Any = tree
        for key in above:
            place = place.setdefault(key, {}) if isinstance(place, dict) else None
        if not isinstance(place, dict) or last in place:
            raise InvalidArgumentError(
                f"the field {shown(name)} has the place of another one in the object"
            )
        place[last] = name
    order: list[str] = []
    return _object(tree, order) + "\n", order


def _object(tree: Mapping[str, Any], order: list[str]) -> str:
    """An object with %s for each value; `order` gets the names of their fields."""
    parts = []
    for key, below in tree.items():
        if isinstance(below, str):
            order.append(below)
        value = "%s" if isinstance(below, str) else _object(below, order)
        parts.append(_quoted(key).replace("%", "%%") + ":" + value)
    return "{" + ",".join(parts) + "}"


def _as_column(value: Any) -> Any:
    is_array = isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    return value[np.newaxis] if is_array else [value]


def _texts(name: str, rows: Array | Ragged | list[Any]) -> list[str]:
    """The values of a column as JSON."""
    is_bytes = isinstance(rows, Ragged) and rows.dtype == np.uint8
    if is_bytes or (isinstance(rows, list) and are_bytes(rows)):
        return each_row(lambda row: _string(name, row), bytes_rows(name, rows))
    if isinstance(rows, Ragged):
        return _ragged_texts(name, rows)
    if isinstance(rows, np.ndarray):
        return _array_texts(name, rows)
    with contextlib.suppress(InvalidArgumentError):  # rows may differ in length or type
        whole = as_array(name, rows, is_batch=True)
        if whole.dtype.kind in "biuf":
            return _array_texts(name, whole)
    return each_row(lambda row: _row_text(name, row), rows)


def _string(name: str, data: bytes) -> str:
    try:
        return _quoted(data.decode())
    except UnicodeDecodeError as failure:
        raise InvalidArgumentError(
            f"{name} = {shown(data)} is not text in UTF-8 at its byte {failure.start}, and JSON "
            "holds text only: leave it out, or write TFRecord files"
        ) from None


def _checked_text(name: str, data: bytes) -> str:
    """A text of JSON, in one line."""
    try:
        text = data.decode()
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as failure:
        raise InvalidArgumentError(f"{name} = {shown(data)} is no JSON: {failure}") from None
    return text.replace("\n", " ").replace("\r", " ")  # they are between values only


def _row_text(name: str, row: Any) -> str:
    array = as_array(name, row)
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"{name} = {shown(row)}; a value is a number, text, bytes or an array of numbers"
        )
    return _array_texts(name, array[np.newaxis])[0]


def _array_texts(name: str, rows: Array) -> list[str]:
    *outer, size = rows.shape
    count = math.prod(outer)
    numbers = _Numbers(name, rows.reshape(-1), _bounds(math.prod(rows.shape[1:]), len(rows)))
    if not outer:
        return numbers.runs(_bounds(1, size))
    return _nested(_arrays(numbers.runs(_bounds(size, count))), outer, 1)


def _ragged_texts(name: str, rows: Ragged) -> list[str]:
    shapes: Array = rows.shapes
    counts, sizes = np.prod(shapes[:, :-1], axis=1, dtype=np.int64), shapes[:, -1]
    numbers = _Numbers(name, rows.values.reshape(-1), _sums(counts * sizes))
    arrays = _arrays(numbers.runs(_sums(np.repeat(sizes, counts))))
    if shapes.shape[1] == 1:
        return arrays
    ends = np.cumsum(counts).tolist()
    outer = shapes[:, :-1].tolist()
    return [
        _nested(arrays[end - math.prod(shape) : end], shape, 0)[0]
        for end, shape in zip(ends, outer, strict=True)
    ]


def _bounds(size: int, count: int) -> Array:
    """Where runs of one size begin and end."""
    return np.arange(count + 1, dtype=np.int64) * size


def _sums(sizes: Array) -> Array:
    """Where runs of these sizes begin and end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _arrays(runs: Iterable[str]) -> list[str]:
    return [f"[{run}]" for run in runs]


def _nested(texts: list[str], shape: Sequence[int], outer: int) -> list[str]:
    """The arrays of a shape that the texts of elements make, below its first `outer` dimensions."""
    for depth in reversed(range(outer, len(shape))):
        bounds = _bounds(shape[depth], math.prod(shape[:depth])).tolist()
        texts = _arrays(",".join(texts[begin:end]) for begin, end in itertools.pairwise(bounds))
    return texts


class _Numbers:
    """The texts of numbers, with commas between them."""

    def __init__(self, name: str, numbers: Array, rows: Array) -> None:
        """Prints the numbers.

        Args:
            name: The name of the field.
            numbers: A flat array.
            rows: Where its rows begin and end.

        Raises:
            InvalidArgumentError: One is NaN or infinite.
        """
        if numbers.dtype.kind == "f":
            lost = ~np.isfinite(numbers)
            if lost.any():
                place = int(np.argmax(lost))
                raise InvalidArgumentError(
                    f"{name} has {numbers[place]}, which JSON has not: replace it, by "
                    f"data.map(flow.FillMissing, {name!r}, value=...), or leave the field out",
                    ordinal=int(np.searchsorted(rows, place, side="right")) - 1,
                )
        if numbers.dtype.kind == "b":
            self._text = "".join("true," if one else "false," for one in numbers.tolist())
            self._ends = _sums(np.where(numbers, len("true,"), len("false,")))
            return
        lines = encoded(_NUMBERS, {"in": numbers})
        self._text = lines.values.tobytes().decode().replace("\n", ",")
        self._ends = lines.row_splits

    def runs(self, bounds: Array) -> list[str]:
        """The numbers from each bound to the next."""
        ends = self._ends[bounds].tolist()
        return [self._text[begin : max(end - 1, begin)] for begin, end in itertools.pairwise(ends)]


# ---- The format ---------------------------------------------------------------------------------

_SCANNED = 4096  # lines that are read at a time


class JSONLines(Format):
    """Fields are the values in the objects of the first records, by their paths."""

    writer = JSONLinesWriter
    field = PathField
    has_objects = True

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """A document is not empty; a file of lines may be."""
        (path,) = source.files
        if source.is_empty and path.lower().endswith(".json") and size_of(path) == 0:
            return [Damage(path, None, 0, "the name says JSON, and the file is empty")]
        return super().damage(source, scan)

    def found_by_reader(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """All fields of the first records; the types of fields that were given without one."""
        op = find_op(self.reader)
        listed = op.outputs_attr
        given: Any = values.get(listed) or []
        own = {name: value for name, value in reading_in(values).items() if name != listed}
        files = files_in(op.name, values, **{listed: ["a:int64"]})
        if given:
            return Found({listed: _with_types(given, listed, self._first_records(files, own))})
        source = open_source(files, self.name, values=own)
        found = specs(source.fields)
        if source.left_out:
            advice = f"give it, as {listed}={shown(found)}" if found else "give it"
            raise InvalidArgumentError(
                f"{listed} was left out, and {source.left_out[0]}, cannot be an output: {advice}",
                attr=listed,
            )
        if not found:
            raise InvalidArgumentError(
                f"{listed} was left out, and there is no record to find the fields in: give it",
                attr=listed,
            )
        return Found({listed: found})

    def _first_records(
        self, files: Sequence[str], attrs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """The first records of the first file that has some."""
        source = Source(self, None, (), attrs=tuple(attrs.items()))
        found = (_records(source, detect(path, self.name)) for path in files)
        return next(filter(None, found), [])

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The fields of the first records of a file."""
        records = _records(source, one)
        seen = _Fields()
        for record in records:
            seen.add(record)
        fields, left_out = seen.found()
        is_all = len(one.head) < HEAD and len(source.files) == 1
        return dataclasses.replace(
            source, fields=fields, left_out=left_out, is_empty=not records,
            num_looked_at=0 if is_all else len(records),
        )  # fmt: skip

    def widened(self, source: Source, exact: bool, progress: OnProgress) -> Source:
        """The types of guessed fields, from all records; Python reads them."""
        seen, attrs = _Fields(), dict(source.attrs)
        for line in _lines(source):
            with contextlib.suppress(ValueError):  # the reader names the line
                seen.add(_record(line, attrs))
            if seen.records % _SCANNED == 0:
                progress(seen.records)
        return dataclasses.replace(
            source,
            fields=tuple(
                _typed(field, seen, exact) if field.is_guessed else field for field in source.fields
            ),
        )

    def sampled(self, source: Source, exact: bool, progress: OnProgress) -> tuple[Source, bool]:
        """The unchanged source, since the reader refuses later values of other types.  (It rounds
        integers among floats, which only `widened` finds.)
        """
        if exact and any(field.is_guessed and field.dtype == "float64" for field in source.fields):
            return self.widened(source, exact, progress), True
        return source, False

    def checked(self, source: Source) -> Source | None:
        """The source as it is: the reader refuses values of other types."""
        return source

    def texts(
        self, files: Sequence[str], keys: Sequence[str], values: Mapping[str, Any]
    ) -> set[str]:
        """All, but where bytes that are no UTF-8 are kept."""
        return set() if values.get("invalid_utf8") == "keep" else set(keys)

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        are_paths = any(isinstance(field, PathField) for field in fields)
        texts = [field.name for field in fields if field.is_json]
        return {"fields": [field.name for field in fields], "nested": are_paths, "texts": texts}


def _records(source: Source, one: Detected) -> list[dict[str, Any]]:
    """The records in the first bytes of a file of a source; at least its first, if there is one.

    Raises:
        CorruptDataError: No line there has an object.
    """
    head = one.head.removeprefix(b"\xef\xbb\xbf")
    lines: Iterable[bytes]
    if _is_array(head):
        lines = list(_array_items(head, is_cut=len(one.head) >= HEAD))
    else:
        if len(one.head) >= HEAD:
            head = head[: head.rfind(b"\n") + 1]
        lines = [line for line in head.split(b"\n") if line.strip()]
    if not lines and len(one.head) >= HEAD:
        whole = dataclasses.replace(source, compression=one.compression, files=(one.path,))
        lines = itertools.islice(_lines(whole), 1)
    records: list[dict[str, Any]] = []
    failure = None
    for line in lines:
        try:
            records.append(_record(line, dict(source.attrs)))
        except ValueError as found:
            failure = failure or found
    if failure is not None and not records:
        several = "" if not head.lstrip().startswith(b"{") else (
            "; an object over several lines is no list of records: put [ ] around the objects, or "
            "each on one line"
        )  # fmt: skip
        raise CorruptDataError(
            f"no line of the first ones is JSON in UTF-8: {failure}{several}", file=one.path
        )
    return records


def _lines(source: Source) -> Iterator[bytes]:
    """All lines of the files, or the elements of their arrays."""
    plain = next(one for one in FORMATS.values() if ".txt" in one.suffixes)
    for path in source.files:
        text = Source(plain, source.compression, (path,), memory_budget=source.memory_budget)
        text = dataclasses.replace(text, fields=(Field("out", BYTES),))
        batches = text.batches(batch_size=_SCANNED)
        lines = (line for batch in batches for line in batch["out"].to_bytes_list())
        first = next((line for line in lines if line.strip()), b"")
        rest = itertools.chain([first], lines)
        yield from _array_items(b"\n".join(rest)) if _is_array(first) else rest


def _is_array(text: bytes) -> bool:
    return text.lstrip().startswith(b"[")


_BETWEEN = re.compile(r"[\s,]*")  # the elements of an array


def _array_items(data: bytes, is_cut: bool = False) -> Iterator[bytes]:
    """The elements of an array, up to and including the first that is not JSON; if the text is cut,
    that element is left out.
    """
    text = data.decode(errors="surrogateescape")
    at, scan = text.index("[") + 1, json.JSONDecoder().raw_decode
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] in ("", "]"):
            return
        try:
            end = scan(text, at)[1]
        except (ValueError, RecursionError):
            if not is_cut:
                yield text[at:].encode(errors="surrogateescape")
            return
        yield text[at:end].encode(errors="surrogateescape")
        at = end


def _typed(field: Field, seen: _Fields, exact: bool) -> Field:
    """A field with a type that holds all of its values.

    Raises:
        InvalidArgumentError: There is none.
    """
    values = seen.values().get(field.name)
    if values is None:
        return field
    try:
        found = values.field(seen.records)
    except _NoField as reason:
        raise InvalidArgumentError(f"{reason}: choose other fields with --fields") from None
    if exact and found.dtype == "float64" and values.inexact is not None:
        raise InvalidArgumentError(
            f"{field.name} has {values.inexact}, which float64 does not hold: choose its type with "
            f"--fields, as {field.name}:float64"
        )
    return found


def _with_types(
    given: Sequence[str], attr: str, records: Sequence[dict[str, Any]]
) -> list[str]:
    """The elements of the attr that lists fields; elements without a type get the type of the
    records.
    """
    typed = []
    for element in given:
        name, _, path = element.rpartition("=")
        steps = None if ":" in re.sub("'[^']*'", "", element) else _steps(path)
        if steps is None:
            typed.append(element)  # C parses it
            continue
        values = _Values(path)
        for record in records:
            values.add(_value_at(record, steps))
        if not values.count:
            raise InvalidArgumentError(
                f"{shown(element)}: no record of the first {len(records)} has such a value; give "
                f"its type, as {shown(f'{element}:int64=0')}", attr=attr,
            )  # fmt: skip
        try:
            field = values.field(len(records))
        except _NoField as reason:
            raise InvalidArgumentError(f"{shown(element)}: {reason}", attr=attr) from None
        typed.append(dataclasses.replace(field, key=path).spec(name or path))
    return typed


FORMAT = JSONLines
