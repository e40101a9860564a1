"""A node as data: what makes it again, in another process or over other files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyflowdata.errors import InvalidArgumentError
from pyflowdata.nodes.attr_values import parse_attr
from pyflowdata.nodes.node import Blob, Node, reader_nodes
from pyflowdata.nodes.registry import HOST_OUTPUTS, find_op
from pyflowdata.nodes.tables import prepare_tables
from pyflowdata.native import encode, ffi, lib, new_error

_BUILT_IN = "built in"
PYTHON = "python "  # how the origin of such a function begins


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
        return self._make([])

    def _make(self, readers: list[tuple[Spec, Node]]) -> Node:
        """The node; readers that are the same upstream of several inputs are one node."""
        for spec, node in readers:
            if spec == self:
                return node
        op = find_op(self.op)
        values = {name: parse_attr(op, name, said) for name, said in self.texts.items()}
        inputs = [output_of(spec._make(readers), name) for spec, name in self.inputs]
        node = Node(op, None, inputs, {**values, **self.attrs})
        prepare_tables(node.outputs[:1])
        if not inputs:
            readers.append((self, node))
        return node

    def needs_whole_batches(self) -> bool:
        """Whether a row may depend on the other rows of its batch."""
        if flags_of(self.op) & lib.PFD_WHOLE_BATCH:
            return True
        return any(spec.needs_whole_batches() for spec, _ in self.inputs)

    def reader(self) -> Spec:
        """The reader upstream, along the first inputs."""
        return self.inputs[0][0].reader() if self.inputs else self

    def files(self) -> list[str]:
        """The paths and patterns that the reader's attr `files` was given."""
        reader = self.reader()
        if "files" in reader.texts:
            return _listed(parse_attr(find_op(reader.op), "files", reader.texts["files"]))
        return _listed(reader.attrs.get("files"))

    def in_folder(self, folder: str) -> Spec:
        """The same over the files of these names in another folder."""
        named = self.files()
        if not named:
            return self.with_reader(data_dir=folder)
        return self.with_reader(files=[os.path.join(folder, os.path.basename(n)) for n in named])

    def with_files(self, files: list[str]) -> Spec:
        """The same over these files, in place of those of a folder."""
        return self.with_reader(
            data_dir=None, data_part_num=None, part_name_suffix_length=None, files=files
        )

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


def output_of(node: Node, name: str) -> Blob:
    """The output with this name; "" for the only one."""
    own = [blob for blob in node.outputs if node.op.outputs[blob.index].name not in HOST_OUTPUTS]
    if not name and len(own) == 1:
        return own[0]
    for blob in node.outputs:
        if node.op.outputs[blob.index].name == name:
            return blob
    raise InvalidArgumentError(_no_output(node, name, own), op=node.op.name)


def _no_output(node: Node, name: str, own: list[Blob]) -> str:
    """Args: the node, the name that it was asked for or "", and its outputs but for the host's."""
    op = node.op
    names = [op.outputs[blob.index].name for blob in own]
    host = [port.name for port in op.outputs if port.name not in names]
    added = f" ({' and '.join(host)} are the host's)" if host else ""
    if name:
        return f"output '{name}' is not there; name one of {', '.join(names)}{added}"
    return (
        f"it has {len(names)} outputs: write which one feeds the input, as "
        f"{' or '.join(f'{op.name}.{one}' for one in names)}{added}"
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
    own = find_op(spec.op).origin
    is_library = own != _BUILT_IN and not own.startswith(PYTHON)
    return list(dict.fromkeys([*found, *([own] if is_library else [])]))


def has_python(spec: Spec) -> bool:
    """Whether an op of a graph is a function of this process, of Python or compiled by numba."""
    is_function = find_op(spec.op).origin.startswith(PYTHON)
    return is_function or any(has_python(upstream) for upstream, _ in spec.inputs)


def flags_of(name: str) -> int:
    """The PFD_READS_FILES ... of an op."""
    found, err = ffi.new("const pfd_op **"), new_error()
    lib.pfd_op_find(encode(name, "op name"), found, err)
    return int(found[0].flags)


def has_folders(spec: Spec) -> bool:
    """Whether the reader of a graph takes whole folders, whose names may mean something."""
    return bool(flags_of(spec.reader().op) & lib.PFD_READS_FOLDERS)
