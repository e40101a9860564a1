"""`pyflowdata index`: builds the index of a folder of part files, and describes it."""

from __future__ import annotations

import argparse
from typing import Any

from .. import DataLoader, ops
from ..errors import InvalidArgumentError
from ..registry import Op, find_op, registered_ops
from ..state import Reader

def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a folder of part files, as a reader's data_dir")
    add("--op", help="the reader op (default: the first one that reads files)")
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
    """The op of that name, or the first that reads files."""
    if name is not None:
        op = find_op(name)
        if not any(attr.name == "data_dir" for attr in op.attrs):
            raise InvalidArgumentError(f"{op.name} reads no files")
        return op
    for op in registered_ops():
        if any(attr.name == "index_dir" for attr in op.attrs):
            return op
    raise InvalidArgumentError("there is no reader of files; name an op with --op")


def _attrs(op: Op, given: list[str]) -> dict[str, Any]:
    known = {attr.name: attr for attr in op.attrs}
    found = {}
    for one in given:
        name, sign, text = one.partition("=")
        if not sign or name not in known:
            raise InvalidArgumentError(f"--attr {one}: {op.name} has no such attr; write NAME=VALUE")
        try:
            found[name] = known[name].type.parse(text)
        except ValueError:
            raise InvalidArgumentError(
                f"--attr {one}: attr '{name}' of {op.name} is of type {known[name].type.word}"
            ) from None
    return found


def _size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} bytes"


def _describe(path: str, reader: Reader) -> str:
    index = reader.index
    lines = [
        f"{path}: {reader.files} files, {_size(reader.bytes)}, {reader.records} records",
        f"  index  {_size(index.bytes)}, {8 * index.bytes / max(reader.bytes, 1):.3g} bits a byte",
        f"  {'built' if index.is_new else 'found'}  in {index.seconds:.3f} s",
        f"  lies   {'in ' + index.path if index.path else 'in memory: it is not kept'}",
    ]
    return "\n".join(lines if index.bytes else [lines[0], "  needs no index"])


def run(args: argparse.Namespace) -> int:
    """Opens a loader over each folder, which builds or finds the index, and describes it."""
    op = _reader_op(args.op)
    attrs = {"random_shuffle": not args.sequential, "seed": 0, "rank": 0, "world_size": 1}
    attrs |= {"index_dir": args.index_dir} | _attrs(op, args.attr)
    for path in args.paths:
        blobs = getattr(ops, op.name)(path, **attrs)
        with DataLoader(blobs if isinstance(blobs, tuple) else (blobs,)) as loader:
            for reader in loader._readers:
                print(_describe(path, reader))
    return 0
