"""Opens files of a format: which fields their records have."""

from __future__ import annotations

import dataclasses
import io
import itertools
import os
import tarfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import CorruptDataError, Error, InvalidArgumentError, UnsupportedError, shown
from ..graph import Blob, Node, find_op
from ..loader import DataLoader
from .detect import FORMATS, HEAD, Detected, detect, first_bytes
from .fields import SEEN_OF_MEMBER, Field, features_fields, tar_fields
from .source import RECORD, SCANNED, Source, array_fields, make_node, table_source
from .wire import decode_example, decode_ofrecord

_LOOKED_AT = 256  # records, to find the fields
_LOOKED_AT_BYTES = 1 << 24  # of a tar file that Python does not decompress
# What Python raises of bytes that are of another kind than they look.
_MALFORMED = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, MemoryError)
_EMPTY = ("tfrecord", "ofrecord", "csv", "text", "raw", "tar")  # of which 0 bytes are a whole file
_WHOLE = ("tfrecord", "ofrecord", "onerec")  # their readers give records as bytes


def _first_records(source: Source, found: Detected) -> list[bytes]:
    """The first whole records of a file, as the reader gives them."""
    one = dataclasses.replace(source, files=(found.path,), fields=())
    with one.loader([RECORD], batch_size=_LOOKED_AT, on_error="skip") as loader:
        for batch in loader:
            records: list[bytes] = batch[RECORD].to_bytes_list()
            return records
    return []


def _messages(
    source: Source, found: Detected, decode: Callable[[bytes], dict[str, Any] | None]
) -> Source:
    records = _first_records(source, found)
    try:
        fields, left_out = features_fields(decode(record) or {} for record in records)
    except ValueError as failure:
        if isinstance(failure, Error):
            raise
        return source  # records of something else: they stay whole
    return dataclasses.replace(source, fields=tuple(fields), left_out=tuple(left_out))


def _tfrecord(source: Source, found: Detected) -> Source:
    return _messages(source, found, decode_example)


def _ofrecord(source: Source, found: Detected) -> Source:
    source = _messages(source, found, decode_ofrecord)
    free = [one for one in source.fields if None in one.shape]
    said = (
        f"{one.name}, which has a varying number of values: {one.name}:{one.dtype}[LENGTH] in "
        "--fields" for one in free
    )  # fmt: skip
    fields = tuple(one for one in source.fields if one not in free)
    return dataclasses.replace(source, fields=fields, left_out=(*source.left_out, *said))


def _raw(source: Source, found: Detected) -> Source:
    return dataclasses.replace(source, fields=(Field("out", "uint8"),))


def _text(source: Source, found: Detected) -> Source:
    return dataclasses.replace(source, fields=(Field("out", "bytes"),))


def _csv(source: Source, found: Detected) -> Source:
    return table_source(source, found.head, {})


def _refuse_other_columns(found: Sequence[Detected]) -> None:
    """Columns are read by number, so that all files must have the same ones."""
    first = found[0].head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
    for one in found[1:]:
        line = one.head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
        if one.head and line != first:
            raise InvalidArgumentError(
                f"its columns are {shown(line.decode(errors='replace'))}, and those of "
                f"{found[0].path} are {shown(first.decode(errors='replace'))}: read it by itself",
                file=one.path,
            )


def _tar(source: Source, found: Detected) -> Source:
    members: list[tuple[str, bytes]] = []
    seen, is_whole = 0, True
    try:
        with _archive(found) as archive:
            for one in itertools.islice(archive, _LOOKED_AT):
                seen += 1
                file = archive.extractfile(one) if one.isfile() else None
                if file is not None:
                    members.append((one.name, file.read(SEEN_OF_MEMBER)))
    except (tarfile.TarError, EOFError, OSError, zlib.error) as failure:
        is_whole = False
        if not seen:
            raise CorruptDataError(f"no member can be read: {failure}", file=found.path) from None
    is_cut, is_whole = not is_whole, is_whole and seen < _LOOKED_AT
    fields = tuple(tar_fields(members, is_whole))
    if is_cut and not fields:
        raise CorruptDataError("no member of the file is whole", file=found.path)
    return dataclasses.replace(source, fields=fields, is_empty=is_whole and not fields)


def _archive(found: Detected) -> tarfile.TarFile:
    """The members in sequence; Python reads neither zlib nor zstd as it goes."""
    if found.compression in (None, "gzip"):
        return tarfile.open(found.path, "r|" if found.compression is None else "r|gz")
    head = io.BytesIO(first_bytes(found.path, _LOOKED_AT_BYTES)[0] or b"")
    return tarfile.open(fileobj=head, mode="r|")


# ---- What readers find in headers ---------------------------------------------------------------


def _by_header(source: Source, found: Detected) -> tuple[Source, Node]:
    """The node that reads a file, and the source with the attrs that it found there."""
    op = find_op(source.format.reader)
    node = make_node(op.name, (), files=[found.path], seed=0, rank=0, world_size=1)
    known = [attr.name for attr in op.attrs if attr.is_found and attr.name != op.outputs_attr]
    attrs = tuple((name, node.values[name]) for name in known if name in node.values)
    is_empty = found.size <= HEAD and _is_without_records(node)
    return dataclasses.replace(source, attrs=attrs, is_empty=is_empty), node


def _is_without_records(node: Node) -> bool:
    """Whether the files are whole, and have no record."""
    try:
        with DataLoader(node.outputs):
            return False
    except CorruptDataError as failure:
        return failure.reason == "no-records"
    except Error:  # who reads it is told
        return False


def _array(source: Source, found: Detected) -> Source:
    source, node = _by_header(source, found)
    return dataclasses.replace(source, fields=array_fields(node.outputs))


def _tokens(source: Source, found: Detected) -> Source:
    files = tuple(str(Path(one).with_suffix(".bin")) for one in source.files)
    source, node = _by_header(source, found)
    field = Field("tokens", node.outputs[0].dtype.name, (None,))
    return dataclasses.replace(source, files=files, fields=(field,))


def _columns(source: Source, found: Detected) -> Source:
    """The columns that the files name; none where they do not say the type of one."""
    try:
        source, node = _by_header(source, found)
    except UnsupportedError as failure:
        return dataclasses.replace(source, left_out=(failure.message,))
    except CorruptDataError as failure:
        if failure.reason != "no-records":
            raise
        return dataclasses.replace(source, is_empty=True)
    listed: Any = node.values[node.op.outputs_attr]
    fields = tuple(map(_column, listed, node.outputs))
    return dataclasses.replace(source, fields=fields)


def _column(element: str, blob: Blob) -> Field:
    """The field that [NAME=]KEY:TYPE stands for, called as in the file."""
    key, _, kind = element.rpartition("=")[2].rpartition(":")
    return Field(key, "bytes") if kind == "bytes" else Field(key, blob.dtype.name, blob.shape[1:])


_FINDERS: dict[str, Callable[[Source, Detected], Source]] = {
    "tfrecord": _tfrecord, "ofrecord": _ofrecord, "npy": _array, "idx": _array, "raw": _raw,
    "text": _text, "csv": _csv, "tar": _tar, "megatron": _tokens, "mds": _columns,
    "mindrecord": _columns,
}  # fmt: skip


def _with_fields(
    source: Source,
    found: Sequence[Detected],
    finder: Callable[[Source, Detected], Source] | None,
    only_records: bool,
) -> Source:
    """The source with the fields of its first file that has some bytes."""
    some = [one for one in found if not one.is_empty or one.format not in _EMPTY]
    first = next(iter(some), found[0])
    if not some and (source.has_records or first.format == "tar"):
        return dataclasses.replace(source, is_empty=True)
    if finder is None:
        return source
    plain, source = source, finder(source, first)
    if source.is_empty:
        is_empty = all(finder(plain, one).is_empty for one in some)
        source = dataclasses.replace(source, is_empty=is_empty)
    elif not some:
        source = dataclasses.replace(source, is_empty=True)
    if first.format == "csv" and dict(source.attrs).get("header") == "yes" and first.head:
        _refuse_other_columns(found)
    if first.format == "csv" and only_records:
        source = source.as_cells()
    if first.format == "tar" and only_records:
        fields = tuple(dataclasses.replace(one, dtype="bytes", shape=()) for one in source.fields)
        source = dataclasses.replace(source, fields=fields)
    return source


def _detect(path: str | os.PathLike[str], format: str | None) -> Detected:
    """What a file is; damage of a compressed one comes before what its bytes look like."""
    try:
        found = detect(path, format)
    except InvalidArgumentError as failure:
        if failure.file is not None:
            _refuse_damaged(failure.file)
        raise
    if found.compression and found.format in ("text", "raw") and len(found.head) < HEAD:
        _refuse_damaged(found.path)
    if found.compression and not found.head:
        _refuse_damaged(found.path)
        return dataclasses.replace(found, size=0)
    return found


def _refuse_damaged(path: str) -> None:
    """Raises where a file is compressed, and cannot be decompressed to its end."""
    if first_bytes(path, 1)[2] is None:
        return
    reader = make_node(
        "TextLineReader", (), files=[path], seed=0, rank=0, world_size=1, batch_size=SCANNED
    )
    try:
        with DataLoader(reader.outputs) as loader:
            for _ in loader:
                pass
    except CorruptDataError as failure:
        if failure.reason != "no-records":
            raise type(failure)(failure.message, file=failure.file or path) from None


def open_source(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,
    *,
    only_records: bool = False,
) -> Source:
    """Looks at files, which must be of one format, and finds the fields of their records.

    Args:
        paths: The files; `.bin` and `.idx` of Megatron name each other.
        format: A key of FORMATS; None: found by content.
        only_records: Whether records stay as they are: fields are not looked for where the reader
            gives whole records, and the files of a tar file's samples are not decoded.

    Raises:
        InvalidArgumentError: They are of no known format, or of several.
        FileError: One cannot be read.
        UnsupportedError: They are of a kind that its reader does not read.
    """
    found = [_detect(path, format) for path in paths]
    kinds = {(one.format, one.compression): one for one in reversed(found)}
    if len(kinds) != 1:
        said = ", ".join(
            f"{one.path} is {FORMATS[one.format].title}"
            + (f" ({one.compression})" if one.compression else "")
            for one in list(reversed(kinds.values()))[:8]
        )
        raise InvalidArgumentError(f"the files are not of one format: {said}")
    first = found[0]
    files = tuple(one.path for one in found)
    source = Source(FORMATS[first.format], first.compression, files)
    finder = _FINDERS.get(first.format)
    if first.format in _WHOLE:
        source = dataclasses.replace(source, has_records=True)
        finder = None if only_records else finder
    try:
        return _with_fields(source, found, finder, only_records)
    except Error as failure:
        if failure.file is None and failure.op is None:
            failure.file = first.path
        raise
    except _MALFORMED as failure:
        raise CorruptDataError(
            f"what it begins with is no {source.format.title} file's: {failure!r}", file=first.path
        ) from None
