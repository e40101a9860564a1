"""Protobuf messages of features as Python reads them: which features a record has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_WIDTHS = {"float32": 4, "float64": 8}


@dataclass(frozen=True)
class Feature:
    """What a feature has: its dtype, or "bytes", and how many values."""

    dtype: str
    count: int


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number has more than 10 bytes")


def fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and bytes of each field."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind, begin = tag & 7, at
        if kind == 0:
            _, at = _varint(data, at)
        elif kind == 2:
            size, begin = _varint(data, at)
            at = begin + size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field has the wire type {kind}")
        if at > len(data) or tag >> 3 == 0:
            raise ValueError("a field runs past the end")
        yield tag >> 3, kind, data[begin:at]


def _feature(data: bytes, kinds: dict[int, str]) -> Feature | None:
    found: Feature | None = None
    for number, kind, body in fields(data):
        if number not in kinds or kind != 2:
            continue
        dtype = kinds[number]
        count = 0
        for inner, wire, values in fields(body):
            if inner != 1:
                continue
            if dtype == "bytes" or wire != 2:
                count += 1
            elif dtype in _WIDTHS:
                count += len(values) // _WIDTHS[dtype]
            else:
                count += sum(byte < 0x80 for byte in values)
        found = Feature(dtype, count)
    return found


def decode_features(data: bytes, kinds: dict[int, str]) -> dict[str, Feature | None]:
    """The features of a map's entries, which are the fields 1 of a message.

    Args:
        data: The message.
        kinds: Number of a list in a feature -> dtype, or "bytes".

    Raises:
        ValueError: It is not a message, or another one.
    """
    found: dict[str, Feature | None] = {}
    for number, kind, entry in fields(data):
        if number != 1 or kind != 2:
            continue
        name, feature = "", None
        for part, wire, body in fields(entry):
            if part == 1 and wire == 2:
                name = body.decode()
            elif part == 2 and wire == 2:
                feature = _feature(body, kinds)
        found[name] = feature
    return found
