"""The fields of records, as their first ones show them."""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CorruptDataError, InvalidArgumentError
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
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] = ()
    key: str = ""
    default: str | None = None

    @property
    def type(self) -> str:
        """As an attr spells it: float32[2,?]."""
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]" if self.shape else self.dtype

    @property
    def spec(self) -> str:
        """As an attr that lists fields takes it."""
        key = self.key or self.name
        name = "" if key == self.name else f"{self.name}="
        default = "" if self.default is None else f"={self.default}"
        return f"{name}{key}:{self.type}{default}"


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
        has_breaks: Whether cells have line breaks in them.
        fields: The columns.
        is_empty: Whether no record has been seen.
    """

    delimiter: str
    has_header: bool
    has_breaks: bool
    fields: tuple[Field, ...]
    is_empty: bool = False


def csv_table(head: bytes, is_whole: bool) -> Table:
    """From the first lines."""
    text = head.decode("utf-8-sig", "replace")
    if not is_whole:
        text = text[: text.rfind("\n") + 1] or text
    first = text.split("\n", 1)[0]
    delimiter = max(",\t;|", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if not rows:
        return Table(delimiter, False, False, (), True)
    # Names have no numbers among them; a row of numbers is data.
    has_header = all(_dtype_of([cell]) == _BYTES for cell in rows[0]) and any(
        cell.strip() for cell in rows[0]
    )
    names = rows[0] if has_header else [f"column{i}" for i in range(len(rows[0]))]
    body = rows[1:] if has_header else rows
    dtypes = [
        _dtype_of([row[place] for row in body if place < len(row)]) for place in range(len(names))
    ]
    has_breaks = any("\n" in cell or "\r" in cell for row in rows for cell in row)
    return Table(delimiter, has_header, has_breaks, tuple(_columns(names, dtypes)), not body)


def _dtype_of(cells: list[str]) -> str:
    """The narrowest of int64, float64 and bytes that holds all cells."""
    dtype = "int64"
    for cell in cells:
        if dtype == "int64":
            try:
                if -(2**63) <= int(cell) < 2**63 and "_" not in cell:
                    continue
            except ValueError:
                pass
            dtype = "float64"
        try:
            float(cell)
            if "_" in cell:
                return _BYTES
        except ValueError:
            return _BYTES
    return dtype if cells else _BYTES


def _columns(names: list[str], dtypes: list[str]) -> list[Field]:
    """x[0], x[1], ... of numbers are one field again; all others stand alone."""
    fields: list[Field] = []
    place = 0
    while place < len(names):
        count = _run(names, place)
        base = names[place].removesuffix("[0]")
        kinds = set(dtypes[place : place + count])
        if count > 1 and _BYTES not in kinds:
            dtype = "float64" if "float64" in kinds else "int64"
            fields.append(Field(_plain(base), dtype, (count,), f"{place}..{place + count - 1}"))
            place += count
            continue
        fields.append(Field(_plain(names[place]), dtypes[place], (), str(place)))
        place += 1
    return fields


def _plain(name: str) -> str:
    """A name that an attr can hold."""
    return name.replace("=", "_").replace(":", "_") or "_"


def _run(names: list[str], place: int) -> int:
    if not names[place].endswith("[0]"):
        return 1
    base, count = names[place].removesuffix("[0]"), 0
    while place + count < len(names) and names[place + count] == f"{base}[{count}]":
        count += 1
    return count


# ---- Headers ------------------------------------------------------------------------------------


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


def npy_field(head: bytes) -> tuple[Field, bool, int]:
    """The rows of a .npy file, whether they are big-endian, and how many there are.

    Raises:
        CorruptDataError: The header is none.
        InvalidArgumentError: The array has no rows of numbers.
    """
    shape, fortran, dtype = _npy_header(head)
    if not shape or fortran or dtype.kind not in "biuf":
        order = "Fortran order" if fortran else "C order"
        raise InvalidArgumentError(
            f"the array is of {dtype} and shape {shape} in {order}; rows are along the first axis "
            "of an array of numbers in C order"
        )
    is_big = not dtype.newbyteorder("<").isnative or dtype.str[0] == ">"
    return Field("out", dtype.newbyteorder("=").name, tuple(shape[1:])), is_big, shape[0]


def idx_field(head: bytes) -> tuple[Field, int]:
    """The rows of an IDX file, and how many there are."""
    names = {8: "uint8", 9: "int8", 11: "int16", 12: "int32", 13: "float32", 14: "float64"}
    sizes = struct.unpack_from(f">{head[3]}I", head, 4)
    return Field("out", names[head[2]], tuple(sizes[1:])), sizes[0]


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
