"""`pyflowdata ops`: lists the ops, and describes single ops."""

from __future__ import annotations

import argparse
import inspect
import json
import textwrap

from ..nodes import BUILT_IN, Attr, Op, find_op, registered_ops
from ..nodes.op_texts import docstring
from ..nodes.op_functions import signature
from ..plugins.packages import load_named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="describe these ops in full")
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="LIB",
        help="load this plugin, or that of this package, first",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def _kind(op: Op) -> str:
    return "reader" if op.is_reader else "op"


def _print_table(ops: list[Op]) -> None:
    width = max(len(op.name) for op in ops)
    for op in ops:
        summary = op.doc.partition(". ")[0].rstrip(".") + "."
        print(f"{op.name:{width}}  {_kind(op):6}  {summary}")
    origins = {op.origin for op in ops} - {BUILT_IN}
    for origin in sorted(origins):
        names = ", ".join(op.name for op in ops if op.origin == origin)
        print(f"\nfrom {origin}: {names}")


def _attr_as_dict(attr: Attr) -> dict[str, object]:
    about: dict[str, object] = {"name": attr.name, "type": attr.type.word}
    about["required"] = attr.required
    if attr.is_found:
        about["found"] = "in the files if left out"
    elif not attr.required:
        about["default"] = attr.default
    if attr.minimum is not None:
        about["minimum"] = attr.minimum
    if attr.maximum is not None:
        about["maximum"] = attr.maximum
    if attr.choices:
        about["choices"] = attr.choices
    return {**about, "doc": attr.doc}


def _as_dict(op: Op) -> dict[str, object]:
    return {
        "name": op.name,
        "kind": _kind(op),
        "origin": op.origin,
        "doc": op.doc,
        "inputs": [{"name": port.name, "doc": port.doc} for port in op.inputs],
        "attrs": [_attr_as_dict(attr) for attr in op.attrs],
        "outputs": [{"name": port.name, "doc": port.doc} for port in op.outputs],
    }


def _print_one(op: Op) -> None:
    # The types stand in the text below.
    parameters = [
        one.replace(annotation=inspect.Parameter.empty) for one in signature(op).parameters.values()
    ]
    call = op.name + str(inspect.Signature(parameters))
    print("\n".join(textwrap.wrap(call, 96, subsequent_indent=" " * (len(op.name) + 1))))
    print(f"\n{docstring(op)}\n\nFrom: {op.origin}")


def run(args: argparse.Namespace) -> int:
    """Prints the table, or the full descriptions of the named ops."""
    for path in args.plugin:
        load_named(path)
    ops = [find_op(name) for name in args.names] or list(registered_ops())
    if args.json:
        print(json.dumps([_as_dict(op) for op in ops], indent=2))
    elif not args.names:
        _print_table(ops)
    else:
        for i, op in enumerate(ops):
            print("\n" + "-" * 80 + "\n" if i else "", end="")
            _print_one(op)
    return 0
