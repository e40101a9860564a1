"""Data in the containers of gzip, zlib and zstd, not compressed: the same bytes on any machine."""

from __future__ import annotations

import struct
import zlib

_DEFLATE_BLOCK = 65_535
_ZSTD_BLOCK = 1 << 17


def _blocks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)] or [b""]


def _deflate(data: bytes) -> bytes:
    blocks = _blocks(data, _DEFLATE_BLOCK)
    return b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ 0xFFFF) + block
        for block in blocks
    )


def gzip(data: bytes) -> bytes:
    """One member without name and time."""
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    return head + _deflate(data) + struct.pack("<II", zlib.crc32(data), len(data) % 2**32)


def zlib_stream(data: bytes) -> bytes:
    return b"\x78\x01" + _deflate(data) + struct.pack(">I", zlib.adler32(data))


def zstd(data: bytes) -> bytes:
    """One frame with its content's size, without a checksum."""
    blocks = _blocks(data, _ZSTD_BLOCK)
    frame = b"\x28\xb5\x2f\xfd" + struct.pack("<BI", 0xA0, len(data))
    for block in blocks:
        frame += struct.pack("<I", len(block) << 3 | (block is blocks[-1]))[:3] + block
    return frame
