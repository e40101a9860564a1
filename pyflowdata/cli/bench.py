"""`pyflowdata bench`: what a record costs in each part of an op, beside what the memory allows."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Sequence

from .._op_bench import cores, measure, thread_counts
from .._op_bench_report import as_dict, as_table
from ..errors import InvalidArgumentError
from ..graph import Blob, Node
from ..plugins import load_library
from ..registry import Op, find_op
from .attr_arguments import NamedOp, add_op_arguments, attr_values_of
from .usage import UsageError

_HOST_OUTPUTS = ("mask", "id")
_BATCH_SIZE = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "library", metavar="LIB", help="the plugin with the op; `builtin` for the ops of pyflowdata"
    )
    add_op_arguments(parser)
    parser.add_argument(
        "--threads",
        metavar="N",
        help="measure loaders with 1, 2, 4, ... N threads (all cores), or with those of a list "
        "like 1,3; 0 for none",
    )
    parser.add_argument("--rounds", type=int, default=3, help="the best one counts (3)")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round (0.2)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _threads(said: str | None) -> list[int]:
    if said is None:
        return thread_counts(cores())
    try:
        counts = [int(part) for part in said.split(",")]
    except ValueError:
        raise UsageError(f"--threads {said}: it must be a number, or numbers like 1,2,4") from None
    if counts == [0]:
        return []
    for count in counts:
        if not 1 <= count <= cores():
            raise UsageError(f"--threads {said}: this process may use 1 to {cores()} cores")
    return counts if len(counts) > 1 else thread_counts(counts[0])


def _inputs(op: Op, upstream: Node) -> list[Blob]:
    """As many outputs of the op before as it takes, in their order."""
    blobs = [blob for blob in upstream.outputs if _port(blob) not in _HOST_OUTPUTS]
    if len(blobs) < len(op.inputs):
        raise InvalidArgumentError(
            f"it takes {len(op.inputs)} inputs, {upstream.op.name} has {len(blobs)} outputs",
            op=op.name,
        )
    return blobs[: len(op.inputs)]


def _port(blob: Blob) -> str:
    return blob.node.op.outputs[blob.index].name


def _node(named: NamedOp, upstream: Node | None) -> Node:
    op = find_op(named.name)
    values = attr_values_of(op, named.attrs)
    if op.is_reader:
        if upstream is not None:
            raise UsageError(f"{op.name} is a reader: it comes first")
        alone = {"rank": 0, "world_size": 1} if not {"rank", "world_size"} & set(values) else {}
        return Node(op, None, (), {"batch_size": _BATCH_SIZE, **alone, **values})
    if upstream is None:
        raise UsageError(
            f"{op.name} takes the outputs of a reader: name it with --reader NAME, and its attrs "
            "behind it"
        )
    return Node(op, None, _inputs(op, upstream), values)


def _chain(named: Sequence[NamedOp]) -> Sequence[Blob]:
    """The outputs of the last op."""
    node = None
    for one in named:
        node = _node(one, node)
    assert node is not None
    return node.outputs


def run(args: argparse.Namespace) -> int:
    """Measures, and prints a table or JSON."""
    if not args.op:
        raise UsageError("which op? --op NAME is missing")
    if len(args.reader or []) > 1:
        raise UsageError("--reader is given twice; one reader is measured at a time")
    threads = _threads(args.threads)
    if args.library != "builtin":
        load_library(args.library)
    blobs = _chain([*(args.reader or []), *args.op])
    at_once = threading.current_thread() is threading.main_thread()
    # Ctrl-C ends it at once, not when the C library has returned.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL) if at_once else None
    try:
        bench = measure(blobs, threads=threads, rounds=args.rounds, seconds=args.seconds)
    finally:
        if at_once:
            signal.signal(signal.SIGINT, before)
    print(json.dumps(as_dict(bench), indent=2) if args.json else as_table(bench))
    return 0
