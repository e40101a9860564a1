"""The source that the arguments of a command name: files, their format, and their fields."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..errors import InvalidArgumentError
from ..formats import FORMATS, Source, expanded, open_source
from ..nodes.registry import registered_formats
from ..plugins import Plugin
from ..plugins.packages import load_named
from ..words.plain_text import bytes_of
from .bars import command_bar
from .usage import UsageError, pairs, say


_BUDGET = 10**9


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """--format, --fields, --attr and --plugin."""
    add = parser.add_argument
    add("--format", metavar="FORMAT",
        help=f"the files' format (default: by their content): {', '.join(FORMATS)}, or a "
        "plugin's")  # fmt: skip
    add("--fields", metavar="NAME[:TYPE],...", default="",
        help="only these fields, as x or x:float32[3] (default: all)")  # fmt: skip
    add("--attr", action="append", default=[], metavar="NAME=VALUE",
        help="an attr of the reader, as NAME=VALUE (may be repeated)")  # fmt: skip
    add("--plugin", action="append", default=[], metavar="LIB",
        help="load this plugin, C file of one, or package, first")  # fmt: skip


def add_memory_argument(parser: argparse.ArgumentParser) -> None:
    """Adds the option --memory-budget, for commands that read records."""
    parser.add_argument(
        "--memory-budget", type=_bytes, default=_BUDGET, metavar="BYTES",
        help="memory for records, as 512MB or 4GB (default: 1GB): a record that needs more, as "
        "bytes that were compressed a thousandfold, is an error",
    )  # fmt: skip


def _bytes(said: str) -> int:
    count = bytes_of(said)
    if not count:
        raise argparse.ArgumentTypeError(f"{said}: it must be a number of bytes, like 512MB")
    return count


def load_plugins(args: argparse.Namespace) -> list[Plugin]:
    """Loads the libraries that --plugin names."""
    return [load_named(library) for library in args.plugin]


def _split_fields(said: str) -> list[str]:
    """The elements of a list with commas, some of which stand in brackets."""
    parts, depth = [""], 0
    for one in said:
        depth += (one == "[") - (one == "]")
        if one == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += one
    return [part.strip() for part in parts if part.strip()]


def expand(paths: Sequence[str], format: str | None = None) -> list[str]:
    """The files, with the files that patterns and folders stand for, sorted.

    Raises:
        FileError: A path does not exist, or stands for no file.
    """
    return expanded(paths, format)


def source_of(
    args: argparse.Namespace, paths: Sequence[str], *, only_records: bool = False
) -> Source:
    """The source that the arguments name.

    Raises:
        UsageError: --format does not name a format.
        Error: The arguments do not fit, or a file cannot be read; an error about a file names it.
    """
    known = [one.name for one in registered_formats()]
    if args.format is not None and args.format not in known:
        raise UsageError(f"--format {args.format}: it must be one of {', '.join(known)}")
    try:
        source = open_source(
            paths, args.format, only_records=only_records, attrs=pairs(args.attr, "--attr"),
            memory_budget=getattr(args, "memory_budget", 0),
        )  # fmt: skip
    except InvalidArgumentError as failure:
        if failure.op is None and failure.file is not None and failure.attr == "format":
            failure.message += "; name one with --format"
        raise
    fields = _split_fields(args.fields)
    for name in fields:
        if fields.count(name) > 1:
            raise UsageError(f"--fields names {name} twice")
    args.list_attrs = source.format.list_attrs  # for the messages of what comes later
    return source.choose(fields)


def first_types(source: Source, *, exact: bool = False) -> tuple[Source, bool]:
    """The source with types that hold the first records, and whether these are all; as
    `Source.with_first_types`."""
    with command_bar("finding the types of columns", -1) as bar:
        return source.with_first_types(exact=exact, progress=bar.update)


def with_types(source: Source, *, exact: bool = False) -> Source:
    """The source with types that hold all records, for which they may all be read; as
    `Source.with_types`."""
    with command_bar("finding the types of columns", -1) as bar:
        return source.with_types(exact=exact, progress=bar.update)


def about(source: Source) -> str:
    """The format in words: TFRecord (gzip)."""
    packed = f" ({source.compression})" if source.compression else ""
    return source.format.title + packed


def say_left_out(source: Source) -> None:
    """Prints the parts of the records that are not shown, and fields that are perhaps not what the
    user wants.
    """
    for one in source.left_out:
        say(f"left out: {one}", sys.stderr)
    for field in source.fields:
        if field.note:
            said = field.note.replace("say header='yes'", "say --attr header=yes")
            say(f"{field.name} is {field.type}: {said}", sys.stderr)
