"""CRC-32C (Castagnoli), and the masked form that TFRecord files hold."""

from __future__ import annotations

from ..native import lib


def crc32c(data: bytes) -> int:
    """Of bytes."""
    found: int = lib.pfd_crc32c(data, len(data))
    return found


def masked(crc: int) -> int:
    """So that the checksum of data that holds checksums is none of its own."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
