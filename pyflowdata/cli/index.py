"""`pyflowdata index`: builds the index of data files, and describes it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from .. import DataLoader
from ..errors import InvalidArgumentError, without_secrets
from ..nodes import Node, Op, find_op
from ..nodes.attr_values import parse_attr
from ..loader.state import Reader
from ..plugins import Plugin
from ..remote.cache import index_beside
from ..remote import is_remote
from ..remote.client import check_takes, has_magic, put
from ..words.plain_text import number, size
from .bars import waiting
from .sources import add_source_arguments, expand, load_plugins, source_of
from .usage import UsageError, pairs, say

_SMALL = 16 << 20  # bytes of files that have no index on disk unless a folder is named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH",
        help="a file, a pattern or a folder; each is the files of one reader")  # fmt: skip
    add("--op", help="the reader op (default: by the files' content, or that of --plugin)")
    add("--index-dir", default="", metavar="DIR", help="where indexes are kept (attr index_dir)")
    add(
        "--sequential",
        action="store_true",
        help="the small index that reading without a shuffle needs",
    )
    add("--beside", action="store_true", help="put the index of remote files beside them, where "
        "all openings find it")  # fmt: skip
    add_source_arguments(parser)


def _named_op(name: str) -> Op:
    try:
        op = find_op(name)
    except InvalidArgumentError as failure:
        raise UsageError(f"--op {name}: {failure}") from None
    if op.attr("data_dir") is None:
        raise UsageError(f"--op {name}: {op.name} reads no files")
    return op


def _plugins_op(plugins: Sequence[Plugin]) -> Op | None:
    """The only op of these plugins that reads files; None: there is no such op."""
    ops = [find_op(function.__name__) for plugin in plugins for function in plugin]
    known = [op for op in ops if op.attr("index_dir")]
    if len(known) > 1:
        raise UsageError(f"which reader? name one with --op: {', '.join(op.name for op in known)}")
    return known[0] if known else None


def _reader_node(args: argparse.Namespace, plugins: Sequence[Plugin], path: str) -> Node:
    given = pairs(args.attr, "--attr")
    if not {"data_dir", "files"}.isdisjoint(given):
        raise UsageError("--attr data_dir or files: that is the argument PATH")
    attrs: dict[str, Any] = {"random_shuffle": not args.sequential, "index_dir": args.index_dir}
    op = _named_op(args.op) if args.op is not None else _plugins_op(plugins)
    if op is None:
        return source_of(args, expand([path], args.format), only_records=True).reader(**attrs)
    if args.format or args.fields:
        raise UsageError(f"--format and --fields are not for {op.name}: say them with --attr")
    attrs |= {"seed": 0, "rank": 0, "world_size": 1}
    attrs |= {"data_dir" if os.path.isdir(path) else "files": path}
    attrs |= {name: parse_attr(op, name, said) for name, said in given.items()}
    return Node(op, None, (), attrs)


def _place(node: Node, reader: Reader) -> str:
    if reader.index.path:
        return f"in {reader.index.path}"
    if reader.bytes < _SMALL and not node.values["index_dir"]:
        small = "below 16 MB" if reader.bytes else "it is small"
        return f"in memory ({small}; --index-dir keeps it)"
    return "in memory: it is not kept"


def _describe(path: str, node: Node, reader: Reader) -> list[str]:
    index = reader.index
    what = f"{node.op.name}: {without_secrets(path)}: {reader.files} files, {size(reader.bytes)}"
    if reader.records < 0:
        return [what, "  has no index: it can only be read in sequence"]
    of_bytes = f"{number(8 * index.bytes / reader.bytes)} bits a byte" if reader.bytes else ""
    of_records = f"{number(index.bytes / max(reader.records, 1))} bytes a record"
    lines = [
        f"{what}, {reader.records} records",
        f"  index  {size(index.bytes)}, {of_bytes or of_records}",
        f"  {'built' if index.is_new else 'found'}  in {index.seconds:.3f} s",
        f"  lies   {_place(node, reader)}",
    ]
    return lines if index.bytes else [lines[0], "  needs no index"]


def _put_beside(path: str, node: Node, reader: Reader) -> str:
    """Puts the index beside the files, and returns its address."""
    if not reader.index.path:
        raise UsageError(f"--beside: {without_secrets(path)} has no index on disk")
    named: Any = node.values["files"] or [node.values["data_dir"]]
    files = [str(one) for one in named]
    if any(map(has_magic, files)):
        files = expand(files, None)
    url = index_beside(files, reader.index.path)
    if url is None:
        raise UsageError("--beside: the files have no folder in common")
    put(reader.index.path, url)
    return url


def run(args: argparse.Namespace) -> int:
    """Opens a loader for each path, which builds or finds the index, and describes the index."""
    for path in args.paths if args.beside else ():
        if not is_remote(path):
            raise UsageError(f"--beside {path}: indexes of local files hold their times and paths; "
                             "--index-dir on a shared disk serves several machines")  # fmt: skip
        check_takes(path)  # before anything is read
    plugins = load_plugins(args)
    nodes = [(path, _reader_node(args, plugins, path)) for path in args.paths]
    for path, node in nodes:
        with waiting(f"indexing {os.path.basename(without_secrets(os.path.normpath(path)))}"):
            loader = DataLoader(node.outputs)
        with loader:
            for line in _describe(path, node, loader.readers[0]):
                say(line)
            if args.beside:
                say(f"  put    at {_put_beside(path, node, loader.readers[0])}")
    return 0
