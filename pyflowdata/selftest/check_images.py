"""Small images, and loops over pixels and numbers."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import ops
from .check import need, same

# The picture below, as Pillow wrote it: JPEG with quality 90, and WebP without loss.
_JPEG = """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4R
DgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU
FBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAMABADAREAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAA
BgQH/8QAGxAAAQQDAAAAAAAAAAAAAAAAAAMEBSIGITH/xAAWAQEBAQAAAAAAAAAAAAAAAAAIBQf/xAAeEQABAgcB
AAAAAAAAAAAAAAAAAwYBAgQFIjJSYv/aAAwDAQACEQMRAD8AmkMc7Uy1Nq+Q7NlPUNyGO9qVE2r5Fk2U9TaJBiju
okErfT8hdbMsMQ3IMUd1Kqdup+RZNmWGJ//Z
"""
_WEBP = """
UklGRjQAAABXRUJQVlA4TCcAAAAvD8ACALmM6H/sIqL/ASJtm/lXNklzcHassG0bFJaGQxETIPRW6l0A
"""


def _picture() -> npt.NDArray[np.uint8]:
    y, x = np.mgrid[0:12, 0:16]
    return np.stack([10 * x + 5 * y, 200 - 8 * x, 20 * y], -1).astype(np.uint8)


def _decoded(data: bytes) -> npt.NDArray[np.uint8]:
    found = ops.ImageDecoder(np.frombuffer(data, np.uint8))
    assert isinstance(found, np.ndarray)
    return found


def jpeg(folder: Path) -> None:
    """A JPEG file, as near as its quality allows."""
    need("libjpeg-turbo")
    off = np.abs(_decoded(base64.b64decode(_JPEG)).astype(int) - _picture())
    same(bool(off.max() <= 6), True)


def webp(folder: Path) -> None:
    """A WebP file without loss."""
    need("libwebp")
    same(_decoded(base64.b64decode(_WEBP)), _picture())


def png(folder: Path) -> None:
    """A PNG file that Python's zlib compresses."""
    need("libpng")
    height, width, _ = (picture := _picture()).shape
    scanlines = b"".join(b"\0" + line.tobytes() for line in picture)
    data = b"\x89PNG\r\n\x1a\n"
    for kind, content in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(scanlines)),
        (b"IEND", b""),
    ):
        check = zlib.crc32(kind + content)
        data += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
    same(_decoded(data), picture)


def arithmetic(folder: Path) -> None:
    """Scaling, rounding to float16, and flipping: every bit as in NumPy."""
    pixels = (np.arange(3 * 1031) * 7919 % 256).astype(np.uint8).reshape(3, 1031)
    wanted = pixels.astype(np.float32) * np.float32(0.25) + np.float32(-3)
    same(ops.Affine(pixels, scale=0.25, shift=-3.0, dtype="float32"), wanted)
    numbers = (np.arange(2000, dtype=np.float32) / 9) ** 2
    same(ops.Cast(numbers[None], dtype="float16"), numbers[None].astype(np.float16))
    flip = ops.ImageFlip(_picture(), flip_code=np.int8(1))
    same(flip, _picture()[:, ::-1])
