"""The fields of records, as their first ones show them."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CorruptDataError
from ..graph.registry import HOST_OUTPUTS
from .csv_types import Column, dtype_of
from .wire import Feature

_BYTES = "bytes"
SEEN_OF_MEMBER = 4096  # bytes of a tar file's member, enough for a class or an array's header
_MISSING = -1  # a count, where a record has no such feature


@dataclass(frozen=True)
class Field:
    """A field of the records of a file.

    Attributes:
        name: Of the output.
        dtype: Of its elements, or "bytes".
        shape: Of a row, with None for what varies; () for bytes.
        key: What it is called in the file.
        default: What stands for it where a record has none; None: that is an error.
        is_guessed: Whether later records may be of another type.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] = ()
    key: str = ""
    default: str | None = None
    is_guessed: bool = False

    @property
    def type(self) -> str:
        """As an attr spells it: float32[2,?]."""
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]" if self.shape else self.dtype

    def spec(self, output: str) -> str:
        """As an attr that lists fields takes it, for an output of that name."""
        key = self.key or self.name
        name = "" if key == output else f"{output}="
        default = "" if self.default is None else f"={self.default}"
        return f"{name}{key}:{self.type}{default}"


def specs(fields: Iterable[Field]) -> list[str]:
    """As an attr that lists fields takes them.  Names that an output cannot have, as `id`, which
    every reader has an output of, are changed a little there."""
    found: dict[str, str] = {}
    for field in fields:
        output = field.name.replace("=", "_").replace(":", "_") or "_"
        while output in HOST_OUTPUTS or output in found:
            output += "_"
        found[output] = field.spec(output)
    return list(found.values())


def features_fields(
    records: Iterable[dict[str, Feature | None]],
) -> tuple[list[Field], list[str]]:
    """The fields of messages, sorted by name, and what is said of features that are none."""
    given = list(records)
    left_out = []
    names = sorted({name for record in given for name in record})
    found = []
    for name in names:
        features = [one for record in given if (one := record.get(name)) is not None]
        if features:
            counts = {feature.count for feature in features}
            if len(features) < len(given):
                counts.add(_MISSING)
            dtypes = {feature.dtype for feature in features}
            if len(dtypes) > 1:
                left_out.append(f"{name}, which is {' and '.join(sorted(dtypes))}")
            elif dtypes == {_BYTES} and max(counts) > 1:
                left_out.append(f"{name}, which has {max(counts)} byte strings in a record")
            else:
                found.append(_feature_field(name, dtypes.pop(), counts))
    return found, left_out


def _feature_field(name: str, dtype: str, counts: set[int]) -> Field:
    if dtype == _BYTES:
        return Field(name, _BYTES, default=None if min(counts) == 1 else "")
    if len(counts) > 1:
        return Field(name, dtype, (None,))
    count = next(iter(counts))
    return Field(name, dtype, () if count == 1 else (count,))


# ---- CSV ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A CSV file's dialect and columns.

    Attributes:
        delimiter: Between two cells.
        has_header: Whether the first line has names.
        has_breaks: Whether cells may have line breaks in them.
        fields: The columns.
        is_empty: Whether no record has been seen.
    """

    delimiter: str
    has_header: bool
    has_breaks: bool
    fields: tuple[Field, ...]
    is_empty: bool = False


def csv_table(
    head: bytes, is_whole: bool, delimiter: str = "", has_header: bool | None = None
) -> Table:
    """From the first lines.

    Args:
        head: These.
        is_whole: Whether there are no others.
        delimiter: Between two cells; "": as the first line shows it.
        has_header: Whether the first line has names; None: as it looks.
    """
    text = head.decode("utf-8-sig", "replace")
    if not is_whole:
        text = text[: text.rfind("\n") + 1] or text
    first = text.split("\n", 1)[0]
    delimiter = delimiter or max(",\t;|", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if not rows:
        return Table(delimiter, False, False, (), True)
    # Names have no numbers among them; a row of numbers is data.
    if has_header is None:
        has_header = any(cell.strip() for cell in rows[0]) and not any(map(_is_number, rows[0]))
    names = _distinct(rows[0]) if has_header else [f"column{i}" for i in range(len(rows[0]))]
    body = rows[1:] if has_header else rows
    dtypes = [
        dtype_of([row[place] for row in body if place < len(row)]) for place in range(len(names))
    ]
    has_breaks = '"' in text  # a later cell may have one where none of these has
    return Table(delimiter, has_header, has_breaks, tuple(_columns(names, dtypes)), not body)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _columns(names: list[str], dtypes: list[str]) -> list[Field]:
    """x[0], x[1], ... of numbers are one field again; all others stand alone."""
    fields: list[Field] = []
    place = 0
    while place < len(names):
        count = _run(names, place)
        base = names[place].removesuffix("[0]")
        kinds = set(dtypes[place : place + count])
        if count > 1 and _BYTES not in kinds:
            dtype = kinds.pop() if len(kinds) == 1 else "float64"
            key = f"{place}..{place + count - 1}"
            fields.append(_guess(Field(base, dtype, (count,), key)))
            place += count
            continue
        fields.append(_guess(Field(names[place], dtypes[place], (), str(place))))
        place += 1
    return fields


def _guess(field: Field) -> Field:
    """A field of a type that not all rows may have; what is missing of floats is NaN."""
    default = "nan" if field.dtype == "float64" else None
    return dataclasses.replace(field, default=default, is_guessed=field.dtype != _BYTES)


def _distinct(names: list[str]) -> list[str]:
    """The names, with a number behind those that have been there before."""
    found: dict[str, None] = {}
    for name in names:
        number, new = 2, name
        while new in found:
            new, number = f"{name}_{number}", number + 1
        found[new] = None
    return list(found)


def places_of(field: Field) -> range:
    """The columns of a field of a table that is as its first rows show it."""
    first, _, last = field.key.partition("..")
    return range(int(first), int(last or first) + 1)


def as_cells(field: Field) -> list[Field]:
    """The columns of a field, each as the bytes that are in the file."""
    if not field.shape:
        return [dataclasses.replace(field, dtype=_BYTES, default=None, is_guessed=False)]
    return [
        Field(f"{field.name}[{number}]", _BYTES, (), str(place))
        for number, place in enumerate(places_of(field))
    ]


def widened(field: Field, columns: Sequence[Column]) -> list[Field]:
    """The field with the type of all its columns' cells; several where they are no numbers."""
    dtypes = {column.dtype for column in columns}
    if _BYTES in dtypes:
        return as_cells(field)
    dtype = dtypes.pop() if len(dtypes) == 1 else "float64"
    return [_guess(dataclasses.replace(field, dtype=dtype))]


def _run(names: list[str], place: int) -> int:
    if not names[place].endswith("[0]"):
        return 1
    base, count = names[place].removesuffix("[0]"), 0
    while place + count < len(names) and names[place + count] == f"{base}[{count}]":
        count += 1
    return count


# ---- Members of a tar file ----------------------------------------------------------------------


def tar_fields(members: Iterable[tuple[str, bytes]], are_all: bool) -> list[Field]:
    """The key, and the extensions of the first samples' files, in their order.

    Those that are not in all of the samples are empty where there are none.  Class numbers and
    arrays are known by extension and content, as DecodeClass and DecodeNpy read them.

    Args:
        members: Names of files, and what they begin with: SEEN_OF_MEMBER bytes.
        are_all: Whether there are no others.
    """
    keys: dict[str, None] = {}
    found: dict[str, dict[str, bytes]] = {}
    for member, content in members:
        folder, slash, base = member.rpartition("/")
        stem, dot, extension = base.partition(".")
        if dot and stem and not _is_meta(member.partition("/")[0]):
            keys[folder + slash + stem] = None
            if extension:
                found.setdefault(extension.lower(), {})[folder + slash + stem] = content
    if len(keys) > 1 and not are_all:  # of the last sample not all members may have been looked at
        last = list(keys)[-1]
        del keys[last]
        for having in found.values():
            having.pop(last, None)
    fields = []
    for name, having in found.items():
        whole = len(having) == len(keys)
        read = tar_decoder(name) if whole else ""
        field = _class_field(name, having.values()) if read == "DecodeClass" else None
        field = _array_field(name, having.values()) if read == "DecodeNpy" else field
        fields.append(field or Field(name, _BYTES, default=None if whole else ""))
    return [Field("__key__", _BYTES), *fields] if fields else []


def tar_decoder(extension: str) -> str:
    """The op that reads such files of a sample; "" for none."""
    return {"cls": "DecodeClass", "npy": "DecodeNpy"}.get(extension.rpartition(".")[2], "")


def _is_meta(name: str) -> bool:
    """__like_this__"""
    return len(name) >= 4 and name.startswith("__") and name.endswith("__")


def _class_field(name: str, contents: Iterable[bytes]) -> Field | None:
    for content in contents:
        if not re.fullmatch(rb"\s*[+-]?[0-9]+\s*", content):
            return None
        if not -(2**63) <= int(content) < 2**63:
            return None
    return Field(name, "int64")


def _npy_header(head: bytes) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, whether it is in Fortran order, and dtype."""
    file = io.BytesIO(head)
    read: Any = np.lib.format
    try:
        version = read.read_magic(file)
        found: tuple[tuple[int, ...], bool, Any] = (
            read.read_array_header_1_0(file)
            if version == (1, 0)
            else read.read_array_header_2_0(file)
        )
    except (ValueError, OSError) as failure:
        raise CorruptDataError(f"the header of the .npy file is damaged: {failure}") from None
    return found


def _array_field(name: str, contents: Iterable[bytes]) -> Field | None:
    """Arrays of one dtype and so many dimensions; sizes that differ are None."""
    heads = set()
    for content in contents:
        try:
            shape, _, dtype = _npy_header(content)
        except CorruptDataError:
            return None
        if dtype.kind not in "biuf" or dtype.itemsize > 8:
            return None
        heads.add((dtype.newbyteorder("=").name, shape))
    dtypes, ranks = {dtype for dtype, _ in heads}, {len(shape) for _, shape in heads}
    if len(dtypes) != 1 or len(ranks) != 1:
        return None
    sizes = [set(column) for column in zip(*(shape for _, shape in heads), strict=True)]
    row = tuple(next(iter(one)) if len(one) == 1 else None for one in sizes)
    return Field(name, dtypes.pop(), row)
