"""The wire format of protobuf: the fields of a message, without their meaning."""

from __future__ import annotations

from collections.abc import Iterator


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number of any size up to 70 bits at a place, and the place after it.

    Raises:
        ValueError: The number is cut off, or longer.
    """
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


def wire_fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and bytes of each field; the bytes of a varint are as in the message.

    Raises:
        ValueError: The bytes are not a message.
    """
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind, begin = tag & 7, at
        if kind == 0:
            _, at = read_varint(data, at)
        elif kind == 2:
            size, begin = read_varint(data, at)
            at = begin + size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field has the wire type {kind}")
        if at > len(data) or tag >> 3 == 0:
            raise ValueError("a field runs past the end")
        yield tag >> 3, kind, data[begin:at]
