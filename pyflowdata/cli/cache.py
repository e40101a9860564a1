"""`pyflowdata cache`: the blocks of remote files on this machine."""

from __future__ import annotations

import argparse
import time

from ..formats import expanded
from ..remote.cache import cache_info, cached_objects, clear_cache, warm
from ..remote import is_remote
from ..words.plain_text import counted, size
from .bars import command_bar
from .usage import UsageError, say

_MB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", choices=("list", "size", "clear", "warm"), help="list: the objects, with what is "
        "there of each; size: of all; clear: take all blocks out; warm: fetch all bytes of "
        "files")  # fmt: skip
    add("paths", nargs="*", default=[], metavar="FILE", help="of warm: addresses, patterns or "
        "folders")  # fmt: skip
    add("--quiet", action="store_true", help="no progress")


def _list() -> None:
    seen = set[str]()
    for one in cached_objects():
        version = ", another version" if one.url in seen else ""
        seen.add(one.url)
        used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.used)) if one.used else "never"
        say(f"{one.url}  {size(one.bytes)}, {one.blocks} of {one.num_blocks} blocks, "
            f"used {used}{version}")  # fmt: skip


def _size() -> None:
    info, objects = cache_info(), cached_objects()
    say(f"{info.folder}: {counted(len(objects), 'object')}, {size(info.bytes)} of "
        f"{size(info.budget)}")  # fmt: skip


def _clear() -> None:
    freed, left = clear_cache(), cache_info().bytes
    tables = f"; tables of {size(left)} stay for a day, for programs that have objects open"
    say(f"{size(freed)} freed{tables if left else ''}")


def _warm(args: argparse.Namespace) -> None:
    if not args.paths:
        raise UsageError("warm: name the files to fetch")
    for path in args.paths:
        if not is_remote(path):
            raise UsageError(f"{path}: it is no address, as s3://bucket/key; local files need no "
                             "cache")  # fmt: skip
    urls = list(dict.fromkeys(expanded(args.paths)))  # patterns may overlap
    with command_bar("warming", -1, quiet=args.quiet, unit="MB") as bar:
        total = warm(urls, lambda done, all: bar.update(done // _MB, f"of {size(all)}"))
    say(f"{counted(len(urls), 'file')} in the cache, {size(total)}")


def run(args: argparse.Namespace) -> int:
    """Does the action."""
    if args.action != "warm" and args.paths:
        raise UsageError(f"{args.action} takes no files")
    if args.action == "list":
        _list()
    elif args.action == "size":
        _size()
    elif args.action == "clear":
        _clear()
    else:
        _warm(args)
    return 0
