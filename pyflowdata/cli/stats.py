"""`pyflowdata stats`: statistics of the fields of files."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..datasets.fitting import Numbers
from ..errors import CorruptDataError, printable
from ..formats import FORMATS, RECORD, Field, Source, field_of, lengths_of
from ..nodes import Blob, dtype_name, widened
from ..ragged import Ragged
from ..remote import is_remote
from ..remote.client import look_at
from ..words.plain_text import size
from .bars import command_bar
from .sources import (
    about,
    add_memory_argument,
    add_source_arguments,
    expand,
    first_types,
    load_plugins,
    say_left_out,
    source_of,
    with_types,
)
from .usage import finite, say, say_json

_BARS = 40  # characters of the longest bar
_BINS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="data files of one format")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_source_arguments(parser)
    add_memory_argument(parser)


class _Field:
    """A column: its type, its numbers, and how long its rows are."""

    def __init__(self) -> None:
        self.type = ""
        self.numbers = Numbers()
        self.lengths = Numbers()
        self.is_bytes = False

    def add_bytes(self, lengths: Any) -> None:
        """Adds the lengths of the rows of a batch, which are bytes."""
        self.type, self.is_bytes = "bytes", True
        self.lengths.add(lengths)

    def add(self, column: Any) -> None:
        """Adds the rows of a batch."""
        is_ragged = isinstance(column, Ragged)
        shape = column.row_shape if is_ragged else column.shape[1:]
        sizes = ",".join("?" if size is None else str(size) for size in shape)
        name = dtype_name(column.dtype)
        self.type = f"{name}[{sizes}]" if shape else name
        self.is_bytes = is_ragged and column.dtype == np.uint8
        if self.is_bytes:
            self.type = "bytes"
        else:
            self.numbers.add(widened(column.values if is_ragged else column).reshape(-1))
        if is_ragged:
            self.lengths.add(column.lengths)

    def about(self) -> dict[str, Any]:
        """The statistics as a dict for JSON."""
        found: dict[str, Any] = {"type": self.type}
        if not self.is_bytes:
            found |= self.numbers.about()
        if self.lengths.count:
            found["length"] = self.lengths.about()
        return found


def _row_bytes(column: Any) -> Any:
    if isinstance(column, Ragged):
        stride = int(np.prod(column.values.shape[1:], dtype=np.int64))
        return column.lengths * stride * column.dtype.itemsize
    return np.full(len(column), column.nbytes // max(len(column), 1), np.int64)


def _short(value: Any) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _print_fields(fields: dict[str, dict[str, Any]]) -> None:
    rows = [["field", "type", "min", "max", "mean", "std", "nan", "length"]]
    for name, one in fields.items():
        length = one.get("length")
        said = "" if length is None else (
            f"{_short(length['min'])} to {_short(length['max'])}, mean {_short(length['mean'])}"
        )  # fmt: skip
        keys = ("min", "max", "mean", "std", "nan")
        numbers = [_short(one[key]) if key in one else "" for key in keys]
        rows.append([printable(name), one["type"], *numbers, said])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        say("  " + "  ".join(map(str.ljust, row, widths)).rstrip())


def _histogram(lengths: Any) -> list[tuple[int, int, int]]:
    """(from, to, how many) of bins of equal width, the last bound included."""
    low, high = int(lengths.min()), int(lengths.max())
    width = max(-(-(high - low + 1) // _BINS), 1)
    found = []
    for begin in range(low, high + 1, width):
        here = int(((lengths >= begin) & (lengths < begin + width)).sum())
        found.append((begin, min(begin + width - 1, high), here))
    return found


def _print_histogram(bins: list[tuple[int, int, int]]) -> None:
    say("  bytes of a record")
    most = max(count for _, _, count in bins)
    names = [f"{a}" if a == b else f"{a} to {b}" for a, b, _ in bins]
    width = max(map(len, names))
    for name, (_, _, count) in zip(names, bins, strict=True):
        bar = "#" * -(-_BARS * count // most)
        say(f"    {name:>{width}}  {bar:{_BARS}}  {count}".rstrip())


def _read(source: Source, file_field: str) -> tuple[dict[str, _Field], Any, int]:
    """The statistics of each field, the bytes of each record, and those of the files in the field
    `file_field`."""
    names = [field.name for field in source.fields]
    wanted = [*names, RECORD] if source.has_records or not names else names
    if file_field and file_field not in names:
        source = dataclasses.replace(source, fields=(*source.fields, Field(file_field, "bytes")))
        wanted = [*wanted, file_field]
    fields: dict[str, _Field] = {name: _Field() for name in names}
    are_bytes: set[str] = set()

    def with_lengths(blobs: dict[str, Blob]) -> dict[str, Blob]:
        """The blobs; for fields of bytes only their lengths."""
        types = {name: field_of("", blob).dtype for name, blob in blobs.items()}
        are_bytes.update(name for name, type in types.items() if type == "bytes")
        return {
            name: lengths_of(blob) if name in are_bytes else blob for name, blob in blobs.items()
        }

    sizes: list[Any] = []
    size = done = 0
    rows = source.batch_rows()
    batches = source.batches(wanted, batch_size=rows, change=with_lengths)
    with command_bar("reading", -1) as bar:
        for batch in batches:
            for name, field in fields.items():
                (field.add_bytes if name in are_bytes else field.add)(batch[name])
            whole = [RECORD] if RECORD in batch else names
            sizes.append(sum(
                batch[name] if name in are_bytes else _row_bytes(batch[name]) for name in whole
            ))  # fmt: skip
            size += int(batch[file_field].sum()) if file_field else 0
            done += len(sizes[-1])
            bar.update(done)
    if not sizes:
        return {}, np.zeros(0, np.int64), 0
    return fields, np.concatenate(sizes), size


def _bytes_of(files: Sequence[str]) -> int:
    remote = [one for one in files if is_remote(one)]
    local = sum(os.path.getsize(one) for one in files if not is_remote(one))
    return local + sum(one.size for one in look_at(remote))


def run(args: argparse.Namespace) -> int:
    """Reads all records and prints what was found."""
    load_plugins(args)
    files = expand(args.files, args.format)
    source = source_of(args, files)
    say_left_out(source)
    file_field = FORMATS[source.format.name].file_field
    first, is_all = first_types(source)
    try:
        fields, lengths, read_bytes = _read(first if is_all else first.checked(), file_field)
    except CorruptDataError:
        if is_all:
            raise  # else later rows may be of wider types
        fields, lengths, read_bytes = _read(with_types(source), file_field)
    count = len(lengths)
    if not file_field:
        count, read_bytes = len(files), _bytes_of(source.files)
    found = {name: field.about() for name, field in fields.items()}
    bins = _histogram(lengths) if lengths.size else []
    if args.json:
        say_json({
            "format": source.format.name, "compression": source.compression, "files": count,
            "bytes": read_bytes, "records": len(lengths), "fields": finite(found),
            "record_bytes": bins,
        }, indent=2)  # fmt: skip
        return 0
    say(f"{about(source)}: {count} files, {size(read_bytes)}, {len(lengths)} records")
    if found:
        _print_fields(found)
    if bins:
        _print_histogram(bins)
    return 0
