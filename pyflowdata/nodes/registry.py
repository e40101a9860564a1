"""The ops and file formats of the C library as Python data: names, attrs with defaults and limits,
and docs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import InternalError, InvalidArgumentError
from ..native import CData, address_of, build_hint, check, encode, ffi, lib, new_error, text
from .op_facts import BUILT_IN, Op, OpReader


def _host_outputs() -> Iterator[str]:
    i = 0
    while (port := lib.pfd_host_output_at(i)) != ffi.NULL:
        yield text(port.name)
        i += 1


JSON_TEXT = "json"  # the type of a field whose rows are the texts of values
HOST_OUTPUTS = tuple(_host_outputs())  # which every reader can have besides its own


class Compression(NamedTuple):
    """How files are compressed.

    Attributes:
        name: The name, as in the attr `compression`.
        suffixes: Endings of the names of such files, the usual one first.
        levels: The least and the greatest level.
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


_ops = OpReader(lib, text)


def with_ports_of(op: Op, own: CData) -> Op:
    """The op with the inputs and outputs of `own`, the `pfd_op` of a node."""
    if not op.outputs_attr and not op.has_many_inputs and not op.has_optional_input:
        return op
    return op._replace(
        inputs=_ops.ports(own.inputs, own.num_inputs),
        outputs=_ops.ports(own.outputs, own.num_outputs),
    )


def _read_op(op: CData, origin: str, method: str) -> Op:
    try:
        return _ops.op(op, origin, HOST_OUTPUTS)._replace(method=method)
    except ValueError as failure:
        raise InternalError(str(failure), op=text(op.name)) from None


_read: dict[int, Op] = {}  # by the address of the C library's op, which does not change
_lock = threading.Lock()


def _op_at(index: int, op: CData) -> Op:
    """The facts about the op at a place in the registry; they are read once."""
    address = address_of(op)
    with _lock:
        if address not in _read:
            origin, method = text(lib.pfd_op_origin(index)), text(lib.pfd_op_method(index))
            _read[address] = _read_op(op, origin, method)
        return _read[address]


def _listed() -> Iterator[tuple[int, CData]]:
    """The places and descriptors of all ops, without reading their facts."""
    index = 0
    while (op := lib.pfd_op_at(index)) != ffi.NULL:
        yield index, op
        index += 1


def op_methods() -> dict[str, str]:
    """The methods of data sets that are made of ops, each with the name of the op."""
    methods = ((text(lib.pfd_op_method(index)), op) for index, op in _listed())
    return {method: text(op.name) for method, op in methods if method}


def op_names() -> list[str]:
    """The names of registered_ops(), in that order."""
    return [text(op.name) for _, op in _listed()]


def registered_ops() -> tuple[Op, ...]:
    """All ops: the built-in ones in the order of the C library's list, then those of plugins."""
    return tuple(_op_at(index, op) for index, op in _listed())


def find_op(name: str) -> Op:
    """The op with any accepted spelling; if there is none, an InvalidArgumentError that lists
    similar names.
    """
    found, err = ffi.new("const pfd_op **"), new_error()
    try:
        check(lib.pfd_op_find(encode(name, "op name"), found, err), err)
    except InvalidArgumentError as failure:
        failure.message += build_hint()
        raise
    known = _read.get(address_of(found[0]))
    return known or next(_op_at(index, op) for index, op in _listed() if op == found[0])


# ---- File formats -------------------------------------------------------------------------------


class FileFormat(NamedTuple):
    """A file format of the registry.

    Attributes:
        name: As commands spell it.
        title: As its users spell it.
        doc: One sentence.
        suffixes: Endings of file names.
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


_built_in: tuple[FileFormat, ...] = ()  # read once
_formats: dict[int, FileFormat] = {}  # of plugins, by address; a plugin may replace its own


def registered_formats() -> tuple[FileFormat, ...]:
    """All file formats: the built-in ones in the order of the C library's list, then those of
    plugins."""
    global _built_in
    others: list[FileFormat] = []
    while (found := lib.pfd_format_at(place := len(_built_in) + len(others))) != ffi.NULL:
        address = address_of(found)
        if address not in _formats:
            _formats[address] = _read_format(found, text(lib.pfd_format_origin(place)))
        others.append(_formats[address])
    if not _built_in:
        _built_in = tuple(one for one in others if one.origin == BUILT_IN)
        return tuple(others)
    return (*_built_in, *others) if others else _built_in


def folder_format(path: str) -> str | None:
    """The name of the format in which a folder is one data set as a whole; None: there is no such
    format.

    Raises:
        FileError: A folder in it cannot be read.
    """
    found, err = ffi.new("const pfd_format **"), new_error()
    check(lib.pfd_format_of_folder(encode(path, "path"), found, err), err)
    return None if found[0] == ffi.NULL else text(found[0].name)


def detect_format(path: str, head: bytes, file_size: int | None) -> str:
    """The name of a file's format.

    Args:
        path: Path of the file, for its suffix and its sidecar files.
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
