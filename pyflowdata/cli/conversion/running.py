"""A conversion from the arguments of a command to the files that it made."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import CorruptDataError, FileError
from ...formats import Source, Upload, damage_of, image_fields, rows_of_batch, upload_of
from ...words.plain_text import size
from ..bars import command_bar
from ..sources import load_plugins
from ..usage import UsageError, say
from .shards import Conversion, run_tasks
from .target import Target

_IMAGES = 64  # records that are read at a time, where they are large


def add_shard_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that `carry_out` takes."""
    add = parser.add_argument
    add("--shards", type=int, metavar="N", help="how many files to make")
    add("--shard-records", type=int, metavar="N", help="how many records a file has")
    add("--jobs", type=int, metavar="N", help="processes at most (default: one for each core)")
    add("--skip-damaged", action="store_true", help="leave damaged records out (one shard only)")
    add("--overwrite", action="store_true", help="replace what is there")
    add("--ignore-space", action="store_true", help="begin even where space seems too little")
    add("--quiet", action="store_true", help="no progress")


def given_paths(args: argparse.Namespace) -> tuple[list[str], str, Upload | None]:
    """The paths to read, as they are given; the path to write to; and, where the files are for a
    store, what puts them there."""
    if len(args.paths) < 2:
        raise UsageError("name the files to read, and the file to make")
    *given, path = args.paths
    load_plugins(args)
    upload = upload_of(path, goes_on=True)
    return given, upload.path_as(path) if upload else path, upload


def _bounds(args: argparse.Namespace, records: int) -> list[int]:
    """The first record of each shard, and the end of the last shard."""
    for name, value in (("--shards", args.shards), ("--shard-records", args.shard_records)):
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: it must be 1 or more")
    if args.shards is not None and args.shard_records is not None:
        raise UsageError("give --shards or --shard-records, not both")
    if records == 0:
        return [0, 0]
    if args.shards in (None, 1) and args.shard_records is None:
        return [0, -1 if args.skip_damaged else records]
    if args.skip_damaged:
        raise UsageError("--skip-damaged leaves open which records a shard gets: make one only")
    if args.shard_records is not None:
        return [*range(0, records, args.shard_records), records]
    shards = min(args.shards, max(records, 1))
    return [records * one // shards for one in range(shards + 1)]


class _Size(NamedTuple):
    """The size of a source.

    Attributes:
        records: The number of records; -1: not counted.
        is_stream: Whether the records can only be read in sequence.
        data: A fingerprint of the data.
        batch_size: Records to read at a time.
    """

    records: int
    is_stream: bool
    data: str
    batch_size: int


def _size_of(source: Source, is_needed: bool) -> _Size:
    """The size of a source; a stream is read once to count its records, if shards need the number.
    """
    none = _Size(0, False, "no records", 1)
    if source.is_empty:
        return none
    try:
        with source.loader(batch_size=1024) as loader:
            reader = loader.readers[0]
            stats = [os.stat(path) for path in source.files if os.path.exists(path)]
            data = f"{reader.data} {[(one.st_size, one.st_mtime_ns) for one in stats]}"
            rows = rows_of_batch(reader.records, reader.bytes, source.compression)
            rows = min(rows, _IMAGES) if image_fields(source.fields) else rows
            if reader.records >= 0:
                return _Size(reader.records, False, data, rows)
            if not is_needed:
                return _Size(-1, True, data, rows)
            records = sum(len(next(iter(batch.values()))) for batch in loader)
            return _Size(records, True, data, rows)
    except CorruptDataError as failure:
        if failure.reason != "no-records":
            raise
        return none


def _check_space(conversion: Conversion, found: _Size, args: argparse.Namespace) -> None:
    """A text about the expected size of the files; records of one batch are written at once.

    Raises:
        FileError: There is less free space.
    """
    if 0 <= found.records <= found.batch_size or len(conversion.done) == len(conversion):
        return
    about = os.statvfs(conversion.folder)
    free = about.f_bavail * about.f_frsize
    left = conversion.bytes_left(found.records, found.batch_size) if found.records >= 0 else -1
    is_too_little = left > free
    said = "a size that is not known yet" if left < 0 else f"about {size(left)}"
    said = f"{said} to write, and {size(free)} free"
    if is_too_little and not args.ignore_space:
        raise FileError(
            f"{said}: make room, convert to another place, or say --ignore-space",
            file=conversion.target.path,
        )
    if is_too_little or not args.quiet:
        say(f"{conversion.target.path}: {said}", sys.stderr)


def _say_left_out(conversion: Conversion) -> None:
    count, first = conversion.left_out, conversion.left_out_first
    if not count:
        return
    for failure in first:
        say(str(damage_of(conversion.source.files[0], failure)), sys.stderr)
    if count > len(first):
        say(f"... and {count - len(first)} more", sys.stderr)
    say("1 damaged record left out" if count == 1 else f"{count} damaged records left out",
        sys.stderr)  # fmt: skip


class Made(NamedTuple):
    """The result of a conversion.

    Attributes:
        records: The number of converted records.
        sums: The sums of `Target.counts` over these records.
        names: A text about the files.
    """

    records: int
    sums: tuple[int, ...]
    names: str


def carry_out(
    doing: str,
    args: argparse.Namespace,
    source: Source,
    target: Target,
    *,
    is_checked: bool = False,
    upload: Upload | None = None,
) -> Made:
    """Makes the files of a target, or resumes a stopped conversion.

    Args:
        doing: A word for the work, for the bar.
        args: The arguments that `add_shard_arguments` adds.
        source: The source; its types hold all records, or are checked during reading.
        target: The target, which can hold the source's fields.
        is_checked: Whether types are checked.
        upload: Puts the files of the target into a store.

    Raises:
        UsageError: The options do not fit each other.
        Error: A file cannot be read or written, or the space that is free is too little.
    """
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: it must be 1 or more")
    is_sharded = args.shard_records is not None or args.shards not in (None, 1)
    if is_sharded and not target.writer.is_sharded:
        raise UsageError(f"--to {target.format} makes one, and no shards")
    found = _size_of(source, is_sharded)
    bounds = _bounds(args, found.records)
    conversion = Conversion(source, target, bounds, found.data, is_checked)
    replaced: list[str] = []
    if upload:
        replaced = upload.refuse_present(conversion.names, target.overwrite, "--overwrite")
    with conversion.at_work():
        if conversion.says:
            say(f"{target.path}: {conversion.says}", sys.stderr)
        for note in target.notes(source):
            say(f"{target.path}: {note}", sys.stderr)
        _check_space(conversion, found, args)
        jobs = args.jobs or len(os.sched_getaffinity(0))
        before = sum(conversion.done.values())
        with command_bar(doing, found.records, done=before, quiet=args.quiet) as bar:
            tasks = conversion.tasks(found.is_stream, found.batch_size, jobs)
            run_tasks(conversion, tasks, jobs, lambda written: bar.update(before + written))
        records = sum(conversion.done.values())
        sums = tuple(map(sum, zip(*conversion.sums.values(), strict=True)))
        made: Sequence[Path | str] = conversion.publish()
    if upload:
        made = upload.send(replaced)
    _say_left_out(conversion)
    names = str(made[0]) if len(made) == 1 else f"{made[0]} ... {made[-1]}"
    return Made(records, sums, names)
