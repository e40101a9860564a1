"""The format of a file, from its first bytes, its size, and last its name."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import CorruptDataError, InvalidArgumentError, shown
from ..io.crc32c import crc32c, masked
from ..native import check, encode, ffi, lib, new_error, text
from .wire import decode_ofrecord

_MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".zstd": b"\x28\xb5\x2f\xfd"}
HEAD = 1 << 16  # bytes that are looked at, after decompression


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes:
        name: As the command line spells it.
        title: As its users do.
        suffixes: Of file names, where the content leaves it open.
        reader: The op that reads it.
        writer: The class of pyflowdata.io that writes it; "" for none.
        checks: What of a file can be checked.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str
    checks: str


FORMATS = {
    one.name: one
    for one in (
        Format("tfrecord", "TFRecord", (".tfrecord", ".tfrecords", ".tfr"), "TFRecordReader",
               "TFRecordWriter", "CRC-32C of lengths and data"),
        Format("ofrecord", "OFRecord", (".ofrecord",), "OFRecordReader", "OFRecordWriter",
               "frames and messages"),
        Format("onerec", "OneRec", (".onerec",), "OneRecReader", "", "XXH64 of heads and data"),
        Format("npy", "NumPy .npy", (".npy",), "NpyReader", "NpyWriter", "header and size"),
        Format("idx", "IDX", (".idx-ubyte",), "IDXReader", "IDXWriter", "header and size"),
        Format("tar", "tar", (".tar",), "TarReader", "TarWriter", "header checksums and frames"),
        Format("megatron", "Megatron .bin/.idx", (".bin", ".idx"), "MegatronReader",
               "MegatronWriter", "lengths and offsets"),
        Format("mds", "Mosaic MDS", (".mds",), "MDSReader", "", "offsets and sizes"),
        Format("mindrecord", "MindRecord", (".mindrecord",), "MindRecordReader", "",
               "pages and sizes"),
        Format("csv", "CSV", (".csv", ".tsv"), "CSVReader", "CSVWriter", "columns and numbers"),
        Format("text", "text lines", (".txt", ".jsonl", ".json", ".log"), "TextLineReader",
               "TextLineWriter", "none"),
        Format("raw", "flat binary", (".raw",), "RawReader", "RawWriter", "size"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Detected:
    """What a file is.

    Attributes:
        path: The file; of a folder with an index.json, that.
        format: A key of FORMATS.
        compression: "gzip", "zlib", "zstd" or None.
        head: The first bytes, decompressed.
        size: Of the file as it lies there.
        is_empty: Whether there are no bytes in it, decompressed.
    """

    path: str
    format: str
    compression: str | None
    head: bytes
    size: int
    is_empty: bool = False


# ---- What the first bytes say -------------------------------------------------------------------


def _is_tfrecord(head: bytes, size: int | None) -> bool:
    return len(head) >= 12 and struct.unpack("<I", head[8:12])[0] == masked(crc32c(head[:8]))


def _is_idx(head: bytes, size: int | None) -> bool:
    widths = {8: 1, 9: 1, 11: 2, 12: 4, 13: 4, 14: 8}
    if len(head) < 8 or head[:2] != b"\0\0" or head[2] not in widths or not head[3]:
        return False
    if len(head) < 4 + 4 * head[3]:
        return False
    count = widths[head[2]]
    for length in struct.unpack_from(f">{head[3]}I", head, 4):
        count *= length
    return size is None or size == count + 4 + 4 * head[3]


def _is_tar(head: bytes, size: int | None) -> bool:
    if len(head) < 512 or not head[0]:
        return False
    try:
        said = int(head[148:156].rstrip(b"\0 ") or b"x", 8)
    except ValueError:
        return False
    return said == sum(head[:148]) + 8 * 32 + sum(head[156:512])


def _is_mds(head: bytes, size: int | None) -> bool:
    """Offsets that grow, from behind the JSON that follows them to the end of the file."""
    if len(head) < 12:
        return False
    (count,) = struct.unpack_from("<I", head)
    end = 4 + 4 * (count + 1)
    if not 0 < count < 1 << 28 or (size is not None and end >= size):
        return False
    offsets = np.frombuffer(head, "<u4", (min(end, len(head)) - 4) // 4, 4)
    if offsets[0] < end + 2 or (offsets[1:] < offsets[:-1]).any():
        return False
    if end >= len(head):  # the offsets alone are more
        return size is None or int(offsets[-1]) <= size
    last = int(offsets[-1])
    return head[end : end + 1] == b"{" and (size is None or last == size)


def _is_mindrecord(head: bytes, size: int | None) -> bool:
    return (
        len(head) > 9
        and struct.unpack_from("<Q", head)[0] < 1 << 27
        and (
            (head[8:9] == b"{" and b'"shard_addresses"' in head)
            or head[8:22] == b'{"header_size"'
        )
    )


def _is_ofrecord(head: bytes, size: int | None) -> bool:
    if len(head) < 9:
        return False
    (length,) = struct.unpack_from("<q", head)
    if not 0 < length <= (1 << 40 if size is None else size - 8):
        return False
    if length > len(head) - 8:
        return head[8] == 0x0A and length < 1 << 31 and b"\x12" in head[10:200]
    try:
        return decode_ofrecord(head[8 : 8 + length]) is not None
    except ValueError:
        return False


def _is_index_json(head: bytes, size: int | None) -> bool:
    return head[:1] == b"{" and b'"shards"' in head and b'"format"' in head and b"mds" in head


def _is_text(head: bytes, size: int | None) -> bool:
    return bool(head) and b"\0" not in head and sum(byte < 9 for byte in head[:4096]) == 0


def _is_csv(head: bytes, size: int | None) -> bool:
    """Rows of equally many cells, two at least."""
    if not _is_text(head, size) or head[:1] in b"{[":
        return False
    lines = [one for one in head.split(b"\n")[:20] if one.strip()]
    lines = lines[:-1] if len(head) >= HEAD and len(lines) > 1 else lines
    return any(
        lines and lines[0].count(mark) > 0 and len({one.count(mark) for one in lines}) == 1
        for mark in (b",", b"\t", b";")
    )


_Check = Callable[[bytes, "int | None"], bool]
_CHECKS: list[tuple[str, _Check]] = [
    ("npy", lambda head, size: head.startswith(b"\x93NUMPY")),
    ("megatron", lambda head, size: head.startswith((b"MMIDIDX\0\0", b"TNTIDX\0\0"))),
    ("onerec", lambda head, size: head.startswith(b"^ONEREC$")),
    ("tfrecord", _is_tfrecord),
    ("tar", _is_tar),
    ("mindrecord", _is_mindrecord),
    ("mds", _is_index_json),
    ("idx", _is_idx),
    ("ofrecord", _is_ofrecord),
    ("csv", _is_csv),
    ("text", _is_text),
    ("mds", _is_mds),
]


def _by_name(path: Path, head: bytes) -> str | None:
    """What the name says where the content leaves it open."""
    if path.suffix == ".bin" and path.with_suffix(".idx").is_file():
        return "megatron"
    plain = path.name
    for packed in (".gz", ".zlib", ".zst", ".zstd"):
        plain = plain.removesuffix(packed)
    for one in FORMATS.values():
        if plain.lower().endswith(one.suffixes) and one.name != "megatron":
            return one.name
    return "text" if not head else None


def first_bytes(
    path: str | os.PathLike[str], count: int
) -> tuple[bytes | None, int, str | None]:
    """The first bytes of a file, decompressed; its size as it lies there; and its compression.

    There are fewer where the file ends, or is damaged, and None where that is before the first:
    who reads it all is told of that.

    Raises:
        FileError: The file cannot be read.
        UnsupportedError: It is compressed by what this build has no library for.
    """
    room = np.empty(count, np.uint8)  # memory that is not written to costs nothing
    numbers, name, err = ffi.new("int64_t[2]"), ffi.new("const char **"), new_error()
    where = encode(os.fspath(path), "path")
    status = lib.pfd_file_head(
        where, ffi.from_buffer("uint8_t[]", room), count, numbers, numbers + 1, name, err
    )
    check(status, err)
    compression = text(name[0])
    found = None if numbers[0] < 0 else room[: numbers[0]].tobytes()
    return found, int(numbers[1]), None if compression == "none" else compression


def detect(path: str | os.PathLike[str], format: str | None = None) -> Detected:
    """What a file is, by its content, and by its name where that leaves it open.

    Args:
        path: A file, or a folder with an index.json.
        format: A key of FORMATS, where the caller knows it; then only compression is looked for.

    Raises:
        FileError: The file cannot be read.
        UnsupportedError: It is compressed by what this build has no library for.
        InvalidArgumentError: It is of no format that is known here.
    """
    where = Path(path)
    if where.is_dir() and (where / "index.json").is_file():
        where = where / "index.json"
    given, size, compression = first_bytes(where, HEAD)
    head = given or b""
    plain_size = None if compression else size
    if format is None:
        format = _format_of(where, head, plain_size)
    elif format not in FORMATS:
        raise InvalidArgumentError(
            f"format = {shown(format)}; it must be one of {', '.join(FORMATS)}"
        )
    return Detected(str(where), format, compression, head, size, given == b"")


def _format_of(path: Path, head: bytes, size: int | None) -> str:
    named = _by_name(path, head)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") and named in ("csv", "text", None):
        raise InvalidArgumentError("it looks like UTF-16; convert it to UTF-8", file=str(path))
    if size is not None and path.suffix in _MAGIC and head.startswith(_MAGIC[path.suffix]):
        raise CorruptDataError(
            "it begins as compressed data does, and the header behind that is damaged",
            file=str(path),
        )
    if named == "csv" and _is_text(head, size):
        return "csv"
    if named == "megatron" and path.suffix == ".bin":
        return "megatron"
    found = next((name for name, check in _CHECKS if check(head, size)), None)
    if found == "csv" and named == "text":
        return "text"
    chosen = found or named
    if chosen is None:
        raise InvalidArgumentError(
            "its content is of no format that is known here; name one with --format: "
            + ", ".join(FORMATS),
            file=str(path),
        )
    return chosen
