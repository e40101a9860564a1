"""`pyflowdata seal`: writes checksums of all bytes of files beside them."""

from __future__ import annotations

import argparse
import os
import sys

from ..errors import CorruptDataError, Error, InvalidArgumentError, UnsupportedError
from ..formats import FORMATS, Scan, Seal, read_seal, seal_damage, write_seal
from ..words.plain_text import size
from .bars import waiting
from .sources import add_memory_argument, add_source_arguments, expand, load_plugins, source_of
from .usage import is_wrong_call, say, say_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="data files, or folders of images, of any format")
    add("--json", action="store_true", help="a line of JSON for each file")
    add("--no-check", action="store_true",
        help="seal the bytes as they are, without reading the records first")  # fmt: skip
    add("--replace", action="store_true",
        help="also where the data differ from their present seal, which is replaced")  # fmt: skip
    parser.epilog = (
        "The seal of NAME is NAME.pfdseal. A damaged file gets no seal, and neither do data that "
        "differ from the seal that they have, unless --replace says so. verify compares files "
        "with their seals, and so do readers with check='seal'."
    )
    add_source_arguments(parser)
    add_memory_argument(parser)


def _count(args: argparse.Namespace, path: str) -> int | None:
    """The number of records of an undamaged file; None: the records of its format are not known.

    Raises:
        CorruptDataError: The file is damaged.
    """
    if args.no_check:
        return None
    try:
        source = source_of(args, [path], only_records=True)
        scan = Scan()
        damage = FORMATS[source.format.name].damage(source, scan)
    except (UnsupportedError, InvalidArgumentError) as failure:
        if is_wrong_call(failure, args):
            raise
        return None
    if damage:
        raise CorruptDataError(
            f"{damage[0].message}; it gets no seal (--no-check seals it as it is)",
            file=damage[0].file, byte=damage[0].byte,
        )  # fmt: skip
    return scan.good


def _present(args: argparse.Namespace, path: str) -> Seal | None:
    """The present seal of the data; None: there is none, or it will be replaced.

    Raises:
        CorruptDataError: The data differ from the seal, or the seal is damaged.
    """
    if args.replace:
        return None
    before = read_seal(path)
    damage = seal_damage(path) if before is not None else []
    if damage:
        raise CorruptDataError(
            f"{damage[0].message}; if they were changed on purpose, --replace makes a new seal",
            file=damage[0].file, byte=damage[0].byte,
        )  # fmt: skip
    return before


def _seal(args: argparse.Namespace, path: str) -> bool:
    try:
        before = _present(args, path)
        with waiting(f"sealing {os.path.basename(os.path.normpath(path))}"):
            made = write_seal(path, _count(args, path))
    except InvalidArgumentError:
        raise
    except Error as failure:
        say(f"pyflowdata: error: {failure}", sys.stderr)
        return False
    is_same = before is not None and before.root == made.root
    if args.json:
        say_json({"file": path, "records": made.records, "files": made.files,
                  "bytes": made.bytes, "root": made.root})  # fmt: skip
        return True
    records = f"{made.records} records, " if made.records is not None else ""
    files = f"{made.files} files, " if made.files > 1 else ""
    again = " (as it was sealed before)" if is_same else ""
    say(f"{path}: {files}{records}{size(made.bytes)}, root {made.root}{again}")
    return True


def run(args: argparse.Namespace) -> int:
    """Seals file after file."""
    load_plugins(args)
    files = expand(args.files, args.format)
    return 0 if all([_seal(args, path) for path in files]) else 1
