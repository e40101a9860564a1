"""Describes a node as data, to make it again in another process, or over other files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyflowdata.errors import InvalidArgumentError
from pyflowdata.native import encode, ffi, lib, new_error
from pyflowdata.nodes import Attr
from pyflowdata.nodes.attr_values import parse_attr
from pyflowdata.nodes.node import Blob, Node, reader_nodes
from pyflowdata.nodes.registry import HOST_OUTPUTS, find_op
from pyflowdata.nodes.tables import prepare_tables
from pyflowdata.plugins import load_library


_BUILT_IN = "built in"
PYTHON = "python "  # begins the origin of a Python function


def _listed(files: Any) -> list[str]:
    """The items that the attr `files` was given."""
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
        attrs: Values as Python objects.
        texts: Values as text, for attrs whose types are unknown until the op is loaded.
        inputs: For each input, a node and the name of its output, "" for the only output.
    """

    op: str
    attrs: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[tuple[Spec, str], ...] = ()

    def make(self) -> Node:
        """Makes the node. Raises InvalidArgumentError as the op's function does."""
        return self._make([])

    def _make(self, readers: list[tuple[Spec, Node]]) -> Node:
        """Makes the node; equal readers upstream of several inputs are one node."""
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
        """The node over the files of these names in another folder."""
        named = self.files()
        if not named:
            return self.with_reader(data_dir=folder)
        return self.with_reader(files=[os.path.join(folder, os.path.basename(n)) for n in named])

    def with_files(self, files: list[str]) -> Spec:
        """The node over these files, in place of the files of a folder."""
        return self.with_reader(
            data_dir=None, data_part_num=None, part_name_suffix_length=None, files=files
        )

    def with_found(self, node: Node) -> Spec:
        """The node with the attrs that a node made from this one found in the files."""
        readers = reader_nodes(node.outputs)
        if len(readers) != 1:
            return self
        return self.with_reader(**{name: readers[0].values[name] for name in readers[0].found})

    def with_reader(self, **attrs: Any) -> Spec:
        """The node over its reader with some attrs changed; None removes an attr."""
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
    """The output with this name; "": the only output."""
    own = [blob for blob in node.outputs if node.op.outputs[blob.index].name not in HOST_OUTPUTS]
    if not name and len(own) == 1:
        return own[0]
    for blob in node.outputs:
        if node.op.outputs[blob.index].name == name:
            return blob
    raise InvalidArgumentError(_no_output(node, name, own), op=node.op.name)


def _no_output(node: Node, name: str, own: list[Blob]) -> str:
    """Args: the node; the wanted name, or ""; the node's outputs without the host's."""
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
    """The plugins of the ops of a graph, in an order in which they can be loaded."""
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


# ---- Variants of a node: over other files, or with another value of an attr ---------------------

Variant = tuple[str, Spec]  # words for the difference, and the variant


def over_other_files(
    spec: Spec, files: list[str], also: tuple[tuple[str, int], ...]
) -> list[Variant]:
    """The op over other files, in each way there is, the best first."""
    found: list[Variant] = []
    if len(files) > 1:
        found = [
            ("the last file alone", spec.with_reader(data_dir=None, files=files[-1:])),
            ("the files backwards", spec.with_reader(data_dir=None, files=files[::-1])),
        ]
    return found + [(f"the sample {folder}", spec.in_folder(folder)) for folder, _ in also]


def with_attr(spec: Spec, name: str, value: Any) -> Spec:
    """The node with another value of one attr."""
    texts = {other: said for other, said in spec.texts.items() if other != name}
    return replace(spec, attrs={**spec.attrs, name: value}, texts=texts)


def with_other_attrs(spec: Spec, names: set[str]) -> Iterator[Variant]:
    """Nodes with another value of one of these attrs."""
    values = spec.make().values
    for attr in find_op(spec.op).attrs:
        if attr.name not in names:
            continue
        value = _other(attr, values.get(attr.name, attr.default))
        if value is not None:
            yield f"{attr.name} = {value}", with_attr(spec, attr.name, value)


def _other(attr: Attr, value: Any) -> Any:
    """Another valid value; None: none is known."""
    if isinstance(value, bool):
        return not value
    if attr.choices:
        at = attr.choices.index(value) if value in attr.choices else -1
        other = attr.choices[(at + 1) % len(attr.choices)]
        return None if other == value else other
    if isinstance(value, (int, float)):
        return _other_number(attr, value)
    if isinstance(value, (list, tuple)) and value and attr.type.element in (int, float):
        others = [_other_number(attr, each) for each in value]
        return None if None in others else others
    return None


def _other_number(attr: Attr, value: Any) -> Any:
    low = float("-inf") if attr.minimum is None else attr.minimum
    high = float("inf") if attr.maximum is None else attr.maximum
    for other in (value + 1, value - 1, value / 2 if isinstance(value, float) else value // 2):
        if low <= other <= high and other != value:
            return other
    return None


# ---- The input of the checking process ----------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """The input of the checking process.

    Attributes:
        spec: The node to check.
        libraries: The plugins to load first.
        records: How many records the sample has; None: not known.
        checksums: Whether the format detects all damage.
        also: Further folders of samples, and how many records each has.
        limit: Seconds of processor time for one pass over the sample.
        folder: A folder for damaged samples.
        groups: The groups of checks to run; None: all.
        corpus: The folder of the inputs that a fuzzer kept; None: there is none.
        case: The only case to run, as a finding names it; None: all.
        part: The files of the sample that are looked at; none: all.
        is_large: Whether even these files are too large to be read hundreds of times.
        quick: Whether to do only what takes least and finds most: see checks.Group.
    """

    spec: Spec
    libraries: tuple[str, ...]
    records: int | None
    checksums: bool
    also: tuple[tuple[str, int], ...]
    limit: float
    folder: str
    groups: frozenset[str] | None = None
    case: str | None = None
    quick: bool = False
    corpus: str | None = None
    part: tuple[str, ...] = ()
    is_large: bool = False

    def of_sample(self, part: Sequence[str], is_large: bool) -> Job:
        """The job over some files of the sample; over all if `part` is empty."""
        if not part:
            return replace(self, is_large=is_large)
        spec = self.spec.with_files(list(part))
        return replace(self, spec=spec, records=None, part=tuple(part), is_large=is_large)

    def load(self) -> None:
        for library in self.libraries:
            load_library(library)
