"""`pyflowdata bench`: the cost of a record in each part of an op, compared with memcpy."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Sequence
from typing import Any

from ..bench import as_dict, as_table, cores, measure, thread_counts
from ..spec import Spec, output_of
from pyflowdata.errors import InvalidArgumentError
from pyflowdata.nodes import Blob, Node, Op
from pyflowdata.nodes.attr_values import parse_attr
from pyflowdata.nodes.registry import HOST_OUTPUTS, find_op
from pyflowdata.plugins.packages import load_named
from ..options import input_of
from pyflowdata.cli.usage import UsageError, pairs

_BUILT_IN = "builtin"
_BATCH_SIZE = "256"
_WORLD = {"rank": "0", "world_size": "1"}
_EPILOG = """\
LIB is a plugin; without it, or as `builtin`, the op is a built-in one.
docs/reference/bench-op.md explains the table.

  pyflowdata bench ./my_reader.so --op MyReader --attr data_dir=samples
  pyflowdata bench ./my_decoder.so --op MyDecoder --input 'MiniReader data_dir=data'
  pyflowdata bench --op MiniReader --attr data_dir=data --op MiniDecoder --op Affine --attr scale=2
"""


class _OpOrAttr(argparse.Action):
    """Collects --op, which takes the outputs of the op before, and --attr, for the --op before
    it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if self.dest == "op":
            namespace.op = [*namespace.op, (values, [])]
        elif namespace.op:
            namespace.op[-1][1].append(values)
        else:
            parser.error(f"--attr {values}: of which op? it comes after --op NAME")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("library", nargs="?", default=_BUILT_IN, metavar="LIB",
        help="the plugin, or the package that has it")  # fmt: skip
    add("--op", action=_OpOrAttr, default=[], metavar="NAME",
        help="the op to measure; a further one takes the outputs of the one before")  # fmt: skip
    add("--attr", action=_OpOrAttr, metavar="K=V",
        help="an attr of the --op before it; lists have commas between")  # fmt: skip
    add("--input", action="append", default=[], metavar="'OP[.OUTPUT] K=V ...'",
        help="for an op with inputs: the reader that feeds it, with its attrs")  # fmt: skip
    add("--plugin", action="append", default=[], metavar="LIB",
        help="load this plugin, or that of this package, as well")  # fmt: skip
    add("--threads", metavar="N",
        help="measure loaders with 1, 2, 4, ... N threads (all cores), or with those of a list "
        "like 1,3; 0 for none")  # fmt: skip
    add("--rounds", type=int, default=3, help="the best one counts (%(default)s)")
    add("--seconds", type=float, default=0.2, help="of a round (%(default)s)")
    add("--json", action="store_true", help="print JSON")


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


def _defaults(op: Op, given: dict[str, str]) -> dict[str, str]:
    """Unless the user says otherwise, batches are large enough, and of the whole dataset."""
    if not op.is_reader:
        return given
    alone = {} if set(_WORLD) & set(given) else _WORLD
    return {"batch_size": _BATCH_SIZE, **alone, **given}


def _make(name: str, texts: dict[str, str], inputs: Sequence[Blob], found: str) -> Node:
    op = find_op(name)
    if not op.takes(len(inputs)):
        raise InvalidArgumentError(f"it takes {len(op.inputs)} inputs; {found}", op=op.name)
    said = _defaults(op, texts)
    return Node(op, None, inputs, {key: parse_attr(op, key, text) for key, text in said.items()})


def _port(blob: Blob) -> str:
    return blob.node.op.outputs[blob.index].name


def _outputs(node: Node) -> list[Blob]:
    return [blob for blob in node.outputs if _port(blob) not in HOST_OUTPUTS]


def _input_blobs(given: Sequence[str]) -> list[Blob]:
    """The outputs that --input names; readers with equal attrs are one node."""
    made: list[tuple[Spec, Node]] = []
    blobs = []
    for one in given:
        spec, output = input_of(one)
        node = next((node for known, node in made if known == spec), None)
        if node is None:
            node = _make(spec.op, dict(spec.texts), (), "the op of an --input is a reader")
            made.append((spec, node))
        blobs.append(output_of(node, output))
    return blobs


def _chain(named: Sequence[tuple[str, list[str]]], given: Sequence[str]) -> Sequence[Blob]:
    """The outputs of the last op; the first op takes the outputs of --input."""
    found = f"{len(given)} are given, as --input 'OP[.OUTPUT] K=V ...'"
    node = _make(named[0][0], pairs(named[0][1], "--attr"), _input_blobs(given), found)
    for name, attrs in named[1:]:
        if find_op(name).is_reader:
            raise UsageError(f"--op {name}: a reader comes first")
        outputs = _outputs(node)
        inputs = outputs[: len(find_op(name).inputs)]
        found = f"{node.op.name} has {len(outputs)} outputs"
        node = _make(name, pairs(attrs, "--attr"), inputs, found)
    return node.outputs


def run(args: argparse.Namespace) -> int:
    """Measures, and prints a table or JSON."""
    if not args.op:
        raise UsageError("which op? --op NAME is missing")
    threads = _threads(args.threads)
    for library in [*args.plugin, *([] if args.library == _BUILT_IN else [args.library])]:
        load_named(library)
    blobs = _chain(args.op, args.input)
    in_main = threading.current_thread() is threading.main_thread()
    # Ctrl-C ends the program at once, not when the C library has returned.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL) if in_main else None
    try:
        bench = measure(blobs, threads=threads, rounds=args.rounds, seconds=args.seconds)
    finally:
        if in_main:
            signal.signal(signal.SIGINT, before)
    print(json.dumps(as_dict(bench), indent=2) if args.json else as_table(bench))
    return 0
