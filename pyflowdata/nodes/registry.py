"""The ops and file formats of the C library as Python data: names, attrs with defaults and limits,
and docs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..errors import InternalError
from ..native import CData, check, encode, ffi, lib, new_error, text

AttrValue = bool | int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


def _host_outputs() -> Iterator[str]:
    i = 0
    while (port := lib.pfd_host_output_at(i)) != ffi.NULL:
        yield text(port.name)
        i += 1


HOST_OUTPUTS = tuple(_host_outputs())  # which every reader can have besides its own



@dataclass(frozen=True)
class Compression:
    """How files are compressed.

    Attributes:
        name: As the attr `compression` has it.
        suffixes: They end the names of such files; the first one is the usual one.
        levels: The least and the most.
    """

    name: str
    suffixes: tuple[str, ...]
    levels: tuple[int, int]


def _compressions() -> Iterator[Compression]:
    i = 0
    while (found := lib.pfd_compression_at(i)) != ffi.NULL:
        levels = found.least_level, found.most_level
        yield Compression(text(found.name), tuple(text(found.suffixes).split("|")), levels)
        i += 1


COMPRESSIONS = {one.name: one for one in _compressions()}

_ENDLESS = 2.0**31 - 2  # larger integer limits are those of the type


@dataclass(frozen=True)
class AttrType:
    """One of the PFD_ATTR_* types.

    Attributes:
        word: As docs name it, for example "list of int".
        hint: As a type checker reads it.
        element: The Python type of a list's elements; None if it is not a list.
        parse: Makes the value from the text of a default.
    """

    word: str
    hint: str
    element: type | None
    parse: Callable[[str], AttrValue]


# C has checked every default when it registered the op.


def _elements(default: str) -> list[str]:
    return [part.lstrip(" ") for part in default.split(",")] if default else []


def _ints(default: str) -> AttrValue:
    return tuple(int(part) for part in _elements(default))


def _floats(default: str) -> AttrValue:
    return tuple(float(part) for part in _elements(default))


def _strings(default: str) -> AttrValue:
    return tuple(_elements(default))


def _bool(default: str) -> AttrValue:
    return {"true": True, "false": False}[default]


_INTS = "Sequence[int] | NDArray[Any]"
_FLOATS = "float | Sequence[float] | NDArray[Any]"
_TYPES: dict[int, AttrType] = {
    lib.PFD_ATTR_BOOL: AttrType("bool", "bool", None, _bool),
    lib.PFD_ATTR_INT32: AttrType("int", "int", None, int),
    lib.PFD_ATTR_INT64: AttrType("int", "int", None, int),
    lib.PFD_ATTR_FLOAT32: AttrType("float", "float", None, float),
    lib.PFD_ATTR_FLOAT64: AttrType("float", "float", None, float),
    lib.PFD_ATTR_STRING: AttrType("str", "str | PathLike[str]", None, str),
    lib.PFD_ATTR_CHOICE: AttrType("str", "str", None, str),
    lib.PFD_ATTR_DTYPE: AttrType("dtype", "DTypeLike", None, str),
    lib.PFD_ATTR_OBJECT: AttrType("object", "object", None, str),
    lib.PFD_ATTR_SHAPE: AttrType("shape", _INTS, int, _ints),
    lib.PFD_ATTR_LIST_INT64: AttrType("list of int", _INTS, int, _ints),
    lib.PFD_ATTR_LIST_FLOAT64: AttrType("list of float", _FLOATS, float, _floats),
    lib.PFD_ATTR_LIST_STRING: AttrType(
        "list of str", "str | PathLike[str] | Sequence[str | PathLike[str]]", str, _strings
    ),
}


@dataclass(frozen=True)
class Attr:
    """One attr of an op, as its C table declares it.

    Attributes:
        name: As users write it.
        type: What its values are.
        default: Its value if left out; None if it is required, or inferred from the files.
        is_found: Left out, it is inferred from the files when the node is made.
        minimum, maximum: Inclusive limits of numbers and list elements; None: no limit.
        choices: The valid strings or dtypes; empty: any.  "true" and "false" stand for bools, too.
        doc: One sentence.
    """

    name: str
    type: AttrType
    default: AttrValue | None
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    doc: str
    is_found: bool = False

    @property
    def hint(self) -> str:
        """As a type checker reads it; a dimension that may vary may also be None."""
        varies = self.type.word == "shape" and self.minimum is not None and self.minimum < 0
        if self.takes_none and not self.is_found:
            return f"{self.type.hint} | None"
        return _INTS.replace("int", "int | None", 1) if varies else self.type.hint

    @property
    def is_switch(self) -> bool:
        """Whether True and False are among the choices."""
        return "true" in self.choices

    @property
    def takes_none(self) -> bool:
        """Whether None is as left out; -1 stands for none in C."""
        return self.is_found or self.default == self.minimum == -1

    @property
    def required(self) -> bool:
        return self.default is None and not self.is_found


@dataclass(frozen=True)
class Port:
    """An input or output of an op."""

    name: str
    doc: str


@dataclass(frozen=True)
class Op:
    """An op of the registry, with what the host adds to every reader.

    Attributes:
        name: The op's own spelling, in CamelCase.
        doc: A paragraph; its first sentence is the summary.
        is_reader: Yields batches of records: of files, or of the data set that is its input.
        attrs, inputs, outputs: In the order of the C tables.  For the op of a node, those of the
            node.
        origin: "built in", the path of the plugin, or "python <module>:<function>".
        outputs_attr: The attr that lists the outputs of a node, which `outputs` then describes
            by one entry; "" if outputs are declared.
        has_many_inputs: Whether the only input takes one or more blobs.
        takes_ragged: Whether rows of inputs may differ in size.
        is_whole_batch: Whether it looks at all rows of a batch at once.
        has_equal_rows: Whether the rows of its ragged outputs have one shape within a batch.
        keeps_equal_rows: Whether they have where those of its ragged inputs have.
        has_optional_input: Whether the last input may be left out.
        is_view: Whether its rows are those of its inputs in another order, before batches; or, if
            it is a reader, in batches.
        method: The method of a data set that makes the view; "": it is not a view.
    """

    name: str
    doc: str
    is_reader: bool
    attrs: tuple[Attr, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    origin: str
    outputs_attr: str = ""
    has_many_inputs: bool = False
    takes_ragged: bool = False
    is_whole_batch: bool = False
    has_equal_rows: bool = False
    keeps_equal_rows: bool = False
    has_optional_input: bool = False
    is_view: bool = False
    method: str = ""

    def attr(self, name: str) -> Attr | None:
        return next((attr for attr in self.attrs if attr.name == name), None)

    def takes(self, num_inputs: int) -> bool:
        """Whether a node of the op can have that many inputs."""
        if self.has_many_inputs:
            return num_inputs > 0
        return 0 <= len(self.inputs) - num_inputs <= self.has_optional_input

    def switch(self, output: str) -> Attr | None:
        """The attr that turns an output on, or None: the bool `with_<output>`, or a list with the
        name of the output, which is empty by default and must not be."""
        if self.outputs_attr and output not in HOST_OUTPUTS:
            return None  # named by the user; it may have the name of an attr
        own = self.attr(output)
        return self.attr(f"with_{output}") or (own if own and own.default == () else None)


def _limit(value: float, is_int: bool) -> float | None:
    if value in (float("inf"), float("-inf")) or (is_int and abs(value) >= _ENDLESS):
        return None
    return int(value) if is_int else value


def _read_attr(op: str, row: CData) -> Attr:
    name = text(row.name)
    kind = _TYPES.get(row.type)
    if kind is None:
        raise InternalError(f"attr '{name}' has the unknown type {row.type}", op=op)
    limited = row.min != row.max
    is_int = kind.word in ("int", "shape", "list of int")
    is_found = bool(row.flags & lib.PFD_ATTR_FOUND)
    has_default = row.default_value != ffi.NULL and not is_found
    return Attr(
        name=name,
        type=kind,
        default=kind.parse(text(row.default_value)) if has_default else None,
        minimum=_limit(row.min, is_int) if limited else None,
        maximum=_limit(row.max, is_int) if limited else None,
        choices=tuple(text(row.choices).split("|")) if text(row.choices) else (),
        doc=text(row.doc),
        is_found=is_found,
    )


def _read_ports(ports: CData, count: int) -> tuple[Port, ...]:
    return tuple(Port(text(ports[i].name), text(ports[i].doc)) for i in range(count))


def with_ports_of(op: Op, own: CData) -> Op:
    """The op with the inputs and outputs of the `pfd_op` that a node has of it."""
    if not op.outputs_attr and not op.has_many_inputs and not op.has_optional_input:
        return op
    return replace(
        op,
        inputs=_read_ports(own.inputs, own.num_inputs),
        outputs=_read_ports(own.outputs, own.num_outputs),
    )


def _read_op(op: CData, origin: str, method: str) -> Op:
    name = text(op.name)
    return Op(
        name=name,
        doc=text(op.doc),
        is_reader=op.open != ffi.NULL,
        attrs=tuple(_read_attr(name, op.attrs[i]) for i in range(op.num_attrs)),
        inputs=_read_ports(op.inputs, op.num_inputs),
        outputs=_read_ports(op.outputs, op.num_outputs),
        origin=origin,
        outputs_attr=text(op.outputs_attr),
        has_many_inputs=bool(op.flags & lib.PFD_MANY_INPUTS),
        takes_ragged=bool(op.flags & lib.PFD_TAKES_RAGGED),
        is_whole_batch=bool(op.flags & lib.PFD_WHOLE_BATCH),
        has_equal_rows=bool(op.flags & lib.PFD_EQUAL_ROWS),
        keeps_equal_rows=bool(op.flags & lib.PFD_KEEPS_EQUAL_ROWS),
        has_optional_input=bool(op.flags & lib.PFD_OPTIONAL_INPUT),
        is_view=bool(op.flags & lib.PFD_VIEW),
        method=method,
    )


_read: dict[int, Op] = {}  # by the address of the C library's op, which does not change
_num_passed = 0  # ops of the registry that were read; there may be more now
_lock = threading.Lock()


def _address(op: CData) -> int:
    return int(ffi.cast("uintptr_t", op))


def _op_at(index: int) -> Op | None:
    op = lib.pfd_op_at(index)
    if op == ffi.NULL:
        return None
    address = _address(op)
    if address not in _read:
        origin, method = text(lib.pfd_op_origin(index)), text(lib.pfd_op_method(index))
        _read[address] = _read_op(op, origin, method)
    return _read[address]


def registered_ops() -> tuple[Op, ...]:
    """All ops: the built-in ones in the order of the C library's list, then those of plugins."""
    ops: list[Op] = []
    with _lock:
        while (op := _op_at(len(ops))) is not None:
            ops.append(op)
    return tuple(ops)


def find_op(name: str) -> Op:
    """The op by any accepted spelling; an InvalidArgumentError that lists near names if none."""
    global _num_passed
    found, err = ffi.new("const pfd_op **"), new_error()
    check(lib.pfd_op_find(encode(name, "op name"), found, err), err)
    address = _address(found[0])
    if address not in _read:
        with _lock:
            while _op_at(_num_passed) is not None:
                _num_passed += 1
    if address not in _read:
        registered_ops()  # it has replaced an earlier one
    return _read[address]


# ---- File formats -------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileFormat:
    """A file format of the registry.

    Attributes:
        name: As commands spell it.
        title: As its users spell it.
        doc: One sentence.
        suffixes: Of file names.
        reader: Name of the op that reads it.
        decoders: Names of the ops that decode the reader's records, the usual one first.
        checks: What the reader checks to find damage; "" for nothing.
        folder_file: Name of the file that makes a folder a data set of the format; "" for none.
        reads_folders: Whether its files are folders, each of which is a data set.
        origin: "built in", or the path of the plugin.
    """

    name: str
    title: str
    doc: str
    suffixes: tuple[str, ...]
    reader: str
    decoders: tuple[str, ...]
    checks: str
    folder_file: str
    reads_folders: bool
    origin: str


def _names(joined: CData) -> tuple[str, ...]:
    return tuple(text(joined).split("|")) if joined != ffi.NULL else ()


def _read_format(found: CData, origin: str) -> FileFormat:
    return FileFormat(
        name=text(found.name),
        title=text(found.title),
        doc=text(found.doc),
        suffixes=_names(found.suffixes),
        reader=text(found.reader),
        decoders=_names(found.decoders),
        checks=text(found.checks),
        folder_file=text(found.folder_file),
        reads_folders=found.probe_folder != ffi.NULL,
        origin=origin,
    )


_formats: list[tuple[CData, FileFormat]] = []  # that were read before; a plugin may replace its own


def registered_formats() -> tuple[FileFormat, ...]:
    """All file formats: the built-in ones in the order of the C library's list, then those of
    plugins."""
    global _formats
    formats: list[tuple[CData, FileFormat]] = []
    while (found := lib.pfd_format_at(len(formats))) != ffi.NULL:
        place = len(formats)
        if place < len(_formats) and _formats[place][0] == found:
            formats.append(_formats[place])
        else:
            origin = text(lib.pfd_format_origin(place))
            formats.append((found, _read_format(found, origin)))
    _formats = formats
    return tuple(facts for _, facts in formats)


def folder_format(path: str) -> str | None:
    """The name of the format of which a folder is a data set as a whole; None: of none."""
    found = lib.pfd_format_of_folder(encode(path, "path"))
    return None if found == ffi.NULL else text(found.name)


def detect_format(path: str, head: bytes, file_size: int | None) -> str:
    """The name of a file's format.

    Args:
        path: Of the file, for its suffix and its sidecar files.
        head: The first bytes of the file, decompressed: up to PFD_PROBE_BYTES.
        file_size: In bytes; None if the file is compressed.

    Raises:
        InvalidArgumentError: Its format is not known, or it is text in UTF-16.
        CorruptDataError: Name and first bytes are those of a compressed file, but the rest of the
            header is damaged.
    """
    out, err = ffi.new("const pfd_format **"), new_error()
    size = -1 if file_size is None else file_size
    data = ffi.from_buffer("uint8_t[]", head)
    check(lib.pfd_format_detect(encode(path, "path"), data, len(head), size, out, err), err)
    return text(out[0].name)
