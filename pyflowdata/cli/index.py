"""`pyflowdata index`: builds the index of a folder of part files, and describes it."""

from __future__ import annotations

import argparse
from typing import Any

from .. import DataLoader
from .._check_job import parse_attr
from ..errors import InvalidArgumentError
from ..graph import Node
from ..plugins import load_library
from ..registry import Op, find_op, registered_ops
from ..state import Reader
from .op_arguments import pairs
from .usage import UsageError

_SMALL = 16 << 20  # bytes of files that have no index on disk unless a folder is named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a folder of part files, as a reader's data_dir")
    add("--op", help="the reader op (default: the only one that reads files)")
    add("--plugin", action="append", default=[], metavar="LIB", help="load this plugin first")
    add(
        "--attr",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an attr of the reader, as part_name_prefix=shard- (may be repeated)",
    )
    add("--index-dir", default="", metavar="DIR", help="where indexes are kept (attr index_dir)")
    add(
        "--sequential",
        action="store_true",
        help="the small index that reading without a shuffle needs",
    )


def _reader_op(name: str | None) -> Op:
    """The op of that name, or the only one that reads files."""
    if name is not None:
        op = find_op(name)
        if op.attr("data_dir") is None:
            raise UsageError(f"--op {name}: {op.name} reads no files")
        return op
    known = [op for op in registered_ops() if op.attr("index_dir") is not None]
    if len(known) != 1:
        names = ", ".join(op.name for op in known)
        raise UsageError(f"which reader? name one with --op: {names}")
    return known[0]


def _reader_node(args: argparse.Namespace, path: str) -> Node:
    """The node that reads a folder; UsageError where op or attrs are none that there are."""
    given = pairs(args.attr, "--attr")
    if "data_dir" in given:
        raise UsageError("--attr data_dir: the folder is the argument PATH")
    attrs: dict[str, Any] = {"data_dir": path, "random_shuffle": not args.sequential}
    attrs |= {"seed": 0, "rank": 0, "world_size": 1, "index_dir": args.index_dir}
    try:
        op = _reader_op(args.op)
        attrs |= {name: parse_attr(op, name, said) for name, said in given.items()}
        return Node(op, None, (), attrs)
    except InvalidArgumentError as failure:
        raise UsageError(str(failure)) from None


def _size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} bytes"


def _place(node: Node, reader: Reader) -> str:
    if reader.index.path:
        return f"in {reader.index.path}"
    if reader.bytes < _SMALL and not node.values["index_dir"]:
        return "in memory (below 16 MB; --index-dir keeps it)"
    return "in memory: it is not kept"


def _describe(path: str, node: Node, reader: Reader) -> str:
    index = reader.index
    what = f"{node.op.name}: {path}: {reader.files} files, {_size(reader.bytes)}"
    if reader.records < 0:
        return f"{what}\n  has no index: it can only be read in sequence"
    lines = [
        f"{what}, {reader.records} records",
        f"  index  {_size(index.bytes)}, {8 * index.bytes / max(reader.bytes, 1):.3g} bits a byte",
        f"  {'built' if index.is_new else 'found'}  in {index.seconds:.3f} s",
        f"  lies   {_place(node, reader)}",
    ]
    return "\n".join(lines if index.bytes else [lines[0], "  needs no index"])


def run(args: argparse.Namespace) -> int:
    """Opens a loader over each folder, which builds or finds the index, and describes it."""
    for library in args.plugin:
        load_library(library)
    nodes = [(path, _reader_node(args, path)) for path in args.paths]
    for path, node in nodes:
        with DataLoader(node.outputs) as loader:
            print(_describe(path, node, loader.readers[0]))
    return 0
