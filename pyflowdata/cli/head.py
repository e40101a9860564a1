"""`pyflowdata head`: the first records of files, as a table."""

from __future__ import annotations

import argparse
import bisect
import contextlib
import os
import shutil
import sys
from typing import Any

import numpy as np

from ..errors import (
    CorruptDataError, InvalidArgumentError, UnsupportedError, printable, without_secrets,
)  # fmt: skip
from ..datasets.showing import show
from ..formats import RECORD, Source
from ..loader.open_loader import open_loader_of
from ..pyops.records import records_of
from .sources import (
    about,
    add_memory_argument,
    add_source_arguments,
    expand,
    load_plugins,
    say_left_out,
    source_of,
    with_types,
)
from .usage import UsageError, finite, say, say_json

_IMAGES, _MOST_IMAGES = 64, 1000  # a sheet decodes all before it draws


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="data files of one format")
    parser.add_argument("-n", type=int, metavar="N", help="how many (10; images: 64, at most 1000)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="a line of JSON for each record")
    how.add_argument("--images", action="store_true",
                     help="their images as a contact sheet, whose path is printed")  # fmt: skip
    parser.add_argument("--out", metavar="SHEET.png",
                        help="of --images (default: FILE-sheet.png, here); replaced")  # fmt: skip
    add_source_arguments(parser)
    add_memory_argument(parser)


def _bytes_text(data: bytes) -> str:
    with contextlib.suppress(UnicodeDecodeError):
        if (text := data.decode()).isprintable():
            return text
    return f"<{len(data)} bytes {data[:8].hex(' ')}{' ...' if len(data) > 8 else ''}>"


def _cell(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, bytes):
        return _bytes_text(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return str(array)
    flat = array.ravel()
    shown = " ".join(map(str, flat[:4]))
    size = "x".join(map(str, array.shape))
    return f"[{shown}{' ...' if flat.size > 4 else ''}]" + (f" ({size})" if flat.size > 4 else "")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"bytes": value.hex()}
    return finite(value.tolist())


def _print_table(names: list[str], rows: list[list[str]]) -> None:
    names = [printable(name) for name in names]
    room = max(shutil.get_terminal_size((100, 24)).columns, 40)
    most = max(room // max(len(names), 1) - 2, 12)
    texts = [[cell if len(cell) <= most else cell[: most - 3] + "..." for cell in row]
             for row in rows]  # fmt: skip
    table = [names, *texts]
    widths = [max(len(row[place]) for row in table) for place in range(len(names))]
    for row in table:
        say("  ".join(map(str.ljust, row, widths)).rstrip())


def _first_rows(
    source: Source, count: int, on_error: str = "raise"
) -> tuple[list[dict[str, Any]], int]:
    """The first `count` rows, and the number of records; -1: the number is not known."""
    rows: list[dict[str, Any]] = []
    attrs: dict[str, Any] = {"on_error": on_error, "max_skipped": -1}
    for batch in source.batches(batch_size=min(count, 4096), **attrs):
        rows += records_of(batch)
        if len(rows) >= count:
            break
    if not rows:
        return rows, 0
    with source.loader() as loader:
        return rows[:count], loader.readers[0].records


def _names_of(source: Source, count: int) -> list[str]:
    """The names of the first records: "dog/1.jpg" if each record is a file, otherwise "record 7",
    with the file in front if there are several.
    """
    names = [f"record {number}" for number in range(count)]
    with source.loader(batch_size=1) as loader:
        opened = open_loader_of(loader)
        files = opened.files()
        try:
            firsts = opened.first_records(len(files))
        except UnsupportedError:  # of a stream
            return names
        for number in range(count):
            at = bisect.bisect_right(firsts, number) - 1
            path = opened.file_of_record(at, number)
            if path not in files:
                root = files[at] if os.path.isdir(files[at]) else os.path.dirname(path)
                names[number] = os.path.relpath(path, root)
            elif len(files) > 1:
                names[number] = f"{os.path.basename(path)} record {number - firsts[at]}"
    return names


def _save_images(rows: list[dict[str, Any]], source: Source, file: str, out: str | None) -> int:
    """Writes a contact sheet, and prints its path."""
    if not rows:
        raise InvalidArgumentError("there are no records", file=file)
    table = {name: [row[name] for row in rows] for name in rows[0]}
    try:
        sheet = show(table, ids=_names_of(source, len(rows)), count=len(rows))
    except InvalidArgumentError as failure:
        raise InvalidArgumentError(str(failure), file=file) from None
    for note in sheet.notes:
        say(note, sys.stderr)
    stem = os.path.basename(os.path.normpath(file)).split(".")[0] or "sheet"
    say(sheet.save(out if out is not None else f"{stem}-sheet.png"))
    return 0


def run(args: argparse.Namespace) -> int:
    if args.n is None:
        args.n = _IMAGES if args.images else 10
    if args.n < 1:
        raise UsageError(f"-n {args.n}: it must be 1 or more")
    if args.images and args.n > _MOST_IMAGES:
        raise UsageError(f"-n {args.n}: a sheet has at most {_MOST_IMAGES} images")
    if args.out is not None and not args.images:
        raise UsageError("--out is where --images writes to; give both")
    load_plugins(args)
    files = expand(args.files, args.format)
    source = source_of(args, files)
    say_left_out(source)
    on_error = "pad" if args.images else "raise"  # an image that is damaged keeps its place
    try:
        rows, records = _first_rows(source, args.n, on_error)
    except CorruptDataError:
        if not any(field.is_guessed for field in source.fields):
            raise
        source = with_types(source)  # the first rows were of narrower ones
        rows, records = _first_rows(source, args.n, on_error)
    if args.images:
        return _save_images(rows, source, args.files[0], args.out)
    if args.json:
        for row in rows:
            say_json({name: _plain(value) for name, value in row.items()})
        return 0
    count = f"{records} records" if records >= 0 else "records in sequence"
    if not rows:
        count = "0 records"
    more = f", {len(files)} files" if len(files) > 1 else ""
    say(f"{without_secrets(args.files[0])}: {about(source)}{more}, {count}")
    if not rows:
        return 0
    types = {field.name: field.type for field in source.fields} or {RECORD: "bytes"}
    names = list(types)
    header = [f"{'record' if name == RECORD else name}:{kind}" for name, kind in types.items()]
    _print_table(["#", *header], [
        [str(number), *(_cell(row[name]) for name in names)] for number, row in enumerate(rows)
    ])  # fmt: skip
    return 0
