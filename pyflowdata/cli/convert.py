"""`pyflowdata convert`: the records of files, written in another format."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CorruptDataError, InvalidArgumentError
from ..formats import (
    COMPRESSION_SUFFIXES,
    FORMATS,
    ImageChange,
    Source,
    damage_of,
    image_fields,
    image_formats,
    rows_of_batch,
)
from ..nodes.registry import COMPRESSIONS
from .conversion.shards import Conversion, are_types_of_all, run_tasks
from .conversion.target import Target
from .bars import command_bar
from .sources import (
    about,
    add_source_arguments,
    expand,
    first_types,
    load_plugins,
    source_of,
    with_types,
)
from .usage import UsageError, say

_IMAGES = 64  # records that are read at a time, where they are large
_WRITTEN = [name for name, one in FORMATS.items() if one.writer]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", metavar="SRC ... DST", help="files of one format, and the file to make")
    add("--to", choices=_WRITTEN, help="the format to write (default: by the name of DST)")
    add("--shards", type=int, metavar="N", help="how many files to make")
    add("--shard-records", type=int, metavar="N", help="how many records a file has")
    add("--compression", choices=("none", *COMPRESSIONS),
        help="of the files (default: by the name of DST)")  # fmt: skip
    add("--jobs", type=int, metavar="N", help="processes at most (default: one for each core)")
    add("--resize", metavar="HxW", help="make images of this height and width, or of shorter=N or "
        "longer=N pixels, and encode them again")  # fmt: skip
    add("--image-format", choices=image_formats(),
        help="encode images again, or arrays of pixels (default with --resize: jpeg)")  # fmt: skip
    add("--quality", type=int, metavar="Q", help="encode images as JPEG of this quality, 1 to 100")
    add("--float32", action="store_true", help="store float64 as float32")
    add("--skip-damaged", action="store_true", help="leave damaged records out (one shard only)")
    add("--overwrite", action="store_true", help="replace what is there")
    add("--seal", action="store_true", help="write checksums of all bytes beside the files")
    add("--quiet", action="store_true", help="no progress")
    add_source_arguments(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "DST becomes DST-00000-of-00003 with several shards; part-{shard:05d} is a pattern.\n"
        "The same command goes on where one was stopped: finished shards are kept beside DST,\n"
        "in .DST.convert, and the source is compared.  DST appears when all of it is there.\n\n"
        "  pyflowdata convert data/*.csv train.tfrecord --shards 8 --float32\n"
        "  pyflowdata convert train-*.tfrecord x.npy --fields x\n"
        "  pyflowdata convert train/ train.tfrecord --resize shorter=256 --quality 90"
    )


def _change(args: argparse.Namespace) -> ImageChange | None:
    if args.resize is None and args.image_format is None and args.quality is None:
        return None
    format = args.image_format or ImageChange.format
    if args.quality is not None and format != ImageChange.format:
        raise UsageError(f"--quality is of JPEG, and --image-format is {format}")
    if args.quality is not None and not 1 <= args.quality <= 100:
        raise UsageError(f"--quality {args.quality}: it must be 1 to 100")
    sides: dict[str, Any] = {}
    if args.resize is not None:
        found = re.fullmatch("([0-9]{1,5})x([0-9]{1,5})|(shorter|longer)=([0-9]{1,5})", args.resize)
        numbers = [int(one) for one in found.group(1, 2, 4) if one] if found else [0]
        if not found or not 1 <= min(numbers) <= max(numbers) <= 65535:
            raise UsageError(
                f"--resize {args.resize}: it must be HEIGHTxWIDTH, shorter=N or longer=N, in "
                "pixels, 1 to 65535"
            )
        sides = {found[3]: numbers[0]} if found[3] else {"size": tuple(numbers)}
    quality = {} if args.quality is None else {"quality": args.quality}
    return ImageChange(format=format, **sides, **quality)


def _target(args: argparse.Namespace, path: str) -> Target:
    plain = Path(path)
    packed = COMPRESSION_SUFFIXES.get(plain.suffix.lower())
    plain = plain.with_suffix("") if packed else plain
    to = args.to or next(
        (name for name in _WRITTEN if plain.name.lower().endswith(FORMATS[name].suffixes)), None
    )
    if to is None and path.endswith(os.sep):
        to = next((name for name in _WRITTEN if FORMATS[name].reads_folders), None)
    if to is None:
        raise UsageError(f"{path}: its name does not say the format; say --to FORMAT")
    said = packed if args.compression is None else args.compression
    return Target(
        path, to, None if said == "none" else said, args.float32, args.skip_damaged,
        args.overwrite, _change(args), args.seal,
    )  # fmt: skip


def _bounds(args: argparse.Namespace, records: int) -> list[int]:
    """The first record of each shard, and the end of the last."""
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
        is_stream: Whether the records come in sequence only.
        data: A fingerprint of the data.
        batch_size: Records to read at a time.
    """

    records: int
    is_stream: bool
    data: str
    batch_size: int


def _size(source: Source, is_needed: bool) -> _Size:
    """The size of a source; a stream is read once to be counted, where shards need that."""
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


def run(args: argparse.Namespace) -> int:
    """Converts; prints what was made."""
    if len(args.paths) < 2:
        raise UsageError("name the files to read, and the file to make")
    *given, path = args.paths
    load_plugins(args)
    target = _target(args, path)
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: it must be 1 or more")
    source = source_of(args, expand(given, args.format))
    if target.takes_images(source):
        source = FORMATS[source.format.name].with_images(source)
    elif FORMATS[source.format.name].is_copied_to(target.kind):
        source = source_of(args, expand(given, args.format), only_records=True)
    if not target.skip and not are_types_of_all(target):
        first, is_all = first_types(source, exact=True)
        try:
            return _convert(args, first, target, is_checked=not is_all)
        except (CorruptDataError, InvalidArgumentError):
            if is_all:
                raise  # else later rows may be of wider types
    return _convert(args, with_types(source, exact=True), target)


def _convert(
    args: argparse.Namespace, source: Source, target: Target, *, is_checked: bool = False
) -> int:
    """Converts a source whose types hold all records, or are checked while they are read."""
    target.check(source)
    is_sharded = args.shard_records is not None or args.shards not in (None, 1)
    if is_sharded and not target.writer.is_sharded:
        raise UsageError(f"--to {target.format} makes one, and no shards")
    found = _size(source, is_sharded)
    bounds = _bounds(args, found.records)
    conversion = Conversion(source, target, bounds, found.data, is_checked)
    with conversion.at_work():
        if conversion.says:
            say(f"{target.path}: {conversion.says}", sys.stderr)
        for note in target.notes(source):
            say(f"{target.path}: {note}", sys.stderr)
        jobs = args.jobs or len(os.sched_getaffinity(0))
        before = sum(conversion.done.values())
        with command_bar("converting", found.records, done=before, quiet=args.quiet) as bar:
            tasks = conversion.tasks(found.is_stream, found.batch_size, jobs)
            run_tasks(conversion, tasks, jobs, lambda written: bar.update(before + written))
        written = sum(conversion.done.values())
        made = conversion.publish()
    _say_left_out(conversion)
    names = str(made[0]) if len(made) == 1 else f"{made[0]} ... {made[-1]}"
    say(f"{about(source)} to {target.kind.title}: {written} records in {names}")
    return 0
