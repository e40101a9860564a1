"""Writes files of the format of kit/tests/faulty/box.h, independently of it."""

from __future__ import annotations

import struct
from pathlib import Path

PAYLOADS = [
    [b"alpha", b"be", b"gamma!", b"0123456789abcdef", b"x", b"delta-delta", b"last of 0"],
    [b"one", b"twotwo", b"three", b"", b"the very last!"],
]


def checksum(number: int, payload: bytes) -> int:
    """FNV-1a over the number of the record in its file, and the payload."""
    value = (2166136261 ^ number) * 16777619 % 2**32
    for byte in payload:
        value = (value ^ byte) * 16777619 % 2**32
    return value


def box_file(payloads: list[bytes]) -> bytes:
    frames = b"".join(
        struct.pack("<II", 4 + len(payload), checksum(number, payload)) + payload
        for number, payload in enumerate(payloads)
    )
    count = len(payloads)
    return b"BOX1" + struct.pack("<II", count, count ^ 0x5A5A5A5A) + frames


def box_index(payloads: list[bytes]) -> bytes:
    """The companion part-N.idx of box_index.h: a checksum, then offset and label of each record."""
    table, offset = b"", 16
    for number, payload in enumerate(payloads):
        table += struct.pack("<II", offset, 1000 + number)
        offset += 8 + len(payload)
    return struct.pack("<I", checksum(len(payloads), table)) + table


def write_indexed_samples(folder: Path) -> Path:
    """The same files, each with its index beside it."""
    write_box_samples(folder)
    for part, payloads in enumerate(PAYLOADS):
        (folder / f"part-{part}.idx").write_bytes(box_index(payloads))
    return folder


def write_fixed_samples(folder: Path) -> Path:
    """The files of box_fixed.h: records of one size."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, payloads in enumerate(PAYLOADS):
        full = [payload.ljust(16, b".") for payload in payloads]
        frames = b"".join(struct.pack("<I", checksum(0, payload)) + payload for payload in full)
        (folder / f"part-{part}").write_bytes(frames)
    return folder


def write_samples(folder: Path) -> Path:
    """Writes all kinds of samples to folders of their names; returns the folder of the box
    files."""
    write_indexed_samples(folder / "indexed")
    write_fixed_samples(folder / "fixed")
    return write_box_samples(folder / "box")


def write_box_samples(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, payloads in enumerate(PAYLOADS):
        (folder / f"part-{part}").write_bytes(box_file(payloads))
    return folder
