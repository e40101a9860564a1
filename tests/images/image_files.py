"""Images for tests, and files that Pillow does not write."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

FORMATS = ("jpeg", "png", "webp", "bmp", "ppm")


def photo(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Smooth with some noise, different in each channel."""
    noise = np.random.default_rng(seed).integers(-12, 12, (height, width, channels))
    y, x, c = np.mgrid[:height, :width, :channels]
    waves = 60 * np.sin(x / (7 + seed % 5) + c) + 50 * np.cos(y / 9 - c)
    return (128 + waves + noise).clip(0, 255).astype(np.uint8)


def saved(image: np.ndarray | Image.Image, form: str, **options: Any) -> bytes:
    """The file that Pillow writes."""
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image[..., 0] if image.shape[2:] == (1,) else image)
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def as_pillow(data: bytes, color_space: str) -> np.ndarray:
    """The pixels that Pillow decodes, (height, width, channels)."""
    image = opened(data)
    if color_space == "GRAY":
        if image.format == "JPEG" and image.mode != "CMYK":
            image = Image.open(io.BytesIO(data))
            image.draft("L", image.size)  # the stored luminance
        return np.asarray(image.convert("L"))[..., None]
    rgb = np.asarray(image.convert("RGBA" if color_space == "RGBA" else "RGB"))
    return rgb[..., ::-1] if color_space == "BGR" else rgb


# ---- PNG ----------------------------------------------------------------------------------------


def chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def _packed_rows(samples: np.ndarray, depth: int) -> bytes:
    """The rows of (height, width, channels), each after the number of its filter, which is none."""
    out = b""
    for row in samples.reshape(samples.shape[0], -1):
        if depth == 16:
            data = row.astype(">u2").tobytes()
        elif depth == 8:
            data = row.astype(np.uint8).tobytes()
        else:
            bits = (row[:, None] >> np.arange(depth)[::-1]) & 1
            data = np.packbits(bits.astype(np.uint8).ravel()).tobytes()
        out += b"\0" + data
    return out


ADAM7 = ((0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2),
         (1, 2, 0, 1))  # fmt: skip


def png(samples: np.ndarray, depth: int, kind: int, interlaced: bool = False,
        before: bytes = b"", after: bytes = b"") -> bytes:  # fmt: skip
    """A PNG file of a colour type, with chunks before and after the pixels."""
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    if interlaced:
        rows = b""
        for top, down, left, right in ADAM7:
            part = samples[top::down, left::right]
            rows += _packed_rows(part, depth) if part.size else b""
    else:
        rows = _packed_rows(samples, depth)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before
            + chunk(b"IDAT", zlib.compress(rows)) + after + chunk(b"IEND", b""))  # fmt: skip


# ---- JPEG ---------------------------------------------------------------------------------------


def segments(data: bytes) -> list[tuple[int, int, int]]:
    """Marker, begin and end of each segment before the pixels."""
    found, at = [], 2
    while data[at + 1] != 0xDA:
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        found.append((data[at + 1], at, at + 2 + size))
        at += 2 + size
    return found


def without_tables(data: bytes) -> bytes:
    """A JPEG file without its Huffman tables, as in frames of MJPEG."""
    for marker, begin, end in reversed(segments(data)):
        if marker == 0xC4:
            data = data[:begin] + data[end:]
    return data


# ---- Orientation --------------------------------------------------------------------------------


def exif(orientation: int, order: str = "<") -> bytes:
    """EXIF data with this orientation behind another tag."""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    entry = struct.pack(order + "HHIHH", 0x10F, 2, 1, 65, 0)
    entry += struct.pack(order + "HHIHH", 0x112, 3, 1, orientation, 0)
    return b"Exif\0\0" + mark + struct.pack(order + "IH", 8, 2) + entry + b"\0\0\0\0"
