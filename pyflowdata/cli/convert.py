"""`pyflowdata convert`: the records of files, written in another format."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from ..errors import CorruptDataError, InvalidArgumentError
from ..formats import (
    COMPRESSION_SUFFIXES,
    FORMATS,
    ImageChange,
    Source,
    Target,
    Upload,
    format_of_name,
    image_formats,
    written_formats,
)
from ..nodes.registry import COMPRESSIONS
from .conversion import add_shard_arguments, are_types_of_all, carry_out, given_paths
from .sources import (
    about,
    add_source_arguments,
    expand,
    first_types,
    source_of,
    with_types,
)
from .usage import UsageError, say

_WRITTEN = written_formats()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", metavar="SRC ... DST", help="files of one format, and the file to make")
    add("--to", choices=_WRITTEN, help="the format to write (default: by the name of DST)")
    add_shard_arguments(parser)
    add("--compression", choices=("none", *COMPRESSIONS),
        help="of the files (default: by the name of DST)")  # fmt: skip
    add("--resize", metavar="HxW", help="make images of this height and width, or of shorter=N or "
        "longer=N pixels, and encode them again")  # fmt: skip
    add("--image-format", choices=image_formats(),
        help="encode images again, or arrays of pixels (default with --resize: jpeg)")  # fmt: skip
    add("--quality", type=int, metavar="Q", help="encode images as JPEG of this quality, 1 to 100")
    add("--float32", action="store_true", help="store float64 as float32")
    add("--seal", action="store_true", help="write checksums of all bytes beside the files")
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
    try:
        to = args.to or format_of_name(path)
    except InvalidArgumentError as failure:
        known = ", ".join(_WRITTEN)
        raise UsageError(f"{failure.message}; say --to FORMAT, one of {known}") from None
    packed = COMPRESSION_SUFFIXES.get(Path(path).suffix.lower())
    said = packed if args.compression is None else args.compression
    return Target(
        path, to, compression=None if said == "none" else said, float32=args.float32,
        skip=args.skip_damaged, overwrite=args.overwrite, change=_change(args), seal=args.seal,
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Converts; prints what was made."""
    given, path, upload = given_paths(args)
    target = _target(args, path)
    source = source_of(args, expand(given, args.format))
    if target.takes_images(source):
        source = FORMATS[source.format.name].with_images(source)
    elif FORMATS[source.format.name].is_copied_to(target.kind):
        source = source_of(args, expand(given, args.format), only_records=True)
    if not target.skip and not are_types_of_all(target):
        first, is_all = first_types(source, exact=True)
        try:
            return _convert(args, first, target, upload, is_checked=not is_all)
        except (CorruptDataError, InvalidArgumentError):
            if is_all:
                raise  # else later rows may be of wider types
    return _convert(args, with_types(source, exact=True), target, upload)


def _convert(
    args: argparse.Namespace, source: Source, target: Target, upload: Upload | None, *,
    is_checked: bool = False,
) -> int:
    """Converts a source whose types hold all records, or are checked during reading."""
    target.check(source)
    made = carry_out("converting", args, source, target, is_checked=is_checked, upload=upload)
    say(f"{about(source)} to {target.kind.title}: {made.records} records in {made.names}")
    return 0
