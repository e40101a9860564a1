"""The job that drivers/job.h reads: a graph as lines of text."""

from __future__ import annotations

from pyflowdata.native import lib
from pyflowdata.nodes.attr_values import Plain
from pyflowdata.nodes.node import Node
from pyflowdata.nodes.objects import Object


def driver_job(node: Node, *, whole_batches: bool) -> str:
    """The graph of a node as drivers/job.h reads it, without the plugins.

    whole_batches: A row may depend on the other rows of its batch.
    """
    order: list[Node] = []
    _collect(node, order)
    lines = ["whole"] if whole_batches else []
    for one in order:
        lines.append(f"node {one.op.name}")
        lines += [_attr_line(name, value) for name, value in one.values.items()]
        lines += [f"input {order.index(blob.node)} {blob.index}" for blob in one.inputs]
    return "".join(f"{line}\n" for line in lines)


def _collect(node: Node, order: list[Node]) -> None:
    for blob in node.inputs:
        _collect(blob.node, order)
    if node not in order:
        order.append(node)


def _hex(said: str) -> str:
    return said.encode("utf-8", "surrogateescape").hex() or "-"


def _attr_line(name: str, value: Plain) -> str:
    kind: int
    if isinstance(value, bool):
        kind, words = lib.PFD_VALUE_BOOL, [str(int(value))]
    elif isinstance(value, int):
        kind, words = lib.PFD_VALUE_INT, [str(value)]
    elif isinstance(value, float):
        kind, words = lib.PFD_VALUE_FLOAT, [repr(value)]
    elif isinstance(value, Object):  # which there is only in this process
        kind, words = lib.PFD_VALUE_INT, [str(value.number)]
    elif isinstance(value, str):
        kind, words = lib.PFD_VALUE_STRING, [_hex(value)]
    elif value and isinstance(value[0], str):
        kind, words = lib.PFD_VALUE_LIST_STRING, [_hex(str(one)) for one in value]
    elif value and isinstance(value[0], float):
        kind, words = lib.PFD_VALUE_LIST_FLOAT, [repr(one) for one in value]
    else:
        kind, words = lib.PFD_VALUE_LIST_INT, [str(one) for one in value]
    size = [str(len(words))] if isinstance(value, list) else []
    return " ".join(["attr", name, str(kind), *size, *words])
