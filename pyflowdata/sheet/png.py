"""Writes PNG files (W3C, Portable Network Graphics, third edition)."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUECOLOR, _SUB = 2, 1  # a type of colour and one of filters


def encode_png(pixels: npt.NDArray[Any]) -> bytes:
    """The file of an RGB image.

    Args:
        pixels: uint8 of shape (height, width, 3), neither side 0.
    """
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _TRUECOLOR, 0, 0, 0)
    lines = np.empty((height, 1 + 3 * width), np.uint8)
    lines[:, 0] = _SUB  # each byte less that of the pixel before
    differences = pixels.copy()
    differences[:, 1:] -= pixels[:, :-1]
    lines[:, 1:] = differences.reshape(height, -1)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b"")]
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
