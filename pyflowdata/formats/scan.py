"""Walks over the frames of damaged files, which go on behind a damage where the format allows."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..errors import FileError
from ..io.crc32c import masked
from ..native import ffi, lib
from .wire import decode_ofrecord

_HEAD, _FOOT = 12, 4


@dataclass(frozen=True)
class Damage:
    """A place in a file where something is wrong.

    Attributes:
        file: Its path.
        record: Number of the record in the file, from 0; None where it is not known.
        byte: Offset in the file; None where it is not known.
        message: What was found there, and what was expected.
        line: Of a text file, from 1.
    """

    file: str
    record: int | None
    byte: int | None
    message: str
    line: int | None = None

    def __str__(self) -> str:
        place = [f"record {self.record}"] if self.record is not None and self.line is None else []
        place += [f"byte {self.byte}"] if self.byte is not None else []
        where = f"{self.file}:{self.line}" if self.line is not None else self.file
        details = f" ({', '.join(place)})" if place else ""
        return f"{where}{details}: {self.message}"


@dataclass
class Scan:
    """What is known while and after a scan.

    Attributes:
        good: How many records are whole.
        notes: What could not be checked.
    """

    good: int = 0
    notes: list[str] = field(default_factory=list)


def _checksum(data: mmap.mmap, begin: int, end: int) -> int:
    """As the file has it, of the bytes where they lie."""
    with ffi.from_buffer("uint8_t[]", data) as bytes_:
        return masked(lib.pfd_crc32c(bytes_ + begin, end - begin))


def _is_head(data: mmap.mmap, at: int) -> bool:
    (said,) = struct.unpack_from("<I", data, at + 8)
    return bool(said == _checksum(data, at, at + 8))


def _next_record(data: mmap.mmap, at: int) -> int:
    """Where the next record begins whose head and data both have their checksums, or the end."""
    while True:
        with ffi.from_buffer("uint8_t[]", data) as bytes_:
            at = lib.pfd_find_tf_record(bytes_, len(data), at)
        if at == len(data):
            return at
        (size,) = struct.unpack_from("<Q", data, at)
        end = at + _HEAD + size
        (said,) = struct.unpack_from("<I", data, end)
        if said == _checksum(data, at + _HEAD, end):
            return at
        at += 1


def _opened(
    path: str, scan: Scan, walk: Callable[[str, mmap.mmap, Scan], Iterator[Damage]]
) -> Iterator[Damage]:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield from walk(path, data, scan)
    except OSError as failure:
        raise FileError(failure.strerror or str(failure), file=path) from None


def scan_ofrecord(path: str, scan: Scan) -> Iterator[Damage]:
    """All damage of a plain OFRecord file that shows: it has no checksums.

    Behind a frame that does not fit nothing can be found.

    Args:
        path: The file.
        scan: Counts the whole records.

    Raises:
        FileError: The file cannot be read.
    """
    yield from _opened(path, scan, _walk_ofrecord)


def _walk_ofrecord(path: str, data: mmap.mmap, scan: Scan) -> Iterator[Damage]:
    at, record, total = 0, 0, len(data)
    while at < total:
        if total - at < 8:
            yield Damage(path, record, at, f"{total - at} bytes are left; a record begins with 8")
            return
        (size,) = struct.unpack_from("<q", data, at)
        if not 0 < size <= total - at - 8:
            yield Damage(
                path, record, at, f"the length of the record is {size}, and {total - at - 8} bytes "
                "follow; what is behind it cannot be found"
            )  # fmt: skip
            return
        try:
            decode_ofrecord(data[at + 8 : at + 8 + size])
            scan.good += 1
        except ValueError as failure:
            yield Damage(path, record, at + 8, f"the message is damaged: {failure}")
        at, record = at + 8 + size, record + 1


def scan_tfrecord(path: str, scan: Scan) -> Iterator[Damage]:
    """All damage of a plain TFRecord file, in order.

    Behind a head whose checksum is wrong the next whole record is looked for byte by byte.

    Args:
        path: The file.
        scan: Counts the whole records.

    Raises:
        FileError: The file cannot be read.
    """
    yield from _opened(path, scan, _walk_tfrecord)


def _walk_tfrecord(path: str, data: mmap.mmap, scan: Scan) -> Iterator[Damage]:
    at, record, total = 0, 0, len(data)
    while at < total:
        if total - at < _HEAD:
            yield Damage(
                path, record, at, f"{total - at} bytes are left; a record begins with {_HEAD}"
            )
            return
        if not _is_head(data, at):
            begin = _next_record(data, at + 1)
            said = (
                f"the next whole record is {begin - at} bytes on"
                if begin < total
                else f"no whole record follows in the {total - at} bytes that are left"
            )
            yield Damage(path, record, at, f"the checksum of the length is wrong; {said}")
            at, record = begin, record + 1
            continue
        (size,) = struct.unpack_from("<Q", data, at)
        end = at + _HEAD + size
        if end + _FOOT > total:
            yield Damage(
                path, record, at, f"the record of {size} bytes runs {end + _FOOT - total} bytes "
                "past the end of the file"
            )  # fmt: skip
            return
        (said_crc,) = struct.unpack_from("<I", data, end)
        found = _checksum(data, at + _HEAD, end)
        if found == said_crc:
            scan.good += 1
        else:
            yield Damage(
                path, record, at, f"the data's checksum is {found:#010x}, and the file says "
                f"{said_crc:#010x}"
            )  # fmt: skip
        at, record = end + _FOOT, record + 1
