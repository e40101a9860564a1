"""What is to be checked, as it travels to the process in which it is checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import InvalidArgumentError
from ..graph.attr_values import Plain, parse_attr
from ..graph.node import Blob, Node, reader_nodes
from ..graph.objects import Object
from ..graph.registry import HOST_OUTPUTS, find_op
from ..native import encode, ffi, lib
from ..plugins import load_library

_BUILT_IN = "built in"


def _listed(files: Any) -> list[str]:
    """What the attr files was given, one by one."""
    if files is None:
        return []
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    return [os.fspath(each) for each in files]


@dataclass(frozen=True)
class Spec:
    """A node that can be made again in another process.

    Attributes:
        op: Name of the op.
        attrs: Values as Python gives them.
        texts: Values as text, for attrs whose type is known only once the op is.
        inputs: For each input the node and the name of its output, "" for the only one.
    """

    op: str
    attrs: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[tuple[Spec, str], ...] = ()

    def make(self) -> Node:
        """The node.  Raises InvalidArgumentError as the op's function does."""
        op = find_op(self.op)
        values = {name: parse_attr(op, name, said) for name, said in self.texts.items()}
        inputs = [output_of(spec.make(), name) for spec, name in self.inputs]
        return Node(op, None, inputs, {**values, **self.attrs})

    def needs_whole_batches(self) -> bool:
        """Whether a row may depend on the other rows of its batch."""
        if flags_of(self.op) & lib.PFD_WHOLE_BATCH:
            return True
        return any(spec.needs_whole_batches() for spec, _ in self.inputs)

    def reader(self) -> Spec:
        """The reader upstream, along the first inputs."""
        return self.inputs[0][0].reader() if self.inputs else self

    def in_folder(self, folder: str) -> Spec:
        """The same over the files of these names in another folder."""
        named = _listed(self.reader().attrs.get("files"))
        if not named:
            return self.with_reader(data_dir=folder)
        return self.with_reader(files=[os.path.join(folder, os.path.basename(n)) for n in named])

    def with_found(self, node: Node) -> Spec:
        """The same with what was found in the files of a node made like this one."""
        readers = reader_nodes(node.outputs)
        if len(readers) != 1:
            return self
        return self.with_reader(**{name: readers[0].values[name] for name in readers[0].found})

    def with_reader(self, **attrs: Any) -> Spec:
        """The same over a reader with some attrs changed; None takes one away."""
        if self.inputs:
            inputs = tuple((spec.with_reader(**attrs), name) for spec, name in self.inputs)
            return replace(self, inputs=inputs)
        gone = {name for name, value in attrs.items() if value is None}
        new = {name: value for name, value in attrs.items() if value is not None}
        return replace(
            self,
            attrs={**{k: v for k, v in self.attrs.items() if k not in gone}, **new},
            texts={k: v for k, v in self.texts.items() if k not in gone and k not in new},
        )


@dataclass(frozen=True)
class Job:
    """What the checking process is told.

    Attributes:
        spec: The node to check.
        libraries: Plugins to load before.
        records: How many records the sample has; None: not known.
        checksums: Whether the format can tell every damage.
        also: Further folders of samples, and how many records each has.
        limit: Seconds of processor time for one pass over the sample.
        folder: For damaged samples.
    """

    spec: Spec
    libraries: tuple[str, ...]
    records: int | None
    checksums: bool
    also: tuple[tuple[str, int], ...]
    limit: float
    folder: str

    def load(self) -> None:
        for library in self.libraries:
            load_library(library)


def output_of(node: Node, name: str) -> Blob:
    """The output with this name; "" for the only one."""
    own = [blob for blob in node.outputs if node.op.outputs[blob.index].name not in HOST_OUTPUTS]
    if not name and len(own) == 1:
        return own[0]
    for blob in node.outputs:
        if node.op.outputs[blob.index].name == name:
            return blob
    names = ", ".join(port.name for port in node.op.outputs)
    raise InvalidArgumentError(
        f"output '{name}' of {node.op.name} is not there; name one of {names}", op=node.op.name
    )


def spec_of(node: Node) -> Spec:
    """What makes a node like this one."""
    inputs = tuple(
        (spec_of(blob.node), blob.node.op.outputs[blob.index].name) for blob in node.inputs
    )
    attrs: dict[str, Any] = {k: v for k, v in node.values.items() if k not in node.found}
    if isinstance(attrs.get("data_dir"), (str, os.PathLike)):
        attrs["data_dir"] = os.path.abspath(attrs["data_dir"])
    if attrs.get("files"):
        attrs["files"] = [os.path.abspath(each) for each in _listed(attrs["files"])]
    return Spec(node.op.name, attrs=attrs, inputs=inputs)


def libraries_of(spec: Spec) -> list[str]:
    """The plugins that the ops of a graph come from, in an order in which they can be loaded."""
    found = [path for upstream, _ in spec.inputs for path in libraries_of(upstream)]
    out = find_op(spec.op).origin
    return list(dict.fromkeys([*found, *([] if out == _BUILT_IN else [out])]))


def flags_of(name: str) -> int:
    """The PFD_READS_FILES ... of an op."""
    found, err = ffi.new("const pfd_op **"), ffi.new("pfd_error *")
    lib.pfd_op_find(encode(name, "op name"), found, err)
    return int(found[0].flags)


def driver_job(node: Node) -> str:
    """The graph of a node as check_driver.c reads it, without the plugins."""
    order: list[Node] = []
    _collect(node, order)
    lines = []
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
